"""A payload as a PlantUML sequence diagram, which wikis such as Confluence draw from its text.

A message stands where it arrives or is lost; one that is still in flight comes last.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from kipviz.views.page_parts import MessagePart, NotePart, Shown

# Control characters, and halves of surrogate pairs, which a file cannot contain.
_UNSEEN = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
# What PlantUML or its Creole markup interprets: some characters everywhere, others only at the start of a text or side
# by side.
_READ = re.compile(
    r"""[<>&"\\%~#@!'|{}\[\]*^$;]|^[-.:=_/]|(?<=[-._/=])[-._/=]|[-._/=](?=[-._/=])"""
)


def plantuml(payload: Shown) -> str:
    """Return the main branch of a payload as the text of a PlantUML diagram."""
    names = {lane["id"]: f"L{number}" for number, lane in enumerate(payload["lanes"])}
    ends = list(names.values())
    across = ends[0] if len(ends) == 1 else f"{ends[0]}, {ends[-1]}"
    lines = ["@startuml", f"title {plain(payload['title'])}"]
    for lane in payload["lanes"]:
        title = f"{lane['title']} ({lane['sub']})" if lane["sub"] else lane["title"]
        lines.append(f'participant "{plain(title)}" as {names[lane["id"]]}')
    for k in range(len(payload["steps"])):
        lines += [
            f"note over {across}: {number}. {plain(big['title'])}"
            for number, big in enumerate(payload["bigs"], 1)
            if big["from"] == k
        ]
        lines += [
            _arrow(message, names, lost=message["lost"] == k)
            for message in payload["messages"]
            if k in (message["arrived"], message["lost"])
        ]
        lines += [_note(note, names) for note in payload["notes"] if note["step"] == k]
        for down in payload.get("downs", []):
            if down["from"] == k:
                lines.append(f"note over {names[down['lane']]}: is down")
            if down["to"] == k:
                lines.append(f"note over {names[down['lane']]}: is running again")
        lines += [
            f"note over {across}: ✗ {plain(verdict['property'])}, {plain(verdict['reason'])}"
            for verdict in payload["verdicts"]
            if verdict["state"] == "broken" and verdict["from"] == k
        ]
    lines += [
        f"{_arrow(message, names, lost=False)} (still in flight)"
        for message in payload["messages"]
        if message["arrived"] is None and message["lost"] is None
    ]
    return "\n".join([*lines, "@enduml"]) + "\n"


def plain(text: str) -> str:
    """Escape a text so that PlantUML shows it literally, on one line."""
    one_line = _UNSEEN.sub("\ufffd", " ".join(text.split()))
    return _READ.sub(lambda found: f"<U+{ord(found[0]):04X}>", one_line)


def _arrow(message: MessagePart, names: Mapping[str, str], *, lost: bool) -> str:
    line = ("--" if message["kind"] == "response" else "-") + (">x" if lost else ">")
    source, target = names[message["from"]], names[message["to"]]
    return f"{source} {line} {target}: {plain(message['label'])}"


def _note(note: NotePart, names: Mapping[str, str]) -> str:
    text = f"{note['text']} ({note['sub']})" if note["sub"] else note["text"]
    return f"note over {names[note['lane']]}: {plain(text)}"
