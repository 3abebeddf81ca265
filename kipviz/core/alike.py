"""Digests of parts that are alike: what a search meets again and again is digested once.

A part remembers its own digest, but every step makes new parts, and in a search almost all of them are equal
to one that was met before (of `kip-1289-small` 99 in 100; 8,273 states have some 600 different parts).
To find the equal one costs a hash and a comparison, both in C: 1 to 4 us where a digest takes 5 to 18.

Runs do without: in a large cluster to compare a part takes as long as the part is big, and few are met twice.
"""

from typing import Generic, TypeVar

from kipviz.core.values import Part

P = TypeVar("P", bound=Part)

# Enough for the parts of a million states; a search that has more begins to remember anew.
PARTS_MAX = 100_000


class Alike(Generic[P]):
    """Knows parts by their content; equal ones have one digest, which is made once."""

    def __init__(self) -> None:
        """Start with nothing met."""
        self._digests: dict[P, bytes] = {}

    def digest(self, part: P) -> bytes:
        """Give the digest of a part, from an equal one that was met before if there is one."""
        memory = part.__dict__
        known: bytes | None = memory.get("digest")
        if known is None:
            known = self._digests.get(part)
            if known is None:
                if len(self._digests) >= PARTS_MAX:
                    self._digests.clear()
                known = self._digests[part] = part.digest
            else:
                memory["digest"] = known
        return known
