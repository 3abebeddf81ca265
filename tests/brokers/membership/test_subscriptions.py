"""Subscriptions of several topics, by names and by expressions, and who gets what of them (KIP-848)."""

from __future__ import annotations

import pytest

from kipviz.brokers.groups import group_coordinator as gc
from kipviz.brokers.groups.group_administration import on_consumer_group_describe
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.membership import consumer_group
from kipviz.brokers.membership import group_membership as members
from kipviz.brokers.membership.consumer_group import ConsumerGroup, GroupMember
from kipviz.brokers.membership.subscriptions import is_regular
from kipviz.core.table import Table
from kipviz.driving.desk import Desk
from kipviz.messages.errors import Errors
from kipviz.messages.groups.group_admin import ConsumerGroupDescribe
from kipviz.messages.groups.membership import ConsumerGroupHeartbeat
from kipviz.records.consumer_offsets import RegexRecord, SubscriptionRecord

HERE = "__consumer_offsets-0"
E = Errors
LEADERS = {HERE: 1, "src-0": 5, "src-1": 5, "old-0": 5, "osrc-0": 5}


@pytest.fixture
def desk():
    return Desk(gc, GroupCoordinator(HERE), leaders=LEADERS)


def joins(desk, name, *topics, regex=None, epoch=0, owned=()):
    request = ConsumerGroupHeartbeat("g", name, epoch, topics or None, owned, regex=regex)
    return desk.ask(members.on_consumer_group_heartbeat, request)


def targets(desk):
    return {name: m.target for name, m in desk.role.groups["g"].members.items()}


def test_a_member_gets_the_partitions_of_all_its_topics(desk):
    assert joins(desk, "C1", "src", "old").assignment.partitions == ("old-0", "src-0", "src-1")
    record = next(r for r in desk.written(HERE) if isinstance(r, SubscriptionRecord))
    assert (record.subscribed_topic_names, record.regex) == (("old", "src"), "")


def test_another_subscription_brings_the_group_to_its_next_epoch_and_the_same_one_does_not(desk):
    epoch = joins(desk, "C1", "src", "old").member_epoch
    both = ("old-0", "src-0", "src-1")
    assert joins(desk, "C1", "src", "old", epoch=epoch, owned=both).member_epoch == epoch
    assert joins(desk, "C1", epoch=epoch, owned=both).member_epoch == epoch
    left = joins(desk, "C1", "src", epoch=epoch, owned=both)
    assert left.assignment.partitions == ("src-0", "src-1")
    assert desk.role.groups["g"].epoch == epoch + 1


def test_the_order_of_topics_makes_no_difference_and_an_empty_list_ends_the_subscription(desk):
    """ConsumerGroupMember.subscribedTopicNames is a set; null leaves it as it is, an empty list does not."""
    epoch = joins(desk, "C1", "src", "old").member_epoch
    joins(desk, "C1", "old", "src", "old", epoch=epoch)
    assert desk.role.groups["g"].epoch == epoch
    nothing = ConsumerGroupHeartbeat("g", "C1", epoch, (), None)
    assert desk.ask(members.on_consumer_group_heartbeat, nothing).error is E.NONE
    assert (desk.role.groups["g"].epoch, targets(desk)) == (epoch + 1, {"C1": ()})


def test_an_expression_alone_leaves_the_names_as_they_are(desk):
    """ConsumerGroupMember.Builder.maybeUpdateSubscribedTopicNames."""
    epoch = joins(desk, "C1", "old").member_epoch
    joins(desk, "C1", regex="src", epoch=epoch)
    assert targets(desk) == {"C1": ("old-0", "src-0", "src-1")}


def test_an_expression_stands_for_the_topics_whose_whole_name_it_matches(desk):
    assert joins(desk, "C1", regex="o?src").assignment.partitions == ("osrc-0", "src-0", "src-1")
    assert RegexRecord("g", "o?src", ("osrc", "src")) in desk.written(HERE)
    assert joins(desk, "C2", regex="o?src").error is E.NONE
    assert sum(isinstance(r, RegexRecord) for r in desk.written(HERE)) == 1


def test_when_topics_come_or_go_the_next_heartbeat_finds_what_an_expression_stands_for_now(desk):
    epoch = joins(desk, "C1", regex="o?src").member_epoch
    del desk.leaders["osrc-0"]
    assert joins(desk, "C1", epoch=epoch).member_epoch == epoch + 1
    group = desk.role.groups["g"]
    assert (group.epoch, dict(group.regexes.items())) == (epoch + 1, {"o?src": ("src",)})
    assert group.members["C1"].target == ("src-0", "src-1")


def test_a_new_topic_that_an_expression_matches_is_a_new_epoch_of_the_group(desk):
    """GroupMetadataManager.maybeUpdateRegularExpressions: the topics that it stands for are compared."""
    del desk.leaders["osrc-0"]
    epoch = joins(desk, "C1", regex="o?src").member_epoch
    desk.leaders["osrc-0"] = 5
    assert joins(desk, "C1", epoch=epoch).member_epoch == epoch + 1
    assert desk.role.groups["g"].members["C1"].target == ("osrc-0", "src-0", "src-1")


def test_an_expression_that_stands_for_the_same_topics_is_not_written_again(desk):
    epoch = joins(desk, "C1", regex="o?src").member_epoch
    written = len(desk.written(HERE))
    joins(desk, "C1", epoch=epoch)
    assert len(desk.written(HERE)) == written


def test_a_subscription_without_a_rack_keeps_the_one_that_the_member_named(desk):
    """ConsumerGroupMember.Builder.maybeUpdateRackId."""
    request = ConsumerGroupHeartbeat("g", "C1", 0, ("src",), (), rack="here")
    epoch = desk.ask(members.on_consumer_group_heartbeat, request).member_epoch
    joins(desk, "C1", "old", epoch=epoch)
    known = desk.role.groups["g"].members["C1"]
    assert (known.subscribed_topic_names, known.rack) == (("old",), "here")
    joins(desk, "C2", "src")
    assert desk.role.groups["g"].members["C2"].rack == ""


def test_names_and_an_expression_are_added_up_and_an_empty_expression_takes_it_back(desk):
    epoch = joins(desk, "C1", "old", regex="src").member_epoch
    assert targets(desk) == {"C1": ("old-0", "src-0", "src-1")}
    joins(desk, "C1", "old", epoch=epoch)
    assert targets(desk) == {"C1": ("old-0", "src-0", "src-1")}, "nothing was said of it"
    joins(desk, "C1", "old", regex="", epoch=epoch)
    assert targets(desk) == {"C1": ("old-0",)}


@pytest.mark.parametrize("regex", ["src(", "[", "(?=a)b", r"(a)\1"])
def test_what_is_no_regular_expression_for_a_broker_is_refused(desk, regex):
    assert not is_regular(regex)
    assert joins(desk, "C1", regex=regex).error is E.INVALID_REGULAR_EXPRESSION
    assert desk.written(HERE) == []


def test_members_who_want_different_topics_get_as_much_as_that_allows(desk):
    joins(desk, "C1", "old", "src")
    joins(desk, "C2", "src")
    assert targets(desk) == {"C1": ("old-0", "src-1"), "C2": ("src-0",)}


def test_a_new_coordinator_knows_subscriptions_and_what_expressions_stand_for(desk):
    joins(desk, "C1", "old", regex="src")
    before = desk.role.groups
    desk.role = gc.on_loaded(GroupCoordinator(HERE, loading=True), desk.on).state
    assert desk.role.groups == before


def test_a_description_says_what_is_subscribed_to(desk):
    joins(desk, "C1", "old", "osrc", regex="src")
    (group,) = desk.ask(on_consumer_group_describe, ConsumerGroupDescribe(("g",))).groups
    (told,) = group.members
    assert (told.subscribed_topic_names, told.regex) == (("old", "osrc"), "src")


def test_a_group_subscribes_to_what_any_of_its_members_does():
    group = ConsumerGroup(
        members=Table.of({"C1": GroupMember(("a", "b")), "C2": GroupMember((), regex="c.")}),
        regexes=Table.of({"c.": ("c1", "c2")}),
    )
    assert consumer_group.subscribed_topics(group) == ("a", "b", "c1", "c2")


def test_a_rack_is_kept_with_the_subscription_and_another_one_is_no_new_epoch(desk):
    """A static member that joins again is the only one that can be somewhere else."""

    def beat(name, epoch, rack="", *topics):
        given = {"subscribed_topic_names": topics, "owned": ()} if topics else {}
        request = ConsumerGroupHeartbeat("g", name, epoch, instance_id="i", rack=rack, **given)
        assert desk.ask(members.on_consumer_group_heartbeat, request).error is E.NONE
        (group,) = desk.ask(on_consumer_group_describe, ConsumerGroupDescribe(("g",))).groups
        (told,) = group.members
        return told.rack, desk.role.groups["g"].epoch

    assert beat("C1", 0, "east", "src") == ("east", 2)
    assert beat("C1", 2) == ("east", 2)
    assert beat("C1", -2) == ("east", 2)
    assert beat("C2", 0, "west", "src") == ("west", 2)
    assert beat("C2", -2) == ("west", 2)
    assert beat("C3", 0, "west", "src", "old")[0] == "west"
