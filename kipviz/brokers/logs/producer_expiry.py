"""What a log forgets: producers that it has not heard of for producer.id.expiration.ms.

A part of the partition leader's role (`partition_leader`), with the same state.
WHERE IN KAFKA: ProducerStateManager.removeExpiredProducers, isProducerExpired; UnifiedLog's
  PeriodicProducerExpirationCheck.
KIPS: KIP-98 (idempotence), KIP-854 (a setting of its own, beside transactional.id.expiration.ms).
DURABILITY: none; every replica counts by the times in the same log, so its next leader knows no more.
What is forgotten is everything by which a batch is judged: the epoch, the last five sequences, and
the coordinator epoch of the last marker. A producer with a transaction open in this log stays. Of a
forgotten one any first sequence is taken, as of a producer that never was here; only under transaction
version 2 its first has to be 0. No broker of today says UNKNOWN_PRODUCER_ID.
NOT MODELLED: that what is known of a verification under way is forgotten by the same job; replicas
  that forget at different moments.
"""

from __future__ import annotations

from kipviz.brokers.context import Context, Effects
from kipviz.brokers.logs.partition_leader import PartitionLeader
from kipviz.brokers.timers import ProducerExpiry
from kipviz.messages.events import ProducerForgotten


def timers(me: PartitionLeader, on: Context) -> tuple[ProducerExpiry, ...]:
    """Return the producers that a log may forget: those with no transaction open here."""
    if not on.settings.producer_ids_expire:
        return ()
    known = on.log(me.shard).producers
    idle = (pid for pid in known if known[pid].transaction_first_offset < 0)
    return tuple(ProducerExpiry(pid, me.shard) for pid in idle)


def on_timer(me: PartitionLeader, timer: ProducerExpiry, on: Context) -> Effects:
    """Forget a producer.

    WHEN: nothing of it was appended for producer.id.expiration.ms; a job looks every 10 minutes.
    CHECKS: that it has no transaction open here. DOES: takes it out of what the log knows; nothing is
    written. ANSWERS: nobody; a producer finds out by what is not refused any more.
    Clause: KIP-854; ProducerStateManager.removeExpiredProducers.
    """
    producer_id = timer.producer_id
    return Effects(
        me,
        events=(ProducerForgotten(me.shard, producer_id),),
        forgets=((me.shard, producer_id),),
    )
