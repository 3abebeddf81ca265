"""Several trees in one trace file, and a trace without the branches nobody kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kipviz.core.traces import tracefile
from kipviz.core.traces.trace import Trace
from kipviz.core.traces.tracefile import TraceFileError
from tests.core.two_phase_commit import TwoPhaseCommit


def grow(steps: int) -> Trace:
    trace = Trace.start(TwoPhaseCommit(2))
    for _ in range(steps):
        trace = trace.take(trace.model.enabled(trace.world)[0])
    return trace


def other_way(trace: Trace, depth: int) -> Trace:
    trace = trace.jump(trace.line[depth])
    return trace.take(trace.model.enabled(trace.world)[-1])


def test_only_the_branches_that_lead_somewhere_wanted_are_left() -> None:
    trace = grow(4)
    main = trace.cursor
    left = other_way(trace, 1)
    kept = other_way(left.jump(main), 2)
    small, ids = kept.jump(main).only([main, kept.cursor])
    assert len(small) == len(kept) - 1
    assert left.cursor not in ids
    for tip in (main, kept.cursor):
        path, old = small.path(ids[tip]), kept.path(tip)
        assert [small.node(n).action for n in path] == [kept.node(n).action for n in old]
    assert len(small.branches()) == 2
    assert small.jump(ids[kept.cursor]).last().cursor == ids[kept.cursor]


def test_a_trace_of_which_all_is_wanted_stays_as_it_is() -> None:
    trace = grow(3)
    assert trace.only([trace.cursor])[0] is trace


def test_a_file_holds_several_trees_and_where_the_reader_stands(tmp_path: Path) -> None:
    path, one, two = tmp_path / "two.trace", grow(3), grow(2)
    opened: list[dict[str, Any]] = []

    def open_model(said: dict[str, Any]) -> TwoPhaseCommit:
        opened.append(said)
        return TwoPhaseCommit(2)

    body = tracefile.body_of([one, two], {"model": {"name": "first"}}, [{"name": "second"}])
    tracefile.write(body, path, 1, 1, two.cursor)
    assert path.read_bytes().startswith(b'{"format":"kipviz-trace/2"')
    loaded = tracefile.load(path, open_model)
    assert [said["name"] for said in opened] == ["first", "second"]
    assert [len(tree) for tree in loaded.trees] == [len(one), len(two)]
    assert (loaded.at, loaded.trace.depth, loaded.tip) == (1, 1, two.cursor)
    assert loaded.changes == ()


def test_a_file_with_one_tree_says_what_it_always_said(tmp_path: Path) -> None:
    path, trace = tmp_path / "one.trace", grow(3)
    tracefile.save(trace, path, {"model": {}})
    assert path.read_bytes().startswith(b'{"format":"kipviz-trace/1"')


def test_a_last_line_that_speaks_of_two_trees_is_refused(tmp_path: Path) -> None:
    path, one, two = tmp_path / "two.trace", grow(3), grow(2)
    body = tracefile.body_of([one, two], {"model": {}}, [{}])
    tracefile.write(body, path, 0, 0, len(one))
    with pytest.raises(TraceFileError, match="belongs to two trees"):
        tracefile.load(path, lambda _: TwoPhaseCommit(2))
