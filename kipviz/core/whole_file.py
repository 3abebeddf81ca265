"""A file that appears whole or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path


def why_not(path: str | os.PathLike[str]) -> str:
    """Say why nothing can take the place of what is there, or nothing."""
    target = Path(path)
    if target.is_dir():
        return "it is a folder"
    return "it is no ordinary file" if target.exists() and not target.is_file() else ""


def write(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file beside its place and move it there, so that nobody ever sees half of it.

    A link stays one, and leads to what was written. A device, a pipe or a folder is not written over:
    the move would put a file in its place.

    Raises:
        OSError: if it cannot be written; what was there before is still there.
    """
    if why := why_not(path):
        raise OSError(errno.EINVAL, why, str(path))
    target = Path(path).resolve()
    draft = target.with_name(f".{target.name}.{os.getpid()}.draft")
    try:
        with draft.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
