"""KIP-1309: is the owner of a transaction alive? Heartbeats, and what they mean for a prepared one."""

from __future__ import annotations

from kipviz.scenarios import programs
from kipviz.scenarios.material import (
    SAW_APPLICATION_DEATH,
    SAW_DATABASE_AHEAD,
    SAW_LSO,
    SAW_PREPARED,
    Checkpoint,
    Watch,
)
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.kip_939 import DUAL_WRITE, DUAL_WRITER, LANES, SPEC

CLAUSE = "KIP-1309, TxnHeartbeat (draft; its page has no fields and no errors: our inference)"
INTERVAL_MS = 5_000
BEATING = SPEC.but(applications=(DUAL_WRITER.but(heartbeat_interval_ms=INTERVAL_MS),))
# A writer that nobody else depends on: its time limit is the longest that a broker allows.
PLAIN = BEATING.but(
    applications=(
        DUAL_WRITER.but(
            program=programs.COPY,
            two_phase_commit=False,
            database=False,
            transaction_timeout_ms=900_000,
            heartbeat_interval_ms=INTERVAL_MS,
        ),
    )
)
HEARTBEAT = Beat(
    "TxnHeartbeat",
    "Every 5 s the sender says that it lives. The coordinator answers, logs nothing, and begins to "
    "wait again: three silent intervals are too many.",
    ("the heartbeat interval of app-1/producer is over", "quiet"),
)

DEAD_WRITER = Scenario(
    "kip-1309-dead-writer",
    "A long time limit, and a writer that dies",
    "transaction.timeout.ms is 15 minutes, because the work may take that long. The writer dies in "
    "its first second. With heartbeats the readers wait for 15 s instead of 15 minutes.",
    CLAUSE,
    PLAIN,
    (
        Beat(
            "producer.initTransactions()",
            "The request carries the heartbeat interval. Where it stands there is our inference.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "records = consumer.poll()",
            "One record of src-0.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "producer.send(output)",
            "The transaction is open, and read_committed consumers wait before it.",
            ("app-1 goes on", "app-1 goes on", "quiet"),
        ),
        HEARTBEAT,
        Beat(
            "app-1 dies",
            "No more heartbeats. Two timers run now: one for 15 minutes, one for 15 s.",
            ("app-1 crashes", "quiet"),
        ),
        Beat(
            "Three intervals without a heartbeat",
            "The coordinator aborts as after a time-out, and fences the producer that may yet wake up.",
            ("the liveness of my-txn runs out at B1",),
        ),
        Beat(
            "The readers go on",
            "The ABORT marker frees the last stable offset.",
            ("quiet",),
        ),
    ),
    LANES,
    ("kip-1309", "kip-939+liveness=not_in_two_phases"),
    Question(
        5,
        "The writer has died one second after it began. Who ends its transaction first?",
        (
            Choice("transaction.timeout.ms", False, "That takes 15 minutes here."),
            Choice("three missed heartbeats", True, "Right: 3 x 5 s, and the limit stays long."),
            Choice("nobody until it is started again", False, "Its coordinator looks at timers."),
        ),
    ),
    watch=(
        Watch(
            3, "The heartbeat says that the sender lives. Does it say that the application does?"
        ),
        Watch(5, "The same way out as a time-out: PREPARE_ABORT with the next epoch."),
    ),
    checkpoints=(
        SAW_LSO,
        SAW_APPLICATION_DEATH,
        Checkpoint("took a branch in which transaction.timeout.ms runs out first", "timed out"),
    ),
)

PREPARED = Scenario(
    "kip-1309-prepared",
    "Nobody's heart beats for a prepared transaction",
    "The database has committed, and the application is down. A coordinator that waits for heartbeats "
    "aborts what only the next process may end.",
    f"{CLAUSE}; with KIP-939, of which the text does not speak",
    BEATING,
    (
        Beat(
            "Up to the output",
            "app-1 starts, reads a record, and sends its output in a transaction without a time limit.",
            tuple(step for beat in DUAL_WRITE.beats[:4] for step in beat.steps),
        ),
        HEARTBEAT,
        *DUAL_WRITE.beats[4:7],
        Beat(
            "app-1 dies",
            "Only the next process can end the transaction: it will ask the database.",
            ("app-1 crashes", "quiet"),
        ),
        Beat(
            "Three intervals without a heartbeat",
            "The text makes no exception for a two-phase commit, and prepared is not known to any "
            "broker. With an exception for all of them (our inference) nothing runs out here.",
            ("maybe the liveness of my-txn runs out at B1", "quiet"),
        ),
        Beat(
            "The next process comes too late, or in time",
            "It asks to keep what is open, reads 9:0 in its database, and completes if it can.",
            ("app-1 starts", "app-1 goes on", "quiet", "app-1 goes on", "app-1 goes on", "quiet"),
        ),
    ),
    LANES,
    ("kip-1309", "kip-939+liveness=not_in_two_phases"),
    Question(
        6,
        "No heartbeat for three intervals, and 9:0 is in the database. What should the coordinator do?",
        (
            Choice("abort: the owner is dead", False, "Then the row has no output."),
            Choice(
                "wait, as long as it takes",
                True,
                "Right, and then heartbeats are of no use to a two-phase commit: its readers wait.",
            ),
            Choice(
                "commit: it is prepared", False, "Prepared is not decided; and nobody knows it."
            ),
        ),
    ),
    watch=(
        Watch(1, "The producer beats while it lives. It cannot beat for what it leaves behind."),
        Watch(6, "Compare the two designs: abort and tear, or wait and hold the readers back."),
    ),
    checkpoints=(
        SAW_LSO,
        SAW_DATABASE_AHEAD,
        SAW_PREPARED,
    ),
)

SMALL = Scenario(
    "kip-1309-small",
    "One record into Kafka and into a database, with heartbeats: small enough to search",
    "The small cluster of KIP-939 with a producer that sends heartbeats.",
    CLAUSE,
    BEATING,
    (),
    LANES,
    ("kip-1309",),
    watch=(
        Watch(0, "Let the liveness run out while the process is down, and while it is only slow."),
        Watch(0, "Which of the two can the coordinator tell from the other?"),
    ),
    checkpoints=(
        SAW_LSO,
        SAW_DATABASE_AHEAD,
    ),
)

STORIES: tuple[Scenario, ...] = (DEAD_WRITER, PREPARED, SMALL)
