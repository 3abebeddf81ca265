"""The bytes of clients' batches are kept up to a size in memory, and small ones count with what keeping them costs."""

from kipviz.records.batches import Batch, DataRecord
from kipviz.serving.translating.batch_bytes import OVERHEAD, KeptBatches
from tests.recordings import made_logs


def batch(offset):
    return Batch(offset, (DataRecord("v"),))


def is_kept(kept, offset, data):
    return kept.bytes_of("orders-0", batch(offset), 0)[16:] == data[16:]


def test_the_oldest_bytes_go_first_and_a_small_batch_counts_with_its_overhead():
    data = [made_logs.batch(n, ((b"key %d" % n, b"v"),)) for n in range(5)]
    kept = KeptBatches(3 * (OVERHEAD + len(data[0])))
    for offset, each in enumerate(data):
        kept.keep("orders-0", batch(offset), each)
        kept.keep("orders-0", batch(offset), each)  # a duplicate counts once
    assert [is_kept(kept, n, each) for n, each in enumerate(data)] == [False] * 2 + [True] * 3
