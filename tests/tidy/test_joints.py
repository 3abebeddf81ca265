"""No public function of the lower floors, of the views and of the rooms behind a stepper takes or returns `Any`; no public field holds it.

mypy holds the rooms of `disallow_any_explicit` in pyproject.toml to more: there is no `Any` in them at all. This test
also holds the rooms that need one inside, such as a table whose rows are of different types.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.tidy.source import files, name_of, tree

ROOMS = (
    "records",
    "messages",
    "brokers",
    "clients",
    "cluster",
    "properties",
    "designs",
    "driving",
    "lessons",
    "views",
    "widgets/live",
    "widgets/stepping",
)
JSON = "the values of a message's fields by their names in Kafka's schema, of any type that a schema has"
OWN = "only a property knows what it remembers of a run"
# Functions and fields that have one, each with the reason.
EXCEPTIONS = {
    "kipviz/cluster/search_key.py world_of": "the pieces of a world that are no tables, of a type each",
    "kipviz/messages/wire/codec.py encode": JSON,
    "kipviz/messages/wire/kind.py Around.by_topic": JSON,
    "kipviz/messages/wire/kind.py Kind.defaults": JSON,
    "kipviz/messages/wire/schema.py Field.empty": JSON,
    "kipviz/properties/verdict.py Property.finding": OWN,
}


def test_no_public_function_or_field_of_these_rooms_has_any_in_its_signature() -> None:
    found = {
        f"{name_of(path)} {name}"
        for path in files(*ROOMS)
        for name in _names_with_any(tree(path), "")
    }
    new, gone = sorted(found - set(EXCEPTIONS)), sorted(set(EXCEPTIONS) - found)
    assert not new, f"Any in the signature of {', '.join(new)}: name the type, or `object`"
    assert not gone, f"no longer an exception: {', '.join(gone)}"


def _names_with_any(node: ast.AST, inside: str) -> Iterator[str]:
    """Yield the public functions, methods and fields with an `Any`, without those inside a function."""
    for each in ast.iter_child_nodes(node):
        if isinstance(each, ast.ClassDef):
            if not each.name.startswith("_"):
                yield from _names_with_any(each, f"{inside}{each.name}.")
        elif isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            if not each.name.startswith("_") and _has_any(each):
                yield inside + each.name
        elif isinstance(each, ast.AnnAssign) and inside:
            name = ast.unparse(each.target)
            if not name.startswith("_") and _is_any_in(each.annotation):
                yield inside + name
        elif isinstance(each, ast.If | ast.Try | ast.With):
            yield from _names_with_any(each, inside)


def _has_any(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    told = function.args
    arguments = [*told.posonlyargs, *told.args, *told.kwonlyargs, told.vararg, told.kwarg]
    annotations = [each.annotation for each in arguments if each is not None]
    return any(map(_is_any_in, (*annotations, function.returns)))


def _is_any_in(annotation: ast.expr | None) -> bool:
    """Return whether an annotation names `Any` anywhere."""
    names = () if annotation is None else ast.walk(annotation)
    return any(isinstance(name, ast.Name) and name.id == "Any" for name in names)


def test_the_check_sees_each_place_of_a_signature() -> None:
    seen = (
        "def f(a: Any): ...",
        "def f(*, a: list[Any]): ...",
        "def f(**a: Any): ...",
        "def f() -> tuple[Any, ...]: ...",
        "class C:\n    def f(self, a: Any): ...",
        "class C:\n    x: tuple[Any, ...]",
    )
    unseen = (
        "def _f(a: Any): ...",
        "def f(a: object): ...",
        "x: Any = 1",
        "class _C:\n    x: Any",
        "class C:\n    _x: Any",
    )
    assert all(list(_names_with_any(ast.parse(text), "")) for text in seen)
    assert not any(list(_names_with_any(ast.parse(text), "")) for text in unseen)
