"""The words that name a point of a run: one grammar for served clusters, for the page and for programs.

    point     = happens ["after" condition] ["before" condition]
    happens   = ("hold" | "lose") ["every" NTH | "the" NTH] messages    a delivery: "lose every 3rd answer"
              | fault                                                   words of a fault's name: "B1 crashes"
    messages  = the name of a message | "request" | "answer"
    condition = the name of a message, of a state or of a property, or words of a step's sentence

"crash the coordinator at PREPARE_COMMIT" is another spelling of "the coordinator crashes after PREPARE_COMMIT". Stored
scripts have either one.

Who uses a point says which parts it takes, and refuses the others with one sentence: a served cluster takes deliveries
and the coordinator's crash (`serving.delivery_rules`), a branch of a page takes faults (`views.reasons.moments`), and a
run that continues takes a condition (`condition_of`).
"""

from __future__ import annotations

import re

from kipviz.core.values import Value
from kipviz.messages.former_names import validate_message_names

HOLD, LOSE = "hold", "lose"
ANSWER, REQUEST = "answer", "request"
COORDINATOR_CRASHES = "the coordinator crashes"
# What the words of a condition name; "any" of these.
CONDITIONS = ("any", "message", "state", "property", "text")
_DELIVERY = re.compile(
    r"(?P<verb>hold|lose) (?:(?:(?P<every>every)|the) (?P<nth>\d+)(?:st|nd|rd|th) )?(?P<what>\w+)"
)
_CRASH_AT = re.compile(r"crash the coordinator at (?P<state>\w+)", re.IGNORECASE)
_AFTER, _BEFORE = (re.compile(rf"{word} ", re.IGNORECASE) for word in ("after", "before"))


class Delivery(Value, frozen=True):
    """What happens to messages: `verb` is `HOLD` or `LOSE`, `messages` a message's name, `REQUEST` or `ANSWER`.

    `nth` None means each of them; `every` repeats.
    """

    verb: str
    messages: str
    nth: int | None = None
    every: bool = False


class RunPoint(Value, frozen=True):
    """A point of a run: what happens, after what is done, before what is not done yet; "" for a part without words.

    `delivery` is set if what happens is a delivery and no fault.
    """

    happens: str
    after: str = ""
    before: str = ""
    delivery: Delivery | None = None


def parse_point(words: str) -> RunPoint:
    """Parse the words of a point; every text is one, and its user says whether it knows the fault and the names."""
    crash = _CRASH_AT.fullmatch(words.strip())
    if crash is not None:
        return RunPoint(COORDINATOR_CRASHES, crash["state"])
    head, before = _split(_BEFORE, words)
    happens, after = _split(_AFTER, head)
    found = _DELIVERY.fullmatch(happens)
    if found is None:
        return RunPoint(happens, after, before)
    nth = int(found["nth"]) if found["nth"] else None
    delivery = Delivery(found["verb"], found["what"], nth, bool(found["every"]))
    return RunPoint(happens, after, before, delivery)


def is_condition(point: RunPoint) -> bool:
    """Return whether a point has words of a condition alone: what happens, or "after" what."""
    return not (point.before or (point.after and point.happens))


def condition_of(words: str) -> str:
    """Return the condition that a run continues to: "PREPARE_COMMIT", or "after PREPARE_COMMIT".

    Raises:
        ValueError: if the words name something that happens there, too, or a message as it was called before, or
            there are none.
    """
    validate_message_names(words)
    point = parse_point(words.strip())
    if not is_condition(point):
        raise ValueError(
            f"a run continues until a condition holds, such as PREPARE_COMMIT; {words.strip()!r} also says what happens "
            "there: fault_at() lets it happen"
        )
    condition = point.after or point.happens
    if not condition:
        raise ValueError("say what to run until: a message, a state, a property or some words")
    return condition


def _split(at: re.Pattern[str], words: str) -> tuple[str, str]:
    """Return the words before and after the first place of a pattern, the latter "" if it is nowhere."""
    found = at.search(words)
    if found is None:
        return words.strip(), ""
    return words[: found.start()].strip(" ,"), words[found.end() :].strip()
