"""KIP-1310 2.1 "thread-safe": two application threads of one process at one session.

The page has the word and nothing more. Who is in which call while another thread is in one is a slot
(`session_threads`); that a commit can fall between two calls of another thread is so in all its options.
"""

from __future__ import annotations

from kipviz.clients.application import Line
from kipviz.cluster.session_config import SessionSpec
from kipviz.cluster.spec import ClusterSpec
from kipviz.cluster.threads import ThreadSpec
from kipviz.scenarios import thread_programs as programs
from kipviz.scenarios.material import BROUGHT_TO_END, SAW_LSO, SAW_OFFSET_STAGED, Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories import group_setting
from kipviz.scenarios.stories.setting import group_app

THREAD_THREW = Checkpoint("saw a call of a thread throw", "call threw")
ONE, OTHER = "app-1 goes on", "worker of app-1 goes on"
TURN, ITS_TURN = (ONE, "quiet", ONE), (OTHER, "quiet", OTHER)
LANES = ("app-1", "B1", "B3", "B4")
CLAUSE = "KIP-1310 2.1 'lightweight, thread-safe client'"


def two_threads(
    program: tuple[Line, ...], first: int, values: tuple[str, ...], *, reads: bool = True
) -> ClusterSpec:
    """Give a process whose worker begins with a line of the program, with a consumer of its own if it reads."""
    own = (programs.ITS_CONSUMER, "src-1", "C2") if reads else ()
    app = group_app(
        session=SessionSpec(),
        program=program,
        threads=(ThreadSpec(programs.WORKER, first, *own),),
        max_records=1,
    )
    records = (("src-0", 100, values), ("src-1", 200, ("b",)))
    return group_setting.spec_of(app).but(records=records)


START = (
    Beat("session.initialize()", "One identity for the whole process.", TURN),
    Beat(
        "session.beginTransaction(), executor.submit(worker)",
        "One transaction, and two threads that are to work in it.",
        (ONE, ONE),
    ),
    Beat(
        "Both threads poll",
        "Each has a consumer of its own, because consumers are not thread-safe: the first one reads a from "
        "src-0, the worker b from src-1.",
        (*TURN, *ITS_TURN),
    ),
    Beat(
        "Both threads send",
        "f(a) and f(b), through the one producer that is bound to the session. KafkaProducer is thread-safe.",
        (ONE, OTHER, "quiet"),
    ),
)
TWO_THREADS = Scenario(
    "kip-1310-two-threads",
    "Two threads, one session: a commit falls between two calls",
    "Each call is safe. The transaction of a thread is two calls, send() and "
    "sendOffsetsToTransaction(), and another thread commits between them.",
    CLAUSE,
    two_threads(programs.COMMITS_AT_ONCE, programs.FIRST_OF_WORKER, ("a", "c")),
    (
        *START,
        Beat(
            "First thread: session.sendOffsetsToTransaction()",
            "The group's offset of src-0 goes past a.",
            TURN,
        ),
        Beat(
            "First thread: session.commitTransaction()",
            "It is done with its work, and asks nobody. f(a), f(b) and the offset of a are committed.",
            (*TURN, "quiet"),
        ),
        Beat(
            "Worker: session.sendOffsetsToTransaction()",
            "IllegalStateException: no transaction is open. The worker ends, and whoever looks at its "
            "future later can learn why; f(b) is visible, and no offset is past b.",
            (OTHER,),
        ),
        Beat(
            "The process starts again",
            "src-1 is read from where its group left off: b.",
            ("app-1 crashes", "quiet", "app-1 starts", *TURN, ONE, ONE, *TURN, *ITS_TURN),
        ),
        Beat(
            "f(b) once more",
            "This time the worker is in time, and the output of b is there twice.",
            (ONE, OTHER, "quiet", *ITS_TURN, *TURN, *TURN, "quiet"),
        ),
    ),
    LANES,
    ("repaired", "kip-1310-one-thread"),
    Question(
        5,
        "f(b) is sent, its offset is not. The first thread commits. Which kind of lock in the session would "
        "have helped?",
        (
            Choice(
                "one around each call",
                False,
                "No call is under way when the commit begins: nothing is locked.",
            ),
            Choice(
                "one that is held until a call returns",
                False,
                "The worker's send() has returned; its next call has not begun.",
            ),
            Choice(
                "none: the first thread has to wait for the worker",
                True,
                "Right: only the application knows that the two calls belong together.",
            ),
        ),
    ),
    watch=(
        Watch(5, "The commit waits for unsent batches. Is there anything else of the worker's?"),
        Watch(6, "Who learns of the exception? There is no future.get() in this program."),
        Watch(8, "Count the outputs of b."),
    ),
    checkpoints=(THREAD_THREW, SAW_OFFSET_STAGED, BROUGHT_TO_END),
)

AWAITED = Scenario(
    "kip-1310-two-threads-wait",
    "Two threads, one session: the first one waits for the worker, and one of them is refused",
    "future.get() before the commit: nothing is lost. If only one thread may be in the session, as only one may "
    "be in a KafkaConsumer, then the two disturb each other before that.",
    f"{CLAUSE}; KafkaConsumer.acquire() for the other reading",
    two_threads(programs.WAITS_FOR_IT, programs.FIRST_OF_AWAITED, ("a",)),
    (
        *START,
        Beat(
            "First thread: session.sendOffsetsToTransaction()",
            "It waits for the group coordinator.",
            (ONE,),
        ),
        Beat(
            "Worker: session.sendOffsetsToTransaction(), at the same time",
            "Its request stands behind the other one. Where one thread at a time is the rule: "
            "ConcurrentModificationException, and the worker ends.",
            (OTHER, "quiet", "maybe app-1 goes on", "maybe worker of app-1 goes on"),
        ),
        Beat(
            "future.get()",
            "The first thread learns what the worker came to: nothing, or an ExecutionException.",
            (ONE,),
        ),
        Beat(
            "session.commitTransaction(), or the catch block",
            "All of both threads, or nothing of either.",
            (*TURN, "quiet"),
        ),
    ),
    LANES,
    ("repaired", "kip-1310-one-thread"),
    Question(
        5,
        "One thread at a time: the worker is refused because the other thread waits for an answer. f(b) is in "
        "the log already. What becomes of it?",
        (
            Choice(
                "it is aborted, and f(a) with it",
                True,
                "Right: no promise is broken, and the work of both is lost because of the hour.",
            ),
            Choice("it is committed without its offset", False, "The first thread has waited."),
        ),
    ),
    watch=(
        Watch(5, "Two requests of one session: one is on the wire, one waits in its queue."),
        Watch(7, "The same program, the same messages up to here: look at the two endings."),
    ),
    checkpoints=(SAW_OFFSET_STAGED, SAW_LSO, BROUGHT_TO_END),
)

LATE_THREAD = Scenario(
    "kip-1310-late-thread",
    "A thread has looked, and sends after the abort",
    "The session's state is in one object, the producer's batches in another. A worker's send() finds a "
    "transaction, the first thread aborts it, and then the record goes into the accumulator.",
    f"{CLAUSE}; 3.2 puts state and batches into two objects",
    two_threads(programs.GIVES_UP, programs.FIRST_OF_LATE, ("a",), reads=False),
    (
        Beat("session.initialize()", "One identity.", TURN),
        Beat("poll(), beginTransaction()", "One record, a.", (*TURN, ONE)),
        Beat(
            "executor.submit(worker)",
            "The worker is to process a and to send f(a). That takes longer than anybody would wait.",
            (ONE,),
        ),
        Beat(
            "Worker: producer.send(f(a))",
            "With one lock for both objects the record is in the accumulator now. With a lock in the session "
            "alone the worker has seen IN_TRANSACTION, and that is all.",
            (OTHER,),
        ),
        Beat(
            "First thread: session.abortTransaction()",
            "What has not been sent is dropped: the abort knows of nothing else.",
            (ONE, "quiet but app-1/producer sends Produce", "maybe app-1 goes on"),
        ),
        Beat(
            "The worker goes on where it was",
            "Where it had only looked, its record comes into the accumulator of a session that is READY. The "
            "producer sends what it has, and Broker 3 enlists output-A-0 in a transaction that nobody began.",
            ("maybe worker of app-1 goes on", "quiet"),
        ),
        Beat(
            "The first thread does it again, by itself",
            "future.get(), poll(), beginTransaction(), send(f(a)).",
            (ONE, *TURN, ONE, ONE, "quiet"),
        ),
        Beat(
            "session.sendOffsetsToTransaction(), session.commitTransaction()",
            "The coordinator has one transaction of this name: everything in it is committed.",
            (*TURN, *TURN, "quiet"),
        ),
    ),
    LANES,
    ("kip-1310-look-first", "repaired", "kip-1310"),
    Question(
        5,
        "The worker looked while the transaction was open. It appends after the abort. Who can still stop the "
        "record?",
        (
            Choice(
                "nobody",
                True,
                "Right: it has the session's new epoch, as a record of the next transaction has.",
            ),
            Choice(
                "Broker 3: the epoch is over", False, "The batch carries the epoch that is valid."
            ),
            Choice("the session", False, "It was asked before, and nobody asks it again."),
        ),
    ),
    watch=(
        Watch(
            3, "Has anything left the worker? Compare the producer's batches in the two designs."
        ),
        Watch(5, "An ONGOING transaction, and a session that is READY."),
        Watch(7, "Count the outputs of a in the committed transaction."),
    ),
    checkpoints=(SAW_LSO, BROUGHT_TO_END),
)

STORIES: tuple[Scenario, ...] = (TWO_THREADS, AWAITED, LATE_THREAD)
