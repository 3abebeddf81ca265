"""The search on Spark: equal to the search in one process, whatever dies, stops or goes wrong."""

from __future__ import annotations

import os
import pickle
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.search.explore import Search, explore
from kipviz.checking.search.search_result import Bounds
from kipviz.checking.search.symmetry import Symmetry
from kipviz.core.serialization import NotAValue
from kipviz.core.table import Table
from kipviz.designs.catalogue import design
from kipviz.properties.verdict import BROKEN, HOLDS, Finding
from kipviz.scenarios.library import searched_scenario
from kipviz.spark import search as on_spark
from kipviz.spark.saved.saved_levels import KeptLevels
from kipviz.spark.search import search
from kipviz.spark.workers import state_bytes
from kipviz.spark.workers.state_bytes import Packing
from kipviz.spark.workers.worker_search import encode_question
from tests.checking.counts import FINDING_D, FINDING_I, REDUCED, TWO_PHASE_BY_TLC
from tests.checking.two_members import BEGIN_AND_ABORT, POLL, members
from tests.core.two_phase_commit import TwoPhaseCommit

spark_test = pytest.mark.spark


def small(space):
    return searched_scenario("kip-1289-small").model(design(space.design), budget_of(space.faults))


class Agreed:
    """Nobody commits while somebody aborts; remembers nothing but what it saw."""

    name = "agreed"
    sentence = "All resource managers come to one outcome."

    def initial(self, world):
        return Table.of()

    def observe(self, state, action, outcome):
        return outcome.world.rms

    def finding(self, state):
        broken = {"committed", "aborted"} <= set(state.values())
        return Finding(BROKEN, "one committed, one aborted") if broken else Finding(HOLDS)


class Unjudged(Agreed):
    def initial(self, world):
        raise ZeroDivisionError("nothing")


class Dying(TwoPhaseCommit):
    """Kills the process that it is searched in, once, in the middle of a level."""

    def __init__(self, rms, mark, *, always=False):
        super().__init__(rms)
        self.mark = mark
        self.always = always
        self.home = os.getpid()

    def enabled(self, world):
        if sum(world.heard) == 1 and os.getpid() != self.home:
            self.die()
        return super().enabled(world)

    def die(self):
        if self.always or not Path(self.mark).exists():
            Path(self.mark).touch()
            os._exit(17)


class Killing(Dying):
    """Kills the JVM of the executor that it is searched on, once."""

    def die(self):
        if not Path(self.mark).exists():
            Path(self.mark).touch()
            daemon = Path(f"/proc/{os.getppid()}/stat").read_text()
            os.kill(int(daemon.rpartition(")")[2].split()[1]), signal.SIGKILL)


class Raising(TwoPhaseCommit):
    def step(self, world, action):
        if sum(world.heard) == 2:
            raise RuntimeError("no answer")
        return super().step(world, action)


def only_wide(monkeypatch):
    monkeypatch.setattr(on_spark, "NARROW", 0)


def forget(monkeypatch):
    """What is unpacked next is unpacked as in another process."""
    monkeypatch.setattr(state_bytes, "_pieces", {})
    monkeypatch.setattr(state_bytes, "_parts", {})


# -- without Spark -------------------------------------------------------------------------------


def test_a_state_comes_back_from_its_bytes_and_shares_its_parts(monkeypatch):
    model = small(FINDING_I)
    worlds = [model.initial()]
    for _ in range(10):
        worlds.append(model.step(worlds[-1], model.enabled(worlds[-1])[0]).world)
    one = Packing({})
    sent = [one.pack(world, ()) for world in worlds]
    forget(monkeypatch)
    other = Packing(one.fresh)
    back = [other.unpack(data)[0] for data in sent]
    assert back == worlds
    assert [model.search_key(w) for w in back] == [model.search_key(w) for w in worlds]
    assert back[0].image is back[1].image


def test_a_part_travels_once_and_a_state_names_it(monkeypatch):
    model = small(FINDING_I)
    first = model.initial()
    second = model.step(first, model.enabled(first)[0]).world
    one = Packing({})
    sent = one.pack(first, ())
    assert len(sent) < sum(map(len, one.fresh.values()))
    other = Packing(one.fresh)
    assert other.pack(first, ()) == sent
    assert not other.fresh
    again = other.pack(second, ())
    assert 0 < len(other.fresh) < 5
    forget(monkeypatch)
    assert Packing(one.fresh | other.fresh).unpack(again) == (second, ())


def test_a_model_that_cannot_be_sent_is_refused_before_a_jvm_starts():
    model = TwoPhaseCommit(2)
    model.kind = lambda _: "deliver"
    with pytest.raises(ValueError, match="this model cannot be sent to a worker"):
        search(model, properties=())


@pytest.mark.parametrize("partitions", [0, -1, 2.5])
def test_a_number_of_partitions_that_is_none_is_refused(partitions):
    with pytest.raises(ValueError, match="partitions must be a whole number of at least 1"):
        search(TwoPhaseCommit(2), properties=(), partitions=partitions)


def test_what_cannot_be_judged_at_its_start_is_told_without_spark():
    found = search(TwoPhaseCommit(2), properties=(Unjudged(),))
    assert found.stopped == "the initial state cannot be judged: ZeroDivisionError: nothing"


# -- on Spark ------------------------------------------------------------------------------------


@spark_test
@pytest.mark.thorough
def test_the_counts_are_those_of_tlc(spark):
    rms, distinct, _ = TWO_PHASE_BY_TLC[0]
    found = search(TwoPhaseCommit(rms), properties=(), spark=spark)
    assert found == explore(TwoPhaseCommit(rms), properties=())
    assert found.states == distinct


@spark_test
@pytest.mark.thorough
def test_the_counterexample_is_the_very_same_with_every_level_a_job_of_its_own(spark, monkeypatch):
    only_wide(monkeypatch)
    hasty = TwoPhaseCommit(2, hasty=True)
    found = search(hasty, properties=(Agreed(),), spark=spark, partitions=3)
    assert found == explore(hasty, properties=(Agreed(),))
    assert found.counterexamples


@spark_test
@pytest.mark.parametrize(
    "space",
    [
        pytest.param(FINDING_I, id="stuck", marks=pytest.mark.thorough),
        pytest.param(FINDING_D, id="broken", marks=pytest.mark.thorough),
    ],
)
def test_a_cluster_is_judged_as_in_one_process_for_ever_included(spark, space):
    found = search(small(space), spark=spark)
    assert found == explore(small(space))
    assert (found.states, found.transitions, found.depth) == space[2:]


@spark_test
def test_what_leads_to_calm_is_found_by_joins_where_one_worker_has_no_room(spark, monkeypatch):
    monkeypatch.setattr(on_spark, "LINKS_AT_ONCE", 0)
    model = members(BEGIN_AND_ABORT, 2)
    assert search(model, spark=spark) == explore(model)


@spark_test
def test_a_reduction_counts_the_same_on_spark(spark):
    by = next(each for each in REDUCED if each.program == "poll" and not each.faults)
    model = members(POLL, by.members)
    found = search(model, reductions=[Symmetry()], spark=spark)
    assert found == explore(model, reductions=[Symmetry()])
    assert found.states == by.by_symmetry


@spark_test
@pytest.mark.parametrize("narrow", [True, pytest.param(False, marks=pytest.mark.thorough)])
def test_a_worker_that_dies_in_the_middle_of_a_level_changes_no_count(
    spark, monkeypatch, tmp_path, narrow
):
    if not narrow:
        only_wide(monkeypatch)
    mark = tmp_path / "died"
    found = search(Dying(2, str(mark)), properties=(), spark=spark, partitions=2)
    assert mark.exists()
    assert found == explore(TwoPhaseCommit(2), properties=())


@pytest.mark.thorough
def test_an_executor_of_a_cluster_that_is_killed_in_the_middle_changes_no_count(tmp_path):
    program = f"""
        from kipviz.checking.search.explore import explore
        from kipviz.spark import search
        from kipviz.spark.sessions.session import session
        from tests.core.two_phase_commit import TwoPhaseCommit
        from tests.spark.test_search import Killing

        search.NARROW = 0
        spark = session("local-cluster[2,1,1024]")
        model = Killing(2, {str(tmp_path / "died")!r})
        found = search.search(model, properties=(), spark=spark, partitions=4)
        print(found == explore(TwoPhaseCommit(2), properties=()))
    """
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, "PYTHONPATH": root},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout.split() == ["True"], done.stderr[-2000:]
    assert (tmp_path / "died").exists()


@spark_test
def test_a_worker_that_dies_each_time_ends_the_search_with_what_was_found(
    spark, monkeypatch, tmp_path
):
    only_wide(monkeypatch)
    found = search(
        Dying(2, str(tmp_path / "died"), always=True), properties=(), spark=spark, partitions=1
    )
    assert not found.complete
    assert found.stopped == "a worker process died 3 times at depth 3"
    assert found.states > 1


@spark_test
def test_bounds_end_it_between_levels_with_one_sentence(spark):
    by_states = search(TwoPhaseCommit(3), Bounds(states_max=50), properties=(), spark=spark)
    assert by_states.stopped == "the bound of 50 states"
    assert 50 <= by_states.states < 288
    by_depth = search(TwoPhaseCommit(3), Bounds(depth_max=4), properties=(), spark=spark)
    assert by_depth == Search(TwoPhaseCommit(3), ()).run(Bounds(depth_max=4))


@spark_test
def test_a_cancel_keeps_what_was_found_and_the_session(spark):
    found = search(TwoPhaseCommit(3), progress=lambda *_: False, properties=(), spark=spark)
    assert found.stopped == "cancelled"
    assert not found.complete
    assert spark.range(3).count() == 3


@spark_test
def test_what_raises_is_told_with_its_place_and_what_was_found_so_far(spark):
    found = search(Raising(3), properties=(), spark=spark)
    assert found.stopped == explore(Raising(3), properties=()).stopped
    assert found.states > 1


@spark_test
def test_the_session_keeps_its_settings(spark):
    before = spark.conf.get("spark.sql.adaptive.enabled")
    search(TwoPhaseCommit(1), properties=(), spark=spark)
    assert spark.conf.get("spark.sql.adaptive.enabled") == before


@spark_test
def test_a_search_that_was_stopped_goes_on_with_the_levels_in_its_folder(spark, tmp_path):
    place, question = tmp_path.as_uri(), {"properties": (), "spark": spark}
    first = search(TwoPhaseCommit(3), Bounds(depth_max=4), folder=place, **question)
    assert not first.complete
    (level,) = tmp_path.glob("level-1/*.parquet")
    made = level.stat().st_mtime_ns
    on = search(TwoPhaseCommit(3), folder=place, resume=True, **question)
    whole = explore(TwoPhaseCommit(3), properties=())
    assert (on.complete, on.states, on.transitions) == (True, whole.states, whole.transitions)
    assert level.stat().st_mtime_ns == made
    again = search(TwoPhaseCommit(3), folder=place, resume=True, **question)
    assert again.states == whole.states


@spark_test
@pytest.mark.thorough
def test_a_level_that_was_being_written_is_made_anew_and_another_question_is_refused(
    spark, tmp_path, monkeypatch
):
    monkeypatch.setattr("kipviz.spark.search.NARROW", 0)
    place, question = tmp_path.as_uri(), {"properties": (), "spark": spark}
    search(TwoPhaseCommit(2), Bounds(depth_max=4), folder=place, **question)
    for file in tmp_path.glob("kept-level-3/*"):
        file.unlink()
    on = search(TwoPhaseCommit(2), folder=place, resume=True, **question)
    assert on.states == explore(TwoPhaseCommit(2), properties=()).states
    with pytest.raises(ValueError, match="keeps a search of another model"):
        search(TwoPhaseCommit(3), folder=place, resume=True, **question)


class Bomb:
    """Bytes that touch a file when they are unpickled."""

    def __init__(self, mark):
        self.mark = str(mark)

    def __reduce__(self):
        return (Path.touch, (Path(self.mark),))


def with_bombs(folder, mark):
    """Put a foreign state into every row of a level that has one."""
    (file,) = folder.glob("*.parquet")
    table = pq.read_table(file)
    bomb = pickle.dumps(Bomb(mark))
    states = [None if state is None else bomb for state in table.column("state").to_pylist()]
    at = table.column_names.index("state")
    pq.write_table(table.set_column(at, table.field(at), pa.array(states, pa.binary())), file)
    for checksum in folder.glob(".*.crc"):
        checksum.unlink()


@spark_test
@pytest.mark.parametrize("kept_too", [pytest.param(False, marks=pytest.mark.thorough), True])
def test_a_folder_of_another_hand_runs_nothing(spark, tmp_path, monkeypatch, kept_too):
    monkeypatch.setattr("kipviz.spark.search.NARROW", 0)
    place, mark = tmp_path.as_uri(), tmp_path / "it-ran"
    question = {"properties": (), "spark": spark}
    whole = explore(TwoPhaseCommit(2), properties=())
    search(TwoPhaseCommit(2), Bounds(depth_max=3), folder=place, **question)
    with_bombs(tmp_path / "level-3", mark)
    if kept_too:  # its checksum is made to fit
        levels = KeptLevels(spark, place, encode_question(TwoPhaseCommit(2), (), ()), fresh=False)
        levels.keep("level-3")
    found = search(TwoPhaseCommit(2), folder=place, resume=True, **question)
    assert not mark.exists()
    if kept_too:
        assert re.fullmatch(
            r"after \d+ steps these bytes are not a state of a search: .*", found.stopped
        )
        assert 0 < found.states < whole.states
    else:
        assert (found.complete, found.states) == (True, whole.states)


def test_a_part_with_another_content_than_its_name_is_refused(monkeypatch):
    model = small(FINDING_I)
    one = Packing({})
    sent = one.pack(model.initial(), ())
    names = sorted(one.fresh)
    forget(monkeypatch)
    swapped = one.fresh | {names[0]: one.fresh[names[1]]}
    with pytest.raises(NotAValue, match="not the one that its digest names"):
        Packing(swapped).unpack(sent)
    forget(monkeypatch)
    with pytest.raises(NotAValue, match="does not keep"):
        Packing({}).unpack(sent)
    forget(monkeypatch)
    with pytest.raises(NotAValue, match="is damaged"):
        Packing(dict.fromkeys(names, b"?")).unpack(sent)
    forget(monkeypatch)
    monkeypatch.setattr(state_bytes, "_PART_BYTES_MAX", 50)
    with pytest.raises(NotAValue, match="larger than 50 bytes"):
        Packing(one.fresh).unpack(sent)


def test_a_search_is_resumed_from_a_folder_only():
    with pytest.raises(ValueError, match="resumed from the folder that keeps its levels"):
        search(TwoPhaseCommit(1), resume=True)
