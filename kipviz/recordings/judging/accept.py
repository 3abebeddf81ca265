"""Compare a broker's recorded answers with the model: could the model have given each of them?

The request is given to the model's broker as it was at each moment between the request's arrival and its answer
(`possible_worlds`), because the recording does not show the order of log writes in that time. The times of its line
are tried first, and then the earliest possible arrival (`arrival`). The other requests show which batch a producer sent
(`appends`), and the log must contain what the answer implies (`logged_effects`). The answer is accepted if the model
gives it, with all its fields, at one of these moments.

Compared are all answers that follow from the logs: those of the coordinators, and of the leaders of partitions
(`leaders`, `fetching`, `coordinator_lookup`). State that is only in a broker's memory is followed from the first
request on (`followed_groups`). Answers also depend on ACLs (`admission`). `RequestBook.why_not` gives the reason why a
request is not compared. NOT MODELLED, and taken from the log: which of several equal members gets a partition (Kafka
goes by the order of a hash table). A new target may be late (KIP-1263): the model is asked both ways. Before the first
batch of a new leader in an internal log, a request may be answered with NOT_COORDINATOR.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from kipviz.brokers.logs.partition_log import PartitionLog
from kipviz.cluster import rejections
from kipviz.messages.errors import Errors
from kipviz.messages.groups.membership import ConsumerGroupHeartbeat
from kipviz.messages.message import Message
from kipviz.messages.shares.share_membership import ShareGroupHeartbeat
from kipviz.messages.transactions.transactions import (
    InitProducerId,
    InitProducerIdResponse,
    named_transactions,
)
from kipviz.recordings.decoded.elections import (
    list_known,
)
from kipviz.recordings.decoded.log_starts import API as DELETE_RECORDS
from kipviz.recordings.decoded.log_starts import Fronts, deletion_said, deletions_in
from kipviz.recordings.decoded.producer_id_blocks import GivenIds
from kipviz.recordings.followed_members.followed_groups import FollowedGroups
from kipviz.recordings.followed_members.members import FollowedMembers
from kipviz.recordings.judging.answering import ANYBODY, answer, compared_part, serving
from kipviz.recordings.judging.questions import questions
from kipviz.recordings.judging.request_book import STOPPED, GoOn, RequestBook, always
from kipviz.recordings.possible_worlds.coordinator_memory import (
    Transitions,
)
from kipviz.recordings.possible_worlds.open_worlds import OpenWorlds
from kipviz.recordings.possible_worlds.replayed_logs import ReplayedLogs
from kipviz.recordings.possible_worlds.verification_memory import VerificationMemory
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.recording_error import RecordingError
from kipviz.recordings.replayed_roles import leaders
from kipviz.recordings.replayed_roles.answer_text import (
    ComparedAnswer,
    RequestPart,
    Said,
    better_of,
)
from kipviz.recordings.replayed_roles.coordinator_lookup import (
    possible_answers,
    refusal_to,
    sought_keys,
)
from kipviz.recordings.replayed_roles.fetching import (
    NOT_ALLOWED,
    FetchedPartition,
    answers,
    refusal_of,
)
from kipviz.recordings.request_context.admission import Admission
from kipviz.recordings.request_context.appends import PRODUCE, Appends, SeenEnds
from kipviz.recordings.request_context.arrival import as_written, span_of
from kipviz.recordings.request_context.evidence import Evidence
from kipviz.recordings.request_context.known_leaders import KnownLeaders
from kipviz.recordings.request_context.logged_effects import LoggedEffects


def accept(evidence: Evidence) -> tuple[ComparedAnswer, ...]:
    """Return every request that can be compared to the model.

    Raises:
        RecordingError: if a request or an answer lacks a field of its API.
    """
    return Acceptor(evidence).compare_all()


class Acceptor(RequestBook):
    """A broker's recorded answers, compared with those of the model.

    Attributes:
        logs: the broker's logs in the model.
        groups: the members of groups, followed from the first request to the last.
        known_leaders: the leaders, as far as the recording shows them.
    """

    def __init__(self, evidence: Evidence) -> None:
        """Let the model read the logs.

        Raises:
            RecordingError: if a request or an answer lacks a field of its API.
        """
        super().__init__(evidence)
        self._effects = LoggedEffects(evidence.entries)
        self._identities = leaders.identities_of(evidence.entries)
        self._node = evidence.node
        self._indexed = evidence.indexed
        self._decisions = evidence.decisions
        self._led = evidence.led
        self._admission = Admission(evidence.allowed)
        known = (self._decisions, evidence.entries)
        with self.reading("A request or its answer lacks what its API has"):
            batches = leaders.batches_of(evidence.entries)
            self._appends = Appends(self.exchanges, self.names, batches)
            self._seen_ends = SeenEnds(self.exchanges, self.names, batches, *known)
            self._given = GivenIds(self.exchanges, evidence.first_producer_id, self._decisions)
            fronts = Fronts(self.exchanges, evidence.prune_ms)
            brought = tuple(dict.fromkeys(self._list_brought()))
        self.logs = ReplayedLogs(evidence, self.exchanges, brought)
        self.known_leaders = KnownLeaders(self.logs.worlds[0].image, *known, self.exchanges)
        # Of every request, also of those that are set aside while groups are followed.
        told = (self.exchanges, self._sent, evidence.entries, self.logs.log_after)
        checked = VerificationMemory(*told)
        transitions = Transitions(self.exchanges, evidence.entries, self._decisions)
        members = FollowedMembers(
            evidence,
            self.names,
            self.logs.model,
            self.logs.timed,
            self.logs.own,
            self._admission,
            fronts,
            self.known_leaders,
        )
        self.groups = FollowedGroups(self, members)
        self._worlds = OpenWorlds(
            evidence,
            self.logs,
            self._admission,
            fronts,
            self.known_leaders,
            self._given,
            checked,
            transitions,
            self.groups.joining,
        )

    def _list_brought(self) -> Iterator[tuple[str, int]]:
        """Yield the partitions and offsets of the batches that requests appended."""
        for number, exchange in enumerate(self.exchanges):
            for one in self._list_produced(number, exchange):
                yield one.partition, one.told

    def compare_all(self, go_on: GoOn = always) -> tuple[ComparedAnswer, ...]:
        """Compare every answer; once `go_on` says no, return those that were compared so far."""
        numbers, found = range(len(self.exchanges)), list[ComparedAnswer]()
        for number in numbers:
            if not go_on(number, len(numbers)):
                self.unreadable |= dict.fromkeys(numbers[number:], STOPPED)
                return self.judge_answers(found)
            found += self.ask((number,))
        return self.judge_answers((*found, *self.groups.judge_all()))

    def ask(self, numbers: Iterable[int]) -> Iterator[ComparedAnswer]:
        """Compare the answers of some exchanges; one that turns out to be unreadable is skipped."""
        for number in numbers:
            try:
                yield from tuple(self.of(number, self.exchanges[number]))
            except RecordingError as problem:
                self.unreadable[number] = problem.why

    def of(self, number: int, exchange: Exchange) -> Iterator[ComparedAnswer]:
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
    ) -> Iterator[ComparedAnswer]:
        """Compare an exchange between the times at which it may have been handled.

        With several brokers a batch may be in its leader's log while no reader may see it yet, because a follower is
        still `copying` it, until the leader has shown it. A single broker's readers may not see a batch whose request is
        under way.
        """
        with self.taking_apart(number, exchange):
            taken = questions(exchange, self.names)
        moments = tuple(self.logs.moments(exchange))
        with self.taking_apart(number, exchange):
            yield from self._of_leaders(number, exchange, moments, copying=copying)
            yield from self._of_coordinators(number, exchange, moments)
        for question in taken:
            if not self.known_leaders.is_here(question.message):
                continue
            seen = self._may_be_seen(question.message, exchange) if copying else moments
            with self.taking_apart(number, exchange):
                said = dict.fromkeys(self._possible(seen, exchange, question))
            yield ComparedAnswer(
                number, exchange.api, question.about, question.recorded, tuple(said)
            )

    def _may_be_seen(self, message: Message, exchange: Exchange) -> tuple[int, ...]:
        """Return the moments of an exchange, and those since which an answering broker's batch may not be visible."""
        home, behind = self.known_leaders.home_of(message), 0
        if home:
            behind = self._seen_ends.not_shown_ms(home, exchange)
        for name in filter(None, named_transactions(message)):
            coordinator = self.logs.worlds[0].image.home_of_transactions(name)
            asked = self._seen_ends.not_shown_ms(coordinator, exchange, asks=True)
            behind = max(behind, asked)
        return tuple(self.logs.moments(exchange, behind))

    def _of_leaders(
        self, number: int, exchange: Exchange, moments: tuple[int, ...], *, copying: bool
    ) -> Iterator[ComparedAnswer]:
        """Compare the answers of partition leaders."""
        places = self.logs.worlds[0].image.leaders
        for one in self._list_produced(number, exchange):
            if one.partition in places or not one.messages:
                told: list[Said] = []
                for message, at in zip(one.messages, one.at, strict=True):
                    question = RequestPart(one.partition, message, one.recorded)
                    seen = self._may_be_seen(message, exchange) if copying else moments
                    before = self.logs.find_append(one.partition, at)
                    if before < 0 or self.logs.next_written_ms(before) > exchange.answered_ms:
                        told += self._possible(seen, exchange, question)
                        continue
                    # Everything else may be as it was at any moment; the log ends where the batch begins.
                    ends = self.logs.worlds[before].logs[one.partition]
                    told += self._possible((*seen, before), exchange, question, ends)
                told += leaders.moved_meanwhile(
                    one, tuple(told), exchange, self._worlds.known_at(exchange)
                )
                said = tuple(dict.fromkeys(told))
                yield ComparedAnswer(number, exchange.api, one.partition, one.recorded, said)
        for deletion in deletions_in(exchange) if exchange.api == DELETE_RECORDS else ():
            partition = deletion.partition
            if partition in places:
                logs = (
                    world.logs[partition]
                    for _, world in self._worlds.list_worlds(moments, exchange)
                )
                said = tuple(dict.fromkeys(deletion_said(log, deletion.before) for log in logs))
                yield ComparedAnswer(number, exchange.api, partition, deletion.recorded, said)
        for read in self._fetching.reads(number, exchange) if exchange.api == "FETCH" else ():
            if read.partition in places or read.reading is None:
                shown = moments
                if copying:
                    far = self._seen_ends.not_shown_ms(read.partition, exchange)
                    shown = tuple(self.logs.moments(exchange, far))
                said = tuple(dict.fromkeys(self._list_answers(read, shown, exchange)))
                yield ComparedAnswer(number, exchange.api, read.partition, read.recorded, said)

    def _list_answers(
        self, read: FetchedPartition, moments: tuple[int, ...], exchange: Exchange
    ) -> Iterator[Said]:
        """Yield the possible answers of a broker to a reader."""
        logs = list(self._worlds.logs_of(read.partition, moments, exchange))
        indexed = read.partition in self._indexed
        rejections = tuple(
            refusal_of(read, known, exchange.broker, exchange.version)
            for known in self._worlds.known_at(exchange)
        )
        yield from (refused for refused in rejections if refused is not None)
        admitted = self._admission.of_topic(exchange, read.partition)
        if False in admitted:
            yield NOT_ALLOWED
        if True in admitted and (None in rejections or not rejections):
            yield from (each for log in logs if log for each in answers(log, read, indexed=indexed))

    def _of_coordinators(
        self, number: int, exchange: Exchange, moments: tuple[int, ...]
    ) -> Iterator[ComparedAnswer]:
        """Compare the answers about coordinators, if all leaders are known."""
        if exchange.api != "FIND_COORDINATOR" or (self._node < 0 and not self._decisions):
            return
        for one in sought_keys(exchange, self.logs.worlds[0].image):
            admitted = self._admission.of_key(exchange, one.kind, one.key)
            refused = tuple(refusal_to(e) for e in admitted if e is not Errors.NONE)
            settled = not any(
                self.known_leaders.has_nobody_yet(at + self.logs.skipped, one.home)
                for at in moments
            )
            nodes = [
                known.leader_of(one.home)
                for known in list_known(self._led, *span_of(exchange))
                if self._led
            ]
            said = tuple(
                each
                for node in dict.fromkeys(nodes or [self._node])
                for each in possible_answers(node, settled=settled)
            )
            known = said if Errors.NONE in admitted else ()
            yield ComparedAnswer(number, exchange.api, one.key, one.recorded, (*refused, *known))

    def _list_produced(self, number: int, exchange: Exchange) -> Iterator[leaders.Produced]:
        if exchange.api == PRODUCE:
            known = (self._appends, self._identities, self._sent)
            yield from leaders.produced_batches(number, exchange, self.names, *known)

    def _possible(
        self,
        moments: tuple[int, ...],
        exchange: Exchange,
        question: RequestPart,
        ends: PartitionLog | None = None,
    ) -> Iterator[Said]:
        api, message = exchange.api, question.message
        heartbeat = isinstance(message, ConsumerGroupHeartbeat | ShareGroupHeartbeat)
        models = (self.logs.model, self.logs.waiting) if heartbeat else (self.logs.model,)
        not_there = not self._decisions and any(
            self.known_leaders.is_between_leaders(at + self.logs.skipped, message) for at in moments
        )
        if not_there or self.known_leaders.is_new(message, exchange):
            yield compared_part(api, message, rejections.reject_not_leader(message))
        if isinstance(message, InitProducerId) and self._given.block_is_due(exchange):
            loading = InitProducerIdResponse(Errors.COORDINATOR_LOAD_IN_PROGRESS)
            yield compared_part(api, message, loading)
        for model, (at, world) in product(models, self._worlds.list_views(moments, exchange, ends)):
            for alike in self._worlds.list_alike(at, world, message, exchange):
                who = exchange.principal or ANYBODY
                reply = answer(model, alike, message, serving(alike, message, exchange), who)
                if reply is not None and self._effects.allow(message, reply, *span_of(exchange)):
                    yield compared_part(api, message, reply)
