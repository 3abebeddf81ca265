"""A permalink: one line of text that opens a run again at this very step.

It contains actions, as a trace file does, a checksum of the fingerprints of all worlds, and two bits of each. The
checksum shows whether the model has changed since the link was made. The two bits show where: they differ at the first
changed step in three of four cases.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, assert_never

import msgspec

import kipviz
from kipviz.checking.judging.budgets import budget_of, budget_words
from kipviz.checking.judging.faults import FAULTS
from kipviz.checking.single_run.link_head import OWN, Head, read_head, write_head
from kipviz.checking.single_run.runs import Run
from kipviz.checking.single_run.seeded_run import Task
from kipviz.cluster.actions import ClusterAction
from kipviz.cluster.behaviour.catalogue import label
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.specs.spec import BadSpec, FaultBudget
from kipviz.cluster.world import World
from kipviz.core.links.bits import BadBits, letters_of
from kipviz.core.links.link import (
    LENGTH_MAX,
    MARK_SIZE,
    BadLink,
    CursorMark,
    Leg,
    Link,
    LinkStep,
    Part,
    SumOfMarks,
    Witness,
    check_of,
    crc_of_marks,
    link_of,
)
from kipviz.core.links.linkcode import read, write
from kipviz.core.model import NotEnabled
from kipviz.core.traces.trace import Node, Trace
from kipviz.core.values import fingerprint
from kipviz.core.written import ActionReader, action_to_json
from kipviz.designs.catalogue import design as design_named
from kipviz.designs.catalogue import to_propose
from kipviz.designs.slot import UnknownDesign
from kipviz.scenarios.library import carried, changed_since, document_of
from kipviz.scenarios.scenario import PROPERTIES, Scenario, at_levels
from kipviz.scenarios.script import Chapter
from kipviz.scenarios.setting_changes import settings_of_search, under

_actions = ActionReader(ClusterAction)


class TooLong(ValueError):
    """The run is too long for a permalink; the message says what to do instead."""


def is_link(text: str) -> bool:
    """Return whether a text has the form of a permalink rather than a scenario's name."""
    head, dot, _ = str(text).strip().partition(".")
    return bool(dot) and head[:2] == "kv" and head[2:].isdecimal()


# --- writing ---------------------------------------------------------------------------------------


def head_of(run: Run) -> str:
    """Return the head of a run's link, the part before its steps; "" if a link cannot open the run."""
    spec = run.model.spec
    try:
        text = document_of(run.scenario)
        story = carried(run.scenario.name, text)
        design = design_named(run.design.name)
        expected = at_levels(under(story, design, run.settings).spec, design)
        same = spec == expected.but(budget=spec.budget)
    except ValueError:
        return ""
    if not same or design != run.design or run.scenario.beats != story.beats:
        return ""
    dice = None
    if run.task is not None:
        dice = (run.task.faults, run.task.seed, run.task.steps_max)
    head = Head(
        story.name,
        design.name,
        _budget_words(story, run.budget),
        spec.kafka_version,
        kipviz.__version__,
        tuple(chapter.end for chapter in run.chapters),
        dice,
        run.settings,
        text,
    )
    return write_head(head)


def _budget_words(scenario: Scenario, budget: FaultBudget) -> str:
    """Return the shortest words for a budget: most are the scenario's own or a profile's."""
    if budget == scenario.spec.budget:
        return OWN
    return next((known.name for known in FAULTS if known.budget == budget), budget_words(budget))


def encode_pick(model: ClusterModel, before: World, action: ClusterAction) -> int | str:
    """Return the index of an action among the enabled ones, or the action as JSON if it is not enabled."""
    enabled = model.enabled(before)
    return enabled.index(action) if action in enabled else action_to_json(action).decode()


def mark_of(world: World) -> bytes:
    """Return the first bytes of a world's fingerprint."""
    return fingerprint(world)[:MARK_SIZE]


def mark_text(world: World) -> str:
    """Return a world's mark in base64url, as the page has it."""
    return letters_of(mark_of(world))


def permalink(run: Run) -> str:
    """Return the link to a run's current step, with the branch that leads to it.

    Raises:
        ValueError: if its scenario is not in the library.
        TooLong: if the link would be longer than mail and chat programs allow.
    """
    trace = run.trace
    chain: list[Leg] = []
    branches = {branch.tip: branch for branch in trace.branches()}
    by_id = {branch.id: branch for branch in branches.values()}
    branch = branches[trace.line[-1]]
    while True:
        own = trace.path(branch.tip)[branch.at :]
        chain.append(Leg(branch.at, tuple(_steps(run.model, [trace.node(n) for n in own]))))
        if branch.parent is None:
            break
        branch = by_id[branch.parent]
    return seal_link(head_of(run), mark_of(trace.node(0).world), trace.depth, chain[::-1])


def seal_link(head: str, start: bytes, step: int, chain: Sequence[Leg]) -> str:
    """Return the text of a link to a step on the path that branches lead to, and check its length.

    Raises:
        ValueError: if there is no head, because such a link could not be opened.
        TooLong: if it is longer than mail and chat programs allow.
    """
    if not head:
        raise ValueError(
            "a permalink names a scenario of the library or carries a story, and this run is of no such "
            "scenario: save it as a trace file"
        )
    text = write(link_of(head, start, step, chain))
    if len(text) > LENGTH_MAX:
        raise TooLong(
            f"the permalink would have {len(text):,} letters, and {LENGTH_MAX:,} is the most that "
            "travels safely: save the run as a trace file"
        )
    return text


def _steps(model: ClusterModel, nodes: list[Node]) -> list[tuple[int | str, bytes]]:
    return [
        (encode_pick(model, before.world, node.action), mark_of(node.world))
        for before, node in itertools.pairwise(nodes)
    ]


# --- opening ---------------------------------------------------------------------------------------


def open_link(text: str) -> Run:
    """Replay a permalink; the run's `changes` state where the model has changed since.

    Raises:
        BadLink: if the text is no complete permalink, or names an unknown story or design.
    """
    link = read(text)
    scenario, model, head = _open_head(link.head)
    replay = _Replay(model, link)
    if replay.changes:
        # Stories were once stepped on the cluster on which searches run: such a link opens there.
        older = _open_head(link.head, searched=True)
        again = _Replay(older[1], link)
        if not again.changes:
            (scenario, model, head), replay = older, again
    changes = replay.changes
    if head.kafka != model.spec.kafka_version:
        changes.insert(
            0,
            f"the permalink was made with a model of Kafka {head.kafka}, and this is one of Kafka "
            f"{model.spec.kafka_version}",
        )
    if changes and head.kipviz != kipviz.__version__:
        changes.append(f"it was made with kipviz {head.kipviz}, and this is {kipviz.__version__}")
    design = design_named(head.design)
    since = changed_since(head.story, lambda story: under(story, design, head.settings))
    task = None if head.dice is None else Task(head.scenario, head.design, *head.dice)
    chapters = _chapters(scenario, head.ends, link.parts[0].last)
    return Run(
        scenario,
        design,
        model,
        replay.trace,
        chapters,
        task,
        changes=(*since, *changes),
        settings=head.settings,
    )


def _open_head(text: str, *, searched: bool = False) -> tuple[Scenario, ClusterModel, Head]:
    """Return what a link's head names, or the same with the cluster on which searches run."""
    try:
        head = read_head(text)
        design = design_named(head.design)
        story = carried(head.scenario, head.story)
        if searched:
            head = head.but(settings=(*settings_of_search(story), *head.settings))
        scenario = under(story, design, head.settings)
        budget = None if head.budget == OWN else budget_of(head.budget)
        model = scenario.model(design, budget)
    except BadBits as wrong:
        raise BadLink(f"this permalink is not one of kipviz: {wrong}") from None
    except UnknownDesign as wrong:
        said = to_propose(wrong, head.design)
        raise BadLink(f"this permalink cannot be opened: {said}") from None
    except (ValueError, BadSpec) as wrong:
        raise BadLink(f"this permalink cannot be opened: {wrong}") from None
    return scenario, model, head


def _chapters(scenario: Scenario, ends: tuple[int, ...], last: int) -> tuple[Chapter, ...]:
    """Rebuild the big steps; return none if the story's steps have changed, so that small steps are shown."""
    begins = (0, *ends)
    rising = all(one <= other <= last for one, other in zip(begins, ends, strict=False))
    if len(ends) != len(scenario.beats) or not rising:
        return ()
    return tuple(
        Chapter(beat.title, beat.say, first, end)
        for beat, first, end in zip(scenario.beats, begins, ends, strict=False)
    )


class _Replay:
    """Replays the choices of a link, and records where the model now answers differently."""

    def __init__(self, model: ClusterModel, link: Link) -> None:
        self.model = model
        self.changes: list[str] = []
        self.trace = Trace.start(model, PROPERTIES)
        self._line = [0]  # the nodes of the branch so far
        self._differs: int | None = None  # the first step of the branch that differs from before
        self._marks = [mark_of(self.trace.world)]  # of the start and of every step taken
        self._check_bits = link.check_bits
        if self._marks[0][0] != link.start:
            self._note(0, "the initial state differs")
        for part in link.parts:
            self._follow(part)
        self.trace = self.trace.jump(self._line[-1])
        self.trace = self.trace.jump(self._line[min(link.step, len(self._line) - 1)])
        if not self.changes:
            self._compare(link.witness)

    def _compare(self, witness: Witness) -> None:
        """Compare the replayed worlds with the marks of the original worlds in the link."""
        match witness:
            case SumOfMarks(sum=then):
                if crc_of_marks(self._marks) != then:
                    self._note(self.trace.depth, "a state of the run differs")
            case CursorMark(mark=then):
                if mark_of(self.trace.world) != then:
                    step = self.trace.depth
                    self._note(step, f"the state at step {step} differs")
            case never:
                assert_never(never)

    def _follow(self, part: Part) -> None:
        """Take the steps of one part as far as possible."""
        if part.at >= len(self._line):
            self._note(
                part.at,
                f"the branch after step {part.at} is left out, because that step is missing",
            )
            return
        del self._line[part.at + 1 :]
        if self._differs is not None and self._differs > part.at:
            self._differs = None
        self.trace = self.trace.jump(self._line[-1])
        for step, taken in enumerate(part.taken, start=part.at + 1):
            why = self._take(taken)
            if why:
                self._note(step, f"step {step} is no longer possible ({why}); it is left out")
                return
            self._line.append(self.trace.cursor)
            self._marks.append(mark_of(self.trace.world))
            differs = check_of(self._marks[-1], self._check_bits) != taken.check
            if self._differs is None and differs:
                before = self.trace.node(self._line[-2]).world
                name = label(before, self.trace.action)
                self._note(step, f"step {step}, {name}, leads to another state than before")

    def _take(self, taken: LinkStep) -> str:
        """Take one step; return the reason if it is not possible."""
        action: Any
        if isinstance(taken.pick, str):
            try:
                action = _actions.read(taken.pick)
            except msgspec.DecodeError:
                return "there is no such action"
        else:
            enabled = self.model.enabled(self.trace.world)
            if taken.pick >= len(enabled):
                return f"it took choice {taken.pick + 1}, and there are {len(enabled)} now"
            action = enabled[taken.pick]
        try:
            self.trace = self.trace.take(action)
        except NotEnabled as wrong:
            return wrong.why
        return ""

    def _note(self, step: int, what: str) -> None:
        if self._differs is None or step < self._differs:
            self._differs = step
        self.changes.append(f"the model has changed since this permalink was made: {what}")
