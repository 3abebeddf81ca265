"""A trace of TLC, Apalache or Quint, read as the names of its actions: three formats, all of them untrusted input.

- ITF: JSON with "states". The action that led to a state stands in its variable `action` (as kipviz writes it), or in
  `mbt::actionTaken` and `mbt::nondetPicks` (as `quint run --mbt` does).
- TLC's `-dumpTrace json`: JSON with "action", pairs of states with the action between them.
- TLC's printed output: `State 2: <Step_app_1 line 631, col 3 to ... of module small>`, or `2: <...>` with -tool.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from kipviz.checking.tla.itf import ACTION, ORIGIN
from kipviz.core.outside.printable import escape_line
from kipviz.core.traces.tracefile import TraceFileError

BYTES_MAX = 64 * 1024 * 1024
STEPS_MAX = 20_000
LETTERS_MAX = 400

ACTION_TAKEN, PICKS = "mbt::actionTaken", "mbt::nondetPicks"
_NAMED_BY = (ACTION_TAKEN, ACTION, "action_taken", "actionTaken")
_PRINTED = re.compile(
    r"^(?:State )?(\d{1,9}): <([^\n]{1,2000}?)(?: line \d+, col \d+ to line \d+, col \d+ of module \w+)?>\s*$",
    re.MULTILINE,
)
_BEGINS = re.compile(rb"^(?:State )?1: <", re.MULTILINE)
_FIRST = 4096
_CALLED = re.compile(r"(\w+)\((.*)\)")
_ARGUMENT = re.compile(r'"((?:[^"\\]|\\.)*)"|(-?\d{1,9})|(TRUE|FALSE)')


class Named(msgspec.Struct, frozen=True, eq=False):
    """The action of one step as the trace names it, and its position in the trace.

    `given` are arguments by name, `listed` arguments in order; a trace has one of them or neither.
    """

    name: str
    place: str
    given: Mapping[str, Any] = {}
    listed: tuple[Any, ...] = ()


class Foreign(msgspec.Struct, frozen=True, eq=False):
    """A trace of another tool: its actions, what kipviz recorded about its origin, and the states of an ITF document."""

    tool: str
    steps: tuple[Named, ...]
    origin: Mapping[str, Any] | None = None
    states: tuple[Any, ...] = ()


def looks_foreign(data: bytes) -> bool:
    """Return whether a file is a trace of another tool: it has what such a trace has and kipviz's own lack."""
    if data.lstrip()[:1] == b"{":
        own = b'"format":"kipviz' in data[:_FIRST]
        return not own and (b'"states"' in data or (b'"state"' in data and b'"action"' in data))
    return _BEGINS.search(data) is not None


def read_foreign(path: str, data: bytes) -> Foreign:
    """Read a trace of another tool.

    Raises:
        TraceFileError: if it is not one, in one sentence.
    """
    if len(data) > BYTES_MAX:
        raise TraceFileError(f"{path} has more than {BYTES_MAX:,} bytes, more than any trace needs")
    if data.lstrip()[:1] != b"{":
        return _decode_printed(path, data)
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as wrong:
        raise TraceFileError(f"{path} is not JSON: {_first_line(wrong)}") from None
    if not isinstance(document, dict):
        raise TraceFileError(f"{path} is not a trace: it is not a JSON object")
    if isinstance(document.get("counterexample"), dict):
        document = document["counterexample"]
    if isinstance(document.get("states"), list):
        return _itf(path, document)
    if isinstance(document.get("action"), list):
        return _read_dump(path, document["action"])
    raise TraceFileError(
        f'{path} is not a trace: ITF has "states", what TLC dumps with -dumpTrace json has "action", and neither is there'
    )


# --- ITF -------------------------------------------------------------------------------------------


def _itf(path: str, document: Mapping[str, Any]) -> Foreign:
    states = document["states"]
    _check_count(path, len(states) - 1)
    meta = document.get("#meta")
    origin = meta.get(ORIGIN) if isinstance(meta, dict) else None
    if not states or not all(isinstance(state, dict) for state in states):
        raise TraceFileError(f"{path}: its states are not a list of objects")
    steps = tuple(_read_name(path, at, state) for at, state in enumerate(states) if at)
    return Foreign("ITF", steps, origin if isinstance(origin, dict) else None, tuple(states))


def _read_name(path: str, at: int, state: Mapping[str, Any]) -> Named:
    place = f"states[{at}]"
    said = next((state[key] for key in _NAMED_BY if key in state), None)
    try:
        said, picks = _plain(said), _plain(state.get(PICKS, {}))
    except (ValueError, RecursionError) as wrong:
        raise TraceFileError(f"{path}: {place} names an action by {_first_line(wrong)}") from None
    if isinstance(said, dict):
        name = said.get("name", said.get("tag"))
        given = said.get("arguments", said.get("value", {}))
    else:
        name, given = said, picks
    if not isinstance(name, str) or not name or len(name) > LETTERS_MAX:
        raise TraceFileError(
            f"{path}: {place} names no action: a trace names it in a variable called {ACTION}, or in "
            f"{ACTION_TAKEN}, as quint run --mbt writes it"
        )
    return Named(name, place, _unwrap_options(given) if isinstance(given, dict) else {})


def _unwrap_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Unwrap Quint's options: return the values that were picked."""
    found = {}
    for name, value in given.items():
        if isinstance(value, dict) and set(value) == {"tag", "value"}:
            if value["tag"] == "Some":
                found[name] = value["value"]
        else:
            found[name] = value
    return found


def _plain(value: Any) -> Any:
    """Return a value of ITF as a Python value.

    Raises:
        ValueError: if it is not a value of ITF.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, list):
        return tuple(map(_plain, value))
    if not isinstance(value, dict):
        raise ValueError(f"a {type(value).__name__}, which is not a value of ITF")  # noqa: TRY004
    match value:
        case {"#bigint": str() as digits} if re.fullmatch(r"-?\d{1,30}", digits):
            return int(digits)
        case {"#tup": list() as elements}:
            return tuple(map(_plain, elements))
        case {"#map": _} | {"#set": _} | {"#bigint": _} | {"#tup": _} | {"#unserializable": _}:
            raise ValueError("a value that cannot be an argument")
        case _:
            return {str(name): _plain(each) for name, each in value.items()}


# --- TLC -------------------------------------------------------------------------------------------


def _read_dump(path: str, actions: list[Any]) -> Foreign:
    _check_count(path, len(actions))
    steps: dict[int, Named] = {}
    for at, entry in enumerate(actions):
        match entry:
            case [[int(), dict()], {"name": str() as name} as said, [int() as number, dict()]]:
                given = said.get("context", {})
                place = f"action[{at}]"
                named = Named(name[:LETTERS_MAX], place, given if isinstance(given, dict) else {})
                steps.setdefault(number, named)
            case _:
                raise TraceFileError(
                    f"{path}: action[{at}] is not a state, an action and a state, as TLC's -dumpTrace json writes them"
                )
    return Foreign("TLC", tuple(steps[number] for number in sorted(steps)))


def _decode_printed(path: str, data: bytes) -> Foreign:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise TraceFileError(f"{path} is not text") from None
    steps = tuple(_lines(text))
    if not steps:
        raise TraceFileError(
            f"{path} is neither a trace file of kipviz nor a trace of TLC or in ITF: TLC prints a trace as lines such as "
            '"State 2: <Action line ...>"'
        )
    _check_count(path, len(steps))
    return Foreign("TLC", steps)


def _lines(text: str) -> Iterator[Named]:
    last, line, seen = 0, 1, 0
    for found in _PRINTED.finditer(text):
        line += text.count("\n", seen, found.start())
        seen = found.start()
        number, name = int(found[1]), found[2].strip()
        if number <= last:
            return  # the next trace of the same output, or the step back of a loop
        last = number
        if number == 1 or name == "Initial predicate":
            continue
        called = _CALLED.fullmatch(name)
        if called is None:
            yield Named(name[:LETTERS_MAX], f"line {line}")
        else:
            yield Named(called[1], f"line {line}", {}, tuple(_arguments(called[2])))


def _arguments(text: str) -> Iterator[Any]:
    for found in _ARGUMENT.finditer(text):
        if found[2] is not None:
            yield int(found[2])
        elif found[3] is not None:
            yield found[3] == "TRUE"
        else:
            yield re.sub(r"\\(.)", r"\1", found[1])


def _check_count(path: str, steps: int) -> None:
    if steps > STEPS_MAX:
        raise TraceFileError(
            f"{path} has {steps:,} steps; a trace that is opened has at most {STEPS_MAX:,}"
        )


def _first_line(wrong: Exception) -> str:
    return escape_line(str(wrong).partition("\n")[0])[:LETTERS_MAX] or type(wrong).__name__
