"""The cards beside the diagram: what every role knows, as rows of plain text.

A card is made from one or two objects of the world. As worlds share what did not change, a card
whose objects are the same ones is the same card, and costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from kipviz.brokers.share_partition import ShareLeader, SharePartition
from kipviz.brokers.transaction_coordinator import TransactionCoordinator
from kipviz.brokers.transaction_metadata import TransactionMetadata
from kipviz.clients.application import Application
from kipviz.clients.share_consumer import ShareConsumer
from kipviz.cluster.spec import ApplicationSpec, ClusterSpec
from kipviz.cluster.world import World, role_key
from kipviz.core.model import Event
from kipviz.core.values import Value
from kipviz.messages.events import RecordsMoved
from kipviz.records.batches import Batch, DataRecord
from kipviz.records.consumer_offsets import OffsetCommitRecord
from kipviz.records.placement import (
    CONSUMER_OFFSETS,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
    index_of,
    partition_for,
    share_partition_key,
    topic_of,
)
from kipviz.records.share_group_state import RecordState
from kipviz.records.transaction_state import TransactionRecord

Cells = dict[str, Any]
Card = dict[str, Cells]

SHORT = {
    RecordState.AVAILABLE: "AV",
    RecordState.ACQUIRED: "AQ",
    RecordState.TX_PENDING: "PEND",
    RecordState.ACKNOWLEDGED: "ACK",
    RecordState.ARCHIVING: "ARCH",
    RecordState.ARCHIVED: "ARCH",
}
TONE = {
    RecordState.TX_PENDING: "pending",
    RecordState.ACKNOWLEDGED: "done",
    RecordState.ARCHIVED: "warning",
}
STATE_WORD = {
    "EMPTY": "EMPTY",
    "ONGOING": "ONGOING",
    "PREPARE_COMMIT": "PREP-C",
    "PREPARE_ABORT": "PREP-A",
    "COMPLETE_COMMIT": "DONE-C",
    "COMPLETE_ABORT": "DONE-A",
}
RECORD_WORD = {
    "ShareSnapshotRecord": "snapshot",
    "ShareUpdateRecord": "update",
    "ShareStagedRecord": "vote",
    "MemberRecord": "member",
}


class CardHead(Value, frozen=True):
    """What does not change about a card."""

    id: str
    title: str
    where: str
    kind: str
    lane: str | None
    order: int


class Cards:
    """The cards of one cluster, made step by step along one line of a trace."""

    def __init__(self, spec: ClusterSpec) -> None:
        """Lay out the cards of a cluster; they stay the same on every branch."""
        self._spec = spec
        self._seen: dict[str, tuple[tuple[int, ...], Any, Card]] = {}
        self._finished: dict[str, dict[int, tuple[RecordState, int]]] = {}
        self.heads: list[CardHead] = []
        self._makers: list[tuple[str, Callable[[World], tuple[Any, ...]], Callable[..., Card]]] = []
        self._lay_out()

    def snapshot(self, world: World, events: tuple[Event, ...]) -> dict[str, Card]:
        """Give every card of a world; `events` are what led to it."""
        for event in events:
            if isinstance(event, RecordsMoved):
                done = self._finished.setdefault(event.partition, {})
                self._finished[event.partition] = {
                    **done,
                    event.first: (event.after, event.delivery_count),
                }
        return {name: self._card(name, parts(world), make) for name, parts, make in self._makers}

    def _card(self, name: str, parts: tuple[Any, ...], make: Callable[..., Card]) -> Card:
        marks = tuple(map(id, parts))
        known = self._seen.get(name)
        if known is not None and known[0] == marks:
            return known[2]
        card = make(*parts)
        self._seen[name] = (marks, parts, card)
        return card

    # -- the layout ----------------------------------------------------------------------------

    def _lay_out(self) -> None:
        for app in self._spec.applications:
            self._of_application(app)
        for app in self._spec.applications:
            self._of_group(app)
        for app in self._spec.applications:
            self._transaction(app)
        self._logs()
        self._add(
            CardHead("leaders", "Who leads what", "the controller", "facts", None, 90),
            lambda w: (w.image,),
            _leaders,
        )

    def _add(
        self,
        head: CardHead,
        parts: Callable[[World], tuple[Any, ...]],
        make: Callable[..., Card],
    ) -> None:
        if head.id in {h.id for h in self.heads}:
            return
        self.heads.append(head)
        self._makers.append((head.id, parts, make))

    def _of_application(self, app: ApplicationSpec) -> None:
        name = app.name

        def of(world: World) -> tuple[Any, ...]:
            return (world.applications[name],)

        self._add(
            CardHead(f"program:{name}", "The application", name, "application", name, 40),
            of,
            _program,
        )
        self._add(CardHead(f"clients:{name}", "Its clients", name, "facts", name, 50), of, _clients)

    def _of_group(self, app: ApplicationSpec) -> None:
        source = app.source
        if app.share:
            key = self._key(app)

            def parts(world: World) -> tuple[Any, ...]:
                broker = world.image.leader_of(source)
                role = world.roles.get((broker, "share_partition_leader", ""))
                share = role.shares.get(key) if isinstance(role, ShareLeader) else None
                return (share, world.logs[source], self._finished.get(source))

            title = f"{source} for {app.group_id}"
            leader = f"B{self._leader(source)}"
            self._add(
                CardHead(f"share:{key}", title, "share-partition", "records", leader, 10),
                parts,
                _records,
            )
            home = self._home(SHARE_GROUP_STATE, key)
            self._add(
                CardHead(
                    f"state:{home}",
                    "Share coordinator",
                    home,
                    "facts",
                    f"B{self._leader(home)}",
                    30,
                ),
                lambda w: (w.roles.get(role_key(w.image.leader_of(home), home)),),
                _share_state,
            )
            return
        home = self._home(CONSUMER_OFFSETS, app.group_id)
        self._add(
            CardHead(
                f"offsets:{home}", "Group coordinator", home, "facts", f"B{self._leader(home)}", 10
            ),
            lambda w: (w.roles.get(role_key(w.image.leader_of(home), home)),),
            _offsets,
        )

    def _transaction(self, app: ApplicationSpec) -> None:
        home = self._home(TRANSACTION_STATE, app.transactional_id)
        name = app.transactional_id

        def parts(world: World) -> tuple[Any, ...]:
            role = world.roles.get(role_key(world.image.leader_of(home), home))
            if not isinstance(role, TransactionCoordinator):
                return (None, None)
            return (role.transactions.get(name), role.loading)

        self._add(
            CardHead(
                f"transaction:{name}",
                f"Transaction {name}",
                "coordinator",
                "facts",
                f"B{self._leader(home)}",
                20,
            ),
            parts,
            _transaction,
        )

    def _logs(self) -> None:
        outputs = dict.fromkeys(app.output for app in self._spec.applications)
        homes = []
        for app in self._spec.applications:
            homes.append(self._home(TRANSACTION_STATE, app.transactional_id))
            if app.share:
                homes.append(self._home(SHARE_GROUP_STATE, self._key(app)))
            else:
                homes.append(self._home(CONSUMER_OFFSETS, app.group_id))
        for order, partition in enumerate([*outputs, *dict.fromkeys(homes)]):
            self._add(
                CardHead(
                    f"log:{partition}",
                    partition,
                    "log",
                    "log",
                    f"B{self._leader(partition)}",
                    15 if partition in outputs else 60 + order,
                ),
                partial(_log_of, partition),
                _log,
            )

    def _key(self, app: ApplicationSpec) -> str:
        topic_id = dict(self._spec.topic_ids)[topic_of(app.source)]
        return share_partition_key(app.group_id, topic_id, index_of(app.source))

    def _home(self, topic: str, key: str) -> str:
        return f"{topic}-{partition_for(key, self._spec.internal_partitions)}"

    def _leader(self, partition: str) -> int:
        for placement in self._spec.placements:
            if placement.partition == partition:
                return placement.leader
        return self._spec.brokers[0]


# -- the cards ---------------------------------------------------------------------------------


def _facts(rows: list[tuple[str, str, str]]) -> Card:
    return {label: {"label": label, "value": value, "tone": tone} for label, value, tone in rows}


def _program(app: Application) -> Card:
    card: Card = {}
    for number, line in enumerate(app.program):
        current = app.alive and not app.ended and number == app.line
        card[f"line {number}"] = {
            "line": number + 1,
            "text": line.text,
            "current": current,
            "waiting": current and app.waiting,
        }
    return card


def _clients(app: Application) -> Card:
    producer, consumer = app.producer, app.consumer
    to_send = [type(m).__name__ for m in producer.queue]
    to_send += [f"{len(b.records)} records" for b in producer.batches if b.broker < 0]
    state_tone = {"ABORTABLE_ERROR": "warning", "FATAL_ERROR": "broken"}
    rows = [
        ("process", "running" if app.alive else "down", "calm" if app.alive else "gone"),
        ("producer", producer.state.value, state_tone.get(producer.state.value, "calm")),
        ("producer id", _number(producer.producer_id), "calm"),
        ("epoch", _number(producer.producer_epoch), "calm"),
        ("to send", ", ".join(to_send) or "nothing", "calm"),
        ("error", producer.error or "none", "warning" if producer.error else "calm"),
        ("member", f"{consumer.member_id} of {consumer.group_id}", "calm"),
    ]
    if isinstance(consumer, ShareConsumer):
        rows.append(("holds", _offsets_words(consumer.batch), "calm"))
        rows.append(("share session", _number(consumer.session_epoch), "calm"))
    else:
        rows.append(("position", _number(consumer.position), "calm"))
    if app.ended:
        rows.append(("ended", app.ended, "warning"))
    return _facts(rows)


def _records(
    share: SharePartition | None,
    log: Any,
    finished: dict[int, tuple[RecordState, int]] | None,
) -> Card:
    card: Card = {}
    first = log.batches[0].base_offset if len(log.batches) else 0
    for offset in range(first, log.high_watermark):
        state, count, note = RecordState.AVAILABLE, 0, ""
        if share is None or share.start_offset < 0:
            note = "not loaded"
        elif offset < share.start_offset:
            state, count = (finished or {}).get(offset, (RecordState.ACKNOWLEDGED, 0))
            note = "below the start offset"
        elif (record := share.records.get(offset)) is not None:
            state, count = record.state, record.delivery_count
            note = _record_note(record)
        card[f"offset {offset}"] = {
            "offset": offset,
            "state": state.name,
            "short": SHORT[state],
            "delivery_count": count,
            "note": note,
            "tone": TONE.get(state, "calm"),
        }
    return card


def _record_note(record: Any) -> str:
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


def _share_state(role: Any) -> Card:
    if role is None:
        return _facts([("coordinator", "nobody", "gone")])
    if role.loading:
        return _facts([("coordinator", "loading", "warning")])
    rows = []
    for key, state in role.states.items():
        words = ", ".join(
            f"{_span(b.first, b.last)} {SHORT[b.state]} d{b.delivery_count}" for b in state.batches
        )
        rows.append(("durable", words or "nothing acknowledged", "calm"))
        rows.append(("start offset", str(state.start_offset), "calm"))
        rows.append(("epochs", f"state {state.state_epoch}, leader {state.leader_epoch}", "calm"))
        votes = ", ".join(
            f"{_span(s.first, s.last)} by pid {pid}, epoch {vote.producer_epoch}"
            for pid, held in role.votes.items()
            for vote in held
            if vote.key == key
            for s in vote.staged
        )
        rows.append(("votes", votes or "none", "pending" if votes else "calm"))
    return _facts(rows)


def _offsets(role: Any) -> Card:
    if role is None:
        return _facts([("coordinator", "nobody", "gone")])
    if role.loading:
        return _facts([("coordinator", "loading", "warning")])
    rows = []
    for (group, partition), committed in role.offsets.items():
        rows.append((f"{group}, {partition}", f"committed {committed.offset}", "done"))
    for pid, pending in role.pending.items():
        for p in pending:
            words = f"{p.offset} by pid {pid}"
            rows.append((f"pending, {p.partition}", words, "pending"))
    members = ", ".join(f"{m} epoch {e}" for (_, m), e in role.members.items())
    rows.append(("members", members or "none", "calm"))
    return _facts(rows)


def _transaction(known: TransactionMetadata | None, loading: bool | None) -> Card:
    if loading is None:
        return _facts([("coordinator", "nobody", "gone")])
    if loading:
        return _facts([("coordinator", "loading", "warning")])
    if known is None:
        return _facts([("state", "unknown yet", "calm")])
    tone = {"PREPARE_COMMIT": "pending", "PREPARE_ABORT": "pending", "COMPLETE_COMMIT": "done"}
    pending = known.pending_state.value if known.pending_state else "nothing"
    return _facts(
        [
            ("state", known.state.value, tone.get(known.state.value, "calm")),
            ("pending transition", pending, "calm"),
            ("producer id", str(known.producer_id), "calm"),
            ("epoch", str(known.producer_epoch), "calm"),
            ("participants", ", ".join(map(short_name, known.partitions)) or "none", "calm"),
            ("markers sent", ", ".join(short_name(p) for p, _ in known.sent) or "none", "calm"),
        ]
    )


def _log_of(partition: str, world: World) -> tuple[Any, ...]:
    return (world.logs[partition],)


def _log(log: Any) -> Card:
    card: Card = {}
    for batch in log.batches:
        if batch.control:
            mark = batch.control[0]
            card[f"offset {batch.base_offset}"] = _log_cell(batch.base_offset, mark, batch, mark)
            continue
        for i, record in enumerate(batch.records):
            offset = batch.base_offset + i
            card[f"offset {offset}"] = _log_cell(offset, _record_word(record), batch, "")
    card["HW"] = {"at": log.high_watermark}
    card["LSO"] = {"at": log.last_stable_offset}
    card["LEO"] = {"at": log.end_offset}
    return card


def _log_cell(offset: int, text: str, batch: Batch, control: str) -> Cells:
    name = ""
    if batch.producer_id >= 0 and batch.transactional:
        epoch = batch.producer_epoch - 1 if batch.control else batch.producer_epoch
        name = f"pid {batch.producer_id} epoch {epoch}"
    return {"offset": offset, "text": text, "batch": name, "control": control}


def _record_word(record: Value) -> str:
    if isinstance(record, DataRecord):
        return record.value[:8]
    if isinstance(record, TransactionRecord):
        return STATE_WORD.get(record.state.value, record.state.value[:8])
    if isinstance(record, OffsetCommitRecord):
        return f"→{record.offset}"[:8]
    return RECORD_WORD.get(type(record).__name__, type(record).__name__[:8])


def _leaders(image: Any) -> Card:
    rows = []
    for partition, held in image.leaders.items():
        who = f"Broker {held.leader}" if held.leader >= 0 else "nobody"
        tone = "calm" if held.leader >= 0 else "gone"
        rows.append((short_name(partition), f"{who}, epoch {held.epoch}", tone))
    return _facts(rows)


def short_name(partition: str) -> str:
    """Give a partition's name as people say it where there is little room."""
    return (
        partition.replace(TRANSACTION_STATE, "transactions")
        .replace(SHARE_GROUP_STATE, "share state")
        .replace(CONSUMER_OFFSETS, "offsets")
    )


def _number(value: int) -> str:
    return "none" if value < 0 else str(value)


def _offsets_words(offsets: tuple[int, ...]) -> str:
    return ", ".join(map(str, offsets)) or "nothing"


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"
