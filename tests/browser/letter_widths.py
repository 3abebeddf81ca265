"""Measure the letters of still pictures: `python -m tests.browser.letter_widths`, with Chromium and DejaVu Sans.

DejaVu Sans is the widest of the faces that a picture asks for. `test_letter_widths` compares the table with what
Chromium measures now.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from kipviz.views.exports import letters

if TYPE_CHECKING:
    from playwright.sync_api import Page

TABLE = Path(letters.__file__)
FACE = "DejaVu Sans"
# ASCII, and what the words of the model and the marks of a picture have beside it.
CHARACTERS = "".join(map(chr, range(0x20, 0x7F))) + "·…–—“”‘’→←↔×✓✗△⚠≤≥"
HEAD = '''"""The widths of the letters of DejaVu Sans, in thousandths of the font size: a width, and the letters that have it.

Written by `python -m tests.browser.letter_widths`. A row changes only if the font does.
"""

from typing import Final

'''
MEASURE = """([words, font]) => {
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = font;
  return words.map((text) => pen.measureText(text).width);
}"""


def measure(page: Page, words: Iterable[str], weight: int, size: int, face: str) -> list[float]:
    """Return how many px a browser needs for each text."""
    return page.evaluate(MEASURE, [list(words), f"{weight} {size}px {face}"])


def widths(page: Page, weight: int) -> dict[str, int]:
    """Return the width of each character in thousandths of its size, as the browser draws it now."""
    found = measure(page, CHARACTERS, weight, 1000, f"'{FACE}'")
    return {letter: round(width) for letter, width in zip(CHARACTERS, found, strict=True)}


def module(page: Page) -> str:
    """Return the text of the table's module."""
    tables = {"REGULAR": widths(page, 400), "BOLD": widths(page, 700)}
    parts = [HEAD]
    for name, table in tables.items():
        rows: dict[int, str] = {}
        for letter, width in table.items():
            rows[width] = rows.get(width, "") + letter
        lines = "".join(
            f"    {width}: {_quote_text(row)},\n" for width, row in sorted(rows.items())
        )
        parts.append(f"{name}: Final = {{\n{lines}}}\n")
    return "".join(parts)


def _quote_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\")
    return f'"{escaped}"' if '"' not in text else f"'{escaped}'"


def main() -> None:
    """Write the table again."""
    from playwright.sync_api import sync_playwright

    from tests.browser.harness import CHROMIUM_ARGUMENTS, find_chromium

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_chromium(), args=CHROMIUM_ARGUMENTS
        )
        TABLE.write_text(module(browser.new_page()), encoding="utf-8")
        browser.close()


if __name__ == "__main__":
    main()
