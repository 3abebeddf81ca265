"""A cluster that is driven from a program: labels, actions, waiting, time, what a consumer reads."""

from __future__ import annotations

import pytest

from kipviz.cluster.actions import CrashBroker, Step
from kipviz.cluster.specs.spec import BadSpec
from kipviz.core.model import NotEnabled
from kipviz.designs.catalogue import design
from kipviz.designs.slot import UnknownDesign
from kipviz.driving.cluster import Cluster, NotReached
from kipviz.messages.events import CallReturned, MessageDelivered, TransactionDecided
from kipviz.scenarios.library import UnknownScenario, scenario
from kipviz.scenarios.script import ScriptError

STORY = "kip-1289-group-commit"


@pytest.fixture
def cluster():
    return Cluster(STORY, "kafka")


def list_commits(cluster):
    return [e for e in cluster.events if isinstance(e, TransactionDecided) and e.committed]


def run_to_commit():
    """The story's application, run until it has committed once."""
    cluster = Cluster(STORY, "kafka")
    while not list_commits(cluster):
        cluster.take("app-1 goes on").quiet()
    return cluster


def test_a_label_and_the_action_behind_it_are_the_same_step(cluster):
    other = Cluster(scenario(STORY), "kafka").take(Step("app-1"))
    assert cluster.take("app-1 goes on").world == other.world
    assert cluster.steps == other.steps == 1


def test_a_story_played_step_by_step_ends_as_the_story_does():
    story = scenario(STORY)
    steps = [step for beat in story.beats for step in beat.steps]
    trace, _ = story.play(design(story.designs[0]))
    assert Cluster(story).take(*steps).world == trace.last().world


def test_a_spec_of_ones_own_is_a_cluster_of_kafka_as_released():
    driven = Cluster(scenario(STORY).spec).take("app-1 goes on").quiet()
    assert driven.world == Cluster(STORY, "kafka").take("app-1 goes on").quiet().world


def test_what_is_not_possible_says_so_and_changes_nothing(cluster):
    before = cluster.world
    with pytest.raises(ScriptError, match="'app-7 goes on' is not possible now; possible: app-1"):
        cluster.take("app-7 goes on")
    with pytest.raises(NotEnabled, match="broker 9 is not running"):
        cluster.take(CrashBroker(9))
    assert cluster.why_not(CrashBroker(9)) == "broker 9 is not running"
    assert cluster.why_not(Step("app-1")) is None
    assert cluster.world is before


def test_until_takes_the_step_or_stops_where_something_is_so(cluster):
    cluster.take("app-1 goes on").until("InitProducerId arrives at B*")
    arrived = [e for e in cluster.events if isinstance(e, MessageDelivered)]
    assert [type(e.message).__name__ for e in arrived] == ["InitProducerId"]
    home = cluster.world.image.home_of("__transaction_state", "my-txn")
    cluster.until(lambda world: world.logs[home].high_watermark == 1)
    assert cluster.world.logs[home].high_watermark == 1
    with pytest.raises(
        NotReached, match=r"the condition did not hold at step .*; possible: app-1 goes on"
    ):
        cluster.until(lambda world: world.logs[home].end_offset == 99)


def test_quiet_holds_back_what_it_is_told_to(cluster):
    cluster.take("app-1 goes on").quiet(but="InitProducerId arrives at *")
    assert "InitProducerId arrives at B1" in cluster.possible
    cluster.quiet()
    assert "InitProducerId arrives at B1" not in cluster.possible


def test_at_is_an_independent_cluster(cluster):
    cluster.take("app-1 goes on").quiet()
    steps, world = cluster.steps, cluster.world
    earlier = cluster.at(1)
    assert (earlier.steps, len(earlier.events)) == (1, len(cluster.trace.node(1).events))
    earlier.take("B1 crashes").quiet()
    assert (cluster.steps, cluster.world) == (steps, world)
    assert cluster.at(steps).world is world
    for wrong in (-1, steps + 1, "1", True):
        with pytest.raises(ValueError, match=f"this cluster has taken 0 to {steps}"):
            cluster.at(wrong)


def test_a_consumer_reads_what_is_committed_and_nothing_else():
    cluster = run_to_commit()
    (commit,) = [
        i
        for i in range(cluster.steps)
        if not list_commits(cluster.at(i)) and list_commits(cluster.at(i + 1))
    ]
    before, after = cluster.at(commit), cluster.quiet()
    partition = "output-A-0"
    assert before.read(partition) == ()
    assert [r.value for r in before.read(partition, "read_uncommitted")]
    assert after.read(partition) == before.read(partition, "read_uncommitted")
    assert after.read("src-0")[0].offset == after.world.logs["src-0"].start_offset


def test_an_aborted_record_is_read_only_by_read_uncommitted():
    cluster = Cluster("kip-1289-group-abort", "kafka")
    cluster.take(*(step for beat in scenario("kip-1289-group-abort").beats for step in beat.steps))
    cluster.quiet()
    log = cluster.world.logs["output-A-0"]
    assert len(log.aborted)
    hidden = set(cluster.read("output-A-0", "read_uncommitted")) - set(cluster.read("output-A-0"))
    assert sorted(r.offset for r in hidden) == [0, 1]
    assert (log.aborted[0].first_offset, log.aborted[0].last_offset) == (0, 2)  # 2 is the marker


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (("out-0",), "there is no partition 'out-0'; nearest are output-A-0"),
        (("output-A-0", "committed"), "isolation must be 'read_committed' or 'read_uncommitted'"),
    ],
)
def test_what_cannot_be_read_says_what_can(cluster, asked, why):
    with pytest.raises(ValueError, match=why):
        cluster.read(*asked)


def test_an_internal_topic_has_no_data_of_users():
    cluster = run_to_commit().quiet()
    home = cluster.world.image.home_of("__transaction_state", "my-txn")
    with pytest.raises(ValueError, match="is an internal topic's"):
        cluster.read(home)


def test_time_passes_only_on_a_timed_clock(cluster):
    assert cluster.take("app-1 goes on").quiet().elapsed == 0
    spec = scenario(STORY).spec
    timed = Cluster(spec.but(clock=spec.clock.but(kind="timed")))
    timed.take("app-1 goes on").quiet()
    while "time passes" not in timed.possible:
        timed.take("app-1 goes on").quiet()
    passed = [timed.take("time passes").elapsed for _ in range(2)]
    assert 0 < passed[0] < passed[1]


def test_calls_return_in_the_order_of_the_program():
    returned = [e.call for e in run_to_commit().events if isinstance(e, CallReturned)]
    program = run_to_commit().world.applications["app-1"].program
    assert returned == [line.call.value for line in program[: len(returned)]]
    assert len(returned) == 5


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (("kip-1289-comit",), UnknownScenario),
        ((STORY, "repared"), UnknownDesign),
    ],
)
def test_names_that_name_nothing_are_one_sentence(given, error):
    with pytest.raises(error, match="nearest are"):
        Cluster(*given)


def test_a_cluster_that_cannot_be_is_refused():
    spec = scenario(STORY).spec
    with pytest.raises(BadSpec):
        Cluster(spec.but(brokers=()))
