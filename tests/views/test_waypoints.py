"""Where long big steps rest: no story asks a reader to take in more than six messages at once."""

from __future__ import annotations

from itertools import pairwise

import pytest

from kipviz.checking.single_run.runs import play
from kipviz.scenarios.library import LIBRARY
from kipviz.views.waypoints import MESSAGES_AT_ONCE, rests

DULL = [False] * 100


@pytest.mark.parametrize("size", range(1, 40))
def test_no_part_is_longer_than_six_messages_and_no_part_more_than_needed_is_made(
    size: int,
) -> None:
    found = rests(3, 3 + size - 1, DULL)
    ends = [2, *found, 3 + size - 1]
    parts = [later - before for before, later in pairwise(ends)]
    assert all(1 <= part <= MESSAGES_AT_ONCE for part in parts)
    assert len(parts) == -(-size // MESSAGES_AT_ONCE)
    assert max(parts) - min(parts) <= 1, "nothing is notable, so the parts are of a like size"


def test_a_big_step_rests_at_what_is_notable() -> None:
    notable = [k in (4, 9) for k in range(100)]
    assert rests(1, 14, notable) == [4, 9]


def test_what_is_notable_never_makes_more_parts() -> None:
    assert rests(0, 11, [True] * 100) == [5]


def test_a_big_step_of_thousands_of_messages_has_its_rests() -> None:
    found = rests(0, 5_999, [False] * 6_000)
    assert len(found) == 999


def test_no_story_averages_more_than_six_messages_a_step_forward() -> None:
    sizes: dict[str, float] = {}
    for story in LIBRARY:
        told = [chapter for chapter in play(story.name).chapters if chapter.end > chapter.first]
        messages = sum(chapter.end - chapter.first for chapter in told)
        dull = [False] * (max((chapter.end for chapter in told), default=0) + 1)
        forward = sum(1 + len(rests(c.first + 1, c.end, dull)) for c in told)
        sizes[story.name] = messages / max(forward, 1)
    assert len(sizes) > 250
    assert {name: size for name, size in sizes.items() if size > MESSAGES_AT_ONCE} == {}
