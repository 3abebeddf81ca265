"""How a share consumer and the producer that stages its records inform each other (KIP-1289, draft).

A record leaves the consumer when its acknowledgement is passed to the producer; only the response shows whether it is
staged. `ClientRules` answers three questions in between: may poll() forget records whose output may be in the open
transaction; does it wait for stagings in flight; and who holds a record whose staging failed. Status: our inference;
the draft's producer knows no consumer.
"""

from __future__ import annotations

from typing import Literal

from kipviz.clients.application import STAGING, Application, Call, Line
from kipviz.clients.calls import client_of
from kipviz.clients.kinds import Holder
from kipviz.clients.rules import ClientRules
from kipviz.clients.shares import share_holding
from kipviz.clients.shares.share_memory import ShareConsumer
from kipviz.clients.throwing.client_errors import NotAllStaged
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.clients.workers import every_thread
from kipviz.messages.shares.share_groups import TxnShareAcknowledge, offsets_of

# Calls that are about the partition of the last poll().
OF_ONE_PARTITION = (
    Call.ADD_SHARE_ACKS,
    Call.ACKNOWLEDGE_TRANSACTIONALLY,
    Call.ACKNOWLEDGE,
    Call.COMMIT_SYNC,
    Call.COMMIT_ASYNC,
)


def why_no_poll(me: Application, line: Line, rules: ClientRules) -> NotAllStaged | Literal[""]:
    """Return the IllegalStateException of a poll() that would forget records of the open transaction.

    The outputs of the batch may be in the transaction: if its records were delivered again, the same transaction would
    produce them twice (finding X24). Once the transaction can only be aborted, poll() is safe.
    """
    if line.call is not Call.POLL:
        return ""
    consumer = client_of(me, line)
    if not isinstance(consumer, ShareConsumer) or not _stages(me):
        return ""
    manager = me.manager
    if manager.state is not ProducerState.IN_TRANSACTION or not manager.transaction_started:
        return ""
    if all(rules.poll_before_staging(held.batch, held.staged) for held in consumer.held):
        return ""
    return NotAllStaged()


def why_no_gathering(program: tuple[Line, ...], *, by_session: bool) -> str:
    """Return which call of a program is about one partition, or "": a consumer that gathers has several.

    With a share session, commitSync() is allowed: it commits all current records.
    """
    allowed = (Call.COMMIT_SYNC,) if by_session else ()
    calls = (line.call for line in program if line.call not in allowed)
    one = (call.value for call in calls if call in OF_ONE_PARTITION)
    return next(
        (f"{name}() is about records of one partition: gathers has to be off" for name in one), ""
    )


def why_it_waits(me: Application) -> str | None:
    """Return the sentence that the thread's next poll() waits for a staging, or None."""
    if not isinstance(me.consumer, ShareConsumer) or not me.consumer.handover.poll_waits:
        return None
    if me.program[me.line].call is not Call.POLL:
        return None  # another thread has to wait
    return f"poll() of {me.name} waits for the answer to TxnShareAcknowledge"


def settle(me: Application, rules: ClientRules) -> Application:
    """Report the results of stagings to the consumer of their records."""
    consumer = me.consumer
    if not isinstance(consumer, ShareConsumer):
        return me
    dropped = consumer.transactional.dropped
    if dropped:
        consumer = consumer.but(transactional=consumer.transactional.but(dropped=()))
        me = me.but(consumer=consumer)
    for client in me.clients:
        if isinstance(client, Holder) and client.manager.dropped:
            dropped += client.manager.dropped
            me = me.with_client(client.but(manager=client.manager.but(dropped=())))
    if dropped and rules.dropped_staging():
        me = me.but(consumer=_give_back_staged(consumer, dropped))
    waits = _next_is_poll(me) and rules.poll_while_staging(_unanswered(me))
    if waits == consumer.handover.poll_waits:
        return me
    assert isinstance(me.consumer, ShareConsumer), me.consumer
    return me.but(consumer=me.consumer.but(handover=consumer.handover.but(poll_waits=waits)))


def _give_back_staged(
    consumer: ShareConsumer, dropped: tuple[TxnShareAcknowledge, ...]
) -> ShareConsumer:
    """Count records as not staged, because their staging was rejected, or abandoned with its transaction."""
    fetch = consumer.current_fetch
    beside, back = fetch.beside, set()
    for part in (part for request in dropped for part in request.partitions):
        offsets = offsets_of(part.acknowledgements)
        beside = share_holding.unstage_records(beside, part.partition, offsets)
        back |= set(offsets) if part.partition == consumer.partition else set()
    if consumer.gathers:
        return consumer.but(current_fetch=fetch.but(beside=beside))
    staged = tuple(o for o in fetch.staged if o not in back)
    return consumer.but(current_fetch=fetch.but(staged=staged))


def _next_is_poll(me: Application) -> bool:
    """Return whether a thread is about to call poll() on its share consumer."""
    return any(
        not seen.waiting and seen.program[seen.line].call is Call.POLL
        for _, seen in every_thread(me)
    )


def _unanswered(me: Application) -> bool:
    """Return whether a staging is in flight or still to be sent, in any client."""
    outgoing: tuple[object, ...] = ()
    for client in me.clients:
        if isinstance(client, Holder):
            outgoing += (client.manager.on_wire, *client.manager.queue)
        elif isinstance(client, ShareConsumer):
            outgoing += (client.on_wire, client.transactional.next)
    return any(isinstance(request, TxnShareAcknowledge) for request in outgoing)


def _stages(me: Application) -> bool:
    return any(line.call in STAGING for line in me.program)
