"""The requests of a log: which can be read, why one is not compared, and which differences are no divergence.

It needs no logs of partitions. The program that compares the requests, in one process or many, keeps its notes here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from kipviz.recordings.decoded.elections import election_times
from kipviz.recordings.decoded.group_configs import groups_by_duration
from kipviz.recordings.judging.handling import LACKS, UNUSUAL, why_set_aside
from kipviz.recordings.judging.inconclusive import doubts_about
from kipviz.recordings.judging.not_judged import why_not, words_of_removed
from kipviz.recordings.judging.unreadable import unreadable
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.recording_error import RecordingError
from kipviz.recordings.replayed_roles.answer_text import ComparedAnswer
from kipviz.recordings.replayed_roles.fetching import Fetching
from kipviz.recordings.request_context.arrival import with_earliest
from kipviz.recordings.request_context.evidence import Evidence
from kipviz.recordings.request_context.handmade_requests import by_request, request_of

STOPPED = "stopped before this request"
# Gets the number of requests compared so far and the total, and returns whether to go on.
GoOn = Callable[[int, int], bool]


def always(done: int, there_are: int) -> bool:
    """Continue to the end."""
    return True


class RequestBook:
    """The requests of some evidence, and those that turn out to be unreadable.

    Attributes:
        names: the topic names by their ids.
        exchanges: the requests with their answers; one that is not read has the API "".
        unreadable: the reasons why requests are not read or not compared, by their numbers.
        aside: those among them that the model cannot handle.
    """

    def __init__(self, evidence: Evidence) -> None:
        """Read every request.

        Raises:
            RecordingError: if a fetch lacks a field of its version.
        """
        # A topic that was created again has another id, and its own log.
        self.names = {topic_id: f"{topic} (deleted)" for topic, topic_id in evidence.removed}
        self.names |= {topic_id: topic for topic, topic_id in evidence.topics}
        self._removed = words_of_removed(evidence)
        self.unreadable = unreadable(evidence.exchanges, self.names)
        self.exchanges = tuple(
            x.but(api="") if number in self.unreadable else x
            for number, x in enumerate(with_earliest(evidence.exchanges))
        )
        self.aside: dict[int, str] = {}
        self._file = evidence.file
        self._sent = by_request(evidence.sent)
        self._elected = election_times(evidence.decisions)
        self._damaged = evidence.damaged
        self._by_duration = groups_by_duration(evidence.configs, evidence.config_changes)
        with self.reading("A request or its answer lacks what its API has"):
            self._fetching = Fetching(self.exchanges, self.names)

    @contextmanager
    def reading(self, what: str) -> Iterator[None]:
        """Report that the content that is read meanwhile is invalid."""
        try:
            yield
        except LACKS as problem:
            raise RecordingError(self._file, 0, f"{what} ({problem!r})") from problem

    @contextmanager
    def taking_apart(self, number: int, exchange: Exchange) -> Iterator[None]:
        """Report that one exchange lacks a field of its API."""
        try:
            yield
        except UNUSUAL as problem:
            why = why_set_aside(number, exchange, problem)
            raise RecordingError(self._file, 0, why) from problem

    def set_aside(self, number: int, why: str) -> None:
        """Leave out a request that the model cannot handle.

        Raises:
            RecordingError: if the request was left out already, so that this would change nothing.
        """
        if number in self.unreadable:
            raise RecordingError(self._file, 0, why)
        self.unreadable[number] = self.aside[number] = why
        before, behind = self.exchanges[:number], self.exchanges[number + 1 :]
        self.exchanges = (*before, self.exchanges[number].but(api=""), *behind)

    def why_not(self, number: int) -> str:
        """Return the reason why a request is not compared."""
        if number in self.unreadable:
            return self.unreadable[number]
        return why_not(number, self.exchanges, self.names, self._fetching, self._removed)

    def judge_answers(self, answers: Iterable[ComparedAnswer]) -> tuple[ComparedAnswer, ...]:
        """Return all answers in the order of their requests, with the reasons why some cannot be judged."""
        told = sorted(answers, key=lambda asked: asked.number)
        sent = {request for request, _ in self._sent}
        noted = (n for n, x in enumerate(self.exchanges) if request_of(x) in sent)
        known = (self._by_duration, self.names, self._elected, self._damaged)
        return doubts_about(told, self.exchanges, frozenset(noted), *known)
