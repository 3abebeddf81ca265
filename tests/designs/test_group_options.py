"""KIP-447's slots: before, as shipped, and the two drafts, asked of the coordinator and the producer."""

from __future__ import annotations

import pytest

from kipviz.brokers.groups import group_coordinator as gc
from kipviz.brokers.groups.group_state import GroupCoordinator, PendingOffset
from kipviz.checking.judging.budgets import budget_of
from kipviz.clients.groups import kafka_consumer
from kipviz.clients.groups.consumer_membership import MemberState
from kipviz.clients.timers import RetryBackOff
from kipviz.cluster.actions import UpgradeFeature
from kipviz.cluster.spec_checks.spec_check import check
from kipviz.cluster.specs.spec import BadSpec
from kipviz.core.table import Table
from kipviz.designs.catalogue import design
from kipviz.designs.design import slot_named
from kipviz.driving.desk import Desk
from kipviz.messages.cluster.features import Features
from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import GroupOffset, TxnOffsetCommit, fetch_offsets
from kipviz.scenarios.library import searched_scenario
from tests.clients.parts import member_of
from tests.messages.offset_fetches import fetch_offset_of, response_of

HERE = "__consumer_offsets-0"
E = Errors


@pytest.mark.parametrize(
    ("under", "version", "stable", "error"),
    [
        ("kafka", 10, True, E.UNSTABLE_OFFSET_COMMIT),
        ("kafka", 10, False, E.NONE),
        ("kafka", 6, False, E.NONE),  # it cannot ask for stable offsets
        ("before-447", 10, True, E.NONE),
        ("kip-447-group-id", 10, True, E.PENDING_TRANSACTION),
        ("kip-447-group-id", 10, False, E.PENDING_TRANSACTION),
        ("kip-447-group-id", 6, False, E.COORDINATOR_LOAD_IN_PROGRESS),
        ("kip-447-init-consumer", 10, True, E.UNSTABLE_OFFSET_COMMIT),
    ],
)
def test_what_a_reader_of_a_pending_offset_is_told(under, version, stable, error) -> None:
    pending = Table.of({9: (PendingOffset("g", "src-0", 102, 4),)})
    role = GroupCoordinator(HERE, pending=pending)
    desk = Desk(gc, role, leaders={HERE: 1, "src-0": 5}, rules=under)
    answer = fetch_offset_of(desk, require_stable=stable, version=version)
    assert answer is not None
    assert answer.error is error


@pytest.mark.parametrize("error", [E.PENDING_TRANSACTION, E.COORDINATOR_LOAD_IN_PROGRESS])
def test_old_and_new_clients_wait_and_ask_again(error: Errors) -> None:
    me = member_of(
        "app-1/consumer",
        "g",
        "C1",
        "src",
        "src-0",
        2,
        state=MemberState.STABLE,
        owned=("src-0",),
        polling=True,
        offset_fetch_version=6,
    )
    request = kafka_consumer.next_request(me)
    assert request == fetch_offsets("g", ("src-0",), require_stable=False, version=6)
    me, _ = kafka_consumer.note_sent(me, request, 4)
    me = kafka_consumer.on_response(me, response_of(error, "src-0"))
    assert kafka_consumer.next_request(me) is None
    assert kafka_consumer.next_request(kafka_consumer.on_timer(me, RetryBackOff())) == request


@pytest.mark.parametrize(
    ("under", "given"),
    [
        ("kafka", ("C1", 2)),
        ("kip-447-init-consumer", ("C1", 3)),
        ("kip-447-group-id", ("C1", 1)),
    ],
)
def test_in_whose_name_a_producer_sends_offsets(under: str, given: tuple[str, int]) -> None:
    choose = design(under).client_rules().producer_member
    assert choose(("C1", 1), ("C1", 3), ("C1", 2)) == given


@pytest.mark.parametrize(("under", "harm"), [("kafka", True), ("kip-447-init-consumer", False)])
def test_a_producer_that_holds_the_consumer_cannot_be_told_less(under: str, harm: bool) -> None:
    story = searched_scenario("kip-447-group-id-only")
    trace, _ = story.play(design(under))
    assert (trace.observations[0].broken != "") == harm


@pytest.mark.parametrize(
    ("under", "level", "name", "error"),
    [
        ("kip-447-init-consumer", 0, "C1", E.UNSUPPORTED_VERSION),
        ("kip-447-group-id", 0, "C1", E.UNSUPPORTED_VERSION),
        ("kip-447-init-consumer", 0, "", E.UNKNOWN_TOPIC_OR_PARTITION),
        ("kip-447-init-consumer", 1, "C1", E.UNKNOWN_TOPIC_OR_PARTITION),
        ("kafka", 0, "C1", E.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_a_member_is_named_only_where_the_draft_s_gate_is_open(under, level, name, error) -> None:
    desk = Desk(gc, GroupCoordinator(HERE), leaders={HERE: 1}, rules=under)
    desk.image["features"] = Features(inter_broker_protocol=level)
    # The next thing that would be refused is a topic that is not there.
    offsets = (GroupOffset("gone-0", 1),)
    request = TxnOffsetCommit("t", "g", 9, 0, name, 2 if name else -1, offsets)
    assert desk.ask(gc.on_txn_offset_commit, request).error is error


def test_the_gate_is_opened_once_and_its_question_comes_up_where_it_is_closed() -> None:
    story, chosen = searched_scenario("kip-447-gate"), design("kip-447-init-consumer")
    model = story.model(chosen, budget_of("upgrade=2"))
    up = UpgradeFeature("inter_broker_protocol", 1)
    world = model.initial()
    assert up in model.enabled(world)
    world = model.step(world, up).world
    assert "goes up once" in str(model.why_not(world, up))
    slot = slot_named("group_metadata_gate")
    assert slot.arises_in(story.spec)
    assert not slot.arises_in(searched_scenario("kip-447-race").spec)
    with pytest.raises(BadSpec, match="inter_broker_protocol must be 0"):
        check(story.spec.but(inter_broker_protocol=2))


@pytest.mark.parametrize(("under", "harm"), [("kip-447-group-id", False), ("kafka", True)])
def test_an_old_consumer_is_protected_by_the_draft_and_not_by_what_was_shipped(under, harm) -> None:
    trace, _ = searched_scenario("kip-447-old-consumer").play(design(under))
    assert (trace.observations[0].broken != "") == harm
