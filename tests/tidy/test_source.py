"""Rules for the source that no linter knows; each message says what to do instead."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
from collections import Counter
from pathlib import Path

import pytest

from kipviz.cluster.behaviour.catalogue import BEHAVIOURS
from kipviz.designs.catalogue import CATALOGUE
from kipviz.designs.options.options import SLOTS, STATUSES
from kipviz.messages.apis.catalogue import APIS
from tests.tidy.source import PACKAGE, ROOT, files, functions, name_of, public, tree

FUNCTION_LINES_MAX = 70
FILE_LINES_MAX = 600
# A file or function that is longer than it may be, and why it has to be. Better empty.
LONG: dict[str, str] = {}

BELOW_DESIGNS = ("core", "messages", "records", "brokers", "clients", "cluster", "clauses.py")
NO_ORDER_SEEN = (*BELOW_DESIGNS, "designs", "properties", "scenarios", "checking", "views")
# The methods of an action's behaviour are described once, in the class that all of them have in common.
OF_EVERY_ACTION = (
    *(
        "why_not",
        "comes_up",
        "possible_actions",
        "apply",
        "sentence",
        "looks_at",
        "name",
        "host",
        "lane",
        "title",
        "detail",
        "deadline_place",
        "at_deadline",
        "main_cause",
        "deadline_cause",
        "expiring_timer",
        "actor",
    ),
    *("of_process", "of_client", "of_connection", "of_new_role", "of_role"),
)
CLAUSES = {each.action.__name__: each.clause for each in BEHAVIOURS if each.clause is not None}
AS_FILE = pytest.mark.parametrize("path", files(), ids=name_of)


# -- sizes -------------------------------------------------------------------------------------


def test_a_file_can_be_read_in_one_sitting_and_a_function_fits_on_a_screen() -> None:
    long = []
    for path in files():
        lines = len(path.read_text(encoding="utf-8").splitlines())
        name = name_of(path)
        if lines > FILE_LINES_MAX and name not in LONG:
            long.append(f"{name} has {lines} lines: split it by what it is about")
        for node in functions(path):
            assert node.end_lineno is not None
            length = node.end_lineno - node.lineno + 1
            if length > FUNCTION_LINES_MAX and f"{name}:{node.name}" not in LONG:
                long.append(f"{node.name} in {name} has {length} lines: give its parts names")
    assert long == []


# -- words -------------------------------------------------------------------------------------

BANNED = {
    r"\bTODO\b": "do it, or write an issue",
    r"\bFIXME\b": "repair it, or write an issue",
    r"\bXXX\b": "say in a sentence what is special",
    r"\bHACK\b": "say in a sentence why it is needed",
    # A package of Kafka's own may be cited: org.apache.kafka.common.utils.Utils.
    r"(?<!common\.)\butils\b": "name it after what it is about",
}
NO_NAMES = ("utils", "util", "helpers", "helper", "common", "misc")


def test_no_word_stands_for_work_that_is_left() -> None:
    found = []
    for path in files():
        text = path.read_text(encoding="utf-8")
        for pattern, instead in BANNED.items():
            hit = re.search(pattern, text)
            if hit:
                found.append(f"{name_of(path)} says {hit.group()!r}: {instead}")
    assert found == []


def test_no_module_is_named_for_being_useful() -> None:
    for path in files():
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        assert not set(parts) & set(NO_NAMES), f"{name_of(path)}: name it after what it is about"


# Floors that are divided into rooms: brokers and clients by what Kafka calls their parts, the others by subject.
IN_ROOMS = (
    "brokers",
    "clients",
    "cluster",
    "views",
    "checking",
    "recordings",
    "studies",
    "messages",
    "messages/apis",
    "widgets",
    "command",
    "spark",
    "core",
    "scenarios",
    "serving",
    "designs",
    "properties",
)
NESTED = ("messages/apis",)
ROOM_MAX = 12


@pytest.mark.parametrize("floor", IN_ROOMS)
def test_a_room_is_seen_at_a_glance(floor: str) -> None:
    folders = [PACKAGE / floor, *(each for each in (PACKAGE / floor).iterdir() if each.is_dir())]
    sizes = {name_of(each): len({*each.glob("*.py")} - {each / "__init__.py"}) for each in folders}
    full = {name: size for name, size in sizes.items() if size > ROOM_MAX}
    assert len(sizes) > 1
    assert full == {}, "divide it by subject, and say in __init__.py what the new room is for"


@pytest.mark.parametrize("floor", IN_ROOMS)
def test_no_two_files_of_a_floor_have_one_name(floor: str) -> None:
    # Stored values name a class by floor and file, not by its room (core/serialization.py). Rows of APIs are not stored.
    within = [
        path
        for path in (PACKAGE / floor).rglob("*.py")
        if floor in NESTED or "apis" not in path.parts
    ]
    count = Counter(path.stem for path in within)
    assert [name for name, times in count.items() if times > 1 and name != "__init__"] == []


def test_the_top_level_holds_what_a_reader_looks_for_and_no_result_of_a_run() -> None:
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    tops = {name.split("/")[0] for name in done.stdout.splitlines() if "/" in name}
    assert tops == {".ci", ".github", "binder", "docs", "kipviz", "notebooks", "tests"}
    kinds = {Path(name).suffix for name in done.stdout.splitlines()}
    assert not kinds & {".crc", ".parquet", ".pyc", ".jar"}, "a run left it behind"


@pytest.mark.parametrize("folder", ["kipviz", "tests", "notebooks", "binder"])
def test_no_file_knows_the_machine_it_was_written_on(folder: str) -> None:
    places = re.compile(r"/(?:work|root|home/\w+)/(?:main|shared|\.)|/tmp/\w+/")
    kinds = {".py", ".js", ".css", ".html", ".ipynb", ".md", ".yml", ".toml", ".json"}
    for path in sorted((ROOT / folder).rglob("*")):
        if path.suffix not in kinds or "node_modules" in path.parts or path == Path(__file__):
            continue
        found = places.search(path.read_text(encoding="utf-8"))
        assert not found, f"{name_of(path)} names a place of one machine: {found.group()}"


# -- what is said of the code ----------------------------------------------------------------------


@AS_FILE
def test_everything_that_others_may_use_says_what_it_is(path: Path) -> None:
    assert ast.get_docstring(tree(path)), f"{name_of(path)} needs a sentence at its top"
    for name, node in public(tree(path).body):
        text = ast.get_docstring(node)
        if (
            path.parent.name == "behaviour" != path.stem
            and name.partition(".")[2] in OF_EVERY_ACTION
        ):
            continue
        assert text, f"{name} in {name_of(path)} needs a docstring: one sentence a learner reads"
        first = text.partition("\n\n")[0]
        assert first.rstrip().endswith((".", ":", "?", '"')), (
            f"{name} in {name_of(path)}: {first!r}"
        )


ROLES = (
    "transaction_coordinator",
    "group_coordinator",
    "share_coordinator",
    "share_partition_leader",
    "partition_leader",
)


@pytest.mark.parametrize("role", ROLES)
def test_a_role_says_who_it_is_in_kafka_how_durable_it_is_and_what_is_left_out(role: str) -> None:
    (path,) = (PACKAGE / "brokers").rglob(f"{role}.py")
    text = ast.get_docstring(tree(path)) or ""
    for word in ("WHO", "WHERE IN KAFKA", "KIPS", "DURABILITY", "NOT MODELLED"):
        assert re.search(rf"^{word}: ", text, re.MULTILINE), f"the header of {role} has no {word}"


@AS_FILE
def test_what_a_part_loses_and_leaves_out_begins_a_line_of_its_header(path: Path) -> None:
    text = ast.get_docstring(tree(path)) or ""
    run_on = re.findall(r"(?<=\S) (DURABILITY|NOT MODELLED): ", text)
    assert run_on == [], f"{name_of(path)}: begin a line with it, so that a reader finds it"


# -- designs stay out of what is below them -----------------------------------------------------------

# Names of options that are names of a role or a topic, too, and are meant as such below.
OTHER_MEANING = {"transaction_coordinator": "a role", "share_group_state": "a module of records"}


@pytest.mark.parametrize("path", files(*BELOW_DESIGNS), ids=name_of)
def test_nothing_below_the_designs_knows_the_name_of_an_option(path: Path) -> None:
    options = {option.name for slot in SLOTS for option in slot.options} - set(OTHER_MEANING)
    designs = {known.name for known in CATALOGUE}
    with io.BytesIO(path.read_bytes()) as source:
        for token in tokenize.tokenize(source.readline):
            text = token.string.strip("\"'")
            if token.type == tokenize.STRING:
                known = text in options | designs
            elif token.type == tokenize.NAME:
                # A single English word may be a name of its own: available, equal, greater.
                known = "_" in text and text in options
            else:
                known = False
            assert not known, (
                f"{name_of(path)}, line {token.start[0]} knows {text!r}: let the slot's function "
                "decide"
            )


def test_an_option_with_another_meaning_is_still_an_option() -> None:
    assert set(OTHER_MEANING) <= {option.name for slot in SLOTS for option in slot.options}


# -- order -------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", files(*NO_ORDER_SEEN), ids=name_of)
def test_nothing_goes_through_a_set_in_the_order_of_its_hashes(path: Path) -> None:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.For | ast.comprehension):
            over = node.iter
            is_set = isinstance(over, ast.Set | ast.SetComp) or (
                isinstance(over, ast.Call)
                and isinstance(over.func, ast.Name)
                and over.func.id in ("set", "frozenset")
            )
            assert not is_set, f"{name_of(path)}, line {over.lineno}: sort it, or use a dict"


# -- clauses -----------------------------------------------------------------------------------


def test_how_settled_a_thing_is_is_said_in_one_of_three_words() -> None:
    assert STATUSES == ("shipped", "draft", "our inference")
    for name, clause in CLAUSES.items():
        assert clause.status in STATUSES, name
        assert clause.clause, name
        assert clause.kafka, name
    for api in APIS:
        assert api.status in STATUSES, api.name


def test_a_rule_without_a_text_is_called_an_inference_and_one_with_a_class_is_not_a_draft() -> None:
    rules = [(name, c.clause, c.status, c.kafka) for name, c in CLAUSES.items()]
    rules += [(api.name, api.clause, api.status, api.kafka) for api in APIS]
    for name, clause, status, kafka in rules:
        if clause.startswith("none"):
            assert status == "our inference", name
        if status == "shipped":
            assert not kafka.startswith("none"), name
        else:
            assert kafka.startswith("none"), name


# -- exceptions --------------------------------------------------------------------------------


def test_an_exception_to_a_rule_is_still_needed_and_has_a_reason() -> None:
    names = {name_of(path): path for path in files()}
    for place, reason in LONG.items():
        file, _, function = place.partition(":")
        assert reason
        assert file in names
        if function:
            assert function in {node.name for node in functions(names[file])}
