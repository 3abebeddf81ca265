"""The head of a permalink, before the steps: the story, the design and everything that differs from them.

    <story>.<design>.<base64url of the bits below>

    1 bit     whether the budget is the story's own; if not, its words follow
    version   of Kafka, then of kipviz: 1 bit, and three numbers; or a text, if it is not three numbers
    number    how many big steps the story had, and of each how many small steps
    1 bit     whether dice were thrown: the faults' profile, the seed, and how many steps at most
    number    how many settings were changed, and each as a text, name=value
    bytes     a story that is none of the library's: its document, packed by zlib

The story and the design have their own names in it, so that a reader sees what a link opens. A character that is
neither in the alphabet of base64url nor + or = is written as ~ and two hexadecimal digits for each byte of its UTF-8.
"""

from __future__ import annotations

import itertools
import re
import zlib
from urllib.parse import quote, unquote

import msgspec

from kipviz.core.links.bits import BadBits, BitReader, BitWriter, bytes_of, letters_of
from kipviz.core.values import Value

OWN = "own"
"""The value that stands for the scenario's own budget of faults."""
STORY_MAX = 100_000
"""The maximum size in bytes of a story's document in a link."""

_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,99})")
_VERSION = re.compile(r"(0|[1-9][0-9]{0,3})\.(0|[1-9][0-9]{0,3})\.(0|[1-9][0-9]{0,3})")


class Head(Value, frozen=True):
    """What was run: the start from which the actions continue.

    `ends` are the steps at which the story's big steps end. `dice` is (faults, seed, steps_max) of a seeded run.
    `settings` are changes, each of the form name=value. `story` is the document of a story that is not in the library.
    """

    scenario: str
    design: str
    budget: str
    kafka: str
    kipviz: str
    ends: tuple[int, ...] = ()
    dice: tuple[str, int, int] | None = None
    settings: tuple[str, ...] = ()
    story: str = ""


class _FirstHead(Value, frozen=True, array_like=True):
    """The head of a link of the first format: a JSON list, with its story as packed text."""

    scenario: str
    design: str
    budget: str
    kafka: str
    kipviz: str
    ends: tuple[int, ...] = ()
    dice: tuple[str, int, int] | None = None
    settings: tuple[str, ...] = ()
    story: str = ""


_first_decoder = msgspec.json.Decoder(_FirstHead)


def write_head(head: Head) -> str:
    """Return a head as the text at the start of a permalink."""
    out = BitWriter().bits(head.budget == OWN, 1)
    if head.budget != OWN:
        out.text(head.budget)
    for version in (head.kafka, head.kipviz):
        three = _VERSION.fullmatch(version)
        out.bits(three is not None, 1)
        if three is None:
            out.text(version)
        else:
            for part in three.groups():
                out.number(int(part))
    out.number(len(head.ends))
    for before, end in itertools.pairwise((0, *head.ends)):
        out.number(end - before)
    out.bits(head.dice is not None, 1)
    if head.dice is not None:
        faults, seed, steps_max = head.dice
        out.text(faults).text(str(seed)).text(str(steps_max))
    out.number(len(head.settings))
    for change in head.settings:
        out.text(change)
    out.raw(zlib.compress(head.story.encode(), 9) if head.story else b"")
    return f"{_escape_name(head.scenario)}.{_escape_name(head.design)}.{letters_of(out.data())}"


def read_head(text: str) -> Head:
    """Return the head of a permalink of any format.

    Raises:
        BadBits: if the text is no head.
        ValueError: if the story in it is damaged or too long.
    """
    if text.startswith("["):
        try:
            first = _first_decoder.decode(text)
        except msgspec.DecodeError as wrong:
            raise BadBits(str(wrong)) from None
        fields = {name: getattr(first, name) for name in _FirstHead.__struct_fields__}
        packed = bytes_of(first.story) if first.story else b""
        return Head(**{**fields, "story": _unpack_document(packed)})
    names = text.split(".")
    if len(names) != 3:
        raise BadBits("it does not start with a story and a design")
    body = BitReader(bytes_of(names[2]))
    budget = OWN if body.flag() else body.text()
    kafka, kipviz = _version(body), _version(body)
    ends = tuple(itertools.accumulate(body.number() for _ in range(body.count())))
    dice = (body.text(), _integer(body), _integer(body)) if body.flag() else None
    settings = tuple(body.text() for _ in range(body.count()))
    packed = body.raw()
    body.end()
    scenario, design = _unescape_name(names[0]), _unescape_name(names[1])
    story = _unpack_document(packed)
    return Head(scenario, design, budget, kafka, kipviz, ends, dice, settings, story)


def _escape_name(name: str) -> str:
    """Return a name in characters that no address, mail or table changes, without a dot."""
    return quote(name, safe="+=").replace("~", "%7E").replace(".", "%2E").replace("%", "~")


def _unescape_name(letters: str) -> str:
    return unquote(letters.replace("~", "%"))


def _version(body: BitReader) -> str:
    return ".".join(str(body.number()) for _ in range(3)) if body.flag() else body.text()


def _integer(body: BitReader) -> int:
    text = body.text()
    if _INTEGER.fullmatch(text) is None:
        raise BadBits(f"{text[:20]!r} is not an integer")
    return int(text)


def _unpack_document(packed: bytes) -> str:
    """Return a document from its packed bytes, "" from none.

    Raises:
        ValueError: if the bytes are no document, or one that is too long.
    """
    if not packed:
        return ""
    try:
        opened = zlib.decompressobj()
        text = opened.decompress(packed, STORY_MAX).decode()
    except (UnicodeDecodeError, zlib.error):
        raise ValueError("its story is truncated or damaged") from None
    if not opened.eof:
        raise ValueError(f"its story is truncated, or longer than {STORY_MAX:,} bytes")
    return text
