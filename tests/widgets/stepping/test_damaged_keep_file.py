"""A kept file that was damaged gives back all that is whole of it, or the copy from before its last change."""

from __future__ import annotations

import json
import random
import warnings

import pytest

import kipviz
from kipviz.core.traces.tracefile import TraceFileError
from kipviz.widgets.lab import KeptFileDamaged
from kipviz.widgets.stepping.autosave import copy_of

STORY = "pain-vanished"


@pytest.fixture
def keep(tmp_path):
    """A kept run with a branch of its own, and the copy from before it got its name."""
    keep = tmp_path / "my-run.kipviz"
    stepper = kipviz.open(STORY, keep=keep)
    stepper.step = 8
    stepper.run_on(seed=1, steps=6).name("mine")
    return keep


def open_kept(keep):
    """Open a kept run; give it with what it says of damage."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        stepper = kipviz.open(STORY, keep=keep)
    return stepper, [str(each.message) for each in said if each.category is KeptFileDamaged]


def describe(stepper):
    steps = [(b["name"], b["at"], len(b["steps"])) for b in stepper.known_branches]
    return steps, len(stepper.payload["steps"]), stepper.branch, stepper.step


def test_a_whole_file_says_nothing_and_has_a_copy_from_before_its_last_change(keep):
    stepper, said = open_kept(keep)
    assert said == []
    (branch,) = stepper.known_branches
    assert branch["name"] == "mine"
    (before,) = kipviz.open_trace(copy_of(keep)).known_branches
    assert before["at"] == branch["at"]
    assert sorted(each.name for each in keep.parent.iterdir()) == [
        ".my-run.kipviz.before",
        "my-run.kipviz",
    ]


def test_whichever_bit_has_flipped_all_of_it_is_put_right(keep):
    whole = keep.read_bytes()
    expected = describe(open_kept(keep)[0])
    dice = random.Random(1)
    places = {0, len(whole) - 1, whole.index(b"\n"), whole.rindex(b"\n", 0, -1), len(whole) - 20}
    places |= {whole.rindex(b",") + 1, *(dice.randrange(len(whole)) for _ in range(6))}
    copy_of(keep).unlink()  # it is not needed
    for at in sorted(places):
        # A comma in the last line that becomes the end of a line, and whatever a bit makes elsewhere.
        keep.write_bytes(flip_bit(whole, at, dice.randrange(8)))
        stepper, (said,) = open_kept(keep)
        assert said == (
            f"{keep} was damaged: everything was repaired; "
            "the damaged file is now my-run.kipviz.damaged"
        )
        assert describe(stepper) == expected
        assert keep.read_bytes() == whole
        copy_of(keep).unlink()


def flip_bit(data, at, bit):
    made = bytearray(data)
    made[at] ^= 1 << bit
    return bytes(made)


def test_of_a_line_that_is_lost_the_steps_before_it_stay_and_the_rest_is_told(keep):
    whole = keep.read_bytes()
    lines = whole.split(b"\n")
    lines[6] = b"x" * len(lines[6])  # the fifth step of the story
    keep.write_bytes(b"\n".join(lines))
    stepper, (said,) = open_kept(keep)
    nodes = json.loads(lines[-2])["end"]
    assert said.startswith(
        f"{keep} was damaged: one of its steps is lost, and left out with all later steps; "
    )
    assert f"of {nodes}" not in said
    assert len(stepper.payload["steps"]) == 5
    assert (keep.parent / "my-run.kipviz.damaged").read_bytes() == b"\n".join(lines)
    # What was recovered is kept from here on like any other run.
    again, said = open_kept(keep)
    assert said == []
    assert describe(again) == describe(stepper)


def test_several_lines_that_are_lost_are_counted(keep):
    lines = keep.read_bytes().split(b"\n")
    # The branch is lost from its third step on, with an end of a line.
    lines[-6:-3] = [b"\x00" * 50, b"\xff" * 3]
    keep.write_bytes(b"\n".join(lines))
    stepper, (said,) = open_kept(keep)
    assert "3 of its 29 steps are lost" in said
    (branch,) = stepper.known_branches
    assert branch["name"] == "mine"


@pytest.mark.parametrize("damage", ["empty", "half", "zeros", "no header"])
def test_a_file_that_says_nothing_any_more_gives_way_to_its_copy(keep, damage):
    whole, before = keep.read_bytes(), copy_of(keep).read_bytes()
    lines = whole.split(b"\n")
    data = {
        "empty": b"",
        "half": whole[: len(whole) // 2],
        "zeros": bytes(len(whole)),
        "no header": b"\n".join([b"x", *lines[1:]]),
    }[damage]
    keep.write_bytes(data)
    stepper, (said,) = open_kept(keep)
    assert "; what is opened is the copy from before its last change; the damaged file" in said
    assert len(stepper.known_branches) == 1
    assert (keep.parent / "my-run.kipviz.damaged").read_bytes() == data
    assert kipviz.open_trace(keep).payload["branches"] == stepper.payload["branches"]
    assert before != b""


def test_without_a_copy_the_refusal_stands_and_nothing_is_written(keep):
    copy_of(keep).unlink()
    keep.write_bytes(b"")
    with pytest.raises(TraceFileError, match=r"is (not a|neither a) trace file"):
        kipviz.open(STORY, keep=keep)
    assert [each.name for each in keep.parent.iterdir()] == [keep.name]
    assert keep.read_bytes() == b""


def test_a_file_of_another_version_is_not_damaged_and_stays_as_it_is(keep):
    from tests.fuzz.of_runs import seal

    lines = keep.read_bytes().splitlines()
    newer = seal([lines[0].replace(b"kipviz-trace/1", b"kipviz-trace/9"), *lines[1:]])
    keep.write_bytes(newer)
    with pytest.raises(TraceFileError, match="kipviz-trace/9"):
        kipviz.open(STORY, keep=keep)
    assert keep.read_bytes() == newer


def test_only_a_kept_file_is_recovered_and_any_other_is_refused(keep):
    damaged = flip_bit(keep.read_bytes(), 40, 1)
    keep.write_bytes(damaged)
    with pytest.raises(TraceFileError, match=r"was edited or damaged|is not a trace file"):
        kipviz.open_trace(keep)
    assert keep.read_bytes() == damaged
