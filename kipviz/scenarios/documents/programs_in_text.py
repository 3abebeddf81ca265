"""Programs in story documents: by the name of one in the package, as Python, or line by line.

`python_program` describes programs in Python. A block whose lines start with numbers has a line for each call: its
number, its call and, after a colon, the line of source that a reader sees:

    0 initTransactions: producer.initTransactions();
    1 poll: records = consumer.poll(Duration.ofSeconds(5));
    2 send, client "producer-2", target "audit-0": producer2.send(output(records));
    3 commitTransaction, then 1, on error 4: producer.commitTransaction();
    4 abortTransaction, then 1, rethrows ProducerFencedException: } catch (KafkaException e) { ... }

`then` and `on error` name a line of the program, or the number after the last line, which is the end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from types import MappingProxyType

from kipviz.clients.application import Call, Line
from kipviz.clients.program_source import source_of
from kipviz.messages.shares.share_groups import AcknowledgeType
from kipviz.scenarios.applications import (
    connector_programs,
    programs,
    session_programs,
    session_two_phase,
    shared_consumer_programs,
    shared_producer_programs,
    thread_programs,
)
from kipviz.scenarios.documents.bad_story import Wrong, not_known
from kipviz.scenarios.documents.head import unquote
from kipviz.scenarios.documents.python_program import ReadProgram, is_python, read_python

Program = tuple[Line, ...]
# The modules with programs, and the prefix of the names of theirs.
_MODULES = (
    ("", programs),
    ("session-", session_programs),
    ("two-phase-", session_two_phase),
    ("thread-", thread_programs),
    ("shared-producer-", shared_producer_programs),
    ("shared-consumer-", shared_consumer_programs),
    ("connector-", connector_programs),
)
_EVERY_OTHER = -1
_NUMBERED = re.compile(r"[0-9]+ ")
_LINE = re.compile(r"([0-9]{1,6}) +([A-Za-z.-]+)")
_OPTIONS = {
    "then": re.compile(r", then ([0-9]{1,6})"),
    "on_error": re.compile(r", on error ([0-9]{1,6})"),
    "verdicts": re.compile(r", verdicts((?: (?:\*|[0-9]{1,18})=[A-Z]+)+)"),
    "client": re.compile(r', client ("(?:[^"\\]|\\.)*")'),
    "target": re.compile(r', target ("(?:[^"\\]|\\.)*")'),
    "metadata": re.compile(r", group id only"),
    "rethrows": re.compile(r", rethrows((?: \w+)+)"),
    "catches": re.compile(r", catches((?: \w+)+)"),
}
_FORM = (
    'then N, on error N, verdicts *=ACCEPT, client "NAME", target "NAME", group id only, '
    "rethrows EXCEPTION, catches EXCEPTION"
)


@cache
def programs_by_name() -> MappingProxyType[str, Program]:
    """Return every program of the package by its name: `SHARE_LOOP` is `share-loop`."""
    found: dict[str, Program] = {}
    for before, module in _MODULES:
        for constant, value in vars(module).items():
            if constant.isupper() and not constant.startswith("_") and _is_program(value):
                found.setdefault(before + constant.lower().replace("_", "-"), value)
    return MappingProxyType(found)


@cache
def names_of_programs() -> MappingProxyType[Program, str]:
    """Return the first name of every program of the package."""
    found: dict[Program, str] = {}
    for name, program in programs_by_name().items():
        found.setdefault(program, name)
    return MappingProxyType(found)


def _is_program(value: object) -> bool:
    return isinstance(value, tuple) and bool(value) and all(isinstance(v, Line) for v in value)


def read_program(lines: Sequence[tuple[int, str]], first: int) -> ReadProgram:
    """Read a program from the lines of its block, each with its number in the document.

    Raises:
        Wrong: if a line is not a program's.
    """
    kept = [(at, text) for at, text in lines if text.strip()]
    if not kept:
        raise Wrong(first, "a program has at least one line")
    if not any(_NUMBERED.match(text) for _, text in kept):
        return read_python(lines, first)
    return ReadProgram(tuple(_read_line(at, text, n) for n, (at, text) in enumerate(kept)))


def _read_line(at: int, text: str, number: int) -> Line:
    asked = _LINE.match(text)
    if asked is None:
        raise Wrong(at, f"a line of a program must be 'NUMBER CALL: SOURCE', not {text!r}")
    if int(asked[1]) != number:
        raise Wrong(at, f"this is line {number} of the program, but its number is {asked[1]}")
    if asked[2] not in [call.value for call in Call]:
        raise Wrong(at, not_known("call", asked[2], (call.value for call in Call)))
    options: dict[str, object] = {}
    end = asked.end()
    while (found := _option(text, end)) is not None:
        name, match = found
        options[name] = _meaning(at, name, match)
        end = match.end()
    if not text.startswith(": ", end):
        raise Wrong(at, f"unknown part {text[end:].strip()!r} of a line. Allowed: {_FORM}")
    line = Line(text[end + 2 :], Call(asked[2]))
    return line.but(**options)


def _option(text: str, start: int) -> tuple[str, re.Match[str]] | None:
    for name, form in _OPTIONS.items():
        match = form.match(text, start)
        if match is not None:
            return name, match
    return None


def _meaning(at: int, name: str, match: re.Match[str]) -> object:
    if name in ("then", "on_error"):
        return int(match[1])
    if name in ("client", "target"):
        return unquote(at, match[1])
    if name == "metadata":
        return False
    if name in ("rethrows", "catches"):
        return tuple(match[1].split())
    said = []
    for each in match[1].split():
        offset, _, kind = each.partition("=")
        if kind not in AcknowledgeType.__members__:
            raise Wrong(at, not_known("acknowledgement", kind, AcknowledgeType.__members__))
        said.append((_EVERY_OTHER if offset == "*" else int(offset), AcknowledgeType[kind]))
    return tuple(said)


def write_program(program: Program) -> Iterator[str]:
    """Yield the lines of a program's block: as Python, if it was written in Python."""
    if is_python(program):
        yield from (each.text for each in source_of(program))
        return
    for number, line in enumerate(program):
        yield f"{number} {line.call.value}{_options(line)}: {line.text}"


def _options(line: Line) -> str:
    plain = Line(line.text, line.call)
    words = [
        f"then {line.then}" if line.then != plain.then else "",
        f"on error {line.on_error}" if line.on_error != plain.on_error else "",
        f"verdicts {_verdicts(line)}" if line.verdicts != plain.verdicts else "",
        f"client {json.dumps(line.client)}" if line.client else "",
        f"target {json.dumps(line.target)}" if line.target else "",
        "" if line.metadata else "group id only",
        f"rethrows {' '.join(line.rethrows)}" if line.rethrows else "",
        f"catches {' '.join(line.catches)}" if line.catches else "",
    ]
    return "".join(f", {word}" for word in words if word)


def _verdicts(line: Line) -> str:
    return " ".join(
        f"{'*' if offset == _EVERY_OTHER else offset}={kind.name}" for offset, kind in line.verdicts
    )
