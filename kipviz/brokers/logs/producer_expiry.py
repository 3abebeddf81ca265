"""The expiry of producers: a log forgets those without a batch for producer.id.expiration.ms.

A part of the partition leader's role (`partition_leader`), with the same state.
WHERE IN KAFKA: ProducerStateManager.removeExpiredProducers, isProducerExpired; UnifiedLog's
  PeriodicProducerExpirationCheck.
KIPS: KIP-98 (idempotence), KIP-854 (a setting of its own, beside transactional.id.expiration.ms).
DURABILITY: none; every replica uses the timestamps in the same log, so the next leader forgets the same.
The log forgets everything that it checks a batch against: the epoch, the last five sequences, and
the coordinator epoch of the last marker. A producer with a transaction open in this log stays. A forgotten producer may
  start with any sequence, like an unknown one; only under transaction version 2 its first sequence has to be 0. Current
  brokers never return UNKNOWN_PRODUCER_ID.
NOT MODELLED: the expiry of verification entries by the same job; replicas that forget at different times.
"""

from __future__ import annotations

from kipviz.brokers.context import Context, Effects
from kipviz.brokers.logs.partition_leader import PartitionLeader
from kipviz.brokers.timers import ProducerExpiry
from kipviz.messages.events import ProducerForgotten


def timers(me: PartitionLeader, on: Context) -> tuple[ProducerExpiry, ...]:
    """Return the timers of producers that a log may forget: those with no transaction open here."""
    if not on.settings.producer_ids_expire:
        return ()
    known = on.log(me.shard).producers
    idle = (pid for pid in known if known[pid].transaction_first_offset < 0)
    return tuple(ProducerExpiry(pid, me.shard) for pid in idle)


def on_timer(me: PartitionLeader, timer: ProducerExpiry, on: Context) -> Effects[PartitionLeader]:
    """Expire a producer.

    WHEN: nothing from it was appended for producer.id.expiration.ms; a job checks every 10 minutes.
    CHECKS: that it has no transaction open here. DOES: removes it from the log's state; nothing is written.
    ANSWERS: no request; a producer notices only by what is no longer rejected.
    Clause: KIP-854; ProducerStateManager.removeExpiredProducers.
    """
    producer_id = timer.producer_id
    return Effects(
        me,
        events=(ProducerForgotten(me.shard, producer_id),),
        forgets=((me.shard, producer_id),),
    )
