"""KIP-1309 where the writer is not the committer: who beats, in whose name, and by whose setting.

A sink writes in one process and commits in another (Flink). Between the two nobody is the owner of the
transaction, and KIP-1309 does not say who has to beat. TxnHeartbeat carries a name, a producer id and an
epoch, and nothing of the process: whoever has the three may beat. All of it on a timed clock.
"""

from __future__ import annotations

from kipviz.cluster.clock import TICKS, TIMED, Clock
from kipviz.cluster.session_config import SessionSpec
from kipviz.cluster.spec import ClusterSpec
from kipviz.scenarios import session_programs
from kipviz.scenarios.material import (
    BROUGHT_TO_END,
    SAW_APPLICATION_DEATH,
    SAW_LSO,
    Checkpoint,
    Watch,
)
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.kip_1310 import COMMITTER, FLINK_TODAY, WRITER
from kipviz.scenarios.stories.kip_1310_open import BEATING, group_cluster

CLAUSE = "KIP-1309 'who beats when the writer is not the committer'; KIP-1310 2.1, 4.1 (drafts)"
INTERVAL_MS = 5_000
CLOCK = Clock(TIMED, tick=TICKS[1])
PASSES = "time passes"
SILENCE = "the liveness of my-txn runs out at B1"
TURN = ("{} goes on", "quiet", "{} goes on")
LANES = ("app-1", "app-2", "B1", "B3")
ABORTED = Checkpoint("saw a transaction aborted because nobody was heard of", "silence")


def _sink(session_timeout_ms: int) -> ClusterSpec:
    """Give a writer that beats every 5 s and may take 15 minutes, and a committer with a session."""
    writer = WRITER.but(transaction_timeout_ms=900_000, heartbeat_interval_ms=INTERVAL_MS)
    committer = COMMITTER.but(
        program=session_programs.COMMITTER,
        session=SessionSpec(producers=(), session_timeout_ms=session_timeout_ms),
    )
    return FLINK_TODAY.spec.but(applications=(writer, committer), clock=CLOCK)


def _by(name: str, *steps: str) -> tuple[str, ...]:
    return tuple(step.format(name) for step in steps)


WRITTEN = (
    Beat(
        "app-1 writes, flushes, and is in the checkpoint",
        "It has told Broker 1 that it beats every 5 s: three silent intervals, 15 s, are too many. Its "
        "time limit is 15 minutes, as long as a checkpoint may take.",
        _by("app-1", *TURN, *TURN, "{} goes on", "{} goes on", "quiet"),
    ),
    Beat(
        "5 s: its last heartbeat",
        "The 15 s begin again.",
        (PASSES, "the heartbeat interval of app-1/producer is over", "quiet"),
    ),
    Beat(
        "app-1 dies",
        "All of its records are in the log, and the checkpoint has its identity. Nothing is lost yet.",
        ("app-1 crashes", "quiet"),
    ),
)
COMMITS = Beat(
    "session.commitTransaction()",
    "EndTxn carries the identity of the checkpoint.",
    ("app-2 goes on", "quiet", "app-2 goes on"),
)

NOBODY = Scenario(
    "kip-1309-nobody-beats",
    "The writer is dead, the committer has not come yet: nobody beats",
    "A sink's checkpoint is complete, its writer dies, and the committer needs 20 s to come up. By the "
    "rule of three intervals the transaction is aborted before.",
    CLAUSE,
    _sink(-1),
    (
        *WRITTEN,
        Beat(
            "15 s of silence",
            "Broker 1 aborts, and fences whoever has the epoch of the checkpoint.",
            (PASSES, SILENCE, "quiet"),
        ),
        Beat(
            "app-2 resumes the transaction",
            "A constructor: it asks nobody, so nobody can tell it.",
            ("app-2 goes on",),
        ),
        COMMITS.but(
            say="INVALID_TXN_STATE: what the checkpoint counts as written is aborted. No promise of Kafka "
            "is broken; it is the sink that loses."
        ),
    ),
    LANES,
    ("repaired", "kip-1310"),
    Question(
        3,
        "The transaction may take 15 minutes, its writer is dead, its records are all there. What does "
        "Broker 1 know of the checkpoint?",
        (
            Choice(
                "nothing", True, "Right: for Broker 1 a dead writer's transaction is lost work."
            ),
            Choice("that it is complete", False, "No request of any draft tells it."),
            Choice("that app-2 will come", False, "app-2 has not sent anything."),
        ),
    ),
    watch=(
        Watch(3, "Without heartbeats the committer would have had 15 minutes: look at the limit."),
        Watch(5, "Count the records of output-A-0 that a reader of committed data gets."),
    ),
    checkpoints=(SAW_LSO, SAW_APPLICATION_DEATH, ABORTED),
)
ANOTHER = NOBODY.but(
    name="kip-1309-committer-beats",
    title="Another process beats in the name of the transaction",
    sentence="The committer takes the transaction up at once and beats until the checkpoint is complete: "
    "Broker 1 cannot tell its heartbeats from the writer's.",
    spec=_sink(3 * INTERVAL_MS),
    beats=(
        *WRITTEN,
        Beat(
            "app-2 resumes the transaction",
            "It has a session time-out of 15 s, so it beats every 5 s. resume() sends nothing.",
            ("app-2 goes on",),
        ),
        *(
            Beat(
                f"{seconds} s: a heartbeat of app-2",
                say,
                (PASSES, "the heartbeat interval of app-2/session is over", "quiet"),
            )
            for seconds, say in (
                (10, "TxnHeartbeat with producer id 9, epoch 0: the same three words as app-1's."),
                (15, "The process that wrote is dead for 10 s. Its transaction is alive."),
                (20, "Without app-2 it would end now."),
            )
        ),
        COMMITS.but(say="The checkpoint is complete: everything that app-1 wrote is visible."),
    ),
    question=Question(
        4,
        "A heartbeat of app-2 arrives with the identity of app-1's transaction. What does Broker 1 answer?",
        (
            Choice(
                "NONE", True, "Right: name, producer id and epoch fit, and there is nothing else."
            ),
            Choice("PRODUCER_FENCED", False, "Nobody has raised the epoch."),
            Choice("INVALID_TXN_STATE", False, "The transaction is ONGOING."),
        ),
    ),
    watch=(
        Watch(4, "Who beats? Look at the connection, not at the message."),
        Watch(
            6,
            "What has been proved: that somebody who knows three values lives. If app-2 never commits, "
            "its heartbeats hold the readers back until 15 minutes are over.",
        ),
    ),
    checkpoints=(SAW_LSO, SAW_APPLICATION_DEATH, BROUGHT_TO_END),
)
OTHER_INTERVAL = NOBODY.but(
    name="kip-1309-other-interval",
    title="A committer that beats, by a setting that its coordinator has never heard of",
    sentence="The committer has a session time-out of 60 s and beats every 20 s. Broker 1 goes by the 5 s "
    "that the writer told, because resume() tells nothing.",
    spec=_sink(60_000),
    beats=(
        *WRITTEN,
        Beat(
            "app-2 resumes the transaction",
            "Its first heartbeat is due in 20 s. It is alive and has all it needs.",
            ("app-2 goes on",),
        ),
        Beat(
            "15 s without a heartbeat",
            "Broker 1 counts three intervals of the writer's 5 s.",
            (PASSES, SILENCE, "quiet"),
        ),
        Beat(
            "5 s later: app-2 beats, and hears of it",
            "PRODUCER_FENCED: for the first time somebody answers app-2.",
            (PASSES, "the heartbeat interval of app-2/session is over", "quiet"),
        ),
        COMMITS.but(
            say="The session is in FATAL_ERROR: the call throws, and nothing is sent any more.",
            steps=("app-2 goes on", "quiet"),
        ),
    ),
    question=Question(
        4,
        "app-2 lives, and beats every 20 s as it is configured. Why is its transaction aborted?",
        (
            Choice(
                "the interval is told with InitProducerId only",
                True,
                "Right: whoever resumes sends none, so the writer's setting counts.",
            ),
            Choice(
                "20 s are longer than transaction.timeout.ms", False, "That is 15 minutes here."
            ),
            Choice("app-2 is not the owner", False, "Nobody looks at who sends a heartbeat."),
        ),
    ),
    watch=(
        Watch(3, "No arrow: what does Broker 1 know of app-2's settings?"),
        Watch(5, "The heartbeat is answered, and too late."),
    ),
)

# -- the two settings ---------------------------------------------------------------------------

TWO_SETTINGS = Scenario(
    "kip-1309-two-settings",
    "transaction.heartbeat.interval.ms or transaction.session.timeout.ms: who reads which number?",
    "KIP-1309 tells a coordinator the interval and waits for three of them, 0 is off. KIP-1310 gives the "
    "same issue a session time-out, -1 is off. One number goes over the wire; each side may read it as "
    "either.",
    "KIP-1309 (transaction.heartbeat.interval.ms) against KIP-1310 2.2 (transaction.session.timeout.ms)",
    group_cluster(("a", "b"), BEATING).but(clock=CLOCK),
    (
        Beat(
            "session.initialize(), poll(), beginTransaction()",
            "transaction.session.timeout.ms is 9 s. Look at the number in InitProducerId: 3,000 if the "
            "session translates it into an interval, 9,000 if it tells its own setting.",
            (*_by("app-1", *TURN, *TURN), "app-1 goes on"),
        ),
        Beat(
            "producer.send(f(a), f(b))",
            "The transaction is ONGOING. From now on Broker 1 counts.",
            ("app-1 goes on", "quiet"),
        ),
        Beat(
            "3 s: is it silent for too long already?",
            "The first heartbeat is due. Where an interval of 3 s is taken for a time-out, so is the end "
            "of the transaction: a healthy one may be aborted.",
            (PASSES, f"maybe {SILENCE}"),
        ),
        Beat(
            "The heartbeat",
            "The session beats every 3 s, a third of its time-out: how often is on neither page.",
            ("the heartbeat interval of app-1/session is over", "quiet"),
        ),
        Beat("app-1 dies", "No broker is told.", ("app-1 crashes",)),
        Beat(
            "How long until Broker 1 gives it up?",
            "9 s where both sides read the number alike; 27 s where a time-out is taken for an interval.",
            (f"maybe {PASSES}", f"maybe {SILENCE}", "quiet"),
        ),
    ),
    ("app-1", "B1", "B3"),
    (
        "repaired",
        "kip-1310",
        "repaired+session_timeout=the_timeout_itself",
        "repaired+silence=one_session_timeout",
    ),
    Question(
        5,
        "A session tells its time-out of 9 s (KIP-1310), and its coordinator goes by KIP-1309. When is a "
        "dead session given up?",
        (
            Choice("after 9 s", False, "Only if the coordinator knew that this is a time-out."),
            Choice("after 27 s", True, "Right: three times what it was told."),
            Choice("after 3 s", False, "Three seconds is how often it beats."),
        ),
    ),
    watch=(
        Watch(0, "One field of one request. Which page does it belong to?"),
        Watch(2, "Four designs, two readings on each side: only two of the four fit together."),
        Watch(5, "Look at how much time passes in this step under each design."),
    ),
    checkpoints=(SAW_LSO, SAW_APPLICATION_DEATH, ABORTED),
)

STORIES: tuple[Scenario, ...] = (NOBODY, ANOTHER, OTHER_INTERVAL, TWO_SETTINGS)
