"""Groups of the classic protocol, followed from one generation to the next.

Between two generations such a group exists only in its coordinator's memory. So the coordinator of the model gets the
recorded requests in the same order, and every answer is compared with the recording. Events that a request log does not
show happen in the model wherever they explain the next answer: a session times out, a rebalance or the wait for an
assignment times out, the first generation begins, a new coordinator continues from the log.

A member has the id that it got in the recording; that id begins with its client.id or its group.instance.id. NOT
MODELLED: a group that is between two generations when the first request comes; the first members of a group in a
version of JoinGroup before 4, which get no id to return with; which of several members leads after a leader has left
(Kafka goes by the order of a hash table); other assignors than the first that a member names.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from itertools import permutations
from typing import Any

from kipviz.brokers.context import Context, Effects, Reply, ReplyTo
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.membership import classic_membership
from kipviz.brokers.membership.classic_group import ClassicGroup
from kipviz.cluster.dispatch import HANDLERS
from kipviz.cluster.world import RoleKey, World, role_at
from kipviz.core.table import Table
from kipviz.core.values import Part
from kipviz.messages.apis.api import Role
from kipviz.messages.apis.catalogue import reject_request
from kipviz.messages.errors import Errors
from kipviz.messages.groups.classic_groups import NO_MEMBER
from kipviz.messages.message import Message
from kipviz.recordings.followed_members.join_answer_text import (
    model_answer,
    parts_of_request,
    recorded_answer,
)
from kipviz.recordings.judging.handling import handling
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.replayed_roles.answer_text import ComparedAnswer, Said, count_refused
from kipviz.recordings.request_context.admission import Admission
from kipviz.recordings.request_context.arrival import as_early
from kipviz.records.placement import CONSUMER_OFFSETS

NO_TIMES: Mapping[str, tuple[int, ...]] = {}
JOINING = ("JOIN_GROUP", "SYNC_GROUP", "HEARTBEAT", "LEAVE_GROUP")
# The number of unseen events that may happen between two recorded ones.
UNSEEN_MAX, UNSEEN_BEFORE = 3, 2
# Requests within so many ms may have arrived in the other order: their times are rounded.
TOGETHER_MS = 2
TOGETHER_MAX = 4
# A request whose time is rounded may have arrived before an answer of the same time.
ROUNDED_MS = 1
# Any delay of an empty group: its end is searched for, not computed.
DELAY_MS = 1
# One request may name several members.
MOST_MEMBERS = 1_000
Place = tuple[str, str]
# The times between which a partition got a leader: its last batch before, its first batch after.
Election = tuple[int, int]
# A partition's first leader has the state with which the recording begins: nothing is read for it.
FIRST_TERM = 1
WITHOUT_RIGHT = Errors.GROUP_AUTHORIZATION_FAILED
BEATS, SYNCS, JOINS = "HEARTBEAT", "SYNC_GROUP", "JOIN_GROUP"
REBALANCING = int(Errors.REBALANCE_IN_PROGRESS)
OUT_OF_OFFICE = (Errors.NOT_COORDINATOR, Errors.COORDINATOR_LOAD_IN_PROGRESS)


class Follower(Part, frozen=True):
    """One possible history up to now.

    `coordinators` has the coordinator of each partition, `names` the model's id of a group's member, `answers` those
    that were not compared yet; `terms` counts the leaders that a partition has had, if that is more than its first.
    """

    coordinators: Table[str, GroupCoordinator] = Table.of()
    names: Table[Place, str] = Table.of()
    answers: Table[int, Message] = Table.of()
    terms: Table[str, int] = Table.of()


class Joining:
    """The requests of classic groups' members to one broker, and its possible answers."""

    def __init__(
        self,
        exchanges: tuple[Exchange, ...],
        contexts: list[tuple[int, Context, Any]],
        elections: dict[str, tuple[Election, ...]],
        admission: Admission,
        *,
        leaders_known: bool = False,
        complete: Mapping[str, tuple[int, ...]] = NO_TIMES,
    ) -> None:
        """Store the exchanges; `contexts` are times with the context and the roles at that time.

        `elections` has for each partition the times between which it got a leader. A request that the authorizer
        rejects reaches no role. `leaders_known` says that the contexts have the elected leaders; then `complete` has
        for each of them the time since which the log that it reads is complete.
        """
        self._complete = complete
        self._leaders_known = leaders_known
        # A delay of 0 ms is a timer, too: a member that joins before it fires is in the first generation.
        self._rings_at_once = any(
            not on.settings.initial_rebalance_delay_ms for _, on, _ in contexts
        )
        if self._rings_at_once:
            contexts = [(at, _delaying(on), roles) for at, on, roles in contexts]
        self._admission = admission
        self._exchanges = exchanges
        self._contexts = contexts
        self._times = [at for at, _, _ in contexts]
        self._elections = elections
        self._asked = {
            number: tuple(parts_of_request(exchange))
            for number, exchange in enumerate(exchanges)
            if exchange.api in JOINING
        }
        self._ways: tuple[Follower, ...] = (Follower(),)
        self._history: list[tuple[int, tuple[Follower, ...]]] = [(0, self._ways)]
        self.verdicts = tuple(self._follow_recording())

    def _follow_recording(self) -> Iterator[ComparedAnswer]:
        """Follow the recording from its beginning, and judge whether the model can give each answer."""
        exchanges = self._exchanges
        turned_away = {n: self._judge_rejection(n) for n in self._asked}
        refused = {n: verdicts for n, verdicts in turned_away.items() if verdicts}
        asked = [n for n in self._asked if n not in refused]
        waiting = sorted(asked, key=lambda n: exchanges[n].received_ms)
        yield from (verdict for verdicts in refused.values() for verdict in verdicts)
        for number in sorted(asked, key=lambda n: exchanges[n].answered_ms):
            at = exchanges[number].answered_ms
            early = [n for n in waiting if exchanges[n].received_ms < at or n == number]
            late = [
                n for n in waiting if n not in early and exchanges[n].received_ms <= at + ROUNDED_MS
            ]
            with handling(number):
                taken, verdicts = self._compare_answer(number, early, late)
            waiting = [n for n in waiting if n not in taken]
            yield from verdicts
            self._history.append((at, self._ways))

    def groups_between(self, begin: int, end: int) -> Iterator[Table[str, ClassicGroup]]:
        """Yield the groups as they may have been at some time, with their members' recorded ids."""
        ways: dict[Follower, None] = {}
        for number, (at, found) in enumerate(self._history):
            later = self._history[number + 1 :]
            if at <= end and (not later or later[0][0] >= begin):
                ways |= dict.fromkeys(found)
        for way in ways:
            yield _name_members(way)

    def _judge_rejection(self, number: int) -> tuple[ComparedAnswer, ...]:
        with handling(number):
            return (*self._not_allowed(number), *self._without_coordinator(number))

    def _without_coordinator(self, number: int) -> Iterator[ComparedAnswer]:
        """Accept that a coordinator which is not active yet rejects a request, without any effect.

        A loading coordinator knows no member, and answers every heartbeat with NONE
        (GroupCoordinatorService.heartbeat). Its answer to JoinGroup does not repeat the member's id
        (GroupCoordinatorService.joinGroup, handleOperationException).
        """
        exchange, askings = self._exchanges[number], self._asked[number]
        shard, _, coordinator = self._find_coordinator(Follower(), number)
        if coordinator is None or not self._list_elections(shard, number):
            return
        for asking in askings:
            recorded = recorded_answer(exchange, asking)
            message = asking.message(str)
            well = (Errors.NONE,) if exchange.api == BEATS else ()
            for error in (*OUT_OF_OFFICE, *well):
                said = model_answer(reject_request(message, error), {})
                if exchange.api == JOINS and said != recorded:
                    said = with_no_member(said)
                if said == recorded:
                    about = f"{asking.group_id} {asking.member_id or asking.named}"
                    yield ComparedAnswer(number, exchange.api, about, recorded, (said,))

    def _not_allowed(self, number: int) -> Iterator[ComparedAnswer]:
        """Judge a request without the right to its group: was it rejected?"""
        exchange = self._exchanges[number]
        admitted = self._admission.of_group(exchange)
        if False not in admitted:
            return
        said = []
        for asking in self._asked[number]:
            refusal = reject_request(asking.message(str), WITHOUT_RIGHT)
            said.append((asking, recorded_answer(exchange, asking), model_answer(refusal, {})))
        if True in admitted and any(recorded != possible for _, recorded, possible in said):
            return
        for asking, recorded, possible in said:
            about = f"{asking.group_id} {asking.member_id or asking.named}"
            yield ComparedAnswer(number, exchange.api, about, recorded, (possible,))

    def _list_elections(self, shard: str, number: int) -> tuple[int, ...]:
        """Return the elections of a partition that may happen while a request is in progress."""
        exchange = self._exchanges[number]
        return tuple(
            which
            for which, (begin, end) in enumerate(self._elections.get(shard, ()))
            if begin <= exchange.answered_ms and exchange.received_ms <= end
        )

    # -- in order --------------------------------------------------------------------------------------

    def _handle_requests(
        self, ways: tuple[Follower, ...], numbers: list[int]
    ) -> tuple[Follower, ...]:
        """Handle requests, and those that arrived together in every order."""
        together: list[int] = []
        for number in numbers:
            at = self._exchanges[number].received_ms
            if together and at - self._exchanges[together[-1]].received_ms > TOGETHER_MS:
                ways = self._hand_requests(ways, together)
                together = []
            together.append(number)
        return self._hand_requests(ways, together) if together else ways

    def _hand_requests(
        self, ways: tuple[Follower, ...], together: list[int]
    ) -> tuple[Follower, ...]:
        found: dict[Follower, None] = {}
        for order in permutations(together) if len(together) <= TOGETHER_MAX else (together,):
            for way in ways:
                after: dict[Follower, None] = {way: None}
                for number in order:
                    taken = (one for each in after for one in self._stored_or_not(each, number))
                    after = dict.fromkeys(e for one in taken for e in self._rung(one, number))
                found |= after
        return tuple(found)

    def _rung(self, way: Follower, number: int) -> Iterator[Follower]:
        """Yield a history, and with a delay of 0 ms also one in which the first generation has begun."""
        yield way
        if not self._rings_at_once:
            return
        shard, on, coordinator = self._find_coordinator(way, number)
        group = self._exchanges[number].request["groupId"]
        if coordinator is None:
            return
        for delay in classic_membership.delays(coordinator):
            if delay.group_id == group:
                done = classic_membership.on_delay(coordinator, delay, on)
                begun = self._apply_effects(way, shard, done, on)
                still = begun.coordinators[shard]
                if delay in classic_membership.delays(still):
                    done = classic_membership.on_delay(still, delay, on)
                    begun = self._apply_effects(begun, shard, done, on)
                yield begun

    def _stored_or_not(self, way: Follower, number: int) -> Iterator[Follower]:
        """Yield the history after a request, and for an assignment one in which a rebalance begins before it is stored.

        The group is stable once its assignment is stored; a member that joins meanwhile makes the coordinator answer with
        REBALANCE_IN_PROGRESS, and what is stored then has no effect. Source: GroupMetadataManager.classicGroupSync.
        """
        yield self._take_request(way, number)
        exchange = self._exchanges[number]
        if exchange.api == SYNCS and exchange.response["errorCode"] == REBALANCING:
            yield self._take_request(way, number, stored=False)

    def _take_request(self, way: Follower, number: int, *, stored: bool = True) -> Follower:
        exchange = self._exchanges[number]
        way = self._in_term(way, number)
        for place, asking in enumerate(self._asked[number]):
            shard, on, coordinator = self._find_coordinator(way, number)
            if coordinator is None:
                return way
            group = asking.group_id
            message = asking.message(lambda name: way.names.get((group, name), name))  # noqa: B023
            to = ReplyTo(exchange.client, on.broker, number * MOST_MEMBERS + place)
            before = _members(coordinator, group)
            with handling(number):
                asked = on.but(client_id=asking.client_id)
                done = HANDLERS[type(message)](coordinator, message, to, asked)
                way = self._apply_effects(way, shard, done, on, stored=stored)
            new = [m for m in _members(way.coordinators[shard], group) if m not in before]
            if asking.member_id == NO_MEMBER and new and asking.is_named_well:
                way = way.but(names=way.names.set((group, asking.named), new[0]))
        return way

    def _find_coordinator(
        self, way: Follower, number: int
    ) -> tuple[str, Context, GroupCoordinator | None]:
        """Return the coordinator of a request's group; at first it has the state of the log."""
        exchange = self._exchanges[number]
        _, found, roles = self._context_at(exchange.received_ms)
        shard = found.image.home_of(CONSUMER_OFFSETS, exchange.request["groupId"])
        here = roles.get((found.broker, Role.GROUP_COORDINATOR, shard))
        if here is None and self._leaders_known:
            return shard, found, None
        if shard in way.coordinators:
            return shard, found, way.coordinators[shard]
        first = self._contexts[0][2].get((found.broker, Role.GROUP_COORDINATOR, shard))
        return shard, found, None if here is None else (first or here)

    def _in_term(self, way: Follower, number: int) -> Follower:
        """Return a history in which a newly elected coordinator has read the log, if elections are known."""
        if not self._leaders_known:
            return way
        at = self._exchanges[number].received_ms
        _, found, roles = self._context_at(at)
        shard = found.image.home_of(CONSUMER_OFFSETS, self._exchanges[number].request["groupId"])
        begins = [begin for begin, _ in self._elections.get(shard, ())]
        term = bisect_right(begins, at) - 1
        if (
            term < way.terms.get(shard, FIRST_TERM)
            or (found.broker, Role.GROUP_COORDINATOR, shard) not in roles
        ):
            return way
        loaded = self._load_coordinator(shard, term)
        return way.but(
            coordinators=way.coordinators.set(shard, loaded), terms=way.terms.set(shard, term + 1)
        )

    def _load_coordinator(self, shard: str, term: int) -> GroupCoordinator:
        """Return the elected coordinator of a partition with the state that it read in the log."""
        began, complete = self._elections[shard][term][0], self._complete.get(shard)
        _, on, roles = self._context_at(max(began, complete[term]) if complete else began)
        loaded: GroupCoordinator = roles[on.broker, Role.GROUP_COORDINATOR, shard]
        return loaded

    def _context_at(self, at_ms: int) -> tuple[int, Context, Any]:
        return self._contexts[max(bisect_right(self._times, at_ms) - 1, 0)]

    def _apply_effects(
        self,
        way: Follower,
        shard: str,
        done: Effects[GroupCoordinator | None],
        on: Context,
        *,
        stored: bool = True,
    ) -> Follower:
        """Apply the coordinator's effects: its writes are replicated at once, or so late that they have no effect."""
        for reply in done.replies:
            way = _keep_answer(way, reply)
        coordinator = done.state
        assert coordinator is not None, "a coordinator resigns only if it could not store a group"
        waiting, coordinator = coordinator.waiting, coordinator.but(waiting=())
        way = way.but(coordinators=way.coordinators.set(shard, coordinator))
        for wait in waiting:
            if wait.reply is not None:
                way = _keep_answer(way, wait.reply)
            if wait.call is not None and stored:
                group: Any = wait.call.message
                heard = classic_membership.on_group_stored(way.coordinators[shard], group, on)
                way = self._apply_effects(way, shard, heard, on)
        return way

    def _compare_answer(
        self, number: int, early: list[int], late: list[int]
    ) -> tuple[list[int], list[ComparedAnswer]]:
        """Compare the answer to a member with the model's.

        Return which of the requests that arrived before it, or may have, are handled; and the verdict.
        """
        exchange, askings = self._exchanges[number], self._asked[number]
        if self._find_coordinator(self._ways[0], number)[2] is None:
            return early, []
        recorded = [recorded_answer(exchange, asking) for asking in askings]
        # Histories without unseen events come first: a member that left explains as much as one that timed out.
        both = sorted((*early, *late), key=lambda n: self._exchanges[n].received_ms)
        taken, reached = early, self._reach_answers(recorded, number, early, unseen=False)
        for more, unseen in ((both, False), (early, True), (both, True)):
            if not reached and (late or more is early):
                taken, reached = more, self._reach_answers(recorded, number, more, unseen=unseen)
        if not reached:
            taken, reached = early, self._handle_requests(self._ways, early)
        said = [self._says(way, number) for way in reached]
        first = number * MOST_MEMBERS
        over = [
            way.but(answers=_drop_answers(way.answers, range(first, first + len(askings))))
            for way in reached
        ]
        self._ways = tuple(dict.fromkeys(over))
        verdicts = []
        for place, asking in enumerate(askings):
            about = f"{asking.group_id} {asking.member_id or asking.named}"
            possible = tuple(dict.fromkeys(each[place] for each in said if each[place]))
            verdicts.append(ComparedAnswer(number, exchange.api, about, recorded[place], possible))
        return taken, verdicts

    def _says(self, way: Follower, number: int) -> list[Said]:
        first = number * MOST_MEMBERS
        found = [way.answers.get(first + i) for i in range(len(self._asked[number]))]
        group = self._exchanges[number].request["groupId"]
        names = {model: name for (of, name), model in way.names.items() if of == group}
        return [() if each is None else model_answer(each, names) for each in found]

    def _reach_answers(
        self, recorded: list[Said], number: int, taken: list[int], *, unseen: bool
    ) -> tuple[Follower, ...]:
        """Return the histories with the recorded answers, with `unseen` also those with unseen events.

        Those may have happened before the requests arrived, or while they waited for their answers.
        """
        ways = dict.fromkeys(self._ways)
        for _ in range(UNSEEN_BEFORE if unseen else 1):
            handed = dict.fromkeys(self._handle_requests(tuple(ways), taken))
            for _ in range(UNSEEN_MAX if unseen else 1):
                reached = tuple(way for way in handed if self._says(way, number) == recorded)
                if reached or not unseen:
                    return reached
                handed = dict.fromkeys(e for w in handed for e in self._try_unseen(w, number))
            ways = dict.fromkeys(each for way in ways for each in self._try_unseen(way, number))
        return ()

    def _try_unseen(self, way: Follower, number: int) -> Iterator[Follower]:
        shard, on, coordinator = self._find_coordinator(way, number)
        if coordinator is None:
            return
        for delay in classic_membership.delays(coordinator):
            done = classic_membership.on_delay(coordinator, delay, on)
            yield self._apply_effects(way, shard, done, on)
        for which in self._list_elections(shard, number):
            if which >= way.terms.get(shard, FIRST_TERM):
                loaded = self._load_coordinator(shard, which)
                yield way.but(
                    coordinators=way.coordinators.set(shard, loaded),
                    terms=way.terms.set(shard, which + 1),
                )
        for timer in classic_membership.timers(coordinator, on):
            done = classic_membership.on_timer(coordinator, timer, on)
            yield self._apply_effects(way, shard, done, on)


def with_no_member(said: Said) -> Said:
    """Return what a response to JoinGroup says, without a member's id."""
    return tuple((field, NO_MEMBER if field == "member" else value) for field, value in said)


def _delaying(on: Context) -> Context:
    return on.but(settings=on.settings.but(initial_rebalance_delay_ms=DELAY_MS))


def _keep_answer(way: Follower, reply: Reply) -> Follower:
    return way.but(answers=way.answers.set(reply.to.incarnation, reply.message))


def _drop_answers(answers: Table[int, Message], numbers: range) -> Table[int, Message]:
    for number in numbers:
        if number in answers:
            answers = answers.without(number)
    return answers


def _members(coordinator: GroupCoordinator, group_id: str) -> tuple[str, ...]:
    group = coordinator.classic_groups.get(group_id) or ClassicGroup()
    return (*group.members.keys(), *group.pending)


def _name_members(way: Follower) -> Table[str, ClassicGroup]:
    """Return the groups of a history with the recorded ids of their members."""
    names = {(group, model): name for (group, name), model in way.names.items()}
    found = {}
    for coordinator in way.coordinators.values():
        for group_id, group in coordinator.classic_groups.items():
            members = Table.of(
                (names.get((group_id, name), name), member)
                for name, member in group.members.items()
            )
            found[group_id] = group.but(members=members)
    return Table.of(found)


def best_joining(
    exchanges: tuple[Exchange, ...],
    contexts: list[tuple[int, Context, Any]],
    elections: dict[str, tuple[Election, ...]],
    admission: Admission,
    *,
    leaders_known: bool,
    complete: Mapping[str, tuple[int, ...]],
) -> Joining:
    """Follow the groups of a broker in the order of the lines, and if necessary with earlier arrivals.

    The arguments are those of `Joining`.
    """
    told = (contexts, elections, admission)
    best = Joining(exchanges, *told, leaders_known=leaders_known, complete=complete)
    if not count_refused(best.verdicts):
        return best
    moved = as_early(exchanges, JOINING)
    early = Joining(moved, *told, leaders_known=leaders_known, complete=complete)
    return min((best, early), key=lambda each: count_refused(each.verdicts))


def worlds_of_group(
    world: World, key: RoleKey, group_id: str, ways: tuple[Table[str, ClassicGroup], ...]
) -> Iterator[World]:
    """Yield the worlds with a classic group as its history leaves it; it may also be created a moment later.

    If the log has a later generation than the history, a session timed out since its last request.
    """
    role = role_at(world.roles, key, GroupCoordinator)
    known = [groups for groups in ways if group_id in groups]
    logged = None if role is None else role.classic_groups.get(group_id)
    later = logged is not None and all(
        groups[group_id].generation < logged.generation for groups in known
    )
    # With several brokers the one that is asked may not know yet that it coordinates the group, or may no longer do so.
    if len(known) < len(ways) or not ways or role is None or later:
        yield world
    if role is None:
        return
    for groups in known:
        there = role.classic_groups.set(group_id, groups[group_id])
        yield world.but(roles=world.roles.set(key, role.but(classic_groups=there)))
