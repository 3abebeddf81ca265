"""Long names in narrow columns of a page: they may wrap after one of their parts."""

from __future__ import annotations

import re
from html import escape

# A shorter word fits on a line of any column.
_LONG = re.compile(r"\S{14,}")
_JOINT = re.compile(r"(?<=[\w)\]][_=+@.:/,(-])(?=\w)")
# Java's names are long words made of short ones.
_NAME = re.compile(r"[A-Za-z0-9]{12,}")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z][a-z])")
_MAY_BREAK = "\u200b"


def breakable(text: str) -> str:
    """Return a text as HTML in which lines may break after the parts of a long name, but not inside a word."""
    humps = _NAME.sub(lambda word: _HUMP.sub(_MAY_BREAK, word[0]), text)
    parts = _LONG.sub(lambda word: _JOINT.sub(_MAY_BREAK, word[0]), humps).split(_MAY_BREAK)
    return "<wbr>".join(escape(part, quote=False) for part in parts)
