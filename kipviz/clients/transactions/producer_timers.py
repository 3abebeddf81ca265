"""The timers of a producer: its heartbeat, the rest of its sender, and those of who looks topics up.

WHO: the sender thread of a producer. KIPS: KIP-1309 (draft) for a producer with
  transaction.heartbeat.interval.ms above 0; KIP-1319 for the topics. The heartbeat goes through the
  queue of transactional requests, one at a time: our inference. It proves that the sender lives, not
  that the application thread does.
"""

from __future__ import annotations

from typing import Any

from kipviz.clients.sending import awaited_topics
from kipviz.clients.sending.sender import RESTS
from kipviz.clients.transactions import topic_ids
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.messages.groups import TxnOffsetCommit
from kipviz.messages.liveness import TxnHeartbeat
from kipviz.messages.metadata import Metadata
from kipviz.messages.transactions import AddOffsetsToTxn

INTERVAL = "the heartbeat interval"
# The call whose time is up.
SENDING = "sendOffsetsToTransaction"
S = ProducerState


def timers(me: Any) -> tuple[str, ...]:
    """Give the timers that are set; a heartbeat is due only while a transaction is open."""
    looking = (*_resting(me), *_looking(me))
    waiting = any(isinstance(m, TxnHeartbeat) for m in (*me.queue, me.on_wire))
    return (INTERVAL, *looking) if _beats(me) and not waiting else looking


def running(me: Any) -> tuple[str, ...]:
    """Give the timers whose time passes: the call that sends offsets waits across its repeats."""
    found = (*_resting(me), *_looking(me))
    sending = any(isinstance(m, TxnOffsetCommit) for m in (*me.queue, me.on_wire))
    waits = sending and _is_called(me)
    if me.topics.looks_up and waits and topic_ids.MAX_BLOCK not in found:
        found = (*found, topic_ids.MAX_BLOCK)
    return (INTERVAL, *found) if _beats(me) else found


def _beats(me: Any) -> bool:
    is_open = me.transaction_started and me.state in (S.IN_TRANSACTION, S.PREPARED_TRANSACTION)
    return me.heartbeat_interval_ms > 0 and is_open


def _resting(me: Any) -> tuple[str, ...]:
    return (me.rests,) if me.rests else ()


def _looking(me: Any) -> tuple[str, ...]:
    """Give the timers of who looks topics up; max.block.ms is a call's, and ends with it."""
    found = topic_ids.timers(me.topics, idle=me.state is S.READY)
    found = tuple(t for t in found if t != topic_ids.MAX_BLOCK or _is_called(me))
    rests = me.there.resting and topic_ids.BACK_OFF not in found
    return (*found, topic_ids.BACK_OFF) if rests else found


def _is_called(me: Any) -> bool:
    """Say whether the application is in sendOffsetsToTransaction()."""
    return me.state is S.IN_TRANSACTION and not me.done


def on_timer(me: Any, timer: str) -> Any:
    """Say that one is alive, go on, try again, forget topics that nobody used, or let a call come back.

    What the call asked for goes on without it: it is sent again, and what ends the transaction waits
    behind it. Source: TransactionManager.TxnOffsetCommitHandler, whose requests go before EndTxn.
    """
    if timer == INTERVAL:
        beat = TxnHeartbeat(me.transactional_id, me.producer_id, me.producer_epoch)
        return me.but(queue=(*me.queue, beat))
    if timer in RESTS:
        return me.but(rests="")
    if timer == topic_ids.MAX_BLOCK:
        return me.but(done=True, timed_out=SENDING)
    me = me.but(topics=topic_ids.after(me.topics, timer))
    return awaited_topics.asked_again(me) if timer == topic_ids.BACK_OFF else me


def topic_ids_given_up(me: Any) -> Any:
    """Take back offsets that still wait for the id of their topic; others are on their way."""
    if not any(isinstance(m, Metadata) for m in (*me.queue, me.on_wire)):
        return me
    behind = Metadata | AddOffsetsToTxn | TxnOffsetCommit
    kept = tuple(m for m in me.queue if not isinstance(m, behind))
    return me.but(queue=kept)
