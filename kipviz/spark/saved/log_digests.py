"""The digests of an event log's files, which reveal a damaged file.

Parquet reads many damaged files without a complaint, and an audit of them would be an answer about other runs. So a log
that is written on this machine has a list of its files with their SHA-256, in a file that Spark skips because its name
begins with an underscore.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from kipviz.core.outside import atomic_write, untrusted_file
from kipviz.core.outside.printable import escape_line

LIST = "_digests.json"


def write_digests(folder: Path) -> None:
    """Write the digests of all files of a log."""
    found = {file.name: _digest(file) for file in _files(folder)}
    atomic_write.write(folder / LIST, msgspec.json.encode(found, order="sorted"))


def what_is_damaged(folder: Path) -> str:
    """Return a sentence about a changed file of a log, "" if there is none or if the log has no digests."""
    list_ = folder / LIST
    if not list_.exists():
        return ""
    try:
        known = msgspec.json.decode(untrusted_file.read(list_), type=dict[str, str])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return f"{list_} is damaged: it is not a list of digests"
    there = {file.name: file for file in _files(folder)}
    for name in sorted(known.keys() | there.keys()):
        if name not in there:
            return f"{folder} is damaged: its part {escape_line(name)} is missing"
        if name not in known:
            return (
                f"{folder} is damaged: {escape_line(name)} is not among the files that were written"
            )
        if _digest(there[name]) != known[name]:
            return f"{there[name]} is damaged: it is not what was written"
    return ""


def _files(folder: Path) -> list[Path]:
    """Return the files that Spark reads as the log."""
    return sorted(f for f in folder.iterdir() if f.is_file() and not f.name.startswith(("_", ".")))


def _digest(file: Path) -> str:
    with file.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()
