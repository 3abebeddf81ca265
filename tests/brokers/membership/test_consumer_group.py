"""A group of the consumer protocol as values: who is assigned what, who may have it, who may commit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kipviz.brokers.checks import error_of
from kipviz.brokers.membership.consumer_group import (
    ConsumerGroup,
    GroupMember,
    commit_checks,
    heartbeat_check,
    reconcile,
    replay_record,
    uniform,
)
from kipviz.core.table import Table
from kipviz.messages.errors import Errors
from kipviz.records.consumer_offsets import (
    STABLE,
    UNRELEASED,
    UNREVOKED,
    GroupEpochRecord,
    MemberTombstone,
    TargetEpochRecord,
    TargetRecord,
)

BOTH = ("src-0", "src-1")


def group(epoch: int = 3, **members: GroupMember) -> ConsumerGroup:
    return ConsumerGroup(epoch, epoch, Table.of(members))


def member(epoch: int = 2, *assigned: str, **more: object) -> GroupMember:
    return GroupMember(("src",), epoch=epoch, assigned=tuple((p, epoch) for p in assigned)).but(
        **more
    )


# -- the target -----------------------------------------------------------------------------------


@given(
    st.integers(1, 6),
    st.integers(0, 9),
    st.lists(st.integers(0, 5), max_size=9),
)
def test_partitions_are_shared_out_evenly_and_as_few_as_possible_move(members, count, owners):
    partitions = tuple(f"src-{i}" for i in range(count))
    before = {f"C{m}": () for m in range(members)}
    for partition, owner in zip(partitions, owners, strict=False):
        if owner < members:
            before[f"C{owner}"] += (partition,)
    known = group(**{name: GroupMember(("src",), target=mine) for name, mine in before.items()})
    target = uniform(known, partitions)
    sizes = sorted(len(mine) for mine in target.values())
    assert sorted(p for mine in target.values() for p in mine) == sorted(partitions)
    assert sizes[-1] - sizes[0] <= 1
    least, more = divmod(count, members)
    stay = sum(len(set(before[name]) & set(target[name])) for name in before)
    had = sorted((len(mine) for mine in before.values()), reverse=True)
    assert stay == sum(min(n, least + (i < more)) for i, n in enumerate(had))


def test_nobody_is_left_and_nobody_gets_anything():
    assert len(uniform(ConsumerGroup(), BOTH)) == 0


# -- the way to it ------------------------------------------------------------------------------------


def test_a_partition_is_given_only_when_the_other_one_has_let_go():
    known = group(
        C1=member(2, *BOTH, target=("src-0",)),
        C2=GroupMember(("src",), target=("src-1",)),
    )
    new = reconcile(known, "C2", ())
    assert (new.epoch, new.state, new.partitions) == (3, UNRELEASED, ())
    old = reconcile(known, "C1", None)
    assert (old.epoch, old.state, old.partitions) == (2, UNREVOKED, ("src-0",))
    known = known.but(members=known.members.set("C1", old))
    assert reconcile(known, "C1", BOTH) == old
    assert reconcile(known, "C2", None).partitions == ()
    old = reconcile(known, "C1", ("src-0",))
    assert (old.epoch, old.previous_epoch, old.state, old.revoking) == (3, 2, STABLE, ())
    known = known.but(members=known.members.set("C1", old))
    new = reconcile(known, "C2", None)
    assert (new.epoch, new.state, new.assigned) == (3, STABLE, (("src-1", 3),))


def test_a_member_at_its_target_does_not_move():
    known = group(C1=member(3, "src-0", target=("src-0",)))
    assert reconcile(known, "C1", None) is known.members["C1"]


def test_a_partition_keeps_the_epoch_at_which_the_member_got_it():
    known = group(5, C1=member(2, "src-0", target=BOTH))
    assert reconcile(known, "C1", None).assigned == (("src-0", 2), ("src-1", 5))


def test_who_lags_behind_by_several_epochs_gives_up_first_and_then_catches_up():
    known = group(9, C1=member(2, "src-0", target=("src-1",)))
    giving = reconcile(known, "C1", None)
    assert (giving.epoch, giving.state) == (2, UNREVOKED)
    known = known.but(members=known.members.set("C1", giving))
    assert reconcile(known, "C1", ()).epoch == 9


def test_a_partition_that_comes_back_to_who_gives_it_up_is_free_once_that_is_written():
    """CurrentAssignmentBuilder.computeNextAssignment: currentPartitionEpoch counts the member's own revocation."""
    giving = member(2, "src-0", target=BOTH).but(state=UNREVOKED, revoking=(("src-1", 2),))
    known = group(4, C1=giving)
    first = reconcile(known, "C1", ("src-0",))
    assert (first.state, first.epoch, first.partitions) == (UNRELEASED, 4, ("src-0",))
    known = known.but(members=known.members.set("C1", first))
    second = reconcile(known, "C1", ("src-0",))
    assert (second.state, second.partitions) == (STABLE, BOTH)


# -- fencing ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epoch", "owned", "error"),
    [
        (3, None, Errors.NONE),
        (4, None, Errors.FENCED_MEMBER_EPOCH),
        (2, None, Errors.FENCED_MEMBER_EPOCH),
        (2, ("src-0",), Errors.NONE),
        (2, BOTH, Errors.FENCED_MEMBER_EPOCH),
        (1, ("src-0",), Errors.FENCED_MEMBER_EPOCH),
        # It joins again, as often as it likes: `kipviz conform` at 4.3.1, seeds 6021 and 6057.
        (0, None, Errors.NONE),
        (0, BOTH, Errors.NONE),
    ],
)
def test_a_heartbeat_has_the_member_s_epoch_or_the_one_before_it(epoch, owned, error):
    """GMMT.testConsumerGroupMemberEpochValidation."""
    assert heartbeat_check(member(3, "src-0", previous_epoch=2), epoch, owned).error is error


def test_of_a_static_member_that_is_away_no_epoch_is_the_one_before():
    """GroupMetadataManager.throwIfConsumerGroupMemberEpochIsInvalid: every epoch is above -2."""
    away = member(3, "src-0", previous_epoch=2).but(epoch=-2)
    assert heartbeat_check(away, 2, ("src-0",)).error is Errors.FENCED_MEMBER_EPOCH


HELD = member(5).but(assigned=(("src-0", 3),), revoking=(("src-1", 4),))
STALE, UNKNOWN = Errors.STALE_MEMBER_EPOCH, Errors.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("name", "epoch", "partitions", "error"),
    [
        ("C1", 5, BOTH, Errors.NONE),
        ("C1", 5, ("src-9",), Errors.NONE),  # the present epoch is good for every partition
        ("C1", 6, ("src-0",), STALE),
        ("C1", 3, ("src-0",), Errors.NONE),
        ("C1", 3, BOTH, STALE),
        ("C1", 4, BOTH, Errors.NONE),
        ("C1", 4, ("src-9",), STALE),
        ("C9", 5, ("src-0",), UNKNOWN),
        ("", -1, ("src-0",), Errors.NONE),  # a producer that was told of no member
        ("C9", -1, ("src-0",), UNKNOWN),
        ("", -2, ("src-0",), UNKNOWN),  # that says nothing either, but is not what a client says
    ],
)
def test_who_may_commit(name, epoch, partitions, error):
    """Sheet 4.2; KIP-1251: an older epoch is good for what the member has had since then."""
    known = group(5, C1=HELD)
    assert error_of(commit_checks(known, name, epoch, partitions, transactional=True)) is error


def test_outside_transactions_nobody_commits_without_a_name_into_a_group_with_members():
    known = group(5, C1=HELD)
    assert error_of(commit_checks(known, "", -1, BOTH, transactional=False)) is UNKNOWN
    assert (
        error_of(commit_checks(ConsumerGroup(), "", -1, BOTH, transactional=False)) is Errors.NONE
    )


def test_a_group_without_members_has_no_member_of_any_epoch():
    said = commit_checks(ConsumerGroup(), "C1", 3, BOTH, transactional=False)
    assert error_of(said) is UNKNOWN


def test_a_commit_shows_which_member_was_found():
    for name, found in (("C1", "C1"), ("C9", None)):
        told = commit_checks(group(5, C1=HELD), name, 5, BOTH, transactional=True)
        assert [(c.asked, c.found) for c in told if c.name == "member id"] == [(name, found)]


def test_every_record_says_one_thing():
    known = group(C1=member(3, "src-0"))
    assert replay_record(known, GroupEpochRecord("g", 7)).epoch == 7
    assert replay_record(known, TargetEpochRecord("g", 7)).target_epoch == 7
    assert replay_record(known, TargetRecord("g", "C1", BOTH)).members["C1"].target == BOTH
    assert not replay_record(known, MemberTombstone("g", "C1", "subscription")).members
