"""A still picture as an element of HTML: JupyterLab draws an SVG as such only in a notebook that it trusts."""

from __future__ import annotations

from html import escape
from urllib.parse import quote

# What may stand in an address within quotation marks as it is; the rest is written as %XX. That stays as small as
# the picture's own text when it is packed, which the letters of Base64 do not.
PLAIN = " =:/(),;'"


def image(picture: str, alt: str) -> str:
    """Return the text of an SVG as an image, which runs nothing and asks for nothing, with the words for who does not see it."""
    return f'<img alt="{escape(alt)}" src="data:image/svg+xml,{quote(picture, safe=PLAIN)}">'
