"""What a reader may see of a story before its question was answered: nothing that tells the answer.

The page does the same in the browser (front/src/learning/question.js); here it serves titles, stored pictures and words.
"""

from __future__ import annotations

from collections.abc import Container

from kipviz.views.page_parts import Part, Shown
from kipviz.widgets.pages import text_view
from kipviz.widgets.pages.line import Line


def open_question(payload: Shown, revealed: Container[str]) -> Shown | None:
    """Return the first question of a story whose answer was not shown yet, if there is one."""
    return next((q for q in payload.get("questions", []) if q["id"] not in revealed), None)


def title_of(payload: Shown, revealed: Container[str]) -> str:
    """Return the title of a run; while a question is open, the one that does not tell its answer."""
    if open_question(payload, revealed) is None:
        return str(payload["title"])
    return untold_title(payload)


def untold_title(payload: Shown) -> str:
    """Return the title that does not tell the answer to the story's question.

    A comparison always has it: it asks no question, and may be opened before the story's own is answered.
    """
    return str(payload.get("untold") or payload["title"])


def without_answer(payload: Shown) -> Part:
    """Return a payload whose title does not tell the answer."""
    return {**payload, "title": untold_title(payload)}


def tells_at(payload: Shown, revealed: Container[str]) -> int:
    """Return the first step of the main line that tells the answer to an open question, else the number of steps.

    The part of the story that is asked about begins there, or a property breaks before.
    """
    question = open_question(payload, revealed)
    if question is None:
        return len(payload["steps"])
    bigs = (big["from"] for big in payload["bigs"] if big["from"] <= question["step"] < big["to"])
    broken = (v["from"] for v in payload["verdicts"] if v["state"] == "broken")
    loud = (k for k, step in enumerate(payload["steps"]) if step.get("tone") == "broken")
    return max(1, min(next(bigs, question["step"]), *broken, *loud, question["step"]))


def flow_of(payload: Shown, line: Line, revealed: Container[str]) -> tuple[list[str], list[str]]:
    """Return the big steps of the main line in words: up to an open question, which ends them, and from there on."""
    flow = text_view.flow(line)
    question = open_question(payload, revealed)
    if question is None:
        return flow, []
    tells = tells_at(payload, revealed)
    told = sum(big["to"] <= tells for big in line.bigs)
    options = " / ".join(option["text"] for option in question["options"])
    return [*flow[:told], f"Predict: {question['text']} {options}"], flow[told:]
