"""The command line: which subcommand, and what its exit status says.

0: it was done and everything asked about holds. 1: a property does not hold. 2: bad input, with one
sentence on stderr. 70: a mistake in kipviz itself, with its traceback. 130: interrupted, also where what was found so far is told; but a
property that does not hold is told by a 1 all the same.
"""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Sequence

from kipviz import __version__
from kipviz.command import (
    ablate,
    audit,
    campaign,
    check_timeouts,
    clauses,
    compare,
    explore,
    export,
    landscape,
    ledger,
    listing,
    log,
    opening,
    outcomes,
    pains,
    play,
    replay,
    review,
    study,
)
from kipviz.command.arguments import Parser
from kipviz.command.output import begin, was_cut_short
from kipviz.command.refused import Refused

COMMANDS = {
    "list": listing,
    "open": opening,
    "play": play,
    "explore": explore,
    "compare": compare,
    "campaign": campaign,
    "outcomes": outcomes,
    "audit": audit,
    "replay": replay,
    "export": export,
    "log": log,
    "clauses": clauses,
    "pains": pains,
    "study": study,
    "ablate": ablate,
    "landscape": landscape,
    "check-timeouts": check_timeouts,
    "ledger": ledger,
    "review": review,
}

BAD_INPUT = 2
MISTAKE = 70
INTERRUPTED = 130
NOBODY_READS = 141


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the arguments say; give the exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a sign the terminal lacks is no reason to stop
    begin()
    try:
        arguments = parser().parse_args(argv)
        status: int = COMMANDS[arguments.command].run(arguments)
        sys.stdout.flush()
        if status == 0 and was_cut_short():
            print("kipviz: interrupted; what is told is what was found so far", file=sys.stderr)
            return INTERRUPTED
    except Refused as refused:
        print(f"kipviz: {' '.join(str(refused).split())}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("kipviz: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # `kipviz play ... | head` has what it wanted; Python would complain when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NOBODY_READS
    except Exception:  # noqa: BLE001  it must not end with a status that says something else
        traceback.print_exc()
        return MISTAKE
    return status


def parser() -> Parser:
    """Give the parser of the whole command."""
    whole = Parser(
        prog="kipviz",
        description="Step through Kafka's transaction and share-group protocol, search it for "
        "broken promises, and compare proposed designs.",
        epilog="Exit status: 0, or 1 when a property does not hold, or 2 for bad input.",
        allow_abbrev=False,
    )
    whole.add_argument("--version", action="version", version=f"kipviz {__version__}")
    commands = whole.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, command in COMMANDS.items():
        sub = commands.add_parser(
            name, help=command.HELP, description=command.HELP, allow_abbrev=False
        )
        command.add_arguments(sub)
    return whole
