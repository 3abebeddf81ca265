"""What `kipviz conform` found on a loaded machine: moments that no log has, between a record's time and its effect.

Each folder has one program at one broker or at three, with its logs and request logs. An answer in it was refused
before its moment was followed, and each test undoes one mend.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from kipviz.conforming.judging import evidence_of
from kipviz.conforming.real_cluster import files_in
from kipviz.recordings.followed_members import joining, separate_share_groups, sharing
from kipviz.recordings.followed_members.member_connections import MemberConnections
from kipviz.recordings.judging.report import of_evidence
from kipviz.recordings.possible_worlds.coordinator_memory import Transitions
from kipviz.recordings.replayed_roles import leaders
from kipviz.recordings.request_context import known_leaders
from kipviz.recordings.request_context.appends import SeenEnds
from kipviz.recordings.request_context.arrival import thread_of
from kipviz.recordings.request_context.evidence import Evidence
from kipviz.recordings.request_context.handmade_requests import RequestBatch
from tests.recordings.unpacked import FOLDERS, unpack

Patch = pytest.MonkeyPatch


@pytest.fixture(scope="module")
def evidence(request, tmp_path_factory) -> Evidence:
    name: str = request.param
    folder = unpack(FOLDERS / f"{name}.zip", tmp_path_factory.mktemp(name))
    sent = msgspec.json.decode((folder / "sent.json").read_bytes(), type=tuple[RequestBatch, ...])
    return evidence_of(files_in(folder, 3 if name.startswith("three-") else 1), sent)


def completions_are_applied_at_once(patch: Patch) -> None:
    patch.setattr(Transitions, "may_be_pending", lambda *_: -1)


def nothing_is_prepared_before_its_record(patch: Patch) -> None:
    patch.setattr(Transitions, "prepared_end_ms", lambda *told: told[-1].answered_ms)


def all_share_fetches_are_early_or_none(patch: Patch) -> None:
    patch.setattr(separate_share_groups, "EARLIER_MAX", 0)


def start_offsets_are_known_at_once(patch: Patch) -> None:
    def begin(self: Any, way: Any, on: Any) -> Iterator[Any]:
        yield way

    patch.setattr(sharing.Sharing, "_begun_or_not", begin)


def groups_are_emptied_after_all_releases(patch: Patch) -> None:
    patch.setattr(MemberConnections, "_list_removed_first", lambda *_: ())


def batches_are_seen_from_their_time_on(patch: Patch) -> None:
    patch.setattr(SeenEnds, "not_shown_ms", lambda *_, **__: 0)


def leaders_that_move_have_appended_nothing(patch: Patch) -> None:
    patch.setattr(leaders, "moved_meanwhile", lambda *_: ())


def assignments_are_stored_at_once(patch: Patch) -> None:
    def take_request(self: Any, way: Any, number: int) -> Iterator[Any]:
        yield self._take_request(way, number)

    patch.setattr(joining.Joining, "_stored_or_not", take_request)


def nobody_writes_after_an_election(patch: Patch) -> None:
    patch.setattr(known_leaders, "logs_complete", lambda *_: {})


def lists_come_from_loaded_coordinators(patch: Patch) -> None:
    patch.setattr(
        known_leaders.KnownLeaders,
        "answering_roles",
        lambda *told: (told[2],) if told[2] in told[3] else (),
    )


CASES: list[tuple[str, Callable[[Patch], None], str]] = [
    ("late-completion-4.4.0", completions_are_applied_at_once, "END_TXN"),
    ("early-fencing-4.4.0", nothing_is_prepared_before_its_record, "ADD_PARTITIONS_TO_TXN"),
    ("late-share-fetch-4.4.0", all_share_fetches_are_early_or_none, "SHARE_FETCH"),
    ("late-start-offset-4.3.1", start_offsets_are_known_at_once, "SHARE_ACKNOWLEDGE"),
    ("emptied-group-4.3.1", groups_are_emptied_after_all_releases, "WRITE_SHARE_GROUP_STATE"),
    ("late-append-4.4.0", batches_are_seen_from_their_time_on, "FETCH"),
    ("three-moved-batch-4.3.1", leaders_that_move_have_appended_nothing, "PRODUCE"),
    ("late-assignment-4.3.1", assignments_are_stored_at_once, "SYNC_GROUP"),
    ("three-moved-group-4.3.1", nobody_writes_after_an_election, "HEARTBEAT"),
    ("three-loading-4.3.1", lists_come_from_loaded_coordinators, "LIST_TRANSACTIONS"),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("evidence", "undo", "api"), CASES, indirect=["evidence"], ids=[name for name, *_ in CASES]
)
def test_a_moment_that_no_log_has_explains_an_answer(evidence, undo, api, monkeypatch) -> None:
    report = of_evidence(evidence)
    assert [str(each) for each in report.refused] == []
    undo(monkeypatch)
    assert api in {each.api for each in of_evidence(evidence).refused}


@pytest.mark.slow
@pytest.mark.parametrize("evidence", ["emptied-group-4.3.1"], indirect=True)
def test_connections_of_one_network_thread_end_one_after_the_other(evidence) -> None:
    """Then no share-partition is removed before the last member's records are released."""
    assert {thread_of(each.connection) for each in evidence.exchanges} == {"0", "1", "2"}
    same = (x.but(connection="127.0.0.1:9092-127.0.0.1:50210-0-1") for x in evidence.exchanges)
    refused = of_evidence(evidence.but(exchanges=tuple(same))).refused
    assert [each.api for each in refused] == ["WRITE_SHARE_GROUP_STATE"]
