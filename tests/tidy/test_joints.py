"""No public function of the lower floors, and of the rooms behind a stepper, takes or returns `Any`.

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
    "driving",
    "lessons",
    "widgets/live",
    "widgets/stepping",
)
JSON = "the values of a message's fields by their names in Kafka's schema, of any type that a schema has"
OWN = "only a property knows what it remembers of a run"
# Functions that have one, each with the reason.
EXCEPTIONS = {
    "kipviz/cluster/search_key.py world_of": "the pieces of a world that are no tables, of a type each",
    "kipviz/messages/wire/codec.py encode": JSON,
    "kipviz/messages/wire/kind.py Around.by_topic": JSON,
    "kipviz/messages/wire/schema.py Field.empty": JSON,
    "kipviz/properties/verdict.py Property.finding": OWN,
}


def test_no_public_function_of_these_rooms_has_any_in_its_signature() -> None:
    found = {
        f"{name_of(path)} {function}"
        for path in files(*ROOMS)
        for function in _functions_with_any(tree(path), "")
    }
    new, gone = sorted(found - set(EXCEPTIONS)), sorted(set(EXCEPTIONS) - found)
    assert not new, f"Any in the signature of {', '.join(new)}: name the type, or `object`"
    assert not gone, f"no longer an exception: {', '.join(gone)}"


def _functions_with_any(node: ast.AST, inside: str) -> Iterator[str]:
    """Yield the public functions and methods of a module, without those inside a function."""
    for each in ast.iter_child_nodes(node):
        if isinstance(each, ast.ClassDef):
            yield from _functions_with_any(each, f"{inside}{each.name}.")
        elif isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            if not each.name.startswith("_") and _has_any(each):
                yield inside + each.name
        elif isinstance(each, ast.If | ast.Try | ast.With):
            yield from _functions_with_any(each, inside)


def _has_any(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    told = function.args
    arguments = [*told.posonlyargs, *told.args, *told.kwonlyargs, told.vararg, told.kwarg]
    annotations = [each.annotation for each in arguments if each is not None]
    return any(
        isinstance(name, ast.Name) and name.id == "Any"
        for annotation in (*annotations, function.returns)
        if annotation is not None
        for name in ast.walk(annotation)
    )


def test_the_check_sees_each_place_of_a_signature() -> None:
    seen = (
        "def f(a: Any): ...",
        "def f(*, a: list[Any]): ...",
        "def f(**a: Any): ...",
        "def f() -> tuple[Any, ...]: ...",
        "class C:\n    def f(self, a: Any): ...",
    )
    unseen = ("def _f(a: Any): ...", "def f(a: object): ...", "x: Any = 1")
    assert all(list(_functions_with_any(ast.parse(text), "")) for text in seen)
    assert not any(list(_functions_with_any(ast.parse(text), "")) for text in unseen)
