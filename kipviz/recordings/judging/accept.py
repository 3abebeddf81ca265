"""Compare a broker's recorded answers with the model: could the model have given each of them?

The broker's logs are rebuilt (`cluster.real.rebuilt_cluster`), and the request is given to the model's broker as it was
at each moment between the request's arrival and its answer, because the recording does not show the order of log writes
in that time. The times of its line are tried first, and then the earliest possible arrival (`arrival`). The other
requests show which batch a producer sent (`appends`), and the log must contain what the answer implies
(`logged_effects`). The answer is accepted if the model gives it, with all its fields, at one of these moments. A
coordinator may also still be loading; with several brokers, from its election until it writes to its log. Just as long
a broker may not know of an election (`elections`).

Compared are all answers that follow from the logs: those of the coordinators, and of the leaders of partitions
(`leaders`, `fetching`, `coordinator_lookup`). State that is only in a broker's memory is followed from the first
request on (`followed_members`): acquisition locks, and groups of the classic protocol between two generations.
Answers also depend on ACLs (`admission`), and on the start offsets of logs (`log_starts`). `RequestBook.why_not` gives
the reason why a request is not compared. NOT MODELLED, and taken from the log: which of several equal members gets a
partition (Kafka goes by the order of a hash table). A new target may be late (KIP-1263): the model is asked both ways.
Before the first batch of a new leader in an internal log, a request may be answered with NOT_COORDINATOR. A producer's
previous epoch is in the coordinator's memory: the model is asked with it, and without.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import product
from typing import TypeVar

from kipviz.brokers.logs.partition_log import PartitionLog
from kipviz.cluster import dispatch, rejections
from kipviz.cluster.real.rebuilt_cluster import BROKER, RebuiltModel
from kipviz.cluster.world import COORDINATORS, World
from kipviz.designs.catalogue import design
from kipviz.messages.admin import DescribeProducers, DescribeTransactions
from kipviz.messages.errors import Errors
from kipviz.messages.groups import OffsetCommit, TxnOffsetCommit
from kipviz.messages.membership import ConsumerGroupHeartbeat
from kipviz.messages.message import Message
from kipviz.messages.producing import Produce
from kipviz.messages.share_membership import ShareGroupHeartbeat
from kipviz.messages.transactions import EndTxn, InitProducerId, named_transactions
from kipviz.messages.two_phase import answer_to
from kipviz.recordings.decoded.elections import (
    Known,
    known_between,
)
from kipviz.recordings.decoded.log_starts import API as DELETE_RECORDS
from kipviz.recordings.decoded.log_starts import Fronts, deletion_said, deletions_in
from kipviz.recordings.decoded.producer_id_blocks import GivenIds, gives_another
from kipviz.recordings.followed_members.joining import (
    JOINING,
    Joining,
    worlds_of_group,
)
from kipviz.recordings.followed_members.members import FollowedMembers
from kipviz.recordings.followed_members.separate_share_groups import APIS as MEMBERS_AND_STATES
from kipviz.recordings.followed_members.separate_share_groups import (
    group_by_group,
    of_one_group,
)
from kipviz.recordings.followed_members.share_requests import MEMBERS
from kipviz.recordings.judging.answering import ANYBODY, admitting, answer, said_in, serving
from kipviz.recordings.judging.handling import UNUSUAL, CannotHandleError, why_set_aside
from kipviz.recordings.judging.questions import questions
from kipviz.recordings.judging.request_book import STOPPED, GoOn, RequestBook, always
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.recording_error import RecordingError
from kipviz.recordings.replayed_roles import leaders
from kipviz.recordings.replayed_roles.answer_text import (
    Asked,
    Question,
    Said,
    better_of,
)
from kipviz.recordings.replayed_roles.coordinator_lookup import refusal_to, said_of, sought
from kipviz.recordings.replayed_roles.fetching import (
    NOT_ALLOWED,
    Read,
    answers,
    refusal_of,
)
from kipviz.recordings.request_context.admission import Admission
from kipviz.recordings.request_context.appends import PRODUCE, Appends, SeenEnds
from kipviz.recordings.request_context.arrival import as_written, span_of
from kipviz.recordings.request_context.coordinator_memory import (
    Transitions,
    remembering_epochs,
    with_unacknowledged_markers,
)
from kipviz.recordings.request_context.evidence import Evidence, cluster_of
from kipviz.recordings.request_context.logged_effects import Effects
from kipviz.recordings.request_context.office import Office
from kipviz.recordings.request_context.producer_expiry import forgetting
from kipviz.recordings.request_context.seated_worlds import SeatedWorlds
from kipviz.recordings.request_context.verification_memory import VerificationMemory
from kipviz.records.placement import SHARE_GROUP_STATE, topic_of

T = TypeVar("T")


def accept(evidence: Evidence) -> tuple[Asked, ...]:
    """Return every request that can be compared to the model.

    Raises:
        RecordingError: if a request or an answer lacks a field of its API.
    """
    return Acceptor(evidence).asked()


class Acceptor(RequestBook):
    """A broker's logs in the model, and its worlds from the first request to the last."""

    def __init__(self, evidence: Evidence) -> None:
        """Let the model read the logs.

        Raises:
            RecordingError: if a request or an answer lacks a field of its API.
        """
        super().__init__(evidence)
        self._levels = evidence.levels
        self._entries = evidence.entries
        # A merge of logs is ordered by their times.
        self._times = [entry.at_ms for entry in self._entries]
        self._places = {(e.partition, e.batch.base_offset): n for n, e in enumerate(self._entries)}
        self._effects = Effects(self._entries)
        self._identities = leaders.identities_of(self._entries)
        self._node = evidence.node
        self._indexed = evidence.indexed
        self._decisions = evidence.decisions
        self._led = evidence.led
        self._seats = SeatedWorlds(self._decisions, evidence.worlds_max)
        self._admission = Admission(evidence.allowed)
        self._brought: dict[tuple[str, int], int] = {}
        self._producer_expiry_ms = evidence.producer_expiry_ms
        chosen = design("kafka")
        rules = (chosen.broker_rules(), chosen.client_rules())
        with self._reading("A request or its answer lacks what its API has"):
            batches = leaders.batches_of(self._entries)
            self._appends = Appends(self.exchanges, self.names, batches)
            known = (self._decisions, self._entries)
            self._seen_ends = SeenEnds(self.exchanges, self.names, batches, *known)
            self._given = GivenIds(self.exchanges, evidence.first_producer_id, self._decisions)
            self._fronts = Fronts(self.exchanges, evidence.prune_ms)
            self._skipped = self._before_all()
        spec = cluster_of(evidence)
        self._model = RebuiltModel(spec, *rules, self._entries, self._skipped)
        waiting = spec.but(settings=spec.settings.but(targets_wait=True))
        self._waiting = RebuiltModel(waiting, *rules, self._entries, self._skipped)
        self._worlds = [self._model.initial()]
        while possible := self._model.enabled(self._worlds[-1]):
            self._worlds.append(self._model.step(self._worlds[-1], possible[0]).world)
        image = self._worlds[0].image
        self._office = Office(image, self._decisions, self._entries, self.exchanges)
        told = (self.exchanges, self._sent, self._entries, self._log_after)
        self._checked = VerificationMemory(*told)
        self._transitions = Transitions(self.exchanges, self._entries, self._decisions)
        times = (0, *(entry.at_ms for entry in self._entries[self._skipped :]))
        moments = tuple(zip(times, self._worlds, strict=True))
        self._own = [(at, self._model.context(world, BROKER)) for at, world in moments]
        self._members = FollowedMembers(
            evidence,
            self.names,
            self._model,
            moments,
            self._own,
            self._admission,
            self._fronts,
            self._office,
        )
        self._joining = self._setting_aside(lambda: self._follow(self.exchanges))

    @contextmanager
    def _taking_apart(self, number: int, exchange: Exchange) -> Iterator[None]:
        """Report that one exchange lacks a field of its API."""
        try:
            yield
        except UNUSUAL as problem:
            why = why_set_aside(number, exchange, problem)
            raise RecordingError(self._file, 0, why) from problem

    def _before_all(self) -> int:
        """Return the number of entries that were written before the first request: those that no request appended.

        The timestamp of a producer's batch is the time of its creation, and its request may have been sent much later.
        """
        first = min((x.received_ms for x in self.exchanges if not x.problem), default=0)
        for number, exchange in enumerate(self.exchanges):
            for one in self._list_produced(number, exchange):
                self._brought.setdefault((one.partition, one.told), number)
        brought = [self._times[self._places[at]] for at in self._brought if at in self._places]
        # A line may be late, and each request may have written something before its line.
        return max(bisect_left(self._times, min((first, *brought))) - len(self.exchanges), 0)

    def asked(self, go_on: GoOn = always) -> tuple[Asked, ...]:
        """Compare every answer; once `go_on` says no, return those that were compared so far."""
        numbers, found = range(len(self.exchanges)), list[Asked]()
        for number in numbers:
            if not go_on(number, len(numbers)):
                self.unreadable |= dict.fromkeys(numbers[number:], STOPPED)
                return self.judged(found)
            found += self.ask((number,))
        return self.judged((*found, *self.followed()))

    def ask(self, numbers: Iterable[int]) -> Iterator[Asked]:
        """Compare the answers of some exchanges; one that turns out to be unreadable is skipped."""
        for number in numbers:
            try:
                yield from tuple(self.of(number, self.exchanges[number]))
            except RecordingError as problem:
                self.unreadable[number] = problem.why

    def followed(self) -> tuple[Asked, ...]:
        """Follow the members of share groups and of classic groups from the first request to the last."""
        return (*self.shared(), *self.joined())

    def followed_again(self, number: int, changed: Exchange) -> tuple[Asked, ...]:
        """Follow one group again, with another answer to one of its members.

        Raises:
            RecordingError: if an answer lacks a field of its API.
            CannotHandleError: if the model cannot handle it.
        """
        api = changed.api
        among = MEMBERS_AND_STATES if api in MEMBERS else JOINING
        exchanges = of_one_group(self.exchanges, number, among)
        exchanges = (*exchanges[:number], changed, *exchanges[number + 1 :])
        if api in MEMBERS:
            with self._taking_apart(number, changed):
                return self._members.share_groups(exchanges)
        return tuple(each for one in self._follow(exchanges).values() for each in one.verdicts)

    def joined(self) -> tuple[Asked, ...]:
        """Follow the members of classic groups, and judge whether the model could give each answer."""
        return tuple(each for one in self._joining.values() for each in one.verdicts)

    def _setting_aside(self, follow: Callable[[], T]) -> T:
        """Follow the exchanges, and repeat without each one that the model cannot handle.

        Raises:
            RecordingError: if the one that cannot be handled was set aside already.
        """
        while True:
            try:
                return follow()
            except CannotHandleError as stuck:
                exchange = self.exchanges[stuck.number]
                why = why_set_aside(stuck.number, exchange, stuck.problem)
                self.set_aside(stuck.number, why)

    def _follow(self, exchanges: tuple[Exchange, ...]) -> dict[int, Joining]:
        """Follow the classic groups at each broker: 0 stands for a single broker."""
        with self._reading("A request of a member of a group lacks what it has"):
            return self._members.classic_groups(exchanges)

    def shared(self) -> tuple[Asked, ...]:
        """Follow the members of share groups, and judge whether the model could give each answer."""
        return self._setting_aside(self._follow_members)

    def _follow_members(self) -> tuple[Asked, ...]:
        """Follow the members of share groups, group by group."""
        with self._reading("A share fetch or acknowledgement lacks what it has"):
            groups = group_by_group(self.exchanges)
            return tuple(each for group in groups for each in self._members.share_groups(group))

    def of(self, number: int, exchange: Exchange) -> Iterator[Asked]:
        """Compare one exchange: at the times of its line, and if necessary as early as it can have arrived.

        Raises:
            RecordingError: if it lacks a field of its API.
        """
        asked = list(self._compare_between(number, as_written(exchange)))
        if all(each.accepted for each in asked):
            yield from asked
            return
        asked = better_of(asked, self._compare_between(number, exchange))
        hidden = self._decisions or exchange.api == "FETCH"
        if hidden and not all(each.accepted for each in asked):
            asked = better_of(asked, self._compare_between(number, exchange, copying=True))
        yield from asked

    def _compare_between(
        self, number: int, exchange: Exchange, *, copying: bool = False
    ) -> Iterator[Asked]:
        """Compare an exchange between the times at which it may have been handled.

        With several brokers a batch may be in its leader's log while no reader may see it yet, because a follower is
        still `copying` it, until the leader has shown it. A single broker's readers may not see a batch whose request is
        under way.
        """
        with self._taking_apart(number, exchange):
            taken = questions(exchange, self.names)
        moments = tuple(self.moments(exchange))
        with self._taking_apart(number, exchange):
            yield from self._of_leaders(number, exchange, moments, copying=copying)
            yield from self._of_coordinators(number, exchange, moments)
        for question in taken:
            if not self._office.is_here(question.message):
                continue
            seen = self._may_be_seen(question.message, exchange) if copying else moments
            with self._taking_apart(number, exchange):
                said = dict.fromkeys(self._possible(seen, exchange, question))
            yield Asked(number, exchange.api, question.about, question.recorded, tuple(said))

    def _may_be_seen(self, message: Message, exchange: Exchange) -> tuple[int, ...]:
        """Return the moments of an exchange, and those since which an answering broker's batch may not be visible."""
        home, behind = self._office.home_of(message), 0
        if home:
            behind = self._seen_ends.not_shown_ms(home, exchange)
        for name in filter(None, named_transactions(message)):
            coordinator = self._worlds[0].image.home_of_transactions(name)
            asked = self._seen_ends.not_shown_ms(coordinator, exchange, asks=True)
            behind = max(behind, asked)
        return tuple(self.moments(exchange, behind))

    def _of_leaders(
        self, number: int, exchange: Exchange, moments: tuple[int, ...], *, copying: bool
    ) -> Iterator[Asked]:
        """Compare the answers of partition leaders."""
        places = self._worlds[0].image.leaders
        for one in self._list_produced(number, exchange):
            if one.partition in places or not one.messages:
                told: list[Said] = []
                for message, at in zip(one.messages, one.at, strict=True):
                    question = Question(one.partition, message, one.recorded)
                    seen = self._may_be_seen(message, exchange) if copying else moments
                    before = self._find_append(one.partition, at)
                    if before < 0 or self._times[before + self._skipped] > exchange.answered_ms:
                        told += self._possible(seen, exchange, question)
                        continue
                    # Everything else may be as it was at any moment; the log ends where the batch begins.
                    ends = self._worlds[before].logs[one.partition]
                    told += self._possible((*seen, before), exchange, question, ends)
                told += leaders.moved_meanwhile(
                    one, tuple(told), exchange, self._known_at(exchange)
                )
                said = tuple(dict.fromkeys(told))
                yield Asked(number, exchange.api, one.partition, one.recorded, said)
        for deletion in deletions_in(exchange) if exchange.api == DELETE_RECORDS else ():
            partition = deletion.partition
            if partition in places:
                logs = (world.logs[partition] for _, world in self._list_worlds(moments, exchange))
                said = tuple(dict.fromkeys(deletion_said(log, deletion.before) for log in logs))
                yield Asked(number, exchange.api, partition, deletion.recorded, said)
        for read in self._fetching.reads(number, exchange) if exchange.api == "FETCH" else ():
            if read.partition in places or read.reading is None:
                shown = moments
                if copying:
                    far = self._seen_ends.not_shown_ms(read.partition, exchange)
                    shown = tuple(self.moments(exchange, far))
                said = tuple(dict.fromkeys(self._list_answers(read, shown, exchange)))
                yield Asked(number, exchange.api, read.partition, read.recorded, said)

    def _list_answers(
        self, read: Read, moments: tuple[int, ...], exchange: Exchange
    ) -> Iterator[Said]:
        """Yield the possible answers of a broker to a reader."""
        logs = list(self._logs_of(read.partition, moments, exchange))
        indexed = read.partition in self._indexed
        rejections = tuple(
            refusal_of(read, known, exchange.broker, exchange.version)
            for known in self._known_at(exchange)
        )
        yield from (refused for refused in rejections if refused is not None)
        admitted = self._admission.of_topic(exchange, read.partition)
        if False in admitted:
            yield NOT_ALLOWED
        if True in admitted and (None in rejections or not rejections):
            yield from (each for log in logs if log for each in answers(log, read, indexed=indexed))

    def _logs_of(
        self, partition: str, moments: tuple[int, ...], exchange: Exchange
    ) -> Iterator[PartitionLog]:
        """Yield a partition's log as it may be at the time of an exchange."""
        logs = (world.logs.get(partition) for _, world in self._list_worlds(moments, exchange))
        if topic_of(partition) != SHARE_GROUP_STATE:
            yield from (log for log in logs if log is not None)
            return
        history = [
            (at, world.logs[partition])
            for (at, _), world in zip(self._own, self._worlds, strict=True)
            if at <= exchange.answered_ms and partition in world.logs
        ]
        for log in logs:
            if log is not None:
                yield from self._fronts.pruned(log, history, exchange.received_ms)

    def _list_worlds(
        self, moments: tuple[int, ...], exchange: Exchange, ends: PartitionLog | None = None
    ) -> Iterator[tuple[int, World]]:
        """Yield the worlds of some moments, with the possible starts of their logs, and one log with a given end."""
        span = span_of(exchange)
        for at in moments:
            world = self._worlds[at]
            if ends is not None:
                world = world.but(logs=world.logs.set(ends.name, ends))
            for logs in self._fronts.between(world.logs, *span):
                yield at, world if logs is world.logs else world.but(logs=logs)

    def _of_coordinators(
        self, number: int, exchange: Exchange, moments: tuple[int, ...]
    ) -> Iterator[Asked]:
        """Compare the answers about coordinators, if all leaders are known."""
        if exchange.api != "FIND_COORDINATOR" or (self._node < 0 and not self._decisions):
            return
        for one in sought(exchange, self._worlds[0].image):
            admitted = self._admission.of_key(exchange, one.kind, one.key)
            refused = tuple(refusal_to(e) for e in admitted if e is not Errors.NONE)
            settled = not any(
                self._office.has_nobody_yet(at + self._skipped, one.home) for at in moments
            )
            nodes = [
                known.leader_of(one.home)
                for known in known_between(self._led, *span_of(exchange))
                if self._led
            ]
            said = tuple(
                each
                for node in dict.fromkeys(nodes or [self._node])
                for each in said_of(node, settled=settled)
            )
            known = said if Errors.NONE in admitted else ()
            yield Asked(number, exchange.api, one.key, one.recorded, (*refused, *known))

    def _known_at(self, exchange: Exchange) -> tuple[Known, ...]:
        """Return what the brokers may have known at the time of an exchange; nothing with a single broker."""
        return self._seats.known_between(*span_of(exchange))

    def _views(
        self, moments: tuple[int, ...], exchange: Exchange, ends: PartitionLog | None
    ) -> list[tuple[int, World]]:
        """Return the worlds of some moments, as the answering broker may see them."""
        worlds = list(self._list_worlds(moments, exchange, ends))
        if known := self._known_at(exchange):
            worlds = [(at, self._seats.of(w, each)) for (at, w), each in product(worlds, known)]
        admitted = self._admission.acls_of(exchange)
        return [(at, admitting(w, acls)) for (at, w), acls in product(worlds, admitted)]

    def _list_produced(self, number: int, exchange: Exchange) -> Iterator[leaders.Produced]:
        if exchange.api == PRODUCE:
            known = (self._appends, self._identities, self._sent)
            yield from leaders.produced(number, exchange, self.names, *known)

    def _find_append(self, partition: str, offset: int) -> int:
        """Return the moment before a batch was in the log, -1 if the log has it from the beginning on.

        The timestamp of a producer's batch is the time of its creation, not of its append.
        """
        return max(self._places.get((partition, offset), -1) - self._skipped, -1)

    def moments(self, exchange: Exchange, behind_ms: int = 0) -> Iterator[int]:
        """Yield the numbers of entries that the logs may have had at some time of an exchange."""
        first = bisect_left(self._times, span_of(exchange)[0] - behind_ms)
        last = bisect_right(self._times, exchange.answered_ms)
        yield from (at - self._skipped for at in range(max(first, self._skipped), last + 1))

    def _possible(
        self,
        moments: tuple[int, ...],
        exchange: Exchange,
        question: Question,
        ends: PartitionLog | None = None,
    ) -> Iterator[Said]:
        api, message = exchange.api, question.message
        heartbeat = isinstance(message, ConsumerGroupHeartbeat | ShareGroupHeartbeat)
        models = (self._model, self._waiting) if heartbeat else (self._model,)
        not_there = not self._decisions and any(
            self._office.is_between_leaders(at + self._skipped, message) for at in moments
        )
        if not_there or self._office.is_new(message, exchange):
            yield said_in(api, message, rejections.reject_not_leader(message))
        if isinstance(message, InitProducerId) and self._given.block_is_due(exchange):
            loading = answer_to(message)(Errors.COORDINATOR_LOAD_IN_PROGRESS)
            yield said_in(api, message, loading)
        for model, (at, world) in product(models, self._views(moments, exchange, ends)):
            for alike in self._alike(at, world, message, exchange):
                who = exchange.principal or ANYBODY
                reply = answer(model, alike, message, serving(alike, message, exchange), who)
                if reply is not None and self._effects.allow(message, reply, *span_of(exchange)):
                    yield said_in(api, message, reply)

    def _alike(
        self, at: int, world: World, message: Message, exchange: Exchange
    ) -> Iterator[World]:
        """Yield the worlds that a log leaves open: feature level, loading coordinators, state in memory."""
        for level in self._levels:
            features = world.image.features.but(transaction_version=level)
            image = world.image.but(features=features)
            leveled = world if image == world.image else world.but(image=image)
            key = dispatch.role_for(message, exchange.broker or BROKER, world.image)
            if isinstance(message, InitProducerId):
                name, past = message.transactional_id, self._entries[: at + self._skipped]
                remembered = (leveled, *remembering_epochs(leveled, key, name, past))
                given = self._given.next_of(exchange)
                yield from (w.but(next_producer_id=n) for w, n in product(remembered, given))
            elif isinstance(message, EndTxn) and gives_another(exchange):
                given = self._given.next_of(exchange)
                yield from (leveled.but(next_producer_id=each) for each in given)
            elif isinstance(message, DescribeProducers):
                before = exchange.answered_ms - self._producer_expiry_ms
                past = self._entries[: at + self._skipped]
                yield from forgetting(leveled, message.partition, past, before)
            elif isinstance(message, DescribeTransactions):
                past = self._entries[: at + self._skipped]
                yield leveled
                yield from with_unacknowledged_markers(leveled, key, past, exchange, message)
            elif isinstance(message, OffsetCommit | TxnOffsetCommit):
                joining = self._joining[exchange.broker if self._decisions else 0]
                ways = tuple(joining.groups_between(*span_of(exchange)))
                yield from worlds_of_group(leveled, key, message.group_id, ways)
            elif isinstance(message, Produce):
                for each in self._checked.worlds_of(leveled, exchange, message):
                    yield each
                    yield from self._in_transition(at, each, message, exchange)
                continue
            else:
                yield leveled
            yield from self._in_transition(at, leveled, message, exchange)
            for asked in self._office.asked_by(message, key, world.roles):
                role = world.roles[asked]
                if isinstance(role, COORDINATORS) and self._office.may_load(asked[2], exchange):
                    yield leveled.but(roles=world.roles.set(asked, role.but(loading=True)))

    def _in_transition(
        self, at: int, world: World, message: Message, exchange: Exchange
    ) -> Iterator[World]:
        entries = at + self._skipped
        return self._transitions.worlds_of(world, message, exchange, entries, self._world_after)

    def _world_after(self, entries: int) -> World | None:
        """Return the world after a number of entries of all logs; None if that was before the first request."""
        return self._worlds[entries - self._skipped] if entries >= self._skipped else None

    def _log_after(self, partition: str, entries: int) -> PartitionLog | None:
        """Return a partition's log after a number of entries of all logs."""
        return self._worlds[max(entries - self._skipped, 0)].logs.get(partition)
