"""The dead-letter queue of a share group: copies of records that are archived.

WHO: the share-partition leader, as a plain producer towards the leader of the dead-letter topic.
WHERE IN KAFKA: ShareGroupDLQManager, SharePartition (ARCHIVING).
KIPS: KIP-1191, share.version 2.
DURABILITY: ARCHIVING is durable before the copy is sent, ARCHIVED after the attempt. A new leader finds ARCHIVING and
  retries, so there may be two copies; when every attempt fails the record is archived without a copy, and only the
  broker's log says so.
TOPIC: a missing topic is created if errors.deadletterqueue.auto.create.topics.enable allows it. If the topic cannot
  be used, the record is archived without a copy. Then only the broker's log has a line; the meters of failed copies
  do not change, because nothing was produced.
NOT MODELLED: several ranges in one produce request; the time between attempts; the key of a record; that CreateTopics
  goes to any broker (here to the lowest one that leads a partition).
"""

from __future__ import annotations

from kipviz.brokers.context import NOBODY, Channel, Context, Effects, Request
from kipviz.brokers.logs import partition_log
from kipviz.brokers.share_leaders import share_partition
from kipviz.brokers.share_leaders.share_partition import DeadLetter, SharePartition, record_moved
from kipviz.core.model import Event
from kipviz.core.values import Value
from kipviz.messages.apis.api import Role
from kipviz.messages.cluster.topic_creation import (
    CreatableTopic,
    CreateTopics,
    CreateTopicsResponse,
)
from kipviz.messages.errors import Errors
from kipviz.messages.events import COPIED, NOT_COPIED
from kipviz.messages.logs.producing import PartitionProduceData, Produce, ProduceResponse
from kipviz.messages.message_errors import error_in
from kipviz.records.batches import DataRecord
from kipviz.records.placement import index_of, topic_of
from kipviz.records.share_group_state import RecordState
from kipviz.settings.topic_configs import (
    ERRORS_DEADLETTERQUEUE_GROUP_ENABLE,
    MESSAGE_TIMESTAMP_TYPE,
)

ATTEMPTS_MAX = 5
# Errors after which a copy, or the creation of a topic, is retried; after any other error it is abandoned.
COPY_RETRY = (Errors.NOT_LEADER_OR_FOLLOWER,)
TOPIC_RETRY = (Errors.NONE, Errors.TOPIC_ALREADY_EXISTS)
# The configuration of a created topic: it accepts dead letters and keeps the time at which they were written.
TOPIC_CONFIGS = (
    (ERRORS_DEADLETTERQUEUE_GROUP_ENABLE.name, "true"),
    (MESSAGE_TIMESTAMP_TYPE.name, "CreateTime"),
)
S = RecordState


class Copying(Value, frozen=True):
    """The result of an attempt: requests to send, and the offsets that are done for now."""

    effects: Effects[SharePartition]
    finished: tuple[int, ...] = ()


def enqueue(me: SharePartition, offsets: tuple[int, ...], on: Context) -> Copying:
    """Queue the copies of those offsets that are being archived and are not queued yet."""
    queued = {o for d in me.dead_letters for o in range(d.first, d.last + 1)}
    letters: list[DeadLetter] = []
    for offset in offsets:
        record = me.records.get(offset)
        if record is None or record.state is not S.ARCHIVING or record.ongoing or offset in queued:
            continue
        count = record.delivery_count
        # A leader that has loaded it can only infer the reason (SharePartition.maybeInitialize).
        at_limit = count >= on.delivery_count_limit(me.group_id)
        cause = record.cause or (
            share_partition.TOO_OFTEN if at_limit else share_partition.REJECTED
        )
        last = letters[-1] if letters else None
        if last and (last.last, last.delivery_count, last.cause) == (offset - 1, count, cause):
            letters[-1] = last.but(last=offset)
        else:
            letters.append(DeadLetter(offset, offset, count, cause))
    idle = not me.dead_letters
    me = me.but(dead_letters=(*me.dead_letters, *letters)) if letters else me
    return _send(me, on) if idle and letters else Copying(Effects(me))


def continue_copy(
    me: SharePartition, answer: ProduceResponse | CreateTopicsResponse | None, on: Context
) -> Copying:
    """Continue after an attempt; None: its response is lost, and the copy may or may not exist.

    Retriable errors are retried, up to the limit of attempts. Source: ShareGroupDLQStateManager.handleProduceResponse,
    handleCreateTopicsResponse.
    """
    letter, error = me.dead_letters[0], error_in(answer)
    if letter.creations:
        asks_again = error is None or error in TOPIC_RETRY
        led = on.image.leader_of(_target(me, on)) != NOBODY
        made = error is Errors.NONE and led
        if made:
            letter = letter.but(creations=0)
        if made or (asks_again and letter.creations < ATTEMPTS_MAX):
            return _send(me.but(dead_letters=(letter, *me.dead_letters[1:])), on)
        return _start_next_copy(_finish_first(me, NOT_COPIED), on)
    copied = error is Errors.NONE
    asks_again = error is None or error in COPY_RETRY
    if asks_again and letter.attempts < ATTEMPTS_MAX:
        again = letter.but(attempts=letter.attempts + 1)
        return _send(me.but(dead_letters=(again, *me.dead_letters[1:])), on)
    return _start_next_copy(_finish_first(me, COPIED if copied else NOT_COPIED), on)


def _start_next_copy(done: Copying, on: Context) -> Copying:
    """Start the next copy, after one that is done."""
    following = _send(done.effects.state, on)
    events = (*done.effects.events, *following.effects.events)
    return Copying(following.effects.but(events=events), (*done.finished, *following.finished))


def _send(me: SharePartition, on: Context) -> Copying:
    """Send the first copy, or create its topic; without a usable topic the record is archived without a copy.

    A topic with a partition that has no leader is requested as well, and exists already. Source:
    ShareGroupDLQStateManager.SendThread.generateRequests, ProduceRequestHandler.dlqTopicExists.
    """
    topic, target = on.image.dead_letter_queue(me.group_id), _target(me, on)
    leader = on.image.leader_of(target)
    someone = min((h.leader for h in on.image.leaders.values() if h.leader >= 0), default=NOBODY)
    broker = leader if leader != NOBODY else someone
    events: tuple[Event, ...] = ()
    finished: tuple[int, ...] = ()
    while me.dead_letters:
        if _usable(topic, on) and broker != NOBODY:
            letter = me.dead_letters[0]
            if leader != NOBODY:
                batch = PartitionProduceData(target, -1, -1, -1, _copies(me, letter, on))
                message: Produce | CreateTopics = Produce("", (batch,))
                letter = letter.but(creations=0)
            else:
                message = CreateTopics((CreatableTopic(topic, configs=TOPIC_CONFIGS),))
                letter = letter.but(creations=letter.creations + 1)
            me = me.but(dead_letters=(letter, *me.dead_letters[1:]))
            asked = Request(
                Channel.DEAD_LETTERS,
                broker,
                message,
                Role.SHARE_PARTITION_LEADER,
                me.key,
                str(me.incarnation),
            )
            return Copying(Effects(me, requests=(asked,), events=events), finished)
        given_up = _finish_first(me, NOT_COPIED)
        me, events = given_up.effects.state, (*events, *given_up.effects.events)
        finished += given_up.finished
    return Copying(Effects(me, events=events), finished)


def _finish_first(me: SharePartition, because: str) -> Copying:
    """Complete the first entry of the queue: its records are archived, with or without a copy."""
    letter, records, events = me.dead_letters[0], me.records, []
    finished = []
    for offset in range(letter.first, letter.last + 1):
        before = records[offset]
        after = before.without_staging(S.ARCHIVED, cause="")
        records = records.set(offset, after)
        finished.append(offset)
        events.append(record_moved(me, offset, before, after, because))
    left = me.but(records=records, dead_letters=me.dead_letters[1:])
    return Copying(Effects(left, events=tuple(events)), tuple(finished))


def _usable(topic: str, on: Context) -> bool:
    """Return whether copies may go to a topic, which may not exist yet.

    An existing topic has to allow it (errors.deadletterqueue.group.enable). A missing one has to be created by the
    broker (errors.deadletterqueue.auto.create.topics.enable). Its name has the required prefix
    (errors.deadletterqueue.topic.name.prefix). A group may be configured with another topic all the same: only the
    broker that makes the copy checks this, each time. Source:
    ShareGroupDLQStateManager.ProduceRequestHandler.validateDlqTopic.
    """
    if not topic or not topic.startswith(on.settings.dead_letter_prefix):
        return False
    if _partitions(topic, on):
        return topic in on.image.dead_letter_topics
    return on.settings.dead_letter_auto_create


def _partitions(topic: str, on: Context) -> tuple[str, ...]:
    return tuple(p for p in on.image.leaders if topic_of(p) == topic)


def _target(me: SharePartition, on: Context) -> str:
    """Return the partition of the dead-letter topic that gets the copies, or ""."""
    partitions = _partitions(on.image.dead_letter_queue(me.group_id), on)
    return partitions[index_of(me.partition) % len(partitions)] if partitions else ""


def _copies(me: SharePartition, letter: DeadLetter, on: Context) -> tuple[DataRecord, ...]:
    """Return the copies of records: with headers, and with the value if the group is configured so."""
    copy = on.image.group_config(me.group_id).dead_letter_copy_record
    values = {}
    for batch in partition_log.read(on.log(me.partition), letter.first, letter.last + 1):
        for i, record in enumerate(batch.records):
            assert isinstance(record, DataRecord)
            values[batch.base_offset + i] = record.value
    return tuple(
        DataRecord(
            values.get(offset, "") if copy else "",
            headers=(
                ("__dlq.errors.topic", topic_of(me.partition)),
                ("__dlq.errors.partition", str(index_of(me.partition))),
                ("__dlq.errors.offset", str(offset)),
                ("__dlq.errors.group", me.group_id),
                ("__dlq.errors.delivery.count", str(letter.delivery_count)),
                ("__dlq.errors.message", letter.cause),
            ),
        )
        for offset in range(letter.first, letter.last + 1)
    )
