"""Plain words for what happens: a title, a sentence and a tone for every step."""

from __future__ import annotations

from typing import Any

from kipviz.clients.application import Call
from kipviz.clients.workers import seen_by
from kipviz.cluster.actions import (
    ClientTimer,
    ClusterAction,
    CrashBroker,
    CrashClient,
    CreateAcls,
    CreateTopic,
    Cut,
    DelayOver,
    DeleteAcls,
    DeleteRecords,
    DeleteTopic,
    Deliver,
    DeliverLate,
    ExpireBatch,
    ExpireLock,
    GiveUp,
    Heal,
    InstallRelease,
    Load,
    LoseConnection,
    MissPoll,
    MoveLeader,
    Operated,
    Pause,
    ReadLog,
    Receive,
    Refresh,
    RemakeTopic,
    Replicate,
    Resume,
    RunOut,
    Send,
    StartBroker,
    StartClient,
    Step,
    Tick,
    TimeOutCall,
    TimeOutTransaction,
    UpgradeFeature,
)
from kipviz.cluster.behaviour.catalogue import label, named
from kipviz.cluster.behaviour.naming import on_wire, partition_of, thread_of
from kipviz.cluster.clock import ms
from kipviz.cluster.deadlines import scanned
from kipviz.cluster.world import World
from kipviz.core.model import Event
from kipviz.core.values import Value
from kipviz.messages.apis.catalogue import api_of
from kipviz.messages.errors import Errors
from kipviz.messages.events import (
    AcknowledgementsCompleted,
    AclsChanged,
    AssignmentMoved,
    BatchAppended,
    CallReturned,
    ClassicGroupMoved,
    DatabaseChanged,
    FeatureFinalized,
    GenerationSeen,
    LeaderMoved,
    LeftOnItsWay,
    LockRenewed,
    LogPruned,
    MessageSent,
    NotSent,
    OffsetCommitted,
    OffsetResolved,
    OffsetsExpired,
    OffsetStaged,
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
from kipviz.messages.group_admin import OffsetFetchOfGroupsResponse
from kipviz.messages.list_offsets import ListOffsetsResponse
from kipviz.messages.message import Message
from kipviz.messages.several_groups import refused_of
from kipviz.messages.transactions import (
    AddPartitionsToTxn,
    AddPartitionsToTxnResponse,
    EndTxn,
    WriteTxnMarkers,
)
from kipviz.records.batches import ABORT
from kipviz.records.share_group_state import RecordState
from kipviz.records.transaction_state import TransactionState
from kipviz.views.cut_words import told_of_hosts
from kipviz.views.operators import found_out
from kipviz.views.upkeep_words import told_of_upkeep

CALM, PENDING, DONE, WARNING, BROKEN, GONE = (
    "calm",
    "pending",
    "done",
    "warning",
    "broken",
    "gone",
)
TONE_OF_STATE = {
    TransactionState.PREPARE_COMMIT: PENDING,
    TransactionState.PREPARE_ABORT: PENDING,
    TransactionState.COMPLETE_COMMIT: DONE,
    TransactionState.COMPLETE_ABORT: WARNING,
}
DATABASE_WORDS = {
    "written": "is written, not committed",
    "prepared": "is prepared: it waits for its outcome, whatever crashes",
    "committed": "is committed",
    "rolled back": "is rolled back",
}
TONE_OF_RECORD = {
    RecordState.TX_PENDING: PENDING,
    RecordState.ACKNOWLEDGED: DONE,
    RecordState.ARCHIVING: WARNING,
    RecordState.ARCHIVED: WARNING,
}


class Words(Value, frozen=True):
    """How a step is told."""

    title: str
    sentence: str
    tone: str
    interesting: bool


def tell(before: World, action: ClusterAction, events: tuple[Event, ...]) -> Words:
    """Tell one step."""
    facts = [text for event in _gathered(events) if (text := _fact(event))]
    opening = _opening(before, action)
    sentence = " ".join([opening, *facts])
    return Words(title(before, action), sentence, _tone(action, events), bool(facts))


def title(world: World, action: ClusterAction) -> str:
    """Give a few words for an action: what a lane and a button have room for."""
    match action:
        case Step(application=name, thread=thread) if name in world.applications:
            app = seen_by(world.applications[name], thread)
            call = app.program[app.line].call.value
            return f"{call}() returns" if app.waiting else f"{call}()"
        case Send(source=source) | Receive(source=source):
            return f"{source.partition('/')[2]} sends {named(world, action).parts[1]}"
        case _:
            return label(world, action)


def summary(message: Message) -> str:
    """Give the few letters that fit on an arrow."""
    name = type(message).__name__
    if isinstance(message, EndTxn):
        return f"EndTxn {'COMMIT' if message.committed else 'ABORT'}"
    if isinstance(message, WriteTxnMarkers) and message.further:
        return f"markers · {len(message.of_transactions)} transactions"
    if isinstance(message, WriteTxnMarkers):
        word = "COMMIT" if message.committed else "ABORT"
        return f"marker {word} · epoch {message.producer_epoch}"
    if isinstance(message, AddPartitionsToTxn) and message.further:
        return f"enlist · {len(message.of_transactions)} transactions"
    if isinstance(message, AddPartitionsToTxnResponse) and message.further:
        refused = [each.error for each in message.of_transactions if each.error]
        of = f"{len(message.of_transactions)} transactions"
        return f"{len(refused)} of {of} refused" if refused else f"enlisted · {of}"
    if isinstance(message, AddPartitionsToTxn) and message.verify_only:
        return "verify partition"
    short = api_of(message).words[message.IS_RESPONSE]
    if message.IS_RESPONSE:
        return _ok(short or f"{name.removesuffix('Response')} ok", message)
    return short or name


def detail(message: Message) -> str:
    """Give a message's fields in one line, with its key and version."""
    fields = ", ".join(f"{f}={_short(getattr(message, f))}" for f in message.told)
    key = f"key {message.API_KEY}, version {message.spoken}" if message.API_KEY >= 0 else "no key"
    return f"{type(message).__name__} ({key}, {message.STATUS}): {fields}"


def tone_of(message: Message) -> str:
    """Give the tone of an arrow: an error stands out."""
    error = getattr(message, "error", Errors.NONE)
    if error is not Errors.NONE:
        return WARNING
    return CALM


def _ok(text: str, message: Message) -> str:
    error = getattr(message, "error", Errors.NONE)
    return text if error is Errors.NONE else error.name


def _short(value: Any) -> str:
    if isinstance(value, Errors):
        return value.name
    if isinstance(value, tuple):
        return "[" + ", ".join(_short(v) for v in value) + "]"
    if isinstance(value, Value):
        parts = ", ".join(_short(getattr(value, f)) for f in value.__struct_fields__)
        return f"({parts})"
    return getattr(value, "name", None) or str(value)


def _sending(source: str, request: str, action: Send | Receive) -> str:
    if isinstance(action, Receive):
        return f"{source}, a real client, sends {request}."
    return f"The network thread of {source} puts {request} on the wire."


def _opening(before: World, action: ClusterAction) -> str:
    match action:
        case Step():
            return _application(before, action)
        case Send(source=source) | Receive(source=source):
            return _sending(source, named(before, action).parts[1], action)
        case Deliver(source=source, broker=broker, way=way):
            message = on_wire(before, action)
            name = type(message).__name__ if message else "nothing"
            if way == "request":
                return f"Broker {broker} takes {name} from {_who(source)}."
            who = _who(source)
            return f"{who[0].upper()}{who[1:]} gets {_answer_words(message)}."
        case Replicate(partition=partition):
            return f"Every in-sync replica has {partition} to its end: the high watermark moves."
        case Load(broker=broker, shard=shard):
            return f"Broker {broker} has read {shard} and takes office."
        case ExpireLock(broker=broker, key=key, lock=lock):
            where = f"{partition_of(before, key)}@{lock}"
            return f"The acquisition lock of {where} runs out on Broker {broker}."
        case TimeOutCall():
            return _out_of_time(before, action)
        case TimeOutTransaction(broker=broker):
            names = scanned(before, action)
            them = "them in one scan" if len(names) > 1 else "it"
            who = " and ".join(names)
            return f"{who} took longer than transaction.timeout.ms: Broker {broker} aborts {them}."
        case RunOut() | DelayOver() | ClientTimer():
            return _time_is_over(action)
        case Refresh(broker=broker, key=key):
            return f"Broker {broker} asks what became of the votes for {partition_of(before, key)}."
        case CrashBroker(broker=broker) | StartBroker(broker=broker):
            crashes = isinstance(action, CrashBroker)
            gone = "crashes. Its memory and its connections are gone."
            return f"Broker {broker} {gone if crashes else 'starts again.'}"
        case MoveLeader(partition=partition, to=to):
            return f"The controller gives {partition} to Broker {to}."
        case LoseConnection(source=source, broker=broker):
            return f"The connection from {_who(source)} to Broker {broker} breaks."
        case GiveUp() | DeliverLate() | ExpireBatch() | MissPoll() | Tick() | ReadLog():
            return _limit(before, action)
        case (
            RemakeTopic()
            | DeleteTopic()
            | CreateTopic()
            | DeleteRecords()
            | UpgradeFeature()
            | InstallRelease()
            | CreateAcls()
            | DeleteAcls()
        ):
            return _operated(action)
        case Cut() | Heal() | Pause() | Resume():
            return told_of_hosts(before, action)
        case CrashClient(application=name):
            operator = name in before.applications and before.applications[name].others.get("admin")
            return f"{name} dies, with its {'admin client' if operator else 'producer and its consumer'}."
        case StartClient(application=name):
            return f"{name} starts again at its first line, with a new member id."


def _operated(action: Operated) -> str:
    match action:
        case DeleteRecords(partition=partition):
            return f"Retention, or an operator, deletes the oldest batch of {partition}."
        case RemakeTopic(topic=topic):
            return f"Somebody deletes {topic} and makes a topic of the same name."
        case DeleteTopic(topic=topic):
            return f"An operator deletes {topic} for good."
        case CreateTopic(topic=topic):
            return f"An operator makes {topic}."
        case UpgradeFeature(feature=feature, level=level):
            return f"An operator finalizes {feature.replace('_', '.')} {level}."
        case InstallRelease(broker=broker, release=release):
            return f"An operator stops Broker {broker} and gives it the binary of {release}."
        case CreateAcls(acl=acl):
            return f"An operator creates an ACL: {acl.words}."
        case DeleteAcls(acl=acl):
            return f"An operator deletes the ACL '{acl.words}'. What was let in before stays in."


def _out_of_time(before: World, action: TimeOutCall) -> str:
    app = seen_by(before.applications[action.application], action.thread)
    name = thread_of(action)
    if app.program[app.line].call is Call.SEND:
        return f"max.block.ms is over: send() returns to {name}, its records are in no buffer."
    return f"max.block.ms is over for a call of {name}; what it asked for goes on."


def _limit(
    before: World, action: GiveUp | DeliverLate | ExpireBatch | MissPoll | Tick | ReadLog
) -> str:
    match action:
        case MissPoll(source=source):
            return f"max.poll.interval.ms is over: {_who(source)} leaves its group by itself."
        case Tick():
            return "Time passes, and nothing else happens."
        case ReadLog(partition=partition, offset=offset, at=at):
            return f"{partition} has a batch at offset {offset}, written {at}."
        case GiveUp(source=source, broker=broker):
            who = _who(source)
            return (
                f"request.timeout.ms is over: {who} closes its connection to Broker {broker} and "
                "goes on without the answer."
            )
        case DeliverLate(source=source, broker=broker):
            message = on_wire(before, action)
            name = type(message).__name__ if message else "nothing"
            who = _who(source.partition(" #")[0])
            return f"Broker {broker} takes {name} from a connection that {who} gave up long ago."
        case ExpireBatch(source=source):
            return f"delivery.timeout.ms is over for a batch of {_who(source)}, which gives it up."


def _application(before: World, action: Step) -> str:
    app = seen_by(before.applications[action.application], action.thread)
    name = thread_of(action)
    call = app.program[app.line].call.value
    if app.waiting:
        return f"{call}() comes back to {name}."
    return f"{name} calls {call}()."


def _answer_words(message: Message | None) -> str:
    if message is None:
        return "nothing"
    name = type(message).__name__.removesuffix("Response")
    if isinstance(message, OffsetFetchOfGroupsResponse):
        found = "; ".join(f"{of}: {told}" for of, told in found_out(message))
        return f"the answer to {name}: {found}" if found else f"the answer to {name}"
    if isinstance(message, ListOffsetsResponse) and not message.error and message.offset < 0:
        return f"the answer to {name}: no record is young enough"
    of_groups = refused_of(message)
    if of_groups:
        said = ", ".join(f"{error.name} of {group_id}" for group_id, error in of_groups)
        return f"the answer to {name}, with {said}"
    error = getattr(message, "error", Errors.NONE)
    return f"the answer to {name}" if error is Errors.NONE else f"{error.name} for {name}"


def _who(source: str) -> str:
    host, _, part = source.partition("/")
    if host.startswith("B") and host[1:].isdigit():
        roles = {
            "markers": "coordinator",
            "add-partitions": "leader",
            "persister": "share-partition leader",
            "dlq": "dead-letter producer",
            "initializer": "group coordinator",
        }
        return f"the {roles.get(part, part)} on Broker {host[1:]}"
    return f"client {host}" if part.isdigit() else f"the {part} of {host}"


def _gathered(events: tuple[Event, ...]) -> list[Event]:
    """Join neighbouring records that moved alike, so that they are told in one sentence."""
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
                return f"{'An' if control == ABORT else 'A'} {control} marker stands in {partition} at offset {offset}."
            return f"{partition} grows to offset {offset + max(len(event.records), 1) - 1}."
        case OffsetStaged() | OffsetCommitted():
            how = "pending" if isinstance(event, OffsetStaged) else "committed"
            return f"Offset {event.offset} of {event.group_id} for {event.partition} is {how}."
        case OffsetResolved(group_id=group, partition=partition, offset=offset):
            word = "committed" if event.committed else "dropped"
            return f"The pending offset {offset} of {group} for {partition} is {word}."
        case TopicRemade() | TopicDeleted() | TopicCreated():
            return _of_topic(event)
        case AssignmentMoved():
            return _assignment(event)
        case ClassicGroupMoved() | OffsetsExpired() | GenerationSeen():
            return _of_group(event)
        case SharePartitionLoaded(partition=partition, start_offset=start):
            return f"{partition} is loaded for {event.group_id}; its start offset is {start}."
        case AcknowledgementsCompleted(partition=partition, first=first, last=last):
            which = f"@{first}" if first == last else f"@{first}-{last}"
            word = "durable" if event.error == "NONE" else f"refused, {event.error}"
            return f"The callback of {event.application} hears of {partition}{which}: {word}."
        case LockRenewed(partition=partition, first=first, last=last):
            which = f"@{first}" if first == last else f"@{first}-{last}"
            return f"{event.member_id} keeps {partition}{which}: its lock starts again."
        case SharePartitionDropped(partition=partition, because=because):
            return f"{partition} is dropped from memory: {because}."
        case LeaderMoved(partition=partition, after=after):
            if after < 0:
                return f"Nobody leads {partition} now."
            return f"Broker {after} leads {partition} now, epoch {event.epoch}."
        case TimePassed(elapsed):
            return f"{ms(elapsed)} are over."
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
        ):
            return told_of_upkeep(event)
        case CallReturned(raised=raised) if raised:
            return f"It throws: {raised}."
    return _of_share_state(event)


def _of_process(event: DatabaseChanged | SessionGiven) -> str:
    if isinstance(event, SessionGiven):
        given = _who(event.session) if event.session else "null: it is not transactional"
        return f"The session of {_who(event.producer)} is {given}."
    state = event.prepared_txn_state
    known = f", with the state {state} of Kafka's transaction" if state else ""
    return f"In the database {' and '.join(event.rows)} {DATABASE_WORDS[event.what]}{known}."


def _assignment(event: AssignmentMoved) -> str:
    has = " and ".join(event.after) or "nothing"
    who = f"{event.member_id} of {event.group_id}"
    if event.epoch == 0:
        return f"{who} is a member no more: {event.because}."
    return f"{who} is at {event.counted} {event.epoch} and may have {has}: {event.because}."


def _time_is_over(action: RunOut | DelayOver | ClientTimer) -> str:
    match action:
        case RunOut(broker=broker, timer=timer):
            return f"{timer[0].upper()}{timer[1:]} runs out on Broker {broker}."
        case DelayOver(broker=broker, delay=delay):
            return f"{delay[0].upper()}{delay[1:]} is over on Broker {broker}."
        case ClientTimer(source=source, timer=timer):
            return f"{timer[0].upper()}{timer[1:]} of {_who(source)} is over."


def _of_topic(event: TopicRemade | TopicDeleted | TopicCreated) -> str:
    match event:
        case TopicRemade(topic=topic, before=before, after=after):
            return f"{topic} has the id {after} now, not {before} any more, and other records."
        case TopicDeleted(topic=topic):
            return f"{topic} is gone: its records, its id, and what was known of it."
        case TopicCreated(topic=topic, topic_id=topic_id):
            return f"There is a topic {topic} now, with the id {topic_id}."


def _of_group(event: ClassicGroupMoved | OffsetsExpired | GenerationSeen) -> str:
    if isinstance(event, GenerationSeen):
        return (
            f"Generation {event.generation} of {event.group_id} counts here: older ones are over."
        )
    if isinstance(event, OffsetsExpired):
        what = " and ".join(event.partitions)
        told = f"The offsets of {event.group_id} for {what} are forgotten." if what else ""
        gone = f"The group {event.group_id} is deleted." if event.deleted else ""
        return " ".join(part for part in (told, gone) if part)
    who = " and ".join(event.members) or "nobody"
    return (
        f"{event.group_id} goes from {event.before} to {event.after}: generation "
        f"{event.generation}, with {who}."
    )


def _of_share_state(event: Event) -> str:
    if isinstance(event, ShareStartFollowed):
        where = f"{event.partition} begins at {event.after} in its log"
        return f"{where}: the start offset of {event.group_id} goes there from {event.before}."
    if not isinstance(event, ShareStateReset | LogPruned):
        return ""
    if isinstance(event, LogPruned):
        return f"{event.partition} begins at offset {event.after} now, not at {event.before}."
    group, _, index = event.key.split(":")
    if event.state_epoch < 0:
        return f"What {group} knew of partition {index} is deleted."
    where = (
        f"offset {event.start_offset}" if event.start_offset >= 0 else "where its reset policy says"
    )
    return f"{group} begins anew in partition {index}, from {where}, at state epoch {event.state_epoch}."


def _transaction(event: TransactionMoved) -> str:
    if event.kept_for:
        return (
            f"{event.transactional_id} is kept: it stays ONGOING with producer id {event.producer_id}, "
            f"epoch {event.producer_epoch}, and only {event.kept_for} may end it."
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
