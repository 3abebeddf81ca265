"""`kipviz explore --tla`: write the search as a TLA+ module beside the answer."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from kipviz.command.bad_input import RefusedInput
from kipviz.command.output import Progress, check_place, until_interrupted

if TYPE_CHECKING:
    from kipviz.checking.tla.files import ModuleFiles
    from kipviz.cluster.specs.spec import FaultBudget
    from kipviz.designs.design import Design
    from kipviz.scenarios.scenario import Scenario


def add_module(parser: argparse.ArgumentParser) -> None:
    """Add the options that write a search as a TLA+ module."""
    parser.add_argument(
        "--tla",
        metavar="FILE.tla",
        help="also write the search as a module that TLC checks, and .cfg files; prints the counts to compare with TLC's",
    )
    parser.add_argument(
        "--tla-with",
        action="append",
        default=[],
        metavar="DESIGN",
        help="with --tla: a further design of the same module; may be repeated",
    )


def check_module(arguments: argparse.Namespace) -> None:
    """Reject, before the search, what cannot be written as a module.

    Raises:
        Refused: with the reason, in one sentence.
    """
    from kipviz.checking.tla.files import check_name
    from kipviz.checking.tla.reachable_states import NotWhole

    if arguments.tla is None:
        if arguments.tla_with:
            raise RefusedInput("--tla-with is for --tla")
        return
    if arguments.reduce or arguments.spark or arguments.resume is not None:
        raise RefusedInput(
            "--tla writes a complete search: leave --reduce, --spark and --resume out"
        )
    try:
        check_name(arguments.tla)
    except NotWhole as wrong:
        raise RefusedInput(str(wrong)) from None
    check_place(arguments.tla)


def write_module(
    arguments: argparse.Namespace,
    scenario: Scenario,
    design: Design,
    budget: FaultBudget,
    settings: tuple[str, ...],
    progress: Progress,
) -> ModuleFiles | None:
    """Search each design to its end and write the module; return None if none was requested.

    Raises:
        Refused: if it cannot be written.
    """
    from kipviz.checking.tla.files import write
    from kipviz.checking.tla.reachable_states import NotWhole
    from kipviz.command.run_report import refusing
    from kipviz.designs.catalogue import design as design_named

    if arguments.tla is None:
        return None
    with refusing():
        designs = (design, *map(design_named, arguments.tla_with))
    try:
        with until_interrupted(progress.states) as go_on:
            return write(
                arguments.tla,
                scenario,
                designs,
                budget,
                settings,
                states_max=arguments.states_max,
                go_on=go_on,
            )
    except NotWhole as wrong:
        raise RefusedInput(str(wrong)) from None
    except OSError as error:
        raise RefusedInput(f"cannot write {arguments.tla}: {error.strerror or error}") from None
