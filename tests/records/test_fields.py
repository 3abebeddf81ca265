"""The fields of Kafka's own records: what is no number of its size."""

from __future__ import annotations

import pytest

from kipviz.records.fields import Fields, FieldsError

LARGEST = bytes([0xFF, 0xFF, 0xFF, 0xFF, 0x0F])
TOO_LARGE = bytes([0xFF, 0xFF, 0xFF, 0xFF, 0x1F])
TOO_LONG = bytes([0x80, 0x80, 0x80, 0x80, 0x80, 0x00])  # ByteUtils.readUnsignedVarint: five at most


def test_the_largest_number_of_its_bits_is_read() -> None:
    assert Fields(LARGEST).unsigned_varint("the size") == (1 << 32) - 1


@pytest.mark.parametrize("data", [TOO_LARGE, TOO_LONG])
def test_a_number_of_more_bits_is_refused_where_it_begins(data: bytes) -> None:
    fields = Fields(b"x" + data)
    fields.take(1, "a byte")
    with pytest.raises(FieldsError, match="the size is not a number of 32 bits") as refused:
        fields.unsigned_varint("the size")
    assert refused.value.at == 1


def test_the_same_bytes_may_be_a_number_of_more_bits() -> None:
    assert Fields(TOO_LARGE).unsigned_varint("the size", bits=64) == 0x1FFFFFFFF
