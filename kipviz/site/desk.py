"""The model behind a page of the site: it opens runs, answers requests, compares and searches.

It runs in a Web Worker, under Pyodide. Everything that it exchanges with the page is a line of JSON.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Annotated, TypedDict

import msgspec

from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.search.explore import explore
from kipviz.checking.single_run import runs
from kipviz.checking.single_run.permalink import open_link, permalink
from kipviz.checking.single_run.runs import Run
from kipviz.core.outside.printable import complete_sentence
from kipviz.designs.catalogue import CATALOGUE
from kipviz.designs.catalogue import design as design_named
from kipviz.scenarios.library import scenario as scenario_named
from kipviz.views.page_parts import Part
from kipviz.widgets.comparing.alignment import compare_payloads
from kipviz.widgets.pages.line import line_of
from kipviz.widgets.pages.payload import Payload
from kipviz.widgets.stepping.files import file_of
from kipviz.widgets.stepping.lines import Lab
from kipviz.widgets.stepping.page_messages import PageAnswer, Progress, Work, number_of

# The limit of a search in a page: 50,000 states take about 120 MB in a browser.
STATES_MAX = 50_000


class OpenedRun(TypedDict):
    """A run that the model has opened, its place, and what is no longer as it was when its link was made."""

    payload: Annotated[Part, msgspec.Meta(extra={"schema": Payload})]
    branch: int
    step: int
    changes: list[str]


class FoundExample(TypedDict):
    """A shortest run that breaks a property, as a link that opens it."""

    property: str
    steps: int
    link: str


class Searched(TypedDict):
    """What a search of all states has found."""

    sentence: str
    examples: list[FoundExample]


def bake(name: str, design: str = "") -> str:
    """Return the payload of a story as the site stores it, so that a browser draws it at once."""
    return _line(Lab(runs.play(name, design or None)).payload)


def designs() -> str:
    """Return the names of the designs."""
    return _line([each.name for each in CATALOGUE])


class PageState:
    """The state of one page: a run with its branches, and the work in progress."""

    def __init__(self) -> None:
        """Start without an open run."""
        self._lab: Lab | None = None
        self._branches: list[Part] = []
        self._work: Work | None = None
        self._number: int | None = None

    def open(self, name: str, design: str = "") -> str:
        """Open a story under a design, by default its own.

        Raises:
            ValueError: if the story or design is unknown, in one sentence.
        """
        return self._open_lab(runs.play(name, design or None))

    def link(self, text: str) -> str:
        """Open a permalink at its step and branch.

        Raises:
            ValueError: if the text is no complete permalink, in one sentence.
        """
        return self._open_lab(open_link(text))

    def _open_lab(self, run: Run) -> str:
        lab = Lab(run)
        branch, step = lab.place
        self._lab, self._work = lab, None
        self._branches = list(lab.payload["branches"])
        changed = [*run.changes, *lab.lost]
        opened: OpenedRun = {
            "payload": lab.payload,
            "branch": branch,
            "step": step,
            "changes": changed,
        }
        return _line(opened)

    def ask(self, command: str) -> str:
        """Answer a request of the page, or start to work on it; `go_on` then returns the answer."""
        wish = json.loads(command)
        self._number = number_of(wish)
        if self._lab is None:
            return self._tell({"error": "No run is open yet."})
        try:
            answer = self._lab.respond(wish)
        except ValueError as sentence:
            return self._tell({"error": complete_sentence(str(sentence))})
        if isinstance(answer, Generator):
            self._work = answer
            return self.go_on()
        return self._answer(answer)

    def go_on(self) -> str:
        """Work for a moment; return the answer, or the progress of the work."""
        if self._work is None:
            return self._tell({"error": "Nothing is under way."})
        try:
            said = next(self._work)
        except StopIteration as done:
            self._work = None
            return self._answer(done.value)
        except ValueError as sentence:
            self._work = None
            return self._tell({"error": complete_sentence(str(sentence))})
        return self._tell({"busy": said})

    def stop(self) -> str:
        """Stop the work in progress; the run stays as it was before."""
        if self._work is not None:
            self._work.close()
            self._work = None
        return self._tell({"error": "Stopped. The run is unchanged."})

    def _tell(self, answer: PageAnswer | Progress) -> str:
        return _line({"id": self._number, **answer})

    def _answer(self, answer: PageAnswer) -> str:
        if "branch" in answer:
            self._branches.append(answer["branch"])
        return self._tell(answer)

    def file(self, number: int, what: str, branch: int, step: int) -> str:
        """Make a file of the run: a page, a trace file or a test."""
        if self._lab is None:
            return _line({"id": number, "error": "No run is open yet."})
        payload = {**self._lab.payload, "branches": self._branches}
        try:
            return _line({"id": number, **file_of(what, payload, branch, step, self._lab)})
        except ValueError as sentence:
            return _line({"id": number, "error": f"The file could not be made: {sentence}"})


def compare(name: str, left: str, right: str) -> str:
    """Play a story under two designs, and return both with their differences.

    Raises:
        ValueError: if a name is unknown, or a design makes a part of the story impossible.
    """
    sides = [Lab(runs.play(name, design)).payload for design in (left, right)]
    lines = (line_of(sides[0], [], 0), line_of(sides[1], [], 0))
    return _line(compare_payloads(sides[0], sides[1], lines, (0, 0), (left, right)))


def search(name: str, design: str, faults: str, states_max: int = STATES_MAX) -> str:
    """Visit every state that a story's cluster can reach; return the result and links to the violations.

    Raises:
        ValueError: if a name or a fault is unknown, in one sentence.
    """
    story, chosen, budget = scenario_named(name), design_named(design), budget_of(faults)
    found = explore(story.searched.model(chosen, budget), min(states_max, STATES_MAX))
    examples: list[FoundExample] = []
    for example in found.counterexamples:
        run = runs.follow_found(story, chosen, budget, example.actions)
        run = run.at(run.trace.jump(run.trace.line[-1]))  # the link opens at the violation
        examples.append(
            {
                "property": example.property,
                "steps": len(example.actions),
                "link": permalink(run),
            }
        )
    searched: Searched = {"sentence": found.sentence, "examples": examples}
    return _line(searched)


def _line(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True)
