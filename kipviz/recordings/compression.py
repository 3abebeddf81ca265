"""The record sections of compressed batches, made plain again.

gzip is in Python; snappy, lz4 and zstd come from pyarrow, which is imported only when such a batch
is met. Kafka's clients write snappy in the blocks of the snappy-java library (a 16-byte header,
then length and block, again and again), lz4 and zstd as ordinary frames.

Source: org.apache.kafka.common.record.CompressionType.
"""

from __future__ import annotations

import gzip
import zlib
from typing import Any

NAMES = ("none", "gzip", "snappy", "lz4", "zstd")

_SNAPPY_JAVA = b"\x82SNAPPY\x00"
_SNAPPY_JAVA_HEADER = 16


def decompress(name: str, data: bytes) -> bytes:
    """Give the plain bytes of a compressed record section.

    Raises:
        ValueError: the bytes are no whole stream of this kind, said in one sentence.
    """
    try:
        if name == "gzip":
            return gzip.decompress(data)
        if name == "snappy":
            return _snappy(data)
        return _frames(name, data)
    except (OSError, EOFError, zlib.error, ValueError) as problem:
        why = str(problem).strip().rstrip(".")
        raise ValueError(f"the records are not what {name} writes ({why})") from problem


def _pyarrow(name: str) -> Any:
    try:
        import pyarrow as pa
    except ImportError as missing:
        raise ValueError(f"reading {name} needs the package pyarrow") from missing
    return pa


def _frames(name: str, data: bytes) -> bytes:
    pa = _pyarrow(name)
    with pa.CompressedInputStream(pa.BufferReader(data), name) as stream:
        plain: bytes = stream.read()
    return plain


def _snappy(data: bytes) -> bytes:
    codec = _pyarrow("snappy").Codec("snappy")
    if not data.startswith(_SNAPPY_JAVA):
        return _snappy_block(codec, data)
    at = _SNAPPY_JAVA_HEADER
    blocks = []
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        block = data[at + 4 : at + 4 + size]
        if len(block) < size:
            raise ValueError("its last block is cut off")
        blocks.append(_snappy_block(codec, block))
        at += 4 + size
    return b"".join(blocks)


def _snappy_block(codec: Any, block: bytes) -> bytes:
    size = shift = 0
    for byte in block[:5]:  # the plain size, seven bits to a byte, lowest first
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:  # the highest bit says that more follows
            plain: bytes = codec.decompress(block, size, asbytes=True)
            return plain
    raise ValueError("a block does not say how long it is")
