"""The result of comparing a broker's answers with the model: as text, and as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kipviz.core.outside.validation import path as path_given
from kipviz.core.values import Value
from kipviz.recordings.files.request_log import UTC
from kipviz.recordings.judging.accept import Acceptor
from kipviz.recordings.judging.causes import Cause, first_causes, subjects_of
from kipviz.recordings.judging.request_book import STOPPED, GoOn, RequestBook, always
from kipviz.recordings.recorded import ABOUT
from kipviz.recordings.recording_error import WHOLE, RecordingError
from kipviz.recordings.replayed_roles.answer_text import ComparedAnswer, sayings
from kipviz.recordings.request_context.clocks import hours_apart, shift_offset
from kipviz.recordings.request_context.evidence import (
    NO_SETTINGS,
    WORLDS_MAX,
    BrokerFiles,
    Evidence,
    of_brokers,
    of_recording,
)


class Report(Value, frozen=True):
    """A broker's answers in three groups: accepted, refused, and those that cannot be judged.

    `asked` are the answers that were compared, `causes` the first of the refused ones with those that may follow from
    them. `not_asked` are (API, reason, number of requests) that were not compared, `not_read` describes the parts of
    the logs that could not be read, and `clock` is a sentence about an offset from UTC that fits better, or "".
    """

    requests: int
    asked: tuple[ComparedAnswer, ...]
    not_asked: tuple[tuple[str, str, int], ...]
    not_read: tuple[str, ...] = ()
    causes: tuple[Cause, ...] = ()
    clock: str = ""

    @property
    def accepted(self) -> tuple[ComparedAnswer, ...]:
        """The answers that the model could have given."""
        return tuple(each for each in self.asked if each.accepted)

    @property
    def refused(self) -> tuple[ComparedAnswer, ...]:
        """The answers that the model could not have given."""
        return tuple(each for each in self.asked if each.refused)

    @property
    def doubted(self) -> tuple[ComparedAnswer, ...]:
        """The answers that differ from the model's and whose difference cannot be judged."""
        return tuple(each for each in self.asked if not each.accepted and each.doubt)

    @property
    def stopped(self) -> bool:
        """Whether the comparison was stopped before the last request."""
        return any(reason == STOPPED for _, reason, _ in self.not_asked)

    @property
    def cannot_judge(self) -> tuple[tuple[str, str, int], ...]:
        """What cannot be judged: (API, reason, number of requests), the requests that were not compared first."""
        doubted = Counter((each.api, each.doubt) for each in self.doubted)
        return (*self.not_asked, *((*what, n) for what, n in sorted(doubted.items())))

    def lines(self) -> Iterator[str]:
        """Return the report as lines of text."""
        refused, doubted = self.refused, len(self.doubted)
        yield (
            f"{self.requests} requests, {len(self.asked)} responses compared: {len(self.accepted)} accepted, "
            f"{len(refused)} refused, {doubted} that cannot be judged."
        )
        yield from (self.clock,) if self.clock else ()
        yield from (f"not read: {each}" for each in self.not_read)
        yield "accepted (the model could have given them):"
        for api, count in sorted(Counter(each.api for each in self.accepted).items()):
            yield f"  {count:>5}  {api}"
        if refused:
            yield from ("", "refused (the model could not have given them):")
            yield f"  {len(refused)} answers, {_first_causes(len(self.causes))}"
            for cause in self.causes:
                yield from _differs(cause)
        if rows := self.cannot_judge:
            yield from ("", "cannot judge (no evidence, not modelled, or nothing to compare):")
            for reason in dict.fromkeys(reason for _, reason, _ in rows):
                which = [(api, n) for api, why, n in rows if why == reason]
                told = ", ".join(f"{n} {api}" for api, n in which)
                yield f"  {sum(n for _, n in which):>5}  {reason}: {told}"

    def document(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {
            "requests": self.requests,
            "answers": len(self.asked),
            "accepted": len(self.accepted),
            "refused": [_render_asked(each) for each in self.refused],
            "first_causes": [
                {"request": c.first.number, "follow_ups": [each.number for each in c.follow_ups]}
                for c in self.causes
            ],
            "cannot_judge": [
                {"api": api, "reason": reason, "requests": n}
                for api, reason, n in self.cannot_judge
            ],
            "doubted": [_render_asked(each) | {"reason": each.doubt} for each in self.doubted],
            "asked": dict(sorted(Counter(each.api for each in self.asked).items())),
            "not_read": list(self.not_read),
            "clock": self.clock,
        }

    def __str__(self) -> str:
        return "\n".join(self.lines())


# A function that compares all requests of some evidence, in this process or in several.
Judge = Callable[[Evidence], tuple[RequestBook, tuple[ComparedAnswer, ...]]]


def in_this_process(
    evidence: Evidence, go_on: GoOn = always
) -> tuple[RequestBook, tuple[ComparedAnswer, ...]]:
    """Compare all requests with the model, one after the other, until `go_on` returns false.

    Raises:
        RecordingError: if a request or an answer lacks a field of its API.
    """
    acceptor = Acceptor(evidence)
    return acceptor, acceptor.compare_all(go_on)


def report(
    folder: str | Path | Sequence[str | Path],
    requests: str | Path | Sequence[str | Path | Sequence[str | Path]] | None = None,
    *,
    topics: tuple[str, ...] = (),
    utc_offset: str = UTC,
    settings: Mapping[str, str] = NO_SETTINGS,
    judge: Judge = in_this_process,
    worlds_max: int = WORLDS_MAX,
) -> Report:
    """Return whether the model could have given a broker's answers.

    `folder` is a recording, or a broker's folder of logs; then `requests` is the output of its logger
    kafka.request.logger at DEBUG, in one file or several, in a time zone with the offset `utc_offset` from UTC, and
    `settings` are those that differ from Kafka's defaults, by their names in Kafka. Several brokers of one cluster are
    several folders, and `requests` has for each of them its request log, or a list of its files. `judge` compares the
    requests with the model (`spark.conformance` divides them). With several brokers at most `worlds_max` states of the
    cluster are kept for requests of the same time: more is faster and takes more memory.

    Raises:
        RecordingError: if logs or requests cannot be read.
        ValueError: if the offset is invalid, `requests` or `settings` are given for a recording, or `worlds_max` is
            less than 1.
    """
    if worlds_max < 1:
        raise ValueError(
            f"the number of states of the cluster to keep must be at least 1, not {worlds_max}"
        )
    if isinstance(folder, list | tuple):
        told = _of_several(folder, requests)
        evidence = of_brokers(told, topics=topics, utc_offset=utc_offset, settings=settings)
        return _make_report(evidence.but(worlds_max=worlds_max), utc_offset, judge)
    place = path_given("the folder of logs", folder)
    if (place / ABOUT).exists():
        if requests is not None or topics or settings or utc_offset != UTC:
            raise ValueError(
                f"{place} is a recording: it brings its own requests, topics, times and settings; leave "
                "out those that you name"
            )
        evidence = of_recording(place)
    elif requests is None:
        why = (
            "this is not a recording, so the requests are needed, too: name the broker's request log, "
            "which its logger kafka.request.logger writes at DEBUG"
        )
        raise RecordingError(str(place), WHOLE, why)
    else:
        files = BrokerFiles(place, _request_logs(requests))
        evidence = of_brokers((files,), topics=topics, utc_offset=utc_offset, settings=settings)
        return _make_report(evidence, utc_offset, judge)
    return of_evidence(evidence.but(worlds_max=worlds_max), judge)


def _of_several(folders: Sequence[str | Path], requests: Any) -> tuple[BrokerFiles, ...]:
    """Return the files of each of several brokers.

    Raises:
        ValueError: if there is no folder, or not a request log for each.
    """
    places = [path_given("a folder of logs", each) for each in folders]
    logs = requests if isinstance(requests, list | tuple) else [requests]
    if not places:
        raise ValueError("name at least one broker's folder of logs")
    for place in places:
        if (place / ABOUT).exists():
            raise ValueError(f"{place} is a recording, and is named alone")
    if requests is None or len(logs) != len(places):
        count = 0 if requests is None else len(logs)
        raise ValueError(
            f"each broker has a request log of its own: name as many as folders, in their order; these are {len(places)} "
            f"folders and {count} request logs"
        )
    return tuple(
        BrokerFiles(place, _request_logs(each)) for place, each in zip(places, logs, strict=True)
    )


def _request_logs(requests: Any) -> tuple[Path, ...]:
    several = requests if isinstance(requests, list | tuple) else (requests,)
    return tuple(path_given("the request log", each) for each in several)


def _make_report(evidence: Evidence, utc_offset: str, judge: Judge) -> Report:
    found = of_evidence(evidence, judge)
    if not found.refused or found.stopped:
        return found
    return found.but(clock=_about_clock(evidence, found, utc_offset, judge))


def _about_clock(evidence: Evidence, found: Report, utc_offset: str, judge: Judge) -> str:
    """Return which other offset from UTC fits better; "" unless it leaves fewer answers refused."""
    apart = hours_apart(evidence)
    other = shift_offset(utc_offset, apart)
    if not apart or not other:
        return ""
    moved = tuple(
        x.but(received_ms=x.received_ms - apart, answered_ms=x.answered_ms - apart)
        if not x.problem
        else x
        for x in evidence.exchanges
    )
    again = of_evidence(evidence.but(exchanges=moved), judge)
    left = len(again.refused)
    if again.stopped or left >= len(found.refused):
        return ""
    return (
        f"The clocks differ: the times of the request log fit those of the partitions' logs with --utc-offset="
        f"{other} instead of {utc_offset}, and then {left} answers are refused instead of {len(found.refused)}."
    )


def of_evidence(evidence: Evidence, judge: Judge = in_this_process) -> Report:
    """Compare every answer that can be compared, and count the others.

    Raises:
        RecordingError: if a request or an answer lacks a field of its API.
    """
    book, asked = judge(evidence)
    compared = {each.number for each in asked}
    left = Counter(
        (exchange.api, book.why_not(number))
        for number, exchange in enumerate(evidence.exchanges)
        if number not in compared
    )
    refused = [each for each in asked if each.refused]
    exchanges = evidence.exchanges
    about = {each: subjects_of(each, exchanges[each.number], book.names) for each in refused}
    return Report(
        len(exchanges),
        asked,
        tuple((*what, n) for what, n in sorted(left.items())),
        evidence.not_read,
        first_causes(refused, about),
    )


# The number of follow-up requests of a first cause that are listed.
LISTED_MAX = 12


def _first_causes(count: int) -> str:
    return f"{count} first cause{'' if count == 1 else 's'}"


def _differs(cause: Cause) -> Iterator[str]:
    asked = cause.first
    yield from ("", f"request {asked.number}, {asked.api}, {asked.about}")
    yield f"  the broker: {sayings(asked.recorded)}"
    for said in asked.possible:
        yield f"  the model:  {sayings(said)}"
    if not asked.possible:
        yield "  the model:  no answer yet"
    if more := cause.follow_ups:
        numbers = [str(number) for number in dict.fromkeys(each.number for each in more)]
        listed = ", ".join(numbers[:LISTED_MAX]) + (", …" if len(numbers) > LISTED_MAX else "")
        answers = "1 later answer" if len(more) == 1 else f"{len(more)} later answers"
        yield f"  {answers} may follow from this one: request{'s' if len(numbers) > 1 else ''} {listed}"


def _render_asked(asked: ComparedAnswer) -> dict[str, Any]:
    return {
        "request": asked.number,
        "api": asked.api,
        "about": asked.about,
        "said": sayings(asked.recorded),
        "possible": [sayings(said) for said in asked.possible],
    }
