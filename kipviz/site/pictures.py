"""A small picture of a run for the gallery: its lanes, its messages, and the violations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

WIDE, TALL, TOP, LINE = 300, 132, 22, 12
INK, CALM, REPLY, LOST = "#7d8694", "#0072b2", "#56b4e9", "#d55e00"
LANES_MAX = 7
LETTER = 7.2  # of 12 px


def picture(payload: Mapping[str, Any]) -> str:
    """Return a run as an SVG of 300 x 132, legible on every background, without a style sheet."""
    lanes = payload["lanes"][:LANES_MAX]
    gap = WIDE / len(lanes)
    at = {lane["id"]: round(gap * (n + 0.5), 1) for n, lane in enumerate(lanes)}
    last = max(1, len(payload["steps"]) - 1)
    # Names that are wider than their lanes stand in two lines in turn, so that each is whole.
    lines = 2 if any(len(lane["id"]) * LETTER > gap for lane in lanes) else 1
    top = TOP + LINE * (lines - 1)

    def down(step: float) -> float:
        return round(top + 6 + (TALL - top - 12) * step / last, 1)

    parts = []
    for n, lane in enumerate(lanes):
        x, name = at[lane["id"]], lane["id"]
        half, line = len(name) * LETTER / 2, LINE * (n % lines)
        middle = round(min(max(x, half), WIDE - half), 1)
        parts.append(
            f'<text x="{middle}" y="{14 + line}" font-size="12" text-anchor="middle" fill="#1b2330">'
            f"{_plain(name)}</text>"
        )
        parts.append(f'<path d="M{x} {18 + line}V{TALL}" stroke="#d5dae1"/>')
    for span in payload.get("downs", []):
        if span.get("lane") in at:
            end = last if span["to"] is None else span["to"]
            x = at[span["lane"]]
            parts.append(
                f'<path d="M{x} {down(span["from"])}V{down(end)}" stroke="{LOST}" stroke-width="4"/>'
            )
    for message in payload["messages"]:
        if message["from"] not in at or message["to"] not in at:
            continue
        lost = message["lost"] is not None
        end = message["lost"] if lost else message["arrived"]
        colour = LOST if lost else CALM if message["kind"] == "request" else REPLY
        begin, stop = at[message["from"]], at[message["to"]]
        dashed = ' stroke-dasharray="3 2"' if lost else ""
        parts.append(
            f'<path d="M{begin} {down(message["sent"])}L{stop} {down(last if end is None else end)}" '
            f'stroke="{colour}"{dashed}/>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {TALL}" fill="none" '
        f'font-family="system-ui,sans-serif"><rect width="{WIDE}" height="{TALL}" fill="#fff"/>'
        f"{''.join(parts)}</svg>\n"
    )


def _plain(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")
