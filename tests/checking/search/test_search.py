"""A search that stops and goes on, its bounds, its digests, and what it says to bad input."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from signal import SIGINT
from typing import Any

import msgspec
import pytest

from kipviz.checking.judging.verdicts import property_named
from kipviz.checking.search import explore as searching
from kipviz.checking.search import memory, saved_search
from kipviz.checking.search.explore import DigestsCollide, Search, explore
from kipviz.checking.search.interrupted import until_interrupted
from kipviz.checking.search.search_result import Bounds, Explored
from kipviz.cluster.model import ClusterModel
from kipviz.core.model import Outcome
from kipviz.designs.catalogue import design
from kipviz.properties.atomic import Atomic
from kipviz.properties.verdict import BROKEN, FORMER_NAMES, HOLDS, Finding
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.scenario import PROPERTIES
from tests.checking.counts import CALM, FINDING_D, FINDING_I, ONE_LOCK
from tests.checking.search.test_explore import model_of

EVERYTHING = Bounds()


class Never(Atomic):
    """A property that does not hold even at the start."""

    name = "never"

    def finding(self, ledger: Any) -> Finding:
        return Finding(BROKEN, "it never holds")


def cancelled_at(calls: int) -> Callable[[int, int], bool]:
    """Progress that is content for so many calls, and then not any more."""
    left = iter(range(calls))

    def go_on(states: int, depth: int) -> bool:
        return next(left, None) is not None

    return go_on


# -- going on ----------------------------------------------------------------------------------


@pytest.mark.parametrize("space", [CALM, FINDING_I, FINDING_D], ids=lambda s: s.design)
def test_a_search_that_goes_on_after_bounds_finds_what_one_without_finds(space: Any) -> None:
    search = Search(model_of(space))
    for states_max in range(50, 400, 50):
        assert not search.run(Bounds(states_max=states_max)).complete
    assert search.run(EVERYTHING) == explore(model_of(space))


def test_a_search_that_goes_on_after_being_cancelled_finds_the_same_wherever_it_was() -> None:
    whole = explore(model_of(FINDING_I))
    for calls in (0, 11):
        search = Search(model_of(FINDING_I))
        first = search.run(EVERYTHING, cancelled_at(calls))
        assert not first.complete
        assert first.stopped == "cancelled"
        assert search.run(EVERYTHING) == whole


def test_a_search_can_be_cancelled_while_it_judges_what_is_for_ever() -> None:
    search = Search(model_of(FINDING_I))
    found = search.run(EVERYTHING, cancelled_at(5))
    assert (found.states, found.complete) == (FINDING_I.states, False)
    assert found.counterexamples == ()


@pytest.mark.parametrize("states_max", [1, 40, 1_000, 2_700])
def test_a_search_goes_on_from_a_file(states_max: int, tmp_path: Path) -> None:
    file = tmp_path / "search"
    search = Search(model_of(FINDING_D))
    before = search.run(Bounds(states_max=states_max))
    saved_search.save(search, file)
    again = saved_search.load(file, model_of(FINDING_D))
    assert again.run(Bounds(states_max=1)).states == before.states
    assert again.run(EVERYTHING) == explore(model_of(FINDING_D))


def test_a_search_that_broke_at_its_start_can_be_read_again(tmp_path: Path) -> None:
    search = Search(model_of(CALM), (Never(),))
    found = search.run(EVERYTHING)
    saved_search.save(search, tmp_path / "search")
    assert (
        saved_search.load(tmp_path / "search", model_of(CALM), (), (Never(),)).run(EVERYTHING)
        == found
    )


def test_a_search_of_a_property_that_was_renamed_goes_on_from_its_file(tmp_path: Path) -> None:
    (former, now), *_ = FORMER_NAMES.items()
    asked = (property_named(former),)
    assert asked[0].name == now
    search = Search(model_of(CALM), asked)
    found = search.run(EVERYTHING)
    saved_search.save(search, tmp_path / "search")
    kept = (tmp_path / "search").read_bytes()
    fields = msgspec.msgpack.decode(kept)
    assert fields["properties"] == [now]
    before = msgspec.msgpack.encode(fields | {"properties": [former]})
    (tmp_path / "search").write_bytes(before)
    again = saved_search.load(tmp_path / "search", model_of(CALM), (), asked)
    assert again.run(EVERYTHING) == found


def test_the_same_search_is_the_same_file(tmp_path: Path) -> None:
    for name in ("one", "other"):
        search = Search(model_of(CALM))
        search.run(Bounds(states_max=300))
        saved_search.save(search, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_a_file_of_another_model_is_refused(tmp_path: Path) -> None:
    search = Search(model_of(FINDING_D))
    search.run(Bounds(states_max=500))
    saved_search.save(search, tmp_path / "search")
    with pytest.raises(saved_search.SearchFileError, match="belongs to another model: state"):
        saved_search.load(tmp_path / "search", model_of(CALM))
    with pytest.raises(saved_search.SearchFileError, match="was saved by another kind of search"):
        saved_search.load(tmp_path / "search", model_of(FINDING_D), properties=PROPERTIES[:1])


@pytest.mark.parametrize("content", [b"", b"nonsense", b"\x80"])
def test_a_file_that_is_no_search_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "search").write_bytes(content)
    with pytest.raises(
        saved_search.SearchFileError, match=r"search is not a search saved by kipviz"
    ):
        saved_search.load(tmp_path / "search", model_of(CALM))


# -- digests -----------------------------------------------------------------------------------


@pytest.mark.parametrize("space", [CALM, FINDING_I, ONE_LOCK], ids=lambda s: s.faults + s.design)
def test_full_states_prove_the_digests_right(space: Any) -> None:
    full = Search(model_of(space), full_states=True).run(EVERYTHING)
    assert full == explore(model_of(space))


def test_two_states_with_one_digest_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ClusterModel, "search_key", lambda *_: bytes(16))
    found = Search(model_of(CALM), (), full_states=True).run(EVERYTHING)
    assert not found.complete
    assert found.stopped == "after 1 steps two different states among 1 have the same digest"
    assert issubclass(DigestsCollide, Exception)


# -- bounds ------------------------------------------------------------------------------------


def test_a_search_to_a_depth_has_seen_what_is_that_deep_and_says_so() -> None:
    found = Search(model_of(CALM)).run(Bounds(depth_max=5))
    assert found.stopped == "the bound of depth 5"
    assert found.depth == 4
    assert 5 < found.states < CALM.states
    assert Search(model_of(CALM)).run(Bounds(depth_max=CALM.depth + 1)).complete


def test_a_search_to_the_first_break_finds_the_one_that_the_whole_search_finds_first() -> None:
    found, whole = (
        Search(model_of(FINDING_D)).run(Bounds(breaks_max=1)),
        explore(model_of(FINDING_D)),
    )
    assert found.stopped == "the bound of broken properties: 1"
    assert found.states < whole.states
    assert found.counterexamples == whole.counterexamples[:1]
    assert Search(model_of(CALM)).run(Bounds(breaks_max=1)).complete


class Counting:
    """A model without end: it counts."""

    def initial(self) -> int:
        return 0

    def enabled(self, world: int) -> tuple[str, ...]:
        return ("one more",)

    def step(self, world: int, action: str) -> Outcome:
        return Outcome(world + 1)

    def share_tables(self, world: int) -> int:
        return world

    def search_key(self, world: int) -> bytes:
        return world.to_bytes(16, "big")

    def kind(self, action: str) -> str:
        return "deliver"


@pytest.mark.parametrize(
    ("bounds", "said"),
    [
        (Bounds(states_max=1_000), "to depth 998, not complete (the bound of 1,000 states)"),
        (Bounds(depth_max=300), "to depth 299, not complete (the bound of depth 300)"),
        (Bounds(memory_max=1), "to depth 0, not complete (the memory bound of 0 MiB)"),
    ],
)
def test_a_state_space_without_end_stops_at_its_bound_and_says_at_which(
    bounds: Bounds, said: str
) -> None:
    found = Search(Counting(), ()).run(bounds)  # type: ignore[arg-type]
    assert said in found.sentence
    assert found.sentence.endswith("untimed: no property is broken so far")


def test_a_search_that_ran_out_of_memory_keeps_what_it_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes = iter([10, 20, 30, 999])
    monkeypatch.setattr(memory, "used_bytes", lambda: next(sizes))
    search = Search(model_of(FINDING_D))
    found = search.run(Bounds(memory_max=500))
    assert found.states > 3 * searching.PROGRESS_EVERY
    assert found.stopped == "the memory bound of 0 MiB"
    monkeypatch.undo()
    assert search.run(EVERYTHING) == explore(model_of(FINDING_D))


@pytest.mark.parametrize(
    ("name", "value"),
    [("states_max", 0), ("depth_max", -1), ("memory_max", 1.5), ("breaks_max", True)],
)
def test_a_bound_that_is_none_is_answered_with_one_sentence(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"^{name} must be a whole number of at least [01], not "):
        Bounds(**{name: value})


def test_the_memory_bound_is_that_of_the_tightest_limit(tmp_path: Path) -> None:
    def write(place: str, text: str) -> None:
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(text, encoding="ascii")

    assert memory.bound(tmp_path) is None
    write("proc/meminfo", "MemTotal: 9000000 kB\nMemAvailable:   1000000 kB\n")
    write("proc/self/cgroup", "4:cpu,memory:/box/inner\n0::/nest\n")
    machine = memory.bound(tmp_path)
    assert machine is not None
    write("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "500000000\n")
    write("sys/fs/cgroup/memory/box/memory.usage_in_bytes", "100000000\n")
    old = memory.bound(tmp_path)
    write("sys/fs/cgroup/memory.max", "max\n")
    write("sys/fs/cgroup/nest/memory.max", "200000000\n")
    write("sys/fs/cgroup/nest/memory.current", "150000000\n")
    new = memory.bound(tmp_path)
    assert old is not None
    assert new is not None
    assert abs((machine - old) - 0.8 * (1_024_000_000 - 400_000_000)) < 50_000_000
    assert abs((old - new) - 0.8 * 350_000_000) < 50_000_000


def test_on_this_machine_somebody_knows_the_memory() -> None:
    bound = memory.bound()
    assert bound is None or bound > memory.used_bytes() >= 0


# -- bad input ---------------------------------------------------------------------------------


class Raises:
    """A property that cannot do its sums from some step on."""

    name = "sums"
    sentence = "Sums can be done."

    def __init__(self, after: int) -> None:
        self.after = after

    def initial(self, world: Any) -> Any:
        return PROPERTIES[1].initial(world)

    def observe(self, state: Any, action: Any, outcome: Outcome) -> Any:
        self.after -= 1
        assert self.after, "no more sums"
        return state

    def finding(self, state: Any) -> Finding:
        return Finding(HOLDS)


def test_a_property_that_raises_ends_the_search_and_what_was_found_is_kept() -> None:
    found = explore(model_of(CALM), properties=(*PROPERTIES, Raises(500)))
    assert not found.complete
    assert found.states > 100
    assert "property 'sums' raised AssertionError: no more sums" in found.stopped
    assert found.stopped.startswith("after ")


def test_a_property_that_raises_at_the_start_is_said_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Raises, "initial", lambda *_: 1 / 0)
    found = explore(model_of(CALM), properties=(Raises(1),))
    assert (
        found.stopped == "the initial state cannot be judged: ZeroDivisionError: division by zero"
    )
    assert (found.states, found.complete) == (0, False)


class Listing(Raises):
    """Remembers in a list what it saw, from some step on."""

    def observe(self, state: Any, action: Any, outcome: Any) -> Any:
        self.after -= 1
        return state if self.after > 0 else [state]


@pytest.mark.parametrize(("left", "states"), [(0, 1), (300, 100)])
def test_what_a_property_must_not_remember_is_said_in_one_sentence(left: int, states: int) -> None:
    found = explore(model_of(CALM), properties=(*PROPERTIES, Listing(left)))
    assert found.stopped.endswith(
        "property 'sums' remembers a list: it has to be a Part or a Table"
    )
    assert found.states >= states


def test_the_first_interrupt_ends_a_search_in_order_and_keeps_what_was_found() -> None:
    search = Search(model_of(CALM))
    with until_interrupted() as go_on:
        stopped = search.run(EVERYTHING, lambda s, d: signal.raise_signal(SIGINT) or go_on(s, d))
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(SIGINT)
    assert (stopped.stopped, stopped.complete) == ("cancelled", False)
    assert search.run(EVERYTHING) == explore(model_of(CALM))


def test_who_was_started_with_interrupts_ignored_searches_on_through_them() -> None:
    """A script's `command &` in front of which something else runs: ^C is meant for that one."""
    before = signal.signal(SIGINT, signal.SIG_IGN)
    try:
        with until_interrupted() as go_on:
            signal.raise_signal(SIGINT)
            assert go_on()
        assert signal.getsignal(SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(SIGINT, before)


def test_slots_that_contradict_each_other_are_said_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    take = ClusterModel.step

    def step(self: ClusterModel, world: Any, action: Any) -> Outcome:
        if action.KIND == "load":
            raise AssertionError("no such state")
        return take(self, world, action)

    monkeypatch.setattr(ClusterModel, "step", step)
    calm: Explored = explore(model_of(CALM))
    assert calm.complete
    found = explore(searched_scenario("kip-1289-small").model(design("repaired"), _crash()))
    assert "the model raised AssertionError: no such state: the design's slots" in found.stopped
    assert found.states > 1


def _crash() -> Any:
    from kipviz.checking.judging.budgets import budget_of

    return budget_of("crash_broker=1")
