"""Labs: exercises as Markdown documents, which are found by name.

    ---
    name: deliver-twice
    order: 10
    minutes: 8
    scenario: kip-1289-small
    design: repaired
    settings: [clock=timed]          the lab's changes to the scenario
    may-change: [lock_expiry]        what the learner may change, with * for several
    ---

    # The title

    The task, in paragraphs.

    ## Goals

    - What has to be reached: `reached delivered twice`

    ## Hints

    - One hint.

A goal has one of `KINDS` and its subject. No document has an answer. If the learner writes a program, the story to
start with has the lab's name in the folder `clients`.
"""

from __future__ import annotations

import textwrap
from functools import cache
from pathlib import Path

from kipviz.checking.judging.budgets import budget_of
from kipviz.core.outside.suggestions import unknown
from kipviz.core.values import Value
from kipviz.lessons.goals import GOALS, is_goal
from kipviz.lessons.own_story import Story, story
from kipviz.scenarios.documents.bad_story import Wrong, not_known
from kipviz.scenarios.documents.blocks import HEADING, ITEM, PARAGRAPH, read_blocks, split_head
from kipviz.scenarios.documents.head import HeadList, Keys, Word, read_head

FOLDER = Path(__file__).parent / "labs"
CLIENTS = Path(__file__).parent / "clients"
KEYS = ("name", "order", "minutes", "scenario", "design", "settings", "may-change")
# The kinds of goals; the subject follows the kind.
KINDS = {
    "reached": "a goal of `kipviz.lessons.goals` that holds at some step of the run",
    "committed": "a COMMIT marker in an output, at the end of the run",
    "holds": "no property is broken on the run, nor by what the cluster does next by itself",
    "breaks": "a property is broken on the run",
    "faults": "how many faults the run may have at most",
    "changes": "how many settings may be changed at most",
    "search": "the faults for which a whole search finds no broken property",
}
WITHOUT_WORDS = ("committed", "holds", "breaks")
WITH_NUMBER = ("faults", "changes")


class UnknownLab(ValueError):
    """No lab has this name; the message suggests the nearest one."""


class Goal(Value, frozen=True):
    """A goal: a sentence for the learner, a key of `KINDS`, and its subject."""

    text: str
    kind: str
    about: str = ""


class Lab(Value, frozen=True):
    """An exercise.

    Attributes:
        name: its name.
        title: its title.
        task: the learner's task, in paragraphs.
        minutes: the planned time.
        scenario: its scenario; that of the story if there is one.
        design: the design under which it is played.
        settings: the lab's changes to the scenario, each of the form name=value.
        may_change: the settings that the learner may change, with * for several.
        goals: the goals, in order.
        hints: the hints, from little to much help.
        document: the story that the learner changes, "" if the lab has none.
        order: its position in the list.
    """

    name: str
    title: str
    task: tuple[str, ...]
    minutes: int
    scenario: str
    design: str
    settings: tuple[str, ...]
    may_change: tuple[str, ...]
    goals: tuple[Goal, ...]
    hints: tuple[str, ...]
    document: str
    order: int

    @property
    def text(self) -> str:
        """The task and its goals as Markdown, without hints."""
        goals = "\n".join(f"- {goal.text}" for goal in self.goals)
        task = "\n\n".join(textwrap.fill(each, 100) for each in self.task)
        return f"**{self.title}** ({self.minutes} minutes)\n\n{task}\n\n{goals}\n"

    def start(self) -> Story | str:
        """Return the learner's starting point: the lab's own story, or the scenario's name."""
        return story(self.document) if self.document else self.scenario


@cache
def labs() -> tuple[Lab, ...]:
    """Return every lab, in the order of the course.

    Raises:
        BadStory: if a document is no lab; the message has the file and the line.
    """
    found = [read_lab(path.read_text(encoding="utf-8"), path.name) for path in FOLDER.glob("*.md")]
    return tuple(sorted(found, key=lambda lab: (lab.order, lab.name)))


def lab_named(name: str) -> Lab:
    """Find a lab by name.

    Raises:
        UnknownLab: if there is no such lab.
    """
    found = {lab.name: lab for lab in labs()}
    if name not in found:
        raise UnknownLab(unknown("lab", name, found, "`kipviz course`"))
    return found[name]


def read_lab(text: str, file: str) -> Lab:
    """Read the document of a lab.

    Raises:
        BadStory: if it is not one, with the file, the line, what is wrong and what is allowed.
    """
    try:
        return _read(text)
    except Wrong as wrong:
        raise wrong.of(file) from None


def _read(text: str) -> Lab:
    head_lines, body = split_head(text)
    head = read_head(head_lines)
    for key, line, _ in head.entries:
        if key not in KEYS:
            raise Wrong(line, not_known("key", key, KEYS))
    title, section = "", ""
    task: list[str] = []
    goals: list[Goal] = []
    hints: list[str] = []
    for block in read_blocks(body):
        if block.kind == HEADING and block.level == 1:
            title = block.text
        elif block.kind == HEADING:
            section = block.text
            if section not in ("Goals", "Hints"):
                raise Wrong(block.line, not_known("section", section, ("Goals", "Hints")))
        elif block.kind == PARAGRAPH and not section:
            task.append(block.text)
        elif block.kind == ITEM and section == "Goals":
            goals.append(_goal(block.text, block.line))
        elif block.kind == ITEM and section == "Hints":
            hints.append(block.text)
        else:
            raise Wrong(block.line, f"a lab has no such block here: {block.text!r}")
    if not (title and task and goals and hints):
        raise Wrong(1, "a lab has a title, a task, goals and hints")
    name = _word(head, "name")
    start = CLIENTS / f"{name}.md"
    document = start.read_text(encoding="utf-8") if start.is_file() else ""
    return Lab(
        name,
        title,
        tuple(task),
        _number(head, "minutes"),
        _word(head, "scenario"),
        _word(head, "design"),
        _words(head, "settings"),
        _words(head, "may-change"),
        tuple(goals),
        tuple(hints),
        document,
        _number(head, "order"),
    )


def _goal(text: str, line: int) -> Goal:
    said, colon, judge = text.rpartition(": `")
    kind, _, about = judge.removesuffix("`").partition(" ")
    if not colon or kind not in KINDS:
        raise Wrong(line, f"a goal ends with its judge in backticks: {', '.join(KINDS)}")
    if kind == "reached" and not is_goal(about):
        raise Wrong(line, not_known("goal", about, GOALS))
    if kind in WITH_NUMBER and not about.isdecimal():
        raise Wrong(line, f"{kind} must have a whole number, not {about!r}")
    if kind in WITHOUT_WORDS and about:
        raise Wrong(line, f"nothing may follow {kind}, but there is {about!r}")
    if kind == "search":
        try:
            budget_of(about)
        except ValueError as wrong:
            raise Wrong(line, str(wrong)) from None
    return Goal(said, kind, about)


def _word(head: Keys, key: str) -> str:
    node = head.get(key)
    if not isinstance(node, Word):
        raise Wrong(head.line, f"a lab's head has the key {key!r} with one value")
    return node.text


def _number(head: Keys, key: str) -> int:
    text = _word(head, key)
    if not text.isdecimal():
        raise Wrong(head.line, f"{key} must be a whole number, not {text!r}")
    return int(text)


def _words(head: Keys, key: str) -> tuple[str, ...]:
    node = head.get(key)
    if node is None:
        return ()
    if not isinstance(node, HeadList):
        raise Wrong(head.line, f"{key} must be a list, such as [one, two]")
    return tuple(item.text for item in node.items if isinstance(item, Word))
