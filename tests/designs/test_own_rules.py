"""Rules of a reader's own: what is taken, what is refused and how, and that runs use them."""

import json
import pickle
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import kipviz
from kipviz.brokers.share_leaders.in_flight import InFlight
from kipviz.campaigns.plan import make_plan
from kipviz.checking.judging.verdicts import judge
from kipviz.checking.single_run import runs
from kipviz.core.traces.tracefile import TraceFileError
from kipviz.designs import catalogue
from kipviz.designs.catalogue import design
from kipviz.designs.design import slot_named
from kipviz.designs.own_rule import BadRule, value_words
from kipviz.designs.slot import UnknownDesign
from kipviz.messages.errors import Errors
from kipviz.records.share_group_state import RecordState
from kipviz.spark.campaign import run_places
from kipviz.spark.saved.saved_runs import KeptRuns
from kipviz.studies.library import study as study_named
from kipviz.studies.study import with_designs

QUESTION = slot_named("marker_epoch").question
KEPT: list[int] = []
LIMIT = 7


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    """Forget what a test proposed."""
    yield
    catalogue._registered.clear()


def any_marker(staged: int, marker: int) -> bool:
    """Every marker resolves every transactional acknowledgement."""
    return True


def no_docstring(staged: int, marker: int) -> bool:
    return True


def one_argument(staged: int) -> bool:
    """Wrong."""
    return True


def prints(staged: int, marker: int) -> bool:
    """Wrong."""
    print(staged)
    return True


def loops(staged: int, marker: int) -> bool:
    """Wrong."""
    while True:
        pass


def keeps(staged: int, marker: int) -> bool:
    """Wrong."""
    KEPT.append(staged)
    return True


def counts(staged: int, marker: int) -> bool:
    """Wrong."""
    counts.seen = getattr(counts, "seen", 0) + 1  # type: ignore[attr-defined]
    return bool(counts.seen % 2)  # type: ignore[attr-defined]


def raises(staged: int, marker: int) -> bool:
    """Wrong."""
    return staged // (marker - marker) == 0


def throws_dice(staged: int, marker: int) -> float:
    """Wrong."""
    return random.random()


def by_order(staged: int, marker: int) -> bool:
    """Wrong."""
    return next(iter({staged, marker, 5})) == staged


def by_order_of_a_union(staged: int, marker: int) -> bool:
    """Wrong."""
    return next(iter(frozenset([staged, 9]) | {marker})) == 9


def answers_a_number(staged: int, marker: int) -> int:
    """Wrong."""
    return staged + marker


def opens(staged: int, marker: int) -> bool:
    """Wrong."""
    return bool(open("rules"))  # noqa: PTH123 - what the test is about


def same_epoch(staged: int, marker: int) -> bool:
    """Only a marker with the same epoch resolves a transactional acknowledgement."""
    return marker == staged


def right(staged: int, marker: int) -> bool:
    """A transactional acknowledgement is resolved by its own epoch, or one up to the limit."""
    return min({staged, marker}) == staged and marker <= LIMIT and Errors.NONE.value == 0


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (no_docstring, "has no docstring"),
        (one_argument, r"takes \(staged: int\), and the slot gives \(staged_epoch, marker_epoch\)"),
        (prints, "printed"),
        (loops, "was not done after 100,000 lines"),
        (keeps, "uses 'KEPT' from outside"),
        (counts, "answered True and then False"),
        (raises, "raised ZeroDivisionError"),
        (throws_dice, "depends on its arguments only"),
        (by_order, "the order of a set"),
        (by_order_of_a_union, "the order of a set"),
        (answers_a_number, r"answered 0, which is not of type bool"),
        (opens, r"uses open\(\)"),
        (lambda *_: True, "not a function written with def"),
        (len, "not a function written with def"),
    ],
)
def test_what_is_no_rule_is_refused_in_one_sentence_with_the_slots_question(
    function: Callable[..., object], said: str
) -> None:
    with pytest.raises(BadRule, match=said) as refused:
        kipviz.propose("mine", kipviz.design("repaired"), marker_epoch=function)
    assert QUESTION in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_rule_of_ones_own_may_use_sets_constants_and_imports() -> None:
    mine = kipviz.propose("mine", kipviz.design("repaired"), marker_epoch=right)
    rule = design(mine).broker_rules().marker_epoch
    assert (rule(3, 3), rule(3, 4), rule(4, 3), rule(8, 8)) == (True, True, False, False)


def test_a_search_goes_by_the_rule_and_names_it() -> None:
    mine = kipviz.propose("any-marker", kipviz.design("repaired"), marker_epoch=any_marker)
    run = runs.play("kip-1289-share-commit", mine)
    assert run.design.name == "any-marker"
    assert run.design.title == "any-marker: your own marker_epoch=any_marker"
    assert "Every marker resolves every transactional acknowledgement." in run.design.sentence
    assert "repaired" not in run.design.title + run.design.sentence


@pytest.mark.thorough
def test_a_rule_equal_to_an_option_of_the_slot_has_its_verdict() -> None:
    def own_broker_of_mine(own: int, coordinator: int) -> int:
        """The broker itself."""
        return own

    mine = kipviz.propose("own-broker", "repaired", enlistment=own_broker_of_mine)
    ours, stock = (
        judge("kip-1289-small", name) for name in (mine, "repaired+enlistment=own_broker")
    )
    assert (ours.design, ours.status) == ("own-broker", stock.status)
    assert ours.cells == stock.cells
    assert ours.explored.states == stock.explored.states


def test_a_design_of_ones_own_can_be_changed_further() -> None:
    mine = kipviz.propose("any-marker", "repaired", marker_epoch=any_marker)
    further = design(f"{mine}+lock_expiry=back_to_available")
    assert (
        further.option("marker_epoch").sentence
        == "Every marker resolves every transactional acknowledgement."
    )
    assert further.but(marker_epoch="equal").own == ()


def test_a_name_that_carries_its_design_brings_it_to_another_process() -> None:
    sent = pickle.dumps(kipviz.propose("mine", "repaired", marker_epoch=right))
    catalogue._registered.clear()
    with pytest.raises(UnknownDesign):
        design("mine")
    assert pickle.loads(sent) == "mine"
    assert design("mine").broker_rules().marker_epoch(3, 4) is True


def test_a_kept_run_names_the_design_and_runs_no_code_of_it(tmp_path: Path) -> None:
    mine = kipviz.propose("mine", "repaired", marker_epoch=right)
    run = runs.play("kip-1289-share-commit", mine)
    runs.save(run, f"{tmp_path}/run.trace")
    assert runs.load(f"{tmp_path}/run.trace").changes == ()
    catalogue._registered.clear()
    with pytest.raises(TraceFileError, match=r"'mine'.*kipviz\.propose\('mine'"):
        runs.load(f"{tmp_path}/run.trace")


def test_a_name_that_a_design_has_is_refused() -> None:
    with pytest.raises(ValueError, match="a design 'repaired' already exists"):
        kipviz.propose("repaired", "repaired", marker_epoch=any_marker)
    with pytest.raises(ValueError, match="small letters"):
        kipviz.propose("My Design", "repaired", marker_epoch=any_marker)
    with pytest.raises(UnknownDesign, match="there is no slot 'marker_epochs'"):
        kipviz.propose("mine", "repaired", marker_epochs=any_marker)


def test_a_campaign_in_other_processes_takes_the_rule_and_names_it() -> None:
    """A worker process has only what is sent: the plan carries the rule as text."""
    mine = kipviz.propose("mine", "repaired", marker_epoch=right)
    plan = make_plan("kip-1289-two-members", str(mine), "rough", runs=1)
    sent = pickle.dumps(plan)
    here = run_places(plan, 0, plan.jobs)
    catalogue._registered.clear()
    (there,) = run_places(pickle.loads(sent), 0, plan.jobs)
    assert there.equals(here[0])
    assert there.column("design").to_pylist() == ["mine"]
    assert there.column("status").to_pylist() != ["error"]


def test_a_campaigns_folder_is_that_of_one_rule_not_only_of_its_name(tmp_path: Path) -> None:
    kipviz.propose("mine", "repaired", marker_epoch=right)
    KeptRuns(tmp_path / "kept", make_plan("kip-1289-two-members", "mine", runs=1))
    KeptRuns(tmp_path / "kept", make_plan("kip-1289-two-members", "mine", runs=1))
    kipviz.propose("mine", "repaired", marker_epoch=any_marker)
    with pytest.raises(ValueError, match="another campaign"):
        KeptRuns(tmp_path / "kept", make_plan("kip-1289-two-members", "mine", runs=1))


def test_a_table_of_verdicts_of_a_proposal_is_shown_and_written_as_a_folder(tmp_path):
    mine = kipviz.propose("same-epoch", kipviz.design("repaired"), marker_epoch=same_epoch)
    table = kipviz.verdicts("kip-1289-small", [mine])
    assert json.loads(json.dumps(table.payload()))["blocks"]
    files = table.review(tmp_path / "review")
    stem = "same-epoch--no-stuck-transactions-or-records"
    assert files == ("review.md", f"{stem}.mmd", f"{stem}.trace")
    assert sorted(files) == sorted(path.name for path in (tmp_path / "review").iterdir())
    assert (
        "Only a marker with the same epoch"
        not in (tmp_path / "review" / f"{stem}.trace").read_text()
    )
    assert (
        kipviz.open_trace(tmp_path / "review" / f"{stem}.trace").payload["design"]["name"]
        == "same-epoch"
    )
    with pytest.raises(ValueError, match="the folder of a review must be a path"):
        table.review("")


def test_a_slot_says_what_a_rule_takes_and_returns():
    told = repr(kipviz.list_slots("marker_epoch"))
    assert (
        "a rule of your own takes (staged_epoch: int, marker_epoch: int) and returns bool" in told
    )
    assert list(kipviz.list_slots("marker_epoch", "lock_expiry")) == ["marker_epoch", "lock_expiry"]
    assert all(entry["rule"].startswith("takes (") for entry in kipviz.list_slots().listing.entries)
    with pytest.raises(ValueError, match="there is no slot 'marker'"):
        kipviz.list_slots("marker")


def test_a_rule_that_fails_in_a_run_is_told_as_such_with_the_question_in_plain_words() -> None:
    def late(record):
        """Raise in a run, where no question before it could."""
        raise RuntimeError("too late")

    kipviz.propose("fails-late", "repaired", lock_expiry=late)
    found = kipviz.explore("kip-1289-small", "fails-late", "expire_lock=1").explored
    assert found.stopped.startswith(
        "after 22 steps a rule of your own failed: Your rule late, asked (InFlight("
    )
    assert "state=TX_PENDING, delivery_count=1, member_id='M1', lock=100" in found.stopped
    assert "<RecordState" not in found.stopped
    assert "are incompatible" not in found.stopped


def test_what_a_rule_answers_is_told_without_places_of_types() -> None:
    def five(record):
        """Answer a number."""
        return 5

    kipviz.propose("answers-five", "repaired", lock_expiry=five)
    with pytest.raises(BadRule, match=r"answered 5, which is not of type InFlight \| None"):
        kipviz.open("kip-1289-lock-expiry", "answers-five")
    record = InFlight(RecordState.ACQUIRED)
    assert value_words((record,)) == "(InFlight(state=ACQUIRED),)"
    assert value_words((1, "a", None)) == "(1, 'a', None)"


def test_a_study_takes_a_design_of_ones_own_beside_its_own() -> None:
    def one_more(staged_epoch, marker_epoch):
        """Only a marker whose epoch is one higher."""
        return marker_epoch == staged_epoch + 1

    own = kipviz.propose("one-more", "repaired", marker_epoch=one_more)
    rows = kipviz.study("cost", designs=[own]).answer.rows
    assert rows[-1][:2] == ("share group, one-more", "one-more")
    assert (
        rows[-1][2:] == next(row for row in rows if row[0] == "share group, KIP-1289 repaired")[2:]
    )
    beside = with_designs(study_named("B8"), ("one-more",))
    assert beside.rivals[-1].design == "one-more"
    with pytest.raises(ValueError, match="the study rolling is about its own designs"):
        kipviz.study("rolling", designs=["repaired"])
    with pytest.raises(ValueError, match="there is no design 'nobody'"):
        kipviz.study("cost", designs=["nobody"])
