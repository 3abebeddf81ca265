"""Logs made on the spot: batches with every header field that one likes, in folders as a broker names them."""

from __future__ import annotations

import struct
from pathlib import Path

from kipviz.messages.wire.batches import varint
from kipviz.records.crc32c import crc32c

START = 1_790_000_000_000
TRANSACTIONAL, CONTROL = 0x10, 0x20


def batch(
    offset,
    records=((None, b"v"),),
    *,
    pid=-1,
    epoch=-1,
    sequence=-1,
    transactional=None,
    control=False,
    at=START,
    leader_epoch=0,
    attributes=0,
):
    """Write one batch of (key, value) records, as DefaultRecordBatch lays it out."""
    body = b"".join(_record(k, key, value) for k, (key, value) in enumerate(records))
    bits = attributes | (
        TRANSACTIONAL if (pid >= 0 if transactional is None else transactional) else 0
    )
    bits |= CONTROL if control else 0
    count = len(records)
    checked = struct.pack(">hiqqqhii", bits, count - 1, at, at, pid, epoch, sequence, count) + body
    head = struct.pack(">qiib", offset, len(checked) + 9, leader_epoch, 2)
    return head + struct.pack(">I", crc32c(checked)) + checked


def marker(offset, pid, epoch, *, commit=True, at=START, coordinator_epoch=0, leader_epoch=0):
    """Write the control batch that ends a transaction."""
    record = (struct.pack(">hh", 0, int(commit)), struct.pack(">hi", 0, coordinator_epoch))
    return batch(
        offset, (record,), pid=pid, epoch=epoch, control=True, at=at, leader_epoch=leader_epoch
    )


def _record(delta, key, value):
    parts = (
        bytes(1)
        + varint(0)
        + varint(delta)
        + _encode_with_size(key)
        + _encode_with_size(value)
        + varint(0)
    )
    return varint(len(parts)) + parts


def _encode_with_size(data):
    return varint(-1) if data is None else varint(len(data)) + data


def write(folder, partition, *batches, segment=0):
    """Put batches into a segment of a partition's folder; return the file."""
    file = Path(folder) / partition / f"{segment:020}.log"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"".join(batches))
    return file


def transaction(
    offset, name, pid, epoch, state, partitions=(), *, at=START, start=START, timeout=60_000
):
    """Write a state of a transactional id (TransactionLogKey, TransactionLogValue version 1)."""
    states = (
        "EMPTY",
        "ONGOING",
        "PREPARE_COMMIT",
        "PREPARE_ABORT",
        "COMPLETE_COMMIT",
        "COMPLETE_ABORT",
    )
    topics: dict[str, list[int]] = {}
    for each in partitions:
        topic, _, index = each.rpartition("-")
        topics.setdefault(topic, []).append(int(index))
    key = struct.pack(">hh", 0, len(name)) + name.encode()
    value = struct.pack(">hqhib", 1, pid, epoch, timeout, states.index(state))
    value += bytes([len(topics) + 1])
    for topic, indexes in topics.items():
        value += bytes([len(topic) + 1]) + topic.encode() + bytes([len(indexes) + 1])
        value += b"".join(struct.pack(">i", index) for index in indexes) + b"\0"
    value += struct.pack(">qq", at, start) + b"\0"
    return batch(offset, ((key, value),), at=at)
