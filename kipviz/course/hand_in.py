"""A hand-in: one line of text with a learner's claims, and the runs that must prove them.

Nothing is sent anywhere. The line contains the name that the learner chose, the score, and for each lab the number of
goals and a permalink. A checksum detects truncated lines. It is no signature: only the judge's verdict on the
permalinks counts. A file may be a mail: text around a hand-in is skipped, and a wrapped or quoted line is joined again.
"""

from __future__ import annotations

import codecs
import re
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from kipviz.checking.single_run.permalink import open_link
from kipviz.core.outside import untrusted_file
from kipviz.core.outside.printable import complete_sentence
from kipviz.core.values import Value
from kipviz.course.judging import judge
from kipviz.course.lab import lab_named

PREFIX = "kh1"
# A line with thirty long permalinks is shorter than this.
LETTERS_MAX = 200_000
LABS_MAX = 60
NAME_MAX = 80
# The start of a hand-in in a text, and a complete one without line breaks and quotation marks.
_BEGINS = re.compile(rf"(?<![\w-]){PREFIX}\.")
_WHOLE = re.compile(rf"{PREFIX}\.[\w-]+\.[0-9a-f]{{8}}")
# The byte order marks of files that are not plain UTF-8; no editor writes the longer mark of the little-endian pair.
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


class BadHandIn(ValueError):
    """A text that is no hand-in; the message states the reason."""


class LabClaim(Value, frozen=True):
    """The claim about one lab: how many goals the run of a permalink reaches."""

    lab: str
    reached: int
    link: str


class HandIn(Value, frozen=True):
    """A learner's hand-in: a chosen name, the number of answered questions, how many are right, and labs."""

    who: str
    answered: int
    right: int
    entries: tuple[LabClaim, ...]


class TeacherRow(Value, frozen=True):
    """One line of the teacher's table; `remark` describes what is wrong, "" if nothing is."""

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
    """Return a hand-in as one line of text.

    Raises:
        BadHandIn: if its name or its numbers are not valid, in one sentence.
    """
    _check(given)
    data = msgspec.json.encode(given)
    text = urlsafe_b64encode(zlib.compress(data, 9)).decode().rstrip("=")
    return f"{PREFIX}.{text}.{zlib.crc32(data):08x}"


def read(line: str) -> HandIn:
    """Read a hand-in from a line of text.

    Raises:
        BadHandIn: if it is no hand-in, or is truncated or changed.
    """
    line = line.strip()
    if len(line) > LETTERS_MAX:
        raise BadHandIn(f"a hand-in can have at most {LETTERS_MAX:,} letters, not {len(line):,}")
    parts = line.split(".")
    if len(parts) != 3 or parts[0] != PREFIX:
        raise BadHandIn(f"a hand-in begins with {PREFIX}. and has three parts: copy the whole line")
    try:
        packed = urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
        opened = zlib.decompressobj()
        data = opened.decompress(packed, LETTERS_MAX)
    except (ValueError, zlib.error):
        raise BadHandIn("the hand-in is cut off or damaged: copy the whole line") from None
    if not opened.eof or f"{zlib.crc32(data):08x}" != parts[2]:
        raise BadHandIn("the checksum does not fit: the hand-in is cut off or was changed")
    try:
        found = _decoder.decode(data)
    except msgspec.DecodeError as wrong:
        raise BadHandIn(f"the hand-in is not one of kipviz: {wrong}") from None
    _check(found)
    return found


def _check(given: HandIn) -> None:
    who: object = given.who
    if not isinstance(who, str) or not who.strip() or len(who) > NAME_MAX or not who.isprintable():
        raise BadHandIn(
            f"the name must be a text of 1 to {NAME_MAX} letters in one line, not {str(who)[:NAME_MAX]!r}"
        )
    if len(given.entries) > LABS_MAX:
        raise BadHandIn(f"a hand-in can have at most {LABS_MAX} labs, not {len(given.entries)}")
    if not 0 <= given.right <= given.answered:
        raise BadHandIn(
            f"a hand-in cannot have {given.right} right answers out of {given.answered}"
        )
    for each in given.entries:
        if each.reached < 0:
            raise BadHandIn(f"a hand-in cannot have {each.reached} goals of {each.lab}")


def read_folder(
    folder: str, go_on: Callable[[int, int], bool] = lambda _done, _of: True
) -> tuple[TeacherRow, ...]:
    """Read the .txt files of a folder, judge every run again, and return the table.

    Args:
        folder: the folder with the files.
        go_on: called after each run with the number of files done and of all files; if it returns False, the reading
            ends.

    Raises:
        OSError: if the folder cannot be read.
    """
    paths = sorted(path for path in Path(folder).iterdir() if path.suffix == ".txt")
    found: list[TeacherRow] = []
    first_in: dict[str, str] = {}
    for done, path in enumerate(paths):
        for row in _rows(path, first_in):
            found.append(row)
            if not go_on(done, len(paths)):
                return tuple(found)
    return tuple(found)


def _rows(path: Path, first_in: dict[str, str]) -> Iterator[TeacherRow]:
    """Yield the rows of a file; `first_in` says of each hand-in so far in which file it was first."""
    try:
        data = untrusted_file.read(path)
        text = data.decode(
            next((_MARKS[mark] for mark in _MARKS if data.startswith(mark)), "utf-8")
        )
    except UnicodeDecodeError:
        yield _unread(path.name, "The file is not text.")
        return
    except (OSError, ValueError) as wrong:
        why = getattr(wrong, "strerror", None) or wrong
        yield _unread(path.name, f"The file cannot be read: {why}.")
        return
    if not text.strip():
        yield _unread(path.name, "The file is empty.")
        return
    for line in _lines(text):
        try:
            given = read(line)
        except BadHandIn as wrong:
            yield _unread(path.name, complete_sentence(str(wrong)))
            continue
        if first := first_in.get(line.strip()):
            where = "above in this file" if first == path.name else f"in {first}"
            again = f"The same hand-in as {where}: it counts once."
            yield TeacherRow(path.name, given.who, 0, 0, "", 0, 0, 0, again)
            continue
        first_in[line.strip()] = path.name
        yield from judge_entries(path.name, given)


def _lines(text: str) -> Iterator[str]:
    """Yield each hand-in of a text as one line; a text without one is yielded unchanged, to be rejected."""
    begins = [found.start() for found in _BEGINS.finditer(text)]
    if not begins:
        yield text
        return
    for begin, end in zip(begins, [*begins[1:], len(text)], strict=True):
        squeezed = re.sub(r"[\s>]+", "", text[begin:end])
        whole = _WHOLE.match(squeezed)
        # An incomplete one is rejected with what is left of its own line.
        yield whole[0] if whole else text[begin:end].split(maxsplit=1)[0]


def judge_entries(file: str, given: HandIn) -> Iterator[TeacherRow]:
    """Yield the rows of a hand-in, with every permalink's run judged again."""
    yield from (_row(file, given, entry) for entry in given.entries)
    if not given.entries:
        nothing = "No lab is handed in."
        yield TeacherRow(file, given.who, given.answered, given.right, "", 0, 0, 0, nothing)


def _row(file: str, given: HandIn, entry: LabClaim) -> TeacherRow:
    reached, of, remark = 0, 0, ""
    try:
        lab = lab_named(entry.lab)
        of = len(lab.goals)
        result = judge(lab, open_link(entry.link))
        reached, remark = result.reached, result.refused
    except ValueError as wrong:
        remark = complete_sentence(str(wrong))
    if not remark and entry.reached > reached:
        remark = f"Claims {entry.reached} goals, and the run reaches {reached}."
    who, answered, right = given.who, given.answered, given.right
    return TeacherRow(file, who, answered, right, entry.lab, entry.reached, reached, of, remark)


def _unread(file: str, why: str) -> TeacherRow:
    return TeacherRow(file, "", 0, 0, "", 0, 0, 0, why)
