"""`kipviz serve`: the simulated cluster for real clients, on loopback; --script drives it line by line."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kipviz.command.arguments import count, seed
from kipviz.command.bad_input import RefusedInput
from kipviz.settings.broker_configs import AUTO_CREATE_TOPICS_ENABLE
from kipviz.settings.client_configs import BOOTSTRAP_SERVERS

if TYPE_CHECKING:
    from kipviz.serving.serve import Server

WAIT_S = 0.5  # how soon ^C is noticed while no line comes
HELP = "let real clients connect to the simulated cluster, on 127.0.0.1 only"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommand's arguments."""
    parser.add_argument(
        "scenario", nargs="?", help="a story; without one three brokers and a topic, orders"
    )
    parser.add_argument("--design", help="the design; the story's first one, or kafka")
    parser.add_argument("--topic", action="append", default=[], help="a topic, of three partitions")
    parser.add_argument(
        "--by",
        default="running",
        metavar="{running,hand}",
        help="running, or hand: deliveries wait for a command",
    )
    parser.add_argument(
        "--time",
        default="clock",
        metavar="{clock,model}",
        help="clock: polls and transactions time out by this machine's clock; model: when a script says so",
    )
    parser.add_argument(
        "--rule",
        action="append",
        default=[],
        metavar="RULE",
        help='rules for deliveries: "hold EndTxn", "lose every 3rd answer", '
        '"crash the coordinator at PREPARE_COMMIT"',
    )
    parser.add_argument(
        "--draft",
        type=count,
        action="append",
        default=[],
        metavar="KIP",
        help="announce the requests of a draft, too: 939 or 1289",
    )
    parser.add_argument(
        "--idle", type=count, default=600, metavar="S", help="stop after S idle seconds (600)"
    )
    parser.add_argument(
        "--seed", type=seed, metavar="N", help="decides which of several possible steps comes first"
    )
    parser.add_argument(
        "--no-auto-create",
        action="store_true",
        help=f"a client's lookup creates no topic ({AUTO_CREATE_TOPICS_ENABLE.name}=false)",
    )
    parser.add_argument(
        "--script",
        action="store_true",
        help='read {"do": …} from stdin, one JSON object per line, and answer each with one; '
        "docs/SERVING.md has every command",
    )

    parser.add_argument(
        "--json",
        action="store_true",
        help="say in JSON where clients connect; --script always does",
    )


def _refuse_what_needs_a_script(arguments: argparse.Namespace) -> None:
    """Refuse what would never end, because without a script no command can continue it."""
    useless = {
        "--by hand": arguments.by == "hand",
        "--time model": arguments.time == "model",
        **{f"--rule {rule!r}": rule.startswith("hold ") for rule in arguments.rule},
    }
    for what, is_there in useless.items():
        if is_there and not arguments.script:
            raise RefusedInput(
                f"{what} waits for commands: give --script, too, or call kipviz.serve"
            )


def run(arguments: argparse.Namespace) -> int:
    """Serve until stdin ends, the idle limit is reached, or ^C is pressed."""
    from kipviz.checking.search.interrupted import is_ignored
    from kipviz.serving.script import answer
    from kipviz.serving.serve import serve
    from kipviz.serving.served_spec import cluster_of
    from kipviz.serving.socket_server import raise_files_max

    given = arguments.scenario
    if arguments.topic and given is not None:
        raise RefusedInput("a story has its own topics: give either a story or --topic")
    _refuse_what_needs_a_script(arguments)
    try:
        if arguments.topic:
            given = cluster_of(dict.fromkeys(arguments.topic, 3))
        server = serve(
            given,
            design=arguments.design,
            by=arguments.by,
            rules=arguments.rule,
            time=arguments.time,
            idle_s=float(arguments.idle),
            drafts=arguments.draft,
            seed=arguments.seed,
            auto_create_topics=not arguments.no_auto_create,
        )
    except ValueError as wrong:
        raise RefusedInput(str(wrong)) from None
    raise_files_max()
    with server:
        if not arguments.script:
            if arguments.json:
                _say({"bootstrap_servers": server.bootstrap_servers})
            else:
                print(f"{BOOTSTRAP_SERVERS.name}={server.bootstrap_servers}", flush=True)
                stop = f"kill {os.getpid()}" if is_ignored() else "^C"
                print(f"Only this machine can connect. {stop} stops it.", flush=True)
            _print_log(server)
            return 0
        _say({"bootstrap_servers": server.bootstrap_servers})
        for asked in _lines():
            _say(answer(server, asked))
            if isinstance(asked, dict) and asked.get("do") == "stop":
                break
    return 0


def _print_log(server: Server) -> None:
    """Print the lines of the log as they come, and why the server ends."""
    known, stopped = 0, False
    while not stopped:
        stopped = server.stopped
        known, lines = server.wait_lines(known, WAIT_S)
        for line in lines:
            print(line, file=sys.stderr, flush=True)
    if server.ended:
        print(f"Stopped: {server.ended} (--idle).", file=sys.stderr, flush=True)


def _lines() -> Iterator[Any]:
    # Bytes: one line that is no UTF-8 is refused as others are, and the next one is read.
    for line in sys.stdin.buffer:
        if line.strip():
            try:
                yield json.loads(line)
            except (ValueError, RecursionError):
                yield None


def _say(document: dict[str, Any]) -> None:
    print(json.dumps(document), flush=True)
