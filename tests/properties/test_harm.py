"""The words of a reason tell what a violation costs, and both are in one place."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import kipviz
from kipviz.properties.harm import (
    DELIVERED_AGAIN,
    DUPLICATED,
    LOST,
    OF_A_DATABASE,
    SEVERAL_UNRESOLVED,
    UNRESOLVED,
    Harm,
    harm_of,
)

ROOMS = ("properties", "checking")


@pytest.mark.parametrize(
    ("reason", "harm"),
    [
        (f"src-0@1 has 2 committed outputs: {DUPLICATED}", Harm.DUPLICATE),
        (f"src-0@1 is acknowledged, but none of its outputs is committed: {LOST}", Harm.LOSS),
        (f"the output is committed, but it will {DELIVERED_AGAIN}", Harm.AGAIN),
        (f"transaction txn is ONGOING, and no continuation {UNRESOLVED}", Harm.STUCK),
        (f"two things wait, and no continuation {SEVERAL_UNRESOLVED}", Harm.STUCK),
        (f"{OF_A_DATABASE}app-1 is in doubt, and no continuation {UNRESOLVED}", Harm.IN_DOUBT),
        ("group g1 has read past src-0@1", None),
        ("", None),
    ],
)
def test_a_reason_tells_what_the_violation_costs(reason, harm):
    assert harm_of(reason) is harm


@pytest.mark.parametrize("room", ROOMS)
def test_no_property_writes_such_words_itself(room):
    words = (f": {DUPLICATED}", f": {LOST}", DELIVERED_AGAIN, OF_A_DATABASE)
    for path in sorted((Path(kipviz.__file__).parent / room).rglob("*.py")):
        if path.name == "harm.py":
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        docs = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        texts = [
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in docs
        ]
        assert not [text for text in texts if any(word in text for word in words)], path.name
