"""A folder of logs that was handed over as one file: where a page has no folder, it has FOLDER.zip."""

from __future__ import annotations

import atexit
import os
import tempfile
import zipfile
import zlib
from contextlib import ExitStack
from pathlib import Path

from kipviz.core.untrusted_file import bytes_max
from kipviz.core.validation import path as path_given
from kipviz.recordings.recording_error import RecordingError

# What was unpacked is there until the program ends.
_KEPT = ExitStack()
atexit.register(_KEPT.close)


def folder_at(path: str | os.PathLike[str]) -> Path:
    """Return a folder of logs, or what is in FOLDER.zip where there is only that file.

    The zip file has what the folder would have, and is unpacked into a temporary folder of the same name.

    Raises:
        RecordingError: if there is neither, the file is no zip file, or more is in it than may be read.
    """
    folder = path_given("the folder of logs", path)
    if folder.is_dir():
        return folder
    packed = folder.with_name(f"{folder.name}.zip")
    if not packed.is_file():
        raise RecordingError(str(folder), 0, f"There is no such folder, and no {packed.name}.")
    into = Path(_KEPT.enter_context(tempfile.TemporaryDirectory()), folder.name)
    try:
        with zipfile.ZipFile(packed) as archive:
            size, most = sum(each.file_size for each in archive.infolist()), bytes_max()
            if size > most:
                why = f"It unpacks to {size:,} bytes, and at most {most:,} are read."
                raise RecordingError(str(packed), 0, why)
            archive.extractall(into)
    # An encrypted file is a RuntimeError, an unknown compression a NotImplementedError, which is one, too.
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, OSError) as problem:
        told = getattr(problem, "strerror", None) or str(problem).rstrip(".")
        raise RecordingError(str(packed), 0, f"It cannot be unpacked: {told}.") from problem
    return into
