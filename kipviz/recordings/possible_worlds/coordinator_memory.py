"""The state that a transaction coordinator has only in its memory, as far as its log leaves it open.

A completion is one of these: a coordinator stamps its record, appends it, and applies it in the append's callback. No
response follows from that, so no line says when, and until then the answers are CONCURRENT_TRANSACTIONS. The record's
time is only the earliest possible one: a thread may be interrupted between the two, and followers have to copy the
record. The completion was certainly applied when a request that arrived later was answered as only a coordinator without
a transition in progress answers. The same holds for a marker: its log has it before the coordinator knows. And any
transition is pending a moment before its record is stamped.
Source: TransactionStateManager.appendTransactionToLog (updateCacheCallback), TransactionMarkerChannelManager
(tryAppendToLog), TransactionMarkerRequestCompletionHandler, TransactionCoordinator (pendingTransitionInProgress).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence

from kipviz.brokers.transactions.transaction_metadata import (
    PREPARED,
    TransactionMetadata,
    metadata_of,
    prepare_completion,
)
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.cluster.real.rebuilt_cluster import RebuiltBatch
from kipviz.cluster.world import RoleKey, World, role_as, role_key
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.messages.transactions.admin import DescribeTransactions
from kipviz.messages.transactions.transactions import named_transactions
from kipviz.recordings.decoded.elections import LeaderDecision
from kipviz.recordings.recorded import Exchange, Plain
from kipviz.recordings.request_context.arrival import span_of
from kipviz.records.transaction_state import TransactionRecord, TransactionState

NO_EPOCH = -1
COMPLETE = (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)
# DescribeTransactions' words for the states in which a completion is not applied.
DECIDED = ("PrepareCommit", "PrepareAbort")
NONE, INVALID_TXN_STATE = int(Errors.NONE), int(Errors.INVALID_TXN_STATE)
TRANSACTION_ABORTABLE = int(Errors.TRANSACTION_ABORTABLE)


def epoch_before(entries: tuple[RebuiltBatch, ...], known: TransactionMetadata) -> int:
    """Return the previous epoch, -1 if the entries have none."""
    now = (known.producer_id, known.producer_epoch)
    return next(
        (
            record.producer_epoch
            for record in _records_of(reversed(entries), known.transactional_id)
            if (record.producer_id, record.producer_epoch) != now
        ),
        -1,
    )


def remembering_epochs(
    world: World, key: RoleKey, name: str | None, entries: tuple[RebuiltBatch, ...]
) -> Iterator[World]:
    """Yield the world in which the coordinator of a transactional id remembers its previous epoch."""
    known = _transaction_in(world, key, name) if name else None
    if known is not None:
        last = known.but(last_producer_epoch=epoch_before(entries, known))
        yield _with_transaction(world, key, last)


def _transaction_in(world: World, key: RoleKey, name: str) -> TransactionMetadata | None:
    """Return a transaction of the coordinator under a key, or None if there is no such coordinator or transaction."""
    role = world.roles.get(key)
    return role.transactions.get(name) if isinstance(role, TransactionCoordinator) else None


def _with_transaction(world: World, key: RoleKey, known: TransactionMetadata) -> World:
    """Return the world in which a coordinator has this transaction."""
    role = role_as(world.roles[key], TransactionCoordinator)
    changed = role.but(transactions=role.transactions.set(known.transactional_id, known))
    return world.but(roles=world.roles.set(key, changed))


def in_transition(
    world: World, broker: int, name: str, coming: Sequence[RebuiltBatch]
) -> Iterator[World]:
    """Yield the world in which a transition of a transactional id is being logged, if that is possible.

    The completion of a decided transaction is prepared before its markers are sent, so it is pending until it is
    logged. Any other transition is pending while its record is being appended: `coming` are the entries that may
    have been prepared before the answer. Meanwhile every request is answered with CONCURRENT_TRANSACTIONS, whatever its epoch,
    and so is a leader or group coordinator that asks on behalf of the producer. A new id is known even before its
    first record, with its producer id and without an epoch.
    Source: TransactionMetadata.prepareComplete, TransactionCoordinator (pendingTransitionInProgress,
    handleInitProducerId).
    """
    key = role_key(broker, world.image.home_of_transactions(name))
    known = _transaction_in(world, key, name)
    following = next(_records_of(iter(coming), name), None)
    coordinated = isinstance(world.roles.get(key), TransactionCoordinator)
    if known is None and following is not None and coordinated:
        known = metadata_of(following).but(producer_epoch=NO_EPOCH, state=TransactionState.EMPTY)
    if known is None or known.pending_state is not None:
        return
    if known.state in PREPARED:
        pending = prepare_completion(known, known.complete_timestamp_ms)
    elif following is not None:
        pending = known.but(pending_state=following.state)
    else:
        return
    yield _with_transaction(world, key, pending)


def _records_of(entries: Iterator[RebuiltBatch], name: str) -> Iterator[TransactionRecord]:
    for entry in entries:
        for record in entry.batch.records:
            if isinstance(record, TransactionRecord) and record.transactional_id == name:
                yield record


def with_unacknowledged_markers(
    world: World,
    key: RoleKey,
    entries: tuple[RebuiltBatch, ...],
    exchange: Exchange,
    message: DescribeTransactions,
) -> Iterator[World]:
    """Yield the world in which a coordinator does not know yet of some markers that logs have, if that is possible.

    It forgets a partition when the marker's write is answered. Of a decided transaction's partitions those are taken
    that the answer names.
    """
    (name,) = message.transactional_ids
    known = _transaction_in(world, key, name)
    decided = next(_records_of(reversed(entries), name), None)
    if known is None or known.state not in PREPARED or decided is None:
        return
    listed = {
        f"{topic['topic']}-{number}"
        for told in exchange.response["transactionStates"]
        if told["transactionalId"] == name
        for topic in told["topics"]
        for number in topic["partitions"]
    }
    left = tuple(p for p in decided.partitions if p in known.partitions or p in listed)
    if left != known.partitions:
        yield _with_transaction(world, key, known.but(partitions=left))


class Transitions:
    """What shows the transitions that are not in the logs yet, or still in progress, by transactional id.

    Those are the states in the logs, the answers that show that a completion was applied, and the requests that may
    begin a transition.
    """

    def __init__(
        self,
        exchanges: Iterable[Exchange],
        entries: Sequence[RebuiltBatch],
        decisions: Iterable[LeaderDecision] = (),
    ) -> None:
        """Collect them."""
        self._entries = entries
        self._states: dict[str, list[tuple[int, TransactionState]]] = {}
        for at, entry in enumerate(entries):
            for record in entry.batch.records:
                if isinstance(record, TransactionRecord):
                    states = self._states.setdefault(record.transactional_id, [])
                    states.append((at, record.state))
        self._decided: dict[str, list[int]] = {}
        for decision in decisions:
            self._decided.setdefault(decision.partition, []).append(decision.at_ms)
        self._shown: dict[str, list[tuple[int, int]]] = {}
        self._begun: dict[str, list[tuple[int, int]]] = {}
        last: dict[tuple[int, str], int] = {}
        for exchange in exchanges:
            if exchange.problem:
                continue
            # A broker reads the next request of a connection after it has written the line of the previous one.
            connection = exchange.broker, exchange.connection
            before = last.get(connection, 0) if exchange.connection else 0
            begin, end = span_of(exchange)
            for name in ids_without_transition(exchange):
                self._shown.setdefault(name, []).append((max(begin, before), end))
            for name in ids_to_change(exchange):
                self._begun.setdefault(name, []).append((max(begin, before), end))
            last[connection] = end

    def worlds_of(
        self,
        world: World,
        message: Message,
        exchange: Exchange,
        entries: int,
        world_after: Callable[[int], World | None],
    ) -> Iterator[World]:
        """Yield the worlds in which the transaction of a request is in transition, if that is possible.

        `world` is the one after so many `entries`; `world_after` returns that after another number of them, or None if
        there is none.
        """
        name = next(iter(named_transactions(message)), "")
        if not name:
            return
        home = world.image.home_of_transactions(name)
        asked = world.image.leader_of(home)
        until = bisect_right(
            self._entries, self.prepared_end_ms(name, exchange), key=lambda each: each.at_ms
        )
        yield from in_transition(world, asked, name, self._entries[entries:until])
        place = self.may_be_pending(name, entries, exchange)
        earlier = world_after(place) if place >= 0 else None
        if earlier is not None:
            undone = with_transaction_of(world, earlier, role_key(asked, home), name)
            if undone is not None:
                yield from in_transition(undone, asked, name, ())

    def prepared_end_ms(self, name: str, exchange: Exchange) -> int:
        """Return until when (ms) a transition that is pending during an exchange may be logged.

        A request that is served at the same time has prepared it before it appends the record, which is logged by the
        time of its answer.
        """
        until = exchange.answered_ms
        overlapping = (end for begin, end in self._begun.get(name, ()) if begin < until <= end)
        return max((until, *overlapping))

    def may_be_pending(self, name: str, entries: int, exchange: Exchange) -> int:
        """Return the place of a completion that is logged after so many entries, and may not be applied yet; else -1."""
        states = self._states.get(name, [])
        at = bisect_left(states, entries, key=lambda each: each[0]) - 1
        if at < 0 or states[at][1] not in COMPLETE:
            return -1
        place = states[at][0]
        entry = self._entries[place]
        asked = span_of(exchange)[0]
        shown = any(entry.at_ms < begin and end < asked for begin, end in self._shown.get(name, ()))
        # A new coordinator reads the completion in the log.
        elected = any(
            entry.at_ms < at_ms < asked for at_ms in self._decided.get(entry.partition, ())
        )
        return -1 if shown or elected else place


def with_transaction_of(world: World, earlier: World, key: RoleKey, name: str) -> World | None:
    """Return a world in which a coordinator has a transaction as it was earlier; None if it had none."""
    known = _transaction_in(earlier, key, name)
    if known is None or not isinstance(world.roles.get(key), TransactionCoordinator):
        return None
    return _with_transaction(world, key, known)


def ids_to_change(exchange: Exchange) -> Iterator[str]:
    """Yield the transactional ids of which a request may begin a transition."""
    said = exchange.request
    match exchange.api:
        case "INIT_PRODUCER_ID" | "ADD_OFFSETS_TO_TXN" | "END_TXN":
            if said["transactionalId"]:
                yield said["transactionalId"]
        case "ADD_PARTITIONS_TO_TXN" if exchange.version <= 3:
            yield said["v3AndBelowTransactionalId"]
        case "ADD_PARTITIONS_TO_TXN":
            yield from (x["transactionalId"] for x in said["transactions"] if not x["verifyOnly"])
        case _:
            pass


def ids_without_transition(exchange: Exchange) -> Iterator[str]:
    """Yield the transactional ids whose decided transaction was completed, as an answer shows.

    A verification looks only at the state, and that is PREPARE_COMMIT or PREPARE_ABORT until the completion is applied.
    """
    said, answer = exchange.request, exchange.response
    match exchange.api:
        case "INIT_PRODUCER_ID" | "ADD_OFFSETS_TO_TXN" | "END_TXN":
            proof = (NONE, INVALID_TXN_STATE) if exchange.api == "END_TXN" else (NONE,)
            if answer["errorCode"] in proof and said["transactionalId"]:
                yield said["transactionalId"]
        case "ADD_PARTITIONS_TO_TXN" if exchange.version <= 3:
            if NONE in _errors_of(answer["resultsByTopicV3AndBelow"]):
                yield said["v3AndBelowTransactionalId"]
        case "ADD_PARTITIONS_TO_TXN":
            checked = {one["transactionalId"] for one in said["transactions"] if one["verifyOnly"]}
            for told in answer["resultsByTransaction"]:
                name = told["transactionalId"]
                proof = (NONE, TRANSACTION_ABORTABLE) if name in checked else (NONE,)
                if any(error in proof for error in _errors_of(told["topicResults"])):
                    yield name
        case "DESCRIBE_TRANSACTIONS":
            for told in answer["transactionStates"]:
                if told["errorCode"] == NONE and told["transactionState"] not in DECIDED:
                    yield told["transactionalId"]
        case _:
            pass


def _errors_of(topics: Plain) -> Iterator[int]:
    return (part["partitionErrorCode"] for topic in topics for part in topic["resultsByPartition"])
