"""A broker's answers, each with one number changed by one: the changed ones that the model still accepts, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from kipviz.core.values import Value
from kipviz.recordings.answer_mutations import changes
from kipviz.recordings.followed_members.joining import JOINING
from kipviz.recordings.followed_members.share_requests import MEMBERS
from kipviz.recordings.judging.accept import Acceptor
from kipviz.recordings.judging.handling import CannotHandleError
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.recording_error import RecordingError
from kipviz.recordings.replayed_roles.answer_text import ComparedAnswer
from kipviz.recordings.request_context.evidence import Evidence

# Why the model may accept an answer that the broker did not give.
SEVERAL = "the logs or the coordinator's memory leave several answers open between the request and its answer"
UNDECIDED = "the model does not decide this number"
# The model follows these in order, so a changed one is compared by following its group again.
FOLLOWED = (*MEMBERS, *JOINING)


class Mutants(Value, frozen=True):
    """How many answers were changed by one in one place, and which of them the model still accepts.

    `accepted` are (API, place and difference, reason, number of answers).
    """

    asked: int
    accepted: tuple[tuple[str, str, str, int], ...]


def mutants_of(evidence: Evidence, most: int, go_on: Callable[[], bool]) -> Mutants:
    """Change one number of one answer at a time, by one more and one less, and compare it with the model.

    The neighbours of an error code are errors. If there are more mutants than `most`, each nth is compared.
    """
    acceptor = Acceptor(evidence)
    told = acceptor.groups.judge_all()
    followed = {each.number for each in told} - {each.number for each in told if not each.accepted}
    made = [
        (number, which, answer)
        for number, exchange in enumerate(acceptor.exchanges)
        if (
            number in followed
            if exchange.api in FOLLOWED
            else _is_judged(acceptor, number, exchange)
        )
        for which, answer in changes(exchange.response)
    ]
    step = max(1, -(-len(made) // most))
    accepted: Counter[tuple[str, str, str]] = Counter()
    asked = 0
    for number, which, answer in made[::step]:
        if not go_on():
            break
        asked += 1
        changed = acceptor.exchanges[number].but(response=answer)
        told = _judge_changed(acceptor, number, changed)
        if told and all(each.accepted for each in told):
            accepted[changed.api, which, _why(number, told)] += 1
    return Mutants(asked, tuple((*what, count) for what, count in sorted(accepted.items())))


def _judge_changed(
    acceptor: Acceptor, number: int, changed: Exchange
) -> tuple[ComparedAnswer, ...]:
    """Return the verdicts on a changed answer and those that follow from it; none if it is invalid."""
    try:
        if changed.api in FOLLOWED:
            return acceptor.groups.follow_again(number, changed)
        return tuple(acceptor.of(number, changed))
    except (RecordingError, CannotHandleError):
        return ()


def _why(number: int, told: tuple[ComparedAnswer, ...]) -> str:
    """Return why the model accepts a changed answer: several are possible, or it does not decide the number."""
    own = [each for each in told if each.number == number]
    return SEVERAL if any(len(each.possible) > 1 for each in own) else UNDECIDED


def _is_judged(acceptor: Acceptor, number: int, exchange: Exchange) -> bool:
    """Return whether an answer is compared by itself, and accepted by the model."""
    try:
        asked = tuple(acceptor.of(number, exchange))
    except RecordingError:
        return False
    return bool(asked) and all(each.accepted for each in asked)


def lines_of_mutants(mutants: Mutants) -> Iterator[str]:
    """Yield the report about mutants."""
    accepted = sum(count for *_, count in mutants.accepted)
    refused = mutants.asked - accepted
    yield f"{mutants.asked:,} answers with one number changed by one: {refused:,} refused, {accepted:,} accepted."
    yield from (
        f"  {count:>5}  accepted: {api} {which}: {why}"
        for api, which, why, count in mutants.accepted
    )
