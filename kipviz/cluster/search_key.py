"""By what a search knows a world: sixteen bytes that are equal for equal worlds.

A fingerprint of a world (`World.digest`) is made for files and people: it covers every field, also
those that no step can change. A search asks for millions, so here every part of a world is digested
once, what never changes (a program, the names of things) is left out, and a world is the digest of
the digests of its parts.
"""

from __future__ import annotations

from typing import Any

from kipviz.clients.application import Application
from kipviz.cluster.world import World
from kipviz.core.alike import Alike
from kipviz.core.table import Table
from kipviz.core.values import Part, digest_of, encoding, fingerprint

_MEMORY = "search key"


class SearchKeys:
    """Makes the keys of the worlds of one cluster."""

    def __init__(self) -> None:
        """Start with nothing remembered."""
        self._rest: dict[Any, bytes] = {}
        self._names: dict[tuple[Any, ...], bytes] = {}
        self._digest = Alike[Part]().digest
        self._applications: dict[tuple[object, ...], bytes] = {}

    def of(self, world: World) -> bytes:
        """Give sixteen bytes that are equal for equal worlds of the same cluster."""
        rest = (world.up, world.budget, world.cuts, world.next_producer_id)
        mark = self._rest.get(rest)
        if mark is None:
            mark = self._rest[rest] = fingerprint(rest)
        digest = self._digest
        pieces = [mark, digest(world.image)]
        # The logs and applications of a cluster are always the same ones.
        pieces += [digest(log) for log in world.logs.values()]
        pieces += [self._of_application(app) for app in world.applications.values()]
        for table in (world.roles, world.connections):
            pieces.append(self._names_of(table))
            pieces += [digest(part) for part in table.values()]
        if world.deadlines:
            pieces.append(fingerprint(world.deadlines))
        return digest_of(b"".join(pieces))

    def _names_of(self, table: Table[Any, Any]) -> bytes:
        keys = table.keys()
        mark = self._names.get(keys)
        if mark is None:
            mark = self._names[keys] = digest_of(encoding(keys))
        return mark

    def _of_application(self, app: Application) -> bytes:
        memory = app.__dict__
        mark: bytes | None = memory.get(_MEMORY)
        if mark is None:
            changing = app.changing()
            mark = self._applications.get(changing)
            if mark is None:
                mark = self._applications[changing] = fingerprint(changing)
            memory[_MEMORY] = mark
        return mark
