"""A file from an untrusted source, read within a bound.

A device such as /dev/zero never ends, a pipe may never begin, and a file may be larger than the memory. So only an
ordinary file is read, and only up to `BYTES_MAX` bytes, or the value of the environment variable KIPVIZ_FILE_BYTES_MAX.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

# The maximum size of a log segment: Kafka's log.segment.bytes is an int.
BYTES_MAX = 2**31 - 1
SETTING = "KIPVIZ_FILE_BYTES_MAX"
PIECE = 1 << 16


def read(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of an ordinary file.

    Raises:
        OSError: if it cannot be read, is a folder, a device or a pipe, or is too large; `strerror` says which.
    """
    most = bytes_max()
    with _ordinary(path) as file:
        # Some files do not know their size, and some grow meanwhile: a read allocates room for all that it requests.
        size = os.fstat(file.fileno()).st_size
        pieces, had = [], 0
        while max(size, had) <= most and (piece := file.read(max(size - had, 0) + PIECE)):
            pieces.append(piece)
            had += len(piece)
    if max(size, had) > most:
        raise OSError(
            errno.EFBIG,
            f"it has more than {most:,} bytes; {SETTING} allows more",
            str(path),
        )
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def read_range(path: str | os.PathLike[str], start: int, size: int) -> bytes:
    """Return some bytes of an ordinary file, fewer if it ends before.

    Raises:
        OSError: if it cannot be read, is a folder, a device or a pipe, or `size` is above the limit.
    """
    if size > bytes_max():
        raise OSError(errno.EFBIG, f"{size:,} bytes at once; {SETTING} allows more", str(path))
    with _ordinary(path) as file:
        file.seek(start)
        return file.read(size)


@contextmanager
def _ordinary(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open an ordinary file."""
    # An ordinary open() would block on a pipe without a writer.
    number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    with open(number, "rb") as file:  # noqa: PTH123  it is open already
        mode = os.fstat(number).st_mode
        if stat.S_ISDIR(mode):
            raise OSError(errno.EISDIR, "it is a folder", str(path))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is not an ordinary file", str(path))
        yield file


def bytes_max() -> int:
    """Return the maximum number of bytes to read.

    Raises:
        OSError: if the environment variable is not a number.
    """
    text = os.environ.get(SETTING, "")
    if not text:
        return BYTES_MAX
    if not (text.isascii() and text.isdigit() and len(text) < 20 and 0 < int(text) <= sys.maxsize):
        raise OSError(
            errno.EINVAL, f"{SETTING} must be a number of bytes of at least 1, not {text[:40]!r}"
        )
    return int(text)
