"""Sequence numbers of a producer's records: 31 bits that wrap around to 0.

WHERE IN KAFKA: DefaultRecordBatch.incrementSequence, DefaultRecordBatch.lastSequence (KIP-98).
"""

from __future__ import annotations

SEQUENCE_MAX = 2_147_483_647
_NUMBERS = SEQUENCE_MAX + 1


def sequence_after(sequence: int, count: int) -> int:
    """Return the sequence that comes `count` records after another one; 0 follows 2147483647."""
    return (sequence + count) % _NUMBERS


def last_sequence(base_sequence: int, count: int) -> int:
    """Return the sequence of the last of `count` records in a batch, -1 for a batch without sequences."""
    return sequence_after(base_sequence, count - 1) if base_sequence >= 0 else -1


def as_java_int(number: int) -> int:
    """Return the sum of two Java ints: above 2147483647 it becomes negative.

    The client adds some sequences without the wrap-around (ProducerBatch.lastSequence), and compares the results.
    """
    return (number + _NUMBERS) % (2 * _NUMBERS) - _NUMBERS
