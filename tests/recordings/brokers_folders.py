"""The folders of several brokers as they would lie on their disks, made from a recording of a cluster.

Each broker has its own request log in Kafka's layout, the logs of the partitions of which it is a replica, and the metadata log
with the controller's decisions.
"""

from __future__ import annotations

import base64
import json
import shutil
import struct
from datetime import UTC, datetime
from pathlib import Path

from kipviz.recordings.decoded.elections import LeaderDecision, brokers_of
from kipviz.recordings.recorded import WIRE, Recording, load_recording
from kipviz.recordings.request_context.evidence import of_recording
from kipviz.records.placement import topic_of
from tests.recordings.made_logs import batch, write

TOPIC, PARTITION, CONFIG, CHANGE, FEATURE = 2, 3, 4, 5, 12
OF_TOPIC, OF_BROKERS = 2, 4


def brokers_folders(
    recorded: Path, into: Path, *, more: tuple[tuple[int, bytes], ...] = ()
) -> list[tuple[Path, Path]]:
    """Write the folder of logs and the request log of each broker; `more` are metadata records with their times."""
    recording = load_recording(recorded)
    needed = of_recording(recorded).min_insync_replicas
    wire = [json.loads(line) for line in (recorded / WIRE).read_text().splitlines()]
    records = sorted([*_metadata(recording, needed), *more], key=lambda each: each[0])
    log = [batch(k, ((None, each),), at=at) for k, (at, each) in enumerate(records)]
    found = []
    for broker in brokers_of(recording.decisions):
        folder = into / f"broker-{broker}"
        write(folder, "__cluster_metadata-0", *log)
        (folder / "meta.properties").write_text(f"node.id={broker}\ncluster.id=made\n")
        for partition in sorted({d.partition for d in recording.decisions if broker in d.replicas}):
            if (recorded / partition).is_dir():
                shutil.copytree(recorded / partition, folder / partition)
        lines = [_line(each) for each in wire if each["broker"] == broker]
        requests = into / f"requests-{broker}.log"
        requests.write_text("".join(lines))
        found.append((folder, requests))
    return found


def _line(each: dict) -> str:
    when = datetime.fromtimestamp(each["answered"] // 1_000, UTC)
    header = {
        "requestApiKeyName": each["api"],
        "requestApiVersion": each["version"],
        "clientId": each["client"],
        "correlationId": each.get("correlation", -1),
    }
    said = {
        "requestHeader": header,
        "request": each["request"],
        "response": each["response"],
        "totalTimeMs": each["answered"] - each["received"],
        "connection": each.get("connection", ""),
    }
    stamp = f"{when:%Y-%m-%d %H:%M:%S},{each['answered'] % 1_000:03}"
    return f"[{stamp}] DEBUG Completed request:{json.dumps(said)} (kafka.request.logger)\n"


def _metadata(
    recording: Recording, min_insync_replicas: tuple[tuple[str, int], ...]
) -> list[tuple[int, bytes]]:
    begun = min(each.at_ms for each in recording.decisions)
    ids = dict(recording.topic_ids.items())
    found = [
        (begun, _record(TOPIC, _text(topic) + _uuid(topic_id))) for topic, topic_id in ids.items()
    ]
    found += [
        (begun, _record(FEATURE, _text(name) + struct.pack(">h", level)))
        for name, level in recording.features.items()
    ]
    found += [
        (begun, _record(CONFIG, bytes([OF_BROKERS]) + _text("") + _text(key) + _text(value)))
        for key, value in recording.settings.items()
    ]
    found += [
        (begun, _record(CONFIG, bytes([OF_TOPIC]) + _text(name) + MIN_ISR + _text(str(least))))
        for name, least in min_insync_replicas
    ]
    latest: dict[str, LeaderDecision] = {}
    for each in recording.decisions:
        place = struct.pack(">i", int(each.partition.rpartition("-")[2]))
        place += _uuid(ids[topic_of(each.partition)])
        before = latest.get(each.partition)
        if before is None:
            said = place + _brokers(each.replicas) + _brokers(each.isr) + b"\1\1"
            said += struct.pack(">iii", each.leader, each.leader_epoch, 0)
            found.append((each.at_ms, _record(PARTITION, said)))
        else:
            tags = {0: _brokers(each.isr), 2: _brokers(each.replicas)}
            if each.leader_epoch != before.leader_epoch:
                assert each.leader_epoch == before.leader_epoch + 1
                tags[1] = struct.pack(">i", each.leader)
            found.append((each.at_ms, bytes([1, CHANGE, 0]) + place + _tags(tags)))
        latest[each.partition] = each
    return found


def _record(kind: int, fields: bytes) -> bytes:
    return bytes([1, kind, 0]) + fields + b"\0"


def _tags(tags: dict[int, bytes]) -> bytes:
    said = [bytes([tag, len(tags[tag])]) + tags[tag] for tag in sorted(tags)]
    return bytes([len(said)]) + b"".join(said)


def _brokers(numbers: tuple[int, ...]) -> bytes:
    return bytes([len(numbers) + 1]) + b"".join(struct.pack(">i", each) for each in numbers)


def _text(text: str) -> bytes:
    return bytes([len(text) + 1]) + text.encode()


MIN_ISR = _text("min.insync.replicas")


def _uuid(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "==")
