"""Align two branches: which steps correspond to each other, and where the two runs diverge.

Runs of the same flow are aligned by its big steps. Within one, and in runs without big steps, a step corresponds to the
step of the same name on the other side. If only one side acts, the other one waits, so that neither runs ahead unseen.
A call with another name on the other side, such as initialize() of a session for initTransactions(), is the same step
with a note, and no difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise, zip_longest

from kipviz.views.page_parts import Part, Shown
from kipviz.views.waypoints import rests
from kipviz.widgets.pages import payload as payloads
from kipviz.widgets.pages.line import Line
from kipviz.widgets.pages.open_question import untold_title

Pairs = list[list[int]]

# The kinds of a pair of steps, one letter each: the same on both sides, the same under another name, different on each
# side, or one side alone.
SAME, RENAMED, OTHERWISE, LEFT, RIGHT = "=", "~", "!", "<", ">"
SIDES = ("left", "right")

# Names are matched within pieces of this many steps, because the cost of matching is quadratic.
PIECE = 600


def align_lines(left: Line, right: Line) -> tuple[Pairs, list[Part]]:
    """Pair the small steps of two branches, big step by big step.

    A side that waits keeps its number from one pair to the next. During a big step that only one side has, because the
    other design has nothing to do there, the other side waits.

    Returns:
        The pairs, and the big steps as ranges of pairs with their resting points.
    """
    pairs: Pairs = [[0, 0]]
    bigs: list[Part] = []
    for one, other in _together(left, right):
        begin, ends, title = len(pairs), (pairs[-1][0], pairs[-1][1]), ""
        if other is not None:
            ends, title = (ends[0], _end(right, other)), str(right.bigs[other]["title"])
        if one is not None:
            ends, title = (_end(left, one), ends[1]), str(left.bigs[one]["title"])
        _go_on(pairs, left, right, ends)
        if len(pairs) > begin:
            notable = [
                any(line.steps[k].get("interesting") for line, k in ((left, a), (right, b)))
                for a, b in pairs
            ]
            resting = rests(begin, len(pairs) - 1, notable)
            bigs.append({"from": begin, "to": len(pairs), "title": title, "rests": resting})
    _go_on(pairs, left, right, (left.last, right.last))
    return pairs, bigs


def marks(left: Line, right: Line, pairs: Sequence[Sequence[int]]) -> str:
    """Return for every pair whether both sides do the same, one letter each."""
    found = [_both(left, right, pairs[0])]
    for (one, other), pair in pairwise(pairs):
        if pair[0] == one:
            found.append(RIGHT)
        elif pair[1] == other:
            found.append(LEFT)
        else:
            found.append(_both(left, right, pair))
    return "".join(found)


def differences(
    left: Line,
    right: Line,
    pairs: Sequence[Sequence[int]],
    what: str,
    names: tuple[str, str] = SIDES,
) -> list[Part]:
    """Return the places at which the runs diverge, in order: ``{"at", "to", "sentence"}``.

    `names` are the names of the two sides in the sentences.

    Adjacent pairs of one kind are one place. A verdict that starts to differ is a place of its own, even in the middle
    of another one.
    """
    found: list[Part] = []
    told: dict[str, tuple[str, str]] = {}
    before = SAME
    for at, (pair, mark) in enumerate(zip(pairs, what, strict=True)):
        kind = SAME if mark == RENAMED else mark
        apart = _verdicts_apart(left, right, pair)
        news = {name: states for name, states in apart.items() if told.get(name) != states}
        told = apart
        if kind != SAME and (kind != before or news):
            found.append(
                {"at": at, "to": at + 1, "sentence": _sentence(left, right, pair, kind, names)}
            )
        elif kind != SAME:
            found[-1]["to"] = at + 1
        if news:
            say = " and ".join(f"{name}: {a} against {b}" for name, (a, b) in news.items())
            verdicts = f"The verdicts differ: {say}."
            if kind == SAME:
                found.append({"at": at, "to": at + 1, "sentence": verdicts})
            else:
                found[-1]["sentence"] += f" {verdicts}"
        before = kind
    return found


def compare_payloads(
    one: Shown,
    other: Shown,
    held: tuple[Line, Line],
    lines: tuple[int, int],
    names: tuple[str, str],
) -> Part:
    """Return the payload of a comparison: both payloads, the pairs of steps, and what differs.

    Args:
        one: the payload on the left.
        other: the payload on the right.
        held: the branch of each that is shown.
        lines: the numbers of these branches, 0 for the main run.
        names: the names of the sides.
    """
    pairs, bigs = align_lines(*held)
    what = marks(*held, pairs)
    titles = dict.fromkeys(untold_title(payload) for payload in (one, other))
    return {
        "format": payloads.FORMAT,
        "title": " | ".join(titles),
        "left": one,
        "right": other,
        "names": list(names),
        "lines": list(lines),
        "pairs": pairs,
        "marks": what,
        "bigs": bigs,
        "differences": differences(*held, pairs, what),
    }


def find_renamed(left: Line, right: Line, pairs: Sequence[Sequence[int]], what: str) -> list[Part]:
    """Return the steps that are the same under another name, each pair of names once: ``{"at", "left", "right"}``."""
    found: dict[tuple[str, str], int] = {}
    for at, ((one, other), mark) in enumerate(zip(pairs, what, strict=True)):
        names = str(left.steps[one]["title"]), str(right.steps[other]["title"])
        if mark == RENAMED and names[0] != names[1]:
            found.setdefault(names, at)
    return [{"at": at, "left": one, "right": other} for (one, other), at in found.items()]


def first_words(found: Sequence[Shown], names: Sequence[Shown]) -> str:
    """Return where two runs first differ, in words, or that they do not, or only in names."""
    if found:
        return f"first difference at {found[0]['at']}: {found[0]['sentence']}"
    return "no difference except names" if names else "no difference"


def names_words(names: Sequence[Shown]) -> str:
    """Return which calls have another name on the other side, and the number of messages that follow from them."""
    calls = [f"{one['left']} ≈ {one['right']}" for one in names if one["left"].endswith("()")]
    others = sum(not one["left"].endswith("()") for one in names)
    return ", ".join([*calls, *([f"and in {others} more steps"] if others else [])])


def same(one: Shown, other: Shown) -> str:
    """Return whether two steps are the same, the same under another name, or different."""
    if one["sentence"] == other["sentence"]:
        return SAME
    return RENAMED if by_role(one)[1] == by_role(other)[1] else OTHERWISE


def _both(left: Line, right: Line, pair: Sequence[int]) -> str:
    return same(left.steps[pair[0]], right.steps[pair[1]])


def by_role(step: Shown) -> tuple[str, str]:
    """Return a step's title and sentence by the role of its call."""
    title, sentence = step.get("role") or (step["title"], step["sentence"])
    return str(title), str(sentence)


def _sentence(
    left: Line, right: Line, pair: Sequence[int], kind: str, names: tuple[str, str]
) -> str:
    one, other = left.steps[pair[0]]["sentence"], right.steps[pair[1]]["sentence"]
    if kind == LEFT:
        return f"Only {names[0]}: {one}"
    if kind == RIGHT:
        return f"Only {names[1]}: {other}"
    heads = ("Left", "Right") if names == SIDES else names
    return f"{heads[0]}: {one} {heads[1]}: {other}"


def _verdicts_apart(left: Line, right: Line, pair: Sequence[int]) -> dict[str, tuple[str, str]]:
    one, other = _states(left, pair[0]), _states(right, pair[1])
    return {
        name: (one.get(name, "not asked"), other.get(name, "not asked"))
        for name in dict.fromkeys((*one, *other))
        if one.get(name) != other.get(name)
    }


def _states(line: Line, step: int) -> dict[str, str]:
    return {verdict["property"]: verdict["state"] for verdict in line.verdicts_at(step)}


def _together(left: Line, right: Line) -> list[tuple[int | None, int | None]]:
    """The big steps of both sides in order: those with the same title together, the others one by one."""
    one, other = ([str(big["title"]) for big in line.bigs] for line in (left, right))
    return list(_match_names(one, other))


def _go_on(pairs: Pairs, left: Line, right: Line, ends: tuple[int, int]) -> None:
    """Pair the steps after the last pair, up to and including an end on either side."""
    one, other = pairs[-1]
    here = range(one + 1, ends[0] + 1), range(other + 1, ends[1] + 1)
    names = [
        [by_role(line.steps[k])[0] for k in steps]
        for line, steps in zip((left, right), here, strict=True)
    ]
    for a, b in _match_names(*names):
        one = one if a is None else here[0][a]
        other = other if b is None else here[1][b]
        pairs.append([one, other])


def _match_names(one: list[str], other: list[str]) -> Iterator[tuple[int | None, int | None]]:
    """Match two lists of names in order; where they differ, pair the elements one by one."""
    shared = next(
        (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )
    yield from zip(range(shared), range(shared), strict=True)
    for begin in range(shared, max(len(one), len(other)), PIECE):
        pieces = one[begin : begin + PIECE], other[begin : begin + PIECE]
        for _, a, b, c, d in SequenceMatcher(None, *pieces, autojunk=False).get_opcodes():
            yield from zip_longest(range(begin + a, begin + b), range(begin + c, begin + d))


def _end(line: Line, n: int) -> int:
    """The last small step of the n-th big step."""
    return min(int(line.bigs[n]["to"]) - 1, line.last)
