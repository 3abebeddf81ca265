"""A reader's own story: a Markdown document that is checked, played, and found by its name."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path
from typing import Self

from kipviz.clients.application import Application
from kipviz.clients.program_source import number_in_source
from kipviz.cluster.behaviour.catalogue import script_name
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.specs.spec import BadSpec
from kipviz.cluster.world import World
from kipviz.core.outside import untrusted_file
from kipviz.core.outside.suggestions import nearest
from kipviz.core.traces.trace import Trace
from kipviz.designs.catalogue import design
from kipviz.lessons.goals import GOALS, is_goal
from kipviz.scenarios.documents.bad_story import BadStory, not_known, shorten_input
from kipviz.scenarios.documents.python_program import is_python
from kipviz.scenarios.documents.read import Document, read_story
from kipviz.scenarios.documents.wrong_key import find_wrong_key
from kipviz.scenarios.library import register_story
from kipviz.scenarios.scenario import PROPERTIES, Scenario, Unplayable
from kipviz.scenarios.script import HOSTS, QUIET, ScriptError, follow, quiet

IN_A_CELL = "the text"
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
NAMED_MAX = 12


class Story(str):
    """The name of a reader's own story, accepted by every function that takes a scenario's name.

    Attributes:
        scenario: the story itself.
    """

    __slots__ = ("scenario",)
    scenario: Scenario

    def __new__(cls, scenario: Scenario) -> Self:
        """Create the name of a scenario, which also holds the scenario."""
        made = super().__new__(cls, scenario.name)
        made.scenario = scenario
        return made

    def __reduce__(self) -> tuple[Callable[[Scenario], Story], tuple[Scenario]]:
        return _register_story, (self.scenario,)

    def __repr__(self) -> str:
        """Return the name, the title and the designs of the story."""
        story = self.scenario
        return f"story {story.name}: {story.title}; for {', '.join(story.designs)}"


def _register_story(scenario: Scenario) -> Story:
    """Register a story in another process, so that a worker finds it by its name."""
    register_story(Document(scenario))
    return Story(scenario)


def story(text_or_path: str | os.PathLike[str]) -> Story:
    """Read your own story, check it, and play it once under each design that it names.

    The story can then be opened, searched, compared and judged by the returned value, or by its name. Its saved runs
    and links contain the document. Reading a document runs no code from it.

    An application's program is one of the package's, or is in the document, in a block "```program NAME", as Python:
    calls such as `producer.begin_transaction()`, `while True`, `try` and `except`. It is read and not run; the model's
    clients make its calls, and the page highlights the line.

    Args:
        text_or_path: a document as described in `kipviz.scenarios.documents.read`, or the path of one.

    Example:
        >>> import kipviz
        >>> text = '''
        ... ---
        ... name: mine
        ... clause: my lecture
        ... designs: [repaired]
        ... lanes: [app-1, B5]
        ... simplified: [protocol, replication]
        ... cluster: share-group
        ... settings:
        ...   share_auto_offset_reset: earliest
        ... applications:
        ...   app-1:
        ...     like: share-member
        ...     max_records: 1
        ... ---
        ...
        ... # My story
        ...
        ... A member of a share group reads one record.
        ...
        ... ## The first poll
        ...
        ... Broker 5 delivers offset 100.
        ...
        ... ```steps
        ... app-1 goes on
        ... quiet
        ... app-1 goes on
        ... app-1 goes on
        ... quiet
        ... ```
        ... '''
        >>> kipviz.open(kipviz.story(text)).last_step
        11

    Raises:
        BadStory: if it is not a story or cannot be played; the message has the file, the line, what is wrong, what is
            possible there, and the position of each process.
        ValueError: if the file cannot be read.
    """
    text, file = _read_document(text_or_path)
    document = read_story(text, file)
    _check_name(document, file)
    _check_goals(document, file)
    for name in document.scenario.designs:
        _check_cluster(document, text, name, file)
        _check_play(document, name, file)
    try:
        register_story(document)
    except ValueError as wrong:
        raise BadStory(file, document.name, str(wrong)) from None
    return Story(document.scenario)


def _read_document(text_or_path: object) -> tuple[str, str]:
    """Return a document's text, and its name in error messages."""
    if isinstance(text_or_path, str) and ("\n" in text_or_path or not text_or_path.strip()):
        return text_or_path.lstrip("\n"), IN_A_CELL
    if not isinstance(text_or_path, str | os.PathLike) or "\0" in str(text_or_path):
        raise ValueError(
            f"a story must be a text or a path, such as 'my-story.md', not {text_or_path!r}"
        )
    path = Path(text_or_path)
    try:
        return untrusted_file.read(path).decode(), str(path)
    except OSError as wrong:
        raise ValueError(f"{path} cannot be read: {wrong.strerror or wrong}") from None
    except UnicodeDecodeError as wrong:
        line = wrong.object[: wrong.start].count(b"\n") + 1
        raise BadStory(str(path), line, "this line is not text in UTF-8") from None


def _check_goals(document: Document, file: str) -> None:
    for checkpoint, line in zip(document.scenario.checkpoints, document.goals, strict=True):
        if not is_goal(checkpoint.goal):
            raise BadStory(file, line, not_known("goal", checkpoint.goal, GOALS))


def _check_name(document: Document, file: str) -> None:
    name = document.scenario.name
    if not _NAME.fullmatch(name):
        allowed = "a name is in lower case letters, digits and dashes, such as my-story"
        raise BadStory(file, document.name, f"{allowed}, not {shorten_input(name)!r}")


def _check_cluster(document: Document, text: str, under: str, file: str) -> None:
    """Reject a cluster that is impossible under a design, at the key that makes it so."""

    def why_not(story: Scenario) -> str:
        try:
            story.model(design(under))
        except (BadSpec, Unplayable) as wrong:
            return str(wrong)
        return ""

    try:
        document.scenario.model(design(under))
    except Unplayable as wrong:
        raise BadStory(file, document.cluster, str(wrong)) from None
    except BadSpec as wrong:
        at = find_wrong_key(text, why_not)
        if at is None:
            raise BadStory(file, document.cluster, str(wrong)) from None
        what = str(wrong)
        raise BadStory(file, at.line, what if at.key in what else f"{at.key}: {what}") from None


def _check_play(document: Document, under: str, file: str) -> None:
    story = document.scenario
    model = story.model(design(under))
    trace = Trace.start(model, PROPERTIES)
    for beat, lines in zip(story.beats, document.steps, strict=True):
        for step, line in zip(beat.steps, lines, strict=True):
            try:
                trace = follow(trace, model, step, beat.title)
            except ScriptError as wrong:
                raise BadStory(file, line, _why(trace, model, step, under, wrong)) from wrong


def _why(trace: Trace, model: ClusterModel, step: str, under: str, wrong: ScriptError) -> str:
    """Return why a step cannot be taken, the nearest and all possible steps, and the position of each process."""
    if HOSTS.fullmatch(step):
        return f"{wrong}.{_places(trace.world)}".removesuffix(".")
    pattern = step.removeprefix("until ").removeprefix("maybe ")
    similar = [QUIET]
    if step.startswith("until "):
        before = len(trace.line)
        trace = quiet(trace, model, pattern)
        taken = [trace.node(number) for number in trace.line[before - 1 :]]
        similar = [script_name(one.world, two.action) for one, two in pairwise(taken)]
    possible = tuple(script_name(trace.world, action) for action in model.enabled(trace.world))
    found = [each for each in possible if fnmatchcase(each, pattern)]
    if found:
        told = f"{step!r} matches {len(found)} actions; write one of them: {_render_names(found)}."
    else:
        told = f"{step!r} is not possible here under {under}."
        if possible:
            told += f" Did you mean {nearest(pattern, (*possible, *similar))[0]!r}?"
        told += f" Possible: {_render_names(possible)}."
    return (told + _places(trace.world)).removesuffix(".")


def _render_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
    return f"{'; '.join(names[:NAMED_MAX]) or 'nothing'}{more}"


def _place(app: Application) -> str:
    """Return the line of a program at which a process is, numbered as in its own text: from 0 if that has numbers."""
    if app.line >= len(app.program):
        return "its end"
    line = app.program[app.line]
    written = is_python(app.program)
    number = number_in_source(app.program, app.line) if written else app.line
    return f"line {number}: {line.text.strip()}"


def _places(world: World) -> str:
    """Return for each process the line of its program."""
    told = ""
    for name, app in world.applications.items():
        told += f" {name} is at {_place(app)}" if app.alive else f" {name} is down."
    return told
