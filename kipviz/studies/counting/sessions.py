"""The questions about TransactionSession (KIP-1310) that are answered by counting runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from kipviz.checking.search.explore import Search
from kipviz.checking.search.search_result import Bounds
from kipviz.checking.timed.ledger import Ledger, ledger
from kipviz.clients.application import Call, Line
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.specs.kafka_defaults import default_in_flight
from kipviz.cluster.specs.spec import ClusterSpec, FaultBudget, Placement, SessionSpec
from kipviz.cluster.world import World, host_of
from kipviz.core.traces.trace import Trace
from kipviz.designs.catalogue import design
from kipviz.messages.events import MessageSent
from kipviz.messages.logs.producing import Produce, ProduceResponse
from kipviz.messages.message import Message
from kipviz.messages.message_errors import error_of_response
from kipviz.messages.transactions.transactions import EndTxnResponse, named_transactions
from kipviz.properties.verdict import States
from kipviz.records.placement import CONSUMER_OFFSETS, TRANSACTION_STATE, partition_for
from kipviz.records.transaction_state import (
    LAST_CLIENT_EPOCH,
    TransactionRecord,
    TransactionState,
)
from kipviz.scenarios.applications import programs, session_programs
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.scenario import PROPERTIES, Scenario
from kipviz.scenarios.script import follow
from kipviz.scenarios.setting import GROUP, TRANSACTIONAL_ID, home
from kipviz.studies.review_findings.event_predicates import committed_values

Table = tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]
TURN = ("goes on", "quiet", "goes on")
SentMessage = TypeVar("SentMessage", bound=Message)


def play_steps(spec: ClusterSpec, under: str, steps: tuple[str, ...]) -> Trace:
    """Play instructions on a cluster; those that begin with "maybe" may be impossible."""
    chosen = design(under)
    model = chosen.model(spec)
    trace = Trace.start(model, PROPERTIES)
    for step in steps:
        trace = follow(trace, model, step, under)
    return trace


def list_sent(trace: Trace, kind: type[SentMessage], host: str = "") -> Iterator[SentMessage]:
    """Yield the messages of a kind that were sent in a run; with `host` only those of one host's connections."""
    for number in trace.line:
        for event in trace.node(number).events:
            if not isinstance(event, MessageSent) or host not in ("", host_of(event.source)):
                continue
            if isinstance(event.message, kind):
                yield event.message


def by(app: str, *steps: str) -> tuple[str, ...]:
    """Return instructions for one application."""
    return tuple(f"{app} {step}" if step == "goes on" else step for step in steps)


# -- B12: does a recovery fence the writer? -----------------------------------------------------

KEEP = Line("producer.initTransactions(true);", Call.INIT_TRANSACTIONS, target="keepPreparedTxn")
COMMIT = Line("producer.commitTransaction();", Call.COMMIT_TRANSACTION)
# Each recovery: its description, its design, its program, and how it takes the transaction over.
RECOVERIES: tuple[tuple[str, str, tuple[Line, ...], tuple[str, ...]], ...] = (
    ("TransactionSession.resume() (KIP-1310)", "kip-1310", session_programs.COMMITTER, TURN[:1]),
    (
        "a producer's fields set by reflection (Flink)",
        "kafka",
        session_programs.REFLECTION,
        TURN[:1],
    ),
    ("initTransactions(keepPreparedTxn) (KIP-939)", "kip-939", (KEEP, COMMIT), TURN),
    ("initTransactions(), which aborts", "kafka", (programs.INIT,), TURN),
)


def fencing() -> Table:
    """Return the outcome of a record that a paused writer sends while another process recovers its transaction."""
    story = searched_scenario("kip-1310-live-writer")
    rows = []
    for label, under, program, taken in RECOVERIES:
        writer, committer = story.spec.applications
        session = SessionSpec(producers=()) if under == "kip-1310" else None
        two_phase = under == "kip-939"
        apps = (
            writer.but(two_phase_commit=two_phase),
            committer.but(program=program, session=session, two_phase_commit=two_phase),
        )
        spec = story.spec.but(
            applications=apps,
            settings=story.spec.settings.but(two_phase_commit_enable=two_phase),
        )
        trace = play_steps(
            spec,
            under,
            (
                *by("app-1", *TURN, *TURN, "goes on", "goes on", "quiet"),
                *by("app-2", *taken),
                *by("app-1", *TURN, "goes on", "quiet"),
                *("maybe app-2 goes on", "quiet", "maybe app-2 goes on", "quiet"),
            ),
        )
        late = [error_of_response(each).name for each in list_sent(trace, ProduceResponse)][1:]
        told = "; ".join(dict.fromkeys(late)) or "nothing"
        values = committed_values(trace.world, "output-A-0")
        asked = _requests_of(ledger(trace), "app-2")
        rows.append(
            (label, under, asked, told, ", ".join(values) or "nothing", _yes("f(b)" in values))
        )
    heads = (
        "recovery",
        "design",
        "it sends",
        "the writer hears for f(b)",
        "committed in the end",
        "with what no checkpoint has",
    )
    return heads, tuple(rows)


def _requests_of(counted: Ledger, process: str) -> str:
    names: dict[str, int] = {}
    for owner in counted.owners:
        for _, sent in owner.connections if owner.process == process else ():
            for name, count in sent:
                names[name] = names.get(name, 0) + count
    return ", ".join(f"{name} {count}" for name, count in sorted(names.items())) or "nothing"


def _yes(said: bool) -> str:
    return "yes" if said else "no"


# -- B13: what does one EndTxn tell? --------------------------------------------------------------

BEGUN = by("app-1", *TURN, *TURN, "goes on", "goes on", "quiet")
COMMITTED = (*BEGUN, *by("app-1", "goes on", "quiet", "goes on"))
WRITER_LOOP = (*programs.COPY,)
LAST_BUT_ONE = TransactionRecord(
    TRANSACTIONAL_ID,
    5,
    LAST_CLIENT_EPOCH - 1,
    TransactionState.COMPLETE_COMMIT,
    client_transaction_version=2,
)
ROLLED_OVER = "it is committed, and its epoch was the last one of its producer id"
TRUTHS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("it is open", BEGUN),
    (
        "its commit is logged, markers are under way",
        (*BEGUN, "app-1 goes on", "quiet but WriteTxnMarkers arrives at B*"),
    ),
    ("it is committed", COMMITTED),
    ("it was aborted by its time-out", (*BEGUN, "my-txn times out", "quiet")),
    (
        "it is committed, and the next one has begun",
        (*COMMITTED, *by("app-1", *TURN, "goes on", "goes on", "quiet")),
    ),
    (
        "another process has called InitProducerId since",
        (*BEGUN, "app-1 crashes", "app-1 starts", *by("app-1", "goes on", "quiet", "goes on")),
    ),
    (ROLLED_OVER, COMMITTED),
    ("nothing was ever written in it", by("app-1", *TURN, *TURN, "goes on")),
)


def one_end_txn() -> Table:
    """Return the coordinator's response to the first EndTxn(COMMIT) of a recovery, for each true outcome."""
    found = [
        (truth, *(_first_answer(truth, steps, version) for version in (5, 4)))
        for truth, steps in TRUTHS
    ]
    rows = []
    for truth, *said in found:
        like = (sum(other[k + 1] == said[k] for other in found) for k in (0, 1))
        rows.append((truth, *said, *map(str, like)))
    heads = (
        "the truth",
        "EndTxn version 5 (a session of version 2)",
        "version 4 (Flink, by reflection)",
        "truths with the answer of 5",
        "truths with the answer of 4",
    )
    return heads, tuple(rows)


def _first_answer(truth: str, steps: tuple[str, ...], version: int) -> str:
    story = searched_scenario(
        "kip-1310-flink-session" if version == 5 else "kip-1310-flink-producer"
    )
    writer, committer = story.spec.applications
    writer = writer.but(program=WRITER_LOOP, max_records=1)
    spec = story.spec.but(applications=(writer, committer))
    if truth == ROLLED_OVER:
        # The checkpoint has the identity of the writer's only transaction, as in the other cases.
        producer_id, epoch = LAST_BUT_ONE.producer_id, LAST_CLIENT_EPOCH
        program = tuple(
            line.but(
                text=line.text.replace("9, 0", f"{producer_id}, {epoch}"),
                target=line.target.replace("9 0", f"{producer_id} {epoch}"),
            )
            for line in committer.program
        )
        spec = spec.but(
            applications=(writer, committer.but(program=program)), transactions=(LAST_BUT_ONE,)
        )
    under = "repaired" if version == 5 else "kafka"
    ask = (
        "app-2 goes on",
        "app-2 goes on",
        "app-2/* sends EndTxn",
        "until EndTxn arrives at B1",
    )
    held = ask if "WriteTxnMarkers" not in steps[-1] else (*ask[:3], "EndTxn arrives at B1")
    trace = play_steps(spec, under, (*steps, *held))
    answers = [each.error.name for each in list_sent(trace, EndTxnResponse, "app-2")]
    return answers[0] if answers else "no answer yet"


# -- B16: one identity, two transactions ------------------------------------------------------------

NEXT = by("app-1", *TURN, "goes on", "goes on", "quiet")
POOLS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("the identity is used again (version 1)", "kafka-tv1", NEXT),
    (
        "a new producer for every transaction (version 1)",
        "kafka-tv1",
        ("app-1 crashes", "app-1 starts", *by("app-1", *TURN, *NEXT)),
    ),
    ("the identity is used again (version 2)", "kafka", NEXT),
)


def one_identity() -> Table:
    """Return the effect of a second commit of the first transaction on the second one, which is open."""
    story = searched_scenario("kip-1310-flink-producer")
    writer, committer = story.spec.applications
    apps = (writer.but(program=WRITER_LOOP, max_records=1), committer)
    rows = []
    for label, under, between in POOLS:
        levels = dict(design(under).levels)
        spec = story.spec.but(applications=apps, **levels)
        recovery = ("app-2 goes on", "app-2 goes on", "quiet")
        trace = play_steps(spec, under, (*COMMITTED, *between, *recovery))
        said = [each.error.name for each in list_sent(trace, EndTxnResponse, "app-2")]
        values = committed_values(trace.world, "output-A-0")
        rows.append((label, under, said[0], ", ".join(values), _yes(len(values) > 1)))
    heads = (
        "rival",
        "design",
        "the second commit of the first one hears",
        "committed in the end",
        "with the open transaction",
    )
    return heads, tuple(rows)


# KIP-1310's use cases; each has a story with a producer and one with a session.
USE_CASES = ("produce", "streams", "flink", "share", "source", "sink", "two-phase")


# -- B20: what does a session cost? -----------------------------------------------------------------


def costs() -> Table:
    """Return the costs of every use case in both designs, from their ledgers."""
    rows = []
    for case in USE_CASES:
        for label, side in (("today", "producer"), ("session", "session")):
            story = searched_scenario(f"kip-1310-{case}-{side}")
            trace, _ = story.play(design(story.designs[0]))
            counted = ledger(trace)
            rows.append(
                (
                    case,
                    label,
                    str(sum(count for _, count in counted.objects)),
                    str(counted.threads),
                    str(counted.connections),
                    str(_together(story)),
                    str(counted.accumulators),
                    str(sum(owner.requests for owner in counted.owners)),
                    str(sum(count for _, count in counted.between_brokers)),
                )
            )
    heads = (
        "use case",
        "design",
        "clients",
        "threads",
        "connections",
        "connections, coordinator where the output is",
        "accumulators",
        "requests of clients",
        "requests between brokers",
    )
    return heads, tuple(rows)


def _together(story: Scenario) -> int:
    """Count the connections if the coordinator is on the broker that leads the output."""
    at = home(TRANSACTION_STATE, TRANSACTIONAL_ID)
    placements = tuple(
        p if p.partition != at else Placement(at, 3, (1,)) for p in story.spec.placements
    )
    beats = tuple(
        beat.but(
            steps=tuple(
                s.replace("EndTxn arrives at B1", "EndTxn arrives at B3") for s in beat.steps
            )
        )
        for beat in story.beats
    )
    moved = story.but(spec=story.spec.but(placements=placements), beats=beats)
    return ledger(moved.play(design(story.designs[0]))[0]).connections


# -- B32: how many transactional ids? ---------------------------------------------------------------

CONSUMERS = (4, 20, 200)
IN_A_PROCESS = 20


def identities() -> Table:
    """Return the transactional ids of a large share group, and the coordinators that they hash to."""
    rows = []
    for consumers in CONSUMERS:
        processes = -(-consumers // IN_A_PROCESS)
        for label, count in (
            ("one for each consumer", consumers),
            ("one for each process", processes),
        ):
            ids = [f"connector-{n}" for n in range(count)]
            coordinators = len({partition_for(name, 50) for name in ids})
            rows.append((str(consumers), label, str(count), str(coordinators)))
    heads = (
        "consumers",
        "transactional ids",
        "ids, InitProducerId at the start, epochs in use",
        "partitions of __transaction_state, of 50",
    )
    return heads, tuple(rows)


# -- B33: does a connection of its own help? ---------------------------------------------------------


def queueing() -> Table:
    """Count the states in which a transactional request waits behind a batch on its connection.

    A producer may have five requests in flight, Kafka's default; with one, its own sender waits for the response to a
    batch.
    """
    rows = []
    for label, name in (
        ("one connection per broker (today)", "kip-1310-streams-producer"),
        ("the session has its own", "kip-1310-streams-session"),
    ):
        story = searched_scenario(name)
        (app,) = story.spec.applications
        spec = story.spec.but(
            applications=(app.but(max_records=1, max_in_flight=default_in_flight(app)),),
            records=(("src-0", 100, ("a",)),),
            placements=tuple(
                p.but(leader=3, others=(4,))
                if p.partition
                in (home(CONSUMER_OFFSETS, GROUP), home(TRANSACTION_STATE, TRANSACTIONAL_ID))
                else p
                for p in story.spec.placements
            ),
            budget=FaultBudget(),
        )
        chosen = design(story.designs[0])
        search = _Queueing(chosen.model(spec))
        explored = search.run(Bounds(states_max=40_000))
        rows.append(
            (label, chosen.name, f"{explored.states:,}", f"{search.sent:,}", f"{search.behind:,}")
        )
    heads = (
        "rival",
        "design",
        "states",
        "a transactional request is in flight",
        "of them: behind a batch on its connection",
    )
    return heads, tuple(rows)


class _Queueing(Search):
    """A search that records what precedes a transactional request on its connection."""

    def __init__(self, model: ClusterModel) -> None:
        self.sent = self.behind = 0
        super().__init__(model, ())

    def note(self, number: int, world: World, states: States, depth: int) -> None:
        """Count a new state."""
        queues = [
            [e.message for e in (c.serving, *c.requests) if e is not None]
            for (source, _), c in world.connections.items()
            if source.partition("/")[0] in world.applications
        ]
        found = [
            queue[:at]
            for queue in queues
            for at, message in enumerate(queue)
            if named_transactions(message) and not isinstance(message, Produce)
        ]
        self.sent += bool(found)
        self.behind += any(isinstance(m, Produce) for before in found for m in before)
        super().note(number, world, states, depth)
