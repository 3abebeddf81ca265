"""A state of a search as bytes, and back: worlds are sent between workers.

The states of a search consist of few different parts: 126,000 of `kip-1289-small-two` of 850. So the bytes of a state
name its parts by their digests, and a part itself is sent once: in a row of its own, to a dictionary that every worker
gets with its next task. Values that are equal in many states (a table, the state of a property) are packed once in a
task and unpacked once in a process, where they keep their digests.

The bytes may be in a folder that others can write to. They are plain values (`core.serialization`), never code, and a
part is accepted only if its content has the digest that names it.
"""

from __future__ import annotations

import zlib
from typing import Any

import msgspec

from kipviz.cluster.search_key import pieces_of, world_of
from kipviz.cluster.world import World
from kipviz.core.interning import Alike
from kipviz.core.serialization import NotAValue, deserialize, serialize
from kipviz.core.values import Part

_KNOWN_MAX = 200_000
# A part of a world has some kilobytes; a larger dictionary entry is not one of ours.
_PART_BYTES_MAX = 64 << 20
# The values that this process has unpacked: pieces by their bytes, and parts by their digests.
_pieces: dict[bytes, Any] = {}
_parts: dict[bytes, Part] = {}


class Packing:
    """Packs and unpacks the states of one task.

    Attributes:
        fresh: the parts that the packed states name and the dictionary lacks, by their digests.
    """

    def __init__(self, dictionary: dict[bytes, bytes]) -> None:
        """Store the dictionary: the bytes of parts by their digests."""
        self.fresh: dict[bytes, bytes] = {}
        self._dictionary = dictionary
        # A new one for every task: the result of a task must not rely on a task that has died.
        self._packed = Alike(self._pack).first

    def pack(self, world: Any, states: tuple[Any, ...]) -> bytes:
        """The bytes of a world and of the properties' states."""
        pack = self._packed
        of_world = pieces_of(world) if isinstance(world, World) else (world,)
        pieces = [pack(piece)[1] for piece in of_world]
        return _encode((pieces, [pack(state)[1] for state in states]))

    def unpack(self, data: bytes) -> tuple[Any, tuple[Any, ...]]:
        """Return the world and the properties' states, from bytes that ``pack`` made.

        Raises:
            NotAValue: if they are not such bytes, or name a part that is not in the dictionary.
        """
        try:
            of_world, states = _decode(data)
        except msgspec.MsgspecError as wrong:
            raise NotAValue(f"these bytes are not a state of a search: {wrong}") from None
        pieces = [*map(self._unpack, of_world)]
        world = world_of(*pieces) if len(pieces) > 1 else pieces[0]
        return world, tuple(map(self._unpack, states))

    def _pack(self, piece: Any) -> bytes:
        return serialize(piece, self._name)

    def _name(self, part: Part) -> bytes:
        """Return the digest of a part; a part without an entry in the dictionary is fresh."""
        name = part.digest
        if name not in self._dictionary and name not in self.fresh:
            self.fresh[name] = zlib.compress(serialize(part), 1)
        return name

    def _unpack(self, data: bytes) -> Any:
        piece = _pieces.get(data)
        if piece is None:
            if len(_pieces) >= _KNOWN_MAX:
                _pieces.clear()
            piece = _pieces[data] = deserialize(data, self._part)
        return piece

    def _part(self, name: bytes) -> Part:
        part = _parts.get(name)
        if part is None:
            if len(_parts) >= _KNOWN_MAX:
                _parts.clear()
            data = self._dictionary.get(name) or self.fresh.get(name)
            if data is None:
                raise NotAValue("a state names a part that its search does not keep")
            part = deserialize(_inflate(data))
            if not isinstance(part, Part) or part.digest != name:
                raise NotAValue("a part of a state is not the one that its digest names")
            _parts[name] = part
        return part


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[list[bytes], list[bytes]]).decode


def _inflate(data: bytes) -> bytes:
    inflater = zlib.decompressobj()
    try:
        inflated = inflater.decompress(data, _PART_BYTES_MAX)
    except zlib.error as wrong:
        raise NotAValue(f"a part of a state is damaged: {wrong}") from None
    if inflater.unconsumed_tail:
        raise NotAValue(f"a part of a state is larger than {_PART_BYTES_MAX:,} bytes")
    if not inflater.eof:
        raise NotAValue("a part of a state is damaged: it is cut short")
    return inflated
