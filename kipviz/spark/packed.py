"""A state of a search as bytes, and back: worlds travel between workers.

The states of a search are put together from few different parts: 126,000 of `kip-1289-small-two` from 850. So
the bytes of a state name its parts by their digests, and a part itself travels once: in a row of its own, to
a dictionary that every worker is given with its next task. And what is alike in many states (a table, what a
property remembers) is packed once in a task and unpacked once in a process, where it keeps its digests.
"""

from __future__ import annotations

import io
import pickle
import zlib
from typing import Any

from kipviz.cluster.search_key import pieces_of, world_of
from kipviz.cluster.world import World
from kipviz.core.alike import Alike
from kipviz.core.values import Part

_PROTOCOL = 5
_KNOWN_MAX = 200_000
# What this process has unpacked: pieces by their bytes, and parts by their digests.
_pieces: dict[bytes, Any] = {}
_parts: dict[bytes, Any] = {}


class Packing:
    """Packs and unpacks the states of one task.

    Attributes:
        fresh: the parts that are named in what was packed and not in the dictionary, by their digests.
    """

    def __init__(self, dictionary: dict[bytes, bytes]) -> None:
        """Take the dictionary: the bytes of parts by their digests."""
        self.fresh: dict[bytes, bytes] = {}
        self._dictionary = dictionary
        # Made anew with every task: what a task packs must not rely on one that has died.
        self._packed = Alike(self._pack).first

    def packed(self, world: Any, states: tuple[Any, ...]) -> bytes:
        """The bytes of a world and of what the properties remember."""
        pack = self._packed
        of_world = pieces_of(world) if isinstance(world, World) else (world,)
        pieces = [pack(piece)[1] for piece in of_world]
        return pickle.dumps((pieces, [pack(state)[1] for state in states]), _PROTOCOL)

    def unpacked(self, data: bytes) -> tuple[Any, tuple[Any, ...]]:
        """The world and what the properties remember; read only what ``packed`` made."""
        of_world, states = pickle.loads(data)  # noqa: S301 - between our own processes
        pieces = [*map(self._unpack, of_world)]
        world = world_of(*pieces) if len(pieces) > 1 else pieces[0]
        return world, tuple(map(self._unpack, states))

    def _pack(self, piece: Any) -> bytes:
        target = io.BytesIO()
        _Packer(target, self._name).dump(piece)
        return target.getvalue()

    def _name(self, part: Part) -> bytes:
        """Give the digest of a part; without an entry in the dictionary it is fresh."""
        name = part.digest
        if name not in self._dictionary and name not in self.fresh:
            self.fresh[name] = zlib.compress(pickle.dumps(part, _PROTOCOL), 1)
        return name

    def _unpack(self, data: bytes) -> Any:
        piece = _pieces.get(data)
        if piece is None:
            if len(_pieces) >= _KNOWN_MAX:
                _pieces.clear()
            piece = _pieces[data] = _Unpacker(io.BytesIO(data), self._part).load()
        return piece

    def _part(self, name: bytes) -> Any:
        part = _parts.get(name)
        if part is None:
            if len(_parts) >= _KNOWN_MAX:
                _parts.clear()
            data = self._dictionary.get(name) or self.fresh[name]
            part = _parts[name] = pickle.loads(zlib.decompress(data))  # noqa: S301 - the same
        return part


class _Packer(pickle.Pickler):
    """Pickles a piece and names the parts in it."""

    def __init__(self, target: io.BytesIO, name: Any) -> None:
        super().__init__(target, _PROTOCOL)
        self._name = name

    def persistent_id(self, value: Any) -> bytes | None:
        return self._name(value) if isinstance(value, Part) else None


class _Unpacker(pickle.Unpickler):
    """Reads a piece and finds the parts that it names."""

    def __init__(self, source: io.BytesIO, part: Any) -> None:
        super().__init__(source)
        self._part = part

    def persistent_load(self, name: bytes) -> Any:
        return self._part(name)
