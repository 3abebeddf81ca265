"""The timers of a transaction manager: its heartbeat, its sender's back-off, and those of topic lookups.

WHO: the sender thread of a producer, the network thread of a session. KIPS: KIP-1309 (draft) for one with
transaction.heartbeat.interval.ms above 0; KIP-1319 for the topics. The heartbeat goes through the queue of
transactional requests, one at a time: our inference. It proves that the sender is alive, not that the application
thread is.
"""

from __future__ import annotations

from typing import assert_never

from kipviz.clients.timers import (
    BatchBackOff,
    FetchWait,
    HeartbeatInterval,
    MaxBlock,
    MaxIdle,
    ResetWait,
    RetryBackOff,
    SenderBackOff,
    ShortSenderBackOff,
    TimerOfClient,
)
from kipviz.clients.transactions import topic_ids
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.clients.transactions.transaction_manager import TransactionManager
from kipviz.messages.cluster.metadata import Metadata
from kipviz.messages.groups.groups import TxnOffsetCommit
from kipviz.messages.message import Message
from kipviz.messages.transactions.liveness import TxnHeartbeat
from kipviz.messages.transactions.transactions import AddOffsetsToTxn

# The call that times out.
SENDING = "sendOffsetsToTransaction"
S = ProducerState


def timers(me: TransactionManager, *, resting: bool = False) -> tuple[TimerOfClient, ...]:
    """Return the timers that are set; a heartbeat is due only while a transaction is open.

    `resting` says that the topic of a waiting send() is looked up again after the back-off.
    """
    looking = (*_resting(me), *_looking(me, resting))
    waiting = any(isinstance(m, TxnHeartbeat) for m in (*me.queue, me.on_wire))
    return (HeartbeatInterval(), *looking) if _beats(me) and not waiting else looking


def running(me: TransactionManager, *, resting: bool = False) -> tuple[TimerOfClient, ...]:
    """Return the timers that run: the call that sends offsets waits across its retries."""
    found = (*_resting(me), *_looking(me, resting))
    sending = any(isinstance(m, TxnOffsetCommit) for m in (*me.queue, me.on_wire))
    waits = sending and _is_called(me)
    if me.topics.looks_up and waits and MaxBlock() not in found:
        found = (*found, MaxBlock())
    return (HeartbeatInterval(), *found) if _beats(me) else found


def _beats(me: TransactionManager) -> bool:
    is_open = me.transaction_started and me.state in (S.IN_TRANSACTION, S.PREPARED_TRANSACTION)
    return me.heartbeat_interval_ms > 0 and is_open


def _resting(me: TransactionManager) -> tuple[TimerOfClient, ...]:
    return (me.rests,) if me.rests else ()


def _looking(me: TransactionManager, resting: bool) -> tuple[TimerOfClient, ...]:
    """Return the timers of topic lookups; max.block.ms belongs to a call, and ends with it."""
    found = topic_ids.timers(me.topics, idle=me.state is S.READY)
    found = tuple(t for t in found if not isinstance(t, MaxBlock) or _is_called(me))
    return (*found, RetryBackOff()) if resting and RetryBackOff() not in found else found


def _is_called(me: TransactionManager) -> bool:
    """Return whether the application is in sendOffsetsToTransaction()."""
    return me.state is S.IN_TRANSACTION and not me.done


def on_timer(me: TransactionManager, timer: TimerOfClient) -> TransactionManager:
    """Fire a timer: send a heartbeat, retry, forget unused topics, or time out a call.

    The request of a call that timed out continues: it is sent again, and the end of the transaction waits behind it.
    Source: TransactionManager.TxnOffsetCommitHandler, whose requests go before EndTxn.
    """
    match timer:
        case HeartbeatInterval():
            beat = TxnHeartbeat(me.transactional_id, me.producer_id, me.producer_epoch)
            return me.but(queue=(*me.queue, beat))
        case SenderBackOff() | ShortSenderBackOff():
            return me.but(rests="")
        case MaxBlock():
            return me.but(done=True, timed_out=SENDING)
        case RetryBackOff() | MaxIdle():
            return me.but(topics=topic_ids.after(me.topics, timer))
        case FetchWait() | ResetWait() | BatchBackOff():
            raise AssertionError(f"a transaction manager does not set {timer.words}")
        case _:
            assert_never(timer)


def topic_ids_given_up(me: TransactionManager) -> TransactionManager:
    """Drop offsets that still wait for the id of their topic.

    Those of an earlier call are before the Metadata request: they are in flight, or are sent again.
    """
    behind, kept = isinstance(me.on_wire, Metadata), list[Message]()
    for m in me.queue:
        behind = behind or isinstance(m, Metadata)
        if not behind or not isinstance(m, Metadata | AddOffsetsToTxn | TxnOffsetCommit):
            kept.append(m)
    return me.but(queue=tuple(kept))
