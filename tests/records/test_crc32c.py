"""The checksum of Kafka's batches."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record._crc32c import crc as other_crc32c

from kipviz.records.crc32c import crc32c


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", 0),
        (b"123456789", 0xE3069283),
        # RFC 3720, B.4
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(reversed(range(32))), 0x113FDB5C),
    ],
)
def test_the_checksum_of_published_examples_is_as_published(data, expected):
    assert crc32c(data) == expected
    assert crc32c(memoryview(data)) == expected


@given(st.binary(max_size=300))
def test_any_bytes_have_the_checksum_that_kafka_python_gives_them(data):
    assert crc32c(data) == other_crc32c(data)
