"""Draw the package's floors and rooms from the tree: `python -m tests.tidy.floors_picture` writes docs/floors.svg.

The order of the floors is that of `tool.importlinter` in pyproject.toml: a floor imports only what lies below it.
"""

from __future__ import annotations

import re
import textwrap
import tomllib
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "floors.svg"
WIDTH = 1160
GAP = 8
LINE = 17
LETTER = 6.8
"""The advance of one letter of the rooms' text, in pixels: wide enough for any font."""


def floors() -> list[list[str]]:
    """Return the floors side by side in each layer, highest layer first."""
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    layers = tool["importlinter"]["contracts"][0]["layers"]
    rows = [re.findall(r"\((\w+)\)", layer) for layer in layers]
    return [row for row in rows if row != ["__main__"]]


def rooms(floor: str) -> list[str]:
    """Return the names of a floor's rooms: the packages in it."""
    folder = ROOT / "kipviz" / floor
    if not folder.is_dir():
        return []
    return [room.name for room in sorted(folder.iterdir()) if (room / "__init__.py").exists()]


def picture() -> str:
    """Return the SVG: a row for each layer, a box for each floor, the rooms in it as text."""
    drawn: list[str] = []
    top = GAP
    for row in floors():
        wide = (WIDTH - GAP * (len(row) + 1)) / len(row)
        texts = [textwrap.wrap(" · ".join(rooms(f)), int((wide - 24) / LETTER)) for f in row]
        high = 30 + LINE * max(len(lines) for lines in texts)
        for place, (floor, lines) in enumerate(zip(row, texts, strict=True)):
            left = GAP + place * (wide + GAP)
            drawn.append(
                f'<rect x="{left:.0f}" y="{top}" width="{wide:.0f}" height="{high}" rx="6"/>'
                f'<text class="floor" x="{left + 12:.0f}" y="{top + 19}">{escape(floor)}</text>'
            )
            for number, line in enumerate(lines):
                drawn.append(
                    f'<text x="{left + 12:.0f}" y="{top + 37 + LINE * number}">{escape(line)}</text>'
                )
        top += high + GAP
    style = (
        "rect{fill:#f6f8fa;stroke:#8b949e}text{font:12px sans-serif;fill:#24292f}"
        ".floor{font-weight:bold;font-size:14px}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" role="img" '
        'aria-label="The floors of kipviz, highest first, each with its rooms">\n'
        f"<style>{style}</style>\n" + "\n".join(drawn) + "\n</svg>\n"
    )


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
