"""The message of an error is a clause: it stands behind a class, a file or a command's name, and in other messages."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.tidy.source import files, name_of, tree

# A sentence of Kafka's own, and parts of a sentence about a reader's view, which the page completes.
OTHERS = frozenset({"AssertionError", "TopicRefusedError", "BadPicture", "_WrongAnswer"})
# Words that have a capital wherever they stand.
NAMES = frozenset(
    [
        "ACLs",
        "AcknowledgeTypes",
        "AddPartitionsToTxn",
        "JupyterLite",
        "JupyterLite's",
        "Kafka",
        "RE2",
        "ShareAcquireMode",
        "Spark",
        "Spark's",
    ]
)


def message_of(call: ast.Call) -> ast.Constant | ast.JoinedStr | None:
    """The text that a raised error has, if it stands there."""
    texts = [
        each
        for each in call.args
        if isinstance(each, ast.JoinedStr)
        or (isinstance(each, ast.Constant) and isinstance(each.value, str))
    ]
    return texts[-1] if texts else None


def messages(source: ast.Module) -> Iterator[tuple[int, str, str]]:
    """The line, the first and the last words of each message; "" where a value stands."""
    for node in ast.walk(source):
        if not (isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)):
            continue
        name = ast.unparse(node.exc.func).rpartition(".")[2]
        text = message_of(node.exc)
        if text is None or name in OTHERS:
            continue
        parts = text.values if isinstance(text, ast.JoinedStr) else [text]
        first, last = (
            str(part.value) if isinstance(part, ast.Constant) else ""
            for part in (parts[0], parts[-1])
        )
        yield node.lineno, first, last


def is_clause(first: str, last: str) -> bool:
    word = first.split(" ", maxsplit=1)[0]
    begins = not first[:1].isupper() or word in NAMES
    return begins and (not last.endswith(".") or last.endswith("..."))


def test_an_error_s_message_begins_small_and_has_no_full_stop() -> None:
    found = {
        name_of(path): wrong
        for path in files()
        if (
            wrong := [
                (line, first, last)
                for line, first, last in messages(tree(path))
                if not is_clause(first, last)
            ]
        )
    }
    assert found == {}


def test_such_messages_are_found() -> None:
    source = """
raise ValueError("There is none.")
raise ValueError(f"{name} is none.")
raise Wrong(3, f"No {name}")
raise Wrong(3, f"no {name}; there are {others}")
raise TopicRefusedError(error, "All brokers are currently fenced.")
"""
    said = [is_clause(first, last) for _, first, last in messages(ast.parse(source))]
    assert said == [False, False, False, True]
