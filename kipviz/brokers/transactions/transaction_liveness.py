"""Liveness of a transaction's owner: its heartbeats, and when the coordinator aborts without them.

WHERE IN KAFKA: nowhere yet. KIPS: KIP-1309 (draft; KAFKA-20381, KAFKA-19873). STATUS: draft.

The page says that a coordinator aborts a transaction after three intervals without a heartbeat. KIP-1310 gives the same
issue a session timeout instead: the duration is a slot (`silence`). It does not say what becomes of a prepared
transaction (KIP-939), whose owner may be dead for long: that is a slot, too. Nor does it say who sends heartbeats if
the writer is not the committer: any process with the three fields of the request may. Whether other requests count as
heartbeats, and what survives a failover, is not said either; here only TxnHeartbeat counts, and the interval is in the
log: our inference.

With an untimed clock the three intervals may be over at any moment.
"""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.brokers.checks import Check, error_of, has_loaded, in_order
from kipviz.brokers.context import Context, Effects, Reply, ReplyTo
from kipviz.brokers.handling import takes
from kipviz.brokers.timers import RoleTimer, TransactionLiveness
from kipviz.brokers.transactions import transaction_coordinator
from kipviz.brokers.transactions.transaction_checks import owner_checks
from kipviz.brokers.transactions.transaction_metadata import TransactionMetadata
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.messages.transactions.liveness import TxnHeartbeat, TxnHeartbeatResponse
from kipviz.messages.transactions.transactions import NO_TIME_LIMIT
from kipviz.records.transaction_state import TransactionState


@takes(TxnHeartbeat)
def on_txn_heartbeat(
    me: TransactionCoordinator, request: TxnHeartbeat, reply_to: ReplyTo, on: Context
) -> Effects[TransactionCoordinator]:
    """Restart the liveness period of a producer.

    WHEN: every transaction.heartbeat.interval.ms of a producer with an open transaction. CHECKS: loading, the
    transactional id, the identity. DOES: the three intervals start over; nothing is logged.
    ANSWERS: NONE, or that the transactional id belongs to another producer.
    Clause: KIP-1309 TxnHeartbeat (draft; checks and errors are our inference, after EndTxn's).
    """
    checks = _checks(me, request)
    told = TxnHeartbeatResponse(error_of(checks))
    return Effects(me, replies=(Reply(reply_to, told),), checks=checks)


def timers(me: TransactionCoordinator, on: Context) -> tuple[RoleTimer, ...]:
    """Return the liveness timer of every open transaction whose producer sends heartbeats.

    The coordinator's other timers follow.
    """
    if me.loading:
        return ()
    watched = tuple(
        TransactionLiveness(name) for name, t in me.transactions.items() if _is_watched(t, on)
    )
    return (*watched, *transaction_coordinator.timers(me, on))


def on_timer(
    me: TransactionCoordinator, timer: RoleTimer, on: Context
) -> Effects[TransactionCoordinator]:
    """Abort a transaction whose producer sent no heartbeat, and fence it, as a timeout does.

    The slot `silence` has the duration, on a timed clock.
    """
    if not isinstance(timer, TransactionLiveness):
        return transaction_coordinator.on_timer(me, timer, on)
    return transaction_coordinator.on_timeout(me, timer.transactional_id, on)


def _is_watched(known: TransactionMetadata, on: Context) -> bool:
    waiting = known.state is TransactionState.ONGOING and known.pending_state is None
    two_phase = known.timeout_ms == NO_TIME_LIMIT
    return waiting and known.heartbeat_interval_ms > 0 and on.rules.liveness(two_phase)


@in_order
def _checks(me: TransactionCoordinator, request: TxnHeartbeat) -> Iterator[Check]:
    yield has_loaded(me.loading)
    known = me.transactions.get(request.transactional_id)
    identity = (request.producer_id, request.producer_epoch)
    yield from owner_checks(known, request.transactional_id, *identity)
