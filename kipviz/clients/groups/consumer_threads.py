"""Two threads that share a consumer, which is not thread-safe: which call throws, which waits, and which is safe.

WHO: a client process. WHERE IN KAFKA: ShareConsumerImpl.acquire, ClassicKafkaConsumer.acquire and
AsyncKafkaConsumer.acquire.
KIPS: KIP-932; KIP-1289 (draft) promises that shareGroupMetadata() may be called beside poll() and acknowledge(). A
call throws ConcurrentModificationException while another thread is in one. There is one exception in 4.4.0:
KafkaShareConsumer's poll() is a synchronized method, so a second poll() waits for the first one and then enters.
NOT MODELLED: wakeup(), which is safe, too; a snapshot for each thread: the process has the last one that was taken.
"""

from __future__ import annotations

from typing import Literal

from kipviz.clients.application import Application, Call, Line
from kipviz.clients.calls import client_of
from kipviz.clients.groups.consumer import Consumer
from kipviz.clients.shares.share_memory import ShareConsumer
from kipviz.clients.throwing.client_errors import ConsumerInUse


def why_refused(me: Application, line: Line) -> ConsumerInUse | Literal[""]:
    """Return the exception that a consumer's call throws beside a call of another thread, or ""."""
    if line.call is Call.SHARE_GROUP_METADATA or not _call_of_others(me, line):
        return ""
    kind = (
        "KafkaShareConsumer" if isinstance(client_of(me, line), ShareConsumer) else "KafkaConsumer"
    )
    return ConsumerInUse(kind)


def why_it_waits(me: Application) -> str | None:
    """Return the sentence that a thread's poll() waits for the poll() of another thread, or None."""
    line = me.program[me.line]
    shares = isinstance(me.consumer, ShareConsumer) and line.call is Call.POLL
    if not shares or _call_of_others(me, line) is not Call.POLL:
        return None
    return f"poll() of {me.name} waits until poll() of another thread is over: it is synchronized"


def _call_of_others(me: Application, line: Line) -> Call | None:
    """Return the call that another thread is making on the same consumer, or None."""
    if not me.workers:
        return None
    client = client_of(me, line)
    if not isinstance(client, Consumer | ShareConsumer):
        return None
    for other in me.workers:
        its = me.program[other.line]
        if other.waiting and client_of(me, its) is client:
            return its.call
    return None
