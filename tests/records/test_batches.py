"""Batches: their size without encoding them is the size of what is encoded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kipviz.messages.wire.batches import encode_batch
from kipviz.records.batches import Batch, DataRecord, size_in_bytes

TEXTS = st.text(max_size=200)
TIMES = st.integers(0, 2**40)
RECORDS = st.lists(
    st.builds(DataRecord, TEXTS, origin=TEXTS, create_time_ms=TIMES), min_size=1, max_size=150
)


@given(RECORDS)
def test_a_batch_has_the_bytes_that_the_codec_writes(records):
    batch = Batch(7, tuple(records))
    written = encode_batch(tuple(enumerate(records, 7)))
    assert size_in_bytes(batch) == len(written.data)


@pytest.mark.parametrize(
    "records",
    [
        (DataRecord("x" * 63), DataRecord("x" * 64)),
        (DataRecord("é" * 31), DataRecord("é" * 32)),
        (DataRecord("a lone surrogate \ud800"),),
        (DataRecord("", "src-0@" + "1" * 58),),
        tuple(DataRecord("a", create_time_ms=at) for at in (100, 163, 164, 36, 35, 100)),
    ],
)
def test_a_number_takes_another_byte_where_the_codec_writes_one(records):
    """Source: ByteUtils.writeVarint: one byte has -64 to 63."""
    written = encode_batch(tuple(enumerate(records, 7)))
    assert size_in_bytes(Batch(7, records)) == len(written.data)


@pytest.mark.parametrize("control", ["COMMIT", "ABORT"])
def test_a_marker_has_78_bytes(control):
    """Source: recorded segments of Kafka 4.4.0."""
    assert size_in_bytes(Batch(7, control=control)) == 78
