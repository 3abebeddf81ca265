"""Goals of the stories about a partition's log: replicas that are missing, and what is appended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kipviz.brokers.logs.partition_log import PartitionLog
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.cluster.actions import Load
from kipviz.lessons.moment import Goal, Moment
from kipviz.messages.errors import Errors
from kipviz.messages.events import (
    BatchAppended,
    ConnectionLost,
    MessageDelivered,
    MessageSent,
    ProducerForgotten,
    TransactionDecided,
)
from kipviz.messages.logs.list_offsets import ListOffsetsPartitionResponse, ListOffsetsResponse
from kipviz.messages.logs.producing import Produce, ProduceResponse
from kipviz.messages.message import Message
from kipviz.messages.message_errors import error_in
from kipviz.messages.transactions.transactions import (
    AddPartitionsToTxn,
    EndTxnResponse,
    InitProducerId,
    InitProducerIdResponse,
    WriteTxnMarkers,
    WriteTxnMarkersResponse,
)
from kipviz.records.batches import NO_TIMESTAMP, DataRecord
from kipviz.records.placement import INTERNAL_TOPICS, topic_of
from kipviz.records.record_name import place_of

SEVERAL = 3
# The error for the requester of a failed append.
FAILED = (Errors.COORDINATOR_NOT_AVAILABLE, Errors.NOT_ENOUGH_REPLICAS)


def _errors(message: Message) -> tuple[Errors, ...]:
    match message:
        case ProduceResponse():
            return tuple(each.error for each in message.partition_responses)
        case EndTxnResponse() | InitProducerIdResponse():
            return (message.error,)
        case WriteTxnMarkersResponse():
            return tuple(result.error for result in message.results)
        case _:
            return ()


def _sent_messages(moment: Moment) -> tuple[Message, ...]:
    """Return the messages that have just been sent."""
    return tuple(event.message for event in moment.events if isinstance(event, MessageSent))


def _append_refused(moment: Moment) -> bool:
    """An append has just failed, because replicas were missing."""
    return any(error in FAILED for message in _sent_messages(moment) for error in _errors(message))


def _has_failed_write(moment: Moment) -> bool:
    """A record is in a log whose writer received an error for it."""
    return any(log.given_up for log in moment.world.logs.values())


def _decided_by_the_next(moment: Moment) -> bool:
    """A coordinator has just loaded its log, which contained a decision that was not announced."""
    return (
        bool(moment.actions)
        and isinstance(moment.actions[-1], Load)
        and any(isinstance(event, TransactionDecided) for event in moment.events)
    )


def _sender_rests(moment: Moment) -> bool:
    """A producer's sender backs off before it sends a transactional request again."""
    return any(app.producer.manager.rests for app in moment.world.applications.values())


def _several_in_flight(moment: Moment) -> bool:
    """A producer has three batches of a partition in flight."""
    for app in moment.world.applications.values():
        flying = [b.partition for b in app.producer.accumulator.batches if b.broker >= 0]
        if any(flying.count(partition) >= SEVERAL for partition in flying):
            return True
    return False


def _out_of_order(moment: Moment) -> bool:
    """A leader has just rejected a batch because of its sequence."""
    return any(
        Errors.OUT_OF_ORDER_SEQUENCE_NUMBER in _errors(message)
        for message in _sent_messages(moment)
    )


def _list_origins(log: PartitionLog) -> list[str]:
    """Return the input record of each output in a log, in the order of the log."""
    records = (record for batch in log.batches for record in batch.records)
    return [r.origin for r in records if isinstance(r, DataRecord) and r.origin]


def _order_lost(moment: Moment) -> bool:
    """An output is in a log after one that was made from a later record of the same partition."""
    for name, log in moment.world.logs.items():
        if topic_of(name) in INTERNAL_TOPICS:
            continue
        newest: dict[str, int] = {}
        for origin in _list_origins(log):
            source, offset = place_of(origin)
            if offset < newest.get(source, -1):
                return True
            newest[source] = offset
    return False


def _one_request(moment: Moment) -> bool:
    """A producer has just sent the batches of several partitions in one request."""
    return any(
        isinstance(message, Produce) and len(message.partition_data) > 1
        for message in _sent_messages(moment)
    )


def _markers_together(moment: Moment) -> bool:
    """A coordinator has just sent the markers of several transactions in one request."""
    return any(
        isinstance(message, WriteTxnMarkers) and len(message.markers) > 1
        for message in _sent_messages(moment)
    )


def _asked_together(moment: Moment) -> bool:
    """A broker has just asked about the transactions of several producers in one request."""
    return any(
        isinstance(message, AddPartitionsToTxn) and len(message.transactions) > 1
        for message in _sent_messages(moment)
    )


def _lost_together(moment: Moment) -> bool:
    """A connection has just broken, and the batches of several producers were rejected because of it."""
    broken = any(isinstance(event, ConnectionLost) for event in moment.events)
    refused = [
        message
        for message in _sent_messages(moment)
        if isinstance(message, ProduceResponse) and Errors.NOT_ENOUGH_REPLICAS in _errors(message)
    ]
    return broken and len(refused) > 1


def _answers_of_two_kinds(moment: Moment) -> bool:
    """One response has just confirmed the batches of some partitions, and rejected those of others."""
    return any(
        isinstance(message, ProduceResponse)
        and len({error is Errors.NONE for error in _errors(message)}) > 1
        for message in _sent_messages(moment)
    )


def _batch_repeated(moment: Moment) -> bool:
    """A leader has just responded to a repeated batch with the offset of the one in its log."""
    appended = [e for e in moment.events if isinstance(e, BatchAppended) and not e.control]
    return not appended and any(
        isinstance(event, MessageSent)
        and isinstance(event.message, ProduceResponse)
        and Errors.NONE in _errors(event.message)
        for event in moment.events
    )


def _producer_forgotten(moment: Moment) -> bool:
    """A log has just dropped the state of a producer that had not written for long."""
    return any(isinstance(event, ProducerForgotten) for event in moment.events)


def _stranger_welcome(moment: Moment) -> bool:
    """A leader has just accepted a batch of a producer whose state had expired, whatever its sequence."""
    for event in moment.events:
        if isinstance(event, BatchAppended) and not event.control:
            log = moment.world.logs[event.partition]
            forgotten = [at for pid, at in log.forgotten if pid == event.producer_id]
            if forgotten and forgotten[-1] == event.base_offset:
                return True
    return False


def _record_twice(moment: Moment) -> bool:
    """An output of one input record is in a log twice."""
    for name, log in moment.world.logs.items():
        if topic_of(name) not in INTERNAL_TOPICS:
            made = _list_origins(log)
            if len(set(made)) < len(made):
                return True
    return False


def _out_of_range(moment: Moment) -> bool:
    """A leader has just rejected a fetch from an offset that its log does not have."""
    return any(error_in(m) is Errors.OFFSET_OUT_OF_RANGE for m in _sent_messages(moment))


def _position_reset(moment: Moment) -> bool:
    """A consumer has just learnt where a log begins or ends."""
    return any(
        isinstance(event, MessageDelivered) and isinstance(event.message, ListOffsetsResponse)
        for event in moment.events
    )


def _answers_by_time(moment: Moment, *, found: bool) -> Iterator[ListOffsetsPartitionResponse]:
    """Yield the results of this moment with a record found by its time, or without a record that is young enough."""
    for event in moment.events:
        told = event.message if isinstance(event, MessageDelivered) else None
        for each in told.responses if isinstance(told, ListOffsetsResponse) else ():
            by_time = each.timestamp_ms != NO_TIMESTAMP if found else each.offset < 0
            if by_time and each.error is Errors.NONE:
                yield each


def _none_young_enough(moment: Moment) -> bool:
    """A consumer has just received that no record is young enough."""
    return any(_answers_by_time(moment, found=False))


def _passed_over(moment: Moment) -> bool:
    """A consumer has just received a position after existing records."""
    logs = moment.world.logs
    told = _answers_by_time(moment, found=True)
    return any(each.offset > logs[each.partition].start_offset for each in told)


def _call_timed_out(moment: Moment) -> bool:
    """A producer waits for the result of a call that has timed out."""
    return any(app.producer.manager.timed_out for app in moment.world.applications.values())


def _nobody_asks(moment: Moment) -> bool:
    """A producer waits for an identity, and no request for one is in flight."""
    for app in moment.world.applications.values():
        manager = app.producer.manager
        waits = manager.state is ProducerState.INITIALIZING
        if waits and not any(
            isinstance(m, InitProducerId) for m in (*manager.queue, manager.on_wire)
        ):
            return True
    return False


GOALS: Mapping[str, Goal] = {
    "append refused": _append_refused,
    "record given up": _has_failed_write,
    "decided by the next coordinator": _decided_by_the_next,
    "several in flight": _several_in_flight,
    "out of order": _out_of_order,
    "order lost": _order_lost,
    "sender rests": _sender_rests,
    "one request": _one_request,
    "markers together": _markers_together,
    "asked together": _asked_together,
    "lost together": _lost_together,
    "answers of two kinds": _answers_of_two_kinds,
    "batch repeated": _batch_repeated,
    "call timed out": _call_timed_out,
    "nobody asks": _nobody_asks,
    "out of range": _out_of_range,
    "position reset": _position_reset,
    "none young enough": _none_young_enough,
    "passed over": _passed_over,
    "producer forgotten": _producer_forgotten,
    "forgotten producer taken": _stranger_welcome,
    "record twice": _record_twice,
}
