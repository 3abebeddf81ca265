"""How much memory a search may take: read from the machine, never guessed.

What is left of the smallest of: the machine's own memory, and the limits of the control groups
(version 1 and 2) that this process is in, as containers and Binder set them.
"""

from __future__ import annotations

import os
from pathlib import Path

# What is left for everything else: the notebook, the browser, the liveness phase.
SHARE = 0.8
PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
ROOT = Path("/")


def used() -> int:
    """Give the bytes of memory that this process holds now; 0 where nobody can say."""
    text = _text(ROOT / "proc/self/statm")
    return int(text.split()[1]) * PAGE if text else 0


def bound(root: Path = ROOT) -> int | None:
    """Give the bytes that this process may grow to, or None where nobody can say."""
    left = [room for room in (_machine(root), *_groups(root)) if room is not None]
    return used() + int(SHARE * min(left)) if left else None


def in_words(size: int) -> str:
    """Give a size in the unit that people use for it."""
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"


def _machine(root: Path) -> int | None:
    for line in _text(root / "proc/meminfo").splitlines():
        name, _, rest = line.partition(":")
        if name == "MemAvailable":
            return int(rest.split()[0]) * 1024
    return None


def _groups(root: Path) -> list[int | None]:
    """Give what is left in each control group from this process's own up to the root's."""
    found: list[int | None] = []
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            place, limit, usage = "sys/fs/cgroup", "memory.max", "memory.current"
        elif "memory" in controllers.split(","):
            place, limit, usage = (
                "sys/fs/cgroup/memory",
                "memory.limit_in_bytes",
                "memory.usage_in_bytes",
            )
        else:
            continue
        parts = [part for part in path.split("/") if part]
        for depth in range(len(parts) + 1):
            folder = root / place / Path(*parts[:depth])
            found.append(_left(_text(folder / limit), _text(folder / usage)))
    return found


def _left(limit: str, usage: str) -> int | None:
    """Give the difference; a group without a limit says "max", or a number beyond any machine."""
    if not (limit.strip().isdecimal() and usage.strip().isdecimal()):
        return None
    return max(int(limit) - int(usage), 0)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except OSError:
        return ""
