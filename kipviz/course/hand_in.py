"""A hand-in: one line of text with what a learner claims, and the runs that have to show it.

Nothing is sent anywhere. The line carries the name that the learner chose, the score, and for each lab the
number of goals and a permalink. A checksum finds lines that were cut off. It is no signature: what counts is
what the judge says of the permalinks.
"""

from __future__ import annotations

import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from kipviz.checking.courses.permalink import open_link
from kipviz.core import outside_file
from kipviz.core.values import Value
from kipviz.course.judging import judge
from kipviz.course.lab import lab_named

PREFIX = "kh1"
# A line with thirty long permalinks is shorter than this.
LETTERS_MAX = 200_000
LABS_MAX = 60


class BadHandIn(ValueError):
    """A text that is no hand-in; the message says why."""


class Entry(Value, frozen=True):
    """What is claimed of one lab: how many goals the run of a permalink reaches."""

    lab: str
    reached: int
    link: str


class HandIn(Value, frozen=True):
    """What a learner hands in: a name of their choice, questions answered, how many right, and labs."""

    who: str
    answered: int
    right: int
    entries: tuple[Entry, ...]


class Row(Value, frozen=True):
    """One line of the teacher's table; `remark` says what is wrong, "" if nothing is."""

    file: str
    who: str
    answered: int
    right: int
    lab: str
    claimed: int
    reached: int
    of: int
    remark: str


_decoder = msgspec.json.Decoder(HandIn)


def write(given: HandIn) -> str:
    """Return a hand-in as one line of text."""
    data = msgspec.json.encode(given)
    text = urlsafe_b64encode(zlib.compress(data, 9)).decode().rstrip("=")
    return f"{PREFIX}.{text}.{zlib.crc32(data):08x}"


def read(line: str) -> HandIn:
    """Return what a line of text hands in.

    Raises:
        BadHandIn: if it is no hand-in, or is cut off or changed.
    """
    line = line.strip()
    if len(line) > LETTERS_MAX:
        raise BadHandIn(f"A hand-in has at most {LETTERS_MAX:,} letters, not {len(line):,}.")
    parts = line.split(".")
    if len(parts) != 3 or parts[0] != PREFIX:
        raise BadHandIn(
            f"A hand-in begins with {PREFIX}. and has three parts: copy the whole line."
        )
    try:
        packed = urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
        opened = zlib.decompressobj()
        data = opened.decompress(packed, LETTERS_MAX)
    except (ValueError, zlib.error):
        raise BadHandIn("The hand-in is cut off or damaged: copy the whole line.") from None
    if not opened.eof or f"{zlib.crc32(data):08x}" != parts[2]:
        raise BadHandIn("The checksum does not fit: the hand-in is cut off or was changed.")
    try:
        found = _decoder.decode(data)
    except msgspec.DecodeError as wrong:
        raise BadHandIn(f"The hand-in is not one of kipviz: {wrong}") from None
    if len(found.entries) > LABS_MAX:
        raise BadHandIn(f"A hand-in has at most {LABS_MAX} labs, not {len(found.entries)}.")
    return found


def read_folder(folder: str) -> tuple[Row, ...]:
    """Read the .txt files of a folder, judge every run again, and return the table.

    Raises:
        OSError: if the folder cannot be read.
    """
    paths = sorted(path for path in Path(folder).iterdir() if path.suffix == ".txt")
    return tuple(row for path in paths for row in _rows(path))


def _rows(path: Path) -> Iterator[Row]:
    try:
        text = outside_file.read(path).decode()
    except (OSError, ValueError) as wrong:
        yield _unread(path.name, f"The file cannot be read: {wrong}")
        return
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        yield _unread(path.name, "The file is empty.")
    for line in lines:
        try:
            given = read(line)
        except BadHandIn as wrong:
            yield _unread(path.name, str(wrong))
            continue
        yield from judged(path.name, given)


def judged(file: str, given: HandIn) -> Sequence[Row]:
    """Return the rows of a hand-in, with every permalink's run judged again."""
    return [_row(file, given, entry) for entry in given.entries] or [
        Row(file, given.who, given.answered, given.right, "", 0, 0, 0, "No lab is handed in.")
    ]


def _row(file: str, given: HandIn, entry: Entry) -> Row:
    reached, of, remark = 0, 0, ""
    try:
        lab = lab_named(entry.lab)
        of = len(lab.goals)
        result = judge(lab, open_link(entry.link))
        reached, remark = result.reached, result.refused
    except ValueError as wrong:
        remark = str(wrong)
    if not remark and entry.reached > reached:
        remark = f"Claims {entry.reached} goals, and the run reaches {reached}."
    who, answered, right = given.who, given.answered, given.right
    return Row(file, who, answered, right, entry.lab, entry.reached, reached, of, remark)


def _unread(file: str, why: str) -> Row:
    return Row(file, "", 0, 0, "", 0, 0, 0, why)
