"""Functions of the reader's own on the command line: a rule for a slot, a view beside the cards.

`--rule` and `--view` name a function in a Python file, and that file is run. Nothing else on the command line runs
code: no link and no saved run.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from kipviz.command.bad_input import RefusedInput
from kipviz.core.outside.printable import sentence
from kipviz.core.outside.suggestions import nearest

ENDS = ".py"
FORM = "FILE.py:FUNCTION"


def add_views(parser: argparse.ArgumentParser) -> None:
    """Add --view: cards with views of the reader's own."""
    parser.add_argument(
        "--view",
        dest="views",
        action="append",
        default=[],
        metavar=FORM,
        help="also show your own function from a world to rows or to an SVG; this option runs FILE.py. May be "
        "repeated",
    )


def add_rules(parser: argparse.ArgumentParser, base: str) -> None:
    """Add --rule: rules of the reader's own; `base` names the option of the design that they change."""
    parser.add_argument(
        "--rule",
        dest="own_rules",
        action="append",
        default=[],
        metavar=f"SLOT={FORM}",
        help=f"put your own function into a slot of {base}; the design then has the function's name, with "
        "hyphens. This option runs FILE.py. May be repeated",
    )


def views_of(arguments: argparse.Namespace) -> tuple[Callable[..., Any], ...]:
    """Return the functions that --view names.

    Raises:
        Refused: if one cannot be loaded, or is not a view.
    """
    found = tuple(_function(text) for text in arguments.views)
    if found:
        from kipviz.views.role_cards.own_view import BadView, own_views

        try:
            own_views(found)
        except BadView as wrong:
            raise RefusedInput(str(wrong)) from None
    return found


def read_rules(arguments: argparse.Namespace) -> None:
    """Propose the design that --rule asks for, and use it instead of its base.

    A link or a saved run names its design itself, and finds the proposed one by that name.

    Raises:
        Refused: if a function cannot be loaded, or does not fit its slot.
    """
    rules: dict[str, Callable[..., object]] = {}
    for text in getattr(arguments, "own_rules", ()):
        slot, equals, where = text.partition("=")
        if not equals or not slot.isidentifier():
            raise RefusedInput(
                f"--rule must be SLOT={FORM}, such as marker_epoch=rules.py:mine, not {text!r}"
            )
        if slot in rules:
            raise RefusedInput(f"the slot {slot} has two rules: give each slot one --rule")
        rules[slot] = _function(where)
    if not rules:
        return
    from kipviz.checking.single_run.permalink import is_link
    from kipviz.designs.proposals import propose

    first = next(iter(rules.values()))
    name = first.__name__.lower().replace("_", "-").strip("-")
    base = getattr(arguments, "design", None) or "repaired"
    try:
        made = propose(name, base, **rules)
    except ValueError as wrong:
        raise RefusedInput(str(wrong)) from None
    saved = getattr(arguments, "from_trace", None) is not None
    if hasattr(arguments, "design"):
        arguments.design = None if saved or is_link(arguments.scenario or "") else str(made)


def _function(text: str) -> Callable[..., Any]:
    """Return the function that FILE.py:FUNCTION names."""
    path, colon, name = text.rpartition(":")
    if not colon or not path.endswith(ENDS) or not name.isidentifier():
        raise RefusedInput(
            f"a function of your own must be {FORM}, such as mine.py:my_function, not {text!r}"
        )
    module = _load_module(path)
    functions = [
        each
        for each, value in vars(module).items()
        if callable(value) and getattr(value, "__module__", "") == module.__name__
    ]
    if name not in functions:
        like = f"; did you mean {nearest(name, functions)[0]}?" if functions else ""
        raise RefusedInput(f"{path} has no function {name}{like}")
    found: Callable[..., Any] = vars(module)[name]
    return found


@cache
def _load_module(path: str) -> ModuleType:
    """Run a file once and return its module; what it prints goes to stderr."""
    if not Path(path).is_file():
        raise RefusedInput(f"there is no file {path}")
    called = f"own_{Path(path).stem}"
    spec = importlib.util.spec_from_file_location(called, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[called] = module
    try:
        with contextlib.redirect_stdout(sys.stderr):  # stdout is for the answer
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as raised:  # noqa: BLE001  whatever the reader's file does
        del sys.modules[called]
        raise RefusedInput(
            sentence(f"{path} cannot be run: {type(raised).__name__}: {raised}")
        ) from None
    return module
