"""Consumers that subscribe to several topics, to others, or by an expression."""

from __future__ import annotations

from typing import Any

import pytest

from kipviz.clients.groups import kafka_consumer
from kipviz.clients.groups.assignors import assign
from kipviz.clients.groups.consumer import GroupConsumer
from kipviz.clients.groups.consumer_coordinator import MemberState
from kipviz.clients.groups.subscribing import subscription_of
from kipviz.clients.timers import HeartbeatInterval
from kipviz.cluster.spec_checks.spec_check import check
from kipviz.cluster.specs.spec import BadSpec
from kipviz.cluster.start.first_world import first_world
from kipviz.messages.errors import Errors
from kipviz.messages.groups.classic_groups import Subscribed
from kipviz.messages.groups.membership import (
    Assignment,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatResponse,
)
from kipviz.records.classic_groups import COOPERATIVE_STICKY, RANGE, Subscription
from kipviz.scenarios.applications import programs
from kipviz.scenarios.bases import process
from kipviz.scenarios.group_setting import member, two_topics
from tests.clients.groups.test_assignors import rejoining
from tests.clients.groups.test_classic_consumer import back, send, stable
from tests.clients.parts import change, member_of

E = Errors
KNOWN = ("old-0", "src-0", "src-1", "src-2")


def there(name: str, *topics: str, owned: tuple[str, ...] = ()) -> Subscribed:
    return Subscribed(name, Subscription(topics, owned, 3))


def shares(protocol: str, *members: Subscribed) -> dict[str, tuple[str, ...]]:
    return {a.member_id: a.partitions for a in assign(protocol, KNOWN, members)}


# -- assignors ---------------------------------------------------------------------------------------


def test_ranges_are_given_topic_by_topic_to_those_who_subscribe() -> None:
    both, one = there("A", "old", "src"), there("B", "src")
    assert shares(RANGE, one, both) == {"A": ("old-0", "src-0", "src-1"), "B": ("src-2",)}
    assert shares(RANGE, one) == {"B": ("src-0", "src-1", "src-2")}


def test_sticky_shares_are_even_over_all_partitions() -> None:
    both = ("old", "src")
    same = shares(COOPERATIVE_STICKY, there("A", *both), there("B", *both))
    assert same == {"A": ("old-0", "src-0"), "B": ("src-1", "src-2")}
    differ = shares(COOPERATIVE_STICKY, there("A", *both), there("B", "src"))
    assert differ == {"A": ("old-0", "src-2"), "B": ("src-0", "src-1")}
    assert shares(COOPERATIVE_STICKY, there("A", "src")) == {"A": ("src-0", "src-1", "src-2")}


# -- the classic consumer ----------------------------------------------------------------------------


def test_a_new_subscription_joins_again_in_the_next_poll_and_the_same_one_does_not() -> None:
    me = back(stable())
    assert not kafka_consumer.subscribe(me, ("src",)).membership.rejoin
    me = kafka_consumer.poll(kafka_consumer.subscribe(me, ("src", "old")))
    _, request = send(me)
    assert request.subscription == Subscription(("src", "old"), (), 1)


def test_a_cooperative_consumer_gives_up_what_it_does_not_subscribe_to_any_more() -> None:
    me = change(rejoining(), polling=False, state=MemberState.STABLE)
    me = kafka_consumer.poll(kafka_consumer.subscribe(me, ("old",)))
    assert (me.owned, dict(me.subscription.positions.items())) == ((), {})


def test_a_leader_knows_the_partitions_of_all_topics_that_its_group_may_want() -> None:
    apps = (
        process("classic-member", "app-1"),
        process("classic-member", "app-2", program=programs.reading("old, src")),
    )
    world = first_world(two_topics(*apps))
    leader: Any = world.applications["app-1"].consumer
    assert leader.membership.topic_partitions == ("old-0", "src-0", "src-1")


# -- the consumer of KIP-848 -------------------------------------------------------------------------


def exchange_heartbeat(me: GroupConsumer) -> tuple[GroupConsumer, ConsumerGroupHeartbeat]:
    me, request = kafka_consumer.note_sent(me, kafka_consumer.next_request(me), 4)
    assert isinstance(request, ConsumerGroupHeartbeat)
    answer = ConsumerGroupHeartbeatResponse(E.NONE, "C1", 2, Assignment(()))
    return kafka_consumer.on_response(me, answer), request


def beat(me: GroupConsumer) -> tuple[GroupConsumer, ConsumerGroupHeartbeat]:
    return exchange_heartbeat(kafka_consumer.on_timer(me, HeartbeatInterval()))


def join_group(*topics: str, regex: str = "") -> tuple[GroupConsumer, ConsumerGroupHeartbeat]:
    me = member_of("app-1/consumer", "g", "C1", "src", "src-0", 2, listener=False)
    return exchange_heartbeat(kafka_consumer.poll(kafka_consumer.subscribe(me, topics, regex)))


def test_the_first_heartbeat_says_all_topics_and_the_next_one_none() -> None:
    me, request = join_group("src", "old")
    assert (request.subscribed_topic_names, request.regex) == (("src", "old"), None)
    assert beat(me)[1].subscribed_topic_names is None


def test_a_new_subscription_is_said_by_the_next_heartbeat() -> None:
    me, _ = join_group("src", "old")
    assert kafka_consumer.subscribe(me, ("src", "old")) == me
    me, request = beat(kafka_consumer.subscribe(me, ("old",)))
    assert (request.subscribed_topic_names, request.owned) == (("old",), None)
    assert beat(me)[1].subscribed_topic_names is None


def test_an_expression_is_said_without_names_and_taken_back_by_an_empty_one() -> None:
    me, request = join_group(regex="s.*")
    assert (request.subscribed_topic_names, request.regex) == ((), "s.*")
    me, request = beat(kafka_consumer.subscribe(me, ("src",)))
    assert (request.subscribed_topic_names, request.regex) == (("src",), "")
    me, request = beat(me)
    assert (request.subscribed_topic_names, request.regex) == (None, None)
    assert beat(kafka_consumer.subscribe(me, ("old",)))[1].regex is None


def test_a_member_says_its_rack_when_it_joins_and_not_again() -> None:
    me = member_of("app-1/consumer", "g", "C1", "src", "src-0", 2, listener=False, rack="east")
    me, request = exchange_heartbeat(kafka_consumer.poll(kafka_consumer.restart(me, 2)))
    assert request.rack == "east"
    assert beat(me)[1].rack == ""


# -- the next life of a process ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "asked", [(("old",), ""), (("old", "new"), ""), ((), "s.*"), (("src",), "")]
)
def test_the_next_life_of_a_member_subscribes_to_what_the_first_one_did_at_the_start(
    asked: tuple[tuple[str, ...], str],
) -> None:
    me, _ = join_group("src", "old")
    started_again = kafka_consumer.restart(
        kafka_consumer.subscribe(kafka_consumer.subscribe(me, *asked), *asked), 2
    )
    _, request = exchange_heartbeat(kafka_consumer.poll(started_again))
    assert (request.member_id, request.subscribed_topic_names, request.regex) == (
        "C1/2",
        ("src",),
        None,
    )
    assert change(kafka_consumer.restart(started_again, 3), member_id="C1/2") == started_again


def test_the_next_life_of_a_classic_consumer_does_so_too() -> None:
    me = kafka_consumer.subscribe(
        kafka_consumer.subscribe(back(stable()), ("old", "src")), ("new",)
    )
    me = kafka_consumer.poll(kafka_consumer.restart(me, 2))
    _, request = send(me)
    assert request.subscription == Subscription(("src",))


# -- what a program may say --------------------------------------------------------------------------


def test_a_target_names_topics_or_has_an_expression() -> None:
    assert subscription_of("src, old") == (("src", "old"), "")
    assert subscription_of("pattern (a|b), c") == ((), "(a|b), c")
    with pytest.raises(ValueError, match="takes topics"):
        subscription_of(" , ")


@pytest.mark.parametrize(
    ("app", "said"),
    [
        (
            member(program=programs.reading("new")),
            "subscribes to new, but of new there is no partition",
        ),
        (
            process("classic-member", "app-1", program=programs.reading("pattern s.*")),
            "for members by KIP-848 only",
        ),
        (member(protocol="", program=programs.reading("src")), "that joins its regular group"),
        (member(program=programs.reading("pattern ")), "takes topics"),
        (process("classic-member", "app-1", rack="east"), "app-1 is in rack 'east': only a member"),
    ],
)
def test_a_subscription_that_cannot_be_is_refused(app: Any, said: str) -> None:
    with pytest.raises(BadSpec, match=said):
        check(two_topics(app))
