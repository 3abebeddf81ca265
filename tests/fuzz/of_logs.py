"""Targets that read what Kafka writes: messages, log segments, whole folders of logs, request logs."""

from __future__ import annotations

import io
import json
import random
import shutil
import struct
import zipfile
from functools import cache
from pathlib import Path

from kipviz.messages.wire.codec import WireError, decode, encode
from kipviz.messages.wire.frame import KINDS, REQUEST_HEADER, RESPONSE_HEADER, read_message
from kipviz.messages.wire.schema import Schema
from kipviz.recordings.decoded import internal_topics
from kipviz.recordings.decoded.cluster_metadata import CLUSTER_METADATA
from kipviz.recordings.files.request_log import exchanges_in
from kipviz.recordings.files.segments import HEADER_SIZE, Segment, batches
from kipviz.recordings.files.zipped import folder_at
from kipviz.recordings.judging.report import report
from kipviz.recordings.recording_error import RecordingError
from kipviz.records.crc32c import crc32c
from kipviz.widgets.rebuilt_logs import run_of_logs
from kipviz.widgets.stepping.lines import Lab
from tests.fuzz.corpus import FOLDER, PLACE, RECORDED
from tests.fuzz.fuzzing import Target
from tests.fuzz.mutation import as_json, of_bytes, of_json

SCHEMAS: dict[str, Schema] = {
    schema.name: schema
    for schema in (*(kind.schema for kind in KINDS.values()), REQUEST_HEADER, RESPONSE_HEADER)
}
_CRC_AT, _CHECKED_FROM, _LENGTH_STARTS_AT = 17, 21, 12


# -- messages --------------------------------------------------------------------------------------


@cache
def _messages() -> list[tuple[str, int, bytes]]:
    told = [json.loads(line) for line in _text("wire.jsonl").splitlines()]
    found = [(one["message"], one["version"], bytes.fromhex(one["bytes"])) for one in told]
    return [one for one in found if one[0] in SCHEMAS]


def _message(dice: random.Random) -> bytes:
    name, version, data = dice.choice(_messages())
    others = [one for _, _, one in _messages()]
    version = dice.choice((version, version, version, dice.randrange(20)))
    return f"{name} {version}\n".encode() + of_bytes([data, data, dice.choice(others)], dice)


def _read_message(data: bytes, _: Path) -> object:
    head, _, body = data.partition(b"\n")
    name, version = head.decode().split()
    schema = SCHEMAS[name]
    try:
        values, _ = decode(schema, int(version), body)
    except WireError:
        return read_message(schema, int(version), len(body).to_bytes(4, "big") + body)
    return encode(schema, int(version), values)


# -- segments --------------------------------------------------------------------------------------


@cache
def _segments() -> list[tuple[str, bytes]]:
    told = [json.loads(line) for line in _text("segments.jsonl").splitlines()]
    return [(one["topic"], bytes.fromhex(one["bytes"])) for one in told]


def _segment(dice: random.Random) -> bytes:
    topic, data = dice.choice(_segments())
    others = [one for name, one in _segments() if name == topic]
    made = of_bytes([data, dice.choice(others)], dice)
    # Three times in four with checksums that fit, so that what stands behind them is read, too.
    return topic.encode() + b"\n" + (fix_checksums(made) if dice.randrange(4) else made)


def fix_checksums(data: bytes) -> bytes:
    """Give a segment's bytes with the checksum of every batch that fits into them made again."""
    made, at = bytearray(data), 0
    while at + HEADER_SIZE <= len(made):
        size = struct.unpack_from(">i", made, at + 8)[0] + _LENGTH_STARTS_AT
        if size < HEADER_SIZE or at + size > len(made):
            break
        crc = crc32c(memoryview(bytes(made))[at + _CHECKED_FROM : at + size])
        struct.pack_into(">I", made, at + _CRC_AT, crc)
        at += size
    return bytes(made)


def _read_segment(data: bytes, _: Path) -> object:
    topic, _, body = data.partition(b"\n")
    name = topic.decode()
    noted: list[RecordingError] = []
    tuple(batches(body, "a log", damages=noted))
    segment = Segment("a log", tuple(batches(body, "a log", compacted=True, torn_tail=True)))
    if name in (*internal_topics.DECODERS, CLUSTER_METADATA):
        return internal_topics.decode(segment, name)
    return internal_topics.markers(segment)


# -- folders of logs -------------------------------------------------------------------------------


def _partitions() -> list[Path]:
    return sorted(each for each in (RECORDED / FOLDER).iterdir() if each.is_dir())


def _folder(dice: random.Random) -> bytes:
    partition = dice.choice(_partitions())
    (log,) = partition.glob("*.log")
    made = fix_checksums(of_bytes([log.read_bytes()], dice))
    return f"{partition.name}/{log.name}\n".encode() + made


def _read_folder(data: bytes, folder: Path) -> object:
    head, _, body = data.partition(b"\n")
    for partition in _partitions():
        shutil.copytree(partition, folder / partition.name)
    (folder / head.decode()).write_bytes(body)
    return Lab(run_of_logs(folder)).payload


# -- a folder in one file ---------------------------------------------------------------------------


@cache
def _zips() -> list[bytes]:
    found = []
    for way in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w", way) as archive:
            for partition in _partitions()[:2]:
                entry = zipfile.ZipInfo(f"{partition.name}/0.log", (2026, 1, 1, 0, 0, 0))
                entry.compress_type = way
                archive.writestr(entry, b"a log " * 50)
        found.append(made.getvalue())
    return found


def _zip(dice: random.Random) -> bytes:
    return of_bytes(_zips(), dice)


def _read_zip(data: bytes, folder: Path) -> object:
    (folder / "logs.zip").write_bytes(data)
    return folder_at(folder / "logs")


# -- request logs ----------------------------------------------------------------------------------


@cache
def _requests() -> list[str]:
    return _text("requests.log").splitlines()


def _request_log(dice: random.Random) -> bytes:
    lines = [dice.choice(_requests()) for _ in range(dice.choice((1, 2, 4)))]
    at = dice.randrange(len(lines))
    before, after = lines[at].index("{"), lines[at].rindex("}") + 1
    changed = as_json(of_json(json.loads(lines[at][before:after]), dice)).decode()
    lines[at] = lines[at][:before] + changed + lines[at][after:]
    made = "".join(f"{line}\n" for line in lines).encode()
    return made if dice.randrange(4) else of_bytes([made], dice)


def _read_request_log(data: bytes, folder: Path) -> object:
    path = folder / "kafka-request.log"
    path.write_bytes(data)
    exchanges_in(path)
    logs = folder / "logs"
    for partition in _partitions():
        shutil.copytree(partition, logs / partition.name)
    return list(report(logs, path).lines())


def _text(name: str) -> str:
    return (PLACE / name).read_text(encoding="utf-8")


TARGETS = (
    Target("wire", "a message of a client or broker", _message, _read_message, (WireError,), 2_500),
    Target("segments", "a log segment", _segment, _read_segment, (RecordingError,), 1_000),
    Target(
        "folders",
        "a folder of logs, opened in the stepper",
        _folder,
        _read_folder,
        (RecordingError, ValueError),
        60,
    ),
    Target("zips", "a folder of logs in one file", _zip, _read_zip, (RecordingError,), 400),
    Target(
        "requests",
        "a request log, held against the model",
        _request_log,
        _read_request_log,
        (RecordingError, ValueError),
        150,
    ),
)
