"""The ACLs of `__cluster_metadata`: read as Kafka lays them out, and gone by where answers are judged."""

from __future__ import annotations

import base64
import struct
from itertools import pairwise
from pathlib import Path

import pytest

from kipviz.brokers.authorizer import Acl
from kipviz.core.table import Table
from kipviz.core.values import digest_of
from kipviz.messages.apis.rights import Operation, Resource
from kipviz.recordings.decoded import acl_records
from kipviz.recordings.decoded.acl_records import (
    LoggedAccessControlEntry,
)
from kipviz.recordings.decoded.cluster_metadata import ClusterMetadata, read_metadata
from kipviz.recordings.decoded.elections import LEARNS_MS
from kipviz.recordings.files.log_parts import log_folders
from kipviz.recordings.files.log_rows import rows_of
from kipviz.recordings.judging.accept import Acceptor
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.recording_error import RecordingError
from kipviz.recordings.request_context.admission import Admission, host_of, logged_acls
from kipviz.recordings.request_context.evidence import of_recording
from tests.recordings.made_logs import START, batch, write

METADATA = "__cluster_metadata-0"
RELEASE = Path(__file__).parents[1] / "kafka-4.4.0"
MADE, TAKEN_BACK = 18, 19


def number_of(name: str, names: dict[int, str]) -> int:
    return next(number for number, each in names.items() if each == name)


def compact(text: str) -> bytes:
    return bytes([len(text) + 1]) + text.encode()


def write_record(
    acl_id: int,
    principal: str = "User:app",
    operation: str = "READ",
    resource: str = "GROUP",
    name: str = "g",
    *,
    pattern: str = "LITERAL",
    host: str = "*",
    permission: str = "ALLOW",
) -> bytes:
    """Write the metadata record that makes an ACL: frame version 1, type, version 0, fields, no tags."""
    numbers = (
        number_of(resource, acl_records.RESOURCES),
        number_of(pattern, acl_records.PATTERNS),
        number_of(operation, acl_records.OPERATIONS),
        number_of(permission, acl_records.PERMISSIONS),
    )
    what = struct.pack(">b", numbers[0]) + compact(name) + struct.pack(">b", numbers[1])
    who = compact(principal) + compact(host) + struct.pack(">bb", *numbers[2:])
    return bytes([1, MADE, 0]) + acl_id.to_bytes(16, "big") + what + who + b"\0"


def taken_back(acl_id: int) -> bytes:
    return bytes([1, TAKEN_BACK, 0]) + acl_id.to_bytes(16, "big") + b"\0"


def uuid(acl_id: int) -> str:
    return base64.urlsafe_b64encode(acl_id.to_bytes(16, "big")).decode().rstrip("=")


def metadata(folder: Path, *records: tuple[int, bytes]) -> ClusterMetadata:
    """Write a metadata log of (ms, record) and read it."""
    batches = (batch(k, ((None, record),), at=at) for k, (at, record) in enumerate(records))
    write(folder, METADATA, *batches)
    return read_metadata(folder / METADATA)


def test_an_acl_is_read_field_by_field_and_taken_back_by_its_id(tmp_path: Path) -> None:
    records = [
        write_record(
            1, operation="TWO_PHASE_COMMIT", resource="TRANSACTIONAL_ID", pattern="PREFIXED"
        ),
        write_record(2, "User:*", "ALL", "TOPIC", "src", host="10.0.0.7", permission="DENY"),
        taken_back(1),
        taken_back(9),
    ]
    known = metadata(tmp_path, *((START + k, each) for k, each in enumerate(records)))
    first = LoggedAccessControlEntry(
        0,
        uuid(1),
        "TRANSACTIONAL_ID",
        "g",
        "PREFIXED",
        "User:app",
        "*",
        "TWO_PHASE_COMMIT",
        "ALLOW",
    )
    second = LoggedAccessControlEntry(
        1, uuid(2), "TOPIC", "src", "LITERAL", "User:*", "10.0.0.7", "ALL", "DENY"
    )
    assert known.acls == (second,)
    changes = ((START, first, True), (START + 1, second, True), (START + 2, first, False))
    assert known.acl_changes == changes


def test_acls_keep_their_kind_in_the_rows_of_the_log(tmp_path: Path) -> None:
    metadata(tmp_path, (START, write_record(1)), (START, taken_back(1)))
    (part,) = log_folders([tmp_path], ("__cluster_metadata",)).parts
    rows = [row for found in rows_of(part, "said") for row in found.to_pylist()]
    assert [(row["kind"], row["name"]) for row in rows] == [
        ("AccessControlEntry", "g"),
        ("RemoveAccessControlEntry", ""),
    ]
    assert '"principal":"User:app"' in rows[0]["said"]


@pytest.mark.parametrize("size", range(3, len(write_record(1)) - 1))
def test_an_acl_that_is_cut_off_is_refused_with_its_place(tmp_path: Path, size: int) -> None:
    with pytest.raises(RecordingError, match="the record at offset 0 cannot be read"):
        metadata(tmp_path, (START, write_record(1)[:size]))


def test_the_acls_of_a_metadata_log_are_those_that_the_operator_made(tmp_path: Path) -> None:
    """The operator's calls of a recording, as the controller would have logged them, come to the same ACLs."""
    recording = of_recording(RELEASE / "acls")
    records = []
    for before, after in pairwise(recording.allowed):
        new = [acl for acl in after.acls if acl not in before.acls]
        gone = [acl for acl in before.acls if acl not in after.acls]
        at = after.begin_ms
        records += [(at, log_acl(acl)) for acl in new]
        records += [(at, taken_back(identity(acl))) for acl in gone]
    known = metadata(tmp_path, *records)
    allowed = logged_acls(known.acl_changes)
    assert {frozenset(a.acls) for a in recording.allowed} <= {frozenset(a.acls) for a in allowed}
    strict = tuple(each.but(super_users=False) for each in allowed)
    for admitted in (allowed, strict):
        evidence = recording.but(allowed=admitted)
        assert [each.api for each in Acceptor(evidence).compare_all() if not each.accepted] == []
    without = tuple(each.but(acls=()) for each in strict)
    assert [
        each for each in Acceptor(recording.but(allowed=without)).compare_all() if not each.accepted
    ]


def identity(acl: Acl) -> int:
    return int.from_bytes(digest_of(acl.words.encode()), "big")


def log_acl(acl: Acl) -> bytes:
    prefixed = acl.name.endswith("*") and acl.name != "*"
    return write_record(
        identity(acl),
        f"User:{acl.principal}",
        acl.operation.value,
        acl.resource.value,
        acl.name[:-1] if prefixed else acl.name,
        pattern="PREFIXED" if prefixed else "LITERAL",
        permission="ALLOW" if acl.allow else "DENY",
    )


def exchange(begin: int, end: int, host: str = "10.0.0.7") -> Exchange:
    request = Table.of({"groupId": "g"})
    where = f"10.0.0.1:9092-{host}:51000-0-3"
    return Exchange(
        "HEARTBEAT", 4, "c", begin, end, request, Table.of({}), principal="app", connection=where
    )


def test_an_acl_of_one_host_counts_for_who_comes_from_there(tmp_path: Path) -> None:
    known = metadata(tmp_path, (START, write_record(1, host="10.0.0.7")))
    strict = tuple(each.but(super_users=False) for each in logged_acls(known.acl_changes))
    late = START + LEARNS_MS + 100
    assert Admission(strict).of_group(exchange(late, late + 1)) == (True,)
    assert Admission(strict).of_group(exchange(late, late + 1, "10.0.0.8")) == (False,)
    assert Admission(strict).of_group(exchange(START + 1, START + 2)) == (False, True)
    assert host_of("[::1]:9092-[::2]:1-4") == "[::2]"
    assert host_of("somewhere") == ""


def test_without_the_broker_s_configuration_whoever_asks_may_be_a_super_user(
    tmp_path: Path,
) -> None:
    known = metadata(tmp_path, (START, write_record(1, "User:other")))
    late = START + LEARNS_MS + 100
    assert Admission(logged_acls(known.acl_changes)).of_group(exchange(late, late + 1)) == (
        False,
        True,
    )


def test_what_no_request_of_the_model_needs_is_left_out(tmp_path: Path) -> None:
    known = metadata(
        tmp_path,
        (START, write_record(1, operation="DESCRIBE_TOKENS", resource="DELEGATION_TOKEN")),
        (START, write_record(2, operation="CREATE_TOKENS", resource="USER")),
        (START, write_record(3)),
    )
    assert logged_acls(known.acl_changes)[-1].acls == (
        Acl("app", Operation.READ, Resource.GROUP, "g"),
    )
    assert logged_acls(()) == ()
