"""Open transactions in the logs of a broker: a row for each, with what ends it, and the offsets that are pending.

Logs do not show whether a producer still runs, and what another broker coordinates stands in that broker's logs. A row
says what these logs show.
"""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.brokers.group_state import GroupCoordinator
from kipviz.brokers.transaction_metadata import TransactionMetadata
from kipviz.cluster.rebuilt import RebuiltModel
from kipviz.cluster.world import World
from kipviz.core.values import Value
from kipviz.messages.two_phase import NO_TIME_LIMIT
from kipviz.records.placement import INTERNAL_TOPICS, TRANSACTION_STATE, topic_of
from kipviz.records.transaction_state import TransactionState
from kipviz.views.holding import of_open_transaction
from kipviz.views.waiting import NEVER, Reason

TOOL = "kafka-transactions.sh --bootstrap-server HOST:PORT"
# Whether a transaction hangs: a coordinator here shows it, or only the coordinators that are not here could deny it.
HANGING, MAY_HANG, NOT_HANGING = "hanging", "perhaps hanging", ""
ELSEWHERE = (
    "No coordinator in these logs knows its producer id. It hangs if none in the cluster does: not all "
    f"partitions of {TRANSACTION_STATE} are here."
)


class Blocked(Value, frozen=True):
    """An open transaction in the log of a user's partition.

    `first_offset` is its first record and `since` when that was written. `blocks` says that it is the oldest of its
    log, at which the last stable offset stays. `hanging` is "hanging", "perhaps hanging" or "". `transactional_id` is
    "" where no coordinator that is here knows the producer id; `state` is the coordinator's then. `frees` are the ways
    to end it, each with its complete arguments.
    """

    partition: str
    last_stable_offset: int
    high_watermark: int
    first_offset: int
    blocks: bool
    hanging: str
    producer_id: int
    producer_epoch: int
    since: str
    transactional_id: str
    state: str
    why: str
    frees: tuple[str, ...]


class PendingOffsets(Value, frozen=True):
    """Offsets that a transaction has written for a group and not decided, in one partition of __consumer_offsets.

    OffsetFetch with requireStable answers UNSTABLE_OFFSET_COMMIT for them until the transaction's marker is there.
    `offsets` are (partition, offset).
    """

    group_id: str
    log: str
    producer_id: int
    transactional_id: str
    hanging: str
    since: str
    offsets: tuple[tuple[str, int], ...]
    frees: tuple[str, ...]


def blocked(
    model: RebuiltModel, world: World, *, coordinators_complete: bool = False
) -> tuple[Blocked, ...]:
    """Return every open transaction of the users' logs, oldest first in each.

    `coordinators_complete` says that all partitions of __transaction_state were read, so that a producer id which none
    of them knows is known nowhere.
    """
    found = []
    for name, log in world.logs.items():
        if topic_of(name) in INTERNAL_TOPICS:
            continue
        for place, (first, producer_id) in enumerate(log.open):
            epoch = log.producers[producer_id].epoch
            known = _known(world, producer_id)
            reason = of_open_transaction(world, name, producer_id, epoch)
            hanging = _hanging(reason, known, complete=coordinators_complete)
            unknown = hanging == MAY_HANG and reason.how == NEVER
            found.append(
                Blocked(
                    name,
                    log.last_stable_offset,
                    log.high_watermark,
                    first,
                    place == 0,
                    hanging,
                    producer_id,
                    epoch,
                    _written(model, name, first),
                    "" if known is None else known.transactional_id,
                    "" if known is None else known.state.value,
                    ELSEWHERE if unknown else reason.text,
                    _ways(name, first, hanging, known, reason.free),
                )
            )
    return tuple(found)


def pending_offsets(
    model: RebuiltModel, world: World, *, coordinators_complete: bool = False
) -> tuple[PendingOffsets, ...]:
    """Return the offsets of groups that are pending in transactions, by log and producer id."""
    found = []
    for (_, _, log), role in world.roles.items():
        if not isinstance(role, GroupCoordinator):
            continue
        for producer_id, staged in role.pending.items():
            known = _known(world, producer_id)
            for group in dict.fromkeys(each.group_id for each in staged):
                own = [each for each in staged if each.group_id == group]
                first = min(each.at for each in own)
                epoch = world.logs[log].producers[producer_id].epoch
                reason = of_open_transaction(world, log, producer_id, epoch)
                hanging = _hanging(reason, known, complete=coordinators_complete)
                found.append(
                    PendingOffsets(
                        group,
                        log,
                        producer_id,
                        "" if known is None else known.transactional_id,
                        hanging,
                        _written(model, log, first),
                        tuple((each.partition, each.offset) for each in own),
                        _ways(
                            log,
                            _begins(world, log, producer_id, first),
                            hanging,
                            known,
                            reason.free,
                        ),
                    )
                )
    return tuple(found)


def _known(world: World, producer_id: int) -> TransactionMetadata | None:
    """Return what a coordinator that is here has of a producer id, or None."""
    return next(
        (
            t
            for role in world.roles.values()
            for t in getattr(role, "transactions", {}).values()
            if t.producer_id == producer_id
        ),
        None,
    )


def _hanging(reason: Reason, known: TransactionMetadata | None, *, complete: bool) -> str:
    """Return whether a transaction hangs, as far as the coordinators that are here show."""
    if known is None:
        return HANGING if complete and reason.how == NEVER else MAY_HANG
    return HANGING if reason.how == NEVER else NOT_HANGING


def _begins(world: World, log: str, producer_id: int, first: int) -> int:
    """Return where the transaction of a producer begins in a log."""
    return next((at for at, of in world.logs[log].open if of == producer_id), first)


def _ways(
    partition: str, first: int, hanging: str, known: TransactionMetadata | None, otherwise: str
) -> tuple[str, ...]:
    return tuple(_each_way(partition, first, hanging, known, otherwise))


def _each_way(
    partition: str, first: int, hanging: str, known: TransactionMetadata | None, otherwise: str
) -> Iterator[str]:
    """Give the ways to end a transaction.

    Source: TransactionsCommand (abort, forceTerminateTransaction), KIP-664, KIP-939, KIP-98 "initTransactions".
    """
    if hanging:
        topic, _, index = partition.rpartition("-")
        if hanging == MAY_HANG:
            yield f"{TOOL} find-hanging --topic {topic} --partition {index}, which asks all coordinators"
        condition = ", if it hangs" if hanging == MAY_HANG else ""
        yield f"{TOOL} abort --topic {topic} --partition {index} --start-offset {first}{condition}"
        return
    if known is None or known.state is not TransactionState.ONGOING:
        yield from (otherwise,) if otherwise else ()
        return
    name = known.transactional_id
    yield "its producer commits or aborts it, if it still runs"
    yield f"a producer starts with transactional.id={name}: its initTransactions() aborts it"
    if known.timeout_ms != NO_TIME_LIMIT:
        yield f"its coordinator aborts it when transaction.timeout.ms ({known.timeout_ms // 1000} s) is over"
    yield f"{TOOL} forceTerminateTransaction --transactionalId {name}"


def _written(model: RebuiltModel, partition: str, offset: int) -> str:
    return next(
        entry.at
        for entry in model.entries
        if entry.partition == partition
        and entry.batch.base_offset <= offset <= entry.batch.last_offset
    )
