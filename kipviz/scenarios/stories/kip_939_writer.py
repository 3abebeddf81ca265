"""KIP-939: a transaction is kept while its writer still lives. What is fenced, and what is not?"""

from __future__ import annotations

from kipviz.clients.application import Call, Line
from kipviz.clients.calls import KEEP_PREPARED_TXN
from kipviz.scenarios import programs
from kipviz.scenarios.material import SAW_KEPT, SAW_LSO, Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.kip_939 import CALL, DUAL_WRITER, SPEC

C = Call
# It has not prepared anything yet when somebody else takes over.
WRITER: tuple[Line, ...] = (
    programs.INIT,
    Line(programs.READ_ON, C.POLL),
    Line("producer.beginTransaction();", C.BEGIN_TRANSACTION),
    Line(programs.SEND, C.SEND),
    Line(programs.READ_ON, C.POLL),
    Line(programs.SEND, C.SEND),
    Line("producer.commitTransaction();", C.COMMIT_TRANSACTION),
)
# It takes everything that is kept for prepared, and asks no database.
COMMITTER: tuple[Line, ...] = (
    Line("producer.initTransactions(true);", C.INIT_TRANSACTIONS, target=KEEP_PREPARED_TXN),
    Line("producer.commitTransaction(); // whatever was kept", C.COMMIT_TRANSACTION),
)
ALONE = DUAL_WRITER.but(database=False)

STILL_WRITING = Scenario(
    "kip-939-still-writing",
    "Kept, and its writer still writes",
    "A writer is slow, not dead. Another process keeps its transaction and commits it. The writer can "
    "no longer end it, but its next batch still gets in.",
    "KIP-939, KeepPreparedTxn (draft); that the log lets the batch in follows from Kafka's checks: our "
    "inference",
    SPEC.but(
        applications=(
            ALONE.but(program=WRITER),
            ALONE.but(name="app-2", program=COMMITTER, group_id="other", member_id="C2"),
        ),
        records=(("src-0", 0, ("a", "b")),),
    ),
    (
        Beat(
            "app-1 writes",
            "One output in an open transaction of producer 9, epoch 0. Nothing is prepared.",
            (*CALL, *CALL, "app-1 goes on", "app-1 goes on", "quiet"),
        ),
        Beat(
            "app-2 keeps the transaction",
            "It has the same transactional id. The coordinator cannot tell prepared from open: it "
            "keeps what it finds, for 9:1 to end.",
            ("app-2 goes on", "quiet", "app-2 goes on"),
        ),
        Beat(
            "app-1 reads on, and writes again",
            "Epoch 0 is still the newest that the log of output-A-0 has seen, and the partition is in "
            "the transaction already: nobody asks the coordinator. The batch is taken.",
            (*CALL, "app-1 goes on", "quiet"),
        ),
        Beat(
            "app-2 commits",
            "With 9:1. The second output is committed, too: nobody had prepared it.",
            ("app-2 goes on", "quiet", "app-2 goes on"),
        ),
        Beat(
            "app-1 wants to commit",
            "Now it is told: PRODUCER_FENCED. It had all been committed without it.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
    ),
    ("app-1", "app-2", "B1", "B3"),
    ("kip-939",),
    Question(
        2,
        "app-2 has kept the transaction of app-1. What becomes of app-1's next batch?",
        (
            Choice(
                "it is taken",
                True,
                "Right: the data's epoch has not changed, only that of who may end it.",
            ),
            Choice("INVALID_PRODUCER_EPOCH", False, "The log has seen no newer epoch."),
            Choice("PRODUCER_FENCED", False, "So would be its EndTxn, or a new partition."),
        ),
    ),
    watch=(
        Watch(2, "Broker 3 takes the batch by itself. Who would have to tell it of app-2?"),
        Watch(
            3,
            "With a database this cannot happen: it has the state only if app-1 had prepared, and a "
            "prepared producer does not send.",
        ),
    ),
    checkpoints=(
        SAW_LSO,
        SAW_KEPT,
        Checkpoint("took a branch in which app-1 dies instead", "client crashed"),
    ),
)

STORIES: tuple[Scenario, ...] = (STILL_WRITING,)
