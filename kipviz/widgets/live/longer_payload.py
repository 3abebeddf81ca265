"""A payload to which the newest steps of a run are added: the page does the same with its own copy."""

from __future__ import annotations

from kipviz.views.page_parts import HoldPart, Part, RowPart, Shown
from kipviz.widgets.pages.line import line_of
from kipviz.widgets.stepping.sharing import whole


def lengthen(payload: Part, told: Shown, rows: list[RowPart]) -> None:
    """Add to a payload, in place, what is told of its main branch after step ``told["at"]``.

    `rows` are all rows of the longer branch. Branches that left the main branch stay as they are.
    """
    branch = {**told, "id": 1, "name": "main", "parent": 0}
    line = line_of(payload, [branch], 1)
    more = whole(payload, [branch], 1)
    known, new = payload["wire"], told["wire"]
    payload |= {
        **{name: more[name] for name in ("steps", "bigs", "verdicts", "messages", "notes")},
        **{name: more[name] for name in ("downs", "heads", "cuts")},
        "rows": rows,
        "choices": list(line.choices),
        "moments": list(line.moments),
        "holds": [*_end_holds(payload["holds"], told["at"]), *told["holds"]],
        "wire": {
            **known,
            **{name: {**known[name], **new.get(name, {})} for name in ("kinds", "shapes")},
        },
        "grown": told["grown"],
    }


def _end_holds(holds: list[HoldPart], at: int) -> list[HoldPart]:
    """Return what was blocked up to a step; what still is, is told again after it."""
    return [
        hold if hold["to"] is not None and hold["to"] <= at else {**hold, "to": at + 1}
        for hold in holds
        if hold["from"] <= at
    ]
