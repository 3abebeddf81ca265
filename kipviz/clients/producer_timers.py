"""The timers of a producer: the heartbeat of its transaction, and those of who looks topics up.

WHO: the sender thread of a producer. KIPS: KIP-1309 (draft) for a producer with
  transaction.heartbeat.interval.ms above 0; KIP-1319 for the topics. The heartbeat goes through the
  queue of transactional requests, one at a time: our inference. It proves that the sender lives, not
  that the application thread does.
"""

from __future__ import annotations

from typing import Any

from kipviz.clients import topic_ids
from kipviz.clients.producer_errors import EXPIRED
from kipviz.clients.producer_state import TRANSITIONS, ProducerState
from kipviz.messages.groups import TxnOffsetCommit
from kipviz.messages.liveness import TxnHeartbeat

INTERVAL = "the heartbeat interval"
S = ProducerState


def timers(me: Any) -> tuple[str, ...]:
    """Give the timers that are set; a heartbeat is due only while a transaction is open."""
    looking = topic_ids.timers(me.topics, idle=me.state is S.READY)
    waiting = any(isinstance(m, TxnHeartbeat) for m in (*me.queue, me.on_wire))
    return (INTERVAL, *looking) if _beats(me) and not waiting else looking


def running(me: Any) -> tuple[str, ...]:
    """Give the timers whose time passes: the call that sends offsets waits across its repeats."""
    found = topic_ids.timers(me.topics, idle=me.state is S.READY)
    sending = any(isinstance(m, TxnOffsetCommit) for m in (*me.queue, me.on_wire))
    if me.topics.looks_up and sending and topic_ids.MAX_BLOCK not in found:
        found = (*found, topic_ids.MAX_BLOCK)
    return (INTERVAL, *found) if _beats(me) else found


def _beats(me: Any) -> bool:
    is_open = me.transaction_started and me.state in (S.IN_TRANSACTION, S.PREPARED_TRANSACTION)
    return me.heartbeat_interval_ms > 0 and is_open


def on_timer(me: Any, timer: str) -> Any:
    """Say that one is alive, try again, forget topics that nobody used, or give up waiting.

    NOT MODELLED: that a transaction could go on after max.block.ms; here it has to be aborted.
    """
    if timer == INTERVAL:
        beat = TxnHeartbeat(me.transactional_id, me.producer_id, me.producer_epoch)
        return me.but(queue=(*me.queue, beat))
    me = me.but(topics=topic_ids.after(me.topics, timer))
    if timer != topic_ids.MAX_BLOCK:
        return me
    why = f"TxnOffsetCommit: {EXPIRED.name}"
    assert S.ABORTABLE_ERROR in TRANSITIONS[me.state], me.state
    return me.but(state=S.ABORTABLE_ERROR, queue=(), done=True, error=why)
