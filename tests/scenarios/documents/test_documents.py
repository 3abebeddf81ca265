"""Stories as Markdown documents: all that the package has, and the mistakes that a teacher makes."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import mistune
import pytest
import yaml

import kipviz
from kipviz.brokers.settings import BrokerSettings
from kipviz.clients.application import Call, Line
from kipviz.cluster.specs.spec import Durations, FaultBudget, PlainSpec, SessionSpec
from kipviz.cluster.timing.clock import Clock
from kipviz.messages.shares.share_groups import AcknowledgeType
from kipviz.scenarios import library
from kipviz.scenarios.bases import CLUSTERS, PROCESSES
from kipviz.scenarios.documents.bad_story import BadStory
from kipviz.scenarios.documents.blocks import split_head
from kipviz.scenarios.documents.head import HeadList, Keys, Node, read_head
from kipviz.scenarios.documents.read import Document, read_story
from kipviz.scenarios.documents.write import write_story
from kipviz.scenarios.library import LIBRARY, UnknownScenario, document, scenario
from kipviz.scenarios.scenario import Choice, Question
from kipviz.scenarios.script import Beat
from kipviz.scenarios.teaching_notes import Checkpoint, Watch
from kipviz.spark.workers.package_archive import package_zip

FOLDER = Path(library.__file__).parent / "stories"
FILES = sorted(FOLDER.rglob("*.md"))
ROOMS = sorted({path.parent.name for path in FILES})
AS_ROOM = pytest.mark.parametrize("room", ROOMS)


def texts(room: str) -> dict[str, str]:
    return {
        path.stem: path.read_text(encoding="utf-8") for path in FILES if path.parent.name == room
    }


# -- the stories of the package ----------------------------------------------------------------


@AS_ROOM
def test_every_story_is_written_in_the_one_form_that_the_writer_gives(room: str) -> None:
    for name, text in texts(room).items():
        assert write_story(read_story(text, name)) == text, name


def test_every_document_is_in_the_library_and_stands_where_its_order_says() -> None:
    assert {path.stem for path in FILES} == {story.name for story in LIBRARY}
    orders = [document(story.name).order for story in LIBRARY]
    assert orders == sorted(orders)
    assert len(set(orders)) == len(orders)
    assert orders[0] > 0


def test_a_room_holds_the_stories_that_begin_with_its_name() -> None:
    for path in FILES:
        assert path.stem.startswith(f"{path.parent.name}-"), path


@AS_ROOM
def test_another_yaml_reader_reads_the_same_data_from_every_head(room: str) -> None:
    def plain(node: Node) -> object:
        if isinstance(node, Keys):
            return {name: plain(inner) for name, _, inner in node.entries}
        if isinstance(node, HeadList):
            return [plain(each) for each in node.items]
        return node.text if node.quoted else yaml.safe_load(node.text)

    for name, text in texts(room).items():
        head, _ = split_head(text)
        ours = plain(read_head(head))
        theirs = yaml.load("\n".join(line for _, line in head), yaml.BaseLoader)
        assert words(ours) == words(theirs), name
        assert ours == words_of_keys(yaml.safe_load("\n".join(line for _, line in head))), name


def words(data: object) -> object:
    """The same data with every value as the text that it is written with."""
    if isinstance(data, dict):
        return {str(key): words(value) for key, value in data.items()}
    if isinstance(data, list):
        return [words(each) for each in data]
    return {True: "true", False: "false", None: "null"}.get(data) if _is_sign(data) else str(data)


def _is_sign(data: object) -> bool:
    return data is None or isinstance(data, bool)


def words_of_keys(data: object) -> object:
    """The same data with every key as a text: a broker's number is one in a head."""
    if isinstance(data, dict):
        return {str(key): words_of_keys(value) for key, value in data.items()}
    return [words_of_keys(each) for each in data] if isinstance(data, list) else data


class _Shown(HTMLParser):
    """What a forge shows of a document, and with which tags."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


@AS_ROOM
def test_a_forge_shows_every_word_of_a_story_as_it_is_written(room: str) -> None:
    for name, text in texts(room).items():
        _, body = split_head(text)
        shown = _Shown()
        shown.feed(str(mistune.html("\n".join(line for _, line in body))))
        assert shown.tags <= {"h1", "h2", "p", "ul", "li", "blockquote", "pre", "code"}, name
        seen = " ".join(shown.text.split())
        story = scenario(name)
        said = [story.title, story.sentence, *(w.text for w in story.watch)]
        for beat in story.beats:
            said += [beat.title, beat.say, *beat.steps]
        if story.question is not None:
            said += [story.question.text, *(c.say for c in story.question.choices)]
        for sentence in said:
            assert sentence in seen, (name, sentence)


def test_every_cluster_and_kind_of_process_that_a_head_may_name_is_named_by_a_story() -> None:
    whole = "\n".join(path.read_text(encoding="utf-8") for path in FILES)
    assert set(re.findall(r"^cluster: (.+)$", whole, re.MULTILINE)) == set(CLUSTERS)
    assert set(re.findall(r"^    like: (.+)$", whole, re.MULTILINE)) == set(PROCESSES)


def test_prose_of_a_story_has_no_line_of_more_than_a_hundred_characters() -> None:
    for path in FILES:
        _, body = split_head(path.read_text(encoding="utf-8"))
        fenced = False
        for at, line in body:
            fenced ^= line.startswith("```")
            prose = not fenced and not line.startswith("#")
            assert not prose or len(line) <= 100, f"{path.name}:{at}"


def test_only_what_is_asked_for_is_read() -> None:
    program = (
        "from kipviz.scenarios import library\n"
        "assert library.scenario('kip-1289-small').name == 'kip-1289-small'\n"
        "print(library._own.cache_info().currsize)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "1\n"


def test_a_worker_finds_the_stories_in_the_zip_that_it_is_sent(tmp_path: Path) -> None:
    program = (
        "import kipviz; from kipviz.scenarios.library import LIBRARY, scenario\n"
        "print('kipviz.zip' in kipviz.__file__, len(LIBRARY), scenario('kip-1289-small').title)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(package_zip(tmp_path))},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == f"True {len(LIBRARY)} {scenario('kip-1289-small').title}\n", done.stderr


# -- what no story of the package says ------------------------------------------------------------


def test_a_story_is_the_same_after_it_was_written_and_read_whatever_its_fields_say() -> None:
    small = scenario("kip-1289-small")
    (app,) = small.spec.applications
    program = (
        Line(
            'poll(); // a "quote", a colon: and a backslash \\',
            Call.POLL,
            verdicts=((100, AcknowledgeType.REJECT), (-1, AcknowledgeType.RELEASE)),
            client='a "client"',
            target="a, b: c",
            metadata=False,
            rethrows=("A", "B"),
        ),
        Line("x", Call.COMMIT_SYNC, then=0, on_error=1),
    )
    app = app.but(
        program=program,
        session=SessionSpec(("producer", "other"), 9_000),
        plain=PlainSpec(idempotence=False, max_in_flight=3),
        later_assignors=(("range", "sticky"), ()),
        tasks=("true", "12", "null", "", "a: b", " b", "#", "é"),
        two_phase_commit=True,
    )
    spec = small.spec.but(
        applications=(app, app.but(name="twin")),
        brokers=(1,),
        placements=(),
        budget=FaultBudget(cut=7),
        settings=BrokerSettings(dead_letter_prefix="", transactional_ids_expire=True),
        clock=Clock("timed", 5, "next"),
        durations=Durations(retry_backoff_ms=1),
        acls=(),
        releases=((1, "4.4"),),
        splits=("B1 | *",),
        transactional_group_id=True,
        internal_partitions=3,
    )
    story = small.but(
        name="made-up",
        title="#1: `a` *b* _c_",
        sentence="- not a list " + "12. - + > # = | ~ ``` < word " * 12 + "end",
        clause="it's: 'quoted' # no comment",
        spec=spec,
        beats=(Beat("--list", "102. A number", ("quiet", "maybe * | B[12]")),),
        question=Question(
            0, "\\- why?", (Choice("> a", True, "1) b"), Choice("[x] c", False, "d"))
        ),
        watch=(Watch(0, "* a star"),),
        checkpoints=(Checkpoint("saw `x`: `y`", "broker crashed"),),
        lanes=("twin", "B1"),
        designs=("repaired+lock_expiry=back_to_available",),
    )
    text = write_story(Document(story))
    assert read_story(text).scenario == story
    assert write_story(read_story(text)) == text


# -- mistakes ----------------------------------------------------------------------------------

GOOD = """\
---
name: mine
clause: my lecture
designs: [kafka]
lanes: [app-1, B1]
cluster: regular-group
applications:
  app-1:
    like: group-member
    program: group-loop
---

# My story

What it shows.

## The first beat

What happens.

- Watch: the log.

Question: what comes?

- [x] this
  > Right.
- [ ] that
  > No.

```steps
app-1 goes on
```

## Checkpoints

- saw it: `complete`
"""


def test_the_document_that_the_mistakes_are_made_in_is_a_story() -> None:
    read = read_story(GOOD, "mine.md")
    assert read.scenario.beats[0].steps == ("app-1 goes on",)
    assert read.steps == ((31,),)
    assert read.goals == (36,)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "designs: [kafka]",
            "desings: [kafka]",
            "4: unknown key 'desings'. Did you mean 'designs'?",
        ),
        ("[kafka]", "[kafak]", "4: there is no design 'kafak'; nearest are kafka"),
        ("[kafka]", "kafka", "4: designs is a list such as [one, two]"),
        ("[kafka]", "[kafka", "4: the list '[kafka' does not end with a bracket"),
        ("[app-1, B1]", "[app-2, B1]", "5: unknown lane 'app-2'. Did you mean 'app-1'?"),
        ("[app-1, B1]", "[app-1, B1, app-1]", "5: lanes has 'app-1' twice"),
        ("[kafka]", "[kafka, kafka]", "4: designs has 'kafka' twice"),
        ("## Checkpoints\n", "", "35: a checkpoint must be below the heading '## Checkpoints'"),
        ("[app-1, B1]", "[B1, B3, B4, B5, app-1]", "5: a story can show at most 4 lanes, not 5"),
        ("regular-group", "regular", "6: unknown cluster 'regular'. Did you mean 'regular-group'?"),
        ("like: group-member", "like: member", "9: unknown process 'member'. Did you mean"),
        ("program: group-loop", "program: loop", "10: unknown program 'loop'. Did you mean"),
        (
            "program: group-loop",
            "max_records: two",
            "10: max_records must be a whole number, not 'two'",
        ),
        ("program: group-loop", "share: maybe", "10: unknown value of share 'maybe'"),
        ("program: group-loop", "max_record: 2", "10: unknown key 'max_record'. Did you mean"),
        ("    like: group-member\n", "", "8: the key 'transactional_id' is missing"),
        ("clause: my lecture\n", "", "2: the head has no 'clause': give clause: ..."),
        (
            "clause: my lecture",
            "clause: a: b",
            '3: a text with one of these characters must be in quotes: "a',
        ),
        ("clause: my lecture", "name: again", "3: the key 'name' is given twice"),
        ("  app-1:", "   app-1:", "7: the key 'applications' has no value"),
        ("# My story", "My story", "13: the title must follow the head: '# The title'"),
        ("\nWhat it shows.\n", "", "13: one paragraph must follow the title"),
        ("## Checkpoints", "# Another", "34: a story has one title"),
        ("```steps\napp-1 goes on\n```\n", "", "17: the beat 'The first beat' has no steps"),
        ("app-1 goes on\n", "", "17: the beat 'The first beat' has no steps"),
        (
            "What happens.\n",
            "",
            "17: the beat 'The first beat' has no paragraph that describes it",
        ),
        ("```\n\n## Checkpoints", "\n\n## Checkpoints", "30: the block '```steps' does not end"),
        ("```steps", "```step", "30: this fence has no place in a beat: 'step'"),
        ("- Watch: the log.", "- the log.", "21: this item has no place in a beat: 'the log.'"),
        ("- Watch: the log.", "And more.", "21: this paragraph has no place in a beat"),
        ("- Watch: the log.", "| a | b |", "21: this line is not a paragraph, list, heading"),
        ("- [x] this", "- [ ] this", "23: a question has two choices or more, one of them right"),
        ("  > Right.\n", "", "25: a choice must be followed by its reply"),
        ("- saw it: `complete`", "- saw it", "36: a checkpoint is '- what was seen: `goal`'"),
        (
            "What it shows.\n",
            "What it shows.\n\n```program p\n0 poll: x\n```\n",
            "17: no application runs",
        ),
        (
            "What it shows.\n",
            "What it shows.\n\n```program p\n0 pol: x\n```\n",
            "18: unknown call 'pol'",
        ),
        (
            "What it shows.\n",
            "What it shows.\n\n```program p\n0 poll, them 1: x\n```\n",
            "18: unknown part",
        ),
        ("---\n\n#", "\n\n#", "1: the head does not end"),
    ],
)
def test_a_mistake_is_told_with_its_file_and_line_and_what_is_allowed(old, new, says) -> None:
    assert GOOD.count(old) >= 1
    with pytest.raises(BadStory) as told:
        read_story(GOOD.replace(old, new, 1), "mine.md")
    assert str(told.value).startswith(f"mine.md:{says}")
    assert "\n" not in str(told.value)


def test_a_second_question_is_refused_where_it_stands() -> None:
    start, end = GOOD.index("## The first"), GOOD.index("## Checkpoints")
    with pytest.raises(BadStory, match=r"^mine.md:40: a story has one question at most"):
        read_story(GOOD[:end] + GOOD[start:end] + GOOD[end:], "mine.md")


def test_two_files_of_one_name_and_a_name_that_is_not_its_file_s_are_refused(
    tmp_path: Path,
) -> None:
    for room in ("a", "b"):
        (tmp_path / room).mkdir()
        (tmp_path / room / "mine.md").write_text(GOOD, encoding="utf-8")
    with pytest.raises(BadStory, match=r"b/mine.md:1: there are two stories 'mine': .*a/mine.md"):
        library.documents_in(tmp_path)
    (tmp_path / "a" / "yours.md").write_text(GOOD, encoding="utf-8")
    with pytest.raises(BadStory, match=r"yours.md:2: the story 'mine' belongs in a file mine.md"):
        library.read_document(tmp_path / "a" / "yours.md")


def test_a_name_that_there_is_not_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownScenario, match="nearest are kip-1289-small"):
        scenario("kip-1289-smal")


def test_the_worked_example_of_contributing_is_a_story_in_its_one_form_and_plays(
    monkeypatch,
) -> None:
    monkeypatch.setattr(library, "_brought", {})
    guide = (Path(__file__).parents[3] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    part = guide[guide.index("    ---\n    name: ") : guide.index("A beat is a heading,")]
    text = "".join(line.removeprefix("    ") for line in part.splitlines(keepends=True))
    text = text.rstrip("\n") + "\n"
    read = read_story(text)
    assert write_story(read) == text
    assert kipviz.story(text).scenario == read.scenario


@pytest.mark.parametrize("line", ["x:{}", "x:{}\x85", "  -{}", "#{}", "#{}\x85", "## a{}\x85"])
@pytest.mark.parametrize("before", ["clause:", "## "])
def test_a_line_of_a_hundred_thousand_spaces_is_read_in_linear_time(line, before):
    text = (FOLDER / "pain" / "pain-vanished.md").read_text(encoding="utf-8")
    at = text.index(f"\n{before}") + 1
    began = time.process_time()
    with contextlib.suppress(BadStory):  # in a block it may stand
        read_story(f"{text[:at]}{line.format(' ' * 100_000)}\n{text[at:]}")
    assert time.process_time() - began < 5  # a backtracking expression needs a minute
