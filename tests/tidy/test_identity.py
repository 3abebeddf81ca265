"""What a message, an action or a role is, the code asks of its class or its value: no table is keyed by a name as a string."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import get_args

from kipviz.cluster.actions import ClusterAction
from kipviz.messages.apis.api import Role
from kipviz.messages.apis.catalogue import APIS
from tests.tidy.source import files, name_of, tree

ROLES = frozenset(role.value for role in Role)
APIS_OF_KAFKA = frozenset(api.kafka_name for api in APIS if api.response_bytes is not None)
NAMES = (
    frozenset(
        kind.__name__
        for kind in (*get_args(ClusterAction), *(k for a in APIS for k in (a.request, a.response)))
    )
    | APIS_OF_KAFKA
    | ROLES
)
# A request in a broker's log has Kafka's name of its API, and what judges a recording asks for it.
RECORDED = "kipviz/recordings/"
# The one place of the roles' names, and an option of a design that is called as a role is.
ROLES_THEMSELVES = {"kipviz/messages/apis/api.py", "kipviz/designs/options/options.py"}
# Names of other things: of fields in Kafka's bytes, of requests in recorded files, and of a script's texts.
OTHERS = {
    "kipviz/conforming/clients.py",
    "kipviz/messages/apis/groups/classic_groups.py",
    "kipviz/messages/apis/groups/offset_fetch.py",
    "kipviz/recordings/request_context/handmade_requests.py",
    "kipviz/studies/counting/sessions.py",
}


def strings(node: ast.expr | None) -> Iterator[str]:
    """The strings that a comparison, a key of a table or the alternatives of a comparison name."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.Tuple(elts=parts) | ast.Set(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from strings(part)
        case _:
            pass


def identities(source: ast.Module) -> Iterator[tuple[int, str]]:
    """The names of messages and actions that are compared with, matched, or are keys of a table."""
    for node in ast.walk(source):
        found: list[str] = []
        match node:
            case ast.Compare(left=left, comparators=others):
                found = [text for each in (left, *others) for text in strings(each)]
            case ast.Dict(keys=keys):
                found = [text for key in keys for text in strings(key)]
            case ast.MatchValue(value=value):
                found = list(strings(value))
            case ast.Subscript(slice=key):
                found = list(strings(key))
            case ast.Call(
                func=ast.Attribute(attr="get" | "set" | "pop" | "setdefault"), args=[key, *_]
            ):
                found = list(strings(key))
            case _:
                pass
        yield from ((getattr(node, "lineno", 0), text) for text in found if text in NAMES)


def test_no_table_and_no_comparison_names_a_class_by_a_string() -> None:
    found = {
        name_of(path): [
            (line, text)
            for line, text in identities(tree(path))
            if text not in APIS_OF_KAFKA or not name_of(path).startswith(RECORDED)
        ]
        for path in files()
    }
    assert {name: where for name, where in found.items() if where and name not in OTHERS} == {}
    assert all(found[name] for name in OTHERS), "the list may only become shorter"


def test_no_role_is_named_by_a_string() -> None:
    found = {
        name_of(path): [
            node.lineno
            for node in ast.walk(tree(path))
            if isinstance(node, ast.Constant) and node.value in ROLES
        ]
        for path in files()
    }
    assert {name: at for name, at in found.items() if at and name not in ROLES_THEMSELVES} == {}
    assert all(found[name] for name in ROLES_THEMSELVES), "the list may only become shorter"


def test_such_names_are_found() -> None:
    source = """
T = {"EndTxn": 1}
if name in ("Fetch", "x") or name == "Send" or known == "END_TXN": pass
at = roles[1, "group_coordinator", shard], T.get("Produce"), T.get((1, "share_coordinator"))
"""
    found = {text for _, text in identities(ast.parse(source))}
    names = {"EndTxn", "Fetch", "Send", "END_TXN", "Produce"}
    assert found == names | {"group_coordinator", "share_coordinator"}
