"""What searches come to, as text: run as a program, it prints one line for each thing.

python searching.py FOLDER     also writes an unfinished search into a folder
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.judging.coverage import coverage_of
from kipviz.checking.search import saved_search
from kipviz.checking.search.explore import Search
from kipviz.checking.search.reduction_names import reduction
from kipviz.checking.search.search_result import Bounds
from kipviz.checking.single_run.seeded_run import Task, model_of, moments
from kipviz.checking.single_run.shrink import saving, shrink
from kipviz.core.values import fingerprint
from kipviz.designs.catalogue import design
from kipviz.scenarios.library import searched_scenario

SEEDED = Task("kip-1289-two-members", "finding-D", "rough", 3)


def search_all(folder: Path) -> list[str]:
    """A search, one with both reductions, a file, a minimal story and a table of rules."""
    small, two = searched_scenario("kip-1289-small"), searched_scenario("kip-1289-small-two")
    model = small.model(design("finding-D"), budget_of("expire_lock=1"))
    found = Search(model).run()
    lines = [found.sentence, fingerprint(found.counterexamples).hex()]
    both = Search(
        two.model(design("repaired"), budget_of("")),
        reductions=[reduction("symmetry"), reduction("order")],
    )
    lines.append(both.run(Bounds(states_max=1_500)).sentence)
    saved_search.save(both, folder / "search")
    lines.append(hashlib.blake2b((folder / "search").read_bytes()).hexdigest())
    actions = tuple(moment.action for moment in moments(SEEDED))
    story = shrink(model_of(SEEDED), actions, "atomic")
    lines.append(f"{story.tried} {fingerprint(story.actions).hex()}")
    lines.append(repr(saving(model, found.counterexamples[0].actions, "atomic")))
    lines += coverage_of([SEEDED]).lines()
    return lines


if __name__ == "__main__":
    print("\n".join(search_all(Path(sys.argv[1]))))
