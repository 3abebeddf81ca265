"""landscape: what it prints, what it saves, and what nonsense is told."""

from __future__ import annotations

import pytest

from kipviz.checking.single_run import runs

LOCK = "group.share.record.lock.duration.ms"
ONE = (
    "--designs",
    "finding-D",
    "--down",
    f"{LOCK}=10000",
    "--across",
    "transaction.timeout.ms=60000",
)


def test_a_cell_that_breaks_is_told_saved_and_makes_the_status_one(kipviz, tmp_path):
    saved = tmp_path / "cell.trace"
    done = kipviz(
        "landscape", *ONE, "--open", "finding-D,10000,60000", "--save", str(saved), "--json"
    )
    assert done.status == 1
    (cell,) = done.document["cells"]
    assert (cell["verdict"], cell["complete"]) == ("atomic", True)
    assert cell["breaks"][0]["steps"] == len(runs.load(saved).trace.last().line) - 1
    told = kipviz("landscape", *ONE, "--work", "1000")
    assert (told.status, "| 10 s | holds |" in told.out) == (0, True)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--designs", "no-such"), "there is no design 'no-such'"),
        (
            ("--down", f"{LOCK}=3,2"),
            f"{LOCK} must be whole numbers of at least 1, each greater than",
        ),
        (("--across", "sessions=3"), "there is no axis 'sessions'; the axes are group.share"),
        (("--set", "clock"), "a change must be of the form setting=value, not 'clock'"),
        (("--save", "x.trace"), "--open names the cell whose run --save writes"),
    ],
)
def test_a_landscape_refuses_nonsense_in_one_sentence(kipviz, words, sentence):
    done = kipviz("landscape", *words)
    assert done.status == 2
    assert sentence in done.err
