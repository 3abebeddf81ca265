"""The rules that turn evidence into findings; a loop and Spark apply the same rules.

All evidence with one producer id is joined, so the findings of different producer ids are independent. The facts about
all logs together (`Surroundings`) are small: where each log ends, and whether the logs of every coordinator are here.

A transaction's markers carry the epoch of the coordinator's PREPARE record: the producer's own before transaction
version 2 and the next one since (KIP-890). So decisions and markers of one epoch are matched. If an epoch has several
of them, they are matched from the last one backwards, because retention and compaction remove the front.

Source: TransactionCoordinator, TransactionStateManager, ProducerStateManager, KIP-664, KIP-890.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import assert_never

from kipviz.clients.operators import operator_commands as commands
from kipviz.clients.operators.operator_commands import (
    HANGING,
    LOOKS_EVERY_MS,
    MAY_HANG,
    NO_COORDINATOR,
    NOT_HANGING,
    Owner,
    not_counted,
    ways_out,
)
from kipviz.core.values import Value
from kipviz.recordings.auditing import audit_findings as words
from kipviz.recordings.auditing.audit_evidence import (
    Damaged,
    Decision,
    Evidence,
    Held,
    Irregular,
    Latest,
    PartitionEnd,
    ShareState,
)
from kipviz.recordings.auditing.audit_findings import LIKELY, POSSIBLE, SURE, LogFinding
from kipviz.recordings.auditing.gathered_evidence import EpochEvidence, ProducerEvidence
from kipviz.records.placement import CONSUMER_OFFSETS, INTERNAL_TOPICS, topic_of
from kipviz.records.share_group_state import RecordState
from kipviz.records.transaction_state import TransactionState

# The timeout of a transaction if no coordinator reports it: transaction.max.timeout.ms.
LONGEST_TIMEOUT_MS = 900_000
# A broker forgets a producer, with its sequences, that was silent for so long (producer.id.expiration.ms).
FORGOTTEN_MS = 86_400_000
NO_TIME_LIMIT = 2**31 - 1
_PREPARED = (TransactionState.PREPARE_COMMIT.value, TransactionState.PREPARE_ABORT.value)


class Surroundings(Value, frozen=True):
    """The facts about all logs; `ends` is sorted by partition, `now_ms` is the latest time that a broker wrote."""

    ends: tuple[PartitionEnd, ...]
    coordinators_complete: bool
    now_ms: int

    def end_of(self, partition: str) -> PartitionEnd | None:
        """Return the end of a partition's log, or None if the log is not here."""
        place = bisect_left(self.ends, partition, key=lambda end: end.partition)
        found = self.ends[place : place + 1]
        return found[0] if found and found[0].partition == partition else None


def surroundings(ends: Iterable[PartitionEnd], coordinators: int) -> Surroundings:
    """Collect the facts about all logs; `coordinators` is the number of __transaction_state partitions, 0 if unknown."""
    found = tuple(sorted(ends, key=lambda end: end.partition))
    names = [end.partition for end in found]
    complete = coordinators > 0 and all(
        f"__transaction_state-{k}" in names for k in range(coordinators)
    )
    # Producers may set their own timestamps in data; markers and internal topics have the brokers'.
    told = [e.last_ms for e in found if topic_of(e.partition) in INTERNAL_TOPICS]
    told += [end.marker_ms for end in found]
    now = max(told, default=-1)
    return Surroundings(
        found, complete, now if now >= 0 else max((e.last_ms for e in found), default=-1)
    )


def findings_alone(evidence: Evidence) -> Iterator[LogFinding]:
    """Yield the findings that one piece of evidence shows by itself."""
    match evidence:
        case Damaged():
            yield _report_damage(evidence)
        case ShareState():
            yield from _share(evidence)
        case Held() | Irregular() | Decision() | Latest() | PartitionEnd():
            return
        case _:
            assert_never(evidence)


def findings_together(evidence: ProducerEvidence, around: Surroundings) -> Iterator[LogFinding]:
    """Return what all evidence of one producer id shows, epoch by epoch; the order in which it comes does not matter."""
    name = next((each.transactional_id for each in evidence.latest), "")
    for each in evidence.irregular:
        yield _irregular(each, name)
    decided: dict[str, None] = {}
    offsets = _Offsets()
    for epoch in evidence.epochs:
        tally = _Tally(epoch)
        for mark in (mark for log in epoch.partitions() for mark in epoch.marks(log)):
            yield from _long(mark, tally)
        judged: dict[str, None] = {}
        for decision, marks in tally.pairs():
            decided |= dict.fromkeys(_decides(decision, evidence.open))
            for mark in (mark for mark in marks.values() if mark is not None):
                judged[mark.partition] = None
                if decision.committed != mark.committed:
                    why = f"{decision.transactional_id} decided {_word(decision.committed)}"
                    yield _wrong(mark, why, SURE, decision.transactional_id)
            yield from _unfinished(decision, tally, evidence.open, around)
            yield from offsets.take(decision, tally, marks, around)
            tally.count(decision)
        yield from _without_decisions(epoch, tally, judged)
    yield from offsets.end()
    for held in evidence.open.values():
        yield from _open(held, evidence.latest, around, decided=held.partition in decided)


class _Tally:
    """How many decisions and markers of one epoch each partition has, and which marker belongs to which decision.

    Markers are matched from the last one back, because retention and compaction take away the front.
    """

    def __init__(self, epoch: EpochEvidence) -> None:
        """Count all of them."""
        self.epoch = epoch
        self.own: dict[str, int] = {}
        self.first: dict[str, Decision] = {}
        for decision in epoch.decisions():
            for partition in decision.participants:
                self.own[partition] = self.own.get(partition, 0) + 1
                self.first.setdefault(partition, decision)
        self.marks: dict[str, int] = {}
        self.with_data: dict[str, int] = {}
        for partition in epoch.partitions():
            for mark in epoch.marks(partition):
                self.marks[partition] = self.marks.get(partition, 0) + 1
                self.with_data[partition] = self.with_data.get(partition, 0) + bool(mark.batches)
        # Which decision of a partition comes next, and its markers that are not matched yet.
        self._turn: dict[str, int] = {}
        self._left: dict[str, Iterator[Held]] = {}

    def pairs(self) -> Iterator[tuple[Decision, dict[str, Held | None]]]:
        """Return each decision with the markers of its participants, None where there is none."""
        for decision in self.epoch.decisions():
            yield decision, {each: self._marker(each) for each in decision.participants}

    def count(self, decision: Decision) -> None:
        """Note that a decision is judged."""
        for partition in decision.participants:
            self._turn[partition] = self._turn.get(partition, 0) + 1

    def _marker(self, partition: str) -> Held | None:
        own, marks = self.own[partition], self._count_matched(partition)
        if self._turn.get(partition, 0) < own - marks:
            return None
        if partition not in self._left:
            # An operator's abort of what is not open leaves a marker that ends nothing.
            only_data = self.with_data.get(partition, 0) > 0 and self.marks[partition] > own
            there = (m for m in self.epoch.marks(partition) if m.batches or not only_data)
            self._left[partition] = islice(there, max(0, marks - own), None)
        return next(self._left[partition])

    def _count_matched(self, partition: str) -> int:
        own, marks = self.own[partition], self.marks.get(partition, 0)
        return marks if marks <= own else self.with_data[partition] or own

    def is_whole(self, partition: str) -> bool:
        """Return whether a partition has as many markers as decisions."""
        return self.own.get(partition, 0) == self.marks.get(partition, 0)

    def is_ended(self, partition: str, *, is_open: bool) -> bool:
        """Return whether a participant has the marker of the current decision."""
        own = self.own[partition]
        missing = own - self.marks.get(partition, 0)
        if missing <= 0:
            return True
        # The missing one is the last where the log still has the transaction open, else the front was taken away.
        place = self._turn.get(partition, 0)
        return place < own - missing if is_open else place >= missing


def _decides(decision: Decision, still_open: Mapping[str, Held]) -> Iterator[str]:
    """Return in which partitions a transaction that is open began before a decision about it was made."""
    for partition in decision.participants:
        held = still_open.get(partition)
        if held is None or held.epoch not in {decision.epoch, decision.epoch - 1}:
            continue
        if decision.prepare_ms >= held.first_ms:
            yield partition


def _readers_of(partition: str, groups: tuple[str, ...] = ()) -> str:
    if topic_of(partition) == CONSUMER_OFFSETS:
        which = f" {', '.join(groups)}" if groups else "s with offsets in it"
        return f"group{which}: OffsetFetch with requireStable answers UNSTABLE_OFFSET_COMMIT"
    return f"every reader of {partition} with isolation.level=read_committed"


# -- transactions ------------------------------------------------------------------------------


def _open(
    held: Held, latest: Iterable[Latest], around: Surroundings, *, decided: bool
) -> Iterator[LogFinding]:
    """Judge a transaction that has no marker in a partition; `decided` says that a decision was made after it began.

    Source: TransactionsCommand.findHangingTransactions, KIP-664.
    """
    known = next((each for each in latest if not each.gone), None)
    age = max(0, around.now_ms - held.first_ms)
    base = LogFinding(
        "hanging",
        held.partition,
        held.first_offset,
        f"Producer id {held.producer_id}, epoch {held.epoch}: open since offset {held.first_offset}"
        f" ({words.moment_of(held.first_ms)}, {words.span_of(age)} before the logs end).",
        _readers_of(held.partition, held.groups),
        SURE,
        ways_out(held.partition, held.first_offset, HANGING, None),
        held.producer_id,
        held.epoch,
        "" if known is None else known.transactional_id,
        held.first_ms,
    )
    if known is None:
        if around.coordinators_complete:
            yield base.but(what=f"{base.what} {NO_COORDINATOR}")
            return
        why = "No coordinator in these logs knows the producer id; not all coordinators' logs are here."
        mends = ways_out(held.partition, held.first_offset, MAY_HANG, None)
        yield base.but(what=f"{base.what} {why}", certainty=POSSIBLE, mends=mends)
        return
    takes_part = held.partition in known.participants
    current = known.producer_id == held.producer_id and known.epoch == held.epoch
    if known.state == TransactionState.ONGOING.value and current and takes_part:
        yield _going_on(base, known, around)
        return
    if known.state in _PREPARED and takes_part and known.epoch in {held.epoch, held.epoch + 1}:
        return  # decided: what is left of it is told of the decision
    if decided:
        return  # complete, and the marker is missing: told of the markers
    end = around.end_of(held.partition)
    early = end is not None and end.last_ms < known.at_ms
    why = not_counted(known.transactional_id, known.state, known.epoch)
    yield base.but(what=f"{base.what} {why}", certainty=LIKELY if early else SURE)


def _going_on(base: LogFinding, known: Latest, around: Surroundings) -> LogFinding:
    age = around.now_ms - known.start_ms
    name = known.transactional_id
    place = (base.partition, base.offset, NOT_HANGING)
    owner = Owner(name, TransactionState.ONGOING, known.timeout_ms)
    limit = f"its timeout is {words.span_of(known.timeout_ms)}"
    if known.timeout_ms == NO_TIME_LIMIT:
        limit = "it has no time limit"
    elif age > known.timeout_ms + LOOKS_EVERY_MS:
        return base.but(
            kind="overdue",
            what=f"{base.what} {name} is ONGOING; {limit}.",
            mends=ways_out(*place, owner, overdue=True),
        )
    return base.but(
        kind="open", what=f"{base.what} {name} is ONGOING; {limit}.", mends=ways_out(*place, owner)
    )


def _without_decisions(
    epoch: EpochEvidence, tally: _Tally, judged: Mapping[str, None]
) -> Iterator[LogFinding]:
    """Compare the markers of an epoch that no decision tells of with each other.

    Where a partition has several, whose marker is whose cannot be told without decisions.
    """
    if any(count != 1 for count in tally.marks.values()):
        return
    everywhere = (mark for partition in tally.marks for mark in epoch.marks(partition))
    alone = [mark for mark in everywhere if mark.partition not in judged and mark.batches]
    if len({mark.committed for mark in alone}) == 2:
        fewer = min((True, False), key=lambda way: sum(m.committed == way for m in alone))
        why = f"other partitions of this epoch have {_word(not fewer)}, and no decision is in the logs"
        yield from (_wrong(m, why, LIKELY, "") for m in alone if m.committed == fewer)


def _wrong(mark: Held, why: str, certainty: str, name: str) -> LogFinding:
    return LogFinding(
        "wrong-marker",
        mark.partition,
        mark.marker_offset,
        f"Producer id {mark.producer_id}: {_word(mark.committed)} at offset {mark.marker_offset}, but {why}.",
        f"{_readers_of(mark.partition, mark.groups)}: the transaction's records are "
        f"{'seen' if mark.committed else 'not seen'} there and {'not seen' if mark.committed else 'seen'} elsewhere",
        certainty,
        (
            (
                "no command changes a marker that is written: read the transaction's records from the log and repair "
                "the output by hand"
            ),
            f"{DUMP_HINT} of {mark.partition}",
        ),
        mark.producer_id,
        mark.marker_epoch,
        name,
        mark.first_ms,
        mark.marker_ms,
    )


DUMP_HINT = f"{words.DUMP} SEGMENT --print-data-log, with the segments"


def _word(committed: object) -> str:
    return "COMMIT" if committed else "ABORT"


def _unfinished(
    decision: Decision, tally: _Tally, still_open: Mapping[str, Held], around: Surroundings
) -> Iterator[LogFinding]:
    """Look for participants that have no marker of a decision."""
    lacking = []
    for partition in decision.participants:
        end = around.end_of(partition)
        is_open = partition in still_open
        if end is None or tally.is_ended(partition, is_open=is_open):
            continue
        gone = end.first_offset > 0 and not is_open
        if not gone:
            lacking.append(partition)
    if not lacking and decision.complete_ms >= 0:
        return
    said = f"{decision.transactional_id} decided {_word(decision.committed)} at {words.moment_of(decision.prepare_ms)}"
    base = LogFinding(
        "unfinished",
        decision.log,
        decision.offset,
        f"{said}; no marker yet in {', '.join(lacking) or 'no partition that is here'}, and it is not complete.",
        f"the producer of {decision.transactional_id}"
        + "".join(f"; {_readers_of(each)}" for each in lacking),
        SURE if lacking else LIKELY,
        (
            commands.describe_of(decision.transactional_id),
            (
                "the coordinator sends the markers again until every leader of a participant has answered: see that "
                "those leaders run"
            ),
        ),
        decision.producer_id,
        decision.epoch,
        decision.transactional_id,
        decision.prepare_ms,
    )
    if decision.complete_ms < 0:
        yield base
        return
    for partition in lacking:
        first = still_open.get(partition)
        end = around.end_of(partition)
        early = end is not None and end.last_ms < decision.complete_ms
        yield base.but(
            kind="missing-marker",
            partition=partition,
            offset=first.first_offset if first else max(0, end.end_offset - 1 if end else 0),
            what=f"{said} and called it complete; {partition} has no marker of it.",
            affected=_readers_of(partition),
            certainty=LIKELY if early else SURE,
            mends=(
                (commands.abort_of(partition, first.first_offset),)
                if first and not decision.committed
                else (
                    commands.producers_of(partition),
                    (
                        "an abort would leave the commit half done: compare with the other replicas of the "
                        "partition first, and elect one that has the marker"
                    ),
                )
            ),
        )


def _long(mark: Held, tally: _Tally) -> Iterator[LogFinding]:
    """Yield a finding for a transaction that held a last stable offset for longer than its timeout."""
    if not mark.batches:
        return
    own = tally.first.get(mark.partition)
    limit = LONGEST_TIMEOUT_MS if own is None else own.timeout_ms
    lasted = mark.marker_ms - mark.first_ms
    if limit == NO_TIME_LIMIT or lasted <= limit + LOOKS_EVERY_MS:
        return
    name = "" if own is None else own.transactional_id
    which = (
        f"its timeout is {words.span_of(limit)}"
        if own
        else "its timeout is not in the logs, 15 min is the longest"
    )
    yield LogFinding(
        "long-hold",
        mark.partition,
        mark.first_offset,
        f"Producer id {mark.producer_id}: open from offset {mark.first_offset} to its marker at "
        f"{mark.marker_offset}, for {words.span_of(lasted)}; {which}.",
        _readers_of(mark.partition, mark.groups),
        SURE if own else LIKELY,
        ((commands.describe_of(name),) if name else (commands.producers_of(mark.partition),)),
        mark.producer_id,
        mark.epoch,
        name,
        mark.first_ms,
        mark.marker_ms,
    )


class _Offsets:
    """Compares committed offsets with outputs, as far as the logs are here, of all epochs of a producer id."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._both: dict[str, None] = {}
        # Of each transactional id, how many have output only, and the first of them.
        self._outputs: dict[str, tuple[int, Decision]] = {}

    def take(
        self,
        decision: Decision,
        tally: _Tally,
        marks: Mapping[str, Held | None],
        around: Surroundings,
    ) -> Iterator[LogFinding]:
        """Look at one decision and the markers of its participants."""
        if not decision.committed or decision.complete_ms < 0:
            return
        name = decision.transactional_id
        offsets = [p for p in decision.participants if topic_of(p) == CONSUMER_OFFSETS]
        users = [p for p in decision.participants if topic_of(p) not in INTERNAL_TOPICS]
        if not offsets:
            if users:
                count, first = self._outputs.get(name, (0, decision))
                first = min(first, decision, key=lambda each: (each.log, each.offset))
                self._outputs[name] = (count + 1, first)
        elif any(_has_batch(marks[p], counts_agree=tally.is_whole(p)) for p in users):
            self._both[name] = None
        elif all(_is_whole(around.end_of(p)) for p in users):
            where = (
                f"{', '.join(users)} took part and has no record of it"
                if users
                else "no user partition took part"
            )
            yield LogFinding(
                "offsets-without-output",
                decision.log,
                decision.offset,
                f"{name} committed offsets at {words.moment_of(decision.prepare_ms)}; {where}.",
                "readers of the output, if the input should have made some",
                LIKELY if users else POSSIBLE,
                (commands.describe_of(name),),
                decision.producer_id,
                decision.epoch,
                name,
                decision.prepare_ms,
            )

    def end(self) -> Iterator[LogFinding]:
        """Yield the transactional ids with some transactions that have offsets and some that have none."""
        for name in sorted(self._both.keys() & self._outputs.keys()):
            count, first = self._outputs[name]
            yield LogFinding(
                "output-without-offsets",
                first.log,
                first.offset,
                f"{count} committed transactions of {name} have output and no offsets, the first at "
                f"{words.moment_of(first.prepare_ms)}; others have both.",
                "readers of the output: the input of these transactions may be processed again",
                POSSIBLE,
                (commands.describe_of(name),),
                first.producer_id,
                first.epoch,
                name,
                first.prepare_ms,
            )


def _has_batch(mark: Held | None, *, counts_agree: bool) -> bool:
    """Return whether a partition has a batch of a transaction; True if its marker is not distinguishable from others."""
    return not counts_agree or (mark is not None and mark.batches > 0)


def _is_whole(end: PartitionEnd | None) -> bool:
    """Return whether a partition's log is here from its beginning on."""
    return end is not None and end.first_offset == 0


# -- batches and share groups ------------------------------------------------------------------


def _irregular(each: Irregular, name: str) -> LogFinding:
    silent = each.at_ms - each.since_ms
    forgotten = silent >= FORGOTTEN_MS
    by = f"Producer id {each.producer_id}, epoch {each.epoch}, at offset {each.offset}"
    kind = "epoch-back" if each.what == "epoch" else each.what
    what = {
        "epoch": f"{by}: the batch before it, at {each.before}, has epoch {each.expected}.",
        "duplicate": f"{by}: sequence {each.found} again; behind offset {each.before} it should be {each.expected}.",
        "gap": f"{by}: sequence {each.found}; behind offset {each.before} it should be {each.expected}.",
    }[each.what]
    if forgotten:
        what += f" The producer was silent for {words.span_of(silent)}, so the broker may have forgotten it."
    readers = "records twice" if each.what == "duplicate" else "no record of those that are missing"
    if each.what == "epoch":
        readers = "records of a producer that was fenced"
    return LogFinding(
        kind,
        each.partition,
        each.offset,
        what,
        f"readers of {each.partition} get {readers}",
        POSSIBLE if forgotten else SURE,
        (commands.producers_of(each.partition), f"{DUMP_HINT} of {each.partition}"),
        each.producer_id,
        each.epoch,
        name,
        each.since_ms,
        each.at_ms,
    )


def _report_damage(each: Damaged) -> LogFinding:
    return LogFinding(
        "damaged",
        each.partition,
        max(each.offset, 0),
        f"{each.segment}, byte {each.position:,}, {each.size:,} bytes: {each.why}.",
        f"readers of {each.partition}, and its followers",
        SURE,
        (
            f"{words.DUMP} {each.partition}/{each.segment} --deep-iteration shows the same on the broker",
            "take the replica from another broker: stop this one, remove the partition's folder, start it again",
        ),
    )


def _share(state: ShareState) -> Iterator[LogFinding]:
    """Find stuck and archived records of a share-partition."""
    at = f"{state.group} at {state.topic_id}, partition {state.partition}"
    base = LogFinding(
        "share-archived",
        state.log,
        state.offset,
        "",
        f"the members of {state.group}",
        SURE,
        (f"{words.SHARE_GROUPS} --describe --group {state.group} --offsets",),
        since_ms=state.at_ms,
    )
    pending = [b for b in state.batches if b.state is RecordState.TX_PENDING]
    if pending:
        spans = ", ".join(f"{b.first} to {b.last}" for b in pending)
        staged = ", ".join(dict.fromkeys(str(b.staged_producer_id) for b in pending))
        yield base.but(
            kind="share-pending",
            what=f"{at}: offsets {spans} are TX_PENDING, staged by producer id {staged}.",
            producer_id=pending[0].staged_producer_id,
            mends=(
                f"{commands.transactions_tool()} list --producer-id-filter {staged.replace(', ', ',')}",
                *base.mends,
            ),
        )
    archived = [b for b in state.batches if b.state is RecordState.ARCHIVED]
    if archived:
        count = sum(b.last - b.first + 1 for b in archived)
        yield base.but(
            what=f"{at}: {count} records are archived, the first at offset {archived[0].first}, after "
            f"{max(b.delivery_count for b in archived)} deliveries at most."
        )
    first = next((b for b in state.batches), None)
    behind = [
        b for b in state.batches[1:] if b.state in {RecordState.ACKNOWLEDGED, RecordState.ARCHIVED}
    ]
    if first and first.state is RecordState.AVAILABLE and first.delivery_count > 0 and behind:
        yield base.but(
            kind="share-stuck",
            what=f"{at}: offset {first.first} was delivered {first.delivery_count} times and holds the start "
            f"offset {state.start_offset}; {sum(b.last - b.first + 1 for b in behind)} records behind it are done.",
        )
