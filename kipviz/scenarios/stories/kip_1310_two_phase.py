"""KIP-1310 2.1 and 4.5: a session and a database, told, and small enough for a crash at every point.

The page has prepareTransaction(), completeTransaction(PreparedTxnState) and resume(). What a process
does after a crash is not in its text, so every recovery here is our inference.
"""

from __future__ import annotations

from kipviz.clients.application import Line
from kipviz.scenarios import session_two_phase as programs
from kipviz.scenarios.material import (
    SAW_APPLICATION_DEATH,
    SAW_DATABASE_AHEAD,
    SAW_IN_DOUBT,
    SAW_LSO,
    SAW_PREPARED,
    Checkpoint,
    Watch,
)
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.kip_939 import LANES, running
from kipviz.scenarios.stories.kip_1310_beats import BOUND

CALL = ("app-1 goes on", "quiet", "app-1 goes on")

COMPLETE = Scenario(
    "kip-1310-complete",
    "completeTransaction(state) on a session, by the next process",
    "A session prepares, the database decides, and the process dies. The next one has the state 9:0 "
    "from its database and no session: resume() makes one of it.",
    "KIP-1310 2.1 resume(), completeTransaction(PreparedTxnState); the recovery is our inference",
    running(programs.RESUMES, session=BOUND),
    (
        Beat(
            "new TransactionSession(configs), initialize()",
            "The database has no state yet, so there is nothing to resume: a new session gets producer "
            "id 9, epoch 0.",
            ("app-1 goes on", "app-1 goes on", *CALL),
        ),
        Beat(
            "consumer.poll(), session.beginTransaction()",
            "One record, from where the database says.",
            ("app-1 goes on", *CALL, "app-1 goes on"),
        ),
        Beat(
            "producer.send(output)",
            "The output is in an open transaction without a time limit.",
            ("app-1 goes on", "quiet"),
        ),
        Beat(
            "state = session.prepareTransaction()",
            "Everything is sent; the text 9:0 comes back. No request: for Broker 1 the transaction is "
            "ONGOING.",
            ("app-1 goes on", "app-1 goes on"),
        ),
        Beat(
            "database.insert(rows, state), database.commit(): the decision",
            "The row and the text 9:0 in one database transaction. Kafka does not know it yet.",
            ("app-1 goes on", "app-1 goes on"),
        ),
        Beat("app-1 dies", "Session and producer are gone.", ("app-1 crashes", "quiet")),
        Beat(
            "TransactionSession.resume(id, 9, 0)",
            "A constructor: no request. By the page's test plan the session is IN_TRANSACTION now, not "
            "PREPARED.",
            ("app-1 starts", "app-1 goes on"),
        ),
        Beat(
            "session.completeTransaction(9:0)",
            "KIP-939 allows it for what is prepared. If a resumed session may do it too, it compares 9:0 "
            "with its own identity and commits; if not, it throws InvalidTxnStateException.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "A new session, initialize()",
            "For the next transactions. What is still open under the name is aborted.",
            ("app-1 goes on", "maybe app-1 goes on", "quiet", "app-1 goes on"),
        ),
    ),
    LANES,
    ("repaired", "kip-1310"),
    Question(
        7,
        "The session was resumed and is IN_TRANSACTION. Its database has decided. The page as written: "
        "what does completeTransaction(9:0) do?",
        (
            Choice(
                "it throws InvalidTxnStateException",
                True,
                "Right: completeTransaction() is for PREPARED, and resume() starts IN_TRANSACTION.",
            ),
            Choice("it commits", False, "Only if the page said so: that is the repaired reading."),
            Choice("it asks Broker 1", False, "Broker 1 does not know that anything is prepared."),
        ),
    ),
    watch=(
        Watch(
            0,
            "initialize() has no argument: where KIP-939 has keepPreparedTxn, the page has only "
            "resume(), and for that one needs the identity.",
        ),
        Watch(6, "Not one arrow: the identity comes from the database's own commit, 9:0."),
        Watch(8, "Compare the two designs: is the output of the row there, or aborted?"),
    ),
    checkpoints=(SAW_PREPARED, SAW_DATABASE_AHEAD, SAW_APPLICATION_DEATH, SAW_LSO),
)

EMPTY_COMMIT = Scenario(
    "kip-1310-empty-commit",
    "Kafka first, recovered by resume(): a transaction is committed that has nothing in it",
    "In the page's order the database votes before Kafka has flushed. The process dies in between; the "
    "next one resumes, Kafka commits an empty transaction, and the database follows.",
    "KIP-1310 4.5 'Phase 2: Commit (Recovery-friendly)'; who calls it when is our inference",
    running(programs.COMMITS, session=BOUND),
    (
        Beat(
            "Start",
            "Nothing is in doubt: a new session, producer id 9, epoch 0, and one record is read.",
            ("app-1 goes on", "app-1 goes on", *CALL, "app-1 goes on", *CALL),
        ),
        Beat(
            "session.beginTransaction(), producer.send(records)",
            "The record is in the accumulator. send() does not wait.",
            ("app-1 goes on", "app-1 goes on"),
        ),
        Beat(
            "database.prepareTransaction(dbTxnId)",
            "The page's first vote. The database is in doubt from here on, named after 9:0.",
            ("app-1 goes on",),
        ),
        Beat(
            "The batch goes out, its partition is enlisted",
            "Broker 3 asks Broker 1 to enlist output-A-0. The answer is on its way.",
            (
                "app-1/producer sends Produce",
                "Produce arrives at B3",
                "until AddPartitionsToTxn arrives at B1",
            ),
        ),
        Beat(
            "app-1 dies",
            "Before session.prepareTransaction() has seen the batch through.",
            ("app-1 crashes",),
        ),
        Beat(
            "resumed.commitTransaction()",
            "The database is in doubt, so the next process resumes 9:0 and commits. Broker 1 has an "
            "ONGOING transaction with one partition: it commits it.",
            (
                "app-1 starts",
                "app-1 goes on",
                "app-1 goes on",
                "quiet but AddPartitionsToTxnResponse * arrives at B3*",
                "app-1 goes on",
            ),
        ),
        Beat(
            "database.commitTransaction(dbTxnId)",
            "Kafka said that it is committed: so does the database now.",
            ("app-1 goes on",),
        ),
        Beat(
            "The enlistment's answer arrives",
            "Broker 3 may not append any more: the marker has ended what it was verified for.",
            ("quiet",),
        ),
    ),
    LANES,
    ("repaired",),
    Question(
        5,
        "EndTxn(COMMIT, 9:0) arrives at Broker 1. Can Broker 1 know that the record is in no log?",
        (
            Choice("no", True, "Right: it knows partitions, not records."),
            Choice("yes, from the leader", False, "Leaders report nothing but the enlistment."),
            Choice(
                "it does not have to: nothing is committed", False, "The transaction is ONGOING."
            ),
        ),
    ),
    watch=(
        Watch(2, "Who votes first? KIP-939 flushes Kafka before anybody decides."),
        Watch(6, "A row without an output: count the records of output-A-0."),
    ),
    checkpoints=(
        SAW_IN_DOUBT,
        SAW_APPLICATION_DEATH,
        Checkpoint("saw a row in the database whose output is in no log", "row without output"),
    ),
)

SMALL = Scenario(
    "kip-1310-small-resumes",
    "A session and a database, recovered by resume() with the state that the database has",
    "The small cluster of KIP-939 with a TransactionSession.",
    "KIP-1310 2.1, in the order of KIP-939; the recovery is our inference",
    running(programs.RESUMES, session=BOUND),
    (),
    LANES,
    ("repaired",),
    watch=(
        Watch(0, "Crash app-1 wherever you like: compare its database with output-A-0 each time."),
        Watch(
            0, "Which state is in the database while nothing is open? What does resume() do then?"
        ),
    ),
    checkpoints=(SAW_PREPARED, SAW_DATABASE_AHEAD),
)


def _small(name: str, title: str, program: tuple[Line, ...], order: str) -> Scenario:
    """Give the small cluster with another order of calls, or another recovery."""
    return SMALL.but(
        name=f"kip-1310-small-{name}",
        title=title,
        sentence=f"The small cluster of KIP-939 with a session: {title[:1].lower()}{title[1:]}.",
        clause=f"KIP-1310 {order}; the recovery is our inference",
        spec=running(program, session=BOUND),
    )


DATABASE_FIRST, KAFKA_FIRST = "2.1, in the order of KIP-939", "4.5"
ORDERS = (
    _small(
        "initialize",
        "Recovered by initialize(), which has no argument on the page",
        programs.INITIALIZES,
        DATABASE_FIRST,
    ),
    _small(
        "keeps",
        "Recovered by an initialize() that keeps what is open, as KIP-939 has it",
        programs.KEEPS,
        DATABASE_FIRST,
    ),
    _small(
        "undoes",
        "Kafka first, and what is in doubt afterwards is rolled back",
        programs.UNDOES,
        KAFKA_FIRST,
    ),
    _small(
        "commits",
        "Kafka first, and what is in doubt afterwards is resumed and committed",
        programs.COMMITS,
        KAFKA_FIRST,
    ),
    _small(
        "swapped",
        "Kafka first, resumed and committed, but the database votes last",
        programs.SWAPPED,
        KAFKA_FIRST,
    ),
)

STORIES: tuple[Scenario, ...] = (COMPLETE, EMPTY_COMMIT, SMALL, *ORDERS)
