"""Share fetches and acknowledgements, followed from the first one on.

Acquisition locks are only in the memory of a share-partition's leader. So the leader of the model gets the recorded
requests in the same order, and two things are compared with the recording: every answer to a member, and every request
of the leader to the share coordinator, which gets the recorded answer. Events that a request log does not show happen
in the model wherever they explain the next recorded event: a lock or a wait expires, a member's connection breaks, a
new leader is elected.

A session may have several partitions: they are handled one after the other, and an answer need not have all of them,
because a leader may still have been working on the others.
NOT MODELLED: the maximum wait of a fetch: one that would wait in the model may have an empty answer; how the record
limit of a fetch is divided among its partitions: as recorded.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import Any

from kipviz.brokers.context import Context, Effects, ReplyTo
from kipviz.brokers.local_calls import FetchFurther
from kipviz.brokers.settings import GroupConfig
from kipviz.brokers.share_leaders import (
    share_loading,
    share_partition_leader,
    share_sessions,
    share_timers,
)
from kipviz.brokers.share_leaders.share_partition import ShareLeader, SharePartition, Status
from kipviz.brokers.share_leaders.share_sessions import FINAL_EPOCH
from kipviz.core.table import Table
from kipviz.core.values import Part, Value
from kipviz.messages.errors import Errors
from kipviz.messages.groups.reset_policy import EARLIEST, LATEST
from kipviz.messages.logs.producing import PartitionProduceResponse, Produce, ProduceResponse
from kipviz.messages.shares.share_groups import ShareFetch
from kipviz.messages.shares.share_state import (
    ReadShareGroupState,
    ReadShareGroupStateResponse,
    WriteShareGroupState,
)
from kipviz.recordings.decoded.group_configs import ConfigChange, configure_group
from kipviz.recordings.followed_members import led_elsewhere
from kipviz.recordings.followed_members.member_connections import MemberConnections
from kipviz.recordings.followed_members.share_answer_text import (
    STATES,
    asked_partition,
    coordinator_requests,
    count_of,
    model_answer,
    parts_of,
    recorded_answer,
    same_copies,
    same_request,
    sentence,
)
from kipviz.recordings.followed_members.share_requests import OF_SESSIONS, MemberRequests
from kipviz.recordings.judging.handling import handling
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.replayed_roles.answer_text import ComparedAnswer, Said
from kipviz.recordings.request_context.admission import BROKERS, Admission
from kipviz.records.placement import topic_of

# Within one millisecond: the log grows, then a member asks, then the leader asks, then answers are sent.
GROWS, TAKEN, WRITTEN, ANSWERED = range(4)
# The number of unseen events that may happen between two recorded ones.
UNSEEN_MAX = 4
NOTHING: Said = (("error", "NONE"), ("acknowledged", "NONE"), ("acquired", ()))
NOT_YET: Said = (("error", "no answer yet"),)
# The partitions of one request are distinguished by their place in it.
MOST_PARTITIONS = 1_000
Step = tuple[int, int, int]


class Owed(Value, frozen=True):
    """A missing answer of the share coordinator: its key, its receiver, and its place."""

    key: str
    tag: str
    place: int


class Follower(Part, frozen=True):
    """One possible history up to now.

    `told` counts the requests of each key to the share coordinator, `answers` has those to members that were not
    compared yet, and `epoch` is that of the source's leader. `owed` are answers of the share coordinator that had not
    arrived when they were awaited, `copies` counts the records in dead-letter queues.
    """

    leader: ShareLeader = ShareLeader()
    told: Table[str, int] = Table.of()
    answers: Table[int, Said] = Table.of()
    epoch: int = 0
    reset: str = EARLIEST
    owed: tuple[Owed, ...] = ()
    copies: Table[str, int] = Table.of()


class Sharing:
    """The requests of share group members to one broker, and the possible histories of its answers.

    If the leaders are known, the contexts have them; otherwise a leader's epoch is the one in its requests to the
    coordinator.
    """

    def __init__(
        self,
        exchanges: tuple[Exchange, ...],
        names: Mapping[str, str],
        contexts: list[tuple[int, Context]],
        configs: tuple[GroupConfig, ...],
        admission: Admission,
        *,
        config_changes: tuple[ConfigChange, ...] = (),
        leaders_known: bool = False,
        states_at_once: bool = False,
    ) -> None:
        """Store the recording; `states_at_once` says that the share coordinator answers at once.

        Its lines may be later than those of the members' requests that waited for it.
        """
        self._exchanges = exchanges
        self._leaders_known = leaders_known
        self._states_at_once = states_at_once
        self._names = names
        self._contexts = contexts
        self._times = [at for at, _ in contexts]
        self._configs = configs
        self._config_changes = config_changes
        self._of_brokers = tuple(map(_of_brokers, exchanges))
        self._told = coordinator_requests(self._of_brokers)
        members = MemberRequests(exchanges, names, admission)
        self._refused, self._requests = members.refused, members.messages
        self._connections = MemberConnections(exchanges, self._requests)
        known = {config.group_id for config in configs}
        groups = {m.group_id for _, each in self._requests.values() for m in each}
        resets = (EARLIEST,) if groups <= known else (EARLIEST, LATEST)
        self._ways = tuple(Follower(reset=reset) for reset in resets)
        self._now_ms = 0

    def verdicts(self) -> Iterator[ComparedAnswer]:
        """Follow the recording from its beginning, and judge whether the model can do each recorded thing."""
        yield from self._refused
        for _, kind, number in sorted(self._steps()):
            self._now_ms, on = self._now(number, kind)
            if kind == GROWS:
                self._ways = self._grow_ways(on)
                continue
            with handling(number):
                yield from self._follow_step(number, kind, on)

    def _follow_step(self, number: int, kind: int, on: Context) -> Iterator[ComparedAnswer]:
        """Follow one step of an exchange: its arrival, its write, or its answer."""
        if kind == TAKEN:
            self._ways = self._take_request(number, on)
        elif kind == WRITTEN:
            yield from self._compare_write(number, on)
        else:
            yield from self._compare_answer(number, on)

    # -- the recording, in order -------------------------------------------------------------------------

    def _steps(self) -> Iterator[Step]:
        for number, exchange in enumerate(self._exchanges):
            if number in self._requests:
                yield exchange.received_ms, TAKEN, number
                yield exchange.answered_ms, ANSWERED, number
            elif self._of_brokers[number].api in STATES:
                yield exchange.received_ms, WRITTEN, number
        sources = {asked_partition(m) for _, each in self._requests.values() for m in each}
        for number, (at_ms, on) in enumerate(self._contexts):
            before = self._contexts[number - 1][1]
            if number and any(
                on.logs[p] is not before.logs[p]
                or on.image.leader_of(p) != before.image.leader_of(p)
                for p in sources
                if p in on.logs
            ):
                yield at_ms, GROWS, number

    def _now(self, number: int, kind: int) -> tuple[int, Context]:
        if kind == GROWS:
            return self._contexts[number]
        exchange = self._exchanges[number]
        at_ms = exchange.answered_ms if kind == ANSWERED else exchange.received_ms
        place = bisect_right(self._times, at_ms) - 1
        return at_ms, self._contexts[max(place, 0)][1]

    def _make_context(self, way: Follower, on: Context) -> Context:
        """Return a context for one history: with the leader's epoch, and the settings of the groups."""
        configs = self._configs or tuple(
            GroupConfig(group, auto_offset_reset=way.reset)
            for group in dict.fromkeys(m[0].group_id for _, m in self._requests.values())
        )
        made = [each for each in self._config_changes if each.at_ms <= self._now_ms]
        configs = tuple(configure_group(config, made) for config in configs)
        leaders = on.image.leaders
        for partition, held in leaders.items():
            told = self._leaders_known or topic_of(partition).startswith("__")
            if not told and held.epoch != way.epoch:
                leaders = leaders.set(partition, held.but(epoch=way.epoch))
        return on.but(image=on.image.but(leaders=leaders, group_configs=configs))

    # -- step by step --------------------------------------------------------------------------------------

    def _grow_ways(self, on: Context) -> tuple[Follower, ...]:
        found = []
        for way in (
            each
            for known in self._ways
            for begun in self._begun_or_not(known, on)
            for each in self._copied_or_not(begun)
        ):
            around = self._make_context(way, on)
            grown: Follower | None = way
            for partition in dict.fromkeys(s.partition for s in way.leader.shares.values()):
                if grown is not None:
                    here = around.image.leader_of(partition) == on.broker
                    happens = (
                        share_partition_leader.on_replicated
                        if here
                        else share_partition_leader.on_leadership_lost
                    )
                    done = happens(grown.leader, partition, around)
                    grown = self._apply_effects(grown, done, around)
            found += [grown] if grown is not None else []
        return tuple(dict.fromkeys(found)) or self._ways

    def _begun_or_not(self, way: Follower, on: Context) -> Iterator[Follower]:
        """Yield a history, and one in which share-partitions take their first start offset only after the log has grown.

        A group without a start offset begins at the end of the log (share.auto.offset.reset is latest). Its leader asks
        for that end once it has read the state, and the fetch that made it read still waits. Source:
        SharePartition.maybeInitialize, startOffsetDuringInitialization.
        """
        yield way
        around, shares = self._make_context(way, on), way.leader.shares
        for key, share in shares.items():
            if share.partition in around.logs and self._begins(way, key, share, around):
                end = around.log(share.partition).high_watermark
                shares = shares.set(key, share.but(start_offset=end, next_offset=end))
        if shares != way.leader.shares:
            yield way.but(leader=way.leader.but(shares=shares))

    def _begins(self, way: Follower, key: str, share: SharePartition, around: Context) -> bool:
        """Return whether a share-partition may still be looking for its first start offset at the end of the log."""
        at, told = way.told.get(key, 0), self._told.get(key, ())
        if not 0 < at <= len(told):
            return False
        last = told[at - 1]
        answer: Any = last.answer
        return (
            share_loading.reset_of(share.group_id, around) == LATEST
            and share.status is Status.ACTIVE
            and share.start_offset == share.next_offset
            and isinstance(answer, ReadShareGroupStateResponse)
            and answer.only.start_offset < 0
            and any(
                self._exchanges[parked.reply_to.incarnation // MOST_PARTITIONS].received_ms
                <= last.received_ms
                for parked in share.parked
            )
        )

    def _copied_or_not(self, way: Follower) -> Iterator[Follower]:
        """Yield a history, and one in which a waiting fetch reached its MaxWaitMs before followers copied the batch.

        With several brokers a leader delivers records below its high watermark, which reaches a batch when the
        followers have it; no line of a member shows when. Source: DelayedShareFetch, Partition.maybeIncrementLeaderHW.
        """
        yield way
        if self._leaders_known:
            for number in self._find_overdue(way):
                yield self._end_request(way, number)

    def _take_request(self, number: int, on: Context) -> tuple[Follower, ...]:
        """Handle a request in every possible earlier history."""
        _, messages = self._requests[number]
        told = parts_of(self._exchanges[number].response["responses"], self._names)
        found = dict.fromkeys(self._list_earlier(number, on))
        brought = {name for name, part in told.items() if count_of(part)}
        for place, message in enumerate(messages):
            kinds = [message]
            if brought and asked_partition(message) not in brought:
                # Its leader was not ready while another one was.
                kinds.append(message.but(max_records=0))
            handed = [self._hand_part(way, number, place, m, on) for way in found for m in kinds]
            found = dict.fromkeys(way for way in handed if way is not None)
        return tuple(found) or self._ways

    def _hand_part(
        self, way: Follower, number: int, place: int, message: Any, on: Context
    ) -> Follower | None:
        """Handle the part of a request about one partition.

        The session epoch advances once: the other partitions find the session as the first one did, and only the last
        one closes it.
        """
        source, messages = self._requests[number]
        around = self._make_context(way, on)
        epoch, more = message.session_epoch, len(messages) > place + 1
        who = (message.group_id, message.member_id)
        known = way.leader.sessions.get(who)
        # A request that was rejected for its session at the first partition has not advanced the epoch.
        counted = epoch > 0 and place > 0 and not _refused_for_session(way, number)
        before = None if known is None else known.epoch - counted
        leader = way.leader
        if place and epoch >= 0 and known is not None:
            renewed = leader.sessions.set(who, known.but(epoch=before))
            leader = leader.but(sessions=renewed if epoch else leader.sessions.without(who))
        if epoch == FINAL_EPOCH and more and known is not None:
            message = message.but(session_epoch=known.epoch)
        handler = (
            led_elsewhere.on_share_fetch
            if isinstance(message, ShareFetch)
            else share_partition_leader.on_share_acknowledge
        )
        to = ReplyTo(source, on.broker, number * MOST_PARTITIONS + place)
        with handling(number):
            done = handler(leader, message, to, around)
            after = self._apply_effects(way, done, around)
        if after is None or epoch != FINAL_EPOCH or not more or known is None:
            return after
        counted_back = after.leader.sessions.set(who, known)
        return after.but(leader=after.leader.but(sessions=counted_back))

    def _list_earlier(self, number: int, on: Context) -> Iterator[Follower]:
        """Yield the histories with connections that may have broken, and with a leader that may be new."""
        seen = dict.fromkeys(self._ways)
        yield from self._ways
        for way in self._ways:
            for message in self._requests[number][1]:
                key = on.image.share_key(*_place(message))
                at = way.told.get(key, 0)
                told = self._told.get(key, ())
                ahead = told[at].message if at < len(told) else None
                epoch = ahead.only.leader_epoch if isinstance(ahead, ReadShareGroupState) else 0
                if epoch > way.epoch and not self._leaders_known:
                    yield way.but(leader=ShareLeader(), epoch=epoch, owed=())
            for gone in self._close_connections(way, number, on):
                if gone not in seen:
                    seen[gone] = None
                    yield gone

    def _close_connections(self, way: Follower, number: int, on: Context) -> Iterator[Follower]:
        around = self._make_context(way, on)
        for source in self._connections.list_finished(way.leader, number):
            for done in self._connections.close(way.leader, source, number, around):
                after = self._apply_effects(way, done, around)
                if after is not None and after != way:
                    yield after
                    yield from self._close_connections(after, number, on)

    def _compare_write(self, number: int, on: Context) -> Iterator[ComparedAnswer]:
        """Compare a request to the share coordinator with that of the model's leader."""
        for key, told in self._told.items():
            place = next((i for i, each in enumerate(told) if each.number == number), None)
            if place is None:
                continue
            reached = self._reach_histories(lambda way: way.told.get(key, 0) > place, number, on)  # noqa: B023
            recorded = (("asked", sentence(told[place].message)),)
            yield ComparedAnswer(
                number,
                self._exchanges[number].api,
                f"{key}, as its leader asks",
                recorded,
                (recorded,) if reached else ((("asked", "nothing of the kind"),),),
            )
            counted = [w.but(told=w.told.set(key, place + 1)) for w in self._ways]
            heard = [
                self._deliver_answer(way, key, place, on)
                for each in reached
                for way in self._in_time_or_not(each)
            ]
            self._ways = tuple(way for way in heard if way is not None) or tuple(counted)

    def _in_time_or_not(self, way: Follower) -> Iterator[Follower]:
        """Yield a history, and one in which a waiting fetch reached its MaxWaitMs before this answer was handled.

        A share-partition whose state is not read, or which another fetch holds, returns nothing to a fetch that timed
        out: DelayedShareFetch.onComplete, SharePartition.maybeAcquireFetchLock. No line shows when the leader handles
        the share coordinator's answer.
        """
        yield way
        for number in self._find_overdue(way):
            yield self._end_request(way, number)

    def _find_overdue(self, way: Follower) -> list[int]:
        """Return the fetches that wait and were answered after their MaxWaitMs."""
        waiting = {
            parked.reply_to.incarnation // MOST_PARTITIONS
            for share in way.leader.shares.values()
            for parked in share.parked
        }
        return sorted(number for number in waiting if _waited_long(self._exchanges[number]))

    def _deliver_answer(self, way: Follower, key: str, place: int, on: Context) -> Follower | None:
        """Deliver an answer of the share coordinator that the leader has waited for."""
        owed = next((o for o in way.owed if (o.key, o.place) == (key, place)), None)
        if owed is None:
            return way
        way = way.but(owed=tuple(o for o in way.owed if o != owed))
        around = self._make_context(way, on)
        answer = self._told[key][place].answer
        heard = share_partition_leader.on_state_answered(way.leader, key, owed.tag, answer, around)
        return self._apply_effects(way, heard, around)

    def _compare_answer(self, number: int, on: Context) -> Iterator[ComparedAnswer]:
        """Compare the answer to a member, for each partition, with the model's."""
        exchange = self._exchanges[number]
        _, messages = self._requests[number]
        parts = parts_of(exchange.response["responses"], self._names)
        known = [asked_partition(m) for m in messages]
        own = (*known, *(a.about.rpartition(" ")[2] for a in self._refused if a.number == number))
        if exchange.api == "SHARE_ACKNOWLEDGE":
            own = tuple(parts_of(exchange.request["topics"], self._names))
        others = [name for name in parts if name not in own]
        recorded = [recorded_answer(exchange, p, self._names, others) for p in known]
        reached = self._reach_histories(lambda way: self._says(way, number) == recorded, number, on)
        ways = reached or self._ways
        said = [self._says(way, number) for way in ways]
        self._ways = tuple(dict.fromkeys(self._end_request(way, number) for way in ways))
        for place, message in enumerate(messages):
            about = f"{message.group_id} {message.member_id} {known[place]}"
            possible = tuple(dict.fromkeys(each[place] for each in said))
            yield ComparedAnswer(number, exchange.api, about, recorded[place], possible)

    def _says(self, way: Follower, number: int) -> list[Said]:
        """Return the answers of a history; a fetch that waits for records may have an empty answer."""
        _, messages = self._requests[number]
        first = number * MOST_PARTITIONS
        refused = {waits.reply_to.incarnation for waits in way.leader.refused}
        return [
            way.answers.get(place, NOT_YET if place in refused else NOTHING)
            for place in range(first, first + len(messages))
        ]

    def _end_request(self, way: Follower, number: int) -> Follower:
        leader, answers = way.leader, way.answers
        for key, share in leader.shares.items():
            parked = tuple(
                p for p in share.parked if p.reply_to.incarnation // MOST_PARTITIONS != number
            )
            leader = leader.but(shares=leader.shares.set(key, share.but(parked=parked)))
        for place in range(len(self._requests[number][1])):
            answers = answers.without(number * MOST_PARTITIONS + place)
        return way.but(leader=leader, answers=answers)

    def _reach_histories(self, holds: Any, number: int, on: Context) -> tuple[Follower, ...]:
        """Return the histories for which something holds, if necessary after unseen events."""
        ways = dict.fromkeys(self._ways)
        for _ in range(UNSEEN_MAX):
            found = tuple(way for way in ways if holds(way))
            if found:
                return found
            ways = dict.fromkeys(
                after for way in ways for after in self._try_unseen(way, number, on)
            )
        return tuple(way for way in ways if holds(way))

    def _try_unseen(self, way: Follower, number: int, on: Context) -> Iterator[Follower]:
        around, leader = self._make_context(way, on), way.leader
        expired = [
            share_partition_leader.on_lock_expiry(leader, key, lock, around)
            for key, lock in share_timers.locks(leader, around)
        ]
        waited = [
            share_sessions.on_delay(leader, delay, around)
            for delay in share_sessions.delays(leader)
        ]
        for done in (*expired, *waited):
            after = self._apply_effects(way, done, around)
            if after is not None:
                yield after
        yield from self._close_connections(way, number, on)

    # -- effects -------------------------------------------------------------------------------------------

    def _apply_effects(
        self, way: Follower, done: Effects[ShareLeader], on: Context
    ) -> Follower | None:
        """Apply the leader's effects; None if it sends the share coordinator a request that was not recorded."""
        for reply in done.replies:
            number = reply.to.incarnation
            way = way.but(answers=way.answers.set(number, model_answer(reply.message)))
        way = way.but(leader=done.state)
        for call in done.local:
            if isinstance(call.message, FetchFurther):
                more = share_partition_leader.on_fetch_further(way.leader, call.message, on)
                further = self._apply_effects(way, more, on)
                if further is None:
                    return None
                way = further
        for request in done.requests:
            message: Any = request.message
            tag = str(request.tag)
            if isinstance(message, Produce):
                copied = self._write_copy(way, request.shard, tag, message, on)
                if copied is None:
                    return None
                way = copied
                continue
            if not isinstance(message, ReadShareGroupState | WriteShareGroupState):
                continue
            at = way.told.get(message.key, 0)
            told = self._told.get(message.key, ())
            if at >= len(told) or not same_request(told[at].message, message):
                return None
            way = way.but(told=way.told.set(message.key, at + 1))
            # Within one millisecond a member asks before its leader does.
            first = self._now_ms - 1 if self._find_overdue(way) else self._now_ms
            if told[at].received_ms > first and not self._states_at_once:
                way = way.but(owed=(*way.owed, Owed(message.key, tag, at)))
                continue
            heard = share_partition_leader.on_state_answered(
                way.leader, request.shard, tag, told[at].answer, on
            )
            after = self._apply_effects(way, heard, on)
            if after is None:
                return None
            way = after
        return way

    def _write_copy(
        self, way: Follower, key: str, tag: str, message: Produce, on: Context
    ) -> Follower | None:
        """Write a copy to the dead-letter queue if it is the next one there."""
        (sent,) = message.partition_data
        log = on.logs.get(sent.partition)
        last = self._contexts[-1][1].logs.get(sent.partition)
        batches = () if last is None else tuple(last.batches)
        at = way.copies.get(sent.partition, 0)
        if log is None or at >= len(batches) or not same_copies(batches[at], sent):
            return None
        way = way.but(copies=way.copies.set(sent.partition, at + 1))
        offset = batches[at].base_offset
        answer = ProduceResponse((PartitionProduceResponse(sent.partition, Errors.NONE, offset),))
        done = share_partition_leader.on_dead_letter_answered(way.leader, key, tag, answer, on)
        return self._apply_effects(way, done, on)


def _refused_for_session(way: Follower, number: int) -> bool:
    """Return whether a request's first partition was rejected because its share session is invalid or unknown."""
    said = way.answers.get(number * MOST_PARTITIONS)
    return said is not None and said[0][1] in OF_SESSIONS


def _waited_long(exchange: Exchange) -> bool:
    """Return whether a fetch was answered after its MaxWaitMs; times in a line are whole milliseconds."""
    waits: int = exchange.request["maxWaitMs"]
    return exchange.answered_ms - exchange.received_ms >= waits


def _of_brokers(exchange: Exchange) -> Exchange:
    """Blank a request to the share coordinator that did not come from a broker."""
    return exchange if exchange.principal in BROKERS else exchange.but(api="")


def _place(message: Any) -> tuple[str, str]:
    return message.group_id, asked_partition(message)
