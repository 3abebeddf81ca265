"""Rounds: programs at a fresh broker, judged together; a refused one is shrunk, and the result is kept.

A round costs the start of a broker, so all programs of a round share one, and each attempt to shrink executes all of
its candidates at one. Programs at one broker share no resource except the broker's producer ids: each has names of its
own.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Protocol

import msgspec

from kipviz.conforming.asking import Names, topic_of
from kipviz.conforming.judging import JudgedRound, evidence_of, judge
from kipviz.conforming.playing import Playing
from kipviz.conforming.programs import ClientStep, Program, encode_program
from kipviz.conforming.real_cluster import RealCluster, files_in
from kipviz.core.outside import atomic_write
from kipviz.core.values import Value
from kipviz.recordings.replayed_roles.answer_text import ComparedAnswer, sayings
from kipviz.recordings.request_context.handmade_requests import Request, RequestBatch

# The maximum number of attempts to shrink one refused program, each at a broker of its own.
ATTEMPTS_MAX = 16
PROGRAM, REPORT = "program.json", "report.txt"
# The files of a whole round: all of its programs, and the batches that their clients sent, which no log has if refused.
PROGRAMS, SENT = "programs.json", "sent.json"


class Refusal(Value, frozen=True):
    """A program with an answer that the model could not have given, and the first such answer.

    `at` is the place of the step with that request, -1 for a request between brokers.
    """

    program: Program
    first: ComparedAnswer
    at: int = -1

    @property
    def kind(self) -> tuple[str, str]:
        """What two refusals must share to be the same: the request, and the first field of the broker's answer."""
        (_, said), *_ = self.first.recorded
        return self.first.api, str(said)

    def lines(self) -> Iterator[str]:
        """Yield the answer, the model's possible answers, and the program."""
        yield f"{self.first.api}, {self.first.about}"
        yield f"  the broker: {sayings(self.first.recorded)}"
        yield from (f"  the model:  {sayings(said)}" for said in self.first.possible)
        yield from self.program.lines()


class Round(Value, frozen=True):
    """Programs that were executed at one broker, in order, and the verdict of the model."""

    programs: tuple[Program, ...]
    played: int
    judged: JudgedRound
    steps: dict[Request, int]
    sent: tuple[RequestBatch, ...] = ()

    def refusals(self) -> tuple[Refusal | None, ...]:
        """Return for each program its refusal, None if there is none."""
        return tuple(self._refusal(at, each) for at, each in enumerate(self.programs))

    def _refusal(self, place: int, made: Program) -> Refusal | None:
        refused = self.judged.refused.get(prefix_at(place), ())
        if not refused:
            return None
        asked = self.judged.requests[refused[0].number]
        return Refusal(made, refused[0], self.steps.get(asked, -1))


# Executes programs at a fresh broker and judges them: each one's refusal, or None.
Try = Callable[[Sequence[Program]], tuple[Refusal | None, ...]]


class ProgressMessage(Protocol):
    """A function that gets progress messages, each one sentence."""

    def __call__(self, words: str) -> object:
        """Handle a sentence."""


def prefix_at(place: int) -> str:
    """Return the prefix of the names of the program at a place of its round."""
    return f"p{place}"


def play_round(
    jars: Path,
    home: Path,
    programs: Sequence[Program],
    tell: ProgressMessage,
    go_on: Callable[[], bool] = lambda: True,
    mutants_max: int = 0,
) -> Round:
    """Execute programs at one broker or cluster, stop it, and compare every answer with the model.

    Args:
        jars: the jars of a Kafka release.
        home: an empty folder, in which logs and request log stay.
        programs: the programs to execute, in order; all have the same number of brokers.
        tell: gets the progress messages.
        go_on: whether to execute the next one.
        mutants_max: the maximum number of changed answers to compare, 0 for none.

    Raises:
        CannotStart: if no broker can be started.
        Lost: if the broker does not answer.
        RecordingError: if its logs cannot be read.
    """
    brokers = programs[0].brokers if programs else 1
    tell("starting a broker" if brokers == 1 else f"starting {brokers} brokers")
    sent, played = [], 0
    steps: dict[Request, int] = {}
    with RealCluster(jars, home, brokers) as cluster:
        ids = cluster.create([topic_of(prefix_at(at)) for at in range(len(programs))])
        for at, made in enumerate(programs):
            if not go_on():
                break
            tell(f"{at} of {len(programs)} programs played")
            prefix = prefix_at(at)
            playing = Playing(made, Names(prefix, ids[topic_of(prefix)]), cluster)
            playing.play()
            sent += playing.sent
            steps |= playing.asked
            played += 1
        tell("stopping the broker" if brokers == 1 else "stopping the brokers")
    tell("asking the model")
    evidence = evidence_of(cluster.files, sent)
    judged = judge(evidence, mutants_max, go_on)
    return Round(tuple(programs), played, judged, steps, tuple(sent))


def shrink(refusal: Refusal, attempt: Try, go_on: Callable[[], bool] = lambda: True) -> Refusal:
    """Return the shortest program found that has the same refusal.

    The steps after the refused answer are left out first. The rest is delta debugging: pieces are left out, halves
    first, then smaller ones. All pieces of one size are tried in one attempt, and those that were not needed alone are
    left out together in the next one. A refusal that depends on timing may not happen again; then the program stays
    longer.
    """
    best, pieces, attempts = refusal, 2, 0

    def find_refusals(shorter: Sequence[tuple[ClientStep, ...]]) -> list[Refusal | None]:
        tried = attempt([best.program.but(steps=steps) for steps in shorter])
        return [each if each and each.kind == refusal.kind else None for each in tried]

    while len(best.program.steps) > 1 and attempts < ATTEMPTS_MAX and go_on():
        attempts += 1
        steps = best.program.steps
        if 0 <= best.at < len(steps) - 1:
            (found,) = find_refusals((steps[: best.at + 1],))
            best = best.but(at=-1) if found is None else found
            continue
        pieces = min(pieces, len(steps))
        cuts = [round(at * len(steps) / pieces) for at in range(pieces + 1)]
        spans = tuple(pairwise(cuts))
        tried = find_refusals([_drop_spans(steps, (span,)) for span in spans])
        spare = [span for span, found in zip(spans, tried, strict=True) if found]
        if spare:
            attempts += 1
            half = len(spare) // 2
            several = [
                _drop_spans(steps, some) for some in (spare, spare[:half], spare[half:]) if some
            ]
            found_again = [each for each in (*find_refusals(several), *tried) if each]
            best = min(found_again, key=lambda each: len(each.program.steps))
        elif pieces == len(steps):
            break
        else:
            pieces *= 2
    return best


def _drop_spans(
    steps: tuple[ClientStep, ...], spans: Sequence[tuple[int, int]]
) -> tuple[ClientStep, ...]:
    """Return the steps without some spans, (first, end)."""
    gone = {at for first, behind in spans for at in range(first, behind)}
    return tuple(step for at, step in enumerate(steps) if at not in gone)


def attempts_at(jars: Path, tell: ProgressMessage, go_on: Callable[[], bool]) -> Try:
    """Return a function that executes programs at a fresh broker in a temporary folder."""

    def attempt(programs: Sequence[Program]) -> tuple[Refusal | None, ...]:
        with tempfile.TemporaryDirectory(prefix="kipviz-conform-") as home:
            return play_round(jars, Path(home), programs, tell, go_on).refusals()

    return attempt


def keep(refusal: Refusal, jars: Path, to: Path, tell: ProgressMessage) -> bool:
    """Execute a refused program alone at a fresh broker, keep its files, and return whether it was refused again.

    The folder has the program, the brokers' logs and request logs, and the report: `kipviz log FOLDER/logs --accept
    --requests FOLDER/kafka-request.log` compares them again; several brokers have a folder each in it.

    Raises:
        OSError: if the folder cannot be written.
    """
    brokers = refusal.program.brokers
    with tempfile.TemporaryDirectory(prefix="kipviz-conform-") as home:
        played = play_round(jars, Path(home), (refusal.program,), tell)
        _copy(Path(home), to, brokers)
    atomic_write.write(to / PROGRAM, encode_program(refusal.program))
    _write_report(to, (refusal,), played)
    return any(played.refusals())


def keep_round(played: Round, home: Path, to: Path) -> None:
    """Keep a round as it was played: its brokers' files, all of its programs, and the report.

    A refusal that needs the load of its round does not happen again when its program runs alone. Then these files are
    its only evidence.

    Raises:
        OSError: if the folder cannot be written.
    """
    _copy(home, to, played.programs[0].brokers)
    programs = msgspec.json.format(msgspec.json.encode(played.programs), indent=1)
    atomic_write.write(to / PROGRAMS, programs)
    atomic_write.write(to / SENT, msgspec.json.encode(played.sent))
    _write_report(to, tuple(filter(None, played.refusals())), played)


def _copy(home: Path, to: Path, brokers: int) -> None:
    """Copy the logs and request logs of a cluster's brokers."""
    to.mkdir(parents=True)
    for there, here in zip(files_in(home, brokers), files_in(to, brokers), strict=True):
        shutil.copytree(there.logs, here.logs)
        shutil.copyfile(there.requests, here.requests)


def _write_report(to: Path, refusals: Sequence[Refusal], played: Round) -> None:
    refused = (line for each in refusals for line in (*each.lines(), ""))
    report = (*refused, *played.judged.report.lines())
    atomic_write.write(to / REPORT, "".join(f"{line}\n" for line in report).encode())
