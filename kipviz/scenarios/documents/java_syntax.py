"""Programs in Java, read as the syntax tree of the same program in Python; nothing is compiled or run.

It reads calls, `while (true)`, `for (… : records)`, `try` and `catch`, `throw`, `break`, `continue`, declarations and
comments. Three things in the loops of the KIPs are shown and take no step of their own: `if (records.isEmpty())
continue;`, a client or a collection that is made with `new`, and acknowledgements that a for puts into a collection.
`toBatches(acks)` then represents these acknowledgements.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NoReturn, TypeVar

from kipviz.core.values import Value
from kipviz.scenarios.documents.bad_story import Wrong, shorten_input
from kipviz.scenarios.documents.python_calls import METHODS

N = TypeVar("N", bound=ast.AST)

_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\r\f]+|//[^\n]*|/\*.*?\*/)
    |(?P<line>\n)
    |(?P<text>"(?:[^"\\\n]|\\.)*")
    |(?P<number>\d[\d_]*(?:\.\d+)?[LlFfDd]?)
    |(?P<name>[A-Za-z_$][\w$]*)
    |(?P<sign>->|::|\+\+|--|&&|\|\||[=!<>+*/%&|^-]=|[(){}\[\];,.<>:|=!?+*/%&@^~-])
    """,
    re.VERBOSE | re.DOTALL,
)
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_JAVA = re.compile(r";[\s}]*$|^\s*(?:\}\s*)?(?:while|for|if|try|catch)\b[^\n]*\{\s*$")
_COLLECTING = ("add", "put", "merge")
_DEPTH_MAX = 60
_NOT_IN_A_PROGRAM = ("return", "do", "switch", "class", "synchronized", "import", "void", "public")
POSSIBLE = (
    "calls of the clients, records = consumer.poll(…), for (record : records), while (true), try with catch, throw, "
    "break, continue, and functions of your own"
)


class _Token(Value, frozen=True):
    kind: str
    text: str
    line: int


def is_java(lines: Sequence[str]) -> bool:
    """Return whether a program is written in Java: a statement ends with a semicolon, or a block starts with a brace."""
    return any(_JAVA.search(line.partition("//")[0]) for line in lines)


def parse_java(lines: Sequence[str]) -> ast.Module:
    """Read a program in Java as the tree of the same program in Python; lines are numbered from 1.

    Raises:
        Wrong: if it is not Java, or contains something that a program of the model cannot have.
    """
    reading = _Reading(tuple(_tokens("\n".join(lines))), len(lines))
    body = []
    while reading.token is not None:
        body += reading.statement(0)
    return ast.Module(body, [])


def snake(name: str) -> str:
    """Return a name in Python's spelling: share_consumer for shareConsumer."""
    return _WORDS.sub("_", name).lower() if not name[:1].isupper() else name


def camel(name: str) -> str:
    """Return a name in Java's spelling: shareConsumer for share_consumer."""
    first, *others = name.split("_")
    return first + "".join(each.capitalize() for each in others)


def in_java(what: str, lines: Sequence[str]) -> str:
    """Return a sentence about a Python program with the names of the Java program from which it was read."""
    for python, java in _SAID.items():
        what = what.replace(python, java)
    written = "\n".join(lines)
    known = {name for methods in METHODS.values() for name in methods} | set(METHODS) | _ARGUMENTS

    def spell(found: re.Match[str]) -> str:
        name = camel(found[0])
        return name if found[0] in known or name in written else found[0]

    return re.sub(r"\b[a-z]+(?:_[a-z]+)+\b", spell, what)


# Python words in sentences about programs, longer ones first.
_SAID = {
    "while True:": "while (true) {",
    "while True": "while (true)",
    "for record in records:": "for (record : records) {",
    "for record in ": "for (record : …) over ",
    "{record.offset: AcknowledgeType.ACCEPT for record in records}": "toBatches(acks)",
    "try with except": "try with catch",
    "try and except": "try and catch",
    "'except'": "'catch'",
    "except ": "catch ",
    "'raise'": "'throw'",
    "raise again": "throw again",
    "raised again": "thrown again",
    "pass, ": "",
    "keep_prepared_txn=True": "true",
}
_ARGUMENTS = frozenset({"group_metadata", "share_group_metadata"})


def _tokens(text: str) -> Iterator[_Token]:
    at, line = 0, 1
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise Wrong(
                line,
                f"this is not Java: {shorten_input(text[at : at + 20].partition(chr(10))[0])!r}",
            )
        if found.lastgroup not in ("space", "line"):
            yield _Token(str(found.lastgroup), found[0], line)
        line += found[0].count("\n")
        at = found.end()


class _Reading:
    """Reads one token after the other."""

    def __init__(self, tokens: tuple[_Token, ...], lines: int) -> None:
        self._tokens, self._at, self._lines = tokens, 0, lines
        # Collections of acknowledgements, and the type for each record that is put into one.
        self._collected: dict[str, ast.expr | None] = {}
        self._records = self._each = ""

    @property
    def token(self) -> _Token | None:
        """The next token, None at the end."""
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    @property
    def line(self) -> int:
        token = self.token
        return self._lines if token is None else token.line

    def is_next(self, *texts: str) -> bool:
        """Return whether the next tokens are these."""
        ahead = self._tokens[self._at : self._at + len(texts)]
        return tuple(each.text for each in ahead) == texts

    def take(self, text: str = "") -> _Token:
        """Read the next token, which must be `text` if that is given."""
        token = self.token
        if token is None or (text and token.text != text):
            found = "the end" if token is None else repr(shorten_input(token.text))
            self.refuse(
                f"{text!r} is missing before {found}" if text else "the program ends too early"
            )
        self._at += 1
        return token

    def refuse(self, what: str, line: int = 0) -> NoReturn:
        raise Wrong(line or self.line, what)

    def take_name(self) -> str:
        token = self.take()
        if token.kind != "name":
            self.refuse(f"a name is missing before {shorten_input(token.text)!r}", token.line)
        return token.text

    # -- statements --------------------------------------------------------------------------------

    def block(self, depth: int) -> list[ast.stmt]:
        """Read { … }, or the single statement instead of it."""
        if depth > _DEPTH_MAX:
            self.refuse("this program is nested too deeply to be read")
        if not self.is_next("{"):
            return self.statement(depth)
        line = self.take("{").line
        body: list[ast.stmt] = []
        while not self.is_next("}"):
            body += self.statement(depth)
        self.take("}")
        return body or [_place_at(line, ast.Pass())]

    def statement(self, depth: int) -> list[ast.stmt]:
        """Read one statement; return none if it is only shown and takes no step."""
        line = self.line
        word = self.token.text if self.token is not None else ""
        if word in _NOT_IN_A_PROGRAM:
            self.refuse(f"{word!r} is not in a program. Possible: {POSSIBLE}")
        match word:
            case ";":
                self.take()
                return []
            case "{":
                return self.block(depth + 1)
            case "while":
                return [self._while(depth + 1)]
            case "for":
                return [self._read_for(depth + 1)]
            case "try":
                return [self._try(depth + 1)]
            case "if":
                return self._if(depth + 1)
            case "throw":
                return [self._throw()]
            case "break" | "continue":
                self.take()
                self.take(";")
                return [_place_at(line, ast.Break() if word == "break" else ast.Continue())]
            case _:
                return self._plain()

    def _while(self, depth: int) -> ast.stmt:
        line = self.take("while").line
        self.take("(")
        test = self.expression(depth)
        self.take(")")
        return _place_at(line, ast.While(test, self.block(depth), []))

    def _read_for(self, depth: int) -> ast.stmt:
        line = self.take("for").line
        self.take("(")
        name = self._read_declaration()
        if not self.is_next(":"):
            self.refuse(
                "'for' must iterate over the records of poll(): for (record : records)", line
            )
        self.take(":")
        over = self.expression(depth)
        self.take(")")
        before, self._each = self._each, name
        body = self.block(depth)
        self._each = before
        target = _place_at(line, ast.Name(snake(name), ast.Store()))
        return _place_at(line, ast.For(target, over, body, []))

    def _try(self, depth: int) -> ast.stmt:
        line = self.take("try").line
        if self.is_next("("):
            self.refuse(
                "'try (…)' is not in a program: an application's clients live as long as its process"
            )
        body = self.block(depth)
        handlers, last = [], []
        while self.is_next("catch"):
            handlers.append(self._catch(depth))
        if self.is_next("finally"):
            self.take()
            last = self.block(depth)
        if not handlers:
            self.refuse("a 'try' has a 'catch'", line)
        return _place_at(line, ast.Try(body, handlers, [], last))

    def _catch(self, depth: int) -> ast.ExceptHandler:
        line = self.take("catch").line
        self.take("(")
        if self.is_next("final"):
            self.take()
        names: list[ast.expr] = [_place_at(line, ast.Name(self.take_name(), ast.Load()))]
        while self.is_next("|"):
            self.take()
            names.append(_place_at(line, ast.Name(self.take_name(), ast.Load())))
        called = self.take_name()
        self.take(")")
        kind = names[0] if len(names) == 1 else _place_at(line, ast.Tuple(names, ast.Load()))
        return _place_at(line, ast.ExceptHandler(kind, called, self.block(depth)))

    def _if(self, depth: int) -> list[ast.stmt]:
        line = self.take("if").line
        self.take("(")
        test = self.expression(depth)
        self.take(")")
        body = self.block(depth)
        empty = self._records and ast.unparse(test) == f"{self._records}.is_empty()"
        if (
            empty
            and len(body) == 1
            and isinstance(body[0], ast.Continue)
            and not self.is_next("else")
        ):
            return []  # poll() of a program returns records
        return [_place_at(line, ast.If(test, body, []))]

    def _throw(self) -> ast.stmt:
        line = self.take("throw").line
        if self.is_next("new"):
            self.refuse("'throw new' is not in a program: a catch throws its exception again")
        name = self.take_name()
        self.take(";")
        return _place_at(line, ast.Raise(_place_at(line, ast.Name(name, ast.Load())), None))

    def _plain(self) -> list[ast.stmt]:
        """Read a call, an assignment or a declaration."""
        line = self.line
        name = self._read_declaration() if self._is_declaration() else ""
        if not name and self.token is not None and self.token.kind == "name" and self._follows("="):
            name = self.take_name()
        if name and self.is_next(";"):
            self.take()
            return []  # a declaration without a value
        if name:
            self.take("=")
        if self.is_next("new") and name:
            return self._skip_made(name)
        value = self.expression(0)
        self.take(";")
        if name:
            target = _place_at(line, ast.Name(snake(name), ast.Store()))
            if isinstance(value, ast.Call) and _method(value) == "poll":
                self._records = snake(name)
            return [_place_at(line, ast.Assign([target], value))]
        if self._collects(value):
            return []
        return [_place_at(line, ast.Expr(value))]

    def _skip_made(self, name: str) -> list[ast.stmt]:
        """Skip what is made with `new`: a client, which exists already, or a collection."""
        made = self.expression(0)
        self.take(";")
        if not (isinstance(made, ast.Call) and isinstance(made.func, ast.Name)):
            self.refuse(f"{name!r} is made by a constructor that no program has")
        if not made.func.id.startswith("Kafka"):
            self._collected[name] = None
        return []

    def _collects(self, value: ast.expr) -> bool:
        """Return whether a call puts a record's acknowledgement into a collection, and record its type."""
        match value:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr=way), args=[key, said]
            ) if way in _COLLECTING:
                collection = next((each for each in self._collected if snake(each) == name), None)
                if collection is None:
                    return False
                offset = f"{snake(self._each)}.offset()"
                if not self._each or ast.unparse(key) != offset:
                    self.refuse(
                        f"{collection}.{way}() takes record.offset() and an AcknowledgeType in a for over the records",
                        value.lineno,
                    )
                self._collected[collection] = said
                return True
            case _:
                return False

    def _is_declaration(self) -> bool:
        """Return whether a type and a name come next: `var x`, `ConsumerRecords<K, V> x`."""
        at, depth = self._at, 0
        if at >= len(self._tokens) or self._tokens[at].kind != "name" or self.is_next("new"):
            return False
        for token in self._tokens[at + 1 : at + 60]:
            if token.text == "<":
                depth += 1
            elif token.text == ">":
                depth -= 1
            elif depth == 0 and token.text not in (".", "[", "]"):
                before = self._tokens[at].text
                return token.kind == "name" and before not in (".", "(")
            at += 1
        return False

    def _read_declaration(self) -> str:
        """Read a declaration's type and name, and return the name; in a for the type may be missing."""
        while True:
            name = self.take_name()
            if self.is_next("<"):
                self._type_arguments()
            while self.is_next("[", "]") or self.is_next("."):
                self.take()
                if self._tokens[self._at - 1].text == ".":
                    self.take_name()
                else:
                    self.take("]")
                if self.is_next("<"):
                    self._type_arguments()
            if self.token is None or self.token.kind != "name":
                return name

    def _type_arguments(self) -> None:
        depth = 0
        while True:
            token = self.take()
            depth += {"<": 1, ">": -1}.get(token.text, 0)
            if token.kind != "name" and token.text not in "<>,.?[]":
                self.refuse(f"{shorten_input(token.text)!r} is not part of a type", token.line)
            if not depth:
                return

    def _follows(self, text: str) -> bool:
        return self._at + 1 < len(self._tokens) and self._tokens[self._at + 1].text == text

    # -- expressions -------------------------------------------------------------------------------

    def expression(self, depth: int) -> ast.expr:
        """Read a name, a literal, a constructor or a call; a program has no other expression."""
        if depth > _DEPTH_MAX:
            self.refuse("this program is nested too deeply to be read")
        token = self.take()
        line = token.line
        value: ast.expr
        match token:
            case _Token(kind="text"):
                value = _place_at(line, ast.Constant(re.sub(r"\\(.)", r"\1", token.text[1:-1])))
            case _Token(kind="number"):
                value = _place_at(line, ast.Constant(_number(token.text)))
            case _Token(text="new"):
                value = self._new(line, depth)
            case _Token(text="true" | "false" | "null" as word):
                value = _place_at(line, ast.Constant({"true": True, "false": False}.get(word)))
            case _Token(text="!"):
                value = _place_at(line, ast.UnaryOp(ast.Not(), self.expression(depth + 1)))
            case _Token(kind="name"):
                value = _place_at(line, ast.Name(snake(token.text), ast.Load()))
                if self.is_next("("):
                    value = self._call(value, depth)
            case _:
                self.refuse(
                    f"{shorten_input(token.text)!r} is not in a program. Possible: {POSSIBLE}",
                    line,
                )
        while self.is_next("."):
            self.take()
            value = _place_at(line, ast.Attribute(value, snake(self.take_name()), ast.Load()))
            if self.is_next("("):
                value = self._call(value, depth)
        if self.token is not None and self.token.text in (
            "->",
            "::",
            "?",
            "+",
            "-",
            "*",
            "/",
            "==",
            "&&",
            "||",
        ):
            self.refuse(f"{self.token.text!r} is not in a program. Possible: {POSSIBLE}")
        return value

    def _new(self, line: int, depth: int) -> ast.expr:
        name = self.take_name()
        if self.is_next("<"):
            self._type_arguments()
        if not self.is_next("("):
            self.refuse("'new' makes an object with (…)", line)
        return self._call(_place_at(line, ast.Name(name, ast.Load())), depth)

    def _call(self, called: ast.expr, depth: int) -> ast.expr:
        line = self.take("(").line
        given: list[ast.expr] = []
        while not self.is_next(")"):
            given.append(self.expression(depth + 1))
            if not self.is_next(")"):
                self.take(",")
        self.take(")")
        return self._as_python(line, called, given)

    def _as_python(self, line: int, called: ast.expr, given: list[ast.expr]) -> ast.expr:
        """Return a call in the form of the Python program: durations as numbers, acknowledgements as a dict."""
        match called:
            case ast.Attribute(value=ast.Name(id="Duration")) if len(given) == 1:
                return given[0]
            case ast.Attribute(attr="init_transactions") if len(given) == 1:
                return _place_at(
                    line, ast.Call(called, [], [ast.keyword("keep_prepared_txn", given[0])])
                )
            case ast.Name() if len(given) == 1 and isinstance(given[0], ast.Name):
                said = self._read_acknowledgements(given[0].id)
                if said is not None:
                    return said
            case ast.Attribute(attr="send_share_acknowledgements_to_transaction"):
                given = [
                    self._read_acknowledgements(each.id) or each
                    if isinstance(each, ast.Name)
                    else each
                    for each in given
                ]
            case _:
                pass
        return _place_at(line, ast.Call(called, given, []))

    def _read_acknowledgements(self, name: str) -> ast.expr | None:
        """Return the acknowledgements in a collection as a Python dict."""
        for collection, said in self._collected.items():
            if snake(collection) == name and said is not None:
                record = ast.Name("record", ast.Load())
                loop = ast.comprehension(
                    ast.Name("record", ast.Store()), ast.Name(self._records, ast.Load()), [], 0
                )
                offset = ast.Attribute(record, "offset", ast.Load())
                return _place_at(said.lineno, ast.DictComp(offset, said, [loop]))
        return None


def _place_at(line: int, node: N) -> N:
    """Return a node of the tree at a line, including those of its parts that have no line yet."""
    for each in ast.walk(node):
        if not hasattr(each, "lineno"):
            each.lineno = each.end_lineno = line  # type: ignore[attr-defined]
            each.col_offset = each.end_col_offset = 0  # type: ignore[attr-defined]
    return node


def _method(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _number(text: str) -> int | float:
    plain = text.rstrip("LlFfDd").replace("_", "")
    return float(plain) if "." in plain else int(plain)
