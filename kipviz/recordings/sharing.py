"""Share fetches and acknowledgements, followed from the first one on.

Acquisition locks are in the memory of a share-partition's leader, which no log holds. So the leader of the
model is handed what the recorded one was handed, in the same order, and two things are held against the
recording: every answer to a member, and every request of the leader to the share coordinator, which is
answered as it was recorded. What a request log does not tell happens in the model wherever that explains
the next thing that was recorded: a lock runs out, a member's connection breaks, a new leader takes over.

NOT MODELLED: a share session of several partitions (not asked); the wait limit of a fetch: one that the
model would let wait may have been answered with nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kipviz.brokers import share_partition_leader
from kipviz.brokers.context import Context, Effects, ReplyTo
from kipviz.brokers.local import FetchFurther
from kipviz.brokers.settings import EARLIEST, LATEST, GroupConfig
from kipviz.brokers.share_partition import ShareLeader
from kipviz.core.table import Table
from kipviz.core.values import Part, Value
from kipviz.messages.message import Message
from kipviz.messages.share_groups import (
    AcknowledgementBatch,
    AcknowledgeType,
    ShareAcknowledge,
    ShareFetch,
    batches_of_each,
)
from kipviz.messages.share_state import (
    ReadShareGroupState,
    ReadShareGroupStateResponse,
    WriteShareGroupState,
    WriteShareGroupStateResponse,
)
from kipviz.recordings.questions import state_batches_of, write_of
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.sayings import Asked, Said, error_name, error_named
from kipviz.records.placement import topic_of

MEMBERS, STATES = (
    ("SHARE_FETCH", "SHARE_ACKNOWLEDGE"),
    (
        "READ_SHARE_GROUP_STATE",
        "WRITE_SHARE_GROUP_STATE",
    ),
)
# In one millisecond: the log grows, then a member asks, then the leader asks, then answers go out.
GROWS, TAKEN, WRITTEN, ANSWERED = range(4)
# How many things that no request log tells may happen between two recorded ones.
UNSEEN_MAX = 4
NOTHING: Said = (("error", "NONE"), ("acknowledged", "NONE"), ("acquired", ()))
Step = tuple[int, int, int]


class Told(Value, frozen=True):
    """A request of the leader to the share coordinator, and what it was answered."""

    number: int
    message: Message
    answer: Message


class Follower(Part, frozen=True, dict=True):
    """One way in which it may have gone so far.

    `told` counts per key the requests to the share coordinator, `answers` has those to members that were
    not compared yet, and `epoch` is that of the source's leader.
    """

    leader: ShareLeader = ShareLeader()
    told: Table[str, int] = Table.of()
    answers: Table[int, Said] = Table.of()
    epoch: int = 0
    reset: str = EARLIEST


class Sharing:
    """What the members of share groups asked of one broker, and the ways in which it may have answered."""

    def __init__(
        self,
        exchanges: tuple[Exchange, ...],
        names: Mapping[str, str],
        contexts: list[tuple[int, Context]],
        configs: tuple[GroupConfig, ...],
    ) -> None:
        self._exchanges = exchanges
        self._names = names
        self._contexts = contexts
        self._configs = configs
        self._told = _told(exchanges)
        self._requests = dict(self._asked())
        self._last = {source: n for n, (source, _) in self._requests.items()}
        known = {config.group_id for config in configs}
        groups = {m.group_id for _, m in self._requests.values()}
        resets = (EARLIEST,) if groups <= known else (EARLIEST, LATEST)
        self._ways = tuple(Follower(reset=reset) for reset in resets)

    def verdicts(self) -> Iterator[Asked]:
        """Follow the recording from its beginning, and say of each thing whether the model can do it."""
        for _, kind, number in sorted(self._steps()):
            at, on = self._now(number, kind)
            if kind == GROWS:
                self._ways = self._grown(on)
            elif kind == TAKEN:
                self._ways = self._taken(number, at, on)
            elif kind == WRITTEN:
                yield from self._written(number, at, on)
            else:
                yield self._answered(number, at, on)

    # -- what was recorded, in order ---------------------------------------------------------------

    def _steps(self) -> Iterator[Step]:
        for number, exchange in enumerate(self._exchanges):
            if number in self._requests:
                yield exchange.received_ms, TAKEN, number
                yield exchange.answered_ms, ANSWERED, number
            elif exchange.api in STATES:
                yield exchange.received_ms, WRITTEN, number
        sources = {m.partition for _, m in self._requests.values()}
        for number, (at_ms, on) in enumerate(self._contexts):
            if number and any(
                on.logs[p] is not self._contexts[number - 1][1].logs[p]
                for p in sources
                if p in on.logs
            ):
                yield at_ms, GROWS, number

    def _now(self, number: int, kind: int) -> tuple[int, Context]:
        if kind == GROWS:
            return self._contexts[number]
        exchange = self._exchanges[number]
        at_ms = exchange.answered_ms if kind == ANSWERED else exchange.received_ms
        found = self._contexts[0][1]
        for began, on in self._contexts:
            if began > at_ms:
                break
            found = on
        return at_ms, found

    def _asked(self) -> Iterator[tuple[int, tuple[str, Any]]]:
        """Give the requests of members in the model's words, with the connection each came on."""
        sessions: dict[tuple[str, str], tuple[str, ...]] = {}
        for number, exchange in enumerate(self._exchanges):
            if exchange.api not in MEMBERS:
                continue
            said = exchange.request
            member = (said["groupId"], said["memberId"])
            named = {
                f"{self._names.get(t['topicId'], t['topicId'])}-{p['partitionIndex']}": p
                for t in said["topics"]
                for p in t["partitions"]
            }
            before = () if said["shareSessionEpoch"] == 0 else sessions.get(member, ())
            now = tuple(dict.fromkeys((*before, *named)))
            sessions[member] = now
            if len(now) == 1:
                batches = named.get(now[0], {}).get("acknowledgementBatches", ())
                message = _message(exchange, now[0], _acknowledgements(batches))
                yield number, (f"{exchange.client}/{member[1]}", message)

    def _around(self, way: Follower, on: Context) -> Context:
        """Give a context as this way has it: the leader's epoch, and what the groups are set to."""
        configs = self._configs or tuple(
            GroupConfig(group, auto_offset_reset=way.reset)
            for group in dict.fromkeys(m.group_id for _, m in self._requests.values())
        )
        leaders = on.image.leaders
        for partition, held in leaders.items():
            if not topic_of(partition).startswith("__") and held.epoch != way.epoch:
                leaders = leaders.set(partition, held.but(epoch=way.epoch))
        return on.but(image=on.image.but(leaders=leaders, group_configs=configs))

    # -- one thing after the other -----------------------------------------------------------------

    def _grown(self, on: Context) -> tuple[Follower, ...]:
        found = []
        for way in self._ways:
            around = self._around(way, on)
            grown: Follower | None = way
            for partition in dict.fromkeys(s.partition for s in way.leader.shares.values()):
                if grown is not None:
                    done = share_partition_leader.on_replicated(grown.leader, partition, around)
                    grown = self._carried_out(grown, done, around)
            found += [grown] if grown is not None else []
        return tuple(found) or self._ways

    def _taken(self, number: int, at: int, on: Context) -> tuple[Follower, ...]:
        """Hand a request in, in every way in which it may have gone before that."""
        source, message = self._requests[number]
        handler = (
            share_partition_leader.on_share_fetch
            if isinstance(message, ShareFetch)
            else share_partition_leader.on_share_acknowledge
        )
        found: dict[Follower, None] = {}
        for way in self._before(number, on):
            around = self._around(way, on)
            done = handler(way.leader, message, ReplyTo(source, on.broker, number), around)
            after = self._carried_out(way, done, around)
            if after is not None:
                found[after] = None
        return tuple(found) or self._ways

    def _before(self, number: int, on: Context) -> Iterator[Follower]:
        """Give the ways with connections that may have broken, and with a leader that may be new."""
        seen = dict.fromkeys(self._ways)
        yield from self._ways
        for way in self._ways:
            key = share_partition_leader.key_of(*_place(self._requests[number][1]), on)
            at = way.told.get(key, 0)
            told = self._told.get(key, ())
            loads = at < len(told) and isinstance(told[at].message, ReadShareGroupState)
            epoch = getattr(told[at].message, "leader_epoch") if loads else 0  # noqa: B009
            if epoch > way.epoch:
                yield way.but(leader=ShareLeader(), epoch=epoch)
            for gone in self._disconnected(way, number, on):
                if gone not in seen:
                    seen[gone] = None
                    yield gone

    def _disconnected(self, way: Follower, number: int, on: Context) -> Iterator[Follower]:
        around = self._around(way, on)
        sources = {s.source for s in way.leader.sessions.values()} | set(way.leader.closed)
        finished = sorted(s for s in sources if self._last.get(s, -1) < number)
        for source in finished:
            done = share_partition_leader.on_disconnected(way.leader, source, around)
            after = self._carried_out(way, done, around)
            if after is not None and after != way:
                yield after
                yield from self._disconnected(after, number, on)

    def _written(self, number: int, at: int, on: Context) -> Iterator[Asked]:
        """Compare a request to the share coordinator with what the leader of the model has asked."""
        for key, told in self._told.items():
            place = next((i for i, each in enumerate(told) if each.number == number), None)
            if place is None:
                continue
            reached = self._reached(lambda way: way.told.get(key, 0) > place, number, on)  # noqa: B023
            recorded = (("asked", _sentence(told[place].message)),)
            yield Asked(
                number,
                self._exchanges[number].api,
                f"{key}, as its leader asks",
                recorded,
                (recorded,) if reached else ((("asked", "nothing of the kind"),),),
            )
            counted = [w.but(told=w.told.set(key, place + 1)) for w in self._ways]
            self._ways = reached or tuple(counted)

    def _answered(self, number: int, at: int, on: Context) -> Asked:
        """Compare an answer to a member with the model's."""
        exchange = self._exchanges[number]
        _, message = self._requests[number]
        recorded = _recorded(exchange, message.partition, self._names)
        reached = self._reached(lambda way: self._says(way, number) == recorded, number, on)
        said = dict.fromkeys(self._says(way, number) for way in reached or self._ways)
        self._ways = tuple(dict.fromkeys(self._over(way, number) for way in reached or self._ways))
        about = f"{message.group_id} {message.member_id} {message.partition}"
        return Asked(number, exchange.api, about, recorded, tuple(said))

    def _says(self, way: Follower, number: int) -> Said:
        """Give what a way has answered; a fetch that waits may be answered with nothing."""
        return way.answers.get(number, NOTHING)

    def _over(self, way: Follower, number: int) -> Follower:
        leader = way.leader
        for key, share in leader.shares.items():
            parked = tuple(p for p in share.parked if p.reply_to.incarnation != number)
            leader = leader.but(shares=leader.shares.set(key, share.but(parked=parked)))
        return way.but(leader=leader, answers=way.answers.without(number))

    def _reached(self, holds: Any, number: int, on: Context) -> tuple[Follower, ...]:
        """Give the ways for which something holds, if need be after what no request log tells."""
        ways = dict.fromkeys(self._ways)
        for _ in range(UNSEEN_MAX):
            found = tuple(way for way in ways if holds(way))
            if found:
                return found
            ways = dict.fromkeys(after for way in ways for after in self._unseen(way, number, on))
        return tuple(way for way in ways if holds(way))

    def _unseen(self, way: Follower, number: int, on: Context) -> Iterator[Follower]:
        around = self._around(way, on)
        for key, lock in share_partition_leader.locks(way.leader, around):
            done = share_partition_leader.on_lock_expiry(way.leader, key, lock, around)
            after = self._carried_out(way, done, around)
            if after is not None:
                yield after
        yield from self._disconnected(way, number, on)

    # -- carrying out ------------------------------------------------------------------------------

    def _carried_out(self, way: Follower, done: Effects, on: Context) -> Follower | None:
        """Do what the leader wants; None if it asks the share coordinator what was not recorded."""
        for reply in done.replies:
            number = reply.to.incarnation
            way = way.but(answers=way.answers.set(number, _said(reply.message)))
        way = way.but(leader=done.state)
        for call in done.local:
            if isinstance(call.message, FetchFurther):
                more = share_partition_leader.on_fetch_further(way.leader, call.message, on)
                further = self._carried_out(way, more, on)
                if further is None:
                    return None
                way = further
        for request in done.requests:
            message: Any = request.message
            if not isinstance(message, ReadShareGroupState | WriteShareGroupState):
                continue
            at = way.told.get(message.key, 0)
            told = self._told.get(message.key, ())
            if at >= len(told) or not _alike(told[at].message, message):
                return None
            way = way.but(told=way.told.set(message.key, at + 1))
            heard = share_partition_leader.on_state_answered(
                way.leader, request.shard, request.tag, told[at].answer, on
            )
            after = self._carried_out(way, heard, on)
            if after is None:
                return None
            way = after
        return way


def _place(message: Any) -> tuple[str, str]:
    return message.group_id, message.partition


def _message(
    exchange: Exchange, partition: str, acknowledgements: tuple[AcknowledgementBatch, ...]
) -> ShareFetch | ShareAcknowledge:
    said = exchange.request
    who = (said["groupId"], said["memberId"], said["shareSessionEpoch"], partition)
    if exchange.api == "SHARE_ACKNOWLEDGE":
        return ShareAcknowledge(*who, acknowledgements)
    most = said.get("maxRecords", said.get("batchSize", 0))
    mode = said.get("shareAcquireMode", 0)
    return ShareFetch(*who, most, acknowledgements, acquire_mode=mode)


def _acknowledgements(batches: Iterable[Any]) -> tuple[AcknowledgementBatch, ...]:
    """Give acknowledgement batches; one type for all of a batch, or one for each of its offsets."""
    found: list[AcknowledgementBatch] = []
    for batch in batches:
        first, last, types = batch["firstOffset"], batch["lastOffset"], batch["acknowledgeTypes"]
        if len(types) == 1:
            found.append(AcknowledgementBatch(first, last, AcknowledgeType(types[0])))
        else:
            each = zip(range(first, last + 1), map(AcknowledgeType, types), strict=True)
            found += batches_of_each(each)
    return tuple(found)


def _told(exchanges: tuple[Exchange, ...]) -> dict[str, tuple[Told, ...]]:
    """Give per key what its leader has asked the share coordinator, in order of arrival."""
    found: dict[str, list[Told]] = {}
    order = sorted(range(len(exchanges)), key=lambda n: exchanges[n].received_ms)
    for number in order:
        exchange = exchanges[number]
        if exchange.api not in STATES:
            continue
        group = exchange.request["groupId"]
        answers = {
            (t["topicId"], p["partition"]): p
            for t in exchange.response["results"]
            for p in t["partitions"]
        }
        for topic in exchange.request["topics"]:
            for one in topic["partitions"]:
                place = (topic["topicId"], one["partition"])
                key = f"{group}:{place[0]}:{place[1]}"
                pair = _asked_and_answered(exchange.api, key, one, answers[place])
                found.setdefault(key, []).append(Told(number, *pair))
    return {key: tuple(told) for key, told in found.items()}


def _asked_and_answered(api: str, key: str, one: Any, answer: Any) -> tuple[Message, Message]:
    error = error_named(answer["errorCode"])
    if api == "WRITE_SHARE_GROUP_STATE":
        return write_of(key, one), WriteShareGroupStateResponse(error, key)
    told = (answer["stateEpoch"], answer["startOffset"], state_batches_of(answer["stateBatches"]))
    return (
        ReadShareGroupState(key, one["leaderEpoch"]),
        ReadShareGroupStateResponse(error, key, *told),
    )


def _alike(recorded: Any, ours: Any) -> bool:
    """Say whether two requests are the same: runs of offsets may be cut in other places."""
    if type(recorded) is not type(ours):
        return False
    if isinstance(ours, ReadShareGroupState):
        return bool(recorded == ours)
    same = recorded.but(batches=()) == ours.but(batches=())
    return bool(same and _each(recorded.batches) == _each(ours.batches))


def _each(batches: Iterable[Any]) -> tuple[tuple[int, str, int], ...]:
    return tuple(
        (offset, batch.state.name, batch.delivery_count)
        for batch in batches
        for offset in range(batch.first, batch.last + 1)
    )


def _sentence(message: Any) -> str:
    if isinstance(message, ReadShareGroupState):
        return f"read, leader epoch {message.leader_epoch}"
    epochs = f"state epoch {message.state_epoch}, leader epoch {message.leader_epoch}"
    states = "; ".join(f"{o} {s} d{d}" for o, s, d in _each(message.batches))
    return f"write, {epochs}, start {message.start_offset}, {states}"


def _recorded(exchange: Exchange, partition: str, names: Mapping[str, str]) -> Said:
    """Give the answer to a member, which is about its partition or says nothing of any."""
    said = exchange.response
    parts = {
        f"{names.get(t['topicId'], t['topicId'])}-{p['partitionIndex']}": p
        for t in said["responses"]
        for p in t["partitions"]
    }
    if any(name != partition for name in parts):
        return (("error", f"an answer about {', '.join(parts)}"),)
    part = parts.get(partition, {})
    code = said["errorCode"] or part.get("errorCode", 0)
    if exchange.api == "SHARE_ACKNOWLEDGE":
        return (("error", error_name(code)),)
    acquired = tuple(
        (offset, run["deliveryCount"])
        for run in part.get("acquiredRecords", ())
        for offset in range(run["firstOffset"], run["lastOffset"] + 1)
    )
    acknowledged = error_name(part.get("acknowledgeErrorCode", 0))
    return (("error", error_name(code)), ("acknowledged", acknowledged), ("acquired", acquired))


def _said(reply: Any) -> Said:
    if not hasattr(reply, "acquired"):
        return (("error", reply.error.name),)
    acquired = tuple(
        (offset, run.delivery_count)
        for run in reply.acquired
        for offset in range(run.first, run.last + 1)
    )
    acknowledged = ("acknowledged", reply.acknowledge_error.name)
    return (("error", reply.error.name), acknowledged, ("acquired", acquired))
