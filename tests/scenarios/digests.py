"""Write down what every story shows, so that a change of structure can prove that it changed none of it.

    python -m tests.scenarios.digests before.txt     # on the old commit
    python -m tests.scenarios.digests after.txt      # on the new one
    diff before.txt after.txt                        # nothing, or the stories that are others now

A line has a story, its first design, the digest of its payload (every word and state that the page shows), the digest
of the labels of its steps, and the permalink to its end. All stories take about a minute.
"""

from __future__ import annotations

import sys
from hashlib import blake2b
from pathlib import Path

from kipviz.checking.single_run import runs
from kipviz.scenarios.library import LIBRARY
from kipviz.widgets.lab import stepper_of
from kipviz.widgets.pages.payload import fingerprint


def digests(story: str, design: str) -> str:
    """Return the line of one story under one design."""
    run = runs.play(story, design)
    stepper = stepper_of(run)
    labels = blake2b("\n".join(runs.labels(run)).encode(), digest_size=8).hexdigest()
    stepper.step = len(stepper.payload["steps"]) - 1
    return f"{story} {design} {fingerprint(stepper.payload)} {labels} {stepper.permalink()}"


def main(path: str) -> None:
    """Write the lines of all stories into a file."""
    with Path(path).open("w", encoding="utf-8") as file:
        file.writelines(digests(known.name, known.designs[0]) + "\n" for known in LIBRARY)


if __name__ == "__main__":
    main(*sys.argv[1:])
