"""One query of a running cluster: its open transactions, their effects, and the share groups' backlogs.

A cluster changes during the query, so a transaction counts only if its log has it open before and after all
coordinators were asked. A producer id that no coordinator lists proves a hanging transaction only if every leader of
__transaction_state has answered, none of them changed meanwhile, and nothing is hidden from the user.

Source: TransactionsCommand.FindHangingTransactionsCommand (KIP-664), OffsetMetadataManager, KIP-1226.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kipviz.clients.operators.operator_commands import (
    HANGING,
    LOOKS_EVERY_MS,
    MAY_HANG,
    NO_COORDINATOR,
    NOT_HANGING,
    SERVERS,
    Owner,
    describe_of,
    not_counted,
    ways_out,
)
from kipviz.core.values import Value
from kipviz.messages.transactions.admin import STATE_NAMES
from kipviz.messages.transactions.transactions import NO_TIME_LIMIT
from kipviz.recordings.auditing.audit_findings import moment_of, span_of
from kipviz.records.placement import (
    CONSUMER_OFFSETS,
    INTERNAL_TOPICS,
    TRANSACTION_STATE,
    partition_for,
    topic_of,
)
from kipviz.records.transaction_state import TransactionState
from kipviz.views.reasons.open_transactions import Blocked, PendingOffsets
from kipviz.watching.admin_queries import (
    READ_COMMITTED,
    READ_UNCOMMITTED,
    Ask,
    ClusterNow,
    GroupNow,
    NotSeen,
    Owned,
    ProducerNow,
    ShareGroupNow,
    cluster_now,
    describe_ids,
    ends_of,
    groups_at,
    has_no_authorizer,
    list_ids,
    producers_of,
    share_groups,
    unstable_of,
)

_DECIDED = (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)
_OPEN = (TransactionState.ONGOING, *_DECIDED)
UNHEARD = "No coordinator that answered knows its producer id, and not all of them have answered, or one changed meanwhile."
HIDDEN = "No coordinator lists its producer id. Coordinators do not list transactional ids that this user may not describe."
AUTHORIZER = (
    "Nothing shows that the cluster has no authorizer: topics, groups and transactional ids that this user may not describe "
    "are not listed."
)


class Look(Value, frozen=True):
    """The result of one query, at a time of this machine in ms since 1970.

    `owned` are the transactions that their coordinators have open, `rows` the open transactions of partitions,
    `pending` the offsets of groups that wait for one. `not_seen` are sentences about what could not be queried.
    """

    at_ms: int
    cluster_id: str
    brokers: int
    partitions: int
    owned: tuple[Owned, ...]
    rows: tuple[Blocked, ...]
    pending: tuple[PendingOffsets, ...]
    shares: tuple[ShareGroupNow, ...]
    not_seen: tuple[str, ...]

    def is_overdue(self, owned: Owned) -> bool:
        """Return whether a transaction has been ONGOING for longer than its timeout, by this machine's clock.

        A coordinator checks every 10 s (transaction.abort.timed.out.transaction.cleanup.interval.ms).
        """
        return (
            owned.state == TransactionState.ONGOING.value
            and owned.began_ms >= 0
            and owned.timeout_ms != NO_TIME_LIMIT
            and self.at_ms - owned.began_ms > owned.timeout_ms + LOOKS_EVERY_MS
        )

    @property
    def is_wrong(self) -> bool:
        """Whether a transaction hangs, may hang, or is overdue."""
        hang = any(row.hanging for row in self.rows) or any(row.hanging for row in self.pending)
        return hang or any(map(self.is_overdue, self.owned))


def look(ask: Ask, clock: Callable[[], int], servers: str = SERVERS) -> Look:
    """Query a cluster once for everything.

    Args:
        ask: sends a request to a broker.
        clock: the time of this machine in ms since 1970.
        servers: the cluster's address for the command lines.

    Raises:
        NoAnswer: if no broker returns the cluster's metadata.
    """
    return _Looking(ask, servers).query_all(clock)


class _Looking:
    """A query in progress."""

    def __init__(self, ask: Ask, servers: str) -> None:
        self.ask, self.servers = ask, servers
        self.not_seen = NotSeen()
        self.before = cluster_now(ask)
        self.nothing_hidden = has_no_authorizer(ask)

    def query_all(self, clock: Callable[[], int]) -> Look:
        """Query in the order with the most reliable result: logs, coordinators, groups, logs again."""
        first = self._logs()
        opened = {p: _open_of(producers) for p, producers in first.items() if _open_of(producers)}
        self.answered = True
        owned = self._coordinators(opened)
        groups = tuple(
            g for b, _ in self.before.brokers for g in groups_at(self.ask, b, self.not_seen)
        )
        unstable = self._unstable(groups, first, opened)
        again = producers_of(self.ask, self.before, opened, self.not_seen)
        confirmed = [
            now
            for partition, before in opened.items()
            for now in _open_of(again.get(partition, ()))
            if any(
                (was.producer_id, was.start_offset) == (now.producer_id, now.start_offset)
                for was in before
            )
        ]
        after = cluster_now(self.ask)
        self.complete = self.answered and self._same_coordinators(after)
        self.at_ms = clock()
        self.owned = {each.producer_id: each for each in owned}
        moved = {p: _find_moved(first[p], again.get(p, ())) for p in opened}
        pending = tuple(self._pending(unstable, confirmed, moved))
        told = {(row.log, row.producer_id) for row in pending}
        rows = self._rows(
            [each for each in confirmed if (each.partition, each.producer_id) not in told]
        )
        shares = tuple(self._shares(groups))
        notes = () if self.nothing_hidden else (AUTHORIZER,)
        return Look(
            self.at_ms,
            self.before.cluster_id,
            len(self.before.brokers),
            len(self.before.partitions),
            tuple(each for each in owned if each.state in {s.value for s in _OPEN}),
            rows,
            pending,
            shares,
            (*notes, *self.not_seen.sentences()),
        )

    # -- asking ----------------------------------------------------------------------------------

    def _logs(self) -> dict[str, tuple[ProducerNow, ...]]:
        for topic, why in self.before.errors.items():
            if not (topic in INTERNAL_TOPICS and why == "UNKNOWN_TOPIC_OR_PARTITION"):
                self.not_seen.add("topic", topic, why)
        wanted = (
            p
            for p in self.before.partitions
            if topic_of(p) not in INTERNAL_TOPICS or topic_of(p) == CONSUMER_OFFSETS
        )
        return producers_of(self.ask, self.before, wanted, self.not_seen)

    def _coordinators(self, opened: dict[str, tuple[ProducerNow, ...]]) -> list[Owned]:
        """Return the open transactions, and those of producers with an open transaction in a log."""
        ids = tuple(sorted({each.producer_id for some in opened.values() for each in some}))
        found: list[Owned] = []
        for broker, _ in self.before.brokers:
            states = tuple(STATE_NAMES[state] for state in _OPEN)
            names = list_ids(self.ask, broker, self.not_seen, StateFilters=states)
            more = list_ids(self.ask, broker, self.not_seen, ProducerIdFilters=ids) if ids else ()
            if names is None or more is None:
                self.answered = False
            wanted = tuple(sorted({*(names or ()), *(more or ())}))
            described_now = list(describe_ids(self.ask, broker, wanted, self.not_seen))
            if len(described_now) < len(wanted):
                self.answered = False
            found += described_now
        return sorted(found, key=lambda each: each.transactional_id)

    def _same_coordinators(self, after: ClusterNow) -> bool:
        """Return whether every partition of __transaction_state had one leader during the query."""
        why = self.before.errors.get(TRANSACTION_STATE, "")
        if why and why != "UNKNOWN_TOPIC_OR_PARTITION":
            return False
        then, now = (
            {p: each.partitions[p] for p in each.of_topic(TRANSACTION_STATE)}
            for each in (self.before, after)
        )
        known = {broker for broker, _ in self.before.brokers}
        return then == now and all(led.leader in known for led in then.values())

    def _unstable(
        self,
        groups: tuple[GroupNow, ...],
        logs: dict[str, tuple[ProducerNow, ...]],
        opened: dict[str, tuple[ProducerNow, ...]],
    ) -> list[tuple[GroupNow, str, tuple[str, ...]]]:
        """Return (group, its log, unstable partitions); only a log with an open transaction has any."""
        size = len(self.before.of_topic(CONSUMER_OFFSETS))
        users = tuple(p for p in self.before.partitions if topic_of(p) not in INTERNAL_TOPICS)
        found = []
        for group in groups:
            if group.group_type == "share" or not size:
                continue
            home = f"{CONSUMER_OFFSETS}-{partition_for(group.group_id, size)}"
            if home in logs and home not in opened:
                continue
            partitions = users if home in logs else None
            unstable = unstable_of(self.ask, group, partitions, self.not_seen)
            if unstable:
                found.append((group, home, unstable))
        return found

    def _shares(self, groups: tuple[GroupNow, ...]) -> Iterator[ShareGroupNow]:
        for broker, _ in self.before.brokers:
            mine = tuple(g for g in groups if g.coordinator == broker and g.group_type == "share")
            if mine:
                yield from share_groups(self.ask, broker, mine, self.not_seen)

    # -- judging ---------------------------------------------------------------------------------

    def _rows(self, confirmed: list[ProducerNow]) -> tuple[Blocked, ...]:
        partitions = tuple(dict.fromkeys(each.partition for each in confirmed))
        stable = ends_of(self.ask, self.before, partitions, READ_COMMITTED, self.not_seen)
        ends = ends_of(self.ask, self.before, partitions, READ_UNCOMMITTED, self.not_seen)
        return tuple(
            self._row(each, stable.get(each.partition, -1), ends.get(each.partition, -1))
            for each in confirmed
        )

    def _row(self, each: ProducerNow, stable: int, end: int) -> Blocked:
        hanging, why = self._judge_transaction(each)
        owned = self.owned.get(each.producer_id)
        return Blocked(
            each.partition,
            stable,
            end,
            each.start_offset,
            stable == each.start_offset,
            hanging,
            each.producer_id,
            each.epoch,
            "" if hanging or owned is None else _time(owned.began_ms),
            "" if owned is None else owned.transactional_id,
            "" if owned is None else owned.state,
            why,
            self._ways(each, hanging),
            _time(each.last_ms),
        )

    def _judge_transaction(self, each: ProducerNow) -> tuple[str, str]:
        """Return whether an open transaction hangs, and why, or what it waits for."""
        owned = self.owned.get(each.producer_id)
        if owned is None:
            if not self.complete:
                return MAY_HANG, UNHEARD
            return (HANGING, NO_COORDINATOR) if self.nothing_hidden else (MAY_HANG, HIDDEN)
        if each.partition not in owned.partitions or owned.state not in {s.value for s in _OPEN}:
            why = not_counted(owned.transactional_id, owned.state, owned.producer_epoch)
            return HANGING, why
        who = f"Its coordinator, broker {owned.coordinator},"
        if owned.state != TransactionState.ONGOING.value:
            why = f"{who} has decided {owned.transactional_id}: {owned.state}. Its marker is not in this log yet."
            return NOT_HANGING, why
        return NOT_HANGING, f"{who} has {owned.transactional_id} ONGOING{self._age(owned)}."

    def _age(self, owned: Owned) -> str:
        if owned.began_ms < 0:
            return ""
        return f" for {span_of(max(0, self.at_ms - owned.began_ms))}"

    def _ways(self, each: ProducerNow, hanging: str) -> tuple[str, ...]:
        owned = self.owned.get(each.producer_id)
        owner, overdue, otherwise = None, False, ""
        if owned is not None and not hanging:
            state = TransactionState(owned.state)
            owner = Owner(owned.transactional_id, state, owned.timeout_ms)
            overdue = Look(self.at_ms, "", 0, 0, (), (), (), (), ()).is_overdue(owned)
            otherwise = (
                "its coordinator sends the marker again until the leader has it: see "
                f"{describe_of(owned.transactional_id, self.servers)}"
            )
        return ways_out(
            each.partition,
            each.start_offset,
            hanging,
            owner,
            otherwise,
            self.servers,
            overdue=overdue,
        )

    def _pending(
        self,
        unstable: list[tuple[GroupNow, str, tuple[str, ...]]],
        confirmed: list[ProducerNow],
        moved: dict[str, set[int]],
    ) -> Iterator[PendingOffsets]:
        """Yield a row for each open transaction in the log of a group with unstable offsets."""
        for group, home, partitions in unstable:
            holders = [each for each in confirmed if each.partition == home]
            possible = {each.producer_id for each in holders} | moved.get(home, set())
            for each in holders:
                hanging, _ = self._judge_transaction(each)
                owned = self.owned.get(each.producer_id)
                yield PendingOffsets(
                    group.group_id,
                    home,
                    each.producer_id,
                    "" if owned is None else owned.transactional_id,
                    hanging,
                    "",  # the Admin API does not show when the offsets were written
                    tuple((partition, -1) for partition in partitions),
                    self._ways(each, hanging),
                    _time(each.last_ms),
                    len(possible),
                )


def _open_of(producers: tuple[ProducerNow, ...]) -> tuple[ProducerNow, ...]:
    """Return the producers with an open transaction, in the order of the log."""
    found = (each for each in producers if each.start_offset >= 0)
    return tuple(sorted(found, key=lambda each: (each.start_offset, each.producer_id)))


def _find_moved(then: tuple[ProducerNow, ...], now: tuple[ProducerNow, ...]) -> set[int]:
    """Return the producer ids that wrote to a log, or got a marker there, between two queries."""
    before, after = ({each.producer_id: each for each in some} for some in (then, now))
    return {k for k in (*before, *after) if before.get(k) != after.get(k)}


def _time(ms: int) -> str:
    """Return a time in the form of rows of open transactions, "" if it is unknown."""
    return moment_of(ms).removesuffix(" UTC") if ms >= 0 else ""
