"""Validation of a user's input before it is used: a path, a text, several names.

Any other input raises a ValueError with one sentence: a user who writes a notebook cell should not have to read where
inside kipviz a number met a text.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def path(what: str, given: object) -> Path:
    """Return a path.

    Raises:
        ValueError: if it is not one.
    """
    if not isinstance(given, str | os.PathLike) or not str(given) or "\0" in str(given):
        raise ValueError(f"{what} must be a path, such as 'run.trace', not {given!r}")
    return Path(given)


def text(what: str, given: object, such_as: str) -> str:
    """Return a text.

    Raises:
        ValueError: if it is not one.
    """
    if not isinstance(given, str):
        raise ValueError(f"{what} must be a text, such as {such_as!r}, not {given!r}")  # noqa: TRY004
    return given


def several(what: str, given: object, such_as: str) -> tuple[str, ...]:
    """Return several names; a single text is not split into letters.

    Raises:
        ValueError: if it is not several, or one of them is not a text.
    """
    found = (
        tuple(given) if isinstance(given, Iterable) and not isinstance(given, str | bytes) else None
    )
    if found is None or not all(isinstance(each, str) for each in found):
        like = given if isinstance(given, str) else such_as
        raise ValueError(f"{what} must be a list of names, such as [{like!r}], not {given!r}")
    return found
