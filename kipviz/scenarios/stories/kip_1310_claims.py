"""KIP-1310: programs of the page, word by word, and the calls of Kafka 4.4.0 that they meet."""

from __future__ import annotations

from kipviz.clients.application import Call, Line
from kipviz.scenarios import session_programs as sessions
from kipviz.scenarios.material import SAW_LSO, TOOK_TIME_OUT, Checkpoint, Watch
from kipviz.scenarios.programs import GROUP_POLL
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories import kip_939
from kipviz.scenarios.stories.kip_1310_beats import BOUND, with_session
from kipviz.scenarios.stories.kip_1310_open import TURN, group_cluster
from kipviz.scenarios.stories.setting import group_app

GO = "app-1 goes on"
DESIGNS = ("repaired", "kip-1310")
CALL_THREW = Checkpoint("saw a call throw", "call threw")

# -- prepareTransaction() with the configuration of 2.2 -------------------------------------------

PREPARER = kip_939.DUAL_WRITER.but(
    program=sessions.TWO_PHASE_SESSION, session=BOUND, two_phase_commit=False
)
UNLISTED = Scenario(
    "kip-1310-unlisted-setting",
    "prepareTransaction() with the configurations of the page",
    "Section 2.1 has prepareTransaction(). The configurations of section 2.2 do not include "
    "transaction.two.phase.commit.enable, without which Kafka 4.4.0 refuses to prepare.",
    "KIP-1310 2.1 against 2.2; KafkaProducer.prepareTransaction",
    kip_939.SPEC.but(applications=(PREPARER,)),
    (
        Beat(
            "session.initialize(), poll(), beginTransaction()",
            "The session has producer id 9, epoch 0, and an ordinary transaction with a time limit.",
            (*TURN, *TURN, GO),
        ),
        Beat(
            "producer.send()",
            "Broker 3 appends the record. The transaction is open.",
            (GO, "quiet"),
        ),
        Beat(
            "database.prepareTransaction()",
            "The database votes. From here on it waits for a decision.",
            (GO,),
        ),
        Beat(
            "session.prepareTransaction() throws",
            "InvalidTxnStateException: two-phase commit is not enabled. The database has voted and "
            "Kafka has not. The process ends.",
            (GO,),
        ),
        Beat(
            "transaction.timeout.ms expires",
            "Broker 1 aborts the transaction. The vote of the database is still without a decision.",
            ("my-txn times out", "quiet"),
        ),
    ),
    kip_939.LANES,
    DESIGNS,
    Question(
        3,
        "The session was made with the configurations of section 2.2. What does prepareTransaction() do?",
        (
            Choice("it prepares", False, "Two-phase commit is off unless a setting enables it."),
            Choice(
                "it throws InvalidTxnStateException",
                True,
                "Right. The setting that it needs is not among those of the page.",
            ),
            Choice("it asks Broker 1", False, "Preparing sends no request at all."),
        ),
    ),
    watch=(
        Watch(3, "No arrow. The producer's flag decides, before any request."),
        Watch(4, "Compare the two stores: one has voted, the other has aborted."),
    ),
    checkpoints=(CALL_THREW, SAW_LSO, TOOK_TIME_OUT),
)

# -- maybeBeginTransaction() of 4.4, called for the second batch ------------------------------------

DISPATCHES = (
    sessions.INITIALIZE,
    Line(GROUP_POLL, Call.POLL),
    sessions.BEGIN.but(text="maybeBeginTransaction(); // { session.beginTransaction(); }"),
    sessions.SEND,
    Line(GROUP_POLL, Call.POLL),
    sessions.BEGIN.but(text="maybeBeginTransaction(); // { session.beginTransaction(); }"),
    sessions.SEND,
    sessions.COMMIT,
)
BEGINS_TWICE = Scenario(
    "kip-1310-begins-twice",
    "maybeBeginTransaction() of the page begins every time",
    "Connect calls maybeBeginTransaction() before every record that it dispatches. The method of the page "
    "has no condition, so the second call is an error.",
    "KIP-1310 4.4; ExactlyOnceWorkerSourceTask.maybeBeginTransaction",
    group_cluster(("a", "b"), with_session(group_app(max_records=1), DISPATCHES)),
    (
        Beat("session.initialize(), poll()", "READY, and the first record.", (*TURN, *TURN)),
        Beat(
            "maybeBeginTransaction(), producer.send(f(a))",
            "The session is IN_TRANSACTION, and Broker 3 appends f(a).",
            (GO, GO, "quiet"),
        ),
        Beat("poll()", "The second record of the same transaction.", TURN),
        Beat(
            "maybeBeginTransaction() throws",
            "IllegalStateException: the session is IN_TRANSACTION. Kafka's own method asks first whether "
            "a transaction is open.",
            (GO,),
        ),
        Beat(
            "transaction.timeout.ms expires",
            "The task has failed, and its transaction blocks readers of output-A-0 until Broker 1 aborts it.",
            ("my-txn times out", "quiet"),
        ),
    ),
    ("app-1", "B1", "B3", "B4"),
    DESIGNS,
    Question(
        3,
        "A transaction is open, and the task dispatches its second record. What does the page's method do?",
        (
            Choice("nothing: one is open", False, "Only Kafka's method has that condition."),
            Choice("it throws IllegalStateException", True, "Right: IN_TRANSACTION is not READY."),
            Choice("it begins a second transaction", False, "A session has one at a time."),
        ),
    ),
    watch=(
        Watch(3, "No arrow: the state of the session refuses the call."),
        Watch(4, "The last stable offset of output-A-0 moves only now."),
    ),
    checkpoints=(CALL_THREW, SAW_LSO, TOOK_TIME_OUT),
)

STORIES: tuple[Scenario, ...] = (UNLISTED, BEGINS_TWICE)
