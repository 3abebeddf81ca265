"""The rules that turn evidence into findings; a loop and Spark apply the same rules.

All evidence with one producer id is joined, so the findings of different producer ids are independent. The facts about
all logs together (`Surroundings`) are small: where each log ends, and whether the logs of every coordinator are here.

`marker_matching` says which marker belongs to which decision, `offset_rules` compares committed offsets with outputs,
and `single_evidence` has the rules for batches and share groups.

Source: TransactionCoordinator, TransactionStateManager, ProducerStateManager, KIP-664, KIP-890.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

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
from kipviz.recordings.auditing import audit_findings as words
from kipviz.recordings.auditing.audit_evidence import (
    AuditedDecision,
    Latest,
    PartitionTransaction,
    Surroundings,
)
from kipviz.recordings.auditing.audit_findings import LIKELY, POSSIBLE, SURE, LogFinding
from kipviz.recordings.auditing.gathered_evidence import EpochEvidence, ProducerEvidence
from kipviz.recordings.auditing.marker_matching import MarkerMatching
from kipviz.recordings.auditing.offset_rules import OffsetComparison
from kipviz.recordings.auditing.single_evidence import judge_irregular
from kipviz.records.placement import CONSUMER_OFFSETS, topic_of
from kipviz.records.transaction_state import TransactionState
from kipviz.settings.broker_configs import TRANSACTION_MAX_TIMEOUT_MS
from kipviz.settings.consumer_configs import ISOLATION_LEVEL

# The timeout of a transaction if no coordinator reports it.
LONGEST_TIMEOUT_MS = TRANSACTION_MAX_TIMEOUT_MS.default
NO_TIME_LIMIT = 2**31 - 1
_PREPARED = (TransactionState.PREPARE_COMMIT.value, TransactionState.PREPARE_ABORT.value)


def findings_together(evidence: ProducerEvidence, around: Surroundings) -> Iterator[LogFinding]:
    """Return what all evidence of one producer id shows, epoch by epoch; the order in which it comes does not matter."""
    name = next((each.transactional_id for each in evidence.latest), "")
    for each in evidence.irregular:
        yield judge_irregular(each, name)
    decided: dict[str, None] = {}
    offsets = OffsetComparison()
    for epoch in evidence.epochs:
        matching = MarkerMatching(epoch)
        for mark in (mark for log in epoch.partitions() for mark in epoch.marks(log)):
            yield from _long(mark, matching)
        judged: dict[str, None] = {}
        for decision, marks in matching.pairs():
            decided |= dict.fromkeys(_decides(decision, evidence.open))
            for mark in (mark for mark in marks.values() if mark is not None):
                judged[mark.partition] = None
                if decision.committed != mark.committed:
                    why = f"{decision.transactional_id} decided {_word(decision.committed)}"
                    yield _wrong(mark, why, SURE, decision.transactional_id)
            yield from _find_unfinished(decision, matching, evidence.open, around)
            yield from offsets.take(decision, matching, marks, around)
            matching.count(decision)
        yield from _without_decisions(epoch, matching, judged)
    yield from offsets.end()
    for held in evidence.open.values():
        yield from _open(held, evidence.latest, around, decided=held.partition in decided)


def _decides(
    decision: AuditedDecision, still_open: Mapping[str, PartitionTransaction]
) -> Iterator[str]:
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
    return f"every reader of {partition} with {ISOLATION_LEVEL.name}=read_committed"


# -- transactions ------------------------------------------------------------------------------


def _open(
    held: PartitionTransaction, latest: Iterable[Latest], around: Surroundings, *, decided: bool
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
    epoch: EpochEvidence, matching: MarkerMatching, judged: Mapping[str, None]
) -> Iterator[LogFinding]:
    """Compare the markers of an epoch that no decision tells of with each other.

    Where a partition has several, whose marker is whose cannot be told without decisions.
    """
    if any(count != 1 for count in matching.marks.values()):
        return
    everywhere = (mark for partition in matching.marks for mark in epoch.marks(partition))
    alone = [mark for mark in everywhere if mark.partition not in judged and mark.batches]
    if len({mark.committed for mark in alone}) == 2:
        fewer = min((True, False), key=lambda way: sum(m.committed == way for m in alone))
        why = f"other partitions of this epoch have {_word(not fewer)}, and no decision is in the logs"
        yield from (_wrong(m, why, LIKELY, "") for m in alone if m.committed == fewer)


def _wrong(mark: PartitionTransaction, why: str, certainty: str, name: str) -> LogFinding:
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
            f"{words.DUMP_HINT} of {mark.partition}",
        ),
        mark.producer_id,
        mark.marker_epoch,
        name,
        mark.first_ms,
        mark.marker_ms,
    )


def _word(committed: object) -> str:
    return "COMMIT" if committed else "ABORT"


def _find_unfinished(
    decision: AuditedDecision,
    matching: MarkerMatching,
    still_open: Mapping[str, PartitionTransaction],
    around: Surroundings,
) -> Iterator[LogFinding]:
    """Look for participants that have no marker of a decision."""
    lacking = []
    for partition in decision.participants:
        end = around.end_of(partition)
        is_open = partition in still_open
        if end is None or matching.is_ended(partition, is_open=is_open):
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


def _long(mark: PartitionTransaction, matching: MarkerMatching) -> Iterator[LogFinding]:
    """Yield a finding for a transaction that held a last stable offset for longer than its timeout."""
    if not mark.batches:
        return
    own = matching.first.get(mark.partition)
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
