"""One line for each story: digests of its steps, events and verdicts, and of the page that shows it.

Run it before and after a change that is to change no behaviour, and compare the two files:

python tests/determinism/digests.py > before.txt
python tests/determinism/digests.py kip-98 pain     only stories whose names begin so

Each story is played under the first design that it was written for. A line says how many steps the story has, and
four digests: the actions, what happened, the verdicts after each step, and the page (its words, the bytes of
its messages' kinds, and what is possible or impossible at its end).
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Iterator

from kipviz.checking.single_run import runs
from kipviz.scenarios.library import LIBRARY
from kipviz.scenarios.scenario import Scenario
from kipviz.widgets.lab import Lab
from kipviz.widgets.pages.payload import fingerprint


def digest(parts: Iterable[object]) -> str:
    """Sixteen hex digits of what values look like, in their order."""
    found = hashlib.blake2b(digest_size=8)
    for part in parts:
        found.update(repr(part).encode())
    return found.hexdigest()


def lines(stories: Iterable[Scenario] = LIBRARY) -> Iterator[str]:
    """Give the line of each story."""
    for story in stories:
        for under in story.designs[:1]:
            lab = Lab(runs.play(story.name, under))
            trace = lab.run_at(0, 0).trace.last()
            steps = [trace.node(number) for number in trace.line]
            told = (
                digest(step.action for step in steps),
                digest(step.events for step in steps),
                digest(step.observations for step in steps),
                fingerprint(lab.payload),
            )
            yield " ".join((story.name, under, str(len(steps)), *told))


if __name__ == "__main__":
    begins = tuple(sys.argv[1:]) or ("",)
    for line in lines(story for story in LIBRARY if story.name.startswith(begins)):
        print(line, flush=True)
