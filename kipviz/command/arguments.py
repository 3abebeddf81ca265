"""How arguments are parsed: one parser that rejects bad input in one sentence, and the shared arguments."""

from __future__ import annotations

import argparse
from typing import NoReturn

from kipviz.command.bad_input import RefusedInput

SEED_MAX = 2**63 - 1


class Parser(argparse.ArgumentParser):
    """An argument parser that raises instead of printing its usage and exiting."""

    def error(self, message: str) -> NoReturn:
        """Reject bad arguments."""
        raise RefusedInput(f"{message} (see {self.prog} --help)")


def seed(text: str) -> int:
    """Parse a seed: an integer that fits into the table of a campaign."""
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"a seed must be a whole number, such as 7, not {text!r}"
        ) from None
    if not -SEED_MAX <= number <= SEED_MAX:
        raise argparse.ArgumentTypeError(f"a seed can have at most 63 bits, not {text}")
    return number


def count(text: str) -> int:
    """Parse a whole number of at least 1."""
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"it must be a whole number of at least 1, not {text!r}")
    return int(text)


def milliseconds(text: str) -> float:
    """Parse a time in ms, such as 0.5."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"it must be a number of ms, such as 0.5, not {text!r}"
        ) from None


def names(text: str) -> tuple[str, ...]:
    """Parse names that are separated by commas."""
    found = tuple(name.strip() for name in text.split(","))
    if not all(found):
        raise argparse.ArgumentTypeError(f"it must be names with commas between them, not {text!r}")
    return found


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add --json: the answer as one JSON document."""
    parser.add_argument(
        "--json", action="store_true", help="one JSON document on stdout instead of text"
    )


def add_form(parser: argparse.ArgumentParser) -> None:
    """Add --text and --json: the form in which a run is printed."""
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--text", action="store_true", help="a table of steps; this is the default")
    form.add_argument("--json", action="store_true", help="one JSON document on stdout instead")


def add_run(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name a story, a permalink or a run from a file."""
    parser.add_argument(
        "scenario",
        nargs="?",
        metavar="SCENARIO",
        help="see `kipviz list scenarios`; or a permalink, kv2.…",
    )
    parser.add_argument("--design", metavar="DESIGN", help="default: the scenario's own")
    parser.add_argument(
        "--from-trace",
        metavar="FILE",
        help="use a saved run instead; or a trace that TLC, Apalache or Quint found (ITF, or TLC's text or JSON)",
    )
    parser.add_argument(
        "--module",
        metavar="FILE.tla",
        help="with --from-trace: the module of kipviz that TLC's trace is about",
    )
    parser.add_argument(
        "--trace-faults",
        metavar="FAULTS",
        help="with --from-trace and a SCENARIO, of another tool's trace: what may go wrong, such as expire_lock=1",
    )


def add_task(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name one seeded run."""
    parser.add_argument("--scenario", required=True, metavar="SCENARIO")
    parser.add_argument("--design", required=True, metavar="DESIGN")
    parser.add_argument("--faults", default="calm", metavar="PROFILE", help="default: calm")
    parser.add_argument("--seed", required=True, type=seed, metavar="N")
    add_steps_max(parser)


def add_steps_max(parser: argparse.ArgumentParser) -> None:
    """Add --steps-max: the number of steps after which a seeded run ends."""
    parser.add_argument(
        "--steps-max",
        type=count,
        default=600,
        metavar="N",
        help="maximum number of steps of a run (600)",
    )
