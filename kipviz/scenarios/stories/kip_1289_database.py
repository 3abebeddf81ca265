"""KIP-1289 with KIP-939: a share group, an output and an external database that end alike.

The draft defers "databases as 2PC participants" to a follow-up KIP. What stands here is our
inference: the database decides, as in KIP-939, and the vote of the share group is one more thing that
Kafka's prepared transaction takes along.
"""

from __future__ import annotations

from kipviz.brokers.settings import BrokerSettings
from kipviz.scenarios import programs
from kipviz.scenarios.material import (
    SAW_APPLICATION_DEATH,
    SAW_DATABASE_AHEAD,
    SAW_PREPARED,
    SAW_STAGED,
    Watch,
)
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.kip_1289_findings import SMALL_TOGETHER
from kipviz.scenarios.stories.setting import share_app, share_spec

WRITER = share_app(
    max_records=1, program=programs.SHARE_DUAL_WRITE, two_phase_commit=True, database=True
)
SPEC = share_spec(WRITER, values=("a",)).but(settings=BrokerSettings(two_phase_commit_enable=True))
CALL = ("app-1 goes on", "quiet", "app-1 goes on")

START = (
    Beat(
        "producer.initTransactions(true)",
        "No time limit, and keep what is open. Nothing is: producer id 9, epoch 0.",
        CALL,
    ),
    Beat(
        "Nothing to complete; consumer.poll()",
        "completeTransaction() throws, because nothing is prepared. Record 100 is delivered and locked.",
        ("app-1 goes on", *CALL),
    ),
    Beat(
        "producer.send(output)",
        "The output is in output-A-0, in an open transaction.",
        ("app-1 goes on", "app-1 goes on", "quiet"),
    ),
)
STAGES = Beat(
    "sendShareAcknowledgementsToTransaction(acks, meta)",
    "The call returns at once; TxnShareAcknowledge waits for the sender.",
    ("app-1 goes on",),
)
PREPARES = Beat(
    "state = producer.prepareTransaction()",
    "Both outcomes have to be possible from here on. A flush is about batches; whether it waits for the "
    "vote as well is the question.",
    ("app-1 goes on", "quiet but app-1/producer sends TxnShareAcknowledge"),
)
DECIDES = Beat(
    "database.insert(rows, state); database.commit()",
    "The decision. Output, acknowledgement and row are one from here on, or should be.",
    ("maybe app-1 goes on",) * 3,
)

DATABASE = Scenario(
    "kip-1289-database",
    "A share group, an output and a database: the database decides",
    "A member of a share group writes an output to Kafka and a row to a database, and its "
    "acknowledgement is in the same transaction. It dies after the database has committed.",
    "KIP-1289, Follow-up KIP, 'database as 2PC participants'; KIP-939, dual write (our inference)",
    SPEC,
    (
        *START,
        Beat(
            "The vote",
            "Staged, and in the log of Broker 7: its partition is a participant like any other.",
            ("app-1 goes on", "quiet"),
        ),
        Beat(
            "state = producer.prepareTransaction()",
            "Nothing is left to wait for: PREPARED_TRANSACTION, and the text 9:0.",
            ("app-1 goes on", "app-1 goes on"),
        ),
        Beat(
            "database.insert(rows, state); database.commit()",
            "The decision: row and text are in the database. No broker knows of it.",
            ("app-1 goes on", "app-1 goes on"),
        ),
        Beat(
            "app-1 dies",
            "Its share session ends, its transaction stays open without a time limit, and the vote with "
            "it: 100 is TX_PENDING, for nobody to have.",
            ("app-1 crashes", "quiet"),
        ),
        Beat(
            "The next process",
            "initTransactions(true) keeps the transaction 9:0. The database has 9:0 as well: commit.",
            ("app-1 starts", *CALL, "app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "All three have it",
            "The marker in the output, the marker behind the vote; 100 is ACKNOWLEDGED, and is not "
            "delivered to the new process.",
            (
                "maybe B5 refreshes src-0",
                "quiet",
                "app-1 goes on",
                "quiet",
                "maybe B5 refreshes src-0",
                "quiet",
            ),
        ),
    ),
    ("app-1", "B1", "B5", "B7"),
    ("repaired",),
    Question(
        6,
        "app-1 is dead, its database has committed. Who may have record 100 now?",
        (
            Choice(
                "another member, when the lock runs out",
                False,
                "The lock of a vote does not run here.",
            ),
            Choice(
                "another member, after transaction.timeout.ms",
                False,
                "A two-phase commit has none.",
            ),
            Choice(
                "nobody, until app-1 has been started again",
                True,
                "Right. That is the price: whoever decides has to come back (finding P, without a bound).",
            ),
        ),
    ),
    watch=(
        Watch(5, "Three places hold something of record 100. Which of them knows the outcome?"),
        Watch(7, "Who tells Broker 7 what becomes of its vote, and where has that been read?"),
    ),
    checkpoints=(SAW_STAGED, SAW_DATABASE_AHEAD, SAW_APPLICATION_DEATH),
)

TOO_EARLY = DATABASE.but(
    name="kip-1289-database-too-early",
    title="prepareTransaction() that does not wait for the vote",
    sentence="The producer is prepared while its staging is on the way, the database commits, and the "
    "staging is refused: the record's lock had run out.",
    clause="KIP-939 prepareTransaction(), which flushes; KIP-1289 'returns after enqueueing' (our inference)",
    beats=(
        *START,
        STAGES,
        PREPARES,
        DECIDES,
        Beat(
            "The lock of record 100 runs out",
            "Broker 5 has heard of no staging.",
            (
                "maybe the lock of src-0@100 runs out",
                "quiet but app-1/producer sends TxnShareAcknowledge",
            ),
        ),
        Beat(
            "TxnShareAcknowledge arrives",
            "It is refused. Where prepareTransaction() has waited for it, nothing is decided yet, and the "
            "loop aborts; else the database has the row, and Kafka cannot commit any more.",
            ("quiet",),
        ),
        Beat(
            "What is left",
            "abortTransaction(), and nothing has happened; or completeTransaction() of a producer that is in "
            "its fatal error: the process ends, and a transaction without a time limit stays open.",
            ("maybe app-1 goes on", "quiet", "maybe app-1 goes on", "quiet"),
        ),
        Beat(
            "Somebody starts it again",
            "The next process finds 9:0 prepared and 9:0 in its database, or neither of the two.",
            ("app-1 crashes", "quiet", "app-1 starts", *CALL, "app-1 goes on", "quiet"),
        ),
    ),
    designs=("repaired+prepare_waits=for_batches_alone", "repaired"),
    question=Question(
        5,
        "The producer is PREPARED, and its staging is still to be sent. May the database commit?",
        (
            Choice(
                "yes: prepared means that",
                False,
                "Then Kafka may have to abort what the database has.",
            ),
            Choice(
                "no: a vote is missing", True, "Right: who is prepared has to be able to commit."
            ),
        ),
    ),
    watch=(
        Watch(
            4, "Is there a TxnShareAcknowledge without an answer when prepareTransaction() returns?"
        ),
        Watch(7, "Compare the row in the database with the output in output-A-0."),
    ),
    checkpoints=(
        SAW_DATABASE_AHEAD,
        SAW_PREPARED,
    ),
)

SMALL_DATABASE = Scenario(
    "kip-1289-small-database",
    "One record of a share group, an output and a row: small enough to search",
    "The small cluster of KIP-1289 with a database that decides.",
    DATABASE.clause,
    SPEC,
    (),
    ("app-1", "B1", "B5", "B7"),
    ("repaired",),
    watch=(
        Watch(
            0, "Crash app-1 wherever you like, and compare three places: row, output, record 100."
        ),
        Watch(
            0, "Is there a moment at which record 100 waits for a process that never comes back?"
        ),
    ),
    checkpoints=(SAW_STAGED, SAW_DATABASE_AHEAD),
)
# Where a vote in memory can be found by a marker at all.
SMALL_DATABASE_TOGETHER = SMALL_DATABASE.but(
    name="kip-1289-small-database-together",
    title="One record, an output and a row; source and state on one broker",
    spec=SPEC.but(placements=SMALL_TOGETHER.spec.placements),
)

STORIES: tuple[Scenario, ...] = (DATABASE, TOO_EARLY, SMALL_DATABASE, SMALL_DATABASE_TOGETHER)
