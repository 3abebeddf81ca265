"""Two settings against each other: which property breaks where."""

from __future__ import annotations

import pytest

from kipviz.checking.single_run.runs import labels, load, save
from kipviz.checking.timed.axes import LIMIT, LOCK, TIMEOUT, WORK, Axis, BadLandscape
from kipviz.checking.timed.landscape import Landscape, LandscapeQuestion, landscape
from kipviz.views.measures.landscape import landscape_page

QUESTION = LandscapeQuestion(
    down=Axis(LOCK, (10_000, 30_000)), across=Axis(TIMEOUT, (5_000, 60_000))
)


@pytest.fixture(scope="module")
def found() -> Landscape:
    return Landscape(QUESTION, tuple(landscape(QUESTION)))


def verdicts(found: Landscape, design: str) -> dict[tuple[int, int], str]:
    return {(s.down, s.across): s.verdict for s in found.spots if s.design == design}


def test_every_cell_is_searched_to_its_end_with_the_timed_clock(found: Landscape) -> None:
    assert len(found.spots) == 3 * 2 * 2
    assert all(spot.explored.complete for spot in found.spots)
    assert {spot.explored.clock for spot in found.spots} == {
        "timed (every tick, delays up to 0 ms, pauses up to 0 ms)"
    }


def test_the_repaired_design_breaks_nowhere(found: Landscape) -> None:
    assert verdicts(found, "repaired") == {
        (10_000, 5_000): "never commits",
        (10_000, 60_000): "holds",
        (30_000, 5_000): "never commits",
        (30_000, 60_000): "holds",
    }


def test_a_lock_that_may_take_a_transactional_acknowledgement_back_has_to_outlast_the_work(
    found: Landscape,
) -> None:
    assert verdicts(found, "finding-D") == {
        (10_000, 5_000): "never commits",
        (10_000, 60_000): "atomic",
        (30_000, 5_000): "never commits",
        (30_000, 60_000): "holds",
    }


def test_no_lock_is_long_enough_for_what_is_written(found: Landscape) -> None:
    assert verdicts(found, "as-written") == {
        (10_000, 5_000): "never commits",
        (10_000, 60_000): "atomic",
        (30_000, 5_000): "never commits",
        (30_000, 60_000): "atomic",
    }


def test_a_cell_that_breaks_opens_where_it_breaks_and_is_kept_in_a_file(
    found: Landscape, tmp_path: object
) -> None:
    broken = found.find_break("finding-D", 10_000, 60_000)
    assert broken.broken == "atomic"
    told = labels(broken.run)
    assert "time passes" in told
    assert "the lock of src-0@100 expires" in told
    path = f"{tmp_path}/broken.trace"
    save(broken.run, path)
    again = load(path)
    assert again.changes == ()
    assert labels(again)[: len(told)] == told
    assert again.model.spec.clock.timed


def test_a_cell_that_holds_has_nothing_to_open(found: Landscape) -> None:
    with pytest.raises(LookupError, match="nothing breaks there: holds"):
        found.find_break("repaired", 10_000, 60_000)
    with pytest.raises(LookupError, match=f"{LOCK} 1 s, {TIMEOUT} 2 s was not searched"):
        found.find_break("repaired", 1_000, 2_000)


def test_the_page_has_a_table_for_each_design_and_says_what_its_words_mean(
    found: Landscape,
) -> None:
    page = landscape_page(found)
    assert "| 10 s | never commits | atomic breaks after 40 |" in page
    assert page.count(" | 5 s | 60 s |") == 3
    assert "12 searches" in page


def test_whoever_stops_it_keeps_the_cells_so_far() -> None:
    asked: list[str] = []

    def twice(name: str, states: int, depth: int) -> bool:
        asked.append(name)
        return len(set(asked)) < 2

    spots = tuple(landscape(QUESTION, progress=twice))
    assert [spot.verdict for spot in spots] == ["never commits", "nothing so far"]
    assert "not searched" in landscape_page(Landscape(QUESTION, spots))


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        (
            QUESTION.but(down=Axis(LOCK, (3, 2))),
            f"{LOCK} must be whole numbers of at least 1, each greater",
        ),
        (QUESTION.but(across=Axis(TIMEOUT, ())), "each greater than the previous one, not none"),
        (QUESTION.but(across=QUESTION.down), f"must be different settings, not {LOCK} twice"),
        (
            QUESTION.but(down=Axis("lock", (1,))),
            "there is no axis 'lock'; the axes are group.share",
        ),
        (
            QUESTION.but(down=Axis("group.consumer.session.timeout.ms", (45_000,))),
            "makes no difference in kip-1289-small with these faults; settings that do: group.share",
        ),
        (
            QUESTION.but(work_ms=0),
            "the processing time must be a whole number of ms of at least 1, not 0",
        ),
        (QUESTION.but(designs=()), "name at least one design"),
    ],
)
def test_what_is_no_grid_is_refused_in_one_sentence(
    question: LandscapeQuestion, sentence: str
) -> None:
    with pytest.raises(BadLandscape, match=sentence):
        next(landscape(question))


def test_any_two_settings_that_make_a_difference_can_be_the_axes() -> None:
    work = Axis(WORK, (1_000, 20_000))
    asked = LandscapeQuestion(designs=("finding-D",), down=Axis(LIMIT, (2, 5)), across=work)
    asked = asked.but(fixed=("group.share.record.lock.duration.ms=10000",))
    found = Landscape(asked, tuple(landscape(asked)))
    assert verdicts(found, "finding-D") == {
        (2, 1_000): "holds",
        (2, 20_000): "atomic",
        (5, 1_000): "holds",
        (5, 20_000): "atomic",
    }
    page = landscape_page(found)
    assert "| finding-D | 1 s | 20 s |" in page
    assert "| 2 | holds | atomic breaks after" in page
