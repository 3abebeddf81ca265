"""Everything that a scenario comes to, as bytes: run as a program, it prints one line a story.

python run_text.py FOLDER GROUP     writes the trace file and the payload of every twelfth story into a folder
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from kipviz.checking.single_run import runs
from kipviz.cluster.actions import CrashBroker
from kipviz.scenarios.library import LIBRARY
from kipviz.scenarios.scenario import Scenario
from kipviz.views.choices import choice_id
from kipviz.widgets.lab import Lab

# The stories are told in so many groups.
GROUPS = 12


def group(number: int) -> Sequence[Scenario]:
    """Give every twelfth story, from one of the first twelve on."""
    return LIBRARY[number::GROUPS]


def write(folder: Path, stories: Sequence[Scenario] = LIBRARY) -> list[str]:
    """Write the trace file and the payload of stories, with a branch in each.

    Once for each story, under the first design that it was written for.
    """
    names = []
    for story in stories:
        for under in story.designs[:1]:
            name = f"{story.name}-{under}"
            run = runs.play(story.name, under)
            lab = Lab(run)
            at = lab.run_at(0, 0).trace.last().depth // 2
            up = lab.run_at(0, at).trace.world.up
            wish = {"choice": choice_id(CrashBroker(up[-1])), "branch": 0, "step": at}
            branch = lab.respond(wish)["branch"]
            runs.save(lab.run_at(branch["id"], at + 1), folder / f"{name}.trace")
            page = json.dumps([lab.payload, branch], ensure_ascii=False)
            (folder / f"{name}.json").write_text(page, encoding="utf-8")
            names.append(name)
    return names


if __name__ == "__main__":
    print("\n".join(write(Path(sys.argv[1]), group(int(sys.argv[2])))))
