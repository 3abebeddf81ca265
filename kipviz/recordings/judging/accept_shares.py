"""The requests of a log in shares, so that several processes can put them to the model, and the answers put together again.

Requests that touch the same transactional id, group or share group go together; the others go by their connection. What has more
requests than a part of a share is divided, because each request is asked about by itself. Every process lets the model read all
logs, because an answer may depend on any of them. Members are followed from the first request to the last, in one share. What
comes out is what one process finds.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import Any

from kipviz.core.values import Value
from kipviz.recordings.judging.accept import Acceptor
from kipviz.recordings.judging.request_book import RequestBook
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.recording_error import RecordingError
from kipviz.recordings.replayed_roles.answer_text import Asked
from kipviz.recordings.replayed_roles.share_answer_text import STATES
from kipviz.recordings.replayed_roles.share_requests import MEMBERS
from kipviz.recordings.request_context.arrival import span_of
from kipviz.recordings.request_context.evidence import Evidence

Subject = tuple[str, str]
# What touches one thing is divided where it is more than such a part of a share.
PARTS = 4


class AcceptShare(Value, frozen=True):
    """Some requests, by their numbers in the log; `follows` says that this share follows the members of groups."""

    numbers: tuple[int, ...]
    follows: bool


class ShareAnswers(Value, frozen=True):
    """What came of one share: the answers, and the requests that are not judged, each with the reason.

    `followed` are answers to members, `aside` the requests that the model cannot handle, `unreadable` those of which
    nothing could be asked.
    """

    answers: tuple[Asked, ...]
    followed: tuple[Asked, ...]
    unreadable: tuple[tuple[int, str], ...]
    aside: tuple[tuple[int, str], ...]


def shares_of(evidence: Evidence, count: int) -> tuple[AcceptShare, ...]:
    """Share requests out by what they touch, about as much to ask in each share.

    Args:
        evidence: the requests and the logs.
        count: how many shares at most; an empty one is left out.

    Raises:
        ValueError: if the count is less than 1.
    """
    if count < 1:
        raise ValueError(f"there is at least 1 share, not {count}")
    weights = _weights(evidence)
    touching: dict[Subject, list[int]] = {}
    for number, exchange in enumerate(evidence.exchanges):
        touching.setdefault(subject_of(exchange), []).append(number)
    most = max(1, sum(weights) // (count * PARTS))
    pieces = [piece for each in touching.values() for piece in _divided(each, weights, most)]
    follow = sum(
        weights[number]
        for number, exchange in enumerate(evidence.exchanges)
        if exchange.api in (*MEMBERS, *STATES)
    )
    numbers: list[list[int]] = [[] for _ in range(count)]
    sizes = [follow, *(0 for _ in range(count - 1))]
    for piece in sorted(pieces, key=lambda each: (-sum(weights[n] for n in each), each)):
        least = sizes.index(min(sizes))
        sizes[least] += sum(weights[number] for number in piece)
        numbers[least] += piece
    shares = (AcceptShare(tuple(sorted(n)), k == 0) for k, n in enumerate(numbers))
    return tuple(share for share in shares if share.numbers or share.follows)


def _weights(evidence: Evidence) -> list[int]:
    """Return for each request how often it is asked: at each moment of its time at which something was written."""
    times = [entry.at_ms for entry in evidence.entries]
    return [
        1 + max(0, bisect_right(times, x.answered_ms) - bisect_left(times, span_of(x)[0]))
        for x in evidence.exchanges
    ]


def _divided(numbers: list[int], weights: list[int], most: int) -> Iterator[list[int]]:
    """Divide requests into stretches of at most a weight, of at least one request."""
    piece: list[int] = []
    size = 0
    for number in numbers:
        if piece and size + weights[number] > most:
            yield piece
            piece, size = [], 0
        piece.append(number)
        size += weights[number]
    yield piece


def subject_of(exchange: Exchange) -> Subject:
    """Return what a request touches: a transactional id, a group, or else only its connection."""
    said = exchange.request if not exchange.problem else {}
    for kind, fields, several in (
        ("transactional id", ("transactionalId", "v3AndBelowTransactionalId"), "transactions"),
        ("group", ("groupId",), "groups"),
    ):
        for part in (said, *_parts(said.get(several))):
            named = (part.get(field) for field in fields)
            if name := next((each for each in named if isinstance(each, str) and each), ""):
                return kind, name
    return "connection", exchange.connection


def _parts(several: Any) -> Iterator[Any]:
    """Return the parts of a field that has one for each id or group; nothing of another field."""
    for part in several if isinstance(several, tuple) else ():
        if hasattr(part, "get"):
            yield part


def ask_share(evidence: Evidence, share: AcceptShare) -> ShareAnswers:
    """Put the requests of one share to the model.

    Raises:
        RecordingError: if a request or an answer lacks what its API has.
    """
    acceptor = Acceptor(evidence)
    known = dict(acceptor.unreadable)
    answers = tuple(acceptor.ask(share.numbers))
    lost = tuple((n, why) for n, why in acceptor.unreadable.items() if n not in known)
    followed = acceptor.followed() if share.follows else ()
    return ShareAnswers(answers, followed, lost, tuple(acceptor.aside.items()))


def gathered(
    evidence: Evidence, found: Iterable[ShareAnswers]
) -> tuple[RequestBook, tuple[Asked, ...]]:
    """Put the answers of all shares together.

    Raises:
        RecordingError: if a request that nothing could be asked about is also one that no member can be followed past.
    """
    book = RequestBook(evidence)
    shares = tuple(found)
    for number, why in sorted({each for share in shares for each in share.aside}):
        book.set_aside(number, why)
    for number, why in sorted({each for share in shares for each in share.unreadable}):
        if number in book.aside:
            raise RecordingError(evidence.file, 0, book.aside[number])
        book.unreadable[number] = why
    # One request may be asked about and be part of what members are followed by: then that stands first.
    asked = (answer for share in shares for answer in share.answers)
    followed = (answer for share in shares for answer in share.followed)
    return book, book.judged((*asked, *followed))
