"""What came of a round: for each program the answers that the model could not have given, and the mutants that it accepts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from kipviz.conforming.real_cluster import SETTINGS, Files
from kipviz.core.values import Value
from kipviz.recordings.answer_mutations import changes
from kipviz.recordings.judging.accept import Acceptor
from kipviz.recordings.judging.report import Report, of_evidence
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.recording_error import RecordingError
from kipviz.recordings.replayed_roles.answer_text import Asked
from kipviz.recordings.request_context.evidence import BrokerFiles, Evidence, of_brokers
from kipviz.recordings.request_context.handmade_requests import Request, Sent, request_of

# Why the model may accept an answer that the broker did not give.
SEVERAL = "the logs or the coordinator's memory leave several answers open between the request and its answer"
UNDECIDED = "the model does not decide this number"


class Mutants(Value, frozen=True):
    """How many answers were changed by one in one place, and which of these the model accepts all the same.

    `accepted` are (API, place and difference, reason, number of answers). `followed` are (API, number of answers) of which
    none is changed: the model follows them one after the other, and each mutant would ask for all of them again.
    """

    asked: int
    accepted: tuple[tuple[str, str, str, int], ...]
    followed: tuple[tuple[str, int], ...]


class Judged(Value, frozen=True):
    """A round: the whole report, and the refused answers by the prefix of the program that they belong to.

    `requests` tell by client and number which request each of these answers. `mutants` is None where none were asked about.
    """

    report: Report
    refused: dict[str, tuple[Asked, ...]]
    requests: dict[int, Request]
    mutants: Mutants | None


def evidence_of(files: Iterable[Files], sent: Iterable[Sent]) -> Evidence:
    """Return what brokers wrote, with the batches that their clients sent.

    Raises:
        RecordingError: if it cannot be read.
    """
    brokers = tuple(BrokerFiles(each.logs, (each.requests,)) for each in files)
    return of_brokers(brokers, settings=SETTINGS).but(sent=tuple(sent), first_producer_id=0)


def judge(
    evidence: Evidence, mutants_max: int = 0, go_on: Callable[[], bool] = lambda: True
) -> Judged:
    """Ask the model for every answer.

    Args:
        evidence: what the broker wrote.
        mutants_max: how many changed answers the model is asked about at most, 0 for none.
        go_on: whether to ask about the next one.

    Raises:
        RecordingError: if a request or an answer lacks what its API has.
    """
    report = of_evidence(evidence)
    refused: dict[str, tuple[Asked, ...]] = {}
    for each in report.refused:
        prefix = prefix_of(evidence.exchanges[each.number], each)
        refused[prefix] = (*refused.get(prefix, ()), each)
    mutants = mutants_of(evidence, mutants_max, go_on) if mutants_max else None
    requests = {each.number: request_of(evidence.exchanges[each.number]) for each in report.refused}
    return Judged(report, refused, requests, mutants)


def prefix_of(exchange: Exchange, asked: Asked) -> str:
    """Return the prefix of the program that an exchange belongs to: that of its client, or of what it is about.

    What brokers ask each other belongs to the program whose resource it is about.
    """
    for name in (exchange.client, asked.about):
        prefix, dash, _ = name.partition("-")
        if dash and prefix[:1] == "p" and prefix[1:].isdecimal():
            return prefix
    return ""


def mutants_of(evidence: Evidence, most: int, go_on: Callable[[], bool]) -> Mutants:
    """Change one number of one answer at a time, by one more and one less, and ask the model again.

    An error code's neighbours are errors. Where there are more mutants than are to be asked about, each nth is taken.
    """
    acceptor = Acceptor(evidence)
    made = [
        (number, which, answer)
        for number, exchange in enumerate(acceptor.exchanges)
        if _is_judged(acceptor, number, exchange)
        for which, answer in changes(exchange.response)
    ]
    step = max(1, -(-len(made) // most))
    accepted: Counter[tuple[str, str, str]] = Counter()
    asked = 0
    for number, which, answer in made[::step]:
        if not go_on():
            break
        asked += 1
        exchange = acceptor.exchanges[number]
        if _accepts(acceptor, number, exchange.but(response=answer)):
            accepted[exchange.api, which, _why(acceptor, number, exchange)] += 1
    followed = Counter(each.api for each in (*acceptor.shared(), *acceptor.joined()))
    found = tuple((*what, count) for what, count in sorted(accepted.items()))
    return Mutants(asked, found, tuple(sorted(followed.items())))


def _why(acceptor: Acceptor, number: int, exchange: Exchange) -> str:
    """Return why the model accepts a changed answer: it has several, or it does not decide the number."""
    several = any(len(each.possible) > 1 for each in acceptor.of(number, exchange))
    return SEVERAL if several else UNDECIDED


def _is_judged(acceptor: Acceptor, number: int, exchange: Exchange) -> bool:
    """Say whether an answer is asked about by itself, and is one that the model accepts."""
    try:
        asked = tuple(acceptor.of(number, exchange))
    except RecordingError:
        return False
    return bool(asked) and all(each.accepted for each in asked)


def _accepts(acceptor: Acceptor, number: int, exchange: Exchange) -> bool:
    try:
        return all(asked.accepted for asked in acceptor.of(number, exchange))
    except RecordingError:
        return False


def lines_of_mutants(mutants: Mutants) -> Iterator[str]:
    """Yield what mutants show."""
    accepted = sum(count for *_, count in mutants.accepted)
    refused = mutants.asked - accepted
    yield f"{mutants.asked:,} answers with one number changed by one: {refused:,} refused, {accepted:,} accepted."
    yield from (
        f"  {count:>5}  accepted: {api} {which}: {why}"
        for api, which, why, count in mutants.accepted
    )
    told = ", ".join(f"{count} {api}" for api, count in mutants.followed)
    if told:
        yield f"  not changed, because the model follows them one after the other: {told}"
