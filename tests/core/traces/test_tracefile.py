"""Traces on disk."""

import json
from pathlib import Path

import msgspec
import pytest

from kipviz.core.model import Action, Outcome
from kipviz.core.scheduler import Profile, Scheduler
from kipviz.core.traces.trace import Trace
from kipviz.core.traces.tracefile import FORMAT, TraceFileError, load, save
from kipviz.core.values import digest_of
from tests.core.two_phase_commit import (
    Abort,
    Commit,
    Prepare,
    ReceiveCommit,
    ReceivePrepared,
    TwoPhaseCommit,
    World,
)

MODEL = {"name": "two-phase commit", "rms": 12}
CALM = Profile("calm", (("deliver", 1), ("fault", 0)))


def open_model(said):
    return TwoPhaseCommit(said["rms"])


def a_trace():
    """Return a run of 48 steps with a branch after step 30, standing in the middle."""
    model, scheduler = TwoPhaseCommit(12), Scheduler(1, CALM)
    trace = Trace.start(model)
    for step in range(48):
        action = scheduler.choose(step, model.enabled(trace.world), model.kind)
        assert action is not None
        trace = trace.take(action)
    return trace.jump(20).take(Abort()).jump(7)


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "run.trace"
    save(a_trace(), path, {"model": MODEL, "seed": 1})
    return path


def seal(lines):
    """Return the bytes of a file with these lines before the last and a last line that fits."""
    body = "".join(f"{line}\n" for line in lines).encode()
    end = {"end": len(lines) - 1, "cursor": 0, "tip": 0, "digest": digest_of(body).hex()}
    return body + json.dumps(end).encode() + b"\n"


def read_refusal(path):
    with pytest.raises(TraceFileError) as error:
        load(path, open_model)
    sentence = str(error.value)
    assert str(path) in sentence
    assert "\n" not in sentence
    return sentence


def test_a_saved_trace_comes_back_with_its_branches_and_its_cursor(saved):
    before, loaded = a_trace(), load(saved, open_model)
    after = loaded.trace
    assert loaded.changes == ()
    assert loaded.header["model"] == MODEL
    assert loaded.header["seed"] == 1
    assert loaded.header["format"] == FORMAT
    assert (after.cursor, after.line) == (before.cursor, before.line)
    assert len(after) == len(before) == 50
    assert after.branches() == before.branches()
    for id_ in range(len(before)):
        assert after.node(id_).world == before.node(id_).world
        assert after.node(id_).events == before.node(id_).events
        assert after.node(id_).action == before.node(id_).action


def test_the_observers_watch_the_replay(saved):
    class Steps:
        def initial(self, world):
            return 0

        def observe(self, state, action, outcome):
            return state + 1

    loaded = load(saved, open_model, lambda _: (Steps(),))
    assert loaded.trace.last().observations == (loaded.trace.last().depth,)


def test_the_same_trace_gives_the_same_bytes(saved, tmp_path):
    other = tmp_path / "other.trace"
    save(load(saved, open_model).trace, other, {"model": MODEL, "seed": 1})
    assert other.read_bytes() == saved.read_bytes()


def test_a_file_is_one_line_per_node_between_a_header_and_an_end(saved):
    lines = [json.loads(line) for line in saved.read_text().splitlines()]
    assert list(lines[0]) == ["format", "kipviz", "model", "seed"]
    assert lines[-1]["end"] == len(lines) - 2 == 50
    assert lines[2]["action"]["class"] in {"Prepare", "ReceivePrepared"}
    assert [at - 1 for at, line in enumerate(lines) if "fingerprint" in line] == [0, 20, 40, 49]
    assert list(lines[1]["parts"]) == ["rms", "manager", "heard", "messages"]


def test_a_truncated_file_is_refused_wherever_it_is_cut(saved):
    data = saved.read_bytes()
    header = data.index(b"\n")
    for size in (header + 1, header + 20, len(data) // 2, len(data) - 40, len(data) - 1):
        saved.write_bytes(data[:size])
        assert "is truncated: its last line is missing" in read_refusal(saved)
    lines = data.splitlines(keepends=True)
    saved.write_bytes(b"".join(lines[:-1]))
    assert "is truncated" in read_refusal(saved)


def test_an_edited_file_is_refused(saved):
    data = saved.read_bytes()
    lines = data.splitlines(keepends=True)
    for edited in (
        data.replace(b'"rm":3', b'"rm":4', 1),
        data.replace(b'"seed":1', b'"seed":2'),
        b"".join([*lines[:5], *lines[6:]]),
        b"".join([*lines[:5], lines[5], *lines[5:]]),
    ):
        assert edited != data
        saved.write_bytes(edited)
        assert "was edited or damaged after it was saved" in read_refusal(saved)


def test_another_format_is_refused_by_name(saved):
    saved.write_bytes(saved.read_bytes().replace(FORMAT.encode(), b"kipviz-trace/9"))
    assert (
        f"is in the format 'kipviz-trace/9', but this version of kipviz reads '{FORMAT}'"
        in read_refusal(saved)
    )


@pytest.mark.parametrize(
    "data",
    [b"", b"\n", b"hello\n", b"{}\n", b"[1]\n", b"\xff\xfe\x00", b"\x00" * 100, b'{"a":1}\n{}\n'],
)
def test_what_is_no_trace_file_is_refused(tmp_path, data):
    path = tmp_path / "something"
    path.write_bytes(data)
    assert "is not a trace file: its first line is not the header of one" in read_refusal(path)


def test_a_file_that_is_missing_or_a_folder_is_refused(tmp_path):
    assert "cannot read" in read_refusal(tmp_path / "nothing.trace")
    assert "cannot read" in read_refusal(tmp_path)


def test_a_header_without_a_model_is_refused(tmp_path):
    path = tmp_path / "run.trace"
    path.write_bytes(seal([json.dumps({"format": FORMAT})]))
    assert "the header does not name the model" in read_refusal(path)


HEADER = json.dumps({"format": FORMAT, "kipviz": "0.1.0", "model": MODEL})
START = '{"parent":null,"action":null}'


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"parent":0,"action":{"class":"Explode","rm":1}}', "no such action as 'Explode'"),
        ('{"parent":0,"action":{"class":"Prepare","rm":"x"}}', "no such action as 'Prepare'"),
        ('{"parent":0,"action":{"class":"Prepare"}}', "required field `rm`"),
        ('{"parent":0,"action":{"rm":1}}', "no such action as None"),
        ('{"parent":0,"action":null}', "no such action as None"),
        ('{"parent":1,"action":{"class":"Abort"}}', "follow an earlier one, not 1"),
        ('{"parent":-1,"action":{"class":"Abort"}}', "follow an earlier one, not -1"),
        ('{"parent":null,"action":{"class":"Abort"}}', "follow an earlier one, not None"),
        ('{"action":{"class":"Abort"}}', "required field `parent`"),
        ('{"parent":0,"action":{"class":"Abort"},"more":1}', "unknown field `more`"),
        ("not JSON", "line 3: JSON is malformed"),
    ],
)
def test_a_line_that_makes_no_sense_is_refused_with_its_number(tmp_path, line, said):
    path = tmp_path / "run.trace"
    path.write_bytes(seal([HEADER, START, line]))
    sentence = read_refusal(path)
    assert said in sentence
    assert ", line 3: " in sentence


def test_an_end_that_does_not_fit_the_nodes_is_refused(tmp_path):
    path = tmp_path / "run.trace"
    lines = [HEADER, START]
    data = seal(lines)
    for edited in (
        data.replace(b'"cursor": 0', b'"cursor": 1'),
        data.replace(b'"tip": 0', b'"tip": -1'),
        data.replace(b'"end": 1', b'"end": 2'),
        seal([HEADER]),
    ):
        assert edited != data
        path.write_bytes(edited)
        assert "names nodes that are not in the file" in read_refusal(path)


class Chatty(TwoPhaseCommit):
    """A changed model: once much was said, a step leaves one more message behind."""

    def step(self, world, action):
        outcome = super().step(world, action)
        after = outcome.world
        if sum(after.heard) + len(after.messages) > 15:
            after = after.but(messages=after.messages.set("note", 1))
        return outcome.but(world=after)


def test_a_changed_model_is_reported_with_the_step_and_what_differs(saved):
    loaded = load(saved, lambda said: Chatty(said["rms"]))
    assert [(each.node, each.step) for each in loaded.changes] == [(40, 40), (49, 21)]
    main, branch = (each.sentence for each in loaded.changes)
    assert main == (
        "the model has changed since this trace was saved: after step 40 the world differs in "
        "messages; after step 20 it was still the same"
    )
    assert branch == main.replace("after step 40", "after step 21")
    assert len(loaded.trace) == 50


def test_a_model_with_another_start_is_reported_there(saved):
    class Later(TwoPhaseCommit):
        def initial(self):
            return super().initial().but(heard=(True,) * 12)

    (change,) = load(saved, lambda said: Later(said["rms"])).changes
    assert change.sentence == (
        "the model has changed since this trace was saved: already at the start the world "
        "differs in heard"
    )


def test_fields_that_were_added_or_removed_are_named(saved):
    class WiderWorld(World, frozen=True):
        term: int = 0

    class Wider(TwoPhaseCommit):
        def initial(self):
            return WiderWorld(*msgspec.structs.astuple(super().initial()))

    (change,) = load(saved, lambda said: Wider(said["rms"])).changes
    assert change.sentence.endswith("already at the start the world differs by the new term")

    wide = saved.with_name("wide.trace")
    save(Trace.start(Wider(2)), wide, {"model": {"rms": 2}})
    (change,) = load(wide, open_model).changes
    assert change.sentence.endswith("the world differs by the missing term")


def test_a_step_that_is_not_possible_any_more_is_left_out_with_what_followed(tmp_path):
    trace = Trace.start(TwoPhaseCommit(2, hasty=True))
    for action in (Prepare(0), Commit(), ReceiveCommit(1)):
        trace = trace.take(action)
    trace = trace.jump(1).take(ReceivePrepared(0)).take(Prepare(1)).jump(3)
    path = tmp_path / "run.trace"
    save(trace, path, {"model": {"rms": 2}})

    loaded = load(path, open_model)
    (change,) = loaded.changes
    assert change.sentence == (
        "the model has changed since this trace was saved: step 2, Commit(), is not possible any "
        "more (not everybody is prepared); it and what followed is left out"
    )
    assert (change.node, change.step) == (2, 2)
    assert [loaded.trace.node(id_).action for id_ in range(1, len(loaded.trace))] == [
        Prepare(0),
        ReceivePrepared(0),
        Prepare(1),
    ]
    assert loaded.trace.cursor == 1, "the nearest step above the one that is gone"


def test_a_world_without_fields_is_saved_and_compared_as_a_whole(tmp_path):
    class Bare(TwoPhaseCommit):
        def initial(self):
            return super().initial().rms

    path = tmp_path / "run.trace"
    save(Trace.start(Bare(2)), path, {"model": {"rms": 2}})
    assert load(path, lambda said: Bare(said["rms"])).changes == ()
    (change,) = load(path, lambda said: Bare(said["rms"] + 1)).changes
    assert change.sentence.endswith(": already at the start the world differs")


def test_nothing_half_written_is_left_when_writing_fails(saved, monkeypatch):
    before = saved.read_bytes()

    def full(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(TraceFileError, match=r"cannot write .*: No space left on device"):
        save(Trace.start(TwoPhaseCommit(1)), saved, {"model": MODEL})
    assert saved.read_bytes() == before
    assert [each.name for each in saved.parent.iterdir()] == [saved.name]


def test_nothing_is_written_into_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(TraceFileError, match="cannot write"):
        save(a_trace(), tmp_path / "no" / "run.trace", {"model": MODEL})


class Odd(Action, frozen=True):
    """An action that is not in the union of the model."""


def test_an_action_that_could_not_be_read_back_is_not_written(tmp_path):
    class Loose(TwoPhaseCommit):
        def step(self, world, action):
            return Outcome(world)

    trace = Trace.start(Loose(1)).take(Odd())
    with pytest.raises(TraceFileError, match=r"the action Odd\(\) cannot be saved"):
        save(trace, tmp_path / "run.trace", {"model": MODEL})
    assert list(tmp_path.iterdir()) == []


def test_a_header_needs_a_model_and_keeps_its_hands_off_the_names_of_the_format(tmp_path):
    path = tmp_path / "run.trace"
    for header in ({}, {"model": "two-phase commit"}):
        with pytest.raises(ValueError, match="needs 'model', an object"):
            save(a_trace(), path, header)
    for name in ("format", "kipviz"):
        with pytest.raises(ValueError, match=f"gets '{name}' automatically: leave it out"):
            save(a_trace(), path, {"model": MODEL, name: "x"})
    with pytest.raises(TypeError):
        save(a_trace(), path, {"model": MODEL, "seed": object()})
    assert list(tmp_path.iterdir()) == []
