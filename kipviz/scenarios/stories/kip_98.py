"""KIP-98: transactions of a producer, and who reads what it wrote."""

from __future__ import annotations

from kipviz.cluster.spec import ClusterSpec, Placement
from kipviz.records.placement import TRANSACTION_STATE
from kipviz.scenarios import programs
from kipviz.scenarios.material import SAW_LSO, SAW_PRUNED, TOOK_TIME_OUT, Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.beats import FIRST_ROUND
from kipviz.scenarios.stories.setting import (
    GROUP_PLACEMENTS,
    PLAYGROUND,
    READER_PLACEMENT,
    READER_TOPIC_ID,
    TOPIC_IDS,
    group_app,
    home,
    reader_of,
)

STUCK_WATCH = (
    Watch(
        1,
        "app-1 is gone, and no broker says anything: watch my-txn stay ONGOING at its coordinator, "
        "and the LSO of output-A-0 stay at 0.",
    ),
    Watch(
        2,
        "A COMMIT marker stands at offset 4 now. Watch the high watermark go past it, and the LSO "
        "not move: it stops at the first offset of the oldest open transaction.",
    ),
    Watch(
        3,
        "The reader's fetch is not refused, it waits. Two things can end the transaction of app-1: "
        "find them among the choices.",
    ),
)
STUCK_CHECKPOINTS = (
    SAW_LSO,
    Checkpoint(
        "set the LSO free: app-1 started again, or its transaction timed out", "lso set free"
    ),
    TOOK_TIME_OUT,
)

WRITER = group_app(name="app-1", program=programs.COPY)
STUCK_LSO = Scenario(
    "kip-98-stuck-lso",
    "A consumer that gets nothing: why does the LSO stand still?",
    "A producer dies in the middle of its transaction. Another one commits behind it, and a "
    "read_committed consumer gets nothing at all.",
    "KIP-98, Read Committed and transaction.timeout.ms; KIP-664",
    ClusterSpec(
        (1, 3, 4, 5),
        (
            *GROUP_PLACEMENTS,
            READER_PLACEMENT,
            Placement(home(TRANSACTION_STATE, "my-txn-2"), 4, (1,)),
        ),
        (
            WRITER,
            WRITER.but(name="app-2", transactional_id="my-txn-2", group_id="other", member_id="C2"),
            reader_of(WRITER),
        ),
        (("src-0", 100, ("a", "b")),),
        (*TOPIC_IDS, READER_TOPIC_ID),
        PLAYGROUND,
    ),
    (
        Beat(
            "app-1 writes in a transaction",
            "It gets its producer id from Broker 1, polls two records and sends their outputs to "
            "output-A-0. They are in the log at offsets 0 and 1, and nothing is decided.",
            FIRST_ROUND,
        ),
        Beat(
            "app-1 dies",
            "Before it could call commitTransaction() or abortTransaction(). Its transaction stays "
            "open: no broker is told.",
            ("app-1 crashes",),
        ),
        Beat(
            "app-2 writes behind it, and commits",
            "Another producer, another transaction: offsets 2 and 3, and a COMMIT marker at 4.",
            (
                "app-2 goes on",
                "quiet",
                "app-2 goes on",
                "app-2 goes on",
                "quiet",
                "app-2 goes on",
                "app-2 goes on",
                "app-2 goes on",
                "quiet",
                "app-2 goes on",
                "quiet",
                "app-2 goes on",
            ),
        ),
        Beat(
            "reader polls: nothing comes",
            "It reads committed records of output-A-0 from offset 0 on. Its fetch waits at Broker 3. "
            "What holds it back? Press e.",
            ("reader goes on", "quiet"),
        ),
    ),
    ("app-1", "reader", "B1", "B3"),
    ("kafka",),
    Question(
        3,
        "app-2 has committed offsets 2 and 3. What does the reader get?",
        (
            Choice("offsets 2 and 3: they are committed", False, "They lie behind the LSO."),
            Choice(
                "nothing",
                True,
                "Right: the LSO stands at offset 0, the first record of app-1's open transaction.",
            ),
            Choice("all four records", False, "Offsets 0 and 1 are not decided."),
        ),
    ),
    watch=STUCK_WATCH,
    checkpoints=STUCK_CHECKPOINTS,
)

DELETED = STUCK_LSO.but(
    name="kip-98-deleted-transaction",
    title="Can an open transaction be deleted away?",
    sentence="A reader is stuck behind a transaction that nobody ends. An operator deletes its records "
    "from the front of the log.",
    clause="KIP-107 DeleteRecords; KIP-98, Read Committed",
    spec=STUCK_LSO.spec.but(budget=PLAYGROUND.but(delete_records=2)),
    beats=(
        *STUCK_LSO.beats,
        Beat(
            "The records of app-1 are deleted",
            "The log of output-A-0 begins at offset 2 now, and its LSO, which cannot be before that, is 2. "
            "The records there are committed, and the reader still gets nothing: what the log knows of "
            "producers is not deleted with their records.",
            ("the oldest batch of output-A-0 is deleted",),
        ),
        Beat(
            "The transaction is ended",
            "Its time is over, and the coordinator aborts it. Only the marker sets the LSO free, and the "
            "reader gets what app-2 wrote.",
            ("my-txn times out", "quiet"),
        ),
    ),
    question=Question(
        4,
        "The records of the open transaction are deleted. What does the reader get?",
        (
            Choice(
                "offsets 2 and 3: nothing is open in front of them any more",
                False,
                "The log still knows that producer 9 has a transaction open.",
            ),
            Choice(
                "nothing",
                True,
                "Right: the LSO goes to the first offset that there is, and no further.",
            ),
            Choice(
                "an error: its position is gone",
                False,
                "Its position moves to the first offset that there is.",
            ),
        ),
    ),
    watch=(
        Watch(
            4,
            "Open the log of output-A-0: it begins at offset 2, and the transaction is open since 0.",
        ),
        Watch(5, "One marker, for records that are not there any more, and everybody can go on."),
    ),
    checkpoints=(
        SAW_LSO,
        SAW_PRUNED,
        Checkpoint(
            "set the LSO free: app-1 started again, or its transaction timed out", "lso set free"
        ),
    ),
)

STORIES: tuple[Scenario, ...] = (STUCK_LSO, DELETED)
