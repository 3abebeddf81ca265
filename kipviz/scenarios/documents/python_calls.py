"""The client calls that a program in Python may make: their clients, and what is read from their arguments.

The methods have the names of Kafka's clients, in Python's style: `producer.begin_transaction()`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from typing import NoReturn

from kipviz.clients.application import Call
from kipviz.clients.calling.database_calls import WITH_STATE
from kipviz.clients.calling.producer_calls import KEEP_PREPARED_TXN
from kipviz.clients.calls import ADMIN, CALLS
from kipviz.clients.transactions.external_database import STORED
from kipviz.core.values import Value
from kipviz.messages.shares.share_groups import AcknowledgeType
from kipviz.scenarios.documents.bad_story import Wrong, not_known, shorten_input

C = Call
PRODUCER, CONSUMER, SHARE_CONSUMER, DATABASE = "producer", "consumer", "share_consumer", "database"
EVERY_OTHER = -1
_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])|[.-]")


def _spell_in_python(call: Call) -> str:
    """Return a call's name in Python's style: begin_transaction for beginTransaction."""
    return _WORDS.sub("_", call.value.rpartition(".")[2]).lower()


_PRODUCERS = (
    C.INIT_TRANSACTIONS,
    C.BEGIN_TRANSACTION,
    C.SEND,
    C.SEND_OFFSETS,
    C.SEND_SHARE_ACKNOWLEDGEMENTS,
    C.COMMIT_TRANSACTION,
    C.ABORT_TRANSACTION,
    C.PREPARE_TRANSACTION,
    C.COMPLETE_TRANSACTION,
    C.FLUSH,
)
_CONSUMERS = (C.POLL, C.COMMIT_SYNC, C.SUBSCRIBE, C.UNSUBSCRIBE, C.SEEK)
_SHARE_CONSUMERS = (C.POLL, C.ACKNOWLEDGE, C.COMMIT_SYNC, C.COMMIT_ASYNC, C.SHARE_GROUP_METADATA)
_OPERATORS = tuple(call for call, calling in CALLS.items() if calling.of == ADMIN)
# The calls of a program, by the name of the client and that of its method.
METHODS: Mapping[str, Mapping[str, Call]] = {
    PRODUCER: {_spell_in_python(call): call for call in _PRODUCERS},
    CONSUMER: {_spell_in_python(call): call for call in _CONSUMERS},
    SHARE_CONSUMER: {
        **{_spell_in_python(call): call for call in _SHARE_CONSUMERS},
        "close": C.CLOSE_CONSUMER,
    },
    DATABASE: {
        "insert": C.DATABASE_INSERT,
        "commit": C.DATABASE_COMMIT,
        "rollback": C.DATABASE_ROLLBACK,
        "claim": C.DATABASE_CLAIM,
    },
    ADMIN: {_spell_in_python(call): call for call in _OPERATORS},
}
# The results that a call may assign to a name, and the kind of such a name as an argument.
GIVES = {
    C.POLL: "records",
    C.SHARE_GROUP_METADATA: "metadata",
    C.PREPARE_TRANSACTION: "state",
}
# Methods that are an argument rather than a call of their own.
_GROUP_METADATA = "consumer.group_metadata()"
_SHARE_METADATA = "share_consumer.share_group_metadata()"
_DATABASE_STATE = "database.state()"
_POSITION = "database.position()"
_OFFSETS = "the offsets behind records, such as offsets(records)"


class Names(Value, frozen=True):
    """The names that are defined at a line: what each of them is, such as `records` of a poll()."""

    known: tuple[tuple[str, str], ...] = ()
    each: str = ""

    def with_name(self, name: str, kind: str) -> Names:
        """Return the names with one more, or with another meaning of one."""
        kept = tuple(pair for pair in self.known if pair[0] != name)
        return self.but(known=(*kept, (name, kind)))

    def kind(self, name: str) -> str:
        """Return the kind of a name, "" if it is not defined."""
        if name and name == self.each:
            return GIVES[C.POLL]
        return dict(self.known).get(name, "")

    def of(self, kind: str) -> str:
        """Return the name of a kind, "" if there is none."""
        return next((name for name, has in self.known if has == kind), "")


def refuse(node: ast.AST, what: str) -> NoReturn:
    """Reject a part of a program; its line is counted within the block.

    Raises:
        Wrong: always.
    """
    raise Wrong(getattr(node, "lineno", 1), what)


def method_of(node: ast.Call) -> tuple[str, Call] | None:
    """Return the client and the call of an expression, or None if it calls a plain function."""
    called = node.func
    if isinstance(called, ast.Name):
        return None
    if not isinstance(called, ast.Attribute) or not isinstance(called.value, ast.Name):
        refuse(node, f"a call is {_forms()}, or a function of your own by its plain name")
    client, method = called.value.id, called.attr
    if client not in METHODS:
        refuse(node, not_known("client", client, METHODS))
    if method not in METHODS[client]:
        refuse(node, not_known(f"call of {client}", method, METHODS[client]))
    return client, METHODS[client][method]


def _forms() -> str:
    return "CLIENT.METHOD(…) with one of the clients " + ", ".join(METHODS)


def read_arguments(node: ast.Call, call: Call, names: Names) -> dict[str, object]:
    """Read the arguments of a call as the fields of its line that differ from the defaults.

    Raises:
        Wrong: if the model's call does not accept them.
    """
    named = {each.arg: each.value for each in node.keywords}
    if None in named or any(isinstance(each, ast.Starred) for each in node.args):
        refuse(node, "the model reads arguments one by one: * and ** are not possible here")
    read = _READ.get(call, _named_by_text if call in _OPERATORS else _nothing)
    return read(_Arguments(node, call, tuple(node.args), named, names))


class _Arguments:
    """The arguments of one call."""

    def __init__(
        self,
        node: ast.Call,
        call: Call,
        given: tuple[ast.expr, ...],
        named: Mapping[str | None, ast.expr],
        names: Names,
    ) -> None:
        self.node, self.call, self.given, self.named, self.names = node, call, given, named, names

    def wants(self, form: str) -> NoReturn:
        """Reject the arguments, with the accepted form."""
        name = ast.unparse(self.node.func)
        refuse(self.node, f"{name}() is written {name}({form}) in a program of a story")

    def text(self, node: ast.expr) -> str:
        """Return the text of a string literal, "" for anything else."""
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        return str(node.value) if is_text and isinstance(node, ast.Constant) else ""

    def unparse(self, node: ast.expr) -> str:
        return ast.unparse(node)

    def is_of_records(self, node: ast.expr) -> bool:
        """Return whether an expression is the records of the poll(), or a function of them."""
        if isinstance(node, ast.Name):
            if not self.names.kind(node.id):
                refuse(node, _no_such_name(node.id, self.names))
            return self.names.kind(node.id) == GIVES[C.POLL]
        if isinstance(node, ast.Attribute):
            return self.is_of_records(node.value)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            inner = [*node.args, *(each.value for each in node.keywords)]
            inner = [each for each in inner if not isinstance(each, ast.Constant)]
            return bool(inner) and all(self.is_of_records(each) for each in inner)
        refuse(
            node,
            f"{_kind_of(node)} is not in a program: the model sends what is made of the records of the last "
            "poll(); write a function of them, such as transform(records)",
        )


def _no_such_name(name: str, names: Names) -> str:
    there = ", ".join(each for each, _ in names.known)
    if not there:
        return f"there is no {shorten_input(name)!r} yet: records = consumer.poll() comes first"
    return not_known("name", name, [each for each, _ in names.known])


def _kind_of(node: ast.AST) -> str:
    return type(node).__name__


def _nothing(asked: _Arguments) -> dict[str, object]:
    if asked.given or asked.named:
        asked.wants("")
    return {}


def _init(asked: _Arguments) -> dict[str, object]:
    if not asked.given and not asked.named:
        return {}
    keep = asked.named.get("keep_prepared_txn")
    if asked.given or len(asked.named) > 1 or not _is_true(keep):
        asked.wants("keep_prepared_txn=True, or nothing")
    return {"target": KEEP_PREPARED_TXN}


def _is_true(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _poll(asked: _Arguments) -> dict[str, object]:
    values = [*asked.given, *asked.named.values()]
    if len(values) > 1 or not all(_is_number(each) for each in values):
        asked.wants("a number of seconds, or nothing")
    return {}


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def _send(asked: _Arguments) -> dict[str, object]:
    form = 'a function of the records, or "PARTITION", and it'
    target = asked.text(asked.given[0]) if asked.given else ""
    values = asked.given[1:] if target else asked.given
    if len(values) != 1 or asked.named or not asked.is_of_records(values[0]):
        asked.wants(form)
    return {"target": target} if target else {}


def _offsets(asked: _Arguments) -> dict[str, object]:
    form = f"{_OFFSETS}, {_GROUP_METADATA}"
    if len(asked.given) != 2 or asked.named or not asked.is_of_records(asked.given[0]):
        asked.wants(form)
    metadata = asked.given[1]
    if asked.unparse(metadata) == _GROUP_METADATA:
        return {}
    if not _is_bare_metadata(metadata):
        asked.wants(form)
    return {"metadata": False}


def _is_bare_metadata(node: ast.expr) -> bool:
    """Return whether it is ConsumerGroupMetadata("my-group"): a group id without its member."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "ConsumerGroupMetadata"
        and len(node.args) == 1
        and isinstance(node.args[0], ast.Constant | ast.Name)
        and not node.keywords
    )


def _stage(asked: _Arguments) -> dict[str, object]:
    if len(asked.given) != 2 or asked.named:
        asked.wants(f"ACKNOWLEDGEMENTS, {_SHARE_METADATA}")
    snapshot = asked.names.of(GIVES[C.SHARE_GROUP_METADATA])
    written = asked.unparse(asked.given[1])
    if written != (snapshot or _SHARE_METADATA):
        why = f"{snapshot} was taken above, and the model uses it" if snapshot else "of this moment"
        asked.wants(f"ACKNOWLEDGEMENTS, {snapshot or _SHARE_METADATA} ({why})")
    return {"verdicts": _verdicts(asked, asked.given[0])}


def _verdicts(asked: _Arguments, node: ast.expr) -> tuple[tuple[int, AcknowledgeType], ...]:
    """Read the acknowledgement of each record: {record.offset: AcknowledgeType.ACCEPT for record in records}."""
    if isinstance(node, ast.DictComp):
        return (_of_each(asked, node),)
    if not isinstance(node, ast.Dict) or not node.keys:
        asked.wants(
            "{record.offset: AcknowledgeType.ACCEPT for record in records}, or a dict of offsets with such a "
            f"one as its **, and {_SHARE_METADATA}"
        )
    said: list[tuple[int, AcknowledgeType]] = []
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None and isinstance(value, ast.DictComp):
            said.append(_of_each(asked, value))
        elif isinstance(key, ast.Constant) and type(key.value) is int and 0 <= key.value < 10**18:
            said.append((key.value, acknowledge_type(value)))
        else:
            refuse(value, "a dict of acknowledgements has offsets, such as 100, and their types")
    return tuple(said)


def _of_each(asked: _Arguments, node: ast.DictComp) -> tuple[int, AcknowledgeType]:
    (loop, *more) = node.generators
    records = asked.names.of(GIVES[C.POLL])
    plain = not more and not loop.ifs and isinstance(loop.target, ast.Name)
    name = asked.unparse(loop.target)
    if not (plain and records and asked.unparse(loop.iter) == records) or (
        asked.unparse(node.key) != f"{name}.offset"
    ):
        refuse(
            node,
            "all records of a poll() are {record.offset: AcknowledgeType.ACCEPT for record in "
            f"{records or 'records'}}}, without an if",
        )
    return EVERY_OTHER, acknowledge_type(node.value)


def acknowledge_type(node: ast.expr) -> AcknowledgeType:
    """Read AcknowledgeType.ACCEPT, or its plain name."""
    named = ast.unparse(node).removeprefix("AcknowledgeType.")
    known = [kind.name for kind in AcknowledgeType if kind is not AcknowledgeType.UNKNOWN]
    if named not in known:
        refuse(node, not_known("acknowledgement", named, known))
    return AcknowledgeType[named]


def _acknowledge(asked: _Arguments) -> dict[str, object]:
    form = "record, AcknowledgeType.ACCEPT"
    if len(asked.given) != 2 or asked.named:
        asked.wants(form)
    record, said = asked.given[0], acknowledge_type(asked.given[1])
    if isinstance(record, ast.Constant) and type(record.value) is int and record.value >= 0:
        return {"target": str(record.value), "verdicts": ((EVERY_OTHER, said),)}
    if not isinstance(record, ast.Name) or record.id != asked.names.each:
        asked.wants(f"{form}) in a 'for record in records:', or (100, AcknowledgeType.ACCEPT")
    return {"verdicts": ((EVERY_OTHER, said),)}


def _complete(asked: _Arguments) -> dict[str, object]:
    state = asked.names.of(GIVES[C.PREPARE_TRANSACTION])
    written = asked.unparse(asked.given[0]) if len(asked.given) == 1 and not asked.named else ""
    if written == _DATABASE_STATE:
        return {"target": STORED}
    if not state or written != state:
        asked.wants(f"{_DATABASE_STATE}, or what prepare_transaction() has given")
    return {}


def _insert(asked: _Arguments) -> dict[str, object]:
    form = "rows(records), or that and the state that prepare_transaction() has given"
    if not 1 <= len(asked.given) <= 2 or asked.named or not asked.is_of_records(asked.given[0]):
        asked.wants(form)
    if len(asked.given) == 1:
        return {}
    state = asked.names.of(GIVES[C.PREPARE_TRANSACTION])
    if not state or asked.unparse(asked.given[1]) != state:
        asked.wants(form)
    return {"target": WITH_STATE}


def _only(form: str) -> Callable[[_Arguments], dict[str, object]]:
    """Return the reader of a call with one argument that is always the same."""

    def read(asked: _Arguments) -> dict[str, object]:
        if asked.named or [asked.unparse(each) for each in asked.given] != [form]:
            asked.wants(form)
        return {}

    return read


def _named_by_text(asked: _Arguments) -> dict[str, object]:
    """Read the one text that names the subject of a call, as the target of its line."""
    texts = [asked.text(each) for each in asked.given]
    if asked.named or len(texts) > 1 or not all(texts):
        asked.wants('"WHAT IT IS ABOUT"')
    return {"target": texts[0]} if texts else {}


_READ: Mapping[Call, Callable[[_Arguments], dict[str, object]]] = {
    C.INIT_TRANSACTIONS: _init,
    C.POLL: _poll,
    C.SEND: _send,
    C.SEND_OFFSETS: _offsets,
    C.SEND_SHARE_ACKNOWLEDGEMENTS: _stage,
    C.ACKNOWLEDGE: _acknowledge,
    C.COMPLETE_TRANSACTION: _complete,
    C.DATABASE_INSERT: _insert,
    C.DATABASE_CLAIM: _only(PRODUCER),
    C.SEEK: _only(_POSITION),
    C.SUBSCRIBE: _named_by_text,
}
