"""A payload as a Mermaid sequence diagram.

Mermaid draws an arrow at one point in time, so a message stands where it arrives or is lost; one that is still in
flight at the end comes last, with a question mark.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from kipviz.views.page_parts import MessagePart, NotePart, Shown

# Control characters, and halves of surrogate pairs, which a file cannot contain.
_UNSEEN = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")


def mermaid(payload: Shown) -> str:
    """Return the main branch of a payload as the text of a diagram."""
    names = {lane["id"]: f"L{number}" for number, lane in enumerate(payload["lanes"])}
    ends = list(names.values())
    across = ends[0] if len(ends) == 1 else f"{ends[0]},{ends[-1]}"
    lines = ["sequenceDiagram", f"  %% {plain(payload['title'])}"]
    for lane in payload["lanes"]:
        title = plain(f"{lane['title']} ({lane['sub']})" if lane["sub"] else lane["title"])
        lines.append(f"  participant {names[lane['id']]} as {title}")
    for k in range(len(payload["steps"])):
        lines += [
            f"  Note over {across}: {number}. {plain(big['title'])}"
            for number, big in enumerate(payload["bigs"], 1)
            if big["from"] == k
        ]
        lines += [
            _arrow(message, names, lost=message["lost"] == k)
            for message in payload["messages"]
            if k in (message["arrived"], message["lost"])
        ]
        lines += [_note(note, names) for note in payload["notes"] if note["step"] == k]
        lines += _downs(payload, names, k)
        lines += [
            f"  Note over {across}: ✗ {plain(verdict['property'])}: {plain(verdict['reason'])}"
            for verdict in payload["verdicts"]
            if verdict["state"] == "broken" and verdict["from"] == k
        ]
    for message in payload["messages"]:
        if message["arrived"] is None and message["lost"] is None:
            lines.append(f"{_arrow(message, names, lost=False)} (still in flight)")
    return "\n".join(lines) + "\n"


def plain(text: str) -> str:
    """Escape a text so that Mermaid shows it literally, on one line."""
    one_line = _UNSEEN.sub("\ufffd", " ".join(text.split()))
    return "".join(f"#{ord(c)};" if c in '#;<>&"%{}' else c for c in one_line)


def _arrow(message: MessagePart, names: Mapping[str, str], *, lost: bool) -> str:
    dashed = message["kind"] == "response"
    line = ("--x" if dashed else "-x") if lost else ("-->>" if dashed else "->>")
    source, target = names[message["from"]], names[message["to"]]
    return f"  {source}{line}{target}: {plain(message['label'])}"


def _note(note: NotePart, names: Mapping[str, str]) -> str:
    text = f"{note['text']} ({note['sub']})" if note["sub"] else note["text"]
    return f"  Note over {names[note['lane']]}: {plain(text)}"


def _downs(payload: Shown, names: Mapping[str, str], step: int) -> list[str]:
    said = []
    for down in payload.get("downs", []):
        if down["from"] == step:
            said.append(f"  Note over {names[down['lane']]}: is down")
        if down["to"] == step:
            said.append(f"  Note over {names[down['lane']]}: is up again")
    return said
