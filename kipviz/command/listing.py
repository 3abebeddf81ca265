"""`kipviz list`: scenarios, designs, slots, faults and profiles to choose from."""

from __future__ import annotations

import argparse
from typing import Any

from kipviz.command.arguments import add_json
from kipviz.command.output import answer

HELP = "list the scenarios, designs, slots, fault profiles and abstraction profiles"
KINDS = ("scenarios", "designs", "slots", "faults", "profiles")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommand's arguments."""
    parser.add_argument("what", nargs="?", choices=KINDS, help="one catalogue; default: all")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print one catalogue or all of them."""
    from kipviz.views.reports import listing

    document: dict[str, Any] = {}
    lines: list[str] = []
    for what in [arguments.what] if arguments.what else KINDS:
        found: listing.Listing = getattr(listing, what)()
        document[what] = found.entries
        if arguments.what is None:
            lines += ([""] if lines else []) + [what.upper()]
        lines += found.lines
    answer(document, lines, as_json=arguments.json)
    return 0
