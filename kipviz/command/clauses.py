"""`kipviz clauses`: what of each KIP is modelled, clause by clause."""

from __future__ import annotations

import argparse

from kipviz.command.arguments import add_json, names
from kipviz.command.bad_input import RefusedInput
from kipviz.command.output import answer, make_folder, write_whole
from kipviz.kips.row import HOW

HELP = "print for each clause of each KIP whether it is modelled, simplified or open"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommand's arguments."""
    parser.add_argument("--kip", type=names, metavar="NUMBERS", help="such as 98,890; default: all")
    parser.add_argument("--how", choices=HOW, help="only the rows of this kind")
    parser.add_argument(
        "--into", metavar="FOLDER", help="write an index and a page for each KIP, such as docs/kips"
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the rows; the status is 0, because an open clause is no failure of the command.

    Raises:
        Refused: if the KIP is unknown, or the pages cannot be written.
    """
    from kipviz.kips.library import KIPS, UnknownKip, kip
    from kipviz.views.exports.markdown import lines_of
    from kipviz.views.reports.kips_page import entries, page, pages

    if arguments.into is not None and (arguments.kip or arguments.how):
        raise RefusedInput("--into writes every KIP: leave --kip and --how out")
    try:
        chosen = tuple(map(kip, arguments.kip)) if arguments.kip else KIPS
    except UnknownKip as unknown:
        raise RefusedInput(str(unknown)) from None
    how = arguments.how or ""
    text = page(chosen, how)
    if arguments.into is not None:
        folder = make_folder(arguments.into)
        for name, content in pages(KIPS):
            write_whole(str(folder / name), content)
    document = {"clauses": list(entries(chosen, how))}
    answer(document, lines_of(text), as_json=arguments.json)
    return 0
