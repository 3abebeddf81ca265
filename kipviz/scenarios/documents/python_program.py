"""Programs in story documents as Python or Java: the reader's own loop, with `while True`, `try` and `except`.

    producer.init_transactions()
    while True:
        records = consumer.poll()
        try:
            producer.begin_transaction()
            for record in records:
                producer.send(transform(record))
            producer.send_offsets_to_transaction(offsets(records), consumer.group_metadata())
            producer.commit_transaction()
        except ProducerFencedException:
            raise
        except KafkaException:
            producer.abort_transaction()

In Java, with `while (true)`, `try` and `catch`, it is the same program (`java_syntax`), so the loop of a KIP can be
pasted. The text is read (`ast`) and never run: the model's clients make its calls. A function of the reader's own
(`transform(record)`) is shown and takes no step. abort_transaction() also resets the model's consumer to its committed
offsets, as the loops of the KIPs do. An exception that is fatal for the producer, or that is no KafkaException, ends
the process whatever its `except` does. What a program of the model cannot contain is rejected with its line, its word
and what is possible there.
"""

from __future__ import annotations

import ast
import builtins
import warnings
from collections.abc import Mapping, Sequence
from typing import NoReturn

from kipviz.clients.application import Call, Line
from kipviz.clients.catching import KAFKA_EXCEPTION, RETHROWN, catchable
from kipviz.clients.program_source import source_of
from kipviz.core.values import Value
from kipviz.scenarios.documents.bad_story import Wrong, shorten_input
from kipviz.scenarios.documents.java_syntax import in_java, is_java, parse_java
from kipviz.scenarios.documents.python_calls import (
    CONSUMER,
    GIVES,
    SHARE_CONSUMER,
    Names,
    method_of,
    read_arguments,
    refuse,
)

LINES_MAX, LETTERS_MAX = 400, 40_000
POSSIBLE = (
    "calls of the clients, records = consumer.poll(), for record in records, while True, try with except, "
    "break, continue, pass, and functions of your own"
)
_NO_BRANCH = "a program has no branches but try and except: each run takes one way"
_NO_DEFINITION = "the model runs the calls of its clients alone"
_WHY_NOT: Mapping[type[ast.AST], tuple[str, str]] = {
    ast.If: ("if", _NO_BRANCH),
    ast.Match: ("match", _NO_BRANCH),
    ast.IfExp: ("if", _NO_BRANCH),
    ast.Import: ("import", "the clients are there, and nothing else is loaded"),
    ast.ImportFrom: ("import", "the clients are there, and nothing else is loaded"),
    ast.FunctionDef: ("def", _NO_DEFINITION),
    ast.AsyncFunctionDef: ("async", _NO_DEFINITION),
    ast.ClassDef: ("class", _NO_DEFINITION),
    ast.Lambda: ("lambda", _NO_DEFINITION),
    ast.With: ("with", "an application's clients live as long as its process"),
    ast.AsyncWith: ("async", "an application's clients live as long as its process"),
    ast.AsyncFor: ("async", "the clients of a program block"),
    ast.Await: ("await", "the clients of a program block"),
    ast.Return: ("return", "a program is not a function; break leaves a loop"),
    ast.Assert: ("assert", _NO_BRANCH),
    ast.AugAssign: ("arithmetic", "the model has no variables but what its calls give"),
    ast.BinOp: ("arithmetic", "the model has no variables but what its calls give"),
    ast.AnnAssign: ("an annotation", "the model has no variables but what its calls give"),
    ast.Assign: ("=", "the model has no variables but what its calls give"),
    ast.TryStar: ("except*", "one exception is thrown at a time"),
    ast.Raise: ("raise", "it stands alone in an except, where it throws the exception again"),
    ast.Delete: ("del", "the model has no variables but what its calls give"),
    ast.Global: ("global", _NO_DEFINITION),
    ast.Nonlocal: ("nonlocal", _NO_DEFINITION),
}


class ReadProgram(Value, frozen=True):
    """A program as it was read, and where it calls which kind of consumer.

    Attributes:
        program: its lines.
        consumers: for the first call on each kind of consumer: the line in the document, and its name.
    """

    program: tuple[Line, ...]
    consumers: tuple[tuple[int, str], ...] = ()


class _Label:
    """A target of jumps: it is resolved once its line, or another target with the same position, is known."""

    def __init__(self) -> None:
        self.at = -1
        self.same: _Label | None = None

    def is_at(self, place: int) -> None:
        self.at = place

    def goes_to(self, other: _Label) -> None:
        self.same = other

    def resolve(self) -> _Label | None:
        """Return the target to which this one resolves, None if it is a cycle without a call."""
        here, seen = self, [self]
        while here.same is not None:
            here = here.same
            if here in seen:
                return None
            seen.append(here)
        return here


class _Around(Value, frozen=True):
    """The context of a statement: the start and the end of the loop, and the catch block with its exceptions."""

    start: _Label | None = None
    end: _Label | None = None
    catch: _Label | None = None
    catches: tuple[str, ...] = ()


class _Draft(Value, frozen=True):
    """A line whose targets are not numbers yet, and the position of its call in the block."""

    line: Line
    number: int
    then: _Label
    catch: _Label | None


def read_python(lines: Sequence[tuple[int, str]], first: int) -> ReadProgram:
    """Read a program from the lines of its block, each with its number in the document.

    Raises:
        Wrong: if it is not Python, or the model cannot represent it.
    """
    while lines and not lines[-1][1].strip():
        lines = lines[:-1]
    texts = [text for _, text in lines]
    if len(texts) > LINES_MAX or sum(map(len, texts)) > LETTERS_MAX:
        raise Wrong(
            first,
            f"a program can have at most {LINES_MAX} lines and {LETTERS_MAX:,} letters, not {len(texts)} and "
            f"{sum(map(len, texts)):,}",
        )
    java = is_java(texts)
    try:
        reading = _Reading(texts)
        program = reading.program(parse_java(texts) if java else _parse_lines(texts))
    except Wrong as wrong:
        if java:
            wrong = Wrong(wrong.line, in_java(wrong.what, texts))
        at = lines[min(wrong.line, len(lines)) - 1][0] if lines else first
        raise Wrong(at, wrong.what) from wrong
    except (RecursionError, MemoryError):
        raise Wrong(first, "this program is nested too deeply to be read") from None
    return ReadProgram(
        program, tuple((lines[at - 1][0], name) for name, at in reading.consumers.items())
    )


def _parse_lines(texts: Sequence[str]) -> ast.Module:
    try:
        with warnings.catch_warnings(action="ignore"):
            return ast.parse("\n".join(texts))
    except SyntaxError as wrong:
        at = min(max(wrong.lineno or 1, 1), len(texts))
        raise Wrong(at, f"this is not Python: {shorten_input(texts[at - 1].strip())!r}") from None
    except ValueError:
        raise Wrong(1, "a program cannot contain a character that no text has") from None


def is_python(program: tuple[Line, ...]) -> bool:
    """Return whether a program is equal to what its own source is read as."""
    texts = [each.text for each in source_of(program)]
    try:
        return read_python(list(enumerate(texts, 1)), 1).program == program
    except Wrong:
        return False


class _Reading:
    """Reads statements into lines, in order."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self.names = Names()
        self.drafts: list[_Draft] = []
        self.consumers: dict[str, int] = {}
        self.rethrows: dict[int, tuple[str, ...]] = {}

    def program(self, module: ast.Module) -> tuple[Line, ...]:
        end = _Label()
        left = self.block(module.body, _Label(), _Around(end=end))
        if not self.drafts:
            raise Wrong(1, f"a program calls a client at least once. Possible: {POSSIBLE}")
        if left is not None:
            left.goes_to(end)
        end.is_at(len(self.drafts))
        self._check_flush()
        return tuple(self._line(at, draft) for at, draft in enumerate(self.drafts))

    def _line(self, at: int, draft: _Draft) -> Line:
        then = self._place(draft.then, draft.number)
        before = self.drafts[at - 1].number if at else 0
        below = tuple(self.texts[draft.number :]) if at == len(self.drafts) - 1 else ()
        return draft.line.but(
            text=self.texts[draft.number - 1].rstrip(),
            then=-1 if then == at + 1 else then,
            on_error=-1 if draft.catch is None else self._place(draft.catch, draft.number),
            rethrows=self.rethrows.get(at, ()),
            above=tuple(text.rstrip() for text in self.texts[before : draft.number - 1]),
            below=tuple(text.rstrip() for text in below),
        )

    def _place(self, label: _Label, number: int) -> int:
        found = label.resolve()
        if found is None:
            raise Wrong(number, "after this line comes a loop without a call, which never ends")
        return found.at

    def _check_flush(self) -> None:
        calls = [draft.line.call for draft in self.drafts]
        if Call.FLUSH in calls and Call.INIT_TRANSACTIONS in calls:
            raise Wrong(
                self.drafts[calls.index(Call.FLUSH)].number,
                "'flush' is for a producer without transactions: commit_transaction() waits for all that was "
                "sent in the transaction",
            )

    # -- statements --------------------------------------------------------------------------------

    def block(self, body: Sequence[ast.stmt], here: _Label, around: _Around) -> _Label | None:
        """Read statements one after the other; return the target after them, None if it cannot be reached."""
        place: _Label | None = here
        for statement in body:
            if place is None:
                refuse(statement, "this line is never reached: the lines above it lead elsewhere")
            place = self.statement(statement, place, around)
        return place

    def statement(self, node: ast.stmt, here: _Label, around: _Around) -> _Label | None:
        """Read a statement that starts at a target; return the target after it."""
        match node:
            case ast.Expr(value=ast.Call() as call):
                return self.call(call, here, around, "")
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
                return self.call(call, here, around, name)
            case ast.While():
                return self.loop(node, here, around)
            case ast.For():
                return self.for_each(node, here, around)
            case ast.Try():
                return self.attempt(node, here, around)
            case ast.Continue() if around.start is not None:
                here.goes_to(around.start)
                return None
            case ast.Break() if around.start is not None and around.end is not None:
                here.goes_to(around.end)
                return None
            case ast.Pass():
                return here
            case _:
                return _not_possible(node)

    def call(self, node: ast.Call, here: _Label, around: _Around, name: str) -> _Label:
        """Read a call as a line; a function of the reader's own is no line."""
        found = method_of(node)
        if found is None:
            self.function(node, name)
            return here
        client, call = found
        if name and call not in GIVES:
            refuse(
                node,
                f"{shorten_input(name)!r} = …: {ast.unparse(node.func)}() gives nothing in a program",
            )
        if call is Call.POLL and name:
            self._check_name_of_records(node, name)
        if client in (CONSUMER, SHARE_CONSUMER):
            self.consumers.setdefault(client, node.lineno)
        changes = read_arguments(node, call, self.names)
        if call in GIVES and name:
            self.names = self.names.with_name(name, GIVES[call])
        if self.drafts and self.drafts[-1].number == node.lineno:
            refuse(node, "a line has one call: the page highlights the line that a process is in")
        here.is_at(len(self.drafts))
        behind = _Label()
        line = Line("", call, catches=around.catches if around.catch else ()).but(**changes)
        self.drafts.append(_Draft(line, node.lineno, behind, around.catch))
        return behind

    def _check_name_of_records(self, node: ast.Call, name: str) -> None:
        known = self.names.of(GIVES[Call.POLL])
        if known and known != name:
            refuse(
                node,
                f"{shorten_input(name)!r}: every poll() of a program gives its records one name, here {shorten_input(known)!r}; the model "
                "works on what the last poll() brought",
            )

    def function(self, node: ast.Call, name: str) -> None:
        """Accept a function of the reader's own: it is shown, and is no step of the model."""
        called = shorten_input(ast.unparse(node.func))
        if called in vars(builtins):
            refuse(node, f"{called!r} is a function of Python, which is read here and not run")
        if name:
            refuse(
                node,
                f"{shorten_input(name)!r} = {called}(…): write the function where its value is used",
            )
        for each in (*node.args, *(given.value for given in node.keywords)):
            if not isinstance(each, ast.Name | ast.Constant | ast.Attribute):
                _not_possible(each)

    def loop(self, node: ast.While, here: _Label, around: _Around) -> _Label | None:
        forever = isinstance(node.test, ast.Constant) and node.test.value is True
        if not forever:
            refuse(
                node, f"a 'while' loop in a program never ends: write 'while True:'; {_NO_BRANCH}"
            )
        if node.orelse:
            refuse(node.orelse[0], "'else' of a while is not in a program: the loop has no end")
        end = _Label()
        back = self.block(node.body, here, around.but(start=here, end=end))
        if back is not None:
            back.goes_to(here)
        return end if _leaves(node.body) else None

    def for_each(self, node: ast.For, here: _Label, around: _Around) -> _Label:
        """Read a loop over the records, which is one step of the model, as one line with its call."""
        records = self.names.of(GIVES[Call.POLL])
        over = shorten_input(ast.unparse(node.iter))
        if not isinstance(node.target, ast.Name) or not records or over != records:
            refuse(
                node,
                f"'for' must iterate over the records of poll(): for record in {records or 'records'}, not {over}",
            )
        if node.orelse:
            refuse(node.orelse[0], "'else' of a for is not in a program")
        calls = [each for each in node.body if not isinstance(each, ast.Pass)]
        clients = [
            each
            for each in calls
            if isinstance(each, ast.Expr)
            and isinstance(each.value, ast.Call)
            and method_of(each.value) is not None
        ]
        before, place = self.names, here
        self.names = before.but(each=node.target.id)
        for each in calls:
            if not isinstance(each, ast.Expr) or not isinstance(each.value, ast.Call):
                refuse(
                    each,
                    f"{_word(each)} is not in a for: it has one call of a client for each record",
                )
            if each in clients[1:]:
                refuse(
                    each,
                    "a for has one call of a client: the model makes it for all records in one step. Write a "
                    "second for below it",
                )
            found = method_of(each.value)
            if found is not None and found[1] not in (Call.SEND, Call.ACKNOWLEDGE):
                refuse(each, f"'for' is for send() and acknowledge(), not for {found[1].value}()")
            place = self.call(each.value, place, around, "")
        self.names = before
        return place

    # -- try ---------------------------------------------------------------------------------------

    def attempt(self, node: ast.Try, here: _Label, around: _Around) -> _Label | None:
        if node.finalbody:
            refuse(
                node.finalbody[0],
                f"'finally' is not in a program: {_NO_BRANCH}. Write its calls in both",
            )
        if node.orelse:
            refuse(
                node.orelse[0],
                "'else' of a try is not in a program: write it after the last call",
            )
        *again, doing = node.handlers
        rethrows = tuple(name for each in again for name in self._read_rethrow(each, around))
        catch = _Label()
        start = len(self.drafts)
        if _is_raise(doing):
            refuse(
                doing,
                "the last 'except' does something with the exception; 'raise' alone does not handle it",
            )
        catches = self._list_caught(doing, around)
        exits = [self.block(node.body, here, around.but(catch=catch, catches=catches))]
        self._check_raised(doing, catches, start)
        first = len(self.drafts)
        exits.append(self.block(doing.body, catch, around))
        if rethrows:
            if catch.at != first:
                refuse(
                    doing, "an 'except' under one that raises again begins with a call of a client"
                )
            self.rethrows[first] = rethrows
        behind = _Label()
        for each in exits:
            if each is not None:
                each.goes_to(behind)
        return behind if any(each is not None for each in exits) else None

    def _read_rethrow(self, handler: ast.ExceptHandler, around: _Around) -> tuple[str, ...]:
        if not _is_raise(handler):
            refuse(
                handler,
                "two 'except' that do something are more than a program has: all but the last one raise again",
            )
        if around.catch is not None:
            refuse(handler, "'raise' inside another try is not in a program: it ends the process")
        names = _classes(handler)
        for name in names:
            if name not in RETHROWN:
                refuse(
                    handler,
                    f"{name!r} cannot be raised again in a program. Possible: {', '.join(RETHROWN)}",
                )
        return names

    def _list_caught(self, handler: ast.ExceptHandler, around: _Around) -> tuple[str, ...]:
        """Return what an except with a body catches: () for every KafkaException."""
        names = _classes(handler)
        if names == (KAFKA_EXCEPTION,):
            return ()
        if around.catch is not None:
            refuse(
                handler, f"a try in a try takes {KAFKA_EXCEPTION}: what it leaves ends the process"
            )
        return names

    def _check_raised(
        self, handler: ast.ExceptHandler, catches: tuple[str, ...], start: int
    ) -> None:
        tried = [draft.line.call for draft in self.drafts[start:]]
        if not tried:
            refuse(handler, "this 'try' has no call of a client: nothing is thrown in it")
        known = dict.fromkeys(name for call in tried for name in catchable(call))
        for name in catches:
            if name not in known:
                listed = ", ".join((KAFKA_EXCEPTION, *known))
                lost = f"the process ends with {name}; " if name in RETHROWN else ""
                refuse(
                    handler,
                    f"{lost}no call in this try throws {name!r} in the model to be caught. Possible: {listed}",
                )


def _classes(handler: ast.ExceptHandler) -> tuple[str, ...]:
    """Return the classes that an except names."""
    if handler.type is None:
        refuse(
            handler,
            f"'except:' also catches exceptions that are not KafkaExceptions: {_NOT_KAFKAS}",
        )
    nodes = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = tuple(shorten_input(ast.unparse(each)) for each in nodes)
    for node, name in zip(nodes, names, strict=True):
        if not isinstance(node, ast.Name):
            refuse(handler, f"an 'except' must name classes of exceptions, not {name}")
        if name in ("ApiException", "RetriableException", "AuthorizationException"):
            refuse(
                handler,
                f"{name!r} stands for many exceptions; name them, or take all with {KAFKA_EXCEPTION}",
            )
        if name in vars(builtins) or name in _OF_JAVA:
            refuse(
                handler,
                f"'except {name}' catches exceptions that are not KafkaExceptions: {_NOT_KAFKAS}",
            )
    if len(names) > 1 and KAFKA_EXCEPTION in names:
        refuse(handler, f"{KAFKA_EXCEPTION} is every one of them: name it alone")
    return names


_NOT_KAFKAS = (
    f"an IllegalStateException ends the process in the model. Write 'except {KAFKA_EXCEPTION}:', or one of its "
    "subclasses."
)
_OF_JAVA = (
    "Throwable",
    "IllegalStateException",
    "IllegalArgumentException",
    "ConcurrentModificationException",
    "NullPointerException",
)


def _is_raise(handler: ast.ExceptHandler) -> bool:
    match handler.body:
        case [ast.Raise(exc=None, cause=None)]:
            return True
        case [ast.Raise(exc=ast.Name(id=name), cause=None)]:
            return name == handler.name
        case _:
            return False


def _leaves(body: Sequence[ast.stmt]) -> bool:
    """Return whether a loop's own statements have a break, those of inner loops excluded."""
    for each in body:
        if isinstance(each, ast.Break):
            return True
        if isinstance(each, ast.Try):
            inner = [*each.body, *(line for handler in each.handlers for line in handler.body)]
            if _leaves(inner):
                return True
    return False


def _word(node: ast.AST) -> str:
    named, _ = _WHY_NOT.get(type(node), (type(node).__name__, ""))
    return repr(named)


def _not_possible(node: ast.AST) -> NoReturn:
    """Reject what no program of the model can have."""
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp):
        node = node.value
    if isinstance(node, ast.Break | ast.Continue):
        refuse(node, f"{type(node).__name__.lower()!r} is in a 'while True:'")
    named, why = _WHY_NOT.get(type(node), (shorten_input(ast.unparse(node)), "it calls no client"))
    refuse(node, f"{named!r} is not in a program: {why}. Possible: {POSSIBLE}")
