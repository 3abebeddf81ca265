"""An SVG that a reader's own view returned: only shapes and words, and nothing that runs or loads."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

LENGTH_MAX = 50_000
NAMESPACE = "http://www.w3.org/2000/svg"
SHAPES = ("circle", "ellipse", "g", "line", "path", "polygon", "polyline", "rect", "svg")
WORDS = ("desc", "text", "title", "tspan")
PAINT = ("clipPath", "defs", "linearGradient", "marker", "radialGradient", "stop", "symbol", "use")
ELEMENTS = (*SHAPES, *WORDS, *PAINT)
# A reference to something outside the picture. Only `#name` stays inside.
_OUTSIDE = re.compile(r"url\(\s*['\"]?\s*(?!#)|javascript:|@import|\\", re.IGNORECASE)


class BadPicture(ValueError):
    """Why an SVG is not shown, as the end of a sentence that begins with "an SVG that"."""


def is_picture(text: str) -> bool:
    """Return whether a text claims to be an SVG."""
    return text.lstrip().startswith("<svg")


def checked_picture(text: str) -> str:
    """Return an SVG that a page can show as a picture.

    Raises:
        BadPicture: if it is too long, not XML, or contains anything but shapes, words and paint.
    """
    svg = text.strip()
    if len(svg) > LENGTH_MAX:
        raise BadPicture(f"has {len(svg):,} characters. {LENGTH_MAX:,} are allowed.")
    if "<!" in svg or "<?" in svg:
        raise BadPicture(
            "has a comment, a document type or an instruction. Elements and texts are allowed."
        )
    try:
        root = ET.fromstring(svg)  # noqa: S314  no document type, so no entities of its own
    except (ET.ParseError, ValueError, UnicodeError) as wrong:
        raise BadPicture(f"is not well-formed XML: {wrong}.") from None
    for element in root.iter():
        _check(element)
    if root.tag.startswith("{"):
        return svg
    return svg.replace(
        "<svg", f'<svg xmlns="{NAMESPACE}"', 1
    )  # otherwise a page does not recognise it as a picture


def words_of(svg: str) -> str:
    """Return the words in a checked picture as its text alternative; "a picture" if there are none."""
    words = " ".join(" ".join(ET.fromstring(svg).itertext()).split())  # noqa: S314  checked before
    return words or "a picture"


def _check(element: ET.Element) -> None:
    space, _, name = element.tag.rpartition("}")
    if space.removeprefix("{") not in ("", NAMESPACE) or name not in ELEMENTS:
        raise BadPicture(f"has the element <{name}>. Allowed are {', '.join(sorted(ELEMENTS))}.")
    for key, value in element.attrib.items():
        attribute = key.rpartition("}")[2]
        if attribute.lower().startswith("on"):
            raise BadPicture(f"has the attribute {attribute}. A picture runs no code.")
        if attribute == "href" and not value.strip().startswith("#"):
            raise BadPicture(
                f"refers to {value[:60]!r}. A picture refers to its own parts only, such as '#name'."
            )
        if _OUTSIDE.search(value):
            raise BadPicture(
                f"has {value[:60]!r} in the attribute {attribute}. A picture loads nothing from elsewhere."
            )
