"""share.version: 0 has no share groups, 1 has no dead-letter queues, and there is one place that says which it is."""

from __future__ import annotations

from typing import Any

import pytest

from kipviz.brokers.authorizer import Acl
from kipviz.brokers.settings import GroupConfig
from kipviz.cluster.actions import Step, UpgradeFeature
from kipviz.cluster.admission import admit
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.spec_checks.spec_check import check
from kipviz.cluster.specs.share_levels import share_level
from kipviz.cluster.specs.spec import BadSpec, ClusterSpec, FaultBudget
from kipviz.designs.catalogue import design
from kipviz.messages.apis.catalogue import APIS
from kipviz.messages.apis.rights import Operation, Resource
from kipviz.messages.errors import Errors
from kipviz.messages.events import MessageSent
from kipviz.messages.message import Message
from kipviz.messages.message_errors import error_in
from kipviz.messages.shares.share_admin import (
    AlterShareGroupOffsets,
    DeleteShareGroupOffsets,
    DescribeShareGroupOffsets,
    ShareGroupDescribe,
    ShareOffsetsGroup,
)
from kipviz.messages.shares.share_groups import ShareFetch
from kipviz.messages.shares.share_membership import ShareGroupHeartbeat
from kipviz.messages.shares.share_state import ReadShareGroupState, ReadStateData
from kipviz.scenarios.script import next_by_itself
from tests.cluster.small_clusters import KEY, small_spec
from tests.messages.shares import acknowledges, fetches

GIVEN = small_spec("share")
JOINS = GIVEN.but(applications=(GIVEN.applications[0].but(protocol="share"),))
ASKED: dict[str, Message] = {
    "a heartbeat": ShareGroupHeartbeat("g1", "M1", 0, ("src",)),
    "a fetch": fetches("M1", 0, "src-0", 2),
    "an acknowledgement": acknowledges("g1", "M1", 1, "src-0", ()),
    "a description": ShareGroupDescribe(("g1",)),
    "offsets": DescribeShareGroupOffsets((ShareOffsetsGroup("g1"),)),
    "other offsets": AlterShareGroupOffsets("g1", (("src-0", 1),)),
    "no offsets": DeleteShareGroupOffsets("g1", ("src",)),
}


def model_of(spec: ClusterSpec) -> ClusterModel:
    chosen = design("kafka")
    return chosen.model(spec)


def admission_of(message: Message, **changes: Any) -> Any:
    model = model_of(JOINS.but(**changes))
    image = model.initial().image
    rules = design("kafka").broker_rules()
    return admit(
        message, "app-1/consumer", 5, image, rules, model.spec.simplified, privileged=False
    )


@pytest.mark.parametrize("message", ASKED.values(), ids=ASKED.keys())
def test_without_share_groups_a_request_about_them_is_refused_before_any_right_is_asked(
    message: Message,
) -> None:
    """KafkaApis.isShareGroupProtocolEnabled, first in each of these handlers."""
    nobody = (Acl("somebody", Operation.READ, Resource.TOPIC, "else"),)
    refused = admission_of(message, share_version=0, acls=nobody).refusal
    assert refused is not None
    assert error_in(refused) is Errors.UNSUPPORTED_VERSION
    allowed = admission_of(message, share_version=1)
    assert all(check.name != "share.version" for check in allowed.checks)


def test_every_request_of_the_share_protocol_is_among_them() -> None:
    assert {type(message) for message in ASKED.values()} == {
        api.request for api in APIS if api.only_with_shares
    }


def test_a_description_of_several_groups_is_refused_for_each() -> None:
    refused = admission_of(ShareGroupDescribe(("g1", "g2")), share_version=0).refusal
    parts = [(part.group_id, part.error) for part in refused.groups]
    assert parts == [(g, Errors.UNSUPPORTED_VERSION) for g in ("g1", "g2")]


def test_the_share_coordinator_itself_is_not_asked_for_the_level() -> None:
    """KafkaApis.handleReadShareGroupStateRequest: it is enough that nobody causes it."""
    assert (
        admission_of(ReadShareGroupState((ReadStateData(KEY, 0),)), share_version=0).refusal is None
    )


def test_a_member_that_wants_to_join_throws_unsupported_version_and_fetches_nothing() -> None:
    """ShareHeartbeatRequestManager.handleSpecificExceptionAndErrorInResponse: a fatal failure."""
    model = model_of(JOINS.but(share_version=0))
    world, sent = model.initial(), []
    goes_on = Step("app-1")
    while not world.applications["app-1"].ended:
        action = goes_on if model.why_not(world, goes_on) is None else next_by_itself(model, world)
        assert action is not None
        outcome = model.step(world, action)
        world = outcome.world
        sent += [e.message for e in outcome.events if isinstance(e, MessageSent)]
    app = world.applications["app-1"]
    assert app.ended == "poll() threw ShareGroupHeartbeat: UNSUPPORTED_VERSION"
    assert not any(isinstance(message, ShareFetch) for message in sent)


@pytest.mark.parametrize(
    ("changes", "level"),
    [
        ({}, 3),
        ({"share_version": 1}, 1),
        ({"share_version": 0}, 0),
        ({"share_rollout": 2}, 2),
        ({"releases": tuple((b, "4.4") for b in GIVEN.brokers)}, 2),
        ({"releases": tuple((b, "4.3") for b in GIVEN.brokers)}, 1),
        ({"releases": tuple((b, "4.4") for b in GIVEN.brokers), "share_version": 1}, 1),
    ],
)
def test_one_level_says_what_there_is(changes: dict[str, Any], level: int) -> None:
    """ShareVersion.supportsShareGroups, supportsShareGroupDLQ; KIP-1289 adds a level."""
    queue = GroupConfig("g1", dead_letter_topic="dlq.g1")
    spec = JOINS.but(**changes, group_configs=(queue,))
    check(spec)
    image = model_of(spec).initial().image
    assert image.features.share_version == share_level(spec) == level
    assert bool(image.dead_letter_queue("g1")) is (level >= 2)
    assert image.features.staging is (level >= 3)


def test_the_level_goes_up_in_a_running_cluster_and_brings_the_dead_letter_queues() -> None:
    queue = GroupConfig("g1", dead_letter_topic="dlq.g1")
    spec = JOINS.but(share_version=0, group_configs=(queue,), budget=FaultBudget(upgrade=3))
    model = model_of(spec)
    world = model.initial()
    for level, there in ((1, ""), (2, "dlq.g1")):
        assert model.why_not(world, UpgradeFeature("share_version", level)) is None
        world = model.step(world, UpgradeFeature("share_version", level)).world
        assert (world.image.features.share_version, world.image.dead_letter_queue("g1")) == (
            level,
            there,
        )
    assert model.why_not(world, UpgradeFeature("share_version", 1)) == (
        "share.version goes up from 0 (share_version) to 2 at most"
    )


def test_a_cluster_that_is_not_asked_for_a_level_has_none_to_raise() -> None:
    """Its binaries say the level; no action is added to its searches."""
    older = tuple((broker, "4.3") for broker in GIVEN.brokers)
    model = model_of(JOINS.but(releases=older, budget=FaultBudget(upgrade=1)))
    offered = [a for a in model.enabled(model.initial()) if isinstance(a, UpgradeFeature)]
    assert all(action.feature != "share_version" for action in offered)


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (JOINS.but(share_version=3), "share_version must be 0, 1 or 2, not 3"),
        (JOINS.but(share_version=-1), "share_version must be 0, 1 or 2, not -1"),
        (
            JOINS.but(share_version=1, share_rollout=2),
            "a rollout of KIP-1289 begins at share.version 2 (share_rollout): leave share_version at 2, not 1",
        ),
        (
            GIVEN.but(share_version=0),
            (
                "app-1 is in its share group before the run, which takes share.version 1: raise "
                "share_version, or let it join with its first poll (protocol 'share')"
            ),
        ),
    ],
)
def test_a_level_that_cannot_be_is_refused_in_one_sentence(
    spec: ClusterSpec, sentence: str
) -> None:
    with pytest.raises(BadSpec) as wrong:
        check(spec)
    assert str(wrong.value) == sentence
