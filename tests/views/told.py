"""A story as the page is told it: made once in a process, for whichever test asks."""

from __future__ import annotations

import re
from functools import cache
from typing import Any
from urllib.parse import unquote

from kipviz.designs.catalogue import design
from kipviz.scenarios.library import scenario
from kipviz.views.payload import payload
from tests.scenarios.story import play_once


@cache
def payload_of(name: str, under: str = "repaired") -> dict[str, Any]:
    """The payload of a story's run under a design."""
    trace, chapters = play_once(name, under)
    return payload(scenario(name), design(under), trace.model, trace, chapters)[0]


def find_drawing(page: str) -> str:
    """The SVG of the one image of a page."""
    (address,) = re.findall(r'<img alt="[^"]+" src="data:image/svg\+xml,([^"]+)">', page)
    return unquote(address)
