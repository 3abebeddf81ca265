"""What the share side compares before it responds, in Kafka's order, with the error that follows from each."""

from __future__ import annotations

import pytest

from kipviz.brokers.checks import Check, error_of, possible_errors
from kipviz.brokers.groups import share_administration
from kipviz.brokers.share_coordinators import share_state_checks
from kipviz.brokers.share_coordinators.share_state import TransactionalAcknowledgement
from kipviz.brokers.share_leaders import acknowledgement_checks
from kipviz.brokers.share_leaders.in_flight import InFlight
from kipviz.core.table import Table
from kipviz.messages.errors import Errors
from kipviz.messages.shares.share_admin import AlterShareGroupOffsets, DeleteShareGroupOffsets
from kipviz.messages.shares.share_groups import AcknowledgementBatch
from kipviz.messages.shares.share_state import (
    DeleteStateData,
    ReadStateSummaryData,
    WriteStateData,
)
from tests.brokers.membership.test_share_membership import Group, running
from tests.brokers.share_coordinators.test_share_coordinator import KEY, initialised_desk
from tests.brokers.share_groups.test_share_administration import alters, empty_group
from tests.brokers.share_leaders.share_place import (
    ACCEPT,
    ACK,
    ACQ,
    AVL,
    REJECT,
    RELEASE,
    TXP,
    SharePlace,
)

E = Errors


def batch_of(first, last, kind=ACCEPT):
    return AcknowledgementBatch(first, last, kind)


def list_checks(checks):
    return [(check.name, check.asked, check.found, check.error) for check in checks]


def find_failure(checks):
    """The check that decided: the last one, and the only one that has failed."""
    assert [check.error for check in checks[:-1]] == [E.NONE] * (len(checks) - 1)
    return list_checks(checks)[-1]


@pytest.mark.parametrize(
    ("change", "decided"),
    [
        ({"loading": True}, ("loading", None, True, E.COORDINATOR_LOAD_IN_PROGRESS)),
        (
            {"key": "g1:AAAAAAAAAAAAAAAAAAAAAg:7"},
            ("state initialized", None, False, E.INVALID_REQUEST),
        ),
        ({"leader_epoch": -1}, ("leader epoch", -1, 0, E.FENCED_LEADER_EPOCH)),
        ({}, ("state epoch", 1, 2, E.FENCED_STATE_EPOCH)),
    ],
)
def test_a_write_is_compared_in_the_order_of_the_shard_and_stops_with_the_first_that_fails(
    change, decided
):
    desk = initialised_desk()
    desk.role = desk.role.but(loading=change.pop("loading", False))
    request = WriteStateData(KEY, 1, 0, 0, 0, ()).but(**change)
    assert find_failure(share_state_checks.write_checks(desk.role, request, desk.on)) == decided


def test_a_write_that_is_taken_keeps_every_error_that_it_could_have_got():
    desk = initialised_desk()
    request = WriteStateData(KEY, 2, 0, 0, 0, ())
    checks = share_state_checks.write_checks(desk.role, request, desk.on)
    assert error_of(checks) is E.NONE
    assert possible_errors(checks) == (
        E.COORDINATOR_LOAD_IN_PROGRESS,
        E.INVALID_REQUEST,
        E.FENCED_LEADER_EPOCH,
        E.FENCED_STATE_EPOCH,
        E.UNKNOWN_TOPIC_OR_PARTITION,
    )


def test_records_that_are_alike_are_one_row_and_the_first_that_is_not_held_decides():
    place = SharePlace().load()
    place.fetch("M1", 3)
    place.acknowledge("M1", batch_of(2, 2, RELEASE))
    place.coordinator()
    place.acknowledge("M1", batch_of(0, 2))
    records = [check for check in place.checks if check.name in ("records", "record state")]
    assert list_checks(records) == [
        ("records", None, "0-1", E.NONE),
        ("record state", ACQ, ACQ, E.NONE),
        ("records", None, "2", E.NONE),
        ("record state", ACQ, AVL, E.INVALID_RECORD_STATE),
    ]


def test_who_asks_and_who_holds_the_record_stand_in_the_check_that_refuses():
    place = SharePlace().load()
    place.fetch("M1", 1)
    place.fetch("M2", 1)
    place.acknowledge("M2", batch_of(0, 0))
    assert find_failure(place.checks) == ("held by", "M2", "M1", E.INVALID_RECORD_STATE)


def test_a_second_acknowledgement_is_refused_for_the_state_that_the_first_one_made():
    place = SharePlace().load()
    place.fetch("M1", 1)
    place.acknowledge("M1", batch_of(0, 0))
    place.acknowledge("M1", batch_of(0, 0))
    assert find_failure(place.checks) == ("record state", ACQ, ACK, E.INVALID_RECORD_STATE)


@pytest.mark.parametrize(
    ("epoch", "decided"),
    [
        (9, ("session epoch", 9, 2, E.INVALID_SHARE_SESSION_EPOCH)),
        (0, ("session epoch", 0, None, E.INVALID_SHARE_SESSION_EPOCH)),
    ],
)
def test_an_epoch_that_the_session_does_not_expect_is_compared_with_the_one_it_has(epoch, decided):
    place = SharePlace().load()
    place.fetch("M1", 1)
    place.acknowledge("M1", batch_of(0, 0), epoch=epoch)
    assert find_failure(place.checks) == decided


def test_a_member_without_a_session_is_told_so_before_its_acknowledgements_are_read():
    place = SharePlace().load()
    place.acknowledge("M7", batch_of(5, 4), epoch=3)
    assert find_failure(place.checks) == ("share session", "M7", None, E.SHARE_SESSION_NOT_FOUND)


def test_what_the_share_coordinator_refuses_becomes_another_error_in_a_check_of_its_own():
    place = SharePlace().load()
    place.fetch("M1", 1)
    place.acknowledge("M1", batch_of(0, 0))
    place.refuses(E.FENCED_STATE_EPOCH)
    told = [check for check in place.checks if check.error is not E.NONE]
    assert list_checks(told) == [
        ("answer of the coordinator", "acknowledge", E.FENCED_STATE_EPOCH, E.FENCED_STATE_EPOCH),
        ("error to a client", None, E.FENCED_STATE_EPOCH, E.NOT_LEADER_OR_FOLLOWER),
    ]


def test_an_answer_after_which_the_write_is_repeated_refuses_nothing_and_counts_the_attempt():
    place = SharePlace().load()
    place.fetch("M1", 1)
    place.acknowledge("M1", batch_of(0, 0))
    place.refuses(E.NOT_COORDINATOR)
    assert ("attempts", 5, 1, E.NONE) in list_checks(place.checks)
    assert all(check.error is E.NONE for check in place.checks)


def test_a_fetch_says_from_where_to_where_it_reads_and_how_many_records_it_gets():
    place = SharePlace(first=0, last=4).load()
    place.fetch("M1", 2)
    assert list_checks(place.checks)[-3:] == [
        ("below the high watermark", 0, 5, E.NONE),
        ("room for records", 2, 2, E.NONE),
        ("records to deliver", None, 2, E.NONE),
    ]


@pytest.mark.parametrize(
    ("rules", "error"), [("finding-K", E.INVALID_RECORD_STATE), ("repaired", E.NONE)]
)
def test_an_equal_second_staging_is_answered_by_the_design_in_a_check_of_its_own(rules, error):
    place = SharePlace(rules=rules).load()
    place.fetch("M1", 1)
    place.stage("M1", batch_of(0, 0))
    assert ("in flight", None, True, E.NONE) in list_checks(place.checks)
    place.coordinator()
    assert place.share.records[0].state is TXP
    place.stage("M1", batch_of(0, 0))
    assert ("equal staging before", None, True, error) in list_checks(place.checks)


def test_a_type_that_cannot_be_staged_is_compared_with_those_that_can():
    place = SharePlace().load()
    place.fetch("M1", 1)
    place.stage("M1", batch_of(0, 0, RELEASE))
    decided = ("acknowledge type", RELEASE, ("ACCEPT", "REJECT"), E.INVALID_RECORD_STATE)
    assert find_failure(place.checks) == decided
    assert REJECT.name in decided[2]


@pytest.mark.parametrize(
    ("member", "epoch", "decided"),
    [
        ("M1", 9, ("member epoch", 9, 2, E.FENCED_MEMBER_EPOCH)),
        ("M7", 2, ("member id", "M7", None, E.UNKNOWN_MEMBER_ID)),
        ("M7", -2, ("valid ids and epoch", None, False, E.INVALID_REQUEST)),
        ("M7", 0, ("subscription", None, None, E.INVALID_REQUEST)),
    ],
)
def test_a_heartbeat_is_compared_with_what_the_group_knows(member, epoch, decided):
    group = running(("M1",))
    group.beats(member, epoch)
    name, asked, found, error = find_failure(group.checks)
    assert (name, asked, error) == (decided[0], decided[1], decided[3])
    expected = group.group.members["M1"].epoch if name == "member epoch" else decided[2]
    assert found == expected


def test_a_group_that_nobody_knows_is_refused_by_its_kind():
    group = Group()
    group.beats("M1", 3)
    assert find_failure(group.checks) == ("kind of group", "g1", "", E.GROUP_ID_NOT_FOUND)


def test_an_operator_is_told_which_member_is_in_the_way():
    group = running(("M1",))
    for handler, request in (
        (share_administration.on_alter_share_group_offsets, AlterShareGroupOffsets("g1", ())),
        (
            share_administration.on_delete_share_group_offsets,
            DeleteShareGroupOffsets("g1", ("src",)),
        ),
    ):
        group.ask(handler, request)
        decided = ("members of the group", None, ("M1",), E.NON_EMPTY_GROUP)
        assert find_failure(group.checks) == decided


def test_a_partition_that_is_not_there_is_refused_beside_one_that_is():
    group = alters(empty_group(), ("src-0", 5), ("src-9", 5))
    there = [check for check in group.checks if check.name == "partition there"]
    unknown = (E.UNKNOWN_TOPIC_OR_PARTITION,)
    assert there == [
        Check("partition there", "src-0", True, otherwise=unknown),
        Check("partition there", "src-9", False, *unknown, unknown),
    ]


def test_a_transactional_acknowledgement_of_the_first_producer_id_of_all_is_among_what_a_leader_knows():
    staged = InFlight(TXP, 1, staged_producer_id=0, staged_producer_epoch=3)
    told = list_checks(acknowledgement_checks.states(Table.of({4: staged}), (4,)))
    assert ("staged by producer id and epoch", None, (0, 3), E.NONE) in told
    free = acknowledgement_checks.states(Table.of({4: InFlight(AVL, 1)}), (4,))
    assert "staged by producer id and epoch" not in [check.name for check in free]


def test_a_deletion_and_a_summary_are_shown_the_state_that_there_is():
    desk = initialised_desk(start=7)
    for key, epoch, start in ((KEY, 2, 7), ("g1:AAAAAAAAAAAAAAAAAAAAAg:7", None, None)):
        deleted = share_state_checks.delete_checks(desk.role, DeleteStateData(key), desk.on)
        assert list_checks(deleted)[-1] == ("state epoch", None, epoch, E.NONE)
        asked = ReadStateSummaryData(key)
        summary = share_state_checks.summary_checks(desk.role, asked, desk.on)
        assert list_checks(summary)[-1] == ("start offset", None, start, E.NONE)


@pytest.mark.parametrize(
    ("rules", "otherwise"), [("repaired", (E.CONCURRENT_TRANSACTIONS,)), ("finding-X13", ())]
)
def test_transactional_acknowledgements_that_a_deletion_meets_are_those_of_its_own_share_partition(
    rules, otherwise
):
    desk = initialised_desk(rules=rules)
    acknowledgements = Table.of(
        {
            9: (TransactionalAcknowledgement(KEY, 0, ()),),
            10: (TransactionalAcknowledgement("g1:another:0", 0, ()),),
        }
    )
    desk.role = desk.role.but(acknowledgements=acknowledgements)
    check = share_state_checks.pending_acknowledgements(desk.role, KEY, desk.on)
    assert (check.found, check.otherwise) == ((9,), otherwise)
    assert check.error is (otherwise[0] if otherwise else E.NONE)
    other = share_state_checks.pending_acknowledgements(desk.role, "g1:nobody:0", desk.on)
    assert (other.found, other.error) == ((), E.NONE)
