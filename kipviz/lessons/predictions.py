"""Questions made from what is possible: what can happen, what cannot and why, what is answered.

A question is made from the choices at a step, so there is one wherever there is something to tell
apart, also on a branch that nobody foresaw. Which options it has and their order come from a digest of
their ids: the same on every machine, and nothing of which one is right. An id is never reworded, so a saved answer,
which is the number of an option, stays what it was when words on the screen are improved.
"""

from __future__ import annotations

from collections.abc import Sequence

from kipviz.core.values import Value, digest_of
from kipviz.lessons.error_meanings import DECISIVE, meaning_of, words_of
from kipviz.messages.errors import Errors

OPTIONS_MIN, OPTIONS_MAX = 2, 4


class Possible(Value, frozen=True):
    """One thing that can happen at a step, or that cannot, with the reason; `id` is the action, written out."""

    id: str
    text: str
    enabled: bool
    why: str = ""
    accident: bool = False


class Answer(Value, frozen=True):
    """What the next request on its way came to be answered with, and after which step.

    `checked` are the errors that the checks of its handlers led to or could have led to.
    """

    request: str
    where: str
    error: Errors
    step: int
    checked: tuple[Errors, ...] = ()

    @property
    def is_worth_asking(self) -> bool:
        """Whether the answer decides something or is an error."""
        return self.request in DECISIVE or self.error is not Errors.NONE

    @property
    def offered(self) -> tuple[Errors, ...]:
        """The answers that a question about it chooses from: those of its checks, and that all is well."""
        return (Errors.NONE, *self.checked) if self.checked else ()


class Option(Value, frozen=True):
    """One answer to a prediction, whether it is right, and what to say to it; `id` is an action or an error."""

    id: str
    text: str
    right: bool
    say: str


class Prediction(Value, frozen=True):
    """A question about a step; `kind` is "next", "cannot" or "answer".

    `reveal` is the step that shows the answer; -1 where the choices of the step itself do.
    """

    kind: str
    text: str
    options: tuple[Option, ...]
    reveal: int = -1


def prediction(items: Sequence[Possible], answer: Answer | None) -> Prediction | None:
    """Make the question of a step, or None where nothing is to be told apart.

    `items` are the choices of the step; `answer` belongs to the request that this line delivers
    next.
    """
    if answer is not None and answer.offered and answer.is_worth_asking:
        return what_is_answered(answer)
    can, cannot = (
        _different([i for i in items if i.enabled]),
        _different([i for i in items if not i.enabled]),
    )
    if not can or not cannot:
        return None
    salt = "|".join(item.id for item in (*can, *cannot))
    if len(can) < OPTIONS_MIN or (len(cannot) > 1 and digest_of(salt.encode())[0] % 2):
        return what_can_happen(can, cannot, salt)
    return what_cannot_happen(can, cannot, salt)


def what_can_happen(can: Sequence[Possible], cannot: Sequence[Possible], salt: str) -> Prediction:
    """Ask which one of a few things is possible; the wrong ones say why they are not."""
    # That a broker may crash is no insight, so an accident is right only where nothing else is.
    right = _shuffled([item for item in can if not item.accident] or can, salt)[0]
    wrong = _shuffled(cannot, salt)[: OPTIONS_MAX - 1]
    options = [Option(right.id, right.text, True, "This can happen now.")]
    options += [
        Option(item.id, item.text, False, f"It cannot happen: {item.why}.") for item in wrong
    ]
    return Prediction("next", "What can happen next?", _mixed(options, salt))


def what_cannot_happen(
    can: Sequence[Possible], cannot: Sequence[Possible], salt: str
) -> Prediction:
    """Ask which one of a few things is impossible, and say why."""
    right = _shuffled(cannot, salt)[0]
    wrong = _shuffled(can, salt)[: OPTIONS_MAX - 1]
    options = [Option(right.id, right.text, True, f"It cannot happen: {right.why}.")]
    options += [Option(item.id, item.text, False, "This can happen now.") for item in wrong]
    text = "Which of these cannot happen now, and why?"
    return Prediction("cannot", text, _mixed(options, salt))


def what_is_answered(answer: Answer) -> Prediction:
    """Ask what a request will be answered with; the others are codes that Kafka may give for it."""
    salt = f"{answer.request}|{answer.where}|{answer.step}"
    legal = [error for error in answer.offered if error is not answer.error]
    # "no error" is always among them: were it there only when right, its presence would tell.
    kept = [error for error in legal if error is Errors.NONE]
    others = sorted(
        (error for error in legal if error is not Errors.NONE),
        key=lambda error: digest_of(f"{salt}|{error.name}".encode()),
    )
    wrong = [*kept, *others][: OPTIONS_MAX - 1]
    options = [
        Option(error.name, words_of(error), error is answer.error, meaning_of(error))
        for error in (answer.error, *wrong)
    ]
    text = f"{answer.request} is about to arrive at {answer.where}. What is the response?"
    return Prediction("answer", text, _mixed(options, salt), answer.step)


def _different(items: Sequence[Possible]) -> list[Possible]:
    """Leave out what reads the same as something before it."""
    return list({item.text: item for item in reversed(items)}.values())[::-1]


def _shuffled(items: Sequence[Possible], salt: str) -> list[Possible]:
    return sorted(items, key=lambda item: digest_of(f"{salt}|{item.id}".encode()))


def _mixed(options: Sequence[Option], salt: str) -> tuple[Option, ...]:
    """Put options in an order that depends on their ids alone, not on which one is right."""
    key = f"{salt}|order|"
    return tuple(sorted(options, key=lambda option: digest_of((key + option.id).encode())))
