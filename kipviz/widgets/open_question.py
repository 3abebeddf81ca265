"""What a reader may see of a story before its question was answered: nothing that tells the answer.

The page does the same in the browser (front/src/question.js); here it serves titles, stored pictures and words.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

Part = Mapping[str, Any]


def open_question(payload: Part, revealed: Container[str]) -> Part | None:
    """Return the first question of a story whose answer was not shown yet, if there is one."""
    return next((q for q in payload.get("questions", []) if q["id"] not in revealed), None)


def title_of(payload: Part, revealed: Container[str]) -> str:
    """Return the title of a run; while a question is open, the one that does not tell its answer."""
    title = str(payload["title"])
    if open_question(payload, revealed) is None:
        return title
    return str(payload.get("untold") or title)


def tells_at(payload: Part, revealed: Container[str]) -> int:
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
