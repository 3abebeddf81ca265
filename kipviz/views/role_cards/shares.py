"""A share-partition as a strip of records, and the share coordinator's state of it."""

from __future__ import annotations

from functools import lru_cache

from kipviz.brokers.logs.partition_log import PartitionLog
from kipviz.brokers.rules import BrokerRules
from kipviz.brokers.share_coordinators.share_state import ShareCoordinator
from kipviz.brokers.share_leaders.in_flight import InFlight
from kipviz.brokers.share_leaders.share_partition import SharePartition
from kipviz.cluster.timing.clock import ms
from kipviz.cluster.world import BrokerRole
from kipviz.records.share_group_state import RecordState
from kipviz.views.page_parts import TonedCells
from kipviz.views.role_cards.card_rows import Card, Fact, facts, span
from kipviz.views.tones import CALM, TONE_OF_RECORD

Due = tuple[tuple[int, int], ...]
Finished = dict[int, tuple[RecordState, int]]

SHORT = {
    RecordState.AVAILABLE: "AV",
    RecordState.ACQUIRED: "AQ",
    RecordState.TX_PENDING: "PEND",
    RecordState.ACKNOWLEDGED: "ACK",
    RecordState.ARCHIVING: "ARCH…",
    RecordState.ARCHIVED: "ARCH",
}


def strip(
    share: SharePartition | None,
    log: PartitionLog,
    finished: Finished | None,
    rules: BrokerRules,
    due: Due = (),
) -> Card:
    """Return every offset of the source partition, and the two ends of the in-flight window.

    `finished` is the outcome of records below the start offset, which the leader has dropped; `due` is how many ms each
    lock has left on a timed clock.
    """
    card: Card = {}
    markers = {batch.base_offset for batch in log.batches if batch.control}
    for offset in range(log.start_offset, log.high_watermark):
        cells = _cell(offset, share, finished or {}, rules, dict(due))
        if offset in markers:
            words = "a marker, not a record"
            note = ", ".join(filter(None, (words, cells["note"])))
            cells = {**cells, "gap": True, "note": note}
        card[f"offset {offset}"] = cells
    if share is not None and share.start_offset >= 0:
        card["SPSO"] = {"at": share.start_offset}
        if share.next_offset > share.start_offset:
            card["SPEO"] = {"at": share.next_offset - 1}
    return card


def _cell(
    offset: int,
    share: SharePartition | None,
    finished: Finished,
    rules: BrokerRules,
    due: dict[int, int],
) -> TonedCells:
    if share is None or share.start_offset < 0:
        return _plain(offset, note="not loaded")
    if offset < share.start_offset:
        state, count = finished.get(offset, (RecordState.ACKNOWLEDGED, 0))
        return _plain(offset, state, count, "below the start offset", below=True)
    record = share.records.get(offset)
    if record is None:
        return _plain(offset)
    lock = _lock(record, rules, due.get(record.lock))
    more: TonedCells = {"member": record.member_id} if record.member_id else {}
    if record.staged_producer_id >= 0:
        more["staged"] = f"{record.staged_producer_id}/{record.staged_producer_epoch}"
    more |= {"lock": lock} if lock else {}
    return {**_plain(offset, record.state, record.delivery_count, _note(record)), **more}


@lru_cache(maxsize=65536)
def _plain(
    offset: int,
    state: RecordState = RecordState.AVAILABLE,
    count: int = 0,
    note: str = "",
    *,
    below: bool = False,
) -> TonedCells:
    """Return the cells of a record without its holder: one shared object for all steps, which must not be changed."""
    return {
        "offset": offset,
        "state": state.name,
        "short": SHORT[state],
        "delivery_count": count,
        "note": note,
        "tone": TONE_OF_RECORD.get(state, CALM),
        **({"below": True} if below else {}),
    }


def _note(record: InFlight) -> str:
    parts = []
    if record.staged_producer_id >= 0:
        parts.append(
            f"staged by pid {record.staged_producer_id}, epoch {record.staged_producer_epoch}"
        )
    if record.member_id:
        parts.append(f"held by {record.member_id}")
    if record.ongoing:
        parts.append("being written")
    return ", ".join(parts)


def _lock(record: InFlight, rules: BrokerRules, left: int | None) -> str:
    """Return the state of the acquisition lock; on an untimed clock without the time left."""
    if record.lock_ran_out:
        return "its lock expired while it was being written"
    if record.lock < 0:
        return ""
    if record.state is RecordState.TX_PENDING and rules.lock_expiry(record) is None:
        return "its lock is stopped while it is staged"
    if left is None:
        return "locked: the lock may expire at any moment"
    return f"locked: the lock expires in {ms(left)}" if left else "locked: the lock expires now"


def coordinator(role: BrokerRole | None) -> Card:
    """Return what is durable of every share-partition, and the undecided transactional acknowledgements."""
    if not isinstance(role, ShareCoordinator):
        return facts([("coordinator", "none", "gone")])
    if role.loading:
        return facts([("coordinator", "loading", "warning")])
    rows: list[Fact] = []
    for key, state in role.states.items():
        words = ", ".join(
            f"{span(b.first, b.last)} {SHORT[b.state]} d{b.delivery_count}" for b in state.batches
        )
        rows.append(("durable", words or "nothing acknowledged", "calm"))
        rows.append(("start offset", str(state.start_offset), "calm"))
        rows.append(("epochs", f"state {state.state_epoch}, leader {state.leader_epoch}", "calm"))
        if state.newest_leader > state.leader_epoch:  # the state was made again after a leader
            rows.append(("fenced", f"leaders below epoch {state.newest_leader}", "calm"))
        acknowledgements = ", ".join(
            f"{span(s.first, s.last)} by pid {pid}, epoch {acknowledgement.producer_epoch}"
            for pid, held in role.acknowledgements.items()
            for acknowledgement in held
            if acknowledgement.key == key
            for s in acknowledgement.staged
        )
        rows.append(
            (
                "transactional acknowledgements",
                acknowledgements or "none",
                "pending" if acknowledgements else "calm",
            )
        )
    return facts(rows)
