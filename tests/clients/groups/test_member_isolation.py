"""isolation.level of members that join, by both protocols: their fetches and resets ask for it."""

from __future__ import annotations

import pytest

from kipviz.clients.groups import kafka_consumer
from kipviz.clients.groups.consumer_coordinator import ConsumerCoordinator
from kipviz.clients.groups.consumer_membership import ConsumerMembership
from kipviz.cluster.spec_checks.spec_check import check
from kipviz.cluster.specs.spec import BadSpec, ClusterSpec
from kipviz.core.table import Table
from kipviz.designs.catalogue import design
from kipviz.messages.logs.list_offsets import ListOffsets
from kipviz.messages.logs.producing import Fetch
from kipviz.scenarios.library import searched_scenario
from tests.clients.parts import stable_member

BOTH = pytest.mark.parametrize("protocol", [ConsumerMembership, ConsumerCoordinator])
LEVELS = pytest.mark.parametrize("uncommitted", [True, False])


def polling(protocol, position, *, uncommitted):
    """A member in poll() that owns src-0; at position -1 it asks the log where to begin."""
    positions = Table.of({"src-0": position})
    says = {"read_uncommitted": uncommitted, "auto_offset_reset": "latest"}
    return stable_member(protocol, polling=True, positions=positions, **says)


@BOTH
@LEVELS
def test_a_member_fetches_and_resets_at_its_own_isolation_level(protocol, uncommitted):
    fetch = kafka_consumer.next_request(polling(protocol, 3, uncommitted=uncommitted))
    assert isinstance(fetch, Fetch)
    assert fetch.read_committed is not uncommitted
    where = kafka_consumer.next_request(polling(protocol, -1, uncommitted=uncommitted))
    assert isinstance(where, ListOffsets)
    assert where.read_committed is not uncommitted


@BOTH
@LEVELS
def test_the_next_life_of_a_member_has_the_same_isolation_level(protocol, uncommitted):
    again = kafka_consumer.restart(polling(protocol, 3, uncommitted=uncommitted), 2)
    assert again.read_uncommitted is uncommitted


def reading(**changes) -> ClusterSpec:
    """The cluster of a story about a reader of uncommitted records, in which that one is changed."""
    spec = searched_scenario("pain-ghosts").spec
    applications = tuple(a.but(**changes) if a.name == "default" else a for a in spec.applications)
    return spec.but(applications=applications)


@LEVELS
@pytest.mark.parametrize("protocol", ["", "consumer", "classic"])
def test_a_process_s_consumer_has_the_level_of_its_spec_however_it_joins(protocol, uncommitted):
    kafka = design("kafka")
    spec = reading(protocol=protocol, read_uncommitted=uncommitted)
    model = kafka.model(spec)
    assert model.initial().applications["default"].consumer.read_uncommitted is uncommitted


def test_a_member_of_a_share_group_is_refused_a_level_of_its_own():
    spec = searched_scenario("kip-932-renew").spec
    (app, *others) = spec.applications
    check(spec)
    with pytest.raises(BadSpec, match="one isolation level for all members: set isolation_level"):
        check(spec.but(applications=(app.but(read_uncommitted=True), *others)))
