"""A payload as a Markdown table, for a mailing list or an issue."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from kipviz.checking.single_run.runs import Judgement
from kipviz.properties.verdict import title_of
from kipviz.scenarios.applications.program_faults import THE_PROGRAM
from kipviz.views.lifetimes import covers
from kipviz.views.page_parts import Shown, VerdictPart
from kipviz.views.tones import SIGN_OF_STATUS

# Control characters, and halves of surrogate pairs, which a file cannot contain.
_UNSEEN = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
# Characters that Markdown, or the HTML made from it, would interpret.
_SIGNS_OF_MARKDOWN = "\\`*_{}[]<>#|~$"
_SPECIAL = str.maketrans({c: f"\\{c}" for c in _SIGNS_OF_MARKDOWN} | {"&": "&amp;"})
# A bar inside a cell stays marked: a table that is read as text has its columns by its bars.
_MARKED = re.compile(rf"\\([{re.escape(_SIGNS_OF_MARKDOWN.replace('|', ''))}])|&amp;")


def markdown(payload: Shown, judged: Sequence[Judgement]) -> str:
    """Render the main branch of a payload: its title, its steps with their verdicts, and the final verdicts."""
    properties = list(dict.fromkeys(v["property"] for v in payload["verdicts"]))
    design = payload["design"]
    lines = [
        f"# {plain(payload['title'])}",
        "",
        f"Design {plain(design['name'])} ({plain(design['status'])}): {plain(design['sentence'])}",
        "",
        plain(payload.get("spec_line", "")),
        "",
        table_row(["step", "who", "what happens", *map(plain, properties)]),
        table_row(["---:", "---", "---", *([":---:"] * len(properties))]),
    ]
    for k, step in enumerate(payload["steps"]):
        for number, big in enumerate(payload["bigs"], 1):
            if big["from"] == k:
                said = f"**{number}. {plain(big['title'])}** {plain(big['say'])}"
                lines.append(table_row(["", "", said, *([""] * len(properties))]))
        signs = [_sign(payload["verdicts"], name, k) for name in properties]
        lines.append(table_row([str(k), plain(step["actor"]), plain(step["sentence"]), *signs]))
    lines += ["", *(f"- {_render_judgement(judgement)}" for judgement in judged)]
    return "\n".join(lines) + "\n"


def plain(text: str) -> str:
    """Escape a text so that Markdown shows it literally, on one line."""
    return _UNSEEN.sub("\ufffd", " ".join(text.split())).translate(_SPECIAL)


def lines_of(page: str) -> list[str]:
    """Return the lines of a page for a terminal or a file of text: TX_PENDING without the backslash that Markdown needs."""
    return _MARKED.sub(lambda found: found[1] or "&", page).splitlines()


def _render_judgement(judgement: Judgement) -> str:
    where = f" since step {judgement.step}" if judgement.step >= 0 else ""
    words = f"{SIGN_OF_STATUS[judgement.status]} {plain(title_of(judgement.property))}: {judgement.status}{where}."
    blame = f" ({THE_PROGRAM}: {plain(judgement.blame)})" if judgement.blame else ""
    return f"{words} {plain(judgement.reason)}".rstrip() + blame


def _sign(verdicts: Sequence[VerdictPart], name: str, step: int) -> str:
    for verdict in verdicts:
        if verdict["property"] == name and covers(verdict, step):
            return SIGN_OF_STATUS[verdict["state"]]
    return ""


def table_row(cells: Iterable[str]) -> str:
    """Return one row of a Markdown table; its cells are Markdown already."""
    return f"| {' | '.join(cells)} |"
