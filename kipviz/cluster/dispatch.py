"""The role of a message, and the handler that takes it.

The one place that knows all roles. The role of a request is in its row (`messages.apis`), and a handler names its own
requests (`brokers.handling`): a new request changes nothing here, a new role is a new line.
"""

from __future__ import annotations

from typing import assert_never

from kipviz.brokers import acl_administration, kafka_apis, topic_administration
from kipviz.brokers.context import (
    NOBODY,
    Channel,
    Context,
    Effects,
    Image,
    MarkersOf,
    ReplyTo,
    Tag,
    TransactionQuestion,
)
from kipviz.brokers.groups import (
    group_administration,
    group_coordinator,
    offset_fetches,
    several_groups,
    share_administration,
)
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.handling import Handler, handlers_of
from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.brokers.local_calls import (
    AddOrVerify,
    AppendPart,
    ApplyMarkerToShares,
    AskedOfOne,
    Enlisted,
    FetchFurther,
    GroupStored,
    ListedHere,
    ListHere,
    Local,
    MarkerApplied,
    MarkerWritten,
    OutcomeWritten,
    PartVerified,
    WriteMarker,
)
from kipviz.brokers.logs import (
    add_partitions_manager,
    log_timers,
    partition_leader,
    record_deletion,
)
from kipviz.brokers.logs.add_to_transaction import Enlisting
from kipviz.brokers.logs.partition_leader import PartitionLeader
from kipviz.brokers.logs.requests import (
    config_requests,
    fetch_requests,
    metadata_requests,
    offset_requests,
    produce_requests,
)
from kipviz.brokers.membership import classic_membership, group_membership, share_membership
from kipviz.brokers.share_coordinators import (
    outcome_notices,
    several_states,
    share_coordinator,
    share_state_maintenance,
)
from kipviz.brokers.share_coordinators.share_state import ShareCoordinator
from kipviz.brokers.share_leaders import share_fetching, share_partition_leader
from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.brokers.share_transactions import staging_requests
from kipviz.brokers.timers import RoleTimer
from kipviz.brokers.transactions import (
    administration,
    group_transactions,
    marker_requests,
    several_transactions,
    transaction_coordinator,
    transaction_liveness,
)
from kipviz.brokers.transactions.transaction_append import needs_image
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.clients import kinds
from kipviz.clients.application import Application
from kipviz.cluster.world import BrokerRole, Envelope, RoleKey, role_as, role_key
from kipviz.messages.apis.api import Role
from kipviz.messages.apis.catalogue import APIS
from kipviz.messages.apis.shards import Shard
from kipviz.messages.cluster.topic_creation import CreateTopicsResponse
from kipviz.messages.errors import Errors
from kipviz.messages.groups.group_admin import ListGroups
from kipviz.messages.groups.several_groups import names_several
from kipviz.messages.logs.producing import ProduceResponse
from kipviz.messages.message import Message
from kipviz.messages.parts import has_several_parts
from kipviz.messages.shares.share_state import (
    InitializeShareGroupState,
    InitializeShareGroupStateResponse,
    OperatorsStateRequest,
    OperatorsStateResponse,
    StatesRequest,
)
from kipviz.messages.transactions.transactions import (
    AddPartitionsToTxnResponse,
    InitProducerId,
    WriteTxnMarkers,
    WriteTxnMarkersResponse,
    refused_partitions,
)
from kipviz.records.batches import NO_TIMESTAMP
from kipviz.records.placement import SHARE_GROUP_STATE

SHARES = Role.SHARE_PARTITION_LEADER

# -- requests that arrive at a broker -----------------------------------------------------------

HANDLERS: dict[type[Message], Handler] = handlers_of(
    (
        transaction_coordinator,
        group_transactions,
        transaction_liveness,
        several_transactions,
        kafka_apis,
        produce_requests,
        fetch_requests,
        offset_requests,
        partition_leader,
        group_coordinator,
        offset_fetches,
        group_membership,
        classic_membership,
        share_fetching,
        staging_requests,
        share_coordinator,
        share_membership,
        outcome_notices,
        administration,
        share_state_maintenance,
        share_administration,
        group_administration,
        acl_administration,
        topic_administration,
        config_requests,
        metadata_requests,
        record_deletion,
    )
)


# The partition whose leader a request is for.
PARTITION_OF = {api.request: api.shard.partition for api in APIS}
# Requests that a broker serves whatever it leads, and those for its only share-partition leader.
FRONT_DESK = frozenset(api.request for api in APIS if api.role is Role.KAFKA_APIS)
OF_SHARE_LEADERS = frozenset(api.request for api in APIS if api.role is Role.SHARE_PARTITION_LEADER)
# The shards of requests that may be for several roles of a broker.
OF_SEVERAL = (
    Shard.GROUPS,
    Shard.KEYS,
    Shard.TRANSACTIONAL_IDS,
    Shard.TRANSACTIONS,
    Shard.PARTITIONS,
)
# Requests that may be for KafkaApis instead of one role.
_PARTED = frozenset(
    api.request
    for api in APIS
    if api.shard in OF_SEVERAL or issubclass(api.request, InitProducerId)
)


def role_for(message: Message, broker: int, image: Image) -> RoleKey:
    """Return the role instance on a broker that a request is for; it may not exist."""
    kind = type(message)
    if kind in FRONT_DESK or (kind in _PARTED and _is_parted(message)):
        return (broker, Role.KAFKA_APIS, "")
    if kind in OF_SHARE_LEADERS:
        return (broker, SHARES, "")
    return role_key(broker, PARTITION_OF[kind](message, image))


def _is_parted(message: Message) -> bool:
    """Return whether KafkaApis handles a request that is usually for one role: without a name, or in several parts."""
    if isinstance(message, InitProducerId) and message.transactional_id is None:
        return True
    return has_several_parts(message) or names_several(message)


def addressee(message: Message, image: Image) -> str:
    """Return the partition whose leader a client's request is for."""
    return PARTITION_OF[type(message)](message, image)


def destination(client: kinds.Client, message: Message, image: Image) -> int:
    """Return the broker that a client's next request is for, or -1 if the needed partition has no leader."""
    broker = kinds.next_broker(client)
    return broker if broker != NOBODY else image.leader_of(addressee(message, image))


def request(
    role: BrokerRole, message: Message, reply_to: ReplyTo, on: Context
) -> Effects[BrokerRole]:
    """Let a role handle a request."""
    if names_several(message):
        apis = role_as(role, KafkaApis)
        return several_groups.on_several_groups(apis, message, reply_to, on)
    if has_several_parts(message) and isinstance(message, StatesRequest):
        return several_states.on_several_states(role_as(role, KafkaApis), message, reply_to, on)
    return HANDLERS[type(message)](role, message, reply_to, on)


# -- calls between the roles of a broker --------------------------------------------------------


def local(role: BrokerRole, message: Local, on: Context) -> Effects[BrokerRole | None]:
    """Let a role handle a call from another role on the same broker."""
    match message:
        case WriteMarker():
            return _write_marker(role, message, on)
        case MarkerWritten():
            return kafka_apis.on_marker_written(role_as(role, KafkaApis), message, on)
        case MarkerApplied():
            return kafka_apis.on_marker_applied(role_as(role, KafkaApis), message, on)
        case OutcomeWritten():
            return kafka_apis.on_outcome_written(role_as(role, KafkaApis), message, on)
        case ListHere(request=ListGroups()):
            return group_administration.on_list_here(role_as(role, GroupCoordinator), message, on)
        case ListHere():
            return administration.on_list_here(role_as(role, TransactionCoordinator), message, on)
        case ListedHere():
            return kafka_apis.on_listed(role_as(role, KafkaApis), message, on)
        case AskedOfOne():
            return request(role, message.request, message.ticket, on)
        case AddOrVerify():
            return add_partitions_manager.on_question(role_as(role, KafkaApis), message, on)
        case Enlisted():
            return _resume_role(role, message, on)
        case GroupStored():
            return classic_membership.on_group_stored(role_as(role, GroupCoordinator), message, on)
        case FetchFurther():
            return share_partition_leader.on_fetch_further(role_as(role, ShareLeader), message, on)
        case AppendPart():
            return partition_leader.on_part(role_as(role, PartitionLeader), message, on)
        case PartVerified():
            return partition_leader.on_part_verified(role_as(role, PartitionLeader), message, on)
        case ApplyMarkerToShares():
            return share_partition_leader.on_marker(role_as(role, ShareLeader), message, on)
        case _:
            assert_never(message)


def _write_marker(role: BrokerRole, marker: WriteMarker, on: Context) -> Effects[BrokerRole]:
    match role:
        case PartitionLeader():
            return partition_leader.on_write_marker(role, marker, on)
        case GroupCoordinator():
            return group_coordinator.on_write_marker(role, marker, on)
        case ShareCoordinator():
            return share_coordinator.on_write_marker(role, marker, on)
        case TransactionCoordinator() | ShareLeader() | KafkaApis():
            raise AssertionError(f"{type(role).__name__} appends no marker")
        case _:
            assert_never(role)


def _resume_role(role: BrokerRole, call: Enlisted, on: Context) -> Effects[BrokerRole]:
    """Continue what a role delayed until a coordinator answered its question about a transaction."""
    match role:
        case PartitionLeader():
            return partition_leader.on_enlisted(role, call, on)
        case GroupCoordinator():
            return group_coordinator.on_enlisted(role, call, on)
        case ShareCoordinator():
            return share_coordinator.on_enlisted(role, call, on)
        case ShareLeader():
            return share_partition_leader.on_enlisted(role, call, on)
        case KafkaApis():
            return produce_requests.on_enlisted(role, call, on)
        case TransactionCoordinator():
            raise AssertionError("a transaction coordinator asks no other one about a transaction")
        case _:
            assert_never(role)


# -- what happens to a role, besides requests -----------------------------------------------------


def timers(role: BrokerRole, on: Context) -> tuple[RoleTimer, ...]:
    """Return the running timers of a role, besides locks and transactions."""
    match role:
        case TransactionCoordinator():
            return transaction_liveness.timers(role, on)
        case PartitionLeader():
            return log_timers.timers(role, on)
        case GroupCoordinator():
            return group_coordinator.timers(role, on)
        case ShareCoordinator():
            return share_state_maintenance.timers(role, on)
        case ShareLeader() | KafkaApis():
            return ()
        case _:
            assert_never(role)


def timer_expired(role: BrokerRole, timer: RoleTimer, on: Context) -> Effects[BrokerRole]:
    """Notify a role that one of its timers expired."""
    match role:
        case TransactionCoordinator():
            return transaction_liveness.on_timer(role, timer, on)
        case PartitionLeader():
            return log_timers.on_timer(role, timer, on)
        case GroupCoordinator():
            return group_coordinator.on_timer(role, timer, on)
        case ShareCoordinator():
            return share_state_maintenance.on_timer(role, timer, on)
        case ShareLeader() | KafkaApis():
            raise AssertionError(f"{type(role).__name__} has no timers")
        case _:
            assert_never(role)


def delayed_requests(role: BrokerRole) -> tuple[Enlisting, ...]:
    """Return the requests that a role delays until a coordinator has answered about their transaction."""
    match role:
        case PartitionLeader():
            return role.verifying
        case GroupCoordinator() | ShareCoordinator():
            return role.enlisting
        case ShareLeader():
            return role.staging
        case TransactionCoordinator() | KafkaApis():
            return ()
        case _:
            assert_never(role)


def on_replicated(role: BrokerRole, on: Context) -> Effects[BrokerRole]:
    """Notify the leader of a partition that its high watermark advanced."""
    match role:
        case PartitionLeader():
            return partition_leader.on_replicated(role, on)
        case TransactionCoordinator():
            return transaction_coordinator.on_replicated(role, on)
        case GroupCoordinator():
            return group_coordinator.on_replicated(role, on)
        case ShareCoordinator():
            return share_coordinator.on_replicated(role, on)
        case ShareLeader() | KafkaApis():
            raise _leads_no_partition(role)
        case _:
            assert_never(role)


def records_replicated(role: ShareLeader, partition: str, on: Context) -> Effects[ShareLeader]:
    """Notify the share-partition leader that its source has new records."""
    return share_partition_leader.on_replicated(role, partition, on)


def load_role(role: BrokerRole, on: Context) -> Effects[BrokerRole]:
    """Let a coordinator read its log and become active."""
    match role:
        case TransactionCoordinator():
            return transaction_coordinator.on_loaded(role, on)
        case GroupCoordinator():
            return group_coordinator.on_loaded(role, on)
        case ShareCoordinator():
            return share_coordinator.on_loaded(role, on)
        case PartitionLeader() | ShareLeader() | KafkaApis():
            raise AssertionError(f"{type(role).__name__} loads no log")
        case _:
            assert_never(role)


def resign_role(role: BrokerRole, on: Context) -> Effects[BrokerRole | None]:
    """Return the errors for requests that wait on a role that loses its partition."""
    match role:
        case PartitionLeader():
            return partition_leader.on_resigned(role, on)
        case TransactionCoordinator():
            return transaction_coordinator.on_resigned(role, on)
        case GroupCoordinator():
            return group_coordinator.on_resigned(role, on)
        case ShareCoordinator():
            return share_coordinator.on_resigned(role, on)
        case ShareLeader() | KafkaApis():
            raise _leads_no_partition(role)
        case _:
            assert_never(role)


def _leads_no_partition(role: BrokerRole) -> AssertionError:
    return AssertionError(f"{type(role).__name__} leads no partition")


def leadership_lost(role: ShareLeader, partition: str, on: Context) -> Effects[ShareLeader]:
    """Notify the share-partition leader that its source has another leader."""
    return share_partition_leader.on_leadership_lost(role, partition, on)


def consumer_gone(role: ShareLeader, source: str, on: Context) -> Effects[ShareLeader]:
    """Notify the share-partition leader that a connection broke."""
    role = share_fetching.on_disconnected(staging_requests.on_disconnected(role, source), source)
    return share_partition_leader.on_disconnected(role, source, on)


def heeds_image(role: BrokerRole, partition: str, *, was_leaderless: bool) -> bool:
    """Return whether a role has work because a partition has a leader again."""
    if isinstance(role, TransactionCoordinator):
        known = role.transactions.values()
        return any(needs_image(t, role.waiting) for t in known)
    return (
        was_leaderless and isinstance(role, ShareLeader) and partition.startswith(SHARE_GROUP_STATE)
    )


def topic_deleted(role: BrokerRole, topic: str, topic_id: str, on: Context) -> Effects[BrokerRole]:
    """Notify a role that the controller has deleted a topic, unless it is loading its log."""
    if isinstance(role, GroupCoordinator) and not role.loading:
        return group_coordinator.on_topic_deleted(role, topic, on)
    if isinstance(role, ShareCoordinator) and not role.loading:
        return share_state_maintenance.on_topic_deleted(role, topic_id, on)
    return Effects(role)


def image_changed(role: BrokerRole, on: Context) -> Effects[BrokerRole]:
    """Notify a role that a partition has a leader again; only roles that heed it (`heeds_image`) are notified."""
    match role:
        case TransactionCoordinator():
            return transaction_coordinator.on_image_changed(role, on)
        case ShareLeader():
            return share_partition_leader.on_image_changed(role, on)
        case GroupCoordinator() | ShareCoordinator() | PartitionLeader() | KafkaApis():
            raise AssertionError(f"{type(role).__name__} does not heed the metadata")
        case _:
            assert_never(role)


# -- responses to brokers -----------------------------------------------------------------------


def shard_of(role: str, shard: str) -> str:
    """Return the shard under which a role is stored: the share-partition leader is one per broker."""
    return "" if role == SHARES else shard


def broker_response(
    role: BrokerRole, source: str, envelope: Envelope, on: Context
) -> Effects[BrokerRole]:
    """Pass a response to the role that sent the request on the connection of `source`."""
    message, shard, tag = envelope.message, envelope.shard, envelope.tag
    match _channel(source):
        case Channel.ADD_PARTITIONS:
            assert isinstance(message, AddPartitionsToTxnResponse)
            if message.results[0].error is Errors.UNSUPPORTED_VERSION:
                # A coordinator from before KIP-890 cannot verify: the batch continues unverified. Source:
                # AddPartitionsToTxnManager, the branch of a version mismatch.
                told = tuple(refused_partitions(each, Errors.NONE) for each in message.results)
                message = message.but(results=told)
            if not isinstance(tag, TransactionQuestion):
                apis = role_as(role, KafkaApis)
                return add_partitions_manager.on_answered(apis, message, on, str(tag))
            (only,) = message.results
            return _resume_role(role, Enlisted(tag.asked, only, tag.number), on)
        case Channel.MARKERS:
            assert isinstance(message, WriteTxnMarkersResponse)
            coordinator = role_as(role, TransactionCoordinator)
            return marker_requests.on_markers_answered(coordinator, message, _markers(tag), on)
        case Channel.INITIALIZER:
            groups = role_as(role, GroupCoordinator)
            if tag:
                assert isinstance(message, OperatorsStateResponse), "a tag is an operator's request"
                return group_coordinator.on_state_answered(groups, str(tag), message, on)
            assert isinstance(message, InitializeShareGroupStateResponse)
            return group_coordinator.on_initialized(groups, message, on)
        case Channel.DEAD_LETTERS:
            assert isinstance(message, ProduceResponse | CreateTopicsResponse)
            leader = role_as(role, ShareLeader)
            answered = share_partition_leader.on_dead_letter_answered
            return answered(leader, shard, str(tag), message, on)
        case Channel.PERSISTER:
            leader = role_as(role, ShareLeader)
            return share_partition_leader.on_state_answered(leader, shard, str(tag), message, on)
        case Channel.OUTCOMES:
            return Effects(role)
        case channel:
            assert_never(channel)


def _channel(source: str) -> Channel:
    """Return the client of a broker that has the connections of a source."""
    return Channel(source.partition("/")[2])


def _markers(tag: Tag) -> MarkersOf:
    assert isinstance(tag, MarkersOf), "a request with markers is tagged with what it marks"
    return tag


def request_lost(
    role: BrokerRole, source: str, envelope: Envelope, on: Context
) -> Effects[BrokerRole]:
    """Notify the role that sent a request that its connection broke, before or after the response was sent."""
    message, shard, tag = envelope.message, envelope.shard, envelope.tag
    match _channel(source):
        case Channel.ADD_PARTITIONS:
            if not isinstance(tag, TransactionQuestion):
                apis = role_as(role, KafkaApis)
                return add_partitions_manager.on_disconnected(apis, on, str(tag))
            lost = refused_partitions(tag.asked, Errors.NETWORK_EXCEPTION)
            return _resume_role(role, Enlisted(tag.asked, lost, tag.number), on)
        case Channel.MARKERS:
            assert isinstance(message, WriteTxnMarkers | WriteTxnMarkersResponse)
            coordinator = role_as(role, TransactionCoordinator)
            return marker_requests.on_markers_lost(coordinator, message, _markers(tag), on)
        case Channel.INITIALIZER:
            groups = role_as(role, GroupCoordinator)
            if tag:
                assert isinstance(message, OperatorsStateRequest | OperatorsStateResponse)
                return group_coordinator.on_state_lost(groups, str(tag), message, on)
            assert isinstance(
                message, InitializeShareGroupState | InitializeShareGroupStateResponse
            )
            return group_coordinator.on_initialize_lost(groups, message.key, on)
        case Channel.DEAD_LETTERS:
            leader = role_as(role, ShareLeader)
            answered = share_partition_leader.on_dead_letter_answered
            return answered(leader, shard, str(tag), None, on)
        case Channel.PERSISTER:
            leader = role_as(role, ShareLeader)
            return share_partition_leader.on_state_lost(leader, shard, str(tag), on)
        case Channel.OUTCOMES:
            return Effects(role)
        case channel:
            assert_never(channel)


# -- responses to clients -----------------------------------------------------------------------


def client_response(
    me: Application,
    source: str,
    message: Message,
    now_ms: int = NO_TIMESTAMP,
    correlation_id: int = 0,
) -> Application:
    """Pass a response to the client that sent the request with its correlation id; `now_ms` is the client's time."""
    client = me.client_at(source)
    assert client is not None, f"{me.name} has no client {source}"
    return me.with_client(kinds.on_response(client, message, now_ms, correlation_id))


def client_disconnected(me: Application, source: str, broker: int) -> Application:
    """Notify a client, and others on its connection, that the connection broke."""
    for client in me.clients:
        if kinds.network_of(client) == source:
            me = me.with_client(kinds.on_disconnected(client, broker))
    return me
