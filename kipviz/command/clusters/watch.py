"""`kipviz watch`: open transactions, blocked readers and leftovers of a running cluster, through its Admin API."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kipviz.checking.search.interrupted import until_interrupted
from kipviz.command.arguments import add_json
from kipviz.command.bad_input import RefusedInput
from kipviz.command.output import answer
from kipviz.core.outside.printable import escape_line
from kipviz.settings.client_configs import SECURITY_PROTOCOL

if TYPE_CHECKING:
    from kipviz.watching.cluster_query import Look
    from kipviz.watching.page import WatchPage

HELP = (
    "watch a running cluster: open transactions, what they block, share groups' backlogs; read-only"
)
EVERY_S, TIMEOUT_S = 5.0, 10.0
INTERRUPTED = 130
# How often the wait between two queries checks for an interrupt.
NOTICE_S = 0.1
# Moves the cursor home and clears the screen below it.
CLEAR = "\x1b[H\x1b[J"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommand's arguments."""
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
        "--page",
        type=_port,
        metavar="PORT",
        help="also show the results on a page, http://127.0.0.1:PORT/, which refreshes itself; 0: any free port",
    )
    parser.add_argument(
        "--command-config",
        metavar="FILE",
        help=f"a properties file with {SECURITY_PROTOCOL.name}, sasl.* and ssl.*, as for Kafka's tools",
    )
    parser.add_argument(
        "--timeout",
        type=_seconds,
        default=TIMEOUT_S,
        metavar="SECONDS",
        help="timeout of a response (10)",
    )
    add_json(parser)


def _port(text: str) -> int:
    """Parse a port number, or 0 for any free port."""
    if not (text.isascii() and text.isdecimal() and int(text) < 65_536):
        raise argparse.ArgumentTypeError(f"a port must be a number from 0 to 65535, not {text!r}")
    return int(text)


def _seconds(text: str) -> float:
    """Parse a number of seconds, from 0.1 to 86400."""
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0.1 <= found <= 86_400:
        raise argparse.ArgumentTypeError(f"it must be seconds from 0.1 to 86400, not {text!r}")
    return found


def run(arguments: argparse.Namespace) -> int:
    """Query a cluster once, or repeatedly until ^C.

    Raises:
        Refused: if no cluster can be reached, in one sentence.
    """
    from kipviz.watching.connection import Connection, Unreachable

    config = _config(arguments.command_config)
    if arguments.page is not None and arguments.once:
        raise RefusedInput("--page shows repeated queries, and --once makes only one")
    try:
        with (
            Connection(arguments.bootstrap_server, config, arguments.timeout) as connection,
            _page(arguments) as page,
        ):
            return _watch(connection.ask, arguments, page)
    except Unreachable as wrong:
        raise RefusedInput(str(wrong)) from None
    except KeyboardInterrupt:
        return INTERRUPTED


@contextlib.contextmanager
def _page(arguments: argparse.Namespace) -> Iterator[WatchPage | None]:
    """Serve the page during the watch, if --page asks for one."""
    from kipviz.watching.page import WatchPage

    if arguments.page is None:
        yield None
        return
    try:
        page = WatchPage(arguments.page, arguments.every)
    except OSError as wrong:
        why = wrong.strerror or wrong
        raise RefusedInput(
            f"cannot listen at port {arguments.page} of this machine: {why}"
        ) from None
    with page:
        print(f"kipviz: the page is at {page.address}", file=sys.stderr, flush=True)
        yield page


def _config(path: str | None) -> dict[str, Any]:
    from kipviz.watching.properties_file import BadProperties, client_config

    if path is None:
        return {}
    try:
        return client_config(Path(path).read_text("utf-8"))
    except OSError as wrong:
        raise RefusedInput(f"cannot read {path}: {wrong.strerror or wrong}") from None
    except (BadProperties, UnicodeDecodeError) as wrong:
        raise RefusedInput(f"{path}: {wrong}") from None


def _watch(ask: Any, arguments: argparse.Namespace, page: WatchPage | None) -> int:
    # An interrupt during a request would leave its connection in an undefined state. So the first one ends the watch
    # after the current query, and a second one is not awaited.
    with until_interrupted() as go_on:
        while True:
            status = _query_once(ask, arguments, page)
            if arguments.once and go_on():
                return status
            if not _pause(arguments.every, go_on):
                raise KeyboardInterrupt


def _query_once(ask: Any, arguments: argparse.Namespace, page: WatchPage | None) -> int:
    """Query once and print the result; the status is 1 if something is wrong."""
    from kipviz.watching.admin_queries import NoAnswer
    from kipviz.watching.cluster_query import look

    try:
        found = look(ask, _now_ms, arguments.bootstrap_server)
    except NoAnswer as why:
        sentence = f"no broker of {arguments.bootstrap_server} answers: {why}"
        if arguments.once:
            raise RefusedInput(sentence) from None
        print(f"kipviz: {escape_line(sentence)}; retrying", file=sys.stderr, flush=True)
        if page is not None:
            page.trouble(sentence)
        return 1
    if page is not None:
        page.show(found)
    (_show if arguments.once else _show_again)(found, arguments)
    return int(found.is_wrong)


def _pause(seconds: float, go_on: Callable[[], bool]) -> bool:
    """Wait until the next query; return False at once after an interrupt."""
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
    """Print one of several queries: on a terminal over the previous one, as JSON one line each."""
    from kipviz.watching.report import document, lines

    if arguments.json:
        print(json.dumps(document(found)), flush=True)
        return
    text = "\n".join(escape_line(line) for line in lines(found))
    print(f"{CLEAR}{text}" if sys.stdout.isatty() else f"{text}\n", flush=True)
