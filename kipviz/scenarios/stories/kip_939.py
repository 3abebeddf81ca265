"""KIP-939: a Kafka transaction and a database transaction that end alike, whatever crashes."""

from __future__ import annotations

from kipviz.brokers.settings import BrokerSettings
from kipviz.clients.application import Line
from kipviz.cluster.spec import ApplicationSpec, ClusterSpec, Placement
from kipviz.records.placement import CONSUMER_OFFSETS, TRANSACTION_STATE
from kipviz.scenarios import programs
from kipviz.scenarios.material import (
    SAW_APPLICATION_DEATH,
    SAW_DATABASE_AHEAD,
    SAW_IN_DOUBT,
    SAW_KEPT,
    SAW_LSO,
    SAW_PREPARED,
    Checkpoint,
    Watch,
)
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.setting import (
    GROUP,
    OUTPUT_ID,
    PLAYGROUND,
    SOURCE_ID,
    TRANSACTIONAL_ID,
    home,
)

DUAL_WRITER = ApplicationSpec(
    "app-1",
    TRANSACTIONAL_ID,
    programs.DUAL_WRITE,
    GROUP,
    "C1",
    False,
    "src-0",
    "output-A-0",
    1,
    two_phase_commit=True,
    database=True,
)
SPEC = ClusterSpec(
    (1, 3),
    (
        Placement(home(TRANSACTION_STATE, TRANSACTIONAL_ID), 1, (3,)),
        Placement("output-A-0", 3, (1,)),
        Placement("src-0", 3, (1,)),
        Placement(home(CONSUMER_OFFSETS, GROUP), 3, (1,)),
    ),
    (DUAL_WRITER,),
    (("src-0", 0, ("a",)),),
    (("src", SOURCE_ID), ("output-A", OUTPUT_ID)),
    PLAYGROUND,
    settings=BrokerSettings(two_phase_commit_enable=True),
)
LANES = ("app-1", "B1", "B3")
CALL = ("app-1 goes on", "quiet", "app-1 goes on")


def running(program: tuple[Line, ...], **changes: object) -> ClusterSpec:
    """Give the same cluster with another program, or another switch of the producer."""
    return SPEC.but(applications=(DUAL_WRITER.but(program=program, **changes),))


START = (
    Beat(
        "producer.initTransactions(true)",
        "The producer asks for no time limit (Enable2Pc) and to keep what is open (KeepPreparedTxn). "
        "Nothing is open: it gets producer id 9, epoch 0.",
        CALL,
    ),
    Beat(
        "Nothing to complete",
        "completeTransaction() throws InvalidTxnStateException, because nothing is prepared; the "
        "application goes on where its database says: at the first record.",
        ("app-1 goes on", "app-1 goes on"),
    ),
    Beat(
        "records = consumer.poll()",
        "One record of src-0. Its output is to go to Kafka and a row about it to the database.",
        CALL,
    ),
)
WRITE = Beat(
    "producer.send(output)",
    "The output is in output-A-0, in an open transaction of producer 9, epoch 0. Read_committed "
    "consumers wait before it.",
    ("app-1 goes on", "app-1 goes on", "quiet"),
)
PREPARE = Beat(
    "state = producer.prepareTransaction()",
    "A flush, and then a state of the client alone: PREPARED_TRANSACTION, and the text 9:0. No "
    "request leaves the process: for the coordinator the transaction is ONGOING as before.",
    ("app-1 goes on", "app-1 goes on"),
)
INSERT = Beat(
    "database.insert(rows, state)",
    "The row and the text 9:0 are written in one database transaction: both or none will last.",
    ("app-1 goes on",),
)
DECIDE = Beat(
    "database.commit(): the decision",
    "From here both stores have to have the record. Kafka does not know it yet.",
    ("app-1 goes on",),
)
DEATH = Beat(
    "app-1 dies",
    "Its producer is gone, its transaction stays open: nobody at the coordinator looks at a clock.",
    ("app-1 crashes", "quiet"),
)
RECOVER = Beat(
    "initTransactions(true) of the next process",
    "The coordinator keeps the transaction 9:0 and logs that only epoch 1 may end it: whoever still "
    "has epoch 0 is fenced. The answer names both identities, and the producer is PREPARED again.",
    ("app-1 starts", *CALL),
)


DUAL_WRITE = Scenario(
    "kip-939-dual-write",
    "Into Kafka and a database: the database decides",
    "An application dies after its database has committed and before Kafka has. The next process "
    "reads in the database how Kafka's transaction has to end.",
    "KIP-939, dual write; the client is shipped (4.1), keepPreparedTxn is a draft",
    SPEC,
    (
        *START,
        WRITE,
        PREPARE,
        INSERT,
        DECIDE,
        DEATH,
        RECOVER,
        Beat(
            "completeTransaction(database.state())",
            "The database has 9:0, and 9:0 is what was kept: equal, so commit. EndTxn goes out with "
            "epoch 1, the marker with epoch 1, above that of the data.",
            ("app-1 goes on", "until WriteTxnMarkers arrives at B3"),
        ),
        Beat(
            "Both stores have it",
            "The coordinator closes the transaction at epoch 2: a late copy of that EndTxn finds "
            "nothing to end. The application reads on behind its row.",
            ("quiet", "app-1 goes on", "app-1 goes on", "app-1 goes on", "quiet"),
        ),
    ),
    LANES,
    ("kip-939",),
    Question(
        9,
        "The new producer finds a kept transaction 9:0, and 9:0 in the database. How does it end?",
        (
            Choice(
                "it commits",
                True,
                "Right: the database can only have that text if its own commit went through.",
            ),
            Choice("it aborts: its producer is dead", False, "Then the row would have no output."),
            Choice(
                "it stays open until transaction.timeout.ms is over",
                False,
                "A transaction of a two-phase commit has no time limit.",
            ),
        ),
    ),
    watch=(
        Watch(4, "Watch B1 while the client prepares: nothing. Prepared is a word of the client."),
        Watch(
            7,
            "The two stores differ now. Watch the LSO of output-A-0 wait: no time-out is among the "
            "choices, so the difference cannot become a loss.",
        ),
        Watch(8, "Two identities: the transaction's own, 9:0, and the one that may end it, 9:1."),
    ),
    checkpoints=(
        SAW_LSO,
        SAW_PREPARED,
        SAW_DATABASE_AHEAD,
        SAW_KEPT,
    ),
)

UNDONE = Scenario(
    "kip-939-undone",
    "The same, and the database had not decided",
    "An application dies one call earlier: prepared in Kafka, not committed in the database. What is "
    "not in the database is aborted.",
    "KIP-939, dual write; the client is shipped (4.1), keepPreparedTxn is a draft",
    SPEC,
    (
        *START,
        WRITE,
        PREPARE,
        INSERT,
        Beat(
            "app-1 dies before database.commit()",
            "The database rolls back what was not committed. Kafka's transaction stays open.",
            ("app-1 crashes", "quiet"),
        ),
        RECOVER,
        Beat(
            "completeTransaction(database.state())",
            "The database has no state: not equal to 9:0, so abort. There is no third outcome.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "From the beginning",
            "The database's position is where it was: the same record is read, and written again, "
            "to both stores.",
            ("app-1 goes on", *CALL, "app-1 goes on", "app-1 goes on", "quiet"),
        ),
    ),
    LANES,
    ("kip-939",),
    Question(
        8,
        "The database has no state, Kafka keeps 9:0. What does completeTransaction() do?",
        (
            Choice("it aborts", True, "Right: the database would know if it had committed."),
            Choice("it commits: the transaction was prepared", False, "Then only Kafka has it."),
            Choice("it throws", False, "It throws only where nothing is prepared."),
        ),
    ),
    watch=(
        Watch(6, "Watch the row disappear from the database with the process that wrote it."),
        Watch(8, "An ABORT marker: the output stays in the log, and readers skip it."),
    ),
    checkpoints=(
        SAW_PREPARED,
        SAW_KEPT,
        SAW_APPLICATION_DEATH,
    ),
)

RELEASED = Scenario(
    "kip-939-released-only",
    "The same crash with what Kafka 4.4.0 serves",
    "keepPreparedTxn is refused by every release so far, so the next process can only call "
    "initTransactions(). It aborts what the database has committed.",
    "KIP-939, dual write, on Kafka 4.4.0: keepPreparedTxn answers UNSUPPORTED_VERSION",
    running(programs.DUAL_WRITE_RELEASED),
    (
        Beat(
            "producer.initTransactions()",
            "The producer asks for no time limit, and an open transaction would be aborted: that is "
            "all that the broker serves (version 6 of the request is marked unstable in 4.4.0, so "
            "that its own producer does not even send it).",
            CALL,
        ),
        Beat(
            "records = consumer.poll()",
            "One record of src-0, from where the database says.",
            ("app-1 goes on", *CALL),
        ),
        WRITE,
        PREPARE,
        INSERT,
        DECIDE,
        DEATH,
        Beat(
            "initTransactions() of the next process",
            "It fences and aborts, as initTransactions() always has: the row is in the database, its "
            "output is gone for good.",
            ("app-1 starts", "app-1 goes on", "until InitProducerId2Pc arrives at B1"),
        ),
        Beat(
            "The application reads on",
            "Its position is behind the row, so the record is not read again.",
            ("quiet", "app-1 goes on", "app-1 goes on", "app-1 goes on", "quiet"),
        ),
    ),
    LANES,
    ("kafka", "kip-939"),
    Question(
        7,
        "Kafka 4.4.0 cannot keep the transaction. What becomes of the output?",
        (
            Choice("it is aborted", True, "Right: the two stores disagree from here on."),
            Choice("it is committed, as the row is", False, "Nobody has asked the database."),
            Choice("it stays open", False, "initTransactions() ends what it finds."),
        ),
    ),
    watch=(
        Watch(5, "The database has committed. Who could tell the coordinator, if app-1 died now?"),
        Watch(7, "Compare with kip-939-dual-write: one flag of one request is the difference."),
    ),
    checkpoints=(
        SAW_DATABASE_AHEAD,
        SAW_PREPARED,
        SAW_APPLICATION_DEATH,
    ),
)

KAFKA_FIRST = Scenario(
    "kip-1310-kafka-first",
    "Kafka first, then the database: who remembers?",
    "KIP-1310 4.5 commits Kafka before the database. The application dies between the two, and the "
    "next process finds a database in doubt and nothing that says why.",
    "KIP-1310 4.5 'Custom 2PC Coordinators'; the recovery is not in the text: our inference",
    running(programs.KAFKA_FIRST_UNDOES),
    (
        Beat(
            "Start",
            "initTransactions(); nothing is in doubt in the database; one record is read.",
            (*CALL, "app-1 goes on", "app-1 goes on", *CALL),
        ),
        WRITE,
        Beat(
            "database.prepareTransaction(dbTxnId)",
            "The database votes first: it promises to commit or to roll back as it will be told.",
            ("app-1 goes on",),
        ),
        Beat(
            "kafkaSession.prepareTransaction()",
            "Kafka's vote is a flush. Both participants are prepared, and nobody has written down "
            "what is to become of it.",
            ("app-1 goes on", "app-1 goes on"),
        ),
        Beat(
            "resumed.commitTransaction()",
            "Kafka commits. The output is there for everybody to read.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "app-1 dies before database.commitTransaction(dbTxnId)",
            "The database keeps its promise and waits, in doubt.",
            ("app-1 crashes", "quiet"),
        ),
        Beat(
            "The next process",
            "Kafka has no open transaction: it was committed, or aborted, or there never was one. "
            "This program takes the careful way and rolls the database back.",
            ("app-1 starts", *CALL, "app-1 goes on"),
        ),
        Beat(
            "The record is read again",
            "The database knows nothing of it, so it is processed a second time: a second output.",
            ("app-1 goes on", *CALL, "app-1 goes on", "app-1 goes on", "quiet"),
        ),
    ),
    LANES,
    ("kip-939",),
    Question(
        6,
        "The database is in doubt, Kafka has nothing open. What is the right thing to do?",
        (
            Choice(
                "commit the database", False, "Right here, wrong if Kafka had never got the record."
            ),
            Choice(
                "roll the database back", False, "Kafka has committed: the stores would differ."
            ),
            Choice(
                "nobody can tell",
                True,
                "Right: a decision that was not written down cannot be found again.",
            ),
        ),
    ),
    watch=(
        Watch(
            2,
            "The first vote is the database's: it does not know yet whether Kafka has the record.",
        ),
        Watch(4, "Look for the place where the decision to commit both is written down."),
        Watch(6, "The verdict breaks here: committed in Kafka, rolled back in the database."),
    ),
    checkpoints=(
        SAW_IN_DOUBT,
        Checkpoint("saw Kafka committed and the database empty-handed", "database empty-handed"),
        SAW_APPLICATION_DEATH,
    ),
)

SMALL = Scenario(
    "kip-939-small",
    "One record into Kafka and into a database: small enough to search",
    "An application writes the output of one record to Kafka and a row to its database.",
    "KIP-939, dual write; the client is shipped (4.1), keepPreparedTxn is a draft",
    SPEC,
    (),
    LANES,
    ("kip-939",),
    watch=(
        Watch(0, "Crash app-1 wherever you like: compare its database with output-A-0 each time."),
        Watch(0, "Only one line decides. Find it by crashing app-1 before and after every line."),
    ),
    checkpoints=(
        SAW_PREPARED,
        SAW_DATABASE_AHEAD,
    ),
)


def _small(name: str, title: str, program: tuple[Line, ...], clause: str = "") -> Scenario:
    """Give the small cluster with another order of calls."""
    return SMALL.but(
        name=f"kip-939-small-{name}",
        title=title,
        sentence=f"The small cluster of KIP-939 with another program: {title[:1].lower()}{title[1:]}.",
        clause=clause or SMALL.clause,
        spec=running(program),
    )


KIP_1310 = "KIP-1310 4.5; the recovery is not in the text: our inference"
ORDERS = (
    _small(
        "released",
        "Dual write with what releases serve: initTransactions() keeps nothing",
        programs.DUAL_WRITE_RELEASED,
    ),
    _small(
        "kafka-first-undoes",
        "Kafka first, and what is in doubt afterwards is rolled back",
        programs.KAFKA_FIRST_UNDOES,
        KIP_1310,
    ),
    _small(
        "kafka-first-commits",
        "Kafka first, and what is in doubt afterwards is committed",
        programs.KAFKA_FIRST_COMMITS,
        KIP_1310,
    ),
    _small(
        "votes-swapped",
        "Kafka first, but the database votes last, so that its vote says that Kafka is ready",
        programs.KAFKA_FIRST_REPAIRED,
        KIP_1310,
    ),
)
SMALL_NEXT = SMALL.but(
    name="kip-939-small-next",
    title="Two records, one after the other: what is late can meet the next transaction",
    sentence="The small cluster of KIP-939 with a second record behind the first.",
    spec=SPEC.but(records=(("src-0", 0, ("a", "b")),)),
)

STORIES: tuple[Scenario, ...] = (
    DUAL_WRITE,
    UNDONE,
    RELEASED,
    KAFKA_FIRST,
    SMALL,
    *ORDERS,
    SMALL_NEXT,
)
