"""The decompression of record sections.

gzip is in Python; snappy, lz4 and zstd come from pyarrow, which is imported only for such a batch. Kafka's clients
write snappy in the blocks of the snappy-java library (a 16-byte header, then length and block, again and again), lz4
and zstd as ordinary frames.

A few bytes can decompress to gigabytes, so the size of a batch is limited: `BYTES_MAX`, or the value of the environment
variable KIPVIZ_BATCH_BYTES_MAX.

Source: org.apache.kafka.common.record.CompressionType.
"""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from typing import Any

NAMES = ("none", "gzip", "snappy", "lz4", "zstd")

# A hundred times a broker's default limit (message.max.bytes).
BYTES_MAX = 100 << 20
SETTING = "KIPVIZ_BATCH_BYTES_MAX"

_SNAPPY_JAVA = b"\x82SNAPPY\x00"
_SNAPPY_JAVA_HEADER = 16
_PIECE = 1 << 20


def decompress(name: str, data: bytes) -> bytes:
    """Return the decompressed bytes of a record section.

    Raises:
        ValueError: if the bytes are not a whole stream of this kind, or become more than is allowed, in one sentence.
    """
    bytes_max = _bytes_max()
    plain: bytes | None
    try:
        if name == "gzip":
            plain = gzip.GzipFile(fileobj=io.BytesIO(data)).read(bytes_max + 1)
        elif name == "snappy":
            plain = _snappy(data, bytes_max)
        else:
            plain = _frames(name, data, bytes_max)
    except _TooLong:
        plain = None
    except (OSError, EOFError, zlib.error, ValueError) as problem:
        why = str(problem).strip().rstrip(".")
        raise ValueError(f"the records are not what {name} writes ({why})") from problem
    if plain is None or len(plain) > bytes_max:
        raise ValueError(
            f"{len(data):,} bytes of {name} become more than {bytes_max:,} bytes; {SETTING} allows more"
        )
    return plain


class _TooLong(Exception):
    """A stream announces that it becomes more than is allowed."""


def _bytes_max() -> int:
    text = os.environ.get(SETTING, "")
    if not text:
        return BYTES_MAX
    if not (text.isascii() and text.isdigit() and len(text) < 20 and 0 < int(text) <= sys.maxsize):
        raise ValueError(f"{SETTING} must be a number of bytes of at least 1, not {text[:40]!r}")
    return int(text)


def _pyarrow(name: str) -> Any:
    try:
        import pyarrow as pa
    except ImportError as missing:
        raise ValueError(f"reading {name} needs the package pyarrow") from missing
    return pa


def _frames(name: str, data: bytes, bytes_max: int) -> bytes:
    pa = _pyarrow(name)
    plain, left = [], bytes_max + 1
    with pa.CompressedInputStream(pa.BufferReader(data), name) as stream:
        # In pieces, because a stream allocates as much as it is asked for.
        while left > 0 and (piece := stream.read(min(left, _PIECE))):
            plain.append(piece)
            left -= len(piece)
    return b"".join(plain)


def _snappy(data: bytes, bytes_max: int) -> bytes:
    codec = _pyarrow("snappy").Codec("snappy")
    if not data.startswith(_SNAPPY_JAVA):
        return _snappy_block(codec, data, bytes_max)
    at = _SNAPPY_JAVA_HEADER
    blocks = []
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        block = data[at + 4 : at + 4 + size]
        if len(block) < size:
            raise ValueError("its last block is cut off")
        blocks.append(_snappy_block(codec, block, bytes_max))
        bytes_max -= len(blocks[-1])
        at += 4 + size
    return b"".join(blocks)


def _snappy_block(codec: Any, block: bytes, bytes_max: int) -> bytes:
    size = shift = 0
    for byte in block[:5]:  # the plain size, seven bits to a byte, lowest first
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:  # the highest bit says that more bytes follow
            if size > bytes_max:
                raise _TooLong
            plain: bytes = codec.decompress(block, size, asbytes=True)
            return plain
    raise ValueError("a block does not say how long it is")
