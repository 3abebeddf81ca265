"""The key of a world in a search: sixteen bytes that are equal for equal worlds.

A fingerprint of a world (`World.digest`) is for files and people: it covers every field, including those that no step
can change. A search needs millions of keys, so here constant parts (a program, the names of things) are left out, equal
tables are digested once (`core.interning`), and a world's key is the digest of the digests of its tables. Worlds in a
search's queue can share the tables that were met first.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from kipviz.clients.application import Application
from kipviz.cluster.world import World
from kipviz.core.interning import Alike
from kipviz.core.table import Table
from kipviz.core.values import Part, digest_of, encoding, fingerprint
from kipviz.records.batches import NO_TIMESTAMP

_Table: TypeAlias = Table[Any, Any]
Pieces: TypeAlias = tuple[tuple[Any, ...], _Table, _Table, _Table, _Table]


class SearchKeys:
    """Computes the keys of the worlds of one cluster."""

    def __init__(self) -> None:
        """Start without any world met."""
        self._table = Alike[_Table](_of_table).first
        self._rest = Alike[tuple[Any, ...]](fingerprint).first

    def of(self, world: World) -> bytes:
        """Return sixteen bytes that are equal for equal worlds of the same cluster."""
        table = self._table
        rest, logs, roles, applications, connections = pieces_of(world)
        return digest_of(
            self._rest(rest)[1]
            + table(logs)[1]
            + table(roles)[1]
            + table(applications)[1]
            + table(connections)[1]
        )

    def share_tables(self, world: World) -> World:
        """Return an equal world that consists of the objects met first."""
        table = self._table
        rest, logs, roles, applications, connections = pieces_of(world)
        return world_of(
            self._rest(rest)[0],
            table(logs)[0],
            table(roles)[0],
            table(applications)[0],
            table(connections)[0],
        )


def pieces_of(world: World) -> Pieces:
    """Split a world into pieces that are equal in many worlds: its tables, and the rest."""
    ids = world.next_producer_id
    rest: tuple[Any, ...] = (world.image, world.up, world.budget, world.cuts, ids, world.deadlines)
    if world.now_ms != NO_TIMESTAMP:
        rest = (*rest, world.now_ms)
    return rest, world.logs, world.roles, world.applications, world.connections


def world_of(
    rest: tuple[Any, ...], logs: _Table, roles: _Table, applications: _Table, connections: _Table
) -> World:
    """Return the world of some pieces."""
    image, *others = rest
    return World(image, logs, roles, applications, connections, *others)


def _of_table(table: _Table) -> bytes:
    return digest_of(b"".join((encoding(table.keys()), *map(_of_part, table.values()))))


def _of_part(part: Part) -> bytes:
    # A program and the names of an application never change.
    return fingerprint(part.changing()) if isinstance(part, Application) else part.digest
