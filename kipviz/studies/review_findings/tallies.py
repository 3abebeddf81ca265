"""Findings that are about numbers: the totals of every interleaving, or of one run."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from kipviz.brokers.authorizer import Acl
from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.search.explore import ProgressTold, Search
from kipviz.checking.search.search_result import Bounds
from kipviz.clients.application import Call
from kipviz.cluster.actions import ClusterAction
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.spec_checks.spec_check import check
from kipviz.cluster.specs.spec import BadSpec
from kipviz.cluster.world import World
from kipviz.core.model import Event
from kipviz.core.traces.trace import Trace
from kipviz.designs.catalogue import design as design_named
from kipviz.messages.apis.rights import Operation, Resource
from kipviz.messages.errors import Errors
from kipviz.messages.events import CallReturned, MessageSent, TransactionMoved
from kipviz.messages.message_errors import error_of_response
from kipviz.messages.shares.share_groups import (
    AcknowledgeType,
    TxnPartitionAcknowledgements,
    TxnShareAcknowledge,
    TxnShareAcknowledgeResponse,
    staging_result,
)
from kipviz.messages.transactions.transactions import AddOffsetsToTxn, AddPartitionsToTxn
from kipviz.messages.wire.frame import KINDS, bytes_of
from kipviz.messages.wire.kind import Around
from kipviz.messages.wire.schema import Field
from kipviz.properties.verdict import States
from kipviz.records.share_group_state import RecordState
from kipviz.records.transaction_state import TransactionState
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.script import Beat, play
from kipviz.scenarios.setting import SHARE_GROUP, share_app

SMALL = "kip-1289-small"
BOUNDS = Bounds(states_max=25_000)
# The requests that add a partition to a transaction.
ENLISTING = (AddPartitionsToTxn, AddOffsetsToTxn)
# The name of the field in Kafka's schemas, older and newer ones.
INSTANCE_ID = frozenset({"GroupInstanceId", "InstanceId"})

# KIP-1289's lists for the response, "Top-level supported errors" and "Per-partition supported errors" (draft of 2026).
DECLARED_TOP = (
    "GROUP_AUTHORIZATION_FAILED",
    "TOPIC_AUTHORIZATION_FAILED",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
    "TRANSACTIONAL_ID_NOT_FOUND",
    "INVALID_PRODUCER_EPOCH",
    "PRODUCER_FENCED",
    "INVALID_PRODUCER_ID_MAPPING",
    "INVALID_TXN_STATE",
    "UNKNOWN_MEMBER_ID",
    "STALE_MEMBER_EPOCH",
    "TRANSACTION_ABORTABLE",
    "UNKNOWN_SERVER_ERROR",
)
DECLARED_PARTITION = (
    "UNKNOWN_TOPIC_OR_PARTITION",
    "UNKNOWN_TOPIC_ID",
    "NOT_LEADER_OR_FOLLOWER",
    "INVALID_RECORD_STATE",
    "INVALID_REQUEST",
    "KAFKA_STORAGE_ERROR",
)


class _Tally(Search):
    """A search that counts the events of its steps."""

    def __init__(self, model: ClusterModel) -> None:
        self.committed = 0
        self.answered: dict[str, int] = {}
        super().__init__(model, ())

    def take(self, world: World, states: States, action: ClusterAction) -> tuple[World, States]:
        """Take one step, and count what it does."""
        outcome = self.model.step(world, action)
        for event in outcome.events:
            match event:
                case TransactionMoved(after=TransactionState.COMPLETE_COMMIT):
                    self.committed += 1
                case MessageSent(message=TxnShareAcknowledgeResponse() as answer):
                    error = error_of_response(answer)
                    self.answered[error.name] = self.answered.get(error.name, 0) + 1
                case _:
                    pass
        return outcome.world, ()


def _tally_endings(
    design: str, faults: str = "", progress: ProgressTold | None = None
) -> tuple[_Tally, str]:
    tally = _Tally(searched_scenario(SMALL).model(design_named(design), budget_of(faults)))
    explored = tally.run(BOUNDS, progress)
    states = f"{explored.states:,} states"
    return tally, states if explored.complete else f"{states}, not all"


def commits(design: str, progress: ProgressTold | None = None) -> str:
    """Return in how many steps of every interleaving a transaction commits, compared with the repaired design."""
    one, states = _tally_endings(design, progress=progress)
    other, beside = _tally_endings("repaired", progress=progress)
    return (
        f"in {one.committed} of all steps from {states} a transaction is committed "
        f"(repaired: in {other.committed}, from {beside}); the responses to stagings are "
        f"{', '.join(sorted(one.answered))}"
    )


def commits_with_own_broker(progress: ProgressTold | None = None) -> str:
    """Return how many transactions commit if the request to add a partition stays on the broker."""
    return commits("finding-X2", progress)


def commits_with_epoch_check(progress: ProgressTold | None = None) -> str:
    """Return how many transactions commit if the own broker is asked for the member."""
    return commits("finding-X8", progress)


def undeclared_errors(progress: ProgressTold | None = None) -> str:
    """Return which errors stagings get that the text does not list."""
    seen: dict[str, int] = {}
    for design, faults in (
        ("repaired", "lose_connection=1"),
        ("repaired", "time_out=1"),
        ("repaired", "move_leader=1"),
        ("as-written", "move_leader=1"),
        ("finding-X2", ""),
        ("repaired+enlistment=own_broker", "crash_broker=1"),
    ):
        seen |= _tally_endings(design, faults, progress)[0].answered
    declared = (*DECLARED_TOP, *DECLARED_PARTITION)
    others = [name for name in sorted(seen) if name != "NONE" and name not in declared]
    listed = [name for name in sorted(seen) if name in declared]
    return (
        f"responses that the text's lists lack: {', '.join(others)}; in them: {', '.join(listed)}"
    )


def count_visits() -> str:
    """Return how many share-partitions a marker's hook visits, and how many of them the transaction involved."""
    story = searched_scenario("kip-1289-share-commit")
    groups = 4
    readers = tuple(
        share_app(f"app-{n}", group_id=f"g{n}", program=story.spec.applications[0].program[1:2])
        for n in range(2, groups + 1)
    )
    spec = story.spec.but(applications=(*story.spec.applications, *readers))
    chosen = design_named("as-written")
    visits: list[int] = []
    rules = chosen.broker_rules()

    def count_visit(held: tuple[str, ...]) -> tuple[str, ...]:
        visits.append(len(held))
        return rules.marker_reach(held)

    counting = msgspec.structs.replace(rules, marker_reach=count_visit)
    model = ClusterModel(spec, counting, chosen.client_rules())
    trace = Trace.start(model)
    beats = tuple(
        beat.but(steps=(*(f"app-{n} goes on" for n in range(2, groups + 1)), *beat.steps))
        if beat is story.beats[1]
        else beat
        for beat in story.beats
    )
    play(trace, model, beats)
    mine = sum(1 for count in visits if count)
    return (
        f"{len(visits)} marker requests arrive, {mine} of them at the broker of {groups} groups: "
        f"{sum(visits)} share-partitions are scanned for one transactional acknowledgement"
    )


def write_on_a_group() -> str:
    """Try to grant the permission that the text asks for, and return the result."""
    asked = Acl("app-1", Operation.WRITE, Resource.GROUP, SHARE_GROUP)
    try:
        check(searched_scenario(SMALL).spec.but(acls=(asked,)))
    except BadSpec as refused:
        return f"a cluster with such an ACL is rejected: {refused}"
    return "a cluster with such an ACL is accepted"


def senders_of_partitions() -> str:
    """Return which host sends AddPartitionsToTxn and AddOffsetsToTxn in the two flows that the text compares."""
    told = []
    for name, design in (
        ("kip-1289-share-commit", "as-written"),
        ("kip-1289-group-commit", "kafka"),
    ):
        trace, _ = searched_scenario(name).play(design_named(design))
        sent = [event for event in _events(trace) if isinstance(event, MessageSent)]
        adding = [event for event in sent if isinstance(event.message, ENLISTING)]
        clients = sum(event.source.startswith("app-") for event in adding)
        others = len(adding) - clients
        told.append(f"{name}: {clients} from the client, {others} from brokers")
    return f"{' and '.join(kind.__name__ for kind in ENLISTING)} under transaction version 2: {'; '.join(told)}"


def addressee() -> str:
    """Return to which broker a staging is sent, and which one coordinates the group."""
    trace, _ = searched_scenario("kip-1289-share-commit").play(design_named("as-written"))
    image = trace.world.image
    (asked,) = {
        event.broker
        for event in _events(trace)
        if isinstance(event, MessageSent) and isinstance(event.message, TxnShareAcknowledge)
    }
    leads = [name for name in image.leaders if image.leader_of(name) == asked]
    return (
        f"in kip-1289-share-commit the request goes to Broker {asked}, which leads "
        f"{', '.join(sorted(leads))}; the group coordinator receives no such request"
    )


def thrown_by_an_abort() -> str:
    """Return what abortTransaction() throws after a rejected staging without a commit before it."""
    story = searched_scenario("kip-1289-small-abort")
    (app,) = story.spec.applications
    released = tuple(
        line.but(verdicts=((-1, AcknowledgeType.RELEASE),))
        if line.call is Call.SEND_SHARE_ACKNOWLEDGEMENTS
        else line
        for line in app.program
    )
    spec = story.spec.but(applications=(app.but(program=released),))
    model = story.but(spec=spec).model(design_named("repaired"))
    # initTransactions(), poll(), beginTransaction(), send(), the staging, abortTransaction().
    blocks, returns = ("app-1 goes on", "quiet", "app-1 goes on"), ("app-1 goes on", "quiet")
    steps = (*blocks * 2, *returns * 3, *blocks)
    trace, _ = play(Trace.start(model), model, (Beat("", "", steps),))
    answers = [
        error_of_response(event.message).name
        for event in _events(trace)
        if isinstance(event, MessageSent) and isinstance(event.message, TxnShareAcknowledgeResponse)
    ]
    returned = [event for event in _events(trace) if isinstance(event, CallReturned)]
    (aborted,) = (event for event in returned if event.call == Call.ABORT_TRANSACTION.value)
    said = f"throws {aborted.raised.words}" if aborted.raised else "returns without an exception"
    return (
        f"the response to the staging is {', '.join(answers)}; abortTransaction() {said}, and "
        f"{sum(bool(event.raised) for event in returned)} of {len(returned)} calls have thrown an exception"
    )


def renew_as_a_state() -> str:
    """Return whether RENEW is a state of a record or a type of an acknowledgement, in Kafka's enums."""
    states = ", ".join(state.name for state in RecordState if state is not RecordState.TX_PENDING)
    return (
        f"RecordState has {states}; RENEW is AcknowledgeType {AcknowledgeType.RENEW.value}, and a "
        "record that is renewed stays ACQUIRED"
    )


def static_members() -> str:
    """Return which requests of a group's members can name a group instance id, by their schemas."""
    asking = [kind.schema for kind in KINDS.values() if kind.schema.name.endswith("Request")]
    static = [schema.name for schema in asking if INSTANCE_ID & set(_names(schema.fields))]
    of_shares = [
        schema.name
        for schema in asking
        if "Share" in schema.name and "MemberId" in set(_names(schema.fields))
    ]
    none = [name for name in of_shares if name not in static]
    return (
        f"{len(static)} requests of the model have an instance id, {', '.join(sorted(static))}; of the "
        f"{len(of_shares)} requests with the id of a share group's member, {len(none)} have none: "
        f"{', '.join(sorted(none))}"
    )


def keys_on_the_wire() -> str:
    """Return which parts of a staging and of its response name an API key, by their bytes."""
    around = Around(searched_scenario(SMALL).spec.topic_ids)
    part = TxnPartitionAcknowledgements("src-0", ())
    asked = TxnShareAcknowledge("my-txn", SHARE_GROUP, 9, 0, "M1", 2, (part,))
    answer = staging_result("src-0", Errors.NONE)
    headers = []
    for message in (asked, answer):
        spans = (span.path.split(".") for span in bytes_of(message, around).spans)
        headers.append([path[1] for path in spans if path[0].endswith("Header") and path[1:]])
    keys = sorted({KINDS[type(message)].schema.key for message in (asked, answer)})
    return (
        f"the request's header is {', '.join(headers[0])}; the response's is {', '.join(headers[1])}: a "
        f"response has no byte for the key, and both have {', '.join(map(str, keys))} here. In Kafka's trunk 93 "
        "is StreamsGroupTopologyDescriptionUpdate and 94 is UnregisterController"
    )


def _events(trace: Trace) -> Iterator[Event]:
    for number in trace.line:
        yield from trace.node(number).events


def _names(fields: tuple[Field, ...]) -> Iterator[str]:
    for field in fields:
        yield field.name
        yield from _names(field.fields)
