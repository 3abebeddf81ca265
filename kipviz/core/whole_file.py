"""A file that appears whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def write(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file beside its place and move it there, so that nobody ever sees half of it.

    Raises:
        OSError: if it cannot be written; what was there before is still there.
    """
    target = Path(path)
    draft = target.with_name(f".{target.name}.{os.getpid()}.draft")
    try:
        with draft.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
