"""Read a story document: a head, a title, a sentence, and one heading for each beat.

    ---
    name: my-story                      its name
    clause: its source
    designs: [kafka]                    the first one is the default
    lanes: [app-1, B1, B3]              the hosts that are shown first
    untold: A title without its end     instead of a title that gives the answer away
    simplified: [replication]           what the cluster leaves out of Kafka, see `clusters_in_head`
    cluster: regular-group
    ---

    # The title

    One sentence on what it is about.

    ## A beat

    What happens in it, in one paragraph.

    - Watch: what to look at while it is played.

    Question: what is asked before it is played?

    - [x] the right answer
      > What to say to it.
    - [ ] another one
      > What to say to that.

    ```steps
    app-1 goes on
    quiet
    ```

    ## Checkpoints

    - saw the last stable offset held back: `lso held back`

`script` describes the steps, `kipviz.lessons.goals` the goals. The story's own programs stand between the sentence and
the first beat, in blocks that start with "```program NAME": Python (`python_program`), or lines with numbers
(`programs_in_text`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kipviz.cluster.specs.abstraction import KAFKA, Profile
from kipviz.cluster.specs.spec import ApplicationSpec
from kipviz.core.values import Value
from kipviz.designs.catalogue import design
from kipviz.designs.slot import UnknownDesign
from kipviz.scenarios.documents.bad_story import Wrong, not_known
from kipviz.scenarios.documents.blocks import (
    FENCE,
    HEADING,
    ITEM,
    PARAGRAPH,
    Block,
    read_blocks,
    split_head,
)
from kipviz.scenarios.documents.clusters_in_head import KEYS, read_cluster
from kipviz.scenarios.documents.head import HeadList, Keys, Node, Word, is_number, read_head
from kipviz.scenarios.documents.programs_in_text import programs_by_name, read_program
from kipviz.scenarios.documents.python_calls import CONSUMER, SHARE_CONSUMER
from kipviz.scenarios.documents.python_program import ReadProgram
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.teaching_notes import Checkpoint, Watch

NAME, ORDER, CLAUSE, DESIGNS, LANES = "name", "order", "clause", "designs", "lanes"
UNTOLD = "untold"
OF_STORIES = (NAME, ORDER, CLAUSE, DESIGNS, LANES, UNTOLD)
CHECKPOINTS = "Checkpoints"
WATCH = "Watch: "
QUESTION = "Question: "
STEPS, PROGRAM = "steps", "program "
RIGHT, OTHER = "[x] ", "[ ] "
LANES_MAX = 4
_CHECKPOINT = re.compile(r"(.+): `([^`]+)`")


class Document(Value, frozen=True):
    """A story as it was read.

    Attributes:
        scenario: the story.
        order: its position in the list of the library; a story without one comes last.
        steps: for each beat the line of each of its steps.
        goals: the line of each checkpoint.
        cluster: the line of the cluster.
        name: the line of the name.
    """

    scenario: Scenario
    order: int = 0
    steps: tuple[tuple[int, ...], ...] = ()
    goals: tuple[int, ...] = ()
    cluster: int = 1
    name: int = 1


class _Section(Value, frozen=True):
    """A heading and the blocks below it."""

    heading: Block
    blocks: tuple[Block, ...]


def read_story(text: str, file: str = "story", unnamed: Profile = KAFKA) -> Document:
    """Read a story document.

    Args:
        text: the whole document.
        file: its name in error messages.
        unnamed: the profile for a document that names neither a profile nor its simplifications.

    Raises:
        BadStory: if it is not a story; the message has the file, the line, and what is allowed there.
    """
    try:
        return _read(text, unnamed)
    except Wrong as wrong:
        raise wrong.of(file) from wrong


def _read(text: str, unnamed: Profile) -> Document:
    head, body = split_head(text)
    keys = read_head(head)
    for name, at, _ in keys.entries:
        if name not in OF_STORIES and name not in KEYS:
            raise Wrong(at, not_known("key", name, (*OF_STORIES, *KEYS)))
    sections = _sections(list(read_blocks(body)), len(head) + 3)
    title, *beats = sections
    said, programs, watched = _opening(title, has_beats=bool(beats))
    checkpoints: tuple[tuple[Checkpoint, int], ...] = ()
    if beats and beats[-1].heading.text == CHECKPOINTS:
        checkpoints = _checkpoints(beats.pop())
    read = [_beat(section, n) for n, section in enumerate(beats)]
    questions = [(question, at) for _, _, question, at, _ in read if question is not None]
    if len(questions) > 1:
        raise Wrong(questions[1][1], "a story has one question at most; this is the second one")
    if beats and watched:
        raise Wrong(title.heading.line, "in a story with beats a 'Watch:' belongs to a beat")
    of_cluster = tuple(entry for entry in keys.entries if entry[0] in KEYS)
    written = {name: found.program for name, (_, found) in programs.items()}
    cluster = read_cluster(Keys(keys.line, of_cluster), written, unnamed)
    spec = cluster.spec
    for name, (at, found) in programs.items():
        users = [app for app in spec.applications if app.program == found.program]
        if not users:
            apps = " or ".join(app.name for app in spec.applications)
            raise Wrong(
                at,
                f"no application runs the program {name!r}: write 'program: {name}' below {apps}",
            )
        for app in users:
            _check_consumer(app, found)
    scenario = Scenario(
        name=_text(keys, NAME),
        title=title.heading.text,
        sentence=said,
        clause=_text(keys, CLAUSE),
        spec=spec,
        beats=tuple(beat for beat, *_ in read),
        lanes=_lanes(
            keys, [*(f"B{b}" for b in spec.brokers), *(a.name for a in spec.applications)]
        ),
        designs=_designs(keys),
        question=questions[0][0] if questions else None,
        watch=(*watched, *(each for _, watch, *_ in read for each in watch)),
        checkpoints=tuple(checkpoint for checkpoint, _ in checkpoints),
        untold=_text(keys, UNTOLD) if keys.get(UNTOLD) else "",
        stated=cluster.stated,
    )
    return Document(
        scenario,
        _order(keys),
        tuple(steps for *_, steps in read),
        tuple(at for _, at in checkpoints),
        of_cluster[0][1] if of_cluster else 1,
        _require_key(keys, NAME).line,
    )


def _check_consumer(app: ApplicationSpec, found: ReadProgram) -> None:
    """Reject a program that calls a kind of consumer that its application does not have."""
    has = SHARE_CONSUMER if app.share else CONSUMER
    for line, called in found.consumers:
        if called != has:
            group = "a share group" if app.share else "a regular group"
            raise Wrong(line, f"{app.name} is in {group}: its consumer is {has!r}, not {called!r}")


# -- the head ----------------------------------------------------------------------------------


def _require_key(keys: Keys, name: str) -> Node:
    node = keys.get(name)
    if node is None:
        raise Wrong(keys.line, f"the head has no {name!r}: give {name}: ...")
    return node


def _text(keys: Keys, name: str) -> str:
    node = _require_key(keys, name)
    if not isinstance(node, Word):
        raise Wrong(node.line, f"{name} is one text, not a list or a map")
    return node.text


def _order(keys: Keys) -> int:
    node = keys.get(ORDER)
    if node is None:
        return 0
    if not isinstance(node, Word) or not is_number(node):
        raise Wrong(node.line, f"{ORDER} is a whole number")
    return int(node.text)


def _list(keys: Keys, name: str) -> tuple[Word, ...]:
    node = _require_key(keys, name)
    items = node.items if isinstance(node, HeadList) else ()
    words = tuple(each for each in items if isinstance(each, Word))
    if not words or len(words) < len(items):
        raise Wrong(node.line, f"{name} is a list such as [one, two], with at least one text")
    return words


def _different(name: str, words: tuple[Word, ...]) -> tuple[Word, ...]:
    """Return the words of a list, each of which may be in it once."""
    for at, word in enumerate(words):
        if word.text in [before.text for before in words[:at]]:
            raise Wrong(word.line, f"{name} has {word.text!r} twice")
    return words


def _designs(keys: Keys) -> tuple[str, ...]:
    words = _different(DESIGNS, _list(keys, DESIGNS))
    for word in words:
        try:
            design(word.text)
        except UnknownDesign as wrong:
            raise Wrong(word.line, str(wrong)) from wrong
    return tuple(word.text for word in words)


def _lanes(keys: Keys, hosts: Sequence[str]) -> tuple[str, ...]:
    words = _different(LANES, _list(keys, LANES))
    for word in words:
        if word.text not in hosts:
            raise Wrong(word.line, not_known("lane", word.text, hosts))
    if len(words) > LANES_MAX:
        raise Wrong(words[0].line, f"a story can show at most {LANES_MAX} lanes, not {len(words)}")
    return tuple(word.text for word in words)


# -- the body ----------------------------------------------------------------------------------


def _sections(blocks: Sequence[Block], first: int) -> list[_Section]:
    """Return the title's section and one for each heading below it."""
    if not blocks or blocks[0].kind != HEADING or blocks[0].level != 1:
        at = blocks[0].line if blocks else first
        raise Wrong(at, "the title must follow the head: '# The title'")
    found: list[_Section] = []
    for block in blocks:
        if block.kind != HEADING:
            last = found[-1]
            found[-1] = last.but(blocks=(*last.blocks, block))
            continue
        if found and block.level == 1:
            raise Wrong(block.line, "a story has one title; a beat's heading is '## A beat'")
        if block.level > 2:
            raise Wrong(block.line, "a beat's heading is '## A beat'; there are no smaller ones")
        if found and found[-1].heading.text == CHECKPOINTS:
            raise Wrong(block.line, f"'## {CHECKPOINTS}' is the last heading")
        found.append(_Section(block, ()))
    return found


def _opening(
    title: _Section, *, has_beats: bool
) -> tuple[str, dict[str, tuple[int, ReadProgram]], tuple[Watch, ...]]:
    """Return the sentence, the story's own programs, and the notes of a story without beats."""
    said, watched = "", []
    programs: dict[str, tuple[int, ReadProgram]] = {}
    for block in title.blocks:
        if block.kind == PARAGRAPH and not said:
            said = block.text
        elif block.kind == FENCE and block.text.startswith(PROGRAM):
            name = block.text.removeprefix(PROGRAM).strip()
            if name in programs or name in programs_by_name():
                raise Wrong(block.line, f"the program {name!r} already exists: choose another name")
            programs[name] = (block.line, read_program(block.lines, block.line))
        elif block.kind == ITEM and block.text.startswith(WATCH):
            watched.append(Watch(0, block.text.removeprefix(WATCH)))
        else:
            allowed = "one paragraph and blocks of programs ('```program NAME')"
            raise Wrong(block.line, f"only {allowed} may be between the title and the first beat")
    if not said:
        raise Wrong(title.heading.line, "one paragraph must follow the title: what the story shows")
    return said, programs, tuple(watched)


def _beat(
    section: _Section, number: int
) -> tuple[Beat, tuple[Watch, ...], Question | None, int, tuple[int, ...]]:
    """Return a beat, its notes, the question before it with its line, and the lines of its steps."""
    title = section.heading
    said, asked, at = "", "", 0
    watched, choices = [], []
    steps: list[tuple[int, str]] | None = None
    for block in section.blocks:
        if block.kind == PARAGRAPH and block.text.startswith(QUESTION) and not asked:
            asked, at = block.text.removeprefix(QUESTION), block.line
        elif block.kind == PARAGRAPH and not said:
            said = block.text
        elif block.kind == ITEM and block.text.startswith(WATCH):
            watched.append(Watch(number, block.text.removeprefix(WATCH)))
        elif block.kind == ITEM and block.text.startswith((RIGHT, OTHER)) and asked:
            choices.append(_choice(block))
        elif block.kind == FENCE and block.text == STEPS and steps is None:
            steps = [(line, text.strip()) for line, text in block.lines if text.strip()]
        else:
            raise Wrong(block.line, _not_in_a_beat(block))
    if not said:
        raise Wrong(title.line, f"the beat {title.text!r} has no paragraph that describes it")
    if not steps:
        raise Wrong(title.line, f"the beat {title.text!r} has no steps: write '```steps' and lines")
    if asked and not (any(c.right for c in choices) and len(choices) > 1):
        raise Wrong(at, f"a question has two choices or more, one of them right: '- {RIGHT}text'")
    question = Question(number, asked, tuple(choices)) if asked else None
    beat = Beat(title.text, said, tuple(text for _, text in steps))
    return beat, tuple(watched), question, at, tuple(line for line, _ in steps)


def _choice(block: Block) -> Choice:
    if not block.reply:
        raise Wrong(block.line, "a choice must be followed by its reply: '  > text'")
    return Choice(block.text[len(RIGHT) :], block.text.startswith(RIGHT), block.reply)


def _not_in_a_beat(block: Block) -> str:
    allowed = (
        "one paragraph, items '- Watch: text', a paragraph 'Question: text' with items '- [x] text' "
        "and '- [ ] text' below it, and one block '```steps'"
    )
    if block.kind == ITEM and _CHECKPOINT.fullmatch(block.text):
        return f"a checkpoint must be below the heading '## {CHECKPOINTS}', not in a beat"
    return f"this {block.kind} has no place in a beat: {block.text!r}. A beat has {allowed}"


def _checkpoints(section: _Section) -> tuple[tuple[Checkpoint, int], ...]:
    found = []
    for block in section.blocks:
        asked = _CHECKPOINT.fullmatch(block.text) if block.kind == ITEM else None
        if asked is None:
            raise Wrong(block.line, "a checkpoint is '- what was seen: `goal`'")
        found.append((Checkpoint(asked[1], asked[2]), block.line))
    return tuple(found)
