"""Every command that may take long says what is done and what is left, and the first ^C keeps what it found."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from kipviz.command import output
from kipviz.command.main import COMMANDS
from kipviz.command.output import Progress

SMALL = "kip-1289-small"
FOLDER = "the test's own folder"
RECORDING = Path(__file__).parents[1] / "recordings" / "kafka-4.4.0" / "commit-and-abort"
# A command's words, what its progress is told with, at which time ^C comes, what it says, and what it still answers.
LONG: dict[str, tuple[tuple[str, ...], str, int, str, str]] = {
    "explore": ((SMALL, "--design", "repaired"), "states", 2, "states, depth ", "states, "),
    "campaign": (
        ("--scenario", SMALL, "--designs", "repaired", "--runs", "30", "--way", "loop"),
        "runs",
        4,
        "1 of 30 runs",
        "repaired",
    ),
    "swarm": (("--runs", "20"), "runs", 3, " of 20 runs", "runs"),
    "outcomes": (
        (SMALL, "--design", "repaired", "--seeds", "30"),
        "runs",
        4,
        "1 of 30 runs",
        "3 seeded runs",
    ),
    "study": (("B8",), "parts", 2, " of ", "B8"),
    "ablate": (
        (SMALL, "--faults", "", "--alone"),
        "designs",
        4,
        "repaired: ",
        "Kafka's own rules",
    ),
    "repair": (
        (SMALL, "--from", "finding-D", "--faults", "expire_lock=1"),
        "designs",
        3,
        "states, depth ",
        "finding-D",
    ),
    "landscape": (
        ("--states-max", "300"),
        "designs",
        3,
        "states, depth ",
        "group.share.record.lock.duration.ms",
    ),
    "ledger": ((), "states", 6, "states, depth ", "breaks"),
    "review": (
        (SMALL, "--designs", "finding-I", "--into", FOLDER),
        "designs",
        2,
        "finding-I: ",
        "review.md",
    ),
    "log": (
        (str(RECORDING), "--accept"),
        "requests",
        20,
        "0 of 39 requests",
        "stopped before this request",
    ),
}
# What half of the work would say is wrong, or nothing: ^C ends these, and they say so.
WHOLE_OR_NOTHING = {
    "audit": "half of a cluster's logs would accuse the other half",
}
# They run until ^C, and show what they know meanwhile.
UNTIL_STOPPED = {"serve", "watch"}
ELSEWHERE = {
    "conform": "needs a real broker: tests/conforming stops it between two programs",
    "course": "test_interrupted.py stops it between two hand-ins",
}
# One run of a story, or a list.
QUICK = {
    "list",
    "open",
    "play",
    "compare",
    "replay",
    "runs",
    "export",
    "clauses",
    "pains",
    "check-timeouts",
    "lab",
}


def test_every_command_is_known_to_be_long_or_quick() -> None:
    groups = (set(LONG), set(WHOLE_OR_NOTHING), UNTIL_STOPPED, set(ELSEWHERE), QUICK)
    assert sorted(name for group in groups for name in group) == sorted(COMMANDS)


@pytest.mark.parametrize("name", LONG)
def test_a_long_command_says_how_far_it_is_and_an_interrupted_one_answers_with_what_it_found(
    name: str, kipviz, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    words, method, when, says, answers = LONG[name]
    told, count = getattr(Progress, method), 0

    def tell(self: Progress, *how_far: object, **named: int) -> object:
        nonlocal count
        count += 1
        if count == when:
            signal.raise_signal(signal.SIGINT)
        return told(self, *how_far, **named)

    monkeypatch.setattr(Progress, method, tell)
    monkeypatch.setattr(output, "_SECONDS_BEFORE", 0.0)
    monkeypatch.setattr(output, "_SECONDS_BETWEEN", 0.0)
    done = kipviz(name, *(str(tmp_path) if word == FOLDER else word for word in words))
    assert says in done.err
    assert answers in done.out
    assert done.status in {1, 130}, "1 where a property is broken already"
    assert "Traceback" not in done.err
    assert count <= when + 2, "it ends at once"


def test_what_was_not_put_to_the_model_is_no_answer_that_was_accepted(kipviz, monkeypatch) -> None:
    told = Progress.requests

    def tell(self: Progress, done: int, there_are: int) -> None:
        if done == 10:
            signal.raise_signal(signal.SIGINT)
        told(self, done, there_are)

    whole = kipviz("log", str(RECORDING), "--accept", "--json").document
    monkeypatch.setattr(Progress, "requests", tell)
    cut = kipviz("log", str(RECORDING), "--accept", "--json")
    assert cut.status == 130
    assert 0 < cut.document["answers"] < whole["answers"]
    left = [
        each
        for each in cut.document["cannot_judge"]
        if each["reason"] == "stopped before this request"
    ]
    assert sum(each["requests"] for each in left) == cut.document["requests"] - 10
