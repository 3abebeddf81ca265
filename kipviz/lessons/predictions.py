"""Questions made from what is possible: what can happen, what cannot and why, and what a broker responds.

A question is made from the choices at a step, so there is one wherever there is something to distinguish, also on a
branch that no author foresaw. Its options and their order come from a digest of their ids: they are the same on every
machine, and do not depend on which one is right. An id is never reworded, so a saved answer, which is the number of an
option, stays the same when words on the screen are improved.
"""

from __future__ import annotations

from collections.abc import Sequence

from kipviz.core.values import Value, digest_of, digests_after
from kipviz.lessons.error_meanings import meaning_of, words_of
from kipviz.messages.apis.catalogue import API_OF
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message

OPTIONS_MIN, OPTIONS_MAX = 2, 4


class Possible(Value, frozen=True):
    """One action that can happen at a step, or that cannot, with the reason; `id` is the action as JSON."""

    id: str
    text: str
    enabled: bool
    why: str = ""
    accident: bool = False


class Answer(Value, frozen=True):
    """The response to the next request in flight, and the step after which it comes.

    `checked` are the errors to which the checks of its handlers led or could have led.
    """

    request: type[Message]
    where: str
    error: Errors
    step: int
    checked: tuple[Errors, ...] = ()

    @property
    def is_worth_asking(self) -> bool:
        """Whether the answer decides something or is an error."""
        return API_OF[self.request].decisive or self.error is not Errors.NONE

    @property
    def offered(self) -> tuple[Errors, ...]:
        """The possible answers of a question about it: the errors of its checks, and no error."""
        return (Errors.NONE, *self.checked) if self.checked else ()


class Option(Value, frozen=True):
    """One answer to a prediction, whether it is right, and the comment on it; `id` is an action or an error."""

    id: str
    text: str
    right: bool
    say: str


class Prediction(Value, frozen=True):
    """A question about a step; `kind` is "next", "cannot" or "answer".

    `reveal` is the step that shows the answer; -1 if the choices of the step itself show it.
    """

    kind: str
    text: str
    options: tuple[Option, ...]
    reveal: int = -1


def prediction(items: Sequence[Possible], answer: Answer | None) -> Prediction | None:
    """Make the question of a step, or return None if there is nothing to distinguish.

    `items` are the choices of the step; `answer` belongs to the request that this branch delivers next.
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
    """Ask which one of a few actions is possible; the wrong ones state why they are not."""
    # It is obvious that a broker may crash, so a fault is the right answer only if there is no other.
    right = _shuffle_items([item for item in can if not item.accident] or can, salt)[0]
    wrong = _shuffle_items(cannot, salt)[: OPTIONS_MAX - 1]
    options = [Option(right.id, right.text, True, "This can happen now.")]
    options += [
        Option(item.id, item.text, False, f"It cannot happen: {item.why}.") for item in wrong
    ]
    return Prediction("next", "What can happen next?", _mix_options(options, salt))


def what_cannot_happen(
    can: Sequence[Possible], cannot: Sequence[Possible], salt: str
) -> Prediction:
    """Ask which one of a few actions is impossible, and state why."""
    right = _shuffle_items(cannot, salt)[0]
    wrong = _shuffle_items(can, salt)[: OPTIONS_MAX - 1]
    options = [Option(right.id, right.text, True, f"It cannot happen: {right.why}.")]
    options += [Option(item.id, item.text, False, "This can happen now.") for item in wrong]
    text = "Which of these cannot happen now, and why?"
    return Prediction("cannot", text, _mix_options(options, salt))


def what_is_answered(answer: Answer) -> Prediction:
    """Ask for the response to a request; the other options are codes that Kafka may return for it."""
    salt = f"{answer.request.__name__}|{answer.where}|{answer.step}"
    legal = [error for error in answer.offered if error is not answer.error]
    # "no error" is always among them: if it were there only when right, its presence would give the answer away.
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
    text = f"{answer.request.__name__} is about to arrive at {answer.where}. What is the response?"
    return Prediction("answer", text, _mix_options(options, salt), answer.step)


def _different(items: Sequence[Possible]) -> list[Possible]:
    """Remove items whose text equals that of an earlier one."""
    return list({item.text: item for item in reversed(items)}.values())[::-1]


def _shuffle_items(items: Sequence[Possible], salt: str) -> list[Possible]:
    digest = digests_after(
        f"{salt}|".encode()
    )  # the salt has the ids of all choices, so it is long
    return sorted(items, key=lambda item: digest(item.id.encode()))


def _mix_options(options: Sequence[Option], salt: str) -> tuple[Option, ...]:
    """Order options by their ids alone, not by which one is right."""
    digest = digests_after(f"{salt}|order|".encode())
    return tuple(sorted(options, key=lambda option: digest(option.id.encode())))
