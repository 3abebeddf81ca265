"""`kipviz watch`: what is open, held back and left behind in a running cluster, through its Admin API."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kipviz.checking.search.interrupted import until_interrupted
from kipviz.command.arguments import add_json
from kipviz.command.bad_input import Refused
from kipviz.command.output import answer
from kipviz.core.printable import shown

if TYPE_CHECKING:
    from kipviz.watching.cluster_query import Look

HELP = (
    "watch a running cluster: open transactions, what they block, share groups' backlogs; read-only"
)
EVERY_S, TIMEOUT_S = 5.0, 10.0
INTERRUPTED = 130
# How soon an interrupt is noticed between two looks.
NOTICE_S = 0.1
# Puts the cursor home and clears what is below it.
CLEAR = "\x1b[H\x1b[J"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    parser.add_argument(
        "--bootstrap-server",
        required=True,
        metavar="HOST:PORT",
        help="a broker's listener; several with commas between them",
    )
    often = parser.add_mutually_exclusive_group()
    often.add_argument(
        "--every", type=_seconds, default=EVERY_S, metavar="SECONDS", help="query interval (5)"
    )
    often.add_argument(
        "--once", action="store_true", help="query once; the exit status is 1 if something is wrong"
    )
    parser.add_argument(
        "--command-config",
        metavar="FILE",
        help="a properties file with security.protocol, sasl.* and ssl.*, as Kafka's tools take it",
    )
    parser.add_argument(
        "--timeout",
        type=_seconds,
        default=TIMEOUT_S,
        metavar="SECONDS",
        help="timeout of a response (10)",
    )
    add_json(parser)


def _seconds(text: str) -> float:
    """Read a number of seconds above 0."""
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0.1 <= found <= 86_400:
        raise argparse.ArgumentTypeError(f"it takes seconds from 0.1 to 86400, not {text!r}")
    return found


def run(arguments: argparse.Namespace) -> int:
    """Look at a cluster once, or again and again until ^C.

    Raises:
        Refused: if there is no cluster, in one sentence.
    """
    from kipviz.watching.connection import Connection, Unreachable

    config = _config(arguments.command_config)
    try:
        with Connection(arguments.bootstrap_server, config, arguments.timeout) as connection:
            return _watch(connection.ask, arguments)
    except Unreachable as wrong:
        raise Refused(str(wrong)) from None
    except KeyboardInterrupt:
        return INTERRUPTED


def _config(path: str | None) -> dict[str, Any]:
    from kipviz.watching.properties_file import BadProperties, client_config

    if path is None:
        return {}
    try:
        return client_config(Path(path).read_text("utf-8"))
    except OSError as wrong:
        raise Refused(f"cannot read {path}: {wrong.strerror or wrong}") from None
    except (BadProperties, UnicodeDecodeError) as wrong:
        raise Refused(f"{path}: {wrong}") from None


def _watch(ask: Any, arguments: argparse.Namespace) -> int:
    # An interrupt in the middle of a request would leave its connection in the middle, too: the first one ends the
    # watch behind the look that is under way, and a second one is not waited for.
    with until_interrupted() as go_on:
        while True:
            status = _looked(ask, arguments)
            if arguments.once and go_on():
                return status
            if not _paused(arguments.every, go_on):
                raise KeyboardInterrupt


def _looked(ask: Any, arguments: argparse.Namespace) -> int:
    """Look once and show it; the status is 1 if something is wrong."""
    from kipviz.watching.admin_queries import NoAnswer
    from kipviz.watching.cluster_query import look

    try:
        found = look(ask, _now_ms, arguments.bootstrap_server)
    except NoAnswer as why:
        sentence = f"no broker of {arguments.bootstrap_server} answers: {why}"
        if arguments.once:
            raise Refused(sentence) from None
        print(f"kipviz: {shown(sentence)}; retrying", file=sys.stderr, flush=True)
        return 1
    (_show if arguments.once else _show_again)(found, arguments)
    return int(found.is_wrong)


def _paused(seconds: float, go_on: Callable[[], bool]) -> bool:
    """Wait until the next look; False at once if somebody interrupts."""
    end = time.monotonic() + seconds
    while go_on():
        left = end - time.monotonic()
        if left <= 0:
            return True
        time.sleep(min(left, NOTICE_S))
    return False


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _show(found: Look, arguments: argparse.Namespace) -> None:
    from kipviz.watching.report import document, lines

    answer(document(found), lines(found), as_json=arguments.json)


def _show_again(found: Look, arguments: argparse.Namespace) -> None:
    """Show one look of several: on a terminal in the place of the last one, as JSON a line each."""
    from kipviz.watching.report import document, lines

    if arguments.json:
        print(json.dumps(document(found)), flush=True)
        return
    text = "\n".join(shown(line) for line in lines(found))
    print(f"{CLEAR}{text}" if sys.stdout.isatty() else f"{text}\n", flush=True)
