"""`make interrupt`: press ^C at random moments of long commands, and see that each ends well and loses nothing.

    make interrupt ARGS='--seed 5 --count 200'
    make interrupt ARGS='--command campaign --count 20'

Each command is run once as a whole; then ^C comes after a random part of that time, to all its processes as from a
terminal. If all was done already, the command says what it says at one go; if Python was still importing what it needs
itself, it says that it could not start: then another moment is drawn. Else the command has to
end with status 130 (or by the signal, while Python starts), say nothing loud and leave no process, and what it kept has
to be whole: it goes on from there to the answer that it gives at one go. The exit status is 0 if all is so, else 1; a
command for which no moment was found before its end is wrong, too, since it may not hear ^C at all.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from kipviz import __version__
from kipviz.checking.search.interrupted import is_ignored
from tests.interrupting.moments import COMMANDS, Command, Ended, run

RECORD = Path(__file__).parent / "record.json"
TRIES = 5  # a moment before the start or behind the end is drawn again so often
NO_MOMENT = f"none of {TRIES} moments came between its start and its end"


class Moments:
    """Moments of the commands, drawn from one seed, and what was wrong at them."""

    def __init__(self, seed: int, commands: Sequence[Command] = COMMANDS) -> None:
        """Take the commands; each is run whole when its first moment is drawn."""
        self._dice = random.Random(seed)
        self._commands = commands
        self._wholes: dict[str, Ended] = {}
        self.counts: Counter[str] = Counter()
        self._without: Counter[str] = Counter()
        self.by_signal = 0
        self.too_early = 0
        self.too_late = 0
        self.wrong: list[str] = []

    def draw(self, number: int) -> str:
        """Interrupt the next command at a moment of its own; give what was wrong, "" for nothing.

        NO_MOMENT is no fault of a command yet: `unheard` tells.
        """
        command = self._commands[number % len(self._commands)]
        whole = self._whole(command)
        for _ in range(TRIES):
            part = self._dice.random()
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                argv = command.argv(folder)
                ended = run(argv, part * whole.seconds).in_folder(folder)
                if not ended.interrupted:
                    continue
                if ended.came_too_early():
                    self.too_early += 1
                    continue
                if not command.seconds and ended.came_too_late(whole):
                    self.too_late += 1
                    continue
                self.counts[command.name] += 1
                self.by_signal += ended.status < 0
                why = ended.wrong() or command.lost(command, folder, whole.out)
            if why:
                self.wrong.append(f"{command.name} after {part:.0%}: {why}")
            return why
        self._without[command.name] += 1
        return NO_MOMENT

    def list_unheard(self) -> list[str]:
        """Say which commands were done at every moment that was drawn: nothing shows that they hear ^C."""
        return [
            f"{name}: {NO_MOMENT}, so it may not hear ^C"
            for name in self._without
            if not self.counts[name]
        ]

    def _whole(self, command: Command) -> Ended:
        if command.seconds:
            return Ended(0, "", "", command.seconds, interrupted=False)
        if command.name not in self._wholes:
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                self._wholes[command.name] = run(command.argv(folder)).in_folder(folder)
        return self._wholes[command.name]

    def document(self, seed: int) -> dict[str, object]:
        """Give the record of a run, as it is kept in the repository."""
        return {
            "kipviz": __version__,
            "python": platform.python_version(),
            "made": f"{datetime.now(tz=UTC):%Y-%m-%d}",
            "seed": seed,
            "moments": dict(self.counts),
            "while Python starts": self.by_signal,
            "too early, before Python had started itself": self.too_early,
            "too late, when all was done": self.too_late,
            "wrong": [*self.wrong, *self.list_unheard()],
        }


def main(words: Sequence[str] | None = None) -> int:
    """Draw the moments that were asked for."""
    parser = argparse.ArgumentParser(
        prog="make interrupt", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20, help="how many moments (20)")
    parser.add_argument("--command", choices=[each.name for each in COMMANDS], action="append")
    parser.add_argument("--record", action="store_true", help=f"note the result in {RECORD.name}")
    asked = parser.parse_args(words)
    chosen = [each for each in COMMANDS if each.name in (asked.command or each.name)]
    if is_ignored():
        # A shell's background job ignores ^C, and so would every command that it starts.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        print(
            "started with ^C ignored, as a shell starts `&`: the commands here hear it all the same"
        )
    moments = Moments(asked.seed, chosen)
    try:
        for number in range(asked.count):
            why = moments.draw(number)
            name = chosen[number % len(chosen)].name
            print(f"{number + 1}/{asked.count} {name}: {why or 'well'}", flush=True)
    except KeyboardInterrupt:
        print("interrupted; what was found so far:", file=sys.stderr)
    made, unheard = sum(moments.counts.values()), moments.list_unheard()
    print(f"{made} moments, {len(moments.wrong)} of them wrong", *unheard, sep="\n")
    if asked.record:
        runs = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else []
        runs = [each for each in runs if each["seed"] != asked.seed]
        text = json.dumps([*runs, moments.document(asked.seed)], indent=1, ensure_ascii=False)
        RECORD.write_text(text + "\n", encoding="utf-8")
    return int(bool(moments.wrong or unheard))


if __name__ == "__main__":
    sys.exit(main())
