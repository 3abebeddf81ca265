"""The heartbeats of a producer's transaction (KIP-1309, draft).

WHO: the sender thread of a producer with transaction.heartbeat.interval.ms above 0. WHERE IN KAFKA:
  nowhere yet. The heartbeat goes through the queue of transactional requests, one at a time: our
  inference. It proves that the sender lives, not that the application thread does.
"""

from __future__ import annotations

from typing import Any

from kipviz.messages.liveness import TxnHeartbeat

TIMER = "the heartbeat interval"


def timers(me: Any) -> tuple[str, ...]:
    """Give the interval of a producer with an open transaction, while no heartbeat is under way."""
    waiting = any(isinstance(m, TxnHeartbeat) for m in (*me.queue, me.on_wire))
    alive = me.heartbeat_interval_ms > 0 and me.transaction_started and me.is_open
    return (TIMER,) if alive and not waiting else ()


def beat(me: Any) -> TxnHeartbeat:
    """Give the heartbeat that is due."""
    return TxnHeartbeat(me.transactional_id, me.producer_id, me.producer_epoch)
