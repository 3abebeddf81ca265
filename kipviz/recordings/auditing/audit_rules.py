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
from collections.abc import Iterable, Iterator

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


def keys_of(evidence: Evidence) -> tuple[int, ...]:
    """Return the producer ids under which this evidence is joined, none if it stands alone."""
    match evidence:
        case Held() | Irregular() | Decision():
            return (evidence.producer_id,)
        case Latest():
            ids = (evidence.producer_id, evidence.previous_producer_id)
            return tuple(dict.fromkeys(each for each in ids if each >= 0))
        case _:
            return ()


def findings_alone(evidence: Evidence) -> Iterator[LogFinding]:
    """Yield the findings that one piece of evidence shows by itself."""
    match evidence:
        case Damaged():
            yield _damaged(evidence)
        case ShareState():
            yield from _share(evidence)
        case _:
            return


class Joined:
    """All evidence of one producer id, found by partition and epoch: a producer may have had many transactions."""

    def __init__(self, evidence: Iterable[Evidence]) -> None:
        """Sort the evidence."""
        found = sorted(evidence, key=_place)
        self.held = [each for each in found if isinstance(each, Held)]
        self.decisions = [each for each in found if isinstance(each, Decision)]
        self.latest = [each for each in found if isinstance(each, Latest)]
        self.irregular = [each for each in found if isinstance(each, Irregular)]
        self.open = {each.partition: each for each in self.held if each.marker_offset < 0}
        self._marks: dict[tuple[str, int], list[Held]] = {}
        for mark in self.held:
            if mark.marker_offset >= 0:
                self._marks.setdefault((mark.partition, mark.marker_epoch), []).append(mark)
        self._own: dict[tuple[str, int], list[Decision]] = {}
        self._turns: dict[tuple[str, str, int], int] = {}
        for decision in self.decisions:
            for partition in decision.participants:
                own = self._own.setdefault((partition, decision.epoch), [])
                self._turns[partition, decision.log, decision.offset] = len(own)
                own.append(decision)

    def marks(self, partition: str, epoch: int) -> list[Held]:
        """Return the transactions in a partition that ended with a marker of an epoch, in the order of the log."""
        return self._marks.get((partition, epoch), [])

    def own(self, partition: str, epoch: int) -> list[Decision]:
        """Return the decisions of an epoch in which a partition takes part, in their order."""
        return self._own.get((partition, epoch), [])

    def turn(self, partition: str, decision: Decision) -> int:
        """Return the place of a decision among the decisions of its epoch in a partition, from 0."""
        return self._turns[partition, decision.log, decision.offset]

    def places(self) -> list[tuple[str, int]]:
        """Return the partitions and epochs that have markers."""
        return sorted(self._marks)


def findings_together(evidence: Iterable[Evidence], around: Surroundings) -> Iterator[LogFinding]:
    """Yield the findings of all evidence of one producer id, in whatever order it comes."""
    joined = Joined(evidence)
    for each in joined.irregular:
        yield _irregular(each, _name(joined.latest))
    for held in joined.open.values():
        yield from _open(held, joined, around)
    yield from _markers(joined)
    yield from _unfinished(joined, around)
    yield from _long(joined)
    yield from _offsets(joined, around)


def _place(evidence: Evidence) -> tuple[str, str, int]:
    log = getattr(evidence, "partition", "") or getattr(evidence, "log", "")
    at = getattr(evidence, "first_offset", getattr(evidence, "offset", -1))
    return (type(evidence).__name__, str(log), int(at))


def _name(latest: Iterable[Latest]) -> str:
    return next((each.transactional_id for each in latest), "")


def _readers_of(partition: str, groups: tuple[str, ...] = ()) -> str:
    if topic_of(partition) == CONSUMER_OFFSETS:
        which = f" {', '.join(groups)}" if groups else "s with offsets in it"
        return f"group{which}: OffsetFetch with requireStable answers UNSTABLE_OFFSET_COMMIT"
    return f"every reader of {partition} with isolation.level=read_committed"


# -- transactions ------------------------------------------------------------------------------


def _open(held: Held, joined: Joined, around: Surroundings) -> Iterator[LogFinding]:
    """Judge a transaction that has no marker in a partition.

    Source: TransactionsCommand.findHangingTransactions, KIP-664.
    """
    known = next((each for each in joined.latest if not each.gone), None)
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
        return  # decided: `_unfinished` reports what is left of it
    if _is_decided(held, joined):
        return  # complete, and the marker is missing: `_markers` reports it
    end = around.end_of(held.partition)
    early = end is not None and end.last_ms < known.at_ms
    why = not_counted(known.transactional_id, known.state, known.epoch)
    yield base.but(what=f"{base.what} {why}", certainty=LIKELY if early else SURE)


def _is_decided(held: Held, joined: Joined) -> bool:
    """Return whether a decision in which its partition takes part was made after an open transaction began."""
    return any(
        decision.prepare_ms >= held.first_ms
        for epoch in (held.epoch, held.epoch + 1)
        for decision in joined.own(held.partition, epoch)
    )


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


def _markers(joined: Joined) -> Iterator[LogFinding]:
    """Compare every marker with its decision, and with the markers of the other partitions."""
    by_epoch: dict[int, list[list[Held]]] = {}
    judged: dict[tuple[str, int], None] = {}
    for partition, epoch in joined.places():
        own, marks = joined.own(partition, epoch), joined.marks(partition, epoch)
        by_epoch.setdefault(epoch, []).append(marks)
        if len(marks) > len(own):
            # An operator's abort of a transaction that is not open leaves a marker that ends nothing.
            marks = [mark for mark in marks if mark.batches] or marks[: len(own)]
        for decision, mark in zip(reversed(own), reversed(marks), strict=False):
            judged[partition, mark.marker_offset] = None
            if decision.committed != mark.committed:
                why = f"{decision.transactional_id} decided {_word(decision.committed)}"
                yield _wrong(mark, why, SURE, decision.transactional_id)
    for everywhere in by_epoch.values():
        if any(len(marks) != 1 for marks in everywhere):
            continue  # several transactions of one epoch: without decisions the markers cannot be matched
        alone = [
            mark
            for (mark,) in everywhere
            if (mark.partition, mark.marker_offset) not in judged and mark.batches
        ]
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


def _unfinished(joined: Joined, around: Surroundings) -> Iterator[LogFinding]:
    """Find participants that lack the marker of a decision."""
    for decision in joined.decisions:
        lacking = []
        for partition in decision.participants:
            end = around.end_of(partition)
            if end is None or _is_ended(decision, partition, joined):
                continue
            gone = end.first_offset > 0 and partition not in joined.open
            if not gone:
                lacking.append(partition)
        if not lacking and decision.complete_ms >= 0:
            continue
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
            continue
        for partition in lacking:
            first = joined.open.get(partition)
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


def _is_ended(decision: Decision, partition: str, joined: Joined) -> bool:
    """Return whether a participant has the marker of a decision, counted backwards from the last decision of its epoch."""
    own = joined.own(partition, decision.epoch)
    missing = len(own) - len(joined.marks(partition, decision.epoch))
    if missing <= 0:
        return True
    # The last marker is missing if the log still has the transaction open; otherwise the front was removed.
    place = joined.turn(partition, decision)
    return place < len(own) - missing if partition in joined.open else place >= missing


def _long(joined: Joined) -> Iterator[LogFinding]:
    """Find transactions that held back a last stable offset for longer than their timeout."""
    for each in joined.held:
        if each.marker_offset < 0 or not each.batches:
            continue
        own = next(iter(joined.own(each.partition, each.marker_epoch)), None)
        limit = LONGEST_TIMEOUT_MS if own is None else own.timeout_ms
        lasted = each.marker_ms - each.first_ms
        if limit == NO_TIME_LIMIT or lasted <= limit + LOOKS_EVERY_MS:
            continue
        name = "" if own is None else own.transactional_id
        which = (
            f"its timeout is {words.span_of(limit)}"
            if own
            else "its timeout is not in the logs, 15 min is the longest"
        )
        yield LogFinding(
            "long-hold",
            each.partition,
            each.first_offset,
            f"Producer id {each.producer_id}: open from offset {each.first_offset} to its marker at "
            f"{each.marker_offset}, for {words.span_of(lasted)}; {which}.",
            _readers_of(each.partition, each.groups),
            SURE if own else LIKELY,
            ((commands.describe_of(name),) if name else (commands.producers_of(each.partition),)),
            each.producer_id,
            each.epoch,
            name,
            each.first_ms,
            each.marker_ms,
        )


def _offsets(joined: Joined, around: Surroundings) -> Iterator[LogFinding]:
    """Compare committed offsets with outputs, as far as the logs are here."""
    both: list[Decision] = []
    outputs_only: list[Decision] = []
    for decision in (d for d in joined.decisions if d.committed and d.complete_ms >= 0):
        offsets = [p for p in decision.participants if topic_of(p) == CONSUMER_OFFSETS]
        users = [p for p in decision.participants if topic_of(p) not in INTERNAL_TOPICS]
        if not offsets:
            outputs_only += [decision] if users else []
            continue
        wrote = [p for p in users if _wrote(decision, p, joined)]
        if wrote:
            both.append(decision)
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
                f"{decision.transactional_id} committed offsets at {words.moment_of(decision.prepare_ms)}; {where}.",
                "readers of the output, if the input should have made some",
                LIKELY if users else POSSIBLE,
                (commands.describe_of(decision.transactional_id),),
                decision.producer_id,
                decision.epoch,
                decision.transactional_id,
                decision.prepare_ms,
            )
    names = {each.transactional_id for each in both}
    for name in sorted(names & {each.transactional_id for each in outputs_only}):
        found = [each for each in outputs_only if each.transactional_id == name]
        yield LogFinding(
            "output-without-offsets",
            found[0].log,
            found[0].offset,
            f"{len(found)} committed transactions of {name} have output and no offsets, the first at "
            f"{words.moment_of(found[0].prepare_ms)}; others have both.",
            "readers of the output: what these transactions read may be put out again",
            POSSIBLE,
            (commands.describe_of(name),),
            found[0].producer_id,
            found[0].epoch,
            name,
            found[0].prepare_ms,
        )


def _wrote(decision: Decision, partition: str, joined: Joined) -> bool:
    """Return whether a partition has a batch of a transaction; true if its marker cannot be identified."""
    own = joined.own(partition, decision.epoch)
    marks = joined.marks(partition, decision.epoch)
    return len(own) != len(marks) or marks[joined.turn(partition, decision)].batches > 0


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


def _damaged(each: Damaged) -> LogFinding:
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
