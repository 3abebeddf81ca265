"""InitProducerId for a generation of a group: it first ends what older generations left open in its partitions.

A part of the transaction coordinator's role. WHERE IN KAFKA: nowhere. KIPS: KIP-447, first draft (2019), abandoned in
favour of fencing by the group coordinator. STATUS: draft; what its text leaves open is in slots, or marked as our
inference.
DURABILITY: a generation counts as soon as it is seen. Its record is in the log before the record of the identity, so an
identity always belongs to a generation that the next coordinator knows, too.
NOT MODELLED: a producer that has a group and no transactional id (a later wording of the draft); removal of the state
of deleted groups: the draft does not mention any.
"""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.brokers.checks import Check, compare, error_of, has_loaded, in_order
from kipviz.brokers.context import Context, Effects, Reply, ReplyTo, with_effects
from kipviz.brokers.handling import takes
from kipviz.brokers.logs.replication import replicas_check
from kipviz.brokers.transactions import producer_groups, transaction_coordinator, two_phase
from kipviz.brokers.transactions.transaction_metadata import PREPARED, TransactionMetadata
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.messages.errors import Errors
from kipviz.messages.events import GenerationSeen
from kipviz.messages.transactions.group_transactions import InitProducerIdOfGroup
from kipviz.messages.transactions.transactions import InitProducerIdResponse
from kipviz.records.batches import Batch
from kipviz.records.transaction_state import GroupAssignmentRecord, TransactionState


@takes(InitProducerIdOfGroup)
def on_init_producer_id_of_group(
    me: TransactionCoordinator, request: InitProducerIdOfGroup, reply_to: ReplyTo, on: Context
) -> Effects[TransactionCoordinator]:
    """Return an identity for a generation of a producer's group, and fence earlier generations.

    WHEN: a member has been assigned partitions, before it fetches their committed offsets. CHECKS: all brokers support
    the request; loading; the time limit; no newer generation has been seen. DOES: logs the producer's assignment; from
    here on requests of older generations are rejected. Their open transactions in the caller's partitions are aborted,
    or waited for: a slot. Then it is like any other InitProducerId, except that it gets a new producer id each time.
    ANSWERS: the identity; CONCURRENT_TRANSACTIONS while something has to end first; ILLEGAL_GENERATION (our inference).
    Clause: KIP-447, first draft: "InitProducerId API", "Fencing zombie".
    """
    checks = _checks(me, request, on)
    error = error_of(checks)
    if error is not Errors.NONE:
        refused = InitProducerIdResponse(error)
        return Effects(me, replies=(Reply(reply_to, refused),), checks=checks)
    parts = [_log_assignment(me, request, on).after(checks)]
    me = parts[0].state
    aborts, waits = on.rules.older_transaction()
    open_ones = tuple(_left_open(me, request))
    for known in open_ones:
        if aborts and known.state is TransactionState.ONGOING and known.pending_state is None:
            ended = transaction_coordinator.on_timeout(me, known.transactional_id, on.after(*parts))
            me = ended.state
            parts.append(ended)
    if open_ones and waits:
        again = InitProducerIdResponse(Errors.CONCURRENT_TRANSACTIONS)
        names = tuple(known.transactional_id for known in open_ones)
        left = Check("left open by older generations", None, names, Errors.CONCURRENT_TRANSACTIONS)
        parts.append(Effects(me, replies=(Reply(reply_to, again),), checks=(left,)))
        return with_effects(me, *parts)
    given = transaction_coordinator.on_init_producer_id(me, request, reply_to, on.after(*parts))
    return with_effects(given.state, *parts, given)


@in_order
def _checks(
    me: TransactionCoordinator, request: InitProducerIdOfGroup, on: Context
) -> Iterator[Check]:
    level = on.image.features.inter_broker_protocol
    yield Check("inter.broker.protocol.version", None, level, on.rules.group_metadata_gate(level))
    yield from two_phase.request_checks(request, on)
    yield has_loaded(me.loading)
    asked, newest = request.generation, producer_groups.newest(me.assignments, request.group_id)
    served = on.rules.older_generation(asked, newest) is Errors.NONE
    yield compare("generation", asked, newest, served, Errors.ILLEGAL_GENERATION)
    yield replicas_check(me.shard, on)


def _log_assignment(
    me: TransactionCoordinator, request: InitProducerIdOfGroup, on: Context
) -> Effects[TransactionCoordinator]:
    """Log a producer's assignment, unless it is unchanged."""
    assert request.transactional_id is not None, "refused before"
    record = GroupAssignmentRecord(
        request.group_id, request.transactional_id, request.generation, request.assigned
    )
    if me.assignments.get(request.transactional_id) == record:
        return Effects(me)
    before = producer_groups.newest(me.assignments, request.group_id)
    newer = request.generation > before
    batch = Batch(on.log(me.shard).end_offset, (record,))
    return Effects(
        transaction_coordinator.replay(me, record),
        appends=((me.shard, batch),),
        events=(GenerationSeen(request.group_id, request.generation),) if newer else (),
    )


def _left_open(
    me: TransactionCoordinator, request: InitProducerIdOfGroup
) -> list[TransactionMetadata]:
    """Return the transactions of older generations that may still include the caller's partitions."""
    names = producer_groups.before_in_its_partitions(me.assignments, request)
    found = (me.transactions.get(name) for name in names)
    unended = (TransactionState.ONGOING, *PREPARED)
    return [k for k in found if k and (k.state in unended or k.pending_state is not None)]
