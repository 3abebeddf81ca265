"""By what a search knows a world: sixteen bytes that are equal for equal worlds.

A fingerprint of a world (`World.digest`) is made for files and people: it covers every field, also
those that no step can change. A search asks for millions, so here what never changes (a program, the names of
things) is left out, equal tables are digested once (`core.alike`), and a world is the digest of the digests of its
tables. Worlds that wait for their turn can share the tables that were met first.
"""

from __future__ import annotations

from typing import Any

from kipviz.clients.application import Application
from kipviz.cluster.world import World
from kipviz.core.alike import Alike
from kipviz.core.table import Table
from kipviz.core.values import Part, digest_of, encoding, fingerprint


class SearchKeys:
    """Makes the keys of the worlds of one cluster."""

    def __init__(self) -> None:
        """Start with nothing met."""
        self._table = Alike[Table[Any, Any]](_of_table).first
        self._rest = Alike[tuple[Any, ...]](fingerprint).first

    def of(self, world: World) -> bytes:
        """Give sixteen bytes that are equal for equal worlds of the same cluster."""
        table = self._table
        logs, roles = table(world.logs)[1], table(world.roles)[1]
        applications, connections = table(world.applications)[1], table(world.connections)[1]
        return digest_of(self._rest(_rest(world))[1] + logs + roles + applications + connections)

    def shared(self, world: World) -> World:
        """Give an equal world that is made of what was met first."""
        table = self._table
        (image, *rest), _ = self._rest(_rest(world))
        return World(
            image,
            table(world.logs)[0],
            table(world.roles)[0],
            table(world.applications)[0],
            table(world.connections)[0],
            *rest,
        )


def _rest(world: World) -> tuple[Any, ...]:
    """Give what is in no table, in the order of the fields."""
    ids = world.next_producer_id
    return (world.image, world.up, world.budget, world.cuts, ids, world.deadlines)


def _of_table(table: Table[Any, Any]) -> bytes:
    return digest_of(b"".join((encoding(table.keys()), *map(_of_part, table.values()))))


def _of_part(part: Part) -> bytes:
    # A program and the names of an application never change.
    return fingerprint(part.changing()) if isinstance(part, Application) else part.digest
