"""`kipviz conform`: run random programs at a real broker, and check each answer against the model."""

from __future__ import annotations

import argparse
import contextlib
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kipviz.command.arguments import add_json, count, seed
from kipviz.command.bad_input import RefusedInput
from kipviz.command.output import GoingOn, Progress, answer, until_interrupted

if TYPE_CHECKING:
    from kipviz.conforming.mutants import Mutants
    from kipviz.conforming.programs import Program
    from kipviz.conforming.rounds import Refusal, Round

HELP = "run random programs against a real broker, and check every response with the model"
PROGRAMS, STEPS, AT_ONE_BROKER, MUTANTS = 50, 40, 50, 2_000
# The maximum number of rejected programs that are shrunk and kept, one for each kind of refusal.
KEPT_MAX = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommand's arguments."""
    parser.add_argument(
        "--kafka",
        required=True,
        metavar="FOLDER_OF_JARS",
        help="the libs folder of a Kafka release; its broker runs on 127.0.0.1 in a temporary folder",
    )
    parser.add_argument(
        "--programs",
        type=count,
        default=PROGRAMS,
        metavar="N",
        help=f"number of programs ({PROGRAMS})",
    )
    parser.add_argument(
        "--steps",
        type=count,
        default=STEPS,
        metavar="N",
        help=f"number of steps of each ({STEPS})",
    )
    parser.add_argument(
        "--brokers",
        type=int,
        choices=(1, 3),
        default=1,
        help="number of brokers; with three, leaders change and some brokers are killed (1)",
    )
    parser.add_argument(
        "--seed", type=seed, default=1, metavar="N", help="seed of the first program (1)"
    )
    parser.add_argument("--program", metavar="FILE", help="run the saved program instead")
    parser.add_argument(
        "--mutants",
        type=_from_0,
        default=MUTANTS,
        metavar="N",
        help=f"change one number in this many responses by one, and report which the model accepts ({MUTANTS}; 0: none)",
    )
    parser.add_argument(
        "--keep",
        metavar="FOLDER",
        help="save each rejected program there, shortened as far as possible; and the whole round of one that is not "
        "rejected again when it runs alone",
    )
    add_json(parser)


def _from_0(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"it must be a whole number of at least 0, not {text!r}")
    return int(text)


class _Found:
    """The results of all rounds so far."""

    def __init__(self) -> None:
        self.played = self.asked = self.accepted = 0
        self.doubted = self.refused = 0
        self.seeds: list[int] = []
        self.doubts: Counter[str] = Counter()
        # Programs whose broker stopped answering, in words.
        self.lost: list[str] = []
        self.refusals: list[Refusal] = []
        # The folders of rounds that were kept as they were played, with their refusals.
        self.rounds: list[tuple[Path, tuple[Refusal, ...]]] = []
        self.elsewhere: list[str] = []
        self.mutants: Mutants | None = None

    def add(self, played: Round) -> None:
        """Add a round's results."""
        judged, report = played.judged, played.judged.report
        self.played += played.played
        self.seeds += [each.seed for each in played.programs[: played.played]]
        self.doubts.update(f"{each.api}, {each.doubt}" for each in report.doubted)
        self.asked += len(report.asked)
        self.accepted += len(report.accepted)
        self.refused += len(report.refused)
        self.doubted += len(report.doubted)
        self.refusals += filter(None, played.refusals())
        # About the warm-up, and about requests between brokers that no program caused.
        self.elsewhere += map(str, judged.refused.get("", ()))
        self.mutants = judged.mutants or self.mutants


def run(arguments: argparse.Namespace) -> int:
    """Run programs, and print the answers that the model could not have given.

    Raises:
        Refused: if no broker can be started.
    """
    from kipviz.conforming.plain_client import Lost
    from kipviz.conforming.real_cluster import CannotStart, release_of
    from kipviz.recordings.recording_error import RecordingError

    jars = Path(arguments.kafka)
    programs = tuple(_programs(arguments))
    found = _Found()
    try:
        release = release_of(jars)
        place = _place(arguments.keep)
        with _stopped_in_order(), Progress() as progress, until_interrupted(_nothing) as go_on:
            _play(jars, programs, place, arguments.mutants, found, progress, go_on)
            kept = _keep(found, jars, place, progress, go_on) if found.refusals else []
    except (CannotStart, Lost, RecordingError) as wrong:
        raise RefusedInput(str(wrong)) from None
    except OSError as wrong:
        raise RefusedInput(f"cannot write {wrong.filename}: {wrong.strerror}") from None
    answer(
        _document(found, kept, release, programs),
        _lines(found, kept, release, programs),
        as_json=arguments.json,
    )
    return int(bool(found.refused))


def _nothing(*_: object) -> None:
    """Ignore progress: a round reports its own."""


@contextlib.contextmanager
def _stopped_in_order() -> Iterator[None]:
    """Turn SIGTERM into an exception, so that no broker is left running."""

    def stop(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    try:
        before = signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not on the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _programs(arguments: argparse.Namespace) -> Iterator[Program]:
    from kipviz.conforming.programs import program, read

    if arguments.program is None:
        for at in range(arguments.programs):
            yield program(arguments.seed + at, arguments.steps, arguments.brokers)
        return
    try:
        yield read(Path(arguments.program).read_bytes())
    except OSError as wrong:
        raise RefusedInput(f"cannot read {arguments.program}: {wrong.strerror or wrong}") from None
    except ValueError as wrong:
        raise RefusedInput(f"{arguments.program}: {wrong}") from None


def _place(to: str | None) -> Path | None:
    if to is None:
        return None
    place = Path(to)
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise RefusedInput(f"--keep takes an empty or new folder, and {to} is neither")
    return place


def _play(
    jars: Path,
    programs: tuple[Program, ...],
    place: Path | None,
    mutants: int,
    found: _Found,
    progress: Progress,
    go_on: GoingOn,
) -> None:
    """Run all programs, AT_ONE_BROKER at each broker; in the first round mutated answers are judged, too.

    A round whose broker stops answering is recorded, and the next round follows. One with a rejected answer is kept as
    it was played, if a folder is named.

    Raises:
        Lost: if every round ends that way.
    """
    from kipviz.conforming.plain_client import Lost
    from kipviz.conforming.rounds import keep_round, play_round

    for first in range(0, len(programs), AT_ONE_BROKER):
        if not go_on():
            return
        some = programs[first : first + AT_ONE_BROKER]
        with tempfile.TemporaryDirectory(prefix="kipviz-conform-") as home:
            changed = 0 if found.played else mutants
            try:
                played = play_round(jars, Path(home), some, progress.say, go_on, changed)
                found.add(played)
                if place is not None and played.judged.report.refused:
                    to = place / f"round-{len(found.rounds) + 1}"
                    keep_round(played, Path(home), to)
                    found.rounds.append((to, tuple(filter(None, played.refusals()))))
            except Lost as why:
                found.lost.append(f"{_seeds([each.seed for each in some])}: {why}")
    if found.lost and not found.played:
        raise Lost(found.lost[0])


def _keep(
    found: _Found, jars: Path, place: Path | None, progress: Progress, go_on: GoingOn
) -> list[tuple[Refusal, str]]:
    """Shrink one rejected program of each kind, and save it if a folder is named.

    A round of which each refusal happened again is not needed any more.
    """
    from kipviz.conforming.rounds import attempts_at, keep, shrink

    kinds = {each.kind: each for each in reversed(found.refusals)}
    kept, again = [], set[tuple[str, str]]()
    for number, each in enumerate(list(reversed(kinds.values()))[:KEPT_MAX], 1):
        if not go_on():
            break
        progress.say(f"shrinking a program of {len(each.program.steps)} steps", last=True)
        short = shrink(each, attempts_at(jars, progress.say, go_on), go_on)
        said = ""
        if place is not None:
            to = place / f"refusal-{number}"
            happened = keep(short, jars, to, progress.say)
            said = f"{to}" if happened else f"{to} (not rejected when it ran alone)"
            again |= {each.kind} if happened else set()
        kept.append((short, said))
    for folder, refusals in tuple(found.rounds):
        if not found.elsewhere and all(each.kind in again for each in refusals):
            shutil.rmtree(folder)
            found.rounds.remove((folder, refusals))
    return kept


def _lines(
    found: _Found, kept: list[tuple[Refusal, str]], release: str, programs: tuple[Program, ...]
) -> Iterator[str]:
    from kipviz.conforming.mutants import lines_of_mutants

    brokers = programs[0].brokers
    where = "one broker" if brokers == 1 else f"{brokers} brokers"
    yield (
        f"Kafka {release}, {where}, {_seeds(found.seeds)}: {found.played} programs, {found.asked:,} responses compared: "
        f"{found.accepted:,} accepted, {found.refused:,} refused, {found.doubted:,} that cannot be judged."
    )
    yield from (f"  {n:>5}  cannot be judged: {what}" for what, n in found.doubts.most_common())
    yield from (f"not judged: {each}" for each in found.lost)
    for refusal, place in kept:
        yield ""
        yield from refusal.lines()
        if place:
            yield f"  kept: {place}"
    shown = {id(refusal) for refusal, _ in kept}
    more = len(found.refusals) - len(shown)
    if more > 0:
        seeds = ", ".join(str(each.program.seed) for each in found.refusals[:20])
        yield f"refused programs: {len(found.refusals)}, of the seeds {seeds}"
    yield from (f"refused outside of the programs: {each}" for each in found.elsewhere)
    for folder, _ in found.rounds:
        yield (
            f"kept unshrunk: {folder}, a whole round with all its programs. Something that was refused in it did not happen "
            "again when a program ran alone; it may need the load of the others."
        )
    if found.mutants is not None:
        yield ""
        yield from lines_of_mutants(found.mutants)


def _seeds(seeds: list[int]) -> str:
    if len(seeds) < 2:
        return f"seed {seeds[0]}" if seeds else "no seed"
    return f"seeds {min(seeds)} to {max(seeds)}"


def _document(
    found: _Found, kept: list[tuple[Refusal, str]], release: str, programs: tuple[Program, ...]
) -> dict[str, Any]:
    import msgspec

    return {
        "kafka": release,
        "brokers": programs[0].brokers,
        "seeds": found.seeds,
        "programs": found.played,
        "answers": found.asked,
        "accepted": found.accepted,
        "refused": found.refused,
        "cannot_judge": found.doubted,
        "doubts": dict(found.doubts.most_common()),
        "lost": found.lost,
        "refusals": [
            {
                "program": msgspec.to_builtins(refusal.program),
                "answer": str(refusal.first),
                "kept": place,
            }
            for refusal, place in kept
        ],
        "refused_seeds": [each.program.seed for each in found.refusals],
        "refused_elsewhere": found.elsewhere,
        "kept_rounds": [str(folder) for folder, _ in found.rounds],
        "mutants": msgspec.to_builtins(found.mutants),
    }
