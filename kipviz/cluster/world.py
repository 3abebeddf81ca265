"""The world: everything that exists, at one moment, as one immutable value.

It contains no dice, no counts of requests and no ledgers, because these would keep two equal situations apart. Times are
absolute only if records carry them, and a search sets the clock back (see `record_timestamps`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias, TypeVar

from kipviz.brokers.context import NOBODY, Image, Leadership, Tag
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.brokers.logs.partition_leader import PartitionLeader
from kipviz.brokers.logs.partition_log import PartitionLog
from kipviz.brokers.share_coordinators.share_state import ShareCoordinator
from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.clients.application import Application
from kipviz.cluster.specs.spec import (
    FaultBudget,
    Placement,
)
from kipviz.cluster.timing.clock import Deadline
from kipviz.core.table import Table
from kipviz.core.values import Part, Value
from kipviz.messages.apis.api import Role, leading_role
from kipviz.messages.message import Message
from kipviz.messages.parts import PartResults
from kipviz.records.batches import NO_TIMESTAMP

RoleKey = tuple[int, str, str]

# The parts of a world that an action can read, by name: its tables and those of its metadata, ...
APPLICATIONS, LOGS, ROLES, CONNECTIONS = "applications", "logs", "roles", "connections"
LEADERS = "leaders"
# ... and what is no table; the model shows plainly which actions read these (`Behaviour.parts_read`).
UP, CUTS, FEATURES, RELEASES, ACLS = "up", "cuts", "features", "releases", "acls"
PAUSES = "pauses"
PARTS = (UP, CUTS, FEATURES, RELEASES, ACLS, PAUSES)


class Envelope(Value, frozen=True):
    """A message and its sender: the role, shard and tag that its response goes to.

    For a client that uses another client's connections the tag is its own name. `refused` are the topics of a request
    in progress that its sender may not use. `client_id` and `correlation_id` are in the header: the client.id of a
    request, None if it is the name of the sender's host; and the number by which a sender that may have several requests
    in flight on a connection matches a response, 0 for any other one.
    """

    message: Message
    role: str = ""
    shard: str = ""
    tag: Tag = ""
    refused: tuple[str, ...] = ()
    client_id: str | None = None
    correlation_id: int = 0


class ServedInParts(Envelope, frozen=True):
    """A request of several partitions or transactions, some of which have their result, and others not yet."""

    answers: tuple[PartResults, ...] = ()


class Connection(Part, frozen=True):
    """One TCP connection from a client, or from one of a broker's clients, to a broker.

    A broker reads the next request of a connection only after it has answered the one before (`serving`), so responses
    come in order. `incarnation` distinguishes a response for a broken connection from one for the
    connection that replaced it. An abandoned connection (`left`) stays under a name of its own until the broker has
    read its requests; a response on it goes nowhere.
    """

    requests: tuple[Envelope, ...] = ()
    serving: Envelope | None = None
    responses: tuple[Envelope, ...] = ()
    incarnation: int = 0
    open: bool = True
    left: bool = False


@lru_cache(maxsize=1024)
def idle(incarnation: int) -> Connection:
    """Return an open connection without messages: one shared object, because most connections are idle."""
    return Connection(incarnation=incarnation)


@lru_cache(maxsize=4096)
def channel_of(broker: int, name: str) -> str:
    """Return the name of one of a broker's own clients: "B5/persister" (one shared object for each)."""
    return f"{broker_host(broker)}/{name}"


# The roles that a broker may have: KafkaApis and ShareLeader once, each other one per partition that it leads.
BrokerRole: TypeAlias = (
    KafkaApis
    | ShareLeader
    | TransactionCoordinator
    | GroupCoordinator
    | ShareCoordinator
    | PartitionLeader
)
R = TypeVar("R", bound=BrokerRole)


class World(Part, frozen=True):
    """A cluster and its clients at one moment.

    `deadlines` are the deadlines from now on; with an untimed clock there are none. `now_ms` is the time since the run
    began if records carry timestamps; otherwise it is NO_TIMESTAMP.
    """

    image: Image
    logs: Table[str, PartitionLog]
    roles: Table[RoleKey, BrokerRole]
    applications: Table[str, Application]
    connections: Table[tuple[str, int], Connection]
    up: tuple[int, ...]
    budget: FaultBudget
    cuts: tuple[tuple[str, str], ...] = ()
    next_producer_id: int = 0
    deadlines: tuple[Deadline, ...] = ()
    now_ms: int = NO_TIMESTAMP


@lru_cache(maxsize=4096)
def host_of(source: str) -> str:
    """Return the host of an endpoint: "B5/persister" is on B5, "app-1/producer" on app-1."""
    return source.partition("/")[0]


@lru_cache(maxsize=4096)
def broker_host(broker: int) -> str:
    """Return the host name of a broker."""
    return f"B{broker}"


def leadership(placed: Placement) -> Leadership:
    """Return the leadership of a new partition."""
    return Leadership(placed.leader, 0, (placed.leader, *placed.others))


def host_roles(broker: int) -> dict[RoleKey, BrokerRole]:
    """Return the roles that every broker has, whatever it leads."""
    return {
        (broker, Role.KAFKA_APIS, ""): KafkaApis(),
        (broker, Role.SHARE_PARTITION_LEADER, ""): ShareLeader(),
    }


@lru_cache(maxsize=4096)
def role_key(broker: int, partition: str) -> RoleKey:
    """Return the key of the role instance that leads a partition on a broker (one shared object for each)."""
    return (broker, leading_role(partition), partition)


def role_as(role: BrokerRole, kind: type[R]) -> R:
    """Return a role as an instance of its class, which its key names."""
    assert isinstance(role, kind), f"{type(role).__name__} is no {kind.__name__}"
    return role


def role_at(roles: Table[RoleKey, BrokerRole], key: RoleKey, kind: type[R]) -> R | None:
    """Return the role under a key as an instance of its class, or None if the broker does not have it."""
    role = roles.get(key)
    assert role is None or isinstance(role, kind), f"{key} is no {kind.__name__}"
    return role


# The roles that load a log before they respond.
COORDINATORS = (GroupCoordinator, ShareCoordinator, TransactionCoordinator)


def is_loading(role: BrokerRole | None) -> bool:
    """Return whether a coordinator still has to load its log; no other role loads one."""
    return isinstance(role, COORDINATORS) and role.loading


def new_role(partition: str, held: Leadership, *, loading: bool) -> BrokerRole:
    """Return a new role instance for a partition; coordinators still have to load."""
    match leading_role(partition):
        case Role.TRANSACTION_COORDINATOR:
            return TransactionCoordinator(partition, held.epoch, loading)
        case Role.GROUP_COORDINATOR:
            return GroupCoordinator(partition, loading)
        case Role.SHARE_COORDINATOR:
            return ShareCoordinator(partition, loading)
        case _:
            return PartitionLeader(partition, held.epoch)


def has_active_coordinator(world: World, home: str) -> bool:
    """Return whether a partition of an internal topic has a coordinator that has loaded it."""
    broker = world.image.leader_of(home)
    role = None if broker == NOBODY else world.roles.get(role_key(broker, home))
    return role is not None and not is_loading(role)
