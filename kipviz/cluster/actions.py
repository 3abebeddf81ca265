"""Everything that can happen, as data: a closed union, so that nothing can be forgotten.

`kind` is what schedulers weigh; the faults spend from the world's budget.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, TypeAlias

from kipviz.brokers.authorizer import Acl
from kipviz.brokers.timers import RoleDelay, RoleTimer, read_delay, read_timer
from kipviz.core.model import Action
from kipviz.core.values import Written


class Step(Action, frozen=True, omit_defaults=True):
    """The application thread continues: it enters a line or comes back from a call.

    `thread` names a further thread of the process, "" is the one that every process has.
    """

    KIND: ClassVar[str] = "application"
    application: str
    thread: str = ""


class Send(Action, frozen=True):
    """A client's network thread puts its next request on the wire."""

    KIND: ClassVar[str] = "sender"
    source: str


class Receive(Action, frozen=True):
    """A client outside the model, a real one, puts a request on its connection to a broker.

    `request` is the message as `core.serialization` writes it, so that a saved run needs no client.
    `external_clients.request_of` reads it.
    """

    KIND: ClassVar[str] = "sender"
    source: str
    broker: int
    request: bytes


class Deliver(Action, frozen=True):
    """The message at the head of a connection arrives. `way` is "request" or "response"."""

    KIND: ClassVar[str] = "deliver"
    source: str
    broker: int
    way: str


class Replicate(Action, frozen=True):
    """The in-sync replicas have a partition's log to its end: the high watermark moves."""

    KIND: ClassVar[str] = "replicate"
    partition: str


class Load(Action, frozen=True):
    """A new coordinator has read its log and takes office."""

    KIND: ClassVar[str] = "load"
    broker: int
    role: str
    shard: str


class ExpireLock(Action, frozen=True):
    """An acquisition lock of a share-partition runs out."""

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
    """Another timer of a role runs out; the role's module says which ones are set."""

    KIND: ClassVar[str] = "expiry"
    WRITTEN: ClassVar[Mapping[str, Callable[[str], Written]]] = {"timer": read_timer}
    broker: int
    role: str
    shard: str
    timer: RoleTimer


class DelayOver(Action, frozen=True):
    """A role has waited long enough and continues; the role's module says for what it waits.

    It costs nothing: such a delay only brings about what would have to come sooner or later.
    """

    KIND: ClassVar[str] = "refresh"
    WRITTEN: ClassVar[Mapping[str, Callable[[str], Written]]] = {"delay": read_delay}
    broker: int
    role: str
    shard: str
    delay: RoleDelay


class ReadLog(Action, frozen=True):
    """The next batch of a broker's logs is read; `at` is when it was written, `leader` who wrote it."""

    KIND: ClassVar[str] = "read"
    partition: str
    offset: int
    at: str
    leader: int = 1


class Tick(Action, frozen=True):
    """Time passes, to the next moment at which something is due (timed clock only)."""

    KIND: ClassVar[str] = "tick"


class ClientTimer(Action, frozen=True):
    """A timer of a client runs out: a heartbeat is due, or something is tried again.

    It costs nothing: such timers only bring about what would have to come sooner or later.
    """

    KIND: ClassVar[str] = "refresh"
    source: str
    timer: str


class Refresh(Action, frozen=True):
    """A share-partition leader looks up what became of the transactional acknowledgements it holds. Our inference."""

    KIND: ClassVar[str] = "refresh"
    broker: int
    key: str


class RemakeTopic(Action, frozen=True):
    """An operator deletes a topic and makes another one of the same name."""

    KIND: ClassVar[str] = "fault"
    topic: str


class DeleteTopic(Action, frozen=True):
    """An operator deletes a topic for good (kafka-topics.sh --delete)."""

    KIND: ClassVar[str] = "fault"
    topic: str


class CreateTopic(Action, frozen=True):
    """An operator makes a topic that was not there from the beginning (kafka-topics.sh --create)."""

    KIND: ClassVar[str] = "repair"
    topic: str


class DeleteRecords(Action, frozen=True):
    """Retention, or an operator (DeleteRecords), deletes a partition's oldest batch."""

    KIND: ClassVar[str] = "fault"
    partition: str


class CrashBroker(Action, frozen=True):
    """A broker stops at once; its partitions get another leader, its connections break."""

    KIND: ClassVar[str] = "fault"
    broker: int


class StartBroker(Action, frozen=True):
    """A broker comes back, empty-handed but for its logs."""

    KIND: ClassVar[str] = "repair"
    broker: int


class MoveLeader(Action, frozen=True):
    """The controller gives a partition to another replica."""

    KIND: ClassVar[str] = "fault"
    partition: str
    to: int


class LoseConnection(Action, frozen=True):
    """A connection breaks; what was on it is gone, and both ends notice."""

    KIND: ClassVar[str] = "fault"
    source: str
    broker: int


class GiveUp(Action, frozen=True):
    """request.timeout.ms is over: whoever asked closes the connection and will open another one.

    What the broker has not read yet is not gone: it is on its way, or in the broker's receive
    buffer, and may be taken later (`DeliverLate`). Nobody hears its answer.
    """

    KIND: ClassVar[str] = "expiry"
    source: str
    broker: int


class DeliverLate(Action, frozen=True):
    """A broker takes a request from a connection that its client has given up."""

    KIND: ClassVar[str] = "late"
    source: str
    broker: int


class ExpireBatch(Action, frozen=True):
    """delivery.timeout.ms expires for a producer's oldest batch; whether it arrived is not known."""

    KIND: ClassVar[str] = "expiry"
    source: str


class TimeOutCall(Action, frozen=True, omit_defaults=True):
    """max.block.ms is over: a blocking call comes back, and what it asked for continues without it.

    `thread` names a further thread of the process, as for a `Step`.
    """

    KIND: ClassVar[str] = "expiry"
    application: str
    thread: str = ""


class MissPoll(Action, frozen=True):
    """max.poll.interval.ms expires for a consumer that does not poll: it leaves its group by itself."""

    KIND: ClassVar[str] = "expiry"
    source: str


class UpgradeFeature(Action, frozen=True):
    """An operator finalizes another level of a feature, up or down (kafka-features.sh)."""

    KIND: ClassVar[str] = "fault"
    feature: str
    level: int


class InstallRelease(Action, frozen=True):
    """An operator gives a broker another release: it is stopped in good order, if it runs."""

    KIND: ClassVar[str] = "fault"
    broker: int
    release: str


class CreateAcls(Action, frozen=True):
    """An operator gives a right, or a denial, that the cluster knows of (kafka-acls.sh --add)."""

    KIND: ClassVar[str] = "fault"
    acl: Acl


class DeleteAcls(Action, frozen=True):
    """An operator takes a right, or a denial, away (kafka-acls.sh --remove)."""

    KIND: ClassVar[str] = "fault"
    acl: Acl


class Cut(Action, frozen=True):
    """No message passes between any host of one side and any of the other until the network partition heals.

    A side is one host, or several as `partition_sides` writes them: "B1/B3".
    """

    KIND: ClassVar[str] = "fault"
    one: str
    other: str


class Heal(Action, frozen=True):
    """A cut is healed, whole: messages pass again, but where another cut holds two hosts apart."""

    KIND: ClassVar[str] = "repair"
    one: str
    other: str


class Pause(Action, frozen=True):
    """A host stands still: nothing runs on it, and nothing that is on its way to it is read."""

    KIND: ClassVar[str] = "fault"
    host: str


class Resume(Action, frozen=True):
    """A host continues where it stood still."""

    KIND: ClassVar[str] = "repair"
    host: str


class CrashClient(Action, frozen=True):
    """An application process dies with its producer and its consumer."""

    KIND: ClassVar[str] = "fault"
    application: str


class StartClient(Action, frozen=True):
    """The application is started again, at its first line."""

    KIND: ClassVar[str] = "repair"
    application: str


# What an operator does to a running cluster.
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
