"""KIP-98: transactions of a producer, and who reads what it wrote."""

from __future__ import annotations

from kipviz.cluster.spec import ClusterSpec, Placement
from kipviz.records.placement import TRANSACTION_STATE
from kipviz.scenarios import programs
from kipviz.scenarios.material import SAW_LSO, Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.setting import (
    GROUP_PLACEMENTS,
    PLAYGROUND,
    TOPIC_IDS,
    group_app,
    home,
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
    Checkpoint("took a branch in which the transaction times out", "timed out"),
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
            Placement("output-B-0", 4, (3,)),
            Placement(home(TRANSACTION_STATE, "my-txn-2"), 4, (1,)),
        ),
        (
            WRITER,
            WRITER.but(name="app-2", transactional_id="my-txn-2", group_id="other", member_id="C2"),
            WRITER.but(
                name="reader",
                transactional_id="my-txn-3",
                program=programs.READ,
                group_id="readers",
                member_id="R1",
                source="output-A-0",
                output="output-B-0",
                max_records=10,
            ),
        ),
        (("src-0", 100, ("a", "b")),),
        (*TOPIC_IDS, ("output-B", "AAAAAAAAAAAAAAAAAAAABA")),
        PLAYGROUND,
    ),
    (
        Beat(
            "app-1 writes in a transaction",
            "It gets its producer id from Broker 1, polls two records and sends their outputs to "
            "output-A-0. They are in the log at offsets 0 and 1, and nothing is decided.",
            (
                "app-1 goes on",
                "quiet",
                "app-1 goes on",
                "app-1 goes on",
                "quiet",
                "app-1 goes on",
                "app-1 goes on",
                "app-1 goes on",
                "quiet",
            ),
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

STORIES: tuple[Scenario, ...] = (STUCK_LSO,)
