"""Plain words for what happens: a title, a sentence and a tone for every step."""

from __future__ import annotations

from typing import TypeAlias

from kipviz.cluster.actions import (
    ClusterAction,
    Deliver,
)
from kipviz.cluster.behaviour.catalogue import sentence_of, title_of
from kipviz.cluster.behaviour.naming import on_wire, request_name, who
from kipviz.cluster.timing.clock import ms
from kipviz.cluster.world import World
from kipviz.core.model import Event
from kipviz.core.values import Value, defaults_of
from kipviz.messages.apis.catalogue import facts_of
from kipviz.messages.errors import Errors
from kipviz.messages.events import (
    AcknowledgementsCompleted,
    AclsChanged,
    AssignmentMoved,
    BatchAppended,
    CallReturned,
    ClassicGroupMoved,
    ConfigsChanged,
    DatabaseChanged,
    FeatureFinalized,
    GenerationSeen,
    LeaderMoved,
    LeftOnItsWay,
    LockRenewed,
    LogPruned,
    MessageSent,
    NoResponse,
    NotSent,
    OffsetCommitted,
    OffsetResolved,
    OffsetsExpired,
    OffsetStaged,
    PartitionsAdded,
    ProducerForgotten,
    RecordsMoved,
    ReleaseInstalled,
    SessionGiven,
    SharePartitionDropped,
    SharePartitionLoaded,
    ShareStartFollowed,
    ShareStateReset,
    TimePassed,
    TopicCreated,
    TopicDeleted,
    TopicRemade,
    TransactionForgotten,
    TransactionMoved,
)
from kipviz.messages.groups.groups import GroupOffset, OffsetFetchResponse
from kipviz.messages.groups.several_groups import group_errors
from kipviz.messages.logs.list_offsets import ListOffsetsPartitionResponse, ListOffsetsResponse
from kipviz.messages.message import Message, version_of
from kipviz.messages.message_errors import error_in
from kipviz.messages.transactions.transactions import (
    AddPartitionsToTxn,
    AddPartitionsToTxnResponse,
    EndTxn,
    WriteTxnMarkers,
)
from kipviz.records.batches import ABORT
from kipviz.records.transaction_state import TransactionState
from kipviz.views.explanations.maintenance_sentences import render_maintenance
from kipviz.views.explanations.operators import list_learned
from kipviz.views.tones import CALM, GONE, TONE_OF_RECORD, TONE_OF_STATE, WARNING

DATABASE_WORDS = {
    "written": "is written, not committed",
    "prepared": "is prepared: it survives a crash and waits for its outcome",
    "committed": "is committed",
    "rolled back": "is rolled back",
}


class Words(Value, frozen=True):
    """The words of a step."""

    title: str
    sentence: str
    tone: str
    interesting: bool


def tell(before: World, action: ClusterAction, events: tuple[Event, ...]) -> Words:
    """Render one step."""
    facts = [text for event in _gather_moves(events) if (text := _fact(event))]
    opening = _opening(before, action)
    sentence = " ".join([opening, *facts])
    return Words(title_of(before, action), sentence, _tone(action, events), bool(facts))


def summary(message: Message) -> str:
    """Return a label short enough for an arrow."""
    name = type(message).__name__
    if isinstance(message, EndTxn):
        return f"EndTxn {'COMMIT' if message.committed else 'ABORT'}"
    if isinstance(message, WriteTxnMarkers):
        first, *others = message.markers
        if others:
            return f"markers · {len(message.markers)} transactions"
        return f"marker {'COMMIT' if first.committed else 'ABORT'} · epoch {first.producer_epoch}"
    if isinstance(message, AddPartitionsToTxn) and len(message.transactions) > 1:
        return f"add partitions · {len(message.transactions)} transactions"
    if isinstance(message, AddPartitionsToTxnResponse) and len(message.results) > 1:
        refused = [each.error for each in message.results if each.error]
        of = f"{len(message.results)} transactions"
        return f"{len(refused)} of {of} rejected" if refused else f"partitions added · {of}"
    if isinstance(message, AddPartitionsToTxn) and message.transactions[0].verify_only:
        return "verify partition"
    short = facts_of(message, message.spoken).words[message.IS_RESPONSE]
    if message.IS_RESPONSE:
        return _ok(short or f"{name.removesuffix('Response')} ok", message)
    return short or name


def detail(message: Message, request: Message | None = None) -> str:
    """Return a message's fields in one line, with its key and version; a response has its request's version."""
    version = version_of(message, request)
    told = message.list_fields(version)
    fields = ", ".join(f"{f}={_short(getattr(message, f))}" for f in told)
    key = f"key {message.API_KEY}, version {version}" if message.API_KEY >= 0 else "no key"
    return f"{type(message).__name__} ({key}, {facts_of(message, version).status}): {fields}"


def tone_of(message: Message) -> str:
    """Return the tone of an arrow: an error stands out."""
    error = error_in(message) or Errors.NONE
    if error is not Errors.NONE:
        return WARNING
    return CALM


def _ok(text: str, message: Message) -> str:
    error = error_in(message) or Errors.NONE
    return text if error is Errors.NONE else error.name


def _short(value: object) -> str:
    if isinstance(value, Errors):
        return value.name
    if isinstance(value, tuple):
        return "[" + ", ".join(_short(v) for v in value) + "]"
    if isinstance(value, Value):
        # With an array of its own, or an error beside other results, it is a row of the message, and not a pair or a
        # range that is read at a glance.
        parts = [getattr(value, f) for f in value.__struct_fields__]
        is_result = len(parts) > 2 and any(isinstance(part, Errors) for part in parts)
        if is_result or any(isinstance(part, tuple) for part in parts):
            told = (f"{f}={_short(getattr(value, f))}" for f in _list_told(value))
            return f"({', '.join(told)})"
        if isinstance(value, GroupOffset) and not value.is_annotated:
            parts = parts[:2]
        return f"({', '.join(map(_short, parts))})"
    return getattr(value, "name", None) or str(value)


def _list_told(row: Value) -> tuple[str, ...]:
    """Return the names of a row's fields, without those that are empty as by default."""
    given = defaults_of(type(row))
    return tuple(f for f in given if getattr(row, f) or getattr(row, f) != given[f])


def _opening(before: World, action: ClusterAction) -> str:
    if not isinstance(action, Deliver):
        return sentence_of(before, action)
    message = on_wire(before, action)
    if action.way == "request":
        return f"Broker {action.broker} receives {request_name(message)} from {who(action.source)}."
    asks = who(action.source)
    return f"{asks[0].upper()}{asks[1:]} receives {_answer_words(message)}."


def _answer_words(message: Message | None) -> str:
    if message is None:
        return "nothing"
    name = type(message).__name__.removesuffix("Response")
    if isinstance(message, OffsetFetchResponse):
        found = tuple(list_learned(message))
        if len(found) > 1 or not error_in(message):
            return f"the response to {name}: {'; '.join(f'{of}: {told}' for of, told in found)}"
    if isinstance(message, ListOffsetsResponse) and all(map(_is_unfound, message.responses)):
        return f"the response to {name}: no record is young enough"
    of_groups = group_errors(message)
    if of_groups:
        said = ", ".join(f"{error.name} of {group_id}" for group_id, error in of_groups)
        return f"the response to {name}, with {said}"
    error = error_in(message) or Errors.NONE
    return f"the response to {name}" if error is Errors.NONE else f"{error.name} for {name}"


def _is_unfound(result: ListOffsetsPartitionResponse) -> bool:
    return result.error is Errors.NONE and result.offset < 0


def _gather_moves(events: tuple[Event, ...]) -> list[Event]:
    """Join adjacent records that moved in the same way, so that one sentence describes them."""
    out: list[Event] = []
    for event in events:
        last = out[-1] if out else None
        if (
            isinstance(event, RecordsMoved)
            and isinstance(last, RecordsMoved)
            and last.last + 1 == event.first
            and last.but(first=event.first, last=event.last) == event
        ):
            out[-1] = last.but(last=event.last)
        else:
            out.append(event)
    return out


def _fact(event: Event) -> str:
    match event:
        case TransactionMoved():
            return _transaction(event)
        case RecordsMoved():
            one = event.first == event.last
            which = f"@{event.first} goes" if one else f"@{event.first}-{event.last} go"
            return (
                f"{event.partition}{which} from {event.before.name} to {event.after.name}: "
                f"{event.because}."
            )
        case BatchAppended(partition=partition, base_offset=offset, control=control):
            if control:
                article = "An" if control == ABORT else "A"
                return f"{article} {control} marker is appended to {partition} at offset {offset}."
            return _render_batch(partition, offset, len(event.records))
        case OffsetStaged() | OffsetCommitted():
            how = "pending" if isinstance(event, OffsetStaged) else "committed"
            return f"Offset {event.offset} of {event.group_id} for {event.partition} is {how}."
        case OffsetResolved(group_id=group, partition=partition, offset=offset):
            word = "committed" if event.committed else "dropped"
            return f"The pending offset {offset} of {group} for {partition} is {word}."
        case TopicRemade() | TopicDeleted() | TopicCreated() | PartitionsAdded() | ConfigsChanged():
            return _of_topic(event)
        case AssignmentMoved():
            return _assignment(event)
        case ClassicGroupMoved() | OffsetsExpired() | GenerationSeen():
            return _of_group(event)
        case SharePartitionLoaded(partition=partition, start_offset=start):
            return f"{partition} is loaded for {event.group_id}; its start offset is {start}."
        case AcknowledgementsCompleted(partition=partition, first=first, last=last):
            which = f"@{first}" if first == last else f"@{first}-{last}"
            word = "durable" if event.error == "NONE" else f"rejected, {event.error}"
            return f"The callback of {event.application} is called for {partition}{which}: {word}."
        case LockRenewed(partition=partition, first=first, last=last):
            which = f"@{first}" if first == last else f"@{first}-{last}"
            return f"{event.member_id} keeps {partition}{which}: its lock restarts."
        case SharePartitionDropped(partition=partition, because=because):
            return f"{partition} is dropped from memory: {because}."
        case LeaderMoved(partition=partition, after=after):
            if after < 0:
                return f"{partition} has no leader now."
            return f"Broker {after} leads {partition} now, in epoch {event.epoch}."
        case TimePassed(elapsed):
            return f"{ms(elapsed)} pass."
        case DatabaseChanged() | SessionGiven():
            return _of_process(event)
        case (
            TransactionForgotten()
            | ProducerForgotten()
            | LeftOnItsWay()
            | FeatureFinalized()
            | AclsChanged()
            | ReleaseInstalled()
            | NotSent()
            | NoResponse()
        ):
            return render_maintenance(event)
        case CallReturned(raised=raised) if raised:
            return f"It throws: {raised.words}."
    return _of_share_state(event)


def _render_batch(partition: str, offset: int, records: int) -> str:
    if records <= 1:
        return f"A record is appended to {partition} at offset {offset}."
    last = offset + records - 1
    return f"{records} records are appended to {partition} at offsets {offset}-{last}."


def _of_process(event: DatabaseChanged | SessionGiven) -> str:
    if isinstance(event, SessionGiven):
        given = who(event.session) if event.session else "null: it is not transactional"
        return f"The session of {who(event.producer)} is {given}."
    state = event.prepared_txn_state
    known = f", with the state {state} of Kafka's transaction" if state else ""
    return f"In the database {' and '.join(event.rows)} {DATABASE_WORDS[event.what]}{known}."


def _assignment(event: AssignmentMoved) -> str:
    has = " and ".join(event.after) or "nothing"
    who = f"{event.member_id} of {event.group_id}"
    if event.epoch == 0:
        return f"{who} is no longer a member: {event.because}."
    return f"{who} is at {event.counted} {event.epoch} and may own {has}: {event.because}."


TopicEvent: TypeAlias = TopicRemade | TopicDeleted | TopicCreated | PartitionsAdded | ConfigsChanged


def _of_topic(event: TopicEvent) -> str:
    match event:
        case TopicRemade(topic=topic, before=before, after=after):
            return f"{topic} now has the id {after} instead of {before}, and different records."
        case TopicDeleted(topic=topic):
            return f"{topic} is deleted with its records, its id and everything known about it."
        case TopicCreated(topic=topic, topic_id=topic_id):
            return f"Topic {topic} now exists, with the id {topic_id}."
        case ConfigsChanged(topic=topic, configs=configs):
            own = ", ".join(f"{name}={value}" for name, value in configs) or "none"
            return f"The configs of its own that topic {topic} has now: {own}."
        case PartitionsAdded(topic=topic, partitions=1):
            return f"Topic {topic} has one more partition."
        case PartitionsAdded(topic=topic, partitions=partitions):
            return f"Topic {topic} has {partitions} more partitions."


def _of_group(event: ClassicGroupMoved | OffsetsExpired | GenerationSeen) -> str:
    if isinstance(event, GenerationSeen):
        return f"Generation {event.generation} of {event.group_id} is current here: older ones are fenced."
    if isinstance(event, OffsetsExpired):
        what = " and ".join(event.partitions)
        told = f"The offsets of {event.group_id} for {what} are deleted." if what else ""
        gone = f"The group {event.group_id} is deleted." if event.deleted else ""
        return " ".join(part for part in (told, gone) if part)
    who = " and ".join(event.members) or "no members"
    return (
        f"{event.group_id} goes from {event.before} to {event.after}: generation "
        f"{event.generation}, with {who}."
    )


def _of_share_state(event: Event) -> str:
    if isinstance(event, ShareStartFollowed):
        where = f"{event.partition} now starts at {event.after} in its log"
        return f"{where}: the start offset of {event.group_id} moves there from {event.before}."
    if not isinstance(event, ShareStateReset | LogPruned):
        return ""
    if isinstance(event, LogPruned):
        return f"{event.partition} now starts at offset {event.after} instead of {event.before}."
    group, _, index = event.key.split(":")
    if event.state_epoch < 0:
        return f"The state of {group} for partition {index} is deleted."
    where = (
        f"offset {event.start_offset}"
        if event.start_offset >= 0
        else "the position chosen by its reset policy"
    )
    return (
        f"{group} restarts in partition {index} from {where}, at state epoch {event.state_epoch}."
    )


def _transaction(event: TransactionMoved) -> str:
    if event.kept_for:
        return (
            f"{event.transactional_id} is kept: it stays ONGOING with producer id {event.producer_id}, "
            f"epoch {event.producer_epoch}, and only {event.kept_for} can end it."
        )
    if event.after is TransactionState.ONGOING:
        names = " and ".join(event.partitions)
        return f"{event.transactional_id} is ONGOING with {names}."
    tail = {
        TransactionState.PREPARE_COMMIT: " From here it can only commit.",
        TransactionState.PREPARE_ABORT: " From here it can only abort.",
    }.get(event.after, "")
    return (
        f"{event.transactional_id} is {event.after.value}, producer id {event.producer_id}, "
        f"epoch {event.producer_epoch}.{tail}"
    )


def _tone(action: ClusterAction, events: tuple[Event, ...]) -> str:
    if action.KIND == "fault":
        return GONE
    if action.KIND == "expiry":
        return WARNING
    for event in events:
        if isinstance(event, TransactionMoved) and event.after in TONE_OF_STATE:
            return TONE_OF_STATE[event.after]
        if isinstance(event, RecordsMoved) and event.after in TONE_OF_RECORD:
            return TONE_OF_RECORD[event.after]
        if isinstance(event, CallReturned) and event.raised:
            return WARNING
        if isinstance(event, MessageSent) and tone_of(event.message) == WARNING:
            return WARNING
    return CALM
