"""An unfinished search in a file: stop today, continue tomorrow.

The file holds no worlds, only the digests of visited states and how each was first reached. Reading takes one step per
visited state, which is a fraction of the search, and proves that the model still behaves as it did.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import msgspec

from kipviz.checking.search.explore import Search
from kipviz.checking.search.graph import Graph
from kipviz.checking.search.reductions import Reduction
from kipviz.core.model import Model
from kipviz.core.outside import atomic_write, untrusted_file
from kipviz.core.values import DIGEST_SIZE
from kipviz.properties.verdict import FORMER_NAMES, Property, States
from kipviz.scenarios.scenario import PROPERTIES

FORMAT = "kipviz search 2"


class SearchFileError(ValueError):
    """The file holds no search of this model; the message states what is wrong."""


class _Kept(msgspec.Struct, frozen=True):
    format: str
    reductions: tuple[str, ...]
    properties: tuple[str, ...]
    transitions: int
    expanded: int
    graph: dict[str, bytes]
    timers: tuple[tuple[str, str], ...]


def save(search: Search, path: str | os.PathLike[str]) -> None:
    """Write a search to a file, atomically.

    Raises:
        OSError: if it cannot be written.
    """
    next_up = search.queue[0][0] if search.queue else len(search.graph)
    kept = _Kept(
        FORMAT,
        tuple(r.name for r in search.reductions),
        tuple(p.name for p in search.properties),
        search.transitions,
        next_up,
        search.graph.pack(),
        tuple(sorted(search.noted)),
    )
    atomic_write.write(path, msgspec.msgpack.encode(kept))


def load(
    path: str | os.PathLike[str],
    model: Model,
    reductions: Iterable[Reduction] = (),
    properties: tuple[Property, ...] = PROPERTIES,
) -> Search:
    """Read a search, so that it can be continued.

    Raises:
        SearchFileError: if the file holds no search, or one of another model, of other properties or with other
            reductions.
        OSError: if it cannot be read.
    """
    search = Search(model, properties, reductions)
    try:
        kept = msgspec.msgpack.decode(untrusted_file.read(path), type=_Kept)
        graph = Graph.unpack(kept.graph, DIGEST_SIZE)
    except (msgspec.MsgspecError, KeyError, ValueError) as wrong:
        raise SearchFileError(f"{path} is not a search saved by kipviz: {wrong}") from None
    mine = (FORMAT, tuple(r.name for r in search.reductions), tuple(p.name for p in properties))
    named = tuple(FORMER_NAMES.get(name, name) for name in kept.properties)
    if (kept.format, kept.reductions, named) != mine:
        raise SearchFileError(
            f"{path} was saved by another kind of search: {kept.format}, properties "
            f"{', '.join(kept.properties)}, reductions {', '.join(kept.reductions) or 'none'}"
        )
    search.noted.update(kept.timers)
    _again(search, graph, kept, path)
    return search


def _again(search: Search, graph: Graph, kept: _Kept, path: str | os.PathLike[str]) -> None:
    """Take every state's first step again, so that each queued state has its world."""
    search.queue.clear()
    worlds: dict[int, tuple[Any, States, int]] = {0: (*search.state(0), 0)}
    parent, enabled = -1, ()
    search.graph, search.transitions = graph, kept.transitions
    for key, number in graph.numbers.items():
        if number:
            before = graph.came_from[number]
            if before != parent:
                for done in range(max(parent, 0), before):
                    worlds.pop(done, None)
                parent, enabled = before, search.model.enabled(worlds[before][0])
            world, states, depth = worlds[before]
            if graph.by[number] >= len(enabled):
                raise SearchFileError(_render_other_model(path, number))
            after, observed = search.take(world, states, enabled[graph.by[number]])
            worlds[number] = (after, observed, depth + 1)
        world, states, depth = worlds[number]
        if search.key(world, states) != key:
            raise SearchFileError(_render_other_model(path, number))
        if number < kept.expanded:
            search.depth = depth
        search.note(number, world, states, depth)
        if search.queue and search.queue[-1][0] < kept.expanded:
            search.queue.pop()


def _render_other_model(path: str | os.PathLike[str], number: int) -> str:
    return (
        f"{path} belongs to another model: state {number:,} comes out differently; search again from "
        "the start"
    )
