"""The stepper in words: the text that a notebook stores beside the widget, and that a terminal shows.

nbval compares stored outputs but skips widget views. So the words contain everything that must not change unnoticed:
the step, its sentence, the verdicts, and a fingerprint of the rest.
"""

from __future__ import annotations

from kipviz.views.tones import SIGN_OF_STATUS
from kipviz.widgets.pages.line import Line


def sentence_line(line: Line, step: int, fingerprint: str) -> str:
    """Return one line: step n of m | sentence | verdicts | fingerprint."""
    number, count = line.big_number(step), len(line.bigs)
    where = f"message {step} of {line.last}"
    if count:
        where = f"step {number} of {count}, {where}"
    if line.name != "main":
        where = f"{where}, branch “{line.name}”"
    return " | ".join((where, line.sentence(step), verdict_words(line, step), fingerprint))


def verdict_words(line: Line, step: int) -> str:
    """Return each property with its sign, or "no properties"."""
    words = [f"{SIGN_OF_STATUS[v['state']]} {v['property']}" for v in line.verdicts_at(step)]
    return ", ".join(words) or "no properties"


def flow(line: Line) -> list[str]:
    """Return the big steps, numbered, with the sentence of each."""
    return [f"{n:>3}. {big['title']}: {big.get('say', '')}" for n, big in enumerate(line.bigs, 1)]


def table(line: Line, cursor: int) -> list[str]:
    """Return every small step on its own line, below its big step; the cursor is marked."""
    wide = max(len(str(step["actor"])) for step in line.steps)
    rows = []
    for number, step in enumerate(line.steps):
        for n, big in enumerate(line.bigs, 1):
            if big["from"] == number:
                rows.append(f"{n:>3}. {big['title']}")
        sign = ">" if number == cursor else " "
        rows.append(
            f"  {sign}{number:>4}  {step['actor']:<{wide}}  {step['sentence']}{_turns(line, number)}"
        )
    return rows


def _turns(line: Line, step: int) -> str:
    """Return the verdicts that change at this step."""
    if step == 0:
        return ""
    before = {v["property"]: v["state"] for v in line.verdicts_at(step - 1)}
    news = [
        f"{SIGN_OF_STATUS[v['state']]} {v['property']}"
        + (f": {v['reason']}" if v.get("reason") else "")
        for v in line.verdicts_at(step)
        if before.get(v["property"]) != v["state"]
    ]
    return f"  [{'; '.join(news)}]" if news else ""
