"""The stories of KIP-1289's draft implementation, each played under its designs and judged to its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from kipviz.checking.single_run import runs
from kipviz.checking.single_run.runs import Judgement, Run, judge_to_the_end
from kipviz.properties.verdict import BROKEN
from kipviz.scenarios.library import LIBRARY
from kipviz.scenarios.scenario import Scenario

ROOMS = ("kip-1289-draft", "kip-1289-flink", "kip-1289-ingress")
# Called with (the story, stories played, all stories); if it returns False, nothing follows.
StoryTold = Callable[[str, int, int], bool]


class PlayedStory(msgspec.Struct, frozen=True, eq=False):
    """One story under one design: the run, and its verdicts including what follows by itself."""

    run: Run
    judged: tuple[Judgement, ...]

    @property
    def broken(self) -> tuple[Judgement, ...]:
        """The properties that break, whether the design or the program is at fault."""
        return tuple(each for each in self.judged if each.status == BROKEN)


def stories() -> tuple[Scenario, ...]:
    """Return the stories that have steps, in the order of the library."""
    return tuple(s for s in LIBRARY if s.name.startswith(ROOMS) and s.beats)


def play_stories(progress: StoryTold | None = None) -> Iterator[PlayedStory]:
    """Play every story under each of its designs."""
    every = stories()
    for done, story in enumerate(every):
        if progress is not None and not progress(story.name, done, len(every)):
            return
        for name in story.designs:
            run = runs.play_searched(story.name, name)
            yield PlayedStory(run, judge_to_the_end(run))
