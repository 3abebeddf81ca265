"""Who is in a share group, and whose state has to be made before it can be assigned."""

from __future__ import annotations

import pytest

from kipviz.brokers.context import NOBODY
from kipviz.brokers.groups import group_coordinator as gc
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.membership import share_membership
from kipviz.brokers.membership.share_group import ShareGroup
from kipviz.brokers.share_coordinators import share_coordinator as sc
from kipviz.brokers.share_coordinators.share_state import ShareCoordinator
from kipviz.brokers.timers import MemberSession
from kipviz.core.table import Table
from kipviz.driving.desk import TOPIC_IDS, Desk
from kipviz.messages.errors import Errors
from kipviz.messages.events import AssignmentMoved
from kipviz.messages.shares.share_membership import ShareGroupHeartbeat
from kipviz.messages.shares.share_state import (
    InitializeShareGroupState,
    InitializeShareGroupStateResponse,
    InitializeStateData,
    InitializeStateResult,
    WriteShareGroupState,
    WriteStateData,
)
from kipviz.records.placement import partition_for
from kipviz.records.share_group_members import ShareGroupRecord, ShareGroupStatePartitionsRecord
from kipviz.records.share_group_state import RecordState, ShareSnapshotRecord, StateBatch

HERE = f"__consumer_offsets-{partition_for('g1', 50)}"
KEYS = [f"g1:{TOPIC_IDS['src']}:{index}" for index in range(2)]
STATES = {f"__share_group_state-{partition_for(key, 50)}": 7 for key in KEYS}


class Group(Desk):
    """A group coordinator whose share coordinators answer when they are told to."""

    def __init__(self, partitions=2):
        sources = {f"src-{index}": 5 for index in range(partitions)}
        super().__init__(gc, GroupCoordinator(HERE), leaders={HERE: 1, **STATES, **sources})

    def beats(self, member, epoch, names=None):
        request = ShareGroupHeartbeat("g1", member, epoch, names)
        return self.ask(share_membership.on_share_group_heartbeat, request)

    def joins(self, member):
        return self.beats(member, 0, ("src",))

    def answer_initializations(self, *, error=Errors.NONE):
        """Let the share coordinators answer everything that is asked of them."""
        for request in self.requests:
            answer = InitializeShareGroupStateResponse(
                (InitializeStateResult(error, request.message.key),)
            )
            self.do(gc.on_initialized(self.role, answer, self.on))
        self.requests = []

    @property
    def group(self):
        return self.role.share_groups["g1"]

    def has(self, member):
        return self.group.members[member].partitions


def running(members, partitions=2):
    """A group whose members have joined and have been given their partitions."""
    group = Group(partitions)
    for member in members:
        group.joins(member)
    group.answer_initializations()
    for member in members:
        group.beats(member, group.group.members[member].epoch)
    for member in members:
        group.beats(member, group.group.members[member].epoch)
    return group


def test_a_partition_is_assigned_once_its_state_is_there():
    group = Group()
    answer = group.joins("M1")
    assert (answer.error, answer.member_epoch, answer.assignment.partitions) == (Errors.NONE, 2, ())
    asked = group.sent(InitializeShareGroupState)
    assert [(m.key, m.only.state_epoch, m.only.start_offset) for m in asked] == [
        (k, 2, -1) for k in KEYS
    ]
    assert group.beats("M1", 2).assignment is None
    assert len(group.sent(InitializeShareGroupState)) == 2  # not asked twice
    group.answer_initializations()
    answer = group.beats("M1", 2)
    assert (answer.member_epoch, answer.assignment.partitions) == (3, ("src-0", "src-1"))
    assert group.beats("M1", 3).assignment is None


def test_a_state_that_could_not_be_made_is_asked_for_with_the_next_heartbeat():
    group = Group(1)
    group.joins("M1")
    group.answer_initializations(error=Errors.COORDINATOR_NOT_AVAILABLE)
    assert group.group.initializing == ()
    group.beats("M1", 2)
    assert len(group.requests) == 1
    group.do(gc.on_initialize_lost(group.role, KEYS[0], group.on))
    group.requests = []
    group.beats("M1", 2)
    assert len(group.requests) == 1


def test_a_state_that_no_share_coordinator_leads_is_asked_for_when_one_does():
    group = Group()
    home = f"__share_group_state-{partition_for(KEYS[1], 50)}"
    group.leaders[home] = NOBODY
    group.joins("M1")
    assert [r.message.key for r in group.requests] == [KEYS[0]]
    assert group.group.initializing == ("src-0",)
    group.answer_initializations()
    group.leaders[home] = 7
    group.beats("M1", 2)
    assert [r.message.key for r in group.requests] == [KEYS[1]]


def test_a_state_that_nobody_waits_for_any_more_is_not_noted():
    group = running(["M1"])
    before, written = group.role, group.written(HERE)
    answer = InitializeShareGroupStateResponse((InitializeStateResult(Errors.NONE, KEYS[0]),))
    group.do(gc.on_initialized(group.role, answer, group.on))
    assert (group.role, group.written(HERE)) == (before, written)


@pytest.mark.parametrize(
    ("members", "partitions", "expected"),
    [
        (("M1",), 2, [("src-0", "src-1")]),
        (("M1", "M2"), 2, [("src-0",), ("src-1",)]),
        (("M1", "M2", "M3"), 2, [("src-0",), ("src-1",), ("src-0",)]),
    ],
)
def test_partitions_are_spread_and_with_more_members_several_share_one(
    members, partitions, expected
):
    group = running(members, partitions)
    assert [group.has(member) for member in members] == expected
    assert {group.group.members[m].epoch for m in members} == {group.group.epoch}


@pytest.mark.parametrize(
    ("member", "epoch", "error"),
    [
        ("M1", 0, Errors.INVALID_REQUEST),
        ("M1", -2, Errors.INVALID_REQUEST),
        ("", 2, Errors.INVALID_REQUEST),
        ("M9", 2, Errors.UNKNOWN_MEMBER_ID),
        ("M1", 9, Errors.FENCED_MEMBER_EPOCH),
        ("M1", 1, Errors.FENCED_MEMBER_EPOCH),
        ("M9", -1, Errors.UNKNOWN_MEMBER_ID),
    ],
)
def test_a_heartbeat_that_does_not_fit_is_refused(member, epoch, error):
    group = running(("M1",))
    before = group.role
    assert group.beats(member, epoch).error is error
    assert group.role is before


def test_a_group_that_nobody_joined_is_not_found():
    assert Group().beats("M1", 3).error is Errors.GROUP_ID_NOT_FOUND


def test_the_epoch_before_is_good_because_an_answer_may_have_been_lost():
    group = Group()
    group.joins("M1")
    group.answer_initializations()
    assert group.beats("M1", 2).member_epoch == 3
    assert group.beats("M1", 2).member_epoch == 3


def test_who_leaves_frees_its_partitions_for_the_others():
    group = running(("M1", "M2"))
    epoch = group.group.epoch
    assert group.beats("M1", -1).member_epoch == -1
    assert group.group.members.keys() == ("M2",)
    answer = group.beats("M2", epoch)
    assert (answer.member_epoch, answer.assignment.partitions) == (epoch + 1, ("src-0", "src-1"))


def test_a_group_of_nobody_has_the_target_of_its_own_epoch_and_no_one_waits_for_the_next():
    """Recorded of Kafka 4.4.0; before, a member that came within a second got an old target."""
    group = running(("M1",))
    group.settings = group.settings.but(targets_wait=True)
    group.beats("M1", -1)
    assert group.group.target_epoch == group.group.epoch
    assert group.joins("M2").assignment.partitions == ("src-0", "src-1")
    waiting = group.joins("M3")
    assert (waiting.member_epoch, waiting.assignment.partitions) == (group.group.target_epoch, ())


def test_a_heartbeat_that_says_its_topics_is_told_its_partitions_again():
    group = running(("M1",))
    epoch = group.group.epoch
    assert group.beats("M1", epoch).assignment is None
    assert group.beats("M1", epoch, ("src",)).assignment.partitions == ("src-0", "src-1")


def test_a_member_that_is_not_heard_of_is_taken_out_and_joins_again_under_its_own_id():
    group = running(("M1", "M2"))
    assert gc.timers(group.role, group.on) == (
        MemberSession("M1", "g1"),
        MemberSession("M2", "g1"),
    )
    group.do(gc.on_timer(group.role, MemberSession("M1", "g1"), group.on))
    assert group.beats("M1", 3).error is Errors.UNKNOWN_MEMBER_ID
    assert group.joins("M1").error is Errors.NONE


def test_a_coordinator_that_reads_its_log_again_knows_all_of_it():
    group = running(("M1", "M2"))
    group.beats("M2", -1)
    fresh = gc.on_loaded(GroupCoordinator(HERE, loading=True), group.on).state
    assert fresh.share_groups == group.role.share_groups
    kinds = {type(r) for r in group.written(HERE) if isinstance(r, ShareGroupRecord)}
    assert len(kinds) == 7


# -- the share coordinator's side ---------------------------------------------------------------


def shard():
    here = next(iter(STATES))
    return Desk(sc, ShareCoordinator(here), leaders={here: 1}), here


def asks(desk, epoch, start=-1):
    return desk.ask(
        sc.on_initialize, InitializeShareGroupState((InitializeStateData(KEYS[0], epoch, start),))
    ).only.error


@pytest.mark.parametrize(("anew", "snapshots"), [(True, [0, 1]), (False, [0])])
def test_the_same_request_once_more_makes_the_state_anew_in_4_4_0_and_later_code_leaves_it(
    anew, snapshots
):
    desk, here = shard()
    desk.rules = desk.rules.but(initialize_again=lambda: anew)
    assert asks(desk, 2) is Errors.NONE
    assert asks(desk, 2) is Errors.NONE
    assert desk.written(here) == [ShareSnapshotRecord(KEYS[0], n, 2, 0, -1) for n in snapshots]


@pytest.mark.parametrize("anew", [True, False])
def test_neither_leaves_it_once_the_start_offset_has_moved(anew):
    """Who acknowledged something between the two requests is forgotten."""
    desk, _ = shard()
    desk.rules = desk.rules.but(initialize_again=lambda: anew)
    asks(desk, 2)
    batch = StateBatch(0, 3, RecordState.ACKNOWLEDGED, 1)
    desk.ask(sc.on_write, WriteShareGroupState((WriteStateData(KEYS[0], 2, 0, 4, 0, (batch,)),)))
    assert desk.role.states[KEYS[0]].start_offset == 4
    assert asks(desk, 2) is Errors.NONE
    assert desk.role.states[KEYS[0]].start_offset == -1


def test_a_state_is_made_anew_at_a_higher_epoch():
    desk, _ = shard()
    asks(desk, 2)
    batch = StateBatch(0, 3, RecordState.ACKNOWLEDGED, 1)
    desk.ask(sc.on_write, WriteShareGroupState((WriteStateData(KEYS[0], 2, 0, 0, 0, (batch,)),)))
    assert asks(desk, 5, 7) is Errors.NONE
    state = desk.role.states[KEYS[0]]
    assert (state.state_epoch, state.start_offset, state.batches) == (5, 7, ())
    assert asks(desk, 4) is Errors.FENCED_STATE_EPOCH


def test_a_coordinator_that_loads_makes_no_state():
    desk, here = shard()
    desk.role = ShareCoordinator(here, loading=True)
    assert asks(desk, 2) is Errors.COORDINATOR_LOAD_IN_PROGRESS


def test_a_full_group_takes_nobody_in_and_keeps_whom_it_has():
    group = Group()
    group.settings = group.settings.but(share_group_max_size=1)
    assert group.joins("M1").error is Errors.NONE
    before = group.role
    assert group.joins("M2").error is Errors.GROUP_MAX_SIZE_REACHED
    assert group.role is before
    assert group.joins("M1").error is Errors.NONE
    group.beats("M1", -1)
    assert group.joins("M2").error is Errors.NONE


def written_by(group, act):
    """Give the kinds of the records that something writes."""
    before = len(group.written(HERE))
    act()
    return [type(r).__name__ for r in group.written(HERE)[before:]]


def test_a_heartbeat_of_a_share_member_that_changes_nothing_writes_nothing():
    group = running(["M1"])
    epoch = group.group.members["M1"].epoch
    reported = len(group.events)
    assert written_by(group, lambda: group.beats("M1", epoch)) == []
    assert len(group.events) == reported
    assert written_by(group, lambda: group.beats("M1", epoch, ("src",))) == []


def test_another_subscription_of_a_share_member_is_a_new_epoch_of_the_group():
    """GroupMetadataManager.hasShareGroupMemberSubscriptionChanged."""
    group = running(["M1"])
    before = group.group.epoch
    group.beats("M1", group.group.members["M1"].epoch, ("src", "other"))
    member = group.group.members["M1"]
    assert (group.group.epoch, member.subscribed_topic_names) == (before + 1, ("other", "src"))


def test_a_share_member_that_subscribes_to_nothing_any_more_stays_and_loses_its_partitions():
    """Null leaves the topics as they are; an empty list is refused only of a member that joins."""
    group = running(["M1"])
    epoch = group.group.members["M1"].epoch
    assert group.beats("M1", epoch, ()).assignment.partitions == ()
    assert group.group.members["M1"].subscribed_topic_names == ()
    assert Group().beats("M1", 0, ()).error is Errors.INVALID_REQUEST


def test_only_the_share_members_whose_target_changes_have_a_record_of_it():
    group = running(["M1", "M2"])
    kinds = written_by(group, lambda: group.joins("M3"))
    assert kinds.count("ShareGroupTargetRecord") == 1


@pytest.mark.parametrize(("group_id", "member"), [("", "M1"), ("g1", "")])
def test_a_share_heartbeat_names_a_group_and_a_member(group_id, member):
    """GroupCoordinatorService.throwIfShareGroupHeartbeatRequestIsInvalid."""
    group = Group()
    request = ShareGroupHeartbeat(group_id, member, 0, ("src",))
    answer = group.ask(share_membership.on_share_group_heartbeat, request)
    assert answer.error is Errors.INVALID_REQUEST


def test_a_share_heartbeat_shows_whom_it_found_and_what_is_initialized():
    group = running(["M1"])
    for name, found in (("M9", None), ("M1", "M1")):
        group.beats(name, group.group.members["M1"].epoch)
        assert [(c.asked, c.found) for c in group.checks if c.name == "member id"] == [
            (name, found)
        ]
    shown = {c.name: c.found for c in group.checks}
    assert shown["partitions initialized"] == ("src-0", "src-1")
    assert shown["group epoch"] == group.group.epoch


def test_what_a_share_member_had_is_reported_when_it_leaves():
    group = running(["M1"])
    had = group.has("M1")
    group.beats("M1", -1)
    left = [e for e in group.events if isinstance(e, AssignmentMoved)][-1]
    assert (left.before, left.after, left.because) == (had, (), "it left")


def test_states_are_made_of_the_topics_that_a_member_subscribes_to_alone():
    """GroupMetadataManager.subscribedTopicsChangeMap; what is being deleted is made anew with its topic."""
    group = Group(1)
    group.leaders |= {f"__share_group_state-{i}": 7 for i in range(50)} | {"output-A-0": 5}
    known = ShareGroup(deleting=("old", "src"))
    group.role = group.role.but(share_groups=group.role.share_groups.set("g1", known))
    group.joins("M1")
    assert [m.key for m in group.sent(InitializeShareGroupState)] == [KEYS[0]]
    assert (group.group.initializing, group.group.deleting) == (("src-0",), ("old",))


def test_a_state_that_was_made_for_a_group_that_is_gone_is_not_noted():
    group = Group()
    before = group.role
    answer = InitializeShareGroupStateResponse((InitializeStateResult(Errors.NONE, KEYS[0]),))
    group.do(gc.on_initialized(group.role, answer, group.on))
    assert group.role == before


def test_with_a_topic_its_states_go_and_no_others():
    """GroupMetadataManager.maybeCleanupShareGroupState (KIP-932)."""
    known = ShareGroup(
        initializing=("out-0", "src-0"),
        initialized=("out-1", "src-1"),
        deleting=("old", "src"),
    )
    role = GroupCoordinator(HERE).but(share_groups=Table.of({"g1": known, "g2": ShareGroup()}))
    assert share_membership.without_topic(role, "src") == (
        ShareGroupStatePartitionsRecord("g1", ("out-0",), ("out-1",), ("old",)),
    )
    assert share_membership.without_topic(role, "elsewhere") == ()


def test_each_move_of_a_share_member_is_reported_with_its_reason():
    group = running(["M1"])
    moved = [
        (e.epoch_before, e.epoch, e.before, e.after, e.because)
        for e in group.events
        if isinstance(e, AssignmentMoved)
    ]
    assert moved == [
        (0, 2, (), (), "it joined"),
        (2, 3, (), ("src-0", "src-1"), "it received its target assignment"),
    ]


def test_a_partition_whose_state_is_to_be_made_moves_nobody_yet():
    group = running(["M1"])
    group.leaders |= {f"__share_group_state-{i}": 7 for i in range(50)} | {"src-2": 5}
    reported, epoch = len(group.events), group.group.members["M1"].epoch
    assert written_by(group, lambda: group.beats("M1", epoch)) == [
        "ShareGroupStatePartitionsRecord"
    ]
    assert not [e for e in group.events[reported:] if isinstance(e, AssignmentMoved)]
