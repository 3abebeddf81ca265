"""When offsets are forgotten on a timed clock, and from when it is counted."""

from __future__ import annotations

import pytest

from kipviz.cluster.actions import Load, MoveLeader, RunOut
from kipviz.cluster.behaviour import due_actions
from kipviz.cluster.timing.clock import Due
from kipviz.cluster.world import World
from kipviz.designs.catalogue import design
from kipviz.scenarios.library import searched_scenario
from kipviz.views.reasons import causes
from kipviz.views.role_cards import remaining_time
from tests.cluster.timing.test_timers import at, running
from tests.scenarios.story import after, play_once

MODERN, CLASSIC = "kip-211-idle-modern", "kip-211-idle-classic"
WEEK, CHECK = 60_000, 10_000
STOPPED = "app-1 stops in order to restart"
GROUP, HERE = "my-group-4", "__consumer_offsets-7"


def ages(world: World) -> list[int]:
    return [at(d)[0] for d in running(world, Due.OFFSET_AGE)]


def test_an_offset_is_as_old_as_its_commit() -> None:
    assert ages(after(MODERN, "kafka", "app-1 processes a and b, and commits")) == [WEEK]
    assert ages(after(MODERN, "kafka", "A week without new records")) == [0]


def test_while_somebody_subscribes_nothing_is_due_however_old_it_is() -> None:
    world = after(MODERN, "kafka", "A week without new records")
    assert not running(world, Due.OFFSET)
    assert not any("retention" in name for name, _ in remaining_time.later(world))


def test_of_a_group_of_kip_848_that_became_empty_an_old_offset_goes_by_the_next_check() -> None:
    world = after(MODERN, "kafka", STOPPED)
    (deadline,) = running(world, Due.OFFSET)
    assert at(deadline) == (0, CHECK)
    action = due_actions.action_of(world, deadline)
    assert due_actions.place_of(world, action) == (Due.OFFSET, (GROUP, "src-0"))


def test_of_a_classic_group_it_is_counted_from_when_it_became_empty() -> None:
    world = after(CLASSIC, "kafka", STOPPED)
    assert not running(world, Due.OFFSET)
    (deadline,) = running(world, Due.GROUP_OFFSETS)
    assert at(deadline) == (WEEK, WEEK + CHECK)
    action = due_actions.action_of(world, deadline)
    assert isinstance(action, RunOut)
    assert due_actions.place_of(world, action) == (Due.GROUP_OFFSETS, (GROUP,))
    later = after(CLASSIC, "kafka", "The next check finds nothing")
    assert at(running(later, Due.GROUP_OFFSETS)[0])[0] < WEEK


@pytest.mark.parametrize(("story", "kind"), [(MODERN, Due.OFFSET), (CLASSIC, Due.GROUP_OFFSETS)])
def test_a_new_coordinator_goes_on_counting(story: str, kind: str) -> None:
    world = after(story, "kafka", STOPPED)
    model = searched_scenario(story).model(design("kafka"))
    moved = model.step(world, MoveLeader(HERE, 3)).world
    for kept in (kind, Due.OFFSET_AGE):
        assert running(moved, kept) == running(world, kept), "while it loads"
    (load,) = (a for a in model.enabled(moved) if isinstance(a, Load))
    loaded = model.step(moved, load).world
    for kept in (kind, Due.OFFSET_AGE):
        assert [at(d) for d in running(loaded, kept)] == [at(d) for d in running(world, kept)]


def test_what_is_committed_again_is_counted_anew() -> None:
    gone = after(MODERN, "kafka", "The next check: older than a week, and without a subscriber")
    assert ages(gone) == []
    assert ages(play_once(MODERN, "kafka")[0].world) == [WEEK]


def test_how_old_an_offset_is_is_in_its_coordinator() -> None:
    world = after(MODERN, "kafka", "A week without new records")
    (first,) = running(world, Due.OFFSET_AGE)
    assert causes._list_setters(world, first) == [("roles", (4, "group_coordinator", HERE))]
