"""The complete command lines with which an operator ends a transaction or asks about it.

Every view of an open transaction uses these texts: the logs in the stepper (`kipviz log --open`), the audit (`kipviz
audit --logs`) and the running cluster (`kipviz watch`).

Source: TransactionsCommand (KIP-664, KIP-939).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from kipviz.core.values import Value
from kipviz.messages.transactions.transactions import NO_TIME_LIMIT
from kipviz.records.placement import index_of, topic_of
from kipviz.records.transaction_state import TransactionState
from kipviz.settings.client_configs import TRANSACTION_TIMEOUT_MS, TRANSACTIONAL_ID

# The placeholder for the cluster's address where only its logs are known.
SERVERS = "HOST:PORT"
# Whether a transaction hangs. It may hang if only coordinators that could not be asked might know it.
HANGING, MAY_HANG, NOT_HANGING = "hanging", "perhaps hanging", ""
# A coordinator looks for overdue transactions every 10 s (transaction.abort.timed.out.transaction.cleanup.interval.ms).
LOOKS_EVERY_MS = 10_000
NO_COORDINATOR = "No coordinator knows the producer id."


class Owner(Value, frozen=True):
    """A coordinator's description of a producer id's transaction; `timeout_ms` is transaction.timeout.ms."""

    transactional_id: str
    state: TransactionState
    timeout_ms: int


def transactions_tool(servers: str = SERVERS) -> str:
    """Return the beginning of every command line about transactions."""
    return f"kafka-transactions.sh --bootstrap-server {shlex.quote(servers)}"


def abort_of(partition: str, offset: int, servers: str = SERVERS) -> str:
    """Return the command line that aborts a hanging transaction in one partition (KIP-664)."""
    return f"{transactions_tool(servers)} abort {_place(partition)} --start-offset {offset}"


def find_hanging_of(partition: str, servers: str = SERVERS) -> str:
    """Return the command line that asks all coordinators about the transactions of one partition."""
    return f"{transactions_tool(servers)} find-hanging {_place(partition)}"


def producers_of(partition: str, servers: str = SERVERS) -> str:
    """Return the command line that lists the producers in a partition leader's log."""
    return f"{transactions_tool(servers)} describe-producers {_place(partition)}"


def describe_of(transactional_id: str, servers: str = SERVERS) -> str:
    """Return the command line that shows the coordinator's state of a transactional id."""
    name = shlex.quote(transactional_id)
    return f"{transactions_tool(servers)} describe --transactional-id {name}"


def terminate_of(transactional_id: str, servers: str = SERVERS) -> str:
    """Return the command line that ends a transaction whatever its timeout (KIP-939)."""
    name = shlex.quote(transactional_id)
    return f"{transactions_tool(servers)} forceTerminateTransaction --transactionalId {name}"


def _place(partition: str) -> str:
    return f"--topic {topic_of(partition)} --partition {index_of(partition)}"


def not_counted(transactional_id: str, state: str, epoch: int) -> str:
    """Return why a transaction hangs although a coordinator knows its producer id."""
    return f"{transactional_id} is {state} with epoch {epoch} and does not count this partition."


def ways_out(
    partition: str,
    first: int,
    hanging: str,
    owner: Owner | None,
    otherwise: str = "",
    servers: str = SERVERS,
    *,
    overdue: bool = False,
) -> tuple[str, ...]:
    """Return the ways to end an open transaction.

    Args:
        partition: a partition in which it is open.
        first: the offset at which it begins there.
        hanging: HANGING, MAY_HANG or NOT_HANGING.
        owner: the coordinator's description, None if no coordinator knows it.
        otherwise: what ends it without an operator or a client, "" if nothing does.
        servers: the cluster's address for the command lines.
        overdue: whether its coordinator should have aborted it by now.

    Source: TransactionsCommand (abort, forceTerminateTransaction), KIP-664, KIP-939, KIP-98 "initTransactions".
    """
    if hanging == MAY_HANG:
        ask = f"{find_hanging_of(partition, servers)}, which asks all coordinators"
        return (ask, f"{abort_of(partition, first, servers)}, if it hangs")
    if hanging:
        return (abort_of(partition, first, servers),)
    if owner is None or owner.state is not TransactionState.ONGOING:
        return (otherwise,) if otherwise else ()
    return tuple(_of_owner(owner, servers, overdue=overdue))


def _of_owner(owner: Owner, servers: str, *, overdue: bool) -> Iterator[str]:
    """Yield the ways to end a transaction that its coordinator has as ONGOING, the gentlest first."""
    if overdue:
        yield describe_of(owner.transactional_id, servers)
    yield "its producer commits or aborts it, if it still runs"
    yield f"a producer starts with {TRANSACTIONAL_ID.name}={owner.transactional_id}: its initTransactions() aborts it"
    if owner.timeout_ms != NO_TIME_LIMIT and not overdue:
        yield f"its coordinator aborts it when {TRANSACTION_TIMEOUT_MS.name} ({owner.timeout_ms // 1000} s) is over"
    yield terminate_of(owner.transactional_id, servers)
