"""Producers and sessions made, changed and called in one line, whichever of their parts a field or a call is in."""

from __future__ import annotations

from typing import Any, TypeVar

from kipviz.clients.sending.producer import Producer
from kipviz.clients.sending.record_accumulator import RecordAccumulator
from kipviz.clients.sending.txn_partition_map import TxnPartitionMap
from kipviz.clients.sessions.transaction_session import TransactionSession
from kipviz.clients.transactions import producer_timers
from kipviz.clients.transactions import transaction_manager as managing
from kipviz.clients.transactions.transaction_manager import TransactionManager

H = TypeVar("H", bound=Producer | TransactionSession)

PARTS: dict[str, type] = {
    "manager": TransactionManager,
    "accumulator": RecordAccumulator,
    "partition_map": TxnPartitionMap,
}


def producer_of(source: str, transactional_id: str = "", **fields: Any) -> Producer:
    """Return a producer with some fields of its parts, or of its own."""
    return changed(Producer(source, TransactionManager(transactional_id)), **fields)


def session_of(source: str, transactional_id: str) -> TransactionSession:
    """Return a session."""
    return TransactionSession(source, TransactionManager(transactional_id))


def changed(me: H, **fields: Any) -> H:
    """Return the same client with some fields changed, each in the part that it is of."""
    own = {name: value for name, value in fields.items() if name in me.__struct_fields__}
    for part, kind in PARTS.items():
        mine = {n: value for n, value in fields.items() if n in kind.__struct_fields__}
        if mine and part in me.__struct_fields__:
            own[part] = getattr(me, part).but(**mine)
    return me.but(**own)


def init_transactions(me: H, *, keep_prepared_txn: bool = False) -> H:
    """Call initTransactions()."""
    asked = managing.init_transactions(me.manager, keep_prepared_txn=keep_prepared_txn)
    return me.but(manager=asked)


def begin_transaction(me: H) -> H:
    """Call beginTransaction()."""
    return me.but(manager=managing.begin_transaction(me.manager))


def send_offsets(me: H, *said: Any) -> H:
    """Call sendOffsetsToTransaction()."""
    return me.but(manager=managing.send_offsets(me.manager, *said))


def send_share_acknowledgements(me: H, *said: Any) -> H:
    """Call sendShareAcknowledgementsToTransaction()."""
    return me.but(manager=managing.send_share_acknowledgements(me.manager, *said))


def topic_ids_given_up(me: H) -> H:
    """Take offsets back that wait for the id of their topic."""
    return me.but(manager=producer_timers.topic_ids_given_up(me.manager))
