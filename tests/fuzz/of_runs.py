"""Targets that read what kipviz or a person wrote: saved runs, links, specs, stories, searches, values."""

from __future__ import annotations

import json
import random
import types
import typing
import zlib
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from kipviz.checking.search import saved_search
from kipviz.checking.search.saved_search import SearchFileError
from kipviz.checking.single_run import runs
from kipviz.checking.single_run.permalink import open_link
from kipviz.cluster.specs.spec import BadSpec, ClusterSpec
from kipviz.core.links.bits import bytes_of, letters_of
from kipviz.core.links.link import BadLink
from kipviz.core.serialization import NotAValue, deserialize, serialize
from kipviz.core.traces.trace import Trace
from kipviz.core.traces.tracefile import TraceFileError
from kipviz.core.values import digest_of
from kipviz.designs.catalogue import design
from kipviz.designs.options.options import UnknownDesign
from kipviz.lessons.goals import UnknownGoal
from kipviz.scenarios.documents.bad_story import BadStory
from kipviz.scenarios.documents.read import read_story
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.scenario import PROPERTIES, Scenario, Unplayable
from kipviz.scenarios.script import ScriptError
from kipviz.scenarios.setting_changes import BadChange, apply_changes
from kipviz.widgets.stepping.autosave import recover_run
from kipviz.widgets.stepping.lines import Lab
from tests.fuzz.corpus import PLACE
from tests.fuzz.fuzzing import Target
from tests.fuzz.mutation import ODD, as_json, of_bytes, of_json

SEARCHED = "kip-890-small"
# A name in the letters of a link that no story and no design has: a byte that is no UTF-8, and half a sign.
ODD_NAME = "~FF~00=~"


@cache
def _files(pattern: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted(PLACE.glob(pattern))]


# -- saved runs ------------------------------------------------------------------------------------


def _trace(dice: random.Random) -> bytes:
    data = dice.choice(_files("*.trace"))
    if not dice.randrange(4):
        return of_bytes(_files("*.trace"), dice)
    lines = data.splitlines()
    for _ in range(dice.choice((1, 1, 2))):
        at = dice.randrange(len(lines))
        lines[at] = as_json(of_json(json.loads(lines[at]), dice))
    return seal(lines)


def seal(lines: list[bytes]) -> bytes:
    """Give a saved run with a digest that fits its lines, as long as its last line can be read."""
    body = b"".join(line + b"\n" for line in lines[:-1])
    try:
        end = json.loads(lines[-1])
    except ValueError:
        end = None
    if isinstance(end, dict) and "digest" in end:
        end["digest"] = digest_of(body).hex()
        end |= {"checks": "", "seal": ""}
        return body + as_json(end) + b"\n"
    return body + lines[-1] + b"\n"


def _read_trace(data: bytes, folder: Path) -> object:
    path = folder / "run.trace"
    path.write_bytes(data)
    return Lab(runs.load(path)).payload


# -- kept runs -------------------------------------------------------------------------------------


def _kept_run(dice: random.Random) -> bytes:
    data = bytearray(dice.choice(_files("*.trace")))
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        at = dice.randrange(len(data))
        match dice.randrange(4):
            case 0:
                size = dice.choice((1, 4, 40, 400))
                data[at : at + size] = bytes(len(data[at : at + size]))
            case 1:
                del data[at : at + dice.choice((1, 100, len(data)))]
            case _:
                data[at] ^= 1 << dice.randrange(8)
    return bytes(data) or b"\n"


def _open_kept_run(data: bytes, folder: Path) -> object:
    """Read a damaged kept run: what comes of it is a part of what was saved, whatever the damage is."""
    path = folder / "run.kipviz"
    path.write_bytes(data)
    try:
        run = runs.load(path)
    except TraceFileError as wrong:
        run, said = recover_run(path, wrong)
        assert "was damaged" in said, said
    whole = _whole_runs()[run.scenario.name]
    assert actions_of(run) <= whole
    return Lab(run).payload


def actions_of(run: runs.Run) -> frozenset[tuple[Any, ...]]:
    """Give the actions that lead to every node of a run."""
    found = []
    for tree in run.trees:
        for id_ in range(len(tree.trace)):
            path = tree.trace.path(id_)
            found.append(tuple(tree.trace.node(node).action for node in path))
    return frozenset(found)


@cache
def _whole_runs() -> dict[str, frozenset[tuple[Any, ...]]]:
    whole = [runs.load(path) for path in sorted(PLACE.glob("*.trace"))]
    return {run.scenario.name: actions_of(run) for run in whole}


# -- links -----------------------------------------------------------------------------------------


@cache
def _first_links() -> list[bytes]:
    """The bytes of links of the first format, behind their checksum."""
    lines = (PLACE / "first_links.txt").read_text(encoding="ascii").split()
    return [bytes_of(line.removeprefix("kv1."))[4:] for line in lines]


@cache
def _links() -> list[tuple[str, str, bytes, bytes]]:
    """The story, the design, the rest of the head, and the bytes behind the checksum of every link."""
    found = []
    for line in (PLACE / "links.txt").read_text(encoding="ascii").split():
        _, story, chosen, head, letters = line.split(".")
        found.append((story, chosen, bytes_of(head), bytes_of(letters)[4:]))
    return found


def _link(dice: random.Random) -> bytes:
    text = _new_link(dice) if dice.randrange(3) else _first_link(dice)
    return text if dice.randrange(4) else of_bytes([text], dice)


def _new_link(dice: random.Random) -> bytes:
    story, chosen, head, body = dice.choice(_links())
    match dice.randrange(5):
        case 0:
            story, chosen = dice.choice(
                ((chosen, story), (ODD_NAME, chosen), (story, ODD_NAME), (story, "~2E~zz"))
            )
        case 1 | 2:
            head = of_bytes([each for _, _, each, _ in _links()], dice)
        case _:
            body = of_bytes([each for _, _, _, each in _links()], dice)
    before = f"kv2.{story}.{chosen}.{letters_of(head)}".encode()
    whole = zlib.crc32(body, zlib.crc32(before)).to_bytes(4, "big") + body
    return before + b"." + letters_of(whole).encode()


def _first_link(dice: random.Random) -> bytes:
    body = dice.choice(_first_links())
    if dice.randrange(2):  # the head: its length in seven bits to a byte, then JSON
        size, at = (body[0], 1) if body[0] < 0x80 else (body[0] & 0x7F | body[1] << 7, 2)
        head = as_json(of_json(json.loads(body[at : at + size]), dice))
        length = bytes((len(head) & 0x7F | 0x80, len(head) >> 7 & 0x7F))
        body = length + head + body[at + size :]
    else:
        body = of_bytes(_first_links(), dice)
    return b"kv1." + letters_of(zlib.crc32(body).to_bytes(4, "big") + body).encode()


def _read_link(data: bytes, _: Path) -> object:
    return Lab(open_link(data.decode("utf-8", "surrogateescape"))).payload


# -- specs and stories -----------------------------------------------------------------------------


def loosely(kind: Any, given: Any) -> Any:
    """Give what JSON says as values of a class, without a look at the types of their fields.

    So it is what somebody may write in Python: `Scenario("a name", None, ...)`.
    """
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        values = [
            one for one in inside if isinstance(given, dict) and hasattr(one, "__struct_fields__")
        ]
        return loosely(values[0], given) if values else _plain(given)
    if origin is tuple and isinstance(given, list):
        ends = len(inside) == 2 and inside[1] is Ellipsis
        kinds = [inside[0]] * len(given) if ends else [*inside, *[Any] * len(given)]
        return tuple(loosely(one, each) for one, each in zip(kinds, given, strict=False))
    if isinstance(given, dict) and hasattr(kind, "__struct_fields__"):
        known = {one.encode_name: one for one in msgspec.structs.fields(kind)}
        fields = {
            known[name].name: loosely(known[name].type, value)
            for name, value in given.items()
            if name in known
        }
        try:
            return kind(**fields)
        except TypeError:  # what a field lacks Python says itself
            return _plain(given)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next((one for one in kind if one.value == given), _plain(given))
    return _plain(given)


def _plain(given: Any) -> Any:
    return tuple(map(_plain, given)) if isinstance(given, list) else given


def _spec(dice: random.Random) -> bytes:
    return as_json(of_json(json.loads(dice.choice(_files("*.spec.json"))), dice))


def _read_spec(data: bytes, _: Path) -> object:
    told = json.loads(data)
    told = told if isinstance(told, dict) else {}
    story = searched_scenario("kip-1289-small")
    spec = loosely(ClusterSpec, told.get("spec", {}))
    if not isinstance(spec, ClusterSpec):
        return None
    chosen = design(story.designs[0])
    changes = told.get("changes", ())
    for change in changes if isinstance(changes, list) else ():
        try:
            apply_changes(story.spec, chosen, [change])
        except (BadChange, UnknownDesign):
            continue
    model = story.but(spec=spec).model(chosen)
    trace = Trace.start(model, PROPERTIES)
    for _ in range(20):
        enabled = model.enabled(trace.world)
        if not enabled:
            break
        trace = trace.take(enabled[0])
    return trace


def _story(dice: random.Random) -> bytes:
    document = json.loads(dice.choice(_files("*.story.json")))
    part = dice.choice(("beats", "beats", "spec", "all"))
    if part == "all":
        return as_json(of_json(document, dice))
    document[part] = of_json(document[part], dice)
    if part == "beats" and isinstance(document[part], list) and document[part]:
        beat = dice.choice(document[part])
        if isinstance(beat, dict) and isinstance(beat.get("steps"), list) and beat["steps"]:
            steps = beat["steps"]
            steps[dice.randrange(len(steps))] = dice.choice((*STEPS, *ODD))
    return as_json(document)


@cache
def _documents() -> list[str]:
    return [path.read_text(encoding="utf-8") for path in sorted(PLACE.glob("*.story.md"))]


def _document(dice: random.Random) -> bytes:
    text = dice.choice(_documents())
    if not dice.randrange(3):
        return of_bytes([each.encode() for each in _documents()], dice)
    lines = text.splitlines(keepends=True)
    for _ in range(dice.choice((1, 1, 2, 3))):
        at = dice.randrange(len(lines))
        match dice.randrange(5):
            case 0:
                del lines[at]
            case 1:
                lines.insert(at, dice.choice(lines))
            case 2:
                lines[at] = "  " + lines[at]
            case 3:
                lines[at] = (
                    dice.choice((*STEPS, "---", "```", "# ", "- ", "a: [", "x: {", ": ")) + "\n"
                )
            case _:
                head, colon, _ = lines[at].partition(":")
                lines[at] = f"{head}{colon} {dice.choice(ODD)!s:.60}\n"
        lines = lines or ["\n"]
    return "".join(lines).encode("utf-8", "surrogatepass")


def _read_document(data: bytes, _: Path) -> object:
    story = read_story(data.decode("utf-8", "replace")).scenario
    chosen = design(story.designs[0])
    trace, _ = story.play(chosen)
    return trace


STEPS = ("quiet", "quiet but *", "until *", "maybe *", "*", "[", "B1 | * are cut apart", "until [!")
STEPS += ("B1 | B1 are joined", "| are cut apart", "*" * 200, "quiet but " + "*a" * 60, "maybe ")


def _read_story(data: bytes, _: Path) -> object:
    story = loosely(Scenario, json.loads(data))
    if not isinstance(story, Scenario):
        return None
    chosen = design("repaired")
    trace, chapters = story.play(chosen)
    return Lab(runs.Run(story, chosen, story.model(chosen), trace.first(), chapters)).payload


# -- searches and values ---------------------------------------------------------------------------


def _search(dice: random.Random) -> bytes:
    (data,) = _files("*.search")
    if not dice.randrange(4):
        return of_bytes([data], dice)
    told = msgspec.msgpack.decode(data)
    name = dice.choice(list(told))
    if name == "graph":
        part = dice.choice(list(told[name]))
        told[name][part] = of_bytes([told[name][part], *told[name].values()], dice)
    else:
        told[name] = dice.choice(ODD)
    try:
        return msgspec.msgpack.encode(told)
    except (OverflowError, UnicodeEncodeError):  # msgpack has no such value
        return of_bytes([data], dice)


def _read_search(data: bytes, folder: Path) -> object:
    path = folder / "a.search"
    path.write_bytes(data)
    story = searched_scenario(SEARCHED)
    return saved_search.load(path, story.model(design(story.designs[0])))


def _value(dice: random.Random) -> bytes:
    return of_bytes(_files("*.value"), dice)


def _read_value(data: bytes, _: Path) -> object:
    value = deserialize(data)
    try:
        return serialize(value)
    except TypeError:  # a value of an odd kind is read, and refused where it is written
        return None


OF_RUNS = (TraceFileError, ValueError)

TARGETS = (
    Target("traces", "a saved run", _trace, _read_trace, (TraceFileError,), 200),
    Target("kept", "a damaged kept run", _kept_run, _open_kept_run, (TraceFileError,), 40),
    Target("links", "a permalink", _link, _read_link, (BadLink,), 300),
    Target(
        "specs",
        "a cluster and changes of its settings",
        _spec,
        _read_spec,
        (BadSpec, BadChange, Unplayable),
        150,
    ),
    Target(
        "stories",
        "a scenario of one's own",
        _story,
        _read_story,
        (BadSpec, BadChange, Unplayable, ScriptError, UnknownGoal),
        200,
    ),
    Target(
        "documents",
        "a story as a Markdown document",
        _document,
        _read_document,
        (BadStory, BadSpec, Unplayable, ScriptError, UnknownDesign),
        150,
    ),
    Target("searches", "an unfinished search", _search, _read_search, (SearchFileError,), 1_000),
    Target("values", "a value as bytes", _value, _read_value, (NotAValue,), 1_500),
)
