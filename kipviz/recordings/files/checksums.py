"""CRC-32C of many batches at once, by numpy.

`records.crc32c` takes one batch at a time, at about 13 MB a second. A checksum is linear, so the parts of a message can
be summed side by side and joined afterwards. Every message is cut into blocks, all blocks advance by eight bytes
together, and the sums of a message's blocks are joined by appending zeros. Zeros in front of a message do not change
its sum if the register starts at 0; the register's initial value is added to the first four bytes instead.

Source: org.apache.kafka.common.utils.Crc32C, RFC 3720 section B.4.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

_POLYNOMIAL = 0x82F63B78
# Short batches would be mostly padding in long blocks, and long ones need more joins with short blocks: block lengths,
# each with the largest batch that uses it.
_BLOCKS = ((64, 512), (256, 4_096), (1_024, 1 << 62))
_LONGEST_BLOCK = 1_024
_BYTES_AT_ONCE = 1 << 22

Numbers: TypeAlias = NDArray[Any]


def checksums(data: Numbers, starts: Numbers, ends: Numbers) -> Numbers:
    """Return the CRC-32C of each stretch of some bytes (uint8), each of at least four bytes."""
    if not len(starts):
        return np.zeros(0, np.uint32)
    # A block may start before the first message does.
    lack = max(0, _LONGEST_BLOCK - int(starts.min()))
    if lack:
        data = np.concatenate((np.zeros(lack, np.uint8), data[: int(ends.max())]))
        starts, ends = starts + lack, ends + lack
    sums = np.zeros(len(starts), np.uint32)
    sizes = ends - starts
    least = 0
    for block, most in _BLOCKS:
        places = np.flatnonzero((sizes > least) & (sizes <= most))
        least = most
        blocks = -(-sizes[places] // block)
        # As many messages at once as fit into a few megabytes; one message may be larger.
        turn = (np.cumsum(blocks) - 1) * block // _BYTES_AT_ONCE
        for stretch in np.split(places, np.flatnonzero(np.diff(turn)) + 1) if len(places) else ():
            sums[stretch] = _of_blocks(data, starts[stretch], ends[stretch], block)
    return sums ^ np.uint32(0xFFFFFFFF)


def _of_blocks(data: Numbers, starts: Numbers, ends: Numbers, block: int) -> Numbers:
    counts = -(-(ends - starts) // block)
    most = int(counts.max())
    # Block k of a message is its k-th from the end; the first one may start before the message does.
    message = np.repeat(np.arange(len(starts)), counts)
    turn = np.arange(len(message)) - np.repeat(np.cumsum(counts) - counts, counts)
    rows = sliding_window_view(data, block)[ends[message] - (turn + 1) * block]
    foremost = np.cumsum(counts) - 1
    before = counts * block - (ends - starts)
    rows[foremost] *= np.arange(block) >= before[:, None]
    flat = rows.reshape(-1)
    for k in range(4):
        place = before + k
        flat[(foremost - place // block) * block + place % block] ^= 0xFF
    sums = _registers(rows)
    if most == 1:
        return sums
    # Horner's rule from the first block to the last; a message with fewer blocks starts later, from 0.
    table = np.zeros((len(starts), most), np.uint32)
    table[message, turn] = sums
    register = np.zeros(len(starts), np.uint32)
    for k in range(most - 1, -1, -1):
        register = _followed_by_zeros(register, block) ^ table[:, k]
    return register


def _registers(rows: Numbers) -> Numbers:
    """Return the register after each row of bytes, starting at 0."""
    a, b, c, d = _halves()
    words = rows.view("<u2").T.copy()
    register = np.zeros(rows.shape[0], np.uint32)
    for at in range(0, words.shape[0], 4):
        low = (register & 0xFFFF).astype(np.uint16) ^ words[at]
        high = (register >> 16).astype(np.uint16) ^ words[at + 1]
        register = a[low] ^ b[high] ^ c[words[at + 2]] ^ d[words[at + 3]]
    return register


def _followed_by_zeros(register: Numbers, zeros: int) -> Numbers:
    tables = _zero_tables(zeros)
    found: Numbers = (
        tables[0][register & 0xFF]
        ^ tables[1][register >> 8 & 0xFF]
        ^ tables[2][register >> 16 & 0xFF]
        ^ tables[3][register >> 24]
    )
    return found


@cache
def _bytes_table() -> Numbers:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, table >> 1 ^ np.uint32(_POLYNOMIAL), table >> 1)
    return table


@cache
def _halves() -> tuple[Numbers, ...]:
    """Return what two bytes add to the register when 8, 6, 4 and 2 bytes are left, including them."""
    return tuple(_append_zeros(np.arange(1 << 16, dtype=np.uint32), size) for size in (8, 6, 4, 2))


@cache
def _zero_tables(zeros: int) -> tuple[Numbers, ...]:
    bytes_ = np.arange(256, dtype=np.uint32)
    return tuple(_append_zeros(bytes_ << np.uint32(8 * k), zeros) for k in range(4))


def _append_zeros(register: Numbers, zeros: int) -> Numbers:
    table = _bytes_table()
    for _ in range(zeros):
        register = table[register & 0xFF] ^ register >> 8
    return register
