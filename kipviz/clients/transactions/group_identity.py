"""A producer whose identity belongs to one generation of its group: initTransactions(groupAssignment).

WHO: a client process. WHERE IN KAFKA: nowhere. KIPS: KIP-447, first draft (2019). STATUS: draft. The draft wants the
call in ConsumerRebalanceListener.onPartitionsAssigned(), after every rebalance, and says that it may also be made after
a ProducerFencedException. Producer and consumer are objects of one process, so they need no messages to each other.
"""

from __future__ import annotations

from kipviz.clients.application import Application, Call
from kipviz.clients.groups.consumer import ClassicConsumer, is_classic
from kipviz.clients.groups.consumer_coordinator import MemberState as S
from kipviz.clients.sending.outgoing import with_batches
from kipviz.clients.sending.producer import Producer
from kipviz.clients.transactions.producer_state import OF_A_GROUP, ProducerState
from kipviz.messages.transactions.group_transactions import InitProducerIdOfGroup


def settle(me: Application) -> Application:
    """Let the listener of a consumer initialise the producer; poll() waits until it has returned.

    Positions are looked up afterwards: the pending offsets of older generations are decided by then.
    """
    producer, consumer = me.producer, me.consumer
    if not is_classic(consumer):
        return me
    manager = producer.manager
    if not manager.group_id:
        return _return_from_init(me, consumer)
    if consumer.membership.listening:
        return _resume_poll(me, producer, consumer)
    new = consumer.polling and consumer.state is S.STABLE
    member = consumer.membership.metadata
    if not new or member == manager.member_at_init or manager.state not in OF_A_GROUP:
        return me
    producer = init_transactions(producer, member, consumer.owned)
    return me.but(consumer=_listening(consumer, True)).with_client(producer)


def why_it_waits(me: Application) -> str | None:
    """Return why initTransactions(consumer) has not returned: its consumer must join first (second draft)."""
    line, consumer = me.program[me.line], me.consumer
    joining = is_classic(consumer) and consumer.membership.listening
    if line.call is not Call.INIT_TRANSACTIONS or not joining:
        return None
    return f"{line.call.value}() of {me.name} waits for its consumer, which has not joined yet"


def _return_from_init(me: Application, consumer: ClassicConsumer) -> Application:
    """Let initTransactions(consumer) return when the consumer has joined, or its join has failed."""
    waits = consumer.polling and consumer.state is not S.STABLE
    if not consumer.membership.listening or waits:
        return me
    return me.but(consumer=_listening(consumer, False).but(polling=False))


def _listening(me: ClassicConsumer, listening: bool) -> ClassicConsumer:
    return me.but(membership=me.membership.but(listening=listening))


def init_transactions(me: Producer, member: tuple[str, int], assigned: tuple[str, ...]) -> Producer:
    """Ask for an identity for a generation, whatever the state of the previous one.

    Unsent batches of a failed transaction are dropped; the producer waits for those in flight.
    """
    manager = me.manager
    request = InitProducerIdOfGroup(
        manager.transactional_id,
        manager.transaction_timeout_ms,
        group_id=manager.group_id,
        generation=member[1],
        assigned=assigned,
    )
    manager = manager.but(
        state=ProducerState.INITIALIZING,
        queue=(request,),
        to_add=(),
        partitions=(),
        bump=False,
        member_at_init=member,
        error="",
    )
    flying = tuple(b for b in me.accumulator.batches if b.broker >= 0)
    return with_batches(me, flying).but(manager=manager)


def _resume_poll(me: Application, producer: Producer, consumer: ClassicConsumer) -> Application:
    """Let poll() continue when the producer has its identity, or throw the producer's error."""
    manager = producer.manager
    if manager.state is ProducerState.INITIALIZING:
        return me
    consumer = _listening(consumer, False)
    if manager.state is not ProducerState.READY:
        # The next poll() makes the call again: our inference.
        me = me.with_client(producer.but(manager=manager.but(member_at_init=("", -1))))
        consumer = consumer.but(polling=False, done=True, error=manager.error)
    return me.but(consumer=consumer)
