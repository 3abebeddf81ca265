"""How much memory a search may use: read from the machine, never guessed.

It is what the machine has left, or what the control groups (version 1 and 2) of this process have left, whichever is
smallest. Containers and Binder set such limits.
"""

from __future__ import annotations

import os
from pathlib import Path

# The rest is left for the notebook, the browser and the liveness phase.
SHARE = 0.8
PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
ROOT = Path("/")


def used_bytes() -> int:
    """Return the bytes of memory that this process uses now; 0 if unknown."""
    text = _text(ROOT / "proc/self/statm")
    return int(text.split()[1]) * PAGE if text else 0


def bound(root: Path = ROOT) -> int | None:
    """Return the bytes that this process may grow to, or None if unknown."""
    left = [room for room in (_machine(root), *_groups(root)) if room is not None]
    return used_bytes() + int(SHARE * min(left)) if left else None


def in_words(size: int) -> str:
    """Render a size in MiB or GiB."""
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"


def _machine(root: Path) -> int | None:
    for line in _text(root / "proc/meminfo").splitlines():
        name, _, rest = line.partition(":")
        if name == "MemAvailable":
            return int(rest.split()[0]) * 1024
    return None


def _groups(root: Path) -> list[int | None]:
    """Return what is left in each control group from this process's own up to the root's."""
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
            found.append(_memory_left(_text(folder / limit), _text(folder / usage)))
    return found


def _memory_left(limit: str, usage: str) -> int | None:
    """Return the difference; None for a group without a limit, whose limit reads "max" or exceeds any machine."""
    if not (limit.strip().isdecimal() and usage.strip().isdecimal()):
        return None
    return max(int(limit) - int(usage), 0)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except OSError:
        return ""
