"""Nothing above a question that nobody answered gives its answer away: in each story, and in each notebook."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from kipviz.scenarios.library import LIBRARY, scenario
from kipviz.scenarios.scenario import Question, Scenario

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
ASKED = [story for story in LIBRARY if story.question is not None]
COMMON = frozenset(
    [
        "a",
        "about",
        "after",
        "again",
        "all",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "because",
        "been",
        "before",
        "but",
        "by",
        "can",
        "cannot",
        "could",
        "did",
        "do",
        "does",
        "for",
        "from",
        "had",
        "has",
        "have",
        "he",
        "her",
        "him",
        "his",
        "how",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "may",
        "might",
        "more",
        "most",
        "must",
        "no",
        "not",
        "nothing",
        "of",
        "on",
        "one",
        "only",
        "or",
        "other",
        "out",
        "over",
        "she",
        "should",
        "so",
        "still",
        "than",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "those",
        "to",
        "two",
        "until",
        "up",
        "was",
        "were",
        "what",
        "when",
        "where",
        "which",
        "while",
        "who",
        "whom",
        "why",
        "will",
        "with",
        "would",
        "yes",
        "right",
    ]
)
ERROR = re.compile(r"\b[A-Z]{3,}(?:_[A-Z]+)+\b")
SENTENCE = re.compile(r"(?<=[.;?!])\s+")
# Facts that were seen so far, from which an answer can be worked out: they have its words and do not tell it.
FACTS = {
    "kip-98-two-partitions": "output-A-0 accepts its batch",
    "kip-890-asked-together": "are about to write to output-A-0",
    "kip-939-released-only": "The producer asks for no time limit",
    "kip-1289-share-abort": "delivers offsets 100 and 101, and locks them",
    "kip-1289-flink-without-two-phase": "Broker 5 delivers record 100 and locks it",
    "kip-1289-ingress-polled": "Acknowledged, not drained, polled again",
}


def words(text: str) -> frozenset[str]:
    """The words of a text that say something, without their endings."""
    found = re.findall(r"[a-z_][a-z_-]+|\d+", text.lower())
    return frozenset(_stem(word) for word in found if word not in COMMON)


def _stem(word: str) -> str:
    ending = next((e for e in ("ing", "ed", "es", "s") if word.endswith(e)), "")
    return word.removesuffix(ending) if len(word) - len(ending) > 3 else word


def tells(sentence: str, question: Question) -> bool:
    """Whether a sentence names the error that is asked for, or says of what is asked all that only the right answer says."""
    (right,) = [choice for choice in question.choices if choice.right]
    if set(ERROR.findall(right.text)) & set(ERROR.findall(sentence)):
        return True
    asked = words(question.text)
    answer = words(right.text) - asked.union(
        *(words(c.text) for c in question.choices if not c.right)
    )
    said = words(sentence)
    return bool(answer) and answer <= said and 3 * len(said & asked) >= len(asked)


def above(story: Scenario) -> Iterator[str]:
    """What the page shows until the question is answered: `lesson.js` holds back the notes of the beat that is asked about."""
    assert story.question is not None
    yield story.untold or story.title
    yield story.sentence  # in the gallery and in listings
    for beat in story.beats[: story.question.beat]:
        yield beat.title
        yield beat.say
    yield from (note.text for note in story.watch if note.beat < story.question.beat)


def find_spoilers(story: Scenario, text: str) -> list[str]:
    """The sentences of a text that tell a story's answer."""
    assert story.question is not None
    fact = FACTS.get(story.name)
    each = SENTENCE.split(text)
    return [
        one
        for one in each
        if not one.rstrip().endswith("?")
        and tells(one, story.question)
        and not (fact and fact in one)
    ]


@pytest.mark.parametrize("story", ASKED, ids=[story.name for story in ASKED])
def test_nothing_that_a_story_shows_before_its_answer_tells_it(story: Scenario) -> None:
    assert [one for text in above(story) for one in find_spoilers(story, text)] == []


def test_a_title_that_tells_the_answer_is_found_and_another_one_stands_in_its_place() -> None:
    for name in ("kip-447-generation", "pain-rotated-away", "kip-1319-stale"):
        story = scenario(name)
        assert find_spoilers(story, story.title) == [story.title]
        assert find_spoilers(story, story.untold) == []


def test_only_a_story_with_a_question_has_another_title_until_it_is_answered() -> None:
    assert [story.name for story in LIBRARY if story.untold and story.question is None] == []


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_no_text_above_a_story_in_a_notebook_tells_the_answer_to_its_question(path: Path) -> None:
    """A story counts where it is opened at its start: one that is opened at its end was told. Earlier sections are known."""
    found = []
    read: list[str] = []
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            if re.search(r"^#+ ", cell.source, re.MULTILINE):
                read.clear()
            read.append(re.sub(r"<details>.*?</details>", "", cell.source, flags=re.DOTALL))
            continue
        for name in list_opened(cell.source):
            story = scenario(name)
            if story.question is not None:
                found += [(name, one) for text in read for one in find_spoilers(story, plain(text))]
    assert found == []


def list_opened(source: str) -> Iterator[str]:
    """The stories that a cell opens and leaves at their start."""
    last = ast.parse(source).body[-1:]
    for node in last:
        match node:
            case ast.Expr(ast.Call(ast.Attribute(attr="open"), [ast.Constant(str(name)), *_])):
                if any(story.name == name for story in LIBRARY):
                    yield name


def plain(text: str) -> str:
    """A cell's text without its marks: a paragraph, a row of a table, an entry of a list ends a sentence."""
    ended = re.sub(r"\n\s*(?=\n|[|-])|(?<=\|)\n", ". ", text)
    return re.sub(r"[*`#|]", " ", ended).replace("\n", " ")
