"""A folder of logs as one file: FOLDER.zip, for a page without folders."""

from __future__ import annotations

import atexit
import os
import struct
import tempfile
import zipfile
import zlib
from contextlib import ExitStack
from pathlib import Path

from kipviz.core.outside.printable import escape_line
from kipviz.core.outside.untrusted_file import SETTING, bytes_max
from kipviz.core.outside.validation import path as path_given
from kipviz.recordings.recording_error import WHOLE, RecordingError

# The methods that zip programs use; others can demand gigabytes of memory before they produce a byte.
COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# The least that a file takes on a disk: a million empty files are not a small folder.
BYTES_OF_A_FILE = 4_096
# Unpacked files exist until the program ends.
_KEPT = ExitStack()
atexit.register(_KEPT.close)


def folder_at(path: str | os.PathLike[str]) -> Path:
    """Return a folder of logs, or the contents of FOLDER.zip if only that file exists.

    The zip file has the contents of the folder, and is unpacked into a temporary folder of the same name.

    Raises:
        RecordingError: if neither exists, the file is not a zip file, or it contains more than may be read.
    """
    folder = path_given("the folder of logs", path)
    if folder.is_dir():
        return folder
    packed = folder.with_name(f"{folder.name}.zip")
    if not packed.is_file():
        raise RecordingError(str(folder), WHOLE, f"there is no such folder, and no {packed.name}")
    with ExitStack() as held:
        into = Path(held.enter_context(tempfile.TemporaryDirectory()), folder.name)
        _unpack(packed, into)
        _KEPT.push(held.pop_all())
    return into


def _unpack(packed: Path, into: Path) -> None:
    try:
        with zipfile.ZipFile(packed) as archive:
            if why := _why_not(archive.infolist()):
                raise RecordingError(str(packed), WHOLE, why)
            archive.extractall(into)
    except RecursionError:
        raise RecordingError(str(packed), WHOLE, "its folders are nested too deeply") from None
    # An encrypted file raises RuntimeError, a damaged header struct.error, an invalid name ValueError, and an empty one
    # IndexError.
    except (
        zipfile.BadZipFile,
        zlib.error,
        struct.error,
        EOFError,
        IndexError,
        RuntimeError,
        ValueError,
        OSError,
    ) as problem:
        told = getattr(problem, "strerror", None) or str(problem).rstrip(".")
        raise RecordingError(str(packed), WHOLE, f"it cannot be unpacked: {told}") from problem


def _why_not(entries: list[zipfile.ZipInfo]) -> str:
    """Return why a zip file is not unpacked, "" if it is."""
    size, most = sum(max(each.file_size, BYTES_OF_A_FILE) for each in entries), bytes_max()
    if size > most:
        return f"it unpacks to {size:,} bytes, and at most {most:,} are read; {SETTING} allows more"
    other = next((each for each in entries if each.compress_type not in COMPRESSIONS), None)
    if other is not None:
        name, way = escape_line(other.filename), other.compress_type
        return f"{name} is packed by method {way}; only stored (0) and deflated (8) files are read."
    return ""
