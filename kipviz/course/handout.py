"""Notebooks for students: the same cells without answers and without outputs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec

from kipviz.core.outside import atomic_write, untrusted_file
from kipviz.core.outside.printable import sentence
from kipviz.core.values import Value

# A cell with this tag is for the teacher.
ANSWER = "answer"
_FOLDED, _UNFOLDED = "<details>", "</details>"


class BadNotebook(ValueError):
    """A folder without notebooks, or a file that is not a notebook; the message names it."""


# The speed of reading technical text; the time to look at the diagram of one step; the time to run a cell.
WORDS_A_MINUTE, SECONDS_A_STEP, SECONDS_A_CELL = 180, 5, 10
_PLACE = re.compile(r"step (\d{1,9}) of (\d{1,9})(?!\d)")
_FIRST_OF_LIST = re.compile(r"^ +1\. ", re.MULTILINE)


class Figures(Value, frozen=True):
    """The length of a notebook: words of its text and of its outputs, cells to run, and steps to take in its runs.

    A step counts if a stored stepper stands before it; its sentence is among the words of the outputs. A line that was
    in an earlier output is not counted again.
    """

    words: int
    output_words: int
    cells: int
    steps: int

    @property
    def minutes(self) -> int:
        """Return the minutes that it takes to read everything, run every cell and take every step once."""
        seconds = (self.words + self.output_words) * 60 / WORDS_A_MINUTE
        seconds += self.steps * SECONDS_A_STEP + self.cells * SECONDS_A_CELL
        return round(seconds / 60)


def build(source: Path, target: Path) -> tuple[str, ...]:
    """Write every notebook of a folder without answers into another folder; return the files' names.

    Markdown pages, such as that of the course, are copied, because notebooks link to them.

    Raises:
        BadNotebook: if there is not a notebook, one cannot be read, or both folders are the same.
        OSError: if a file cannot be written.
    """
    paths = sorted(source.glob("*.ipynb"))
    if not paths:
        raise BadNotebook(f"{source} has no notebook; name the folder with --notebooks DIR")
    if source.resolve() == target.resolve():
        raise BadNotebook(f"{target} has the notebooks with answers; name another folder")
    made = {path.name: without_answers(_notebook(path)) for path in paths}
    pages = {path.name: path.read_bytes() for path in sorted(source.glob("*.md"))}
    target.mkdir(parents=True, exist_ok=True)
    for name, notebook in made.items():
        text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
        atomic_write.write(target / name, text.encode())
    for name, page in pages.items():
        atomic_write.write(target / name, page)
    return tuple(made)


def without_answers(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return a notebook without cells tagged "answer", folded answers, outputs and counts."""
    cells = []
    for cell in notebook["cells"]:
        if ANSWER in cell.get("metadata", {}).get("tags", ()):
            continue
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            source = _remove_folded(source).strip()
            if not source:
                continue
        fresh = {**cell, "source": source.splitlines(keepends=True)}
        if cell["cell_type"] == "code":
            fresh.update(outputs=[], execution_count=None)
        cells.append(fresh)
    return {**notebook, "cells": cells}


def _remove_folded(text: str) -> str:
    """Remove folded sections; one that is never closed stays."""
    kept, at = [], 0
    while (begin := text.find(_FOLDED, at)) >= 0 and (end := text.find(_UNFOLDED, begin)) >= 0:
        kept.append(text[at:begin])
        at = end + len(_UNFOLDED)
        while at < len(text) and text[at].isspace():
            at += 1
    return "".join([*kept, text[at:]])


def figures(path: Path) -> Figures:
    """Count what a learner reads, runs and steps through in a notebook; folded answers are included.

    Raises:
        BadNotebook: if the file is not a notebook.
    """
    cells = _notebook(path, outputs=True)["cells"]
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    words = sum(len(re.sub(r"<[^<>]+>|[#|*`-]", " ", text).split()) for text in texts)
    outputs = [text for cell in code for text in _outputs(cell)]
    return Figures(
        words,
        _fresh_words(outputs),
        len(code),
        sum(_steps_left(text) for text in outputs),
    )


def _outputs(cell: dict[str, Any]) -> list[str]:
    """Return the text of each stored output of a cell."""
    found = (
        each.get("text") or each.get("data", {}).get("text/plain", "")
        for each in cell.get("outputs", ())
    )
    return ["".join(text) for text in found]


def _steps_left(output: str) -> int:
    place = _PLACE.match(output)
    return int(place[2]) - int(place[1]) if place else 0


def _fresh_words(outputs: list[str]) -> int:
    """Count the words that a reader has not read before; for a stepper at its end, those of its last sentence."""
    lines: dict[str, None] = {}
    for output in outputs:
        at_its_end = _PLACE.match(output) and _steps_left(output) == 0
        shown = _FIRST_OF_LIST.split(output)[0] if at_its_end else output
        lines |= dict.fromkeys(shown.splitlines())
    return sum(len(line.split()) for line in lines)


class _Output(msgspec.Struct):
    text: str | list[str] = ""
    data: dict[str, Any] = {}


class _Cell(msgspec.Struct):
    cell_type: str
    source: str | list[str]
    metadata: dict[str, Any] = {}
    outputs: list[Any] = []


class _Notebook(msgspec.Struct):
    """The fields of a notebook that are used; all others stay unchanged."""

    cells: list[_Cell]


def _notebook(path: Path, *, outputs: bool = False) -> dict[str, Any]:
    try:
        found: dict[str, Any] = msgspec.json.decode(untrusted_file.read(path))
        for cell in msgspec.convert(found, _Notebook).cells:
            for output in msgspec.convert(cell.outputs, list[_Output]) if outputs else ():
                msgspec.convert(output.data.get("text/plain", ""), str | list[str])
            msgspec.convert(cell.metadata.get("tags", []), list[str])
    except OSError as wrong:
        raise BadNotebook(f"{path} cannot be read: {wrong.strerror}") from None
    except (msgspec.MsgspecError, ValueError, RecursionError) as wrong:
        raise BadNotebook(sentence(f"{path} is not a notebook: {wrong}")) from None
    return found
