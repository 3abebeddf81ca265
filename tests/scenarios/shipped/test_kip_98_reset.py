"""A consumer whose position is gone: what each auto.offset.reset makes of the same run."""

from __future__ import annotations

import pytest

from kipviz.clients.throwing.client_errors import OffsetOutOfRange
from kipviz.cluster.spec_checks.spec_check import check
from kipviz.cluster.specs.spec import BadSpec, FaultBudget
from kipviz.core.traces.trace import Trace
from kipviz.designs.catalogue import design
from kipviz.messages.errors import Errors
from kipviz.messages.events import MessageSent
from kipviz.messages.logs.list_offsets import ListOffsets
from kipviz.messages.message_errors import error_in
from kipviz.scenarios.library import scenario
from kipviz.scenarios.script import follow
from kipviz.scenarios.setting_changes import BadChange, apply_changes, settings
from tests.clients import parts
from tests.cluster.invariants import wrong_in
from tests.cluster.small_clusters import model_of, steps_of
from tests.scenarios.story import after, committed_outputs, nodes, play_once

STORY = "kip-98-away-too-long"


def consumer(world):
    return world.applications["app-1"].consumer


def test_what_was_deleted_unread_is_in_no_output_and_nobody_is_told():
    world = after(STORY, "kafka", "It continues at 103")
    assert [(r.offset, r.value) for r in consumer(world).records] == [(103, "d")]
    assert consumer(world).error == ""
    assert committed_outputs(world) == {"src-0@100": 1}
    errors = [
        error_in(event.message)
        for node in nodes(play_once(STORY, "kafka")[0])
        for event in node.events
        if isinstance(event, MessageSent)
    ]
    assert errors.count(Errors.OFFSET_OUT_OF_RANGE) == 1


@pytest.mark.parametrize(
    ("policy", "position", "error"),
    [("latest", 104, ""), ("none", 101, OffsetOutOfRange("src-0", 101))],
)
def test_under_another_policy_the_consumer_waits_or_throws(policy, position, error):
    world = after(STORY, "kafka", "app-1 is away, and retention continues")
    app = world.applications["app-1"]
    told = parts.change(app.consumer, auto_offset_reset=policy)
    world = world.but(applications=world.applications.set("app-1", app.with_client(told)))
    model = scenario(STORY).model(design("kafka"))
    run = Trace.start(At(model, world), ())
    for instruction in ("app-1 starts", "app-1 goes on", "quiet", "app-1 goes on"):
        run = follow(run, model, instruction, "")
    run = follow(follow(run, model, "app-1 goes on", ""), model, "quiet", "")
    assert (consumer(run.world).position, consumer(run.world).error) == (position, error)


class At:
    """A model whose runs begin in another world."""

    def __init__(self, model, world):
        self._model, self._world = model, world

    def initial(self):
        return self._world

    def __getattr__(self, name):
        return getattr(self._model, name)


def test_it_is_a_setting_where_a_spec_says_so_and_nowhere_else():
    known = scenario(STORY)
    spec, _ = apply_changes(known.spec, design("kafka"), ["app-1.auto_offset_reset=none"])
    assert spec.applications[0].auto_offset_reset == "none"
    names = [setting.name for setting in settings(known.spec, design("kafka"))]
    assert "app-1.auto_offset_reset" in names
    other = scenario("kip-98-idempotent-retry").spec
    assert not [s for s in settings(other, design("kafka")) if "reset" in s.name]
    with pytest.raises(BadChange, match="is earliest, latest, none, by_duration: with"):
        apply_changes(known.spec, design("kafka"), ["app-1.auto_offset_reset=first"])


def test_a_share_groups_member_has_no_policy_of_its_own():
    spec = scenario("kip-1289-share-commit").spec
    (app,) = spec.applications
    with pytest.raises(BadSpec, match="of a regular group"):
        check(spec.but(applications=(app.but(auto_offset_reset="latest"),)))


@pytest.mark.parametrize("protocol", ["consumer", "classic"])
@pytest.mark.parametrize("policy", ["earliest", "none"])
@pytest.mark.parametrize(
    "seeds", [range(16), pytest.param(range(16, 32), marks=pytest.mark.thorough)], ids=repr
)
def test_a_member_that_joins_goes_by_its_policy_too(protocol, policy, seeds):
    """Runs of the story's cluster, in which the front of src-0 is deleted while a member is away."""
    spec = scenario(STORY).spec
    app = spec.applications[0].but(protocol=protocol, auto_offset_reset=policy)
    budget = FaultBudget(delete_records=3)
    model = model_of(spec.but(applications=(app,), budget=budget), "kafka")
    asked, refused, ended = 0, 0, set()
    for seed in seeds:
        for _, _, outcome in steps_of(model, seed, 250):
            assert not wrong_in(outcome.world)
            for event in outcome.events:
                message = getattr(event, "message", None)
                asked += isinstance(message, ListOffsets)
                refused += error_in(message) is Errors.OFFSET_OUT_OF_RANGE
        ended.add(outcome.world.applications["app-1"].ended)
    if policy == "none":
        assert not asked
        assert "poll() threw NoOffsetForPartitionException: src-0" in ended
    else:
        assert asked
        assert refused
        assert all(not each or "Exception" not in each for each in ended)
