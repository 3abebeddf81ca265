"""Goals of the stories about late requests, producers with one name, and transaction versions."""

from __future__ import annotations

from collections.abc import Mapping

from kipviz.brokers.logs.partition_log import PartitionLog
from kipviz.brokers.transactions.transaction_metadata import TransactionMetadata
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.cluster.actions import DeliverLate, UpgradeFeature
from kipviz.lessons.moment import Goal, Moment
from kipviz.messages.errors import Errors
from kipviz.messages.events import BatchAppended, MessageDelivered, MessageSent, TransactionDecided
from kipviz.messages.message_errors import error_in
from kipviz.messages.transactions.transactions import AddPartitionsToTxnResponse, InitProducerId
from kipviz.records.batches import COMMIT, DataRecord
from kipviz.records.placement import INTERNAL_TOPICS, topic_of

FENCED = (Errors.PRODUCER_FENCED, Errors.INVALID_PRODUCER_EPOCH)


def _transactions(moment: Moment) -> list[TransactionMetadata]:
    roles = moment.world.roles.values()
    coordinators = (role for role in roles if isinstance(role, TransactionCoordinator))
    return [known for role in coordinators for known in role.transactions.values()]


def _outputs(moment: Moment) -> list[PartitionLog]:
    logs = moment.world.logs.items()
    return [log for name, log in logs if topic_of(name) not in INTERNAL_TOPICS]


def _arrived_late(moment: Moment) -> bool:
    """A request arrived on this run after its client had abandoned it."""
    return any(isinstance(action, DeliverLate) for action in moment.actions)


def _hangs(moment: Moment) -> bool:
    """A transaction is open in an output, and no coordinator has a transaction with that output."""
    known = {
        (name, transaction.producer_id)
        for transaction in _transactions(moment)
        for name in transaction.partitions
    }
    return any(
        (log.name, producer_id) not in known
        for log in _outputs(moment)
        for _, producer_id in log.open
    )


def _late_one_refused(moment: Moment) -> bool:
    """A late batch was just rejected: by its leader, or by the coordinator that the leader asked."""
    if not _arrived_late(moment):
        return False
    if isinstance(moment.actions[-1], DeliverLate):
        said = (BatchAppended, MessageSent, TransactionDecided)
        return not any(isinstance(event, said) for event in moment.events)
    return any(
        isinstance(event, MessageDelivered)
        and isinstance(event.message, AddPartitionsToTxnResponse)
        and error_in(event.message) is not Errors.NONE
        for event in moment.events
    )


def _ended_by_a_late_one(moment: Moment) -> bool:
    """A late request has just decided a transaction."""
    return (
        bool(moment.actions)
        and isinstance(moment.actions[-1], DeliverLate)
        and any(isinstance(event, TransactionDecided) for event in moment.events)
    )


def _output_twice(moment: Moment) -> bool:
    """A source record has two committed outputs in a log."""
    return any(_twice(log) for log in _outputs(moment))


def _twice(log: PartitionLog) -> bool:
    open_: dict[int, list[str]] = {}
    seen: set[str] = set()
    for batch in log.batches:
        if batch.control:
            ended = open_.pop(batch.producer_id, [])
            for origin in ended if batch.control == COMMIT else ():
                if origin in seen:
                    return True
                seen.add(origin)
        elif batch.transactional:
            found = (r.origin for r in batch.records if isinstance(r, DataRecord))
            open_.setdefault(batch.producer_id, []).extend(found)
    return False


def _is_fenced(moment: Moment) -> bool:
    """A client has just received the error that its epoch is not the newest."""
    return any(
        isinstance(event, MessageDelivered)
        and event.way == "response"
        and event.source.partition("/")[0] in moment.world.applications
        and error_in(event.message) in FENCED
        for event in moment.events
    )


def _producer_ended(moment: Moment) -> bool:
    """A producer is in FATAL_ERROR: it can only be closed."""
    apps = moment.world.applications.values()
    return any(app.producer.manager.state is ProducerState.FATAL_ERROR for app in apps)


def _rotating(moment: Moment) -> bool:
    """A decision has allocated a new producer id that becomes valid when it is complete."""
    return any(known.next_producer_id >= 0 for known in _transactions(moment))


def _bumped_by_the_client(moment: Moment) -> bool:
    """A client has just requested the next epoch of its current identity."""
    return any(
        isinstance(event, MessageSent)
        and isinstance(event.message, InitProducerId)
        and event.message.producer_id >= 0
        for event in moment.events
    )


def _level_changed(moment: Moment) -> bool:
    """Another feature level was finalized on this run."""
    return any(isinstance(action, UpgradeFeature) for action in moment.actions)


GOALS: Mapping[str, Goal] = {
    "arrived late": _arrived_late,
    "hangs": _hangs,
    "late one refused": _late_one_refused,
    "ended by a late one": _ended_by_a_late_one,
    "output twice": _output_twice,
    "fenced": _is_fenced,
    "producer ended": _producer_ended,
    "rotating": _rotating,
    "bumped by the client": _bumped_by_the_client,
    "level changed": _level_changed,
}
