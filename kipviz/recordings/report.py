"""What came of holding a broker's answers against the model: in words, and as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kipviz.core.given import path as path_given
from kipviz.core.values import Value
from kipviz.recordings.accept import Acceptor
from kipviz.recordings.evidence import NO_SETTINGS, Evidence, of_broker, of_recording
from kipviz.recordings.recorded import ABOUT
from kipviz.recordings.recording_error import RecordingError
from kipviz.recordings.request_log import UTC
from kipviz.recordings.sayings import Asked, sayings


class Report(Value, frozen=True):
    """How many requests there were, every answer that was asked for, and what was not asked.

    `not_asked` are (API, reason, number of requests), and `not_read` says what of the logs could not be read.
    """

    requests: int
    asked: tuple[Asked, ...]
    not_asked: tuple[tuple[str, str, int], ...]
    not_read: tuple[str, ...] = ()

    @property
    def refused(self) -> tuple[Asked, ...]:
        """The answers that the model could not have given."""
        return tuple(each for each in self.asked if not each.accepted)

    def lines(self) -> Iterator[str]:
        """Tell it in lines of text."""
        refused = self.refused
        some = f"{len(self.asked) - len(refused)} of them" if refused else "all of them"
        yield (
            f"{self.requests} requests, {len(self.asked)} answers that can be asked for: "
            f"the model could have given {some}."
        )
        for api, count in sorted(Counter(each.api for each in self.asked).items()):
            yield f"  {count:>5}  {api}"
        yield from (f"not read: {each}" for each in self.not_read)
        for each in refused:
            yield from _differs(each)
        if self.not_asked:
            yield from ("", "not asked:")
            for reason in dict.fromkeys(reason for _, reason, _ in self.not_asked):
                which = [(api, n) for api, why, n in self.not_asked if why == reason]
                told = ", ".join(f"{n} {api}" for api, n in which)
                yield f"  {sum(n for _, n in which):>5}  {reason}: {told}"

    def document(self) -> dict[str, Any]:
        """Give it as plain data."""
        return {
            "requests": self.requests,
            "answers": len(self.asked),
            "accepted": len(self.asked) - len(self.refused),
            "refused": [_told(each) for each in self.refused],
            "asked": dict(sorted(Counter(each.api for each in self.asked).items())),
            "not_asked": [
                {"api": api, "reason": reason, "requests": n} for api, reason, n in self.not_asked
            ],
            "not_read": list(self.not_read),
        }

    def __str__(self) -> str:
        return "\n".join(self.lines())


def report(
    folder: str | Path,
    requests: str | Path | Sequence[str | Path] | None = None,
    *,
    topics: tuple[str, ...] = (),
    utc_offset: str = UTC,
    settings: Mapping[str, str] = NO_SETTINGS,
) -> Report:
    """Say whether the model could have given a broker's answers.

    `folder` is a recording, or a broker's folder of logs; then `requests` is what its logger
    kafka.request.logger wrote at DEBUG, in one file or several, in a zone that is `utc_offset` from UTC, and `settings` are those
    that are not Kafka's defaults, by their names there.

    Raises:
        RecordingError: if logs or requests cannot be read.
        ValueError: if the offset is none, or a recording is given what it brings itself.
    """
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
            "This is no recording, so the requests are needed, too: name the broker's request log, "
            "which its logger kafka.request.logger writes at DEBUG."
        )
        raise RecordingError(str(place), 0, why)
    else:
        several = requests if isinstance(requests, list | tuple) else (requests,)
        evidence = of_broker(
            place,
            tuple(path_given("the request log", each) for each in several),
            topics=topics,
            utc_offset=utc_offset,
            settings=settings,
        )
    return of_evidence(evidence)


def of_evidence(evidence: Evidence) -> Report:
    """Ask for every answer, and count what could not be asked.

    Raises:
        RecordingError: if a request or an answer lacks what its API has.
    """
    acceptor = Acceptor(evidence)
    asked = acceptor.asked()
    spoken = {each.number: True for each in asked}
    left = Counter(
        (exchange.api, acceptor.why_not(number))
        for number, exchange in enumerate(evidence.exchanges)
        if number not in spoken
    )
    return Report(
        len(evidence.exchanges),
        asked,
        tuple((*what, n) for what, n in sorted(left.items())),
        evidence.not_read,
    )


def _differs(asked: Asked) -> Iterator[str]:
    yield from ("", f"request {asked.number}, {asked.api}, {asked.about}")
    yield f"  the broker: {sayings(asked.recorded)}"
    for said in asked.possible:
        yield f"  the model:  {sayings(said)}"
    if not asked.possible:
        yield "  the model:  no answer yet"


def _told(asked: Asked) -> dict[str, Any]:
    return {
        "request": asked.number,
        "api": asked.api,
        "about": asked.about,
        "said": sayings(asked.recorded),
        "possible": [sayings(said) for said in asked.possible],
    }
