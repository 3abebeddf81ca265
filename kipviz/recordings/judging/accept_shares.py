"""The requests of a log in shares, so that several processes can compare them, and the merged results.

Requests that touch the same transactional id, group or share group form one share; the others are divided by connection. A
subject with more requests than a part of a share is divided, because each request is compared by itself. In every
process the model reads all logs, because an answer may depend on any of them. One share follows the members from the
first request to the last. The result is the same as that of one process.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator

from kipviz.core.values import Value
from kipviz.recordings.followed_members.share_answer_text import STATES
from kipviz.recordings.followed_members.share_requests import MEMBERS
from kipviz.recordings.judging.accept import Acceptor
from kipviz.recordings.judging.request_book import RequestBook
from kipviz.recordings.recorded import Exchange, Plain
from kipviz.recordings.recording_error import RecordingError
from kipviz.recordings.replayed_roles.answer_text import ComparedAnswer
from kipviz.recordings.request_context.arrival import span_of
from kipviz.recordings.request_context.evidence import Evidence

Subject = tuple[str, str]
# A subject is divided if it has more than this part of a share.
PARTS = 4


class AcceptShare(Value, frozen=True):
    """Some requests, by their numbers in the log; `follows` says that this share follows the members of groups."""

    numbers: tuple[int, ...]
    follows: bool


class ShareAnswers(Value, frozen=True):
    """The results of one share: the answers, and the requests that are not judged, with their reasons.

    `followed` are answers to members, `aside` the requests that the model cannot handle, `unreadable` those that could
    not be compared.
    """

    answers: tuple[ComparedAnswer, ...]
    followed: tuple[ComparedAnswer, ...]
    unreadable: tuple[tuple[int, str], ...]
    aside: tuple[tuple[int, str], ...]


def shares_of(evidence: Evidence, count: int) -> tuple[AcceptShare, ...]:
    """Divide the requests by their subjects, with about the same work in each share.

    Args:
        evidence: the requests and the logs.
        count: the maximum number of shares; an empty one is left out.

    Raises:
        ValueError: if the count is less than 1.
    """
    if count < 1:
        raise ValueError(f"the number of shares must be at least 1, not {count}")
    weights = _weights(evidence)
    touching: dict[Subject, list[int]] = {}
    for number, exchange in enumerate(evidence.exchanges):
        touching.setdefault(subject_of(exchange), []).append(number)
    most = max(1, sum(weights) // (count * PARTS))
    pieces = [
        piece for each in touching.values() for piece in _divide_requests(each, weights, most)
    ]
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
    """Return the work of each request: one for each moment of its time at which something was written."""
    times = [entry.at_ms for entry in evidence.entries]
    return [
        1 + max(0, bisect_right(times, x.answered_ms) - bisect_left(times, span_of(x)[0]))
        for x in evidence.exchanges
    ]


def _divide_requests(numbers: list[int], weights: list[int], most: int) -> Iterator[list[int]]:
    """Yield stretches of requests of at most a weight, each with at least one request."""
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
    """Return the subject of a request: a transactional id, a group, or else its connection."""
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


def _parts(several: Plain) -> Iterator[Plain]:
    """Yield the parts of a field that has one for each id or group; nothing of another field."""
    for part in several if isinstance(several, tuple) else ():
        if hasattr(part, "get"):
            yield part


def ask_share(evidence: Evidence, share: AcceptShare) -> ShareAnswers:
    """Compare the requests of one share with the model.

    Raises:
        RecordingError: if a request or an answer lacks a field of its API.
    """
    acceptor = Acceptor(evidence)
    known = dict(acceptor.unreadable)
    answers = tuple(acceptor.ask(share.numbers))
    lost = tuple((n, why) for n, why in acceptor.unreadable.items() if n not in known)
    followed = acceptor.groups.judge_all() if share.follows else ()
    return ShareAnswers(answers, followed, lost, tuple(acceptor.aside.items()))


def merge_shares(
    evidence: Evidence, found: Iterable[ShareAnswers]
) -> tuple[RequestBook, tuple[ComparedAnswer, ...]]:
    """Merge the answers of all shares.

    Raises:
        RecordingError: if a request that could not be compared is also one past which no member can be followed.
    """
    book = RequestBook(evidence)
    shares = tuple(found)
    for number, why in sorted({each for share in shares for each in share.aside}):
        book.set_aside(number, why)
    for number, why in sorted({each for share in shares for each in share.unreadable}):
        if number in book.aside:
            raise RecordingError(evidence.file, 0, book.aside[number])
        book.unreadable[number] = why
    # A request may be compared and also be part of following members: then it comes first.
    asked = (answer for share in shares for answer in share.answers)
    followed = (answer for share in shares for answer in share.followed)
    return book, book.judge_answers((*asked, *followed))
