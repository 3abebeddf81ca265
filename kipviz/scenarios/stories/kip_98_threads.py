"""KIP-98: two threads at one transactional KafkaProducer, which is thread-safe, and whose transaction is one."""

from __future__ import annotations

from kipviz.clients.application import Line
from kipviz.cluster.clock import TICKS, TIMED, Clock
from kipviz.cluster.spec import ApplicationSpec, ClusterSpec, Placement
from kipviz.cluster.threads import ThreadSpec
from kipviz.scenarios import shared_producer_programs as programs
from kipviz.scenarios.material import BROUGHT_TO_END, SAW_LSO, SAW_OFFSET_STAGED, Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories import group_setting
from kipviz.scenarios.stories.setting import PLAYGROUND, group_app
from kipviz.scenarios.thread_programs import ITS_CONSUMER, WORKER

ONE, OTHER = "app-1 goes on", "worker of app-1 goes on"
TURN, ITS_TURN = (ONE, "quiet", ONE), (OTHER, "quiet", OTHER)
LANES = ("app-1", "B1", "B3", "B4")
ELSEWHERE = "output-A-1"
THREAD_THREW = Checkpoint("saw a call of a thread throw", "call threw")
APPENDS_FIRST = (
    "KafkaProducer.doSend appends, and asks TransactionManager.maybeAddPartition after it"
)
RESULTS = "TransactionalRequestResult, TransactionManager.handleCachedTransactionRequestResult"


def shared_producer(
    program: tuple[Line, ...], first: int, values: tuple[str, ...], **changes: object
) -> ClusterSpec:
    """Give a process of two threads, a consumer each and one producer; src-1 has b for the worker."""
    app: ApplicationSpec = group_app(
        program=program,
        threads=(ThreadSpec(WORKER, first, ITS_CONSUMER, "src-1", "C2"),),
        max_records=1,
    )
    records = (("src-0", 100, values), ("src-1", 200, ("b",)))
    return group_setting.spec_of(app).but(records=records, **changes)


BEGUN = Beat(
    "initTransactions(), beginTransaction(), executor.submit(worker)",
    "One producer, one transaction, and two threads that are to work in it.",
    (*TURN, ONE, ONE),
)
BOTH_POLL = Beat(
    "Both threads poll",
    "The first one reads a from src-0, the worker b from src-1, each with a consumer of its own.",
    (*TURN, *ITS_TURN),
)
ITS_POLL = Beat("Worker: poll()", "It reads b from src-1.", ITS_TURN)
FORGETS = Beat(
    "First thread: commitTransaction()",
    "There should be a future.get() in front of it. Nothing was sent yet, so the transaction ends without a request.",
    (ONE, ONE),
)

STRAY = Scenario(
    "kip-98-threads-stray-record",
    "send() has thrown, and its record is committed",
    "A worker is late: the transaction is over when it sends. It gets an exception, and the next transaction of "
    "another thread gets its record.",
    f"KIP-98, Producer API, 'thread safe'; {APPENDS_FIRST}",
    shared_producer(programs.WAITS_FOR_NOBODY, programs.FIRST_OF_WORKER, ("a",)),
    (
        BEGUN,
        ITS_POLL,
        FORGETS,
        Beat(
            "Worker: send(f(b))",
            "IllegalStateException: no transaction is open. The worker ends. But send() appends first and asks "
            "after that: f(b) is in the accumulator, where nothing takes it out.",
            (OTHER, "quiet"),
        ),
        Beat(
            "First thread: poll(), beginTransaction(), send(f(a))",
            "A new transaction. f(a) goes to the same partition, which is in the transaction from now on, and f(b) "
            "goes with it, in one batch.",
            (*TURN, ONE, ONE, "quiet"),
        ),
        Beat(
            "sendOffsetsToTransaction(), commitTransaction()",
            "f(b), f(a) and the offset of a are committed. The offset of b is not: the worker has never come to that.",
            (*TURN, *TURN, "quiet"),
        ),
        Beat(
            "The process starts again",
            "src-1 is read from where its group left off: b.",
            ("app-1 crashes", "quiet", "app-1 starts", *TURN, ONE, ONE, *ITS_TURN),
        ),
        Beat(
            "f(b) once more",
            "This time the worker is in time, and the output of b is there twice.",
            (OTHER, "quiet", *ITS_TURN, *TURN, "quiet"),
        ),
    ),
    LANES,
    ("kafka",),
    Question(
        3,
        "send() has thrown an IllegalStateException. What becomes of the record?",
        (
            Choice("it is dropped", False, "An abort would drop it. Nobody aborts: none is open."),
            Choice(
                "it goes out with the next transaction that sends to its partition",
                True,
                "Right: it was appended before anybody asked whether it may be.",
            ),
            Choice(
                "the broker refuses it",
                False,
                "It has the identity and the next sequence of a good batch.",
            ),
        ),
    ),
    watch=(
        Watch(
            3, "Open the producer: it is READY, and there is a batch in it that no sender takes."
        ),
        Watch(4, "One batch with two records. Whose are they?"),
        Watch(7, "Count the outputs of b."),
    ),
    checkpoints=(THREAD_THREW, SAW_OFFSET_STAGED, BROUGHT_TO_END),
)

_HANGS, _WORKER_OF_HANGS = programs.to_another(ELSEWHERE)
STUCK = Scenario(
    "kip-98-threads-stuck-commit",
    "A commit waits for a record of a send() that threw",
    "The same late worker, with a partition of its own. No transaction of the first thread ever sends there, so "
    "nothing takes the record along, and EndTxn goes out only when no record is left.",
    f"KIP-98, Producer API; {APPENDS_FIRST}; max.block.ms, delivery.timeout.ms",
    shared_producer(
        _HANGS,
        _WORKER_OF_HANGS,
        ("a",),
        placements=(*group_setting.PLACEMENTS, Placement(ELSEWHERE, 3, (1,))),
        clock=Clock(TIMED, tick=TICKS[1]),
        budget=PLAYGROUND.but(max_block=3, delivery_timeout=1),
    ),
    (
        BEGUN,
        ITS_POLL,
        FORGETS,
        Beat(
            "Worker: send(f(b)) to output-A-1",
            "IllegalStateException, and f(b) stays in the accumulator.",
            (OTHER, "quiet"),
        ),
        Beat(
            "First thread: its second transaction",
            "poll(), beginTransaction(), send(f(a)), sendOffsetsToTransaction(): all well.",
            (*TURN, ONE, ONE, "quiet", *TURN),
        ),
        Beat(
            "commitTransaction()",
            "Every broker is up and nothing is on its way, and the call does not return.",
            (ONE, "quiet"),
        ),
        Beat(
            "max.block.ms is over",
            "TimeoutException after 60 s. The javadoc says: call it again. That call waits for the same result.",
            ("time passes*", "a call of app-1 times out", ONE, "quiet"),
        ),
        Beat(
            "transaction.timeout.ms is over, too",
            "Nothing was heard of the end of the transaction for 60 s: the coordinator aborts it, and a is to do again.",
            ("maybe time passes*", "my-txn times out", "quiet"),
        ),
    ),
    LANES,
    ("kafka",),
    Question(
        5,
        "What does commitTransaction() wait for?",
        (
            Choice("an answer of Broker 1", False, "Nothing was sent to it."),
            Choice(
                "a record that no transaction will send",
                True,
                "Right: EndTxn waits until the accumulator is empty.",
            ),
            Choice("the worker", False, "It has ended, and the producer knows nothing of threads."),
        ),
    ),
    watch=(
        Watch(5, "Which requests are on the wire? Then look at the producer's batches."),
        Watch(7, "Who has aborted what the application wanted committed?"),
    ),
    checkpoints=(THREAD_THREW, Checkpoint("saw the transaction time out", "timed out")),
)

FORGOTTEN = Scenario(
    "kip-98-threads-timed-out",
    "One thread's call times out, the other one commits what it asked for",
    "max.block.ms is over for the worker alone. Its request is the producer's by now, and the commit of the first "
    "thread goes behind it.",
    f"KIP-98, Producer API; max.block.ms; {RESULTS}",
    shared_producer(programs.LOOKS_LATE, programs.FIRST_OF_LATE, ("a",)).but(
        budget=PLAYGROUND.but(max_block=2)
    ),
    (
        BEGUN,
        BOTH_POLL,
        Beat(
            "Both threads send, the first one adds its offset",
            "f(a), f(b) and the offset of a.",
            (ONE, OTHER, "quiet", *TURN),
        ),
        Beat(
            "Worker: sendOffsetsToTransaction() takes too long",
            "Broker 4 cannot be reached. TimeoutException in the worker, which ends. The first thread is in no call.",
            (
                OTHER,
                "B4 and app-1 are cut apart",
                "quiet",
                "a call of worker of app-1 times out",
            ),
        ),
        Beat(
            "First thread: commitTransaction()",
            "EndTxn stands behind the offset of b: who waits for that one is nobody, and it is sent all the same.",
            (ONE, "quiet"),
        ),
        Beat(
            "The network is back",
            "The offset of b is staged, EndTxn goes out, and everything is committed.",
            ("B4 and app-1 are joined", "quiet", ONE, "quiet"),
        ),
        Beat(
            "future.get()",
            "ExecutionException: the worker has failed. Nothing of it is missing.",
            (ONE,),
        ),
    ),
    LANES,
    ("kafka",),
    Question(
        3,
        "The worker's sendOffsetsToTransaction() has thrown a TimeoutException. The first thread commits. Is the "
        "offset of b in the transaction?",
        (
            Choice("no: the call has failed", False, "It came back. What it asked for goes on."),
            Choice(
                "yes: it is sent before EndTxn",
                True,
                "Right: the producer has the request, whoever waits for it.",
            ),
            Choice("the commit is refused", False, "Only what ends or begins is remembered."),
        ),
    ),
    watch=(
        Watch(3, "The producer is IN_TRANSACTION: a time-out is no error of the transaction."),
        Watch(6, "Compare what future.get() throws with the group's offsets."),
    ),
    checkpoints=(THREAD_THREW, SAW_OFFSET_STAGED, SAW_LSO),
)

STORIES: tuple[Scenario, ...] = (STRAY, STUCK, FORGOTTEN)
