"""The calls of a consumer, of any kind.

WHERE IN KAFKA: KafkaConsumer, KafkaShareConsumer.
"""

from __future__ import annotations

from kipviz.clients.application import STAGING, Application, Line
from kipviz.clients.calling.database_calls import database_of
from kipviz.clients.calling.named_client import named_client
from kipviz.clients.calling.staging_calls import verdicts_of
from kipviz.clients.groups import kafka_consumer as regular
from kipviz.clients.groups.consumer import Consumer, joins_group
from kipviz.clients.groups.subscribing import subscription_of
from kipviz.clients.rules import ClientRules
from kipviz.clients.shares import share_consumer as sharing
from kipviz.clients.shares.share_memory import ShareConsumer
from kipviz.clients.transactions import external_database as databases
from kipviz.messages.shares.share_groups import (
    AcknowledgementBatch,
    AcknowledgeType,
    batches_of,
)


def poll(me: Application, line: Line, rules: ClientRules) -> Application:
    """Ask for records. The records of the previous batch count as processed."""
    consumer = named_client(me, line, me.consumer)
    if isinstance(consumer, ShareConsumer):
        stages = any(each.call in STAGING for each in me.program)
        next_poll = rules.next_poll if stages else _accept_all
        return me.with_client(sharing.poll(consumer, next_poll)).but(records=())
    assert isinstance(consumer, Consumer), "poll() is a call of a consumer"
    return me.with_client(regular.poll(consumer)).but(records=())


def seek(me: Application, line: Line, rules: ClientRules) -> Application:
    """Move the position to the one that the database stored."""
    consumer = named_client(me, line, me.consumer)
    assert isinstance(consumer, Consumer), "seek() is a call of a consumer"
    position = databases.position(database_of(me), consumer.partition)
    return me.with_client(regular.seek(consumer, consumer.partition, position)).but(records=())


def acknowledge(me: Application, line: Line, rules: ClientRules) -> Application:
    """Acknowledge records of the current batch."""
    consumer = named_client(me, line, me.consumer)
    assert isinstance(consumer, ShareConsumer), "only a share consumer acknowledges"
    return me.with_client(sharing.acknowledge(consumer, verdicts_of(me, line)))


def commit_sync(me: Application, line: Line, rules: ClientRules) -> Application:
    """Send the acknowledgements or the offsets read so far, and wait for the response."""
    consumer = named_client(me, line, me.consumer)
    if isinstance(consumer, Consumer):
        return me.with_client(regular.commit_sync(consumer))
    assert isinstance(consumer, ShareConsumer), "only a share consumer acknowledges"
    return me.with_client(sharing.commit_sync(consumer))


def commit_async(me: Application, line: Line, rules: ClientRules) -> Application:
    """Send the acknowledgements without waiting for the response."""
    consumer = named_client(me, line, me.consumer)
    assert isinstance(consumer, ShareConsumer), "only a share consumer acknowledges"
    return me.with_client(sharing.commit_async(consumer))


def close_consumer(me: Application, line: Line, rules: ClientRules) -> Application:
    """Close a share consumer."""
    consumer = named_client(me, line, me.consumer)
    assert isinstance(consumer, ShareConsumer), "it closes a share consumer"
    return me.with_client(sharing.close(consumer)).but(records=())


def unsubscribe(me: Application, line: Line, rules: ClientRules) -> Application:
    """Leave the group."""
    consumer = named_client(me, line, me.consumer)
    assert joins_group(consumer), "only a member that joined leaves"
    return me.with_client(regular.unsubscribe(consumer)).but(records=())


def subscribe(me: Application, line: Line, rules: ClientRules) -> Application:
    """Subscribe to the topics that a line names."""
    consumer, (topics, regex) = named_client(me, line, me.consumer), subscription_of(line.target)
    assert joins_group(consumer), "only a member that joins subscribes"
    return me.with_client(regular.subscribe(consumer, topics, regex))


def _accept_all(
    batch: tuple[int, ...], staged: tuple[int, ...]
) -> tuple[AcknowledgementBatch, ...]:
    """Accept every record of the batch, as a plain share consumer does in implicit mode."""
    return batches_of(batch, AcknowledgeType.ACCEPT)
