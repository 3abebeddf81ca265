"""Brokers of different binaries: what each knows, what may be finalized, who may come back."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from kipviz.brokers.context import Image
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.cluster.actions import InstallRelease, Send, StartBroker, UpgradeFeature
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.spec_checks.spec_check import check
from kipviz.cluster.specs.spec import BadSpec
from kipviz.core.table import Table
from kipviz.core.traces.trace import Trace
from kipviz.designs.catalogue import design
from kipviz.messages.cluster.releases import (
    NAMES,
    RELEASES,
    UnknownRelease,
    knows,
    lower_version,
    release,
)
from kipviz.messages.events import MessageSent, NotSent
from kipviz.messages.groups.groups import GroupOffset, TxnOffsetCommit, fetch_offsets
from kipviz.messages.logs.producing import PartitionProduceData, Produce
from kipviz.messages.shares.share_groups import TxnShareAcknowledge
from kipviz.messages.transactions.transactions import AddPartitionsToTxn, EndTxn, TxnPartitions
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.script import Beat, play
from tests.messages.shares import stages
from tests.scenarios.story import after

KAFKA = design("kafka")
OLD, NEW = "4.4", "kip-1289"
ROLLING_SPEC = searched_scenario("kip-1289-rolling").spec
BROKERS = ROLLING_SPEC.brokers
OFFSETS = TxnOffsetCommit("t", "g", 9, 0, "C1", 2, (GroupOffset("src-0", 1),))


def model(spec: Any, under: str = "repaired") -> ClusterModel:
    chosen = design(under)
    return chosen.model(spec)


def test_releases_are_in_order_and_what_one_knows_the_next_one_does() -> None:
    assert [known.name for known in RELEASES] == list(NAMES)
    for older, newer in pairwise(RELEASES):
        assert older.transaction_version <= newer.transaction_version
        assert older.share_version <= newer.share_version
        assert set(newer.lacks) <= set(older.lacks)
        for request, version in older.newest:
            assert dict(newer.newest).get(request, version) >= version


@pytest.mark.parametrize(
    ("name", "version"), [("2.4", 2), ("3.5", 3), ("3.9", 4), ("4.3", 5), ("4.4", 6), ("", 6)]
)
def test_a_request_goes_out_in_the_newest_version_that_both_ends_know(
    name: str, version: int
) -> None:
    assert lower_version(release(name), OFFSETS).spoken == version
    assert lower_version(release(name), OFFSETS.but(version=2)).spoken == 2


def test_a_binary_knows_what_its_branch_has() -> None:
    verify = AddPartitionsToTxn((TxnPartitions("t", 9, 0, ("out-0",), verify_only=True),))
    assert not knows(release("3.5"), verify)
    assert knows(release("3.5"), verify.but(version=3))
    assert knows(release("3.6"), verify)
    staging = stages("t", "g", 9, 0, "M1", 1, "src-0", ())
    assert [known.name for known in RELEASES if knows(known, staging)] == [NEW]
    produce = Produce("t", (PartitionProduceData("out-0", 9, 0, 0, ()),))
    assert lower_version(release("3.6"), produce).spoken == 9
    assert lower_version(release("3.6"), EndTxn("t", 9, 0, True)).spoken == 3
    with pytest.raises(UnknownRelease, match=r"the releases are 2\.4, 3\.5"):
        release("0.8")


def test_a_binary_from_before_kip_447_knows_of_no_member_and_of_no_stable_offset() -> None:
    before, later = release("2.4"), release("3.5")
    assert not knows(before, OFFSETS)
    assert knows(before, OFFSETS.but(member_id="", member_epoch=-1))
    assert knows(later, OFFSETS)
    asked = fetch_offsets("g", ("src-0",), require_stable=True)
    assert lower_version(before, asked) == asked.but(version=6, require_stable=False)
    assert lower_version(later, asked) == asked.but(version=8)


def test_the_gate_of_kip_447_stays_closed_for_one_broker_from_before_it() -> None:
    story = searched_scenario("kip-447-gate-rolling")
    level = UpgradeFeature("inter_broker_protocol", 1)
    before = after("kip-447-gate-rolling", "kip-447-init-consumer", story.beats[3].title)
    here = story.model(design("kip-447-init-consumer"))
    assert here.why_not(before, level) == (
        "broker 1 has 2.4, which knows inter.broker.protocol up to 0: the controller does not finalize 1"
    )
    with pytest.raises(BadSpec, match=r"inter\.broker\.protocol up to 0, and 1 is finalized"):
        check(story.spec.but(inter_broker_protocol=1))


def test_the_image_says_which_broker_is_in_the_way_of_a_level() -> None:
    image = Image(Table.of(), 50, Table.of(), releases=((1, "4.4"), (3, "3.9"), (5, "3.6")))
    assert image.unsupporting("transaction_version", 2) == (3, 5)
    assert image.unsupporting("transaction_version", 0) == ()
    assert image.release_of(3).name == "3.9"
    everything = Image(Table.of(), 50, Table.of())
    assert everything.unsupporting("share_version", 3) == ()
    assert everything.release_of(1).stages


def test_a_level_is_refused_as_long_as_one_registered_broker_lacks_it() -> None:
    here = model(ROLLING_SPEC.but(releases=((1, NEW), (3, NEW), (5, NEW), (7, OLD))))
    world = here.initial()
    level = UpgradeFeature("share_version", 3)
    refused = (
        "broker 7 has 4.4, which knows share.version up to 2: the controller does not finalize 3"
    )
    assert here.why_not(world, level) == refused
    assert level not in here.enabled(world)
    # A broker that is stopped is registered as before: only its new binary counts.
    stopped = here.step(world, InstallRelease(7, NEW)).world
    assert level in here.enabled(stopped)


def test_a_broker_that_does_not_know_what_is_finalized_cannot_come_back() -> None:
    here = model(ROLLING_SPEC.but(share_rollout=3, releases=every(NEW)))
    world = here.step(here.initial(), InstallRelease(7, OLD)).world
    assert 7 not in world.up
    assert StartBroker(7) not in here.enabled(world)
    assert here.why_not(world, StartBroker(7)) == (
        "broker 7 has 4.4, which knows share.version up to 2, and 3 is finalized: the controller does "
        "not register it"
    )
    lowered = here.step(world, UpgradeFeature("share_version", 2)).world
    assert StartBroker(7) in here.enabled(lowered)
    again = here.step(world, InstallRelease(7, NEW)).world
    assert StartBroker(7) in here.enabled(again)


def every(name: str) -> tuple[tuple[int, str], ...]:
    return tuple((broker, name) for broker in BROKERS)


def test_going_back_from_4_4_to_3_6_is_possible_until_version_2_is_finalized() -> None:
    before = after("kip-890-rolling-to-2", "kafka", "Brokers 3, 4 and 5 get 4.4")
    here = model(searched_scenario("kip-890-rolling").spec, "kafka")
    stopped = here.step(before, InstallRelease(4, "3.6")).world
    assert StartBroker(4) in here.enabled(stopped)
    final = after("kip-890-rolling-to-2", "kafka", "Broker 1 is the last one")
    stopped = here.step(final, InstallRelease(4, "3.6")).world
    assert StartBroker(4) not in here.enabled(stopped)


def test_a_client_sends_nothing_that_its_broker_lacks_and_is_told_by_itself() -> None:
    """The level says yes and one broker lacks the request: only a broken cluster is like that."""
    here = model(ROLLING_SPEC.but(share_rollout=3, releases=every(NEW)))
    steps = ("app-1 goes on", "quiet", "app-1 goes on")
    beat = Beat("", "", (*steps, *steps, *steps[:1], *steps[:2], "app-1 goes on"))
    trace, _ = play(Trace.start(here), here, (beat,))
    image = trace.world.image
    lacking = trace.world.but(image=image.but(releases=every(OLD)))
    done = here.step(lacking, Send("app-1/producer"))
    (told,) = [e for e in done.events if isinstance(e, NotSent)]
    assert isinstance(told.message, TxnShareAcknowledge)
    assert not any(isinstance(e, MessageSent) for e in done.events)
    producer = done.world.applications["app-1"].producer
    assert producer.manager.state is ProducerState.FATAL_ERROR
    assert str(producer.error) == "TxnShareAcknowledge: UNSUPPORTED_VERSION"


def test_a_binary_is_installed_as_often_as_allowed_and_only_where_there_is_another_one() -> None:
    here = model(ROLLING_SPEC)
    world = here.initial()
    assert here.why_not(world, InstallRelease(7, OLD)) == "broker 7 already runs 4.4"
    assert here.why_not(world, InstallRelease(9, NEW)) == "there is no broker 9"
    other = here.why_not(world, InstallRelease(7, "3.9"))
    assert other == "a release to install must be one of 4.4, kip-1289, not 3.9"
    offered = [a for a in here.enabled(world) if isinstance(a, InstallRelease)]
    assert offered == [InstallRelease(broker, NEW) for broker in BROKERS]
    plain = model(ROLLING_SPEC.but(binaries=()))
    assert "this cluster has no other release to install" in (
        plain.why_not(world, InstallRelease(7, NEW)) or ""
    )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"releases": ((1, OLD),)}, "either no broker has a release or each has one"),
        ({"releases": (), "binaries": (NEW,)}, "each broker starts with one"),
        ({"releases": every("0.8")}, "a release must be one of 2.4, 3.5"),
        ({"share_rollout": 3}, "knows share.version up to 2, and 3 is finalized"),
        ({"releases": every("3.6")}, "knows transaction.version up to 0, and 2 is finalized"),
    ],
)
def test_binaries_that_cannot_be_are_refused_with_one_sentence(
    changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(BadSpec, match=said):
        model(ROLLING_SPEC.but(**changes))
