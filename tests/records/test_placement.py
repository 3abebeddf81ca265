"""Which partition of an internal topic holds a key: computed as Kafka computes it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kipviz.records.placement import (
    index_of,
    java_hash,
    partition_for,
    share_partition_key,
    topic_of,
)

# key, Java's hash, partition of 50, partition of 3
VECTORS = [
    ("my-group-4", 1806687557, 7, 2),  # recorded of Kafka 4.4.0: __consumer_offsets-7
    ("my-txn", -1061187895, 45, 1),  # recorded of Kafka 4.4.0: __transaction_state-45
    ("my-group", -1906497762, 12, 0),
    ("g1", 3242, 42, 2),
    ("g1:AAAAAAAAAAAAAAAAAAAAAg:0", -1506019316, 16, 2),
    ("g1:AAAAAAAAAAAAAAAAAAAAAg:1", -1506019315, 15, 1),
    ("g1:AAAAAAAAAAAAAAAAAAAAAg:2", -1506019314, 14, 0),
    ("g1:AAAAAAAAAAAAAAAAAAAAAw:0", -1506003940, 40, 1),
    ("my-group:ASNFZ4mrze_-3LqYdlQyEA:7", 984016648, 48, 1),
    ("", 0, 0, 0),
    ("polygenelubricants", -(1 << 31), 0, 0),  # Utils.abs maps the smallest int to 0
    ("\N{GRINNING FACE}", 1772899, 49, 1),  # two UTF-16 units
]


@pytest.mark.parametrize(("key", "hashed", "of_50", "of_3"), VECTORS)
def test_a_key_lies_where_kafka_puts_it(key, hashed, of_50, of_3):
    assert java_hash(key) == hashed
    assert (partition_for(key, 50), partition_for(key, 3)) == (of_50, of_3)


@given(st.text(), st.integers(1, 100))
def test_every_key_has_a_partition(key, count):
    assert 0 <= partition_for(key, count) < count
    assert -(1 << 31) <= java_hash(key) < 1 << 31


@given(st.text(min_size=1), st.integers(0, 99))
def test_a_partition_s_name_gives_back_its_topic_and_index(topic, index):
    name = f"{topic}-{index}"
    assert (topic_of(name), index_of(name)) == (topic, index)


def test_the_key_of_a_share_partition_names_the_topic_by_its_id():
    """SharePartitionKey.asCoordinatorKey."""
    assert share_partition_key("g1", "AAAAAAAAAAAAAAAAAAAAAg", 2) == "g1:AAAAAAAAAAAAAAAAAAAAAg:2"
