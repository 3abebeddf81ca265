"""OffsetFetch of several partitions in one request, and the one error that is shown for a response."""

from __future__ import annotations

from typing import Any

import pytest

from kipviz.brokers.groups import group_coordinator
from kipviz.brokers.groups.group_state import CommittedOffset, GroupCoordinator, PendingOffset
from kipviz.brokers.groups.offset_fetches import on_offset_fetch
from kipviz.core.table import Table
from kipviz.driving.desk import Desk
from kipviz.messages.apis.catalogue import reject_request
from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import (
    FetchedGroup,
    FetchedOffset,
    OffsetFetch,
    OffsetFetchGroup,
    OffsetFetchResponse,
)
from kipviz.messages.message_errors import error_in, with_error
from kipviz.messages.wire.frame import KINDS
from kipviz.messages.wire.kind import Around
from tests.messages.offset_fetches import fetch_all

E = Errors
HERE = "__consumer_offsets-0"
NAMED = ("src-0", "src-1", "out-0")
ASKED = OffsetFetch((OffsetFetchGroup("g", NAMED, "m", 3),), require_stable=True)


def desk_of(**state: Any) -> Desk:
    role = GroupCoordinator(
        HERE,
        offsets=Table.of(((("g", "src-0"), CommittedOffset(7, 1)),)),
        pending=Table.of({9: (PendingOffset("g", "src-1", 5, 4),)}),
    )
    return Desk(group_coordinator, role.but(**state), leaders={HERE: 1})


def test_each_partition_of_a_request_has_its_own_offset_or_error() -> None:
    answer = desk_of().ask(on_offset_fetch, ASKED)
    offsets = (
        FetchedOffset("src-0", 7),
        FetchedOffset("src-1", -1, E.UNSTABLE_OFFSET_COMMIT),
        FetchedOffset("out-0", -1),
    )
    assert answer == OffsetFetchResponse((FetchedGroup(E.NONE, "g", offsets),))


def test_an_error_of_the_group_is_that_of_each_partition_and_leaves_no_offsets() -> None:
    answer: Any = desk_of(loading=True).ask(on_offset_fetch, ASKED)
    assert answer.groups == (FetchedGroup(E.COORDINATOR_LOAD_IN_PROGRESS, "g"),)
    assert [answer.groups[0].result_of(partition).error for partition in NAMED] == [
        E.COORDINATOR_LOAD_IN_PROGRESS
    ] * 3


def test_a_draft_that_does_not_tell_an_old_client_of_pending_offsets_rejects_its_whole_request() -> (
    None
):
    desk = desk_of()
    desk.rules = desk.rules.but(pending_offset=lambda *_: E.COORDINATOR_LOAD_IN_PROGRESS)
    answer: Any = desk.ask(on_offset_fetch, ASKED)
    assert answer.groups == (FetchedGroup(E.COORDINATOR_LOAD_IN_PROGRESS, "g"),)


@pytest.mark.parametrize(
    ("request_", "error", "of_group", "offsets"),
    [
        (ASKED, E.TOPIC_AUTHORIZATION_FAILED, E.NONE, 3),
        (ASKED, E.NOT_COORDINATOR, E.NOT_COORDINATOR, 0),
        (fetch_all("g"), E.UNKNOWN_TOPIC_OR_PARTITION, E.UNKNOWN_TOPIC_OR_PARTITION, 0),
    ],
)
def test_a_request_is_rejected_by_partition_only_where_it_names_partitions(
    request_: OffsetFetch, error: Errors, of_group: Errors, offsets: int
) -> None:
    answer = reject_request(request_, error)
    assert isinstance(answer, OffsetFetchResponse)
    (group,) = answer.groups
    assert (group.error, len(group.offsets), error_in(answer)) == (of_group, offsets, error)


def test_a_response_that_fails_late_loses_its_offsets() -> None:
    answer = desk_of().ask(on_offset_fetch, ASKED)
    assert answer is not None
    assert (error_in(answer), error_in(OffsetFetchResponse((FetchedGroup(E.NONE, "g"),)))) == (
        E.NONE,
        E.NONE,
    )
    assert with_error(answer, E.NOT_COORDINATOR) == OffsetFetchResponse(
        (FetchedGroup(E.NOT_COORDINATOR, "g"),)
    )


@pytest.mark.parametrize(("version", "named"), [(6, "Name"), (9, "Name"), (10, "TopicId")])
def test_partitions_stand_by_topic_in_the_bytes(version: int, named: str) -> None:
    around = Around((("src", "S"), ("out", "O")))
    fields = KINDS[OffsetFetch].fill(ASKED.but(version=version), around)
    group = fields if version < 8 else fields["Groups"][0]
    names = ("src", "out") if named == "Name" else ("S", "O")
    assert group["Topics"] == (
        {named: names[0], "PartitionIndexes": (0, 1)},
        {named: names[1], "PartitionIndexes": (0,)},
    )
