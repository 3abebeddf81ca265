"""Atomic writes: a file appears whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import shutil
import stat
from functools import lru_cache
from pathlib import Path

# File systems allow names of 255 bytes, and a temporary file's name is longer than that of its file.
_NAME_MAX = 120
_DRAFT = ".draft"


def why_not(path: str | os.PathLike[str]) -> str:
    """Return why an existing path cannot be replaced by a file, or ""."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116  Path hides some errors and raises others
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        return error.strerror or str(error)
    if stat.S_ISDIR(mode):
        return "it is a folder"
    return "" if stat.S_ISREG(mode) else "it is not an ordinary file"


def write(
    path: str | os.PathLike[str], data: bytes, before: str | os.PathLike[str] | None = None
) -> None:
    """Write a file beside its place and move it there, so that no reader ever sees half of it.

    A symbolic link stays a link, and its target is replaced. A device, a pipe or a folder is not replaced: the move
    would put a file in its place. Temporary files of killed processes are removed.

    Args:
        path: the file.
        data: all of its bytes.
        before: the new place of the old file; it is not kept if left out.

    Raises:
        OSError: if it cannot be written; the old file is still there.
    """
    if why := why_not(path):
        raise OSError(errno.EINVAL, why, str(path))
    target = Path(path).resolve()
    _sweep(target)
    draft = target.with_name(f"{_own(target.name)}{_DRAFT}")
    try:
        with draft.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if before is not None and target.exists():
            _keep(target, Path(before))
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def _keep(target: Path, before: Path) -> None:
    """Link a second name to a file, replacing any file of that name; the file itself stays in place."""
    _sweep(before)
    spare = before.with_name(f"{_own(before.name)}.spare{_DRAFT}")
    try:
        try:
            os.link(target, spare)
        except OSError:  # not every file system has second names
            shutil.copyfile(target, spare)
        spare.replace(before)
    finally:
        spare.unlink(missing_ok=True)


def _own(name: str) -> str:
    """Return the common beginning of the names of this process's temporary files for a file."""
    return f"{_stem(name)}.{_host()}.{os.getpid()}"


def _stem(name: str) -> str:
    if len(name.encode("utf-8", "surrogateescape")) > _NAME_MAX:
        digest = hashlib.blake2b(name.encode("utf-8", "surrogateescape"), digest_size=16)
        return f".{digest.hexdigest()}"
    return f".{name}"


@lru_cache(maxsize=1)
def _host() -> str:
    """Return this machine's name: machines may share a folder, and each knows its own processes only."""
    name = os.uname().nodename if hasattr(os, "uname") else ""
    return re.sub(r"[^A-Za-z0-9-]", "-", name)[:40] or "here"


@lru_cache(maxsize=256)
def _sweep(target: Path) -> None:
    """Remove temporary files that ended processes of this machine have left, once per file."""
    stem = f"{_stem(target.name)}.{_host()}."
    with contextlib.suppress(OSError):
        for each in target.parent.iterdir():
            name = each.name
            if not (name.startswith(stem) and name.endswith(_DRAFT)):
                continue
            number = name.removeprefix(stem).partition(".")[0]
            if number.isascii() and number.isdigit() and len(number) < 10 and _is_gone(int(number)):
                with contextlib.suppress(OSError):
                    each.unlink()


def _is_gone(process: int) -> bool:
    """Return whether a process has ended; only POSIX has a harmless way to ask."""
    if os.name != "posix":
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
