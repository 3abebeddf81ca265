"""A stepper's answers to "why": which steps set a value, and what is blocked.

The page does the same in the browser (`front/src/drawing/why.js`); this is for a notebook's cell.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kipviz.views.lifetimes import covers
from kipviz.views.page_parts import Shown
from kipviz.views.reasons.causes import chain
from kipviz.widgets.pages.line import Line, no_step

# The host or person that has to act, in the page's words.
HOW = {
    "never": "never resolves",
    "someone": "needs an action",
    "soon": "under way",
    "idle": "nothing to do",
}


def row_of(
    payload: Shown, branches: Sequence[Shown], number: int, step: int, card: str, row: str
) -> Shown:
    """Find a row at a step; a card is named by id or title, a row by id or label.

    Raises:
        ValueError: if there is no such card or row at that step; the message lists those that exist.
    """
    alive = [one for one in _rows(payload, branches, number) if covers(one, step)]
    titles = {head["id"]: head["title"] for head in payload["cards"]}
    cards = dict.fromkeys(one["card"] for one in alive)
    here = [one for one in alive if card in (one["card"], titles.get(one["card"]))]
    if not here:
        raise ValueError(
            f"there is no card {card!r} at step {step}; there are: {_render_names(cards)}"
        )
    found = [one for one in here if row in (one["id"], one["cells"].get("label"))]
    if not found:
        known = _render_names(one["id"] for one in here)
        raise ValueError(f"{card} has no row {row!r} at step {step}; it has: {known}")
    return found[0]


def render_history(payload: Shown, line: Line, row: Shown) -> str:
    """Return the value of a row, since when, and the main chain of steps that set it, newest first."""
    cells = row["cells"]
    value = cells.get("value", ", ".join(f"{name} {cell}" for name, cell in cells.items()))
    links = (
        f"{step} {line.steps[step]['title']}" + (f": {words}" if words else "")
        for step, words in chain(line.steps, row["from"])
    )
    return "\n".join([f"{_name_row(payload, row)}: {value}, since step {row['from']}", *links])


def _name_row(payload: Shown, row: Shown) -> str:
    """Return the name of a row: "my-txn, state", or "src-0@100 for g1" instead of the key of a share-partition."""
    card, label = row["card"], row["cells"].get("label", row["id"])
    if not card.startswith("share:"):
        return f"{card.partition(':')[2] or card}, {label}"
    title = next(str(head["title"]) for head in payload["cards"] if head["id"] == card)
    offset = row["cells"].get("offset")
    return f"{title}, {label}" if offset is None else title.replace(" ", f"@{offset} ", 1)


def causes_of(line: Line, step: int) -> tuple[tuple[int, str, str], ...]:
    """Return the steps that led to a step: number, title, and what it used from each.

    Raises:
        ValueError: if the branch has no such step.
    """
    if type(step) is not int or not 0 <= step <= line.last:
        raise ValueError(no_step(step, line.last))
    return tuple(
        (cause, str(line.steps[cause]["title"]), str(words))
        for cause, words in line.steps[step].get("causes", ())
    )


def list_blocked(
    payload: Shown, branches: Sequence[Shown], number: int, step: int
) -> tuple[str, ...]:
    """Return what is blocked at a step, each in a sentence with its way out, worst first."""
    told = payload
    while number:
        own = next(one for one in branches if one["id"] == number)
        if step > own["at"]:
            told = own
            break
        number = own["parent"] or 0
    holds = [hold for hold in told.get("holds", ()) if covers(hold, step)]
    holds.sort(key=lambda hold: tuple(HOW).index(hold["how"]))
    return tuple(f"{HOW[h['how']]}: {h['text']} Way out: {h['free']}" for h in holds)


def _rows(payload: Shown, branches: Sequence[Shown], number: int) -> list[Shown]:
    """Return all rows of a branch: those of its parent while they last here, and its own."""
    if not number:
        return list(payload["rows"])
    own = next(one for one in branches if one["id"] == number)
    at = own["at"]
    ends = {(card, row): to for card, row, to in own.get("closes", ())}
    inherited = [
        row
        if row["to"] is not None and row["to"] <= at
        else {**row, "to": ends.get((row["card"], row["id"]))}
        for row in _rows(payload, branches, own["parent"] or 0)
        if row["from"] <= at
    ]
    return [*inherited, *own.get("rows", ())]


def _render_names(names: Iterable[str]) -> str:
    return "; ".join(names) or "none"
