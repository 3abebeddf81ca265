"""The command line: it runs a subcommand and returns its exit status.

0: success, and every property that was checked holds. 1: a property does not hold. 2: bad input, with one sentence on
stderr, or an answer that cannot be written. 70: a bug in kipviz, with its traceback. 130: interrupted, even if the
results so far were printed; but 1 if they show that a property does not hold.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
import traceback
from collections.abc import Sequence

from kipviz import __version__
from kipviz.command import clauses, listing
from kipviz.command.arguments import Parser
from kipviz.command.bad_input import RefusedInput
from kipviz.command.campaigns import campaign, runs, swarm
from kipviz.command.clusters import audit, conform, log, serve, watch
from kipviz.command.output import begin, was_cut_short
from kipviz.command.own_code import read_rules
from kipviz.command.own_story import read_own
from kipviz.command.searches import (
    ablate,
    check_timeouts,
    explore,
    landscape,
    ledger,
    outcomes,
    repair,
    review,
    study,
)
from kipviz.command.single_runs import compare, course, export, lab, opening, pains, play, replay
from kipviz.core.outside.optional_parts import MissingPart, missing_part
from kipviz.core.outside.printable import sentence, several

COMMANDS = {
    "list": listing,
    "open": opening,
    "play": play,
    "explore": explore,
    "compare": compare,
    "campaign": campaign,
    "runs": runs,
    "swarm": swarm,
    "outcomes": outcomes,
    "audit": audit,
    "replay": replay,
    "export": export,
    "log": log,
    "clauses": clauses,
    "pains": pains,
    "study": study,
    "ablate": ablate,
    "repair": repair,
    "landscape": landscape,
    "check-timeouts": check_timeouts,
    "ledger": ledger,
    "review": review,
    "serve": serve,
    "watch": watch,
    "conform": conform,
    "course": course,
    "lab": lab,
}

BAD_INPUT = 2
MISTAKE = 70
INTERRUPTED = 130
NOBODY_READS = 141
# Errors for a name that no file can have, or that may not be accessed.
CANNOT_BE_A_FILE = (errno.ENAMETOOLONG, errno.ELOOP, errno.EACCES, errno.EPERM, errno.ENOTDIR)
# Errors of a print to a full disk, over a quota, to a broken device or to a closed stream.
CANNOT_BE_WRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EBADF, errno.EFBIG)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(
                errors="replace"
            )  # a character that the terminal lacks is no reason to stop
    begin()
    try:
        arguments = parser().parse_args(argv)
        read_own(arguments)
        read_rules(arguments)
        status: int = COMMANDS[arguments.command].run(arguments)
        if sys.stdout is not None:  # a shell may start a program without stdout
            sys.stdout.flush()
        if status == 0 and was_cut_short():
            print("kipviz: interrupted; showing the results so far", file=sys.stderr)
            return INTERRUPTED
    except RefusedInput as refused:
        _say(f"kipviz: {sentence(str(refused))}")
        return BAD_INPUT
    except KeyboardInterrupt:
        _say("kipviz: interrupted")
        return INTERRUPTED
    except ModuleNotFoundError as error:
        missing = missing_part(f"kipviz {arguments.command}", error)
        if missing is None:
            return _mistake()
        _say(f"kipviz: {sentence(str(missing))}")
        return BAD_INPUT
    except MissingPart as missing:
        _say(f"kipviz: {sentence(str(missing))}")
        return BAD_INPUT
    except BrokenPipeError:
        # `kipviz play ... | head` has read all it wants.
        _leave_stdout()
        return NOBODY_READS
    except OSError as error:
        if error.filename is not None and error.errno in CANNOT_BE_A_FILE:
            _say(f"kipviz: {sentence(f'cannot use {error.filename}: {error.strerror}')}")
            return BAD_INPUT
        if error.errno not in CANNOT_BE_WRITTEN or error.filename is not None:
            return _mistake()
        _leave_stdout()
        _say(f"kipviz: the output cannot be written: {error.strerror}")
        return BAD_INPUT
    except Exception as error:  # noqa: BLE001  it must not end with a status that says something else
        if not _is_readers_own(error):
            return _mistake()
        _say(f"kipviz: {sentence(str(error))}")
        return BAD_INPUT
    return status


def _is_readers_own(error: Exception) -> bool:
    """Return whether a rule of the reader's own failed in a run: only the reader can fix it."""
    from kipviz.designs.own_rule import BadRule

    return isinstance(error, BadRule)


def _mistake() -> int:
    """Print the traceback of a bug in kipviz; its message may quote a foreign file."""
    _say(several(traceback.format_exc().rstrip("\n")))
    return MISTAKE


def _say(words: str) -> None:
    """Print to stderr, if that is possible."""
    with contextlib.suppress(OSError):
        print(words, file=sys.stderr, flush=True)


def _leave_stdout() -> None:
    """Discard buffered output, because Python would complain when it flushes at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def parser() -> Parser:
    """Return the parser of the whole command."""
    whole = Parser(
        prog="kipviz",
        description="Step through Kafka's transaction and share-group protocol, search it for violations, and compare proposed designs.",
        epilog="Exit status: 0, 1 if a property does not hold, 2 for bad input.",
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
