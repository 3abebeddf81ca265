"""Notebooks for students: the same cells without answers and without outputs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from kipviz.core import whole_file
from kipviz.core.values import Value

# A cell with this tag is for the teacher.
ANSWER = "answer"
_DETAILS = re.compile(r"<details>.*?</details>\s*", re.DOTALL)


class BadNotebook(ValueError):
    """A folder without notebooks, or a file that is none; the message says which."""


class Figures(Value, frozen=True):
    """How long a notebook is: words to read, and cells to run."""

    words: int
    cells: int


def build(source: Path, target: Path) -> tuple[str, ...]:
    """Write every notebook of a folder without answers into another one; return the files' names.

    Raises:
        BadNotebook: if there is no notebook, one cannot be read, or both folders are the same.
        OSError: if a file cannot be written.
    """
    paths = sorted(source.glob("*.ipynb"))
    if not paths:
        raise BadNotebook(f"{source} has no notebook; name the folder with --notebooks DIR")
    if source.resolve() == target.resolve():
        raise BadNotebook(f"{target} has the notebooks with answers; name another folder")
    made = {path.name: without_answers(_notebook(path)) for path in paths}
    target.mkdir(parents=True, exist_ok=True)
    for name, notebook in made.items():
        text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
        whole_file.write(target / name, text.encode())
    return tuple(made)


def without_answers(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return a notebook without cells tagged "answer", folded answers, outputs and counts."""
    cells = []
    for cell in notebook["cells"]:
        if ANSWER in cell.get("metadata", {}).get("tags", ()):
            continue
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            source = _DETAILS.sub("", source).strip()
            if not source:
                continue
        fresh = {**cell, "source": source.splitlines(keepends=True)}
        if cell["cell_type"] == "code":
            fresh.update(outputs=[], execution_count=None)
        cells.append(fresh)
    return {**notebook, "cells": cells}


def figures(path: Path) -> Figures:
    """Count what a learner reads and runs in a notebook; folded answers are read, too.

    Raises:
        BadNotebook: if the file is no notebook.
    """
    cells = _notebook(path)["cells"]
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    words = sum(len(re.sub(r"<[^>]+>|[#|*`-]", " ", text).split()) for text in texts)
    return Figures(words, len(code))


def _notebook(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError):
        raise BadNotebook(f"{path} is no notebook") from None
    if not isinstance(found, dict) or not isinstance(found.get("cells"), list):
        raise BadNotebook(f"{path} is no notebook")
    return found
