"""Everything that can happen, as data: a closed union, so that nothing can be forgotten.

Schedulers weigh actions by `kind`; faults spend from the world's budget.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, TypeAlias

from kipviz.brokers.authorizer import Acl
from kipviz.brokers.timers import RoleDelay, RoleTimer, read_delay, read_timer
from kipviz.clients.timers import TimerOfClient, read_client_timer
from kipviz.core.model import Action
from kipviz.core.values import TextValue


class Step(Action, frozen=True, omit_defaults=True):
    """The application thread continues: it executes the next statement or returns from a call.

    `thread` names a further thread of the process, "" is the one that every process has.
    """

    KIND: ClassVar[str] = "application"
    application: str
    thread: str = ""


class Send(Action, frozen=True):
    """A client's network thread sends its next request."""

    KIND: ClassVar[str] = "sender"
    source: str


class Receive(Action, frozen=True):
    """A client outside the model, a real one, sends a request to a broker.

    `request` is the message as `core.serialization` encodes it, so that a saved run needs no client.
    `external_clients.request_of` reads it. `client_id` is its client.id, None if that is the name of its host.
    """

    KIND: ClassVar[str] = "sender"
    source: str
    broker: int
    request: bytes
    client_id: str | None = None


class Deliver(Action, frozen=True):
    """The message at the head of a connection arrives. `way` is "request" or "response"."""

    KIND: ClassVar[str] = "deliver"
    source: str
    broker: int
    way: str


class Replicate(Action, frozen=True):
    """The in-sync replicas have a partition's log to its end: the high watermark advances."""

    KIND: ClassVar[str] = "replicate"
    partition: str


class Load(Action, frozen=True):
    """A new coordinator has read its log and becomes active."""

    KIND: ClassVar[str] = "load"
    broker: int
    role: str
    shard: str


class ExpireLock(Action, frozen=True):
    """An acquisition lock of a share-partition expires."""

    KIND: ClassVar[str] = "expiry"
    broker: int
    key: str
    lock: int


class TimeOutTransaction(Action, frozen=True):
    """transaction.timeout.ms expires: the coordinator aborts the transaction."""

    KIND: ClassVar[str] = "expiry"
    broker: int
    shard: str
    transactional_id: str


class RunOut(Action, frozen=True):
    """Another timer of a role expires; the role's module knows which ones are running."""

    KIND: ClassVar[str] = "expiry"
    WRITTEN: ClassVar[Mapping[str, Callable[[str], TextValue]]] = {"timer": read_timer}
    broker: int
    role: str
    shard: str
    timer: RoleTimer


class DelayOver(Action, frozen=True):
    """A delay of a role ends; the role's module knows what it waited for.

    It costs no fault budget: such a delay only leads to what would happen sooner or later.
    """

    KIND: ClassVar[str] = "refresh"
    WRITTEN: ClassVar[Mapping[str, Callable[[str], TextValue]]] = {"delay": read_delay}
    broker: int
    role: str
    shard: str
    delay: RoleDelay


class ReadLog(Action, frozen=True):
    """The next batch of a broker's logs is read; `at` is when it was written, `leader` is the broker that wrote it."""

    KIND: ClassVar[str] = "read"
    partition: str
    offset: int
    at: str
    leader: int = 1


class Tick(Action, frozen=True):
    """Time passes, to the next moment at which something is due (timed clock only)."""

    KIND: ClassVar[str] = "tick"


class ClientTimer(Action, frozen=True):
    """A timer of a client expires: a heartbeat is due, or a retry.

    It costs no fault budget: such timers only lead to what would happen sooner or later.
    """

    KIND: ClassVar[str] = "refresh"
    WRITTEN: ClassVar[Mapping[str, Callable[[str], TextValue]]] = {"timer": read_client_timer}
    source: str
    timer: TimerOfClient


class Refresh(Action, frozen=True):
    """A share-partition leader queries the outcome of its transactional acknowledgements. Our inference."""

    KIND: ClassVar[str] = "refresh"
    broker: int
    key: str


class RemakeTopic(Action, frozen=True):
    """An operator deletes a topic and creates another one of the same name."""

    KIND: ClassVar[str] = "fault"
    topic: str


class DeleteTopic(Action, frozen=True):
    """An operator deletes a topic for good (kafka-topics.sh --delete)."""

    KIND: ClassVar[str] = "fault"
    topic: str


class CreateTopic(Action, frozen=True):
    """An operator creates a topic that did not exist at the start (kafka-topics.sh --create)."""

    KIND: ClassVar[str] = "repair"
    topic: str


class DeleteRecords(Action, frozen=True):
    """Retention, or an operator (DeleteRecords), deletes a partition's oldest batch."""

    KIND: ClassVar[str] = "fault"
    partition: str


class CrashBroker(Action, frozen=True):
    """A broker crashes; its partitions get another leader, its connections break."""

    KIND: ClassVar[str] = "fault"
    broker: int


class StartBroker(Action, frozen=True):
    """A broker starts again, with nothing but its logs."""

    KIND: ClassVar[str] = "repair"
    broker: int


class MoveLeader(Action, frozen=True):
    """The controller makes another replica the leader of a partition."""

    KIND: ClassVar[str] = "fault"
    partition: str
    to: int


class LoseConnection(Action, frozen=True):
    """A connection breaks; the messages on it are lost, and both ends notice."""

    KIND: ClassVar[str] = "fault"
    source: str
    broker: int


class GiveUp(Action, frozen=True):
    """request.timeout.ms is over: the client closes the connection and will open another one.

    What the broker has not read yet is not lost: it is in flight, or in the broker's receive buffer, and may be read
    later (`DeliverLate`). Its response reaches no client.
    """

    KIND: ClassVar[str] = "expiry"
    source: str
    broker: int


class DeliverLate(Action, frozen=True):
    """A broker reads a request from a connection that its client has abandoned."""

    KIND: ClassVar[str] = "late"
    source: str
    broker: int


class ExpireBatch(Action, frozen=True):
    """delivery.timeout.ms expires for a producer's oldest batch; it is not known whether it arrived."""

    KIND: ClassVar[str] = "expiry"
    source: str


class TimeOutCall(Action, frozen=True, omit_defaults=True):
    """max.block.ms is over: a blocking call returns, while its request continues.

    `thread` names a further thread of the process, as for a `Step`.
    """

    KIND: ClassVar[str] = "expiry"
    application: str
    thread: str = ""


class MissPoll(Action, frozen=True):
    """max.poll.interval.ms expires for a consumer that does not poll: it leaves its group."""

    KIND: ClassVar[str] = "expiry"
    source: str


class UpgradeFeature(Action, frozen=True):
    """An operator finalizes another level of a feature, up or down (kafka-features.sh)."""

    KIND: ClassVar[str] = "fault"
    feature: str
    level: int


class InstallRelease(Action, frozen=True):
    """An operator installs another release on a broker, with a controlled shutdown if it runs."""

    KIND: ClassVar[str] = "fault"
    broker: int
    release: str


class CreateAcls(Action, frozen=True):
    """An operator creates one of the spec's ACLs, a right or a denial (kafka-acls.sh --add)."""

    KIND: ClassVar[str] = "fault"
    acl: Acl


class DeleteAcls(Action, frozen=True):
    """An operator deletes an ACL, a right or a denial (kafka-acls.sh --remove)."""

    KIND: ClassVar[str] = "fault"
    acl: Acl


class Cut(Action, frozen=True):
    """A network partition: no message passes between hosts of different sides until it heals.

    A side is one host, or several as `partition_sides` writes them: "B1/B3".
    """

    KIND: ClassVar[str] = "fault"
    one: str
    other: str


class Heal(Action, frozen=True):
    """A network partition heals as a whole: messages pass again, unless another one separates the two hosts."""

    KIND: ClassVar[str] = "repair"
    one: str
    other: str


class Pause(Action, frozen=True):
    """A host is paused: nothing runs on it, and it reads no message."""

    KIND: ClassVar[str] = "fault"
    host: str


class Resume(Action, frozen=True):
    """A paused host continues."""

    KIND: ClassVar[str] = "repair"
    host: str


class CrashClient(Action, frozen=True):
    """An application process dies with its producer and its consumer."""

    KIND: ClassVar[str] = "fault"
    application: str


class StartClient(Action, frozen=True):
    """The application is started again, at its first statement."""

    KIND: ClassVar[str] = "repair"
    application: str


# An operator's actions on a running cluster.
Operated: TypeAlias = (
    RemakeTopic
    | DeleteTopic
    | CreateTopic
    | DeleteRecords
    | UpgradeFeature
    | InstallRelease
    | CreateAcls
    | DeleteAcls
)

# What fails, and what ends a failure.
Fault: TypeAlias = (
    CrashBroker
    | StartBroker
    | MoveLeader
    | LoseConnection
    | Cut
    | Heal
    | Pause
    | Resume
    | CrashClient
    | StartClient
)

ClusterAction: TypeAlias = (
    Step
    | Send
    | Receive
    | Deliver
    | Replicate
    | Load
    | ExpireLock
    | TimeOutTransaction
    | RunOut
    | DelayOver
    | ClientTimer
    | Refresh
    | RemakeTopic
    | DeleteTopic
    | CreateTopic
    | DeleteRecords
    | CrashBroker
    | StartBroker
    | MoveLeader
    | LoseConnection
    | GiveUp
    | DeliverLate
    | ExpireBatch
    | TimeOutCall
    | MissPoll
    | UpgradeFeature
    | InstallRelease
    | CreateAcls
    | DeleteAcls
    | Cut
    | Heal
    | Pause
    | Resume
    | CrashClient
    | StartClient
    | Tick
    | ReadLog
)
