"""A search as a module of TLA+: its situations give the search again, its rules are readable, and TLC counts the same."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections import deque
from functools import cache
from pathlib import Path

import pytest

import kipviz
from kipviz.brokers.share_leaders.in_flight import InFlight
from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.tla import names, rule_text
from kipviz.checking.tla.files import write
from kipviz.checking.tla.module import module_of
from kipviz.checking.tla.names import each_once, name_of_action
from kipviz.checking.tla.reachable_states import NotWhole, Reached, search_designs
from kipviz.checking.tla.situations import Rules, deed
from kipviz.checking.tla.terms import Mapping, Record, itf, records, term_of, tla, varying
from kipviz.cluster.actions import Deliver, Step
from kipviz.core.log import Log
from kipviz.core.table import Table
from kipviz.designs.catalogue import design
from kipviz.designs.design import slot_named
from kipviz.designs.options.options import SLOTS
from kipviz.messages.errors import Errors
from kipviz.records.share_group_state import RecordState
from kipviz.scenarios.library import searched_scenario

SMALL = "kip-1289-small"
ROOT = Path(__file__).parents[3]
TLC = os.environ.get("KIPVIZ_TLC", "")
needs_tlc = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not TLC or shutil.which("java") is None,
        reason="needs a Java, and KIPVIZ_TLC to name tla2tools.jar (tests/checking/tla/README.md)",
    ),
]


@cache
def search_story(designs: str, faults: str = "", story: str = SMALL) -> Reached:
    return search_designs(
        searched_scenario(story), [design(d) for d in designs.split()], budget_of(faults)
    )


def text_of(space: Reached) -> str:
    return module_of("small", searched_scenario(SMALL), space, budget_of("")).text


def walk_situations(space: Reached, of: int) -> tuple[int, int]:
    """Walk the situations as TLC does, under one design; give the states and the steps."""
    rules, variables = Rules(space), space.variables
    deeds = [deed(space, rules, steps) for steps in space.steps.values()]
    broken = {tuple(v.at[s] for v in variables) for s in space.broken}
    first = tuple(v.at[space.searches[of].first] for v in variables)
    seen, queue, taken = {first}, deque([first]), 0
    while queue:
        here = queue.popleft()
        if here in broken:
            continue
        for made in deeds:
            live = [
                each
                for each in made.situations
                if all(here[n] == value for n, value in each.when) and rules.admits(of, each.asked)
            ]
            for each in live:
                after = list(here)
                for n, value in each.then:
                    after[n] = value
                for update in made.updates:
                    rows = [
                        row
                        for row in update.rows
                        if all(here[n] == value for n, value in row.when)
                        and rules.admits(of, row.asked)
                    ]
                    assert len(rows) <= 1
                    for row in rows:
                        ((n, value),) = row.then
                        after[n] = value
                taken += 1
                if tuple(after) not in seen:
                    seen.add(tuple(after))
                    queue.append(tuple(after))
    return len(seen), taken


@pytest.mark.parametrize(
    ("designs", "faults", "story"),
    [
        ("repaired finding-I", "", SMALL),
        pytest.param("finding-D", "expire_lock=1", SMALL, marks=pytest.mark.thorough),
        pytest.param("finding-A as-written", "", SMALL, marks=pytest.mark.thorough),
        pytest.param("kafka", "crash_broker=1", "kip-890-small", marks=pytest.mark.thorough),
    ],
)
def test_the_situations_of_a_module_give_the_search_again(designs, faults, story):
    space = search_story(designs, faults, story)
    for of, each in enumerate(space.searches):
        assert walk_situations(space, of) == (each.explored.states, each.explored.transitions)


def test_a_rule_that_is_exchanged_in_a_module_of_two_designs_gives_the_other_ones_search():
    space = search_story("repaired finding-I")
    repaired, other = (each.explored for each in space.searches)
    assert (repaired.states, repaired.transitions) != (other.states, other.transitions)
    rules = Rules(space)
    asked = [a for steps in space.steps.values() for s in steps for a in s.asked]
    told = {a.slot for a in asked if not rules.admits(1, (a,))} & {
        a.slot for a in asked if rules.admits(0, (a,))
    }
    assert told == {"marker_epoch"}


def test_a_module_names_each_slot_with_its_question_its_option_and_its_sentence():
    space = search_story("repaired finding-I")
    text = text_of(space)
    plain = " ".join(text.replace("\\*", "").split())
    for slot in space.questions:
        option = design("repaired").option(slot)
        for said in (slot_named(slot).question, option.status, option.source, option.sentence):
            assert " ".join(said.split()).split("\u2019")[0] in plain
    assert (
        "MarkerEpoch_greater(staged_epoch, marker_epoch) == (marker_epoch > staged_epoch)" in text
    )
    assert "ASSUME MarkerEpoch_equal(0, 1) = FALSE" in text
    assert 'Design \\in {"finding-I"} -> MarkerEpoch_equal(staged_epoch, marker_epoch)' in text
    assert "Step_app_1 ==" in text
    assert text.isascii()


def test_a_readers_own_rule_is_a_formula_or_a_table_and_stands_there_as_it_was_written():
    def simple(staged_epoch, marker_epoch):
        """One with a higher epoch, and no other."""
        if marker_epoch > staged_epoch:  # noqa: SIM103  an if has a formula, too
            return True
        return False

    def winding(staged_epoch, marker_epoch):
        """One with a higher epoch, found by counting."""
        return any(marker_epoch == staged_epoch + n for n in range(1, 9))

    texts = []
    for rule in (simple, winding):
        own = kipviz.propose(f"of-{rule.__name__}", "repaired", marker_epoch=rule)
        space = search_designs(searched_scenario(SMALL), [design(str(own))], budget_of(""))
        assert space.searches[0].explored.states == 686
        texts.append(text_of(space))
    assert (
        "MarkerEpoch(staged_epoch, marker_epoch) == IF (marker_epoch > staged_epoch) THEN TRUE ELSE FALSE"
        in texts[0]
    )
    assert "\\*     return any((marker_epoch == staged_epoch + n for n in range(1, 9)))" in texts[1]
    assert "CASE <<staged_epoch, marker_epoch>> = <<0, 1>> -> TRUE" in texts[1]


@pytest.mark.parametrize(
    ("slot", "option", "written"),
    [
        ("marker_epoch", "equal_or_next", "((b - a) \\in {0, 1})"),
        ("marker_epoch", "any_epoch", "TRUE"),
        ("lock_expiry", "pinned_until_marker", "<<>>"),
        ("lock_expiry", "back_to_available", None),
        ("stage_retry", "invalid_record_state", '"INVALID_RECORD_STATE"'),
        ("enlistment", "nobody", "(-2)"),
        ("epoch_check", "older_epochs_are_refused", "(a < b)"),
    ],
)
def test_an_option_is_a_formula_where_it_is_simple_enough(slot, option, written):
    of = slot_named(slot)
    names = ("a", "b")[: len(rule_text.parameters(of.options[0].choose, ()))]
    assert rule_text.formula(of, of.option(option).choose, names) == written


def test_every_option_is_a_formula_or_none_and_its_parameters_are_names_of_tla():
    for slot in SLOTS:
        for option in slot.options:
            given = rule_text.parameters(option.choose, ("staged",))
            assert all(re.fullmatch("[a-z][a-z0-9_]*", name) for name in given)
            assert "staged" not in given
            written = rule_text.formula(slot, option.choose, given)
            assert written is None or written.isascii()


def test_a_rule_that_cannot_answer_what_another_design_is_asked_is_told():
    def picky(staged_epoch, marker_epoch):
        """The next epoch, where there was one before."""
        if (staged_epoch, marker_epoch) == (0, 1) or staged_epoch > 1 or marker_epoch > 2:
            return marker_epoch == staged_epoch + 1
        return {0: False, 1: False, 2: False}[staged_epoch + marker_epoch - marker_epoch]

    kipviz.propose("picky", "repaired", marker_epoch=picky)
    assert search_story("picky").searches[0].explored.states == 686


def test_a_search_without_an_end_is_no_module():
    with pytest.raises(NotWhole, match=r"a module is written of a whole search.* 50 states"):
        search_designs(searched_scenario(SMALL), [design("repaired")], budget_of(""), states_max=50)
    with pytest.raises(NotWhole, match="a module needs a complete search"):
        search_designs(
            searched_scenario(SMALL), [design("repaired")], budget_of(""), go_on=lambda *_: False
        )


@pytest.mark.parametrize("name", ["no-name.tla", "9.tla", "small.txt", ".tla"])
def test_a_file_that_no_module_can_be_called_as_is_refused(tmp_path, name):
    with pytest.raises(NotWhole, match="a module's file must have the name of the module"):
        write(tmp_path / name, searched_scenario(SMALL), [design("repaired")], budget_of(""))
    assert list(tmp_path.iterdir()) == []


def test_the_files_of_a_module_say_which_counts_tlc_has_to_find(tmp_path):
    search = kipviz.explore(SMALL, "finding-I")
    done = search.tla(tmp_path / "small.tla", "repaired")
    assert [Path(each).name for each in done.files] == [
        "small.tla",
        "small.cfg",
        "small_properties.cfg",
        "small_repaired.cfg",
        "small_repaired_properties.cfg",
    ]
    assert "repaired; TLC has to find 686 distinct states and to generate 1906" in repr(done)
    assert (tmp_path / "small_repaired.cfg").read_text() == (
        'SPECIFICATION Spec\nCONSTANT Design = "repaired"\n'
    )
    assert (tmp_path / "small_properties.cfg").read_text().endswith("INVARIANT Atomic\n")
    with pytest.raises(ValueError, match="each design of a module is named once"):
        search.tla(tmp_path / "small.tla", "finding-I")


def test_a_module_is_the_same_in_every_process():
    code = (
        "from tests.checking.tla.test_tla_modules import search_story, text_of; import hashlib;"
        "print(hashlib.sha256(text_of(search_story('repaired')).encode()).hexdigest())"
    )
    here = hashlib.sha256(text_of(search_story("repaired")).encode()).hexdigest()
    seed = "7" if os.environ.get("PYTHONHASHSEED") != "7" else "8"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": seed},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == here


# -- terms and names -------------------------------------------------------------------------------


def test_equal_values_have_equal_terms_and_a_default_is_left_out():
    record = InFlight(RecordState.ACQUIRED, member_id='M"1\\\n')
    assert tla(term_of(record)) == (
        '[is_a |-> "InFlight", state |-> "ACQUIRED", member_id |-> "M\\"1\\\\u{a}"]'
    )
    assert tla(term_of((None, True, 3, Errors.NONE, b"\x01"))) == '<<<<>>, TRUE, 3, "NONE", "01">>'
    assert tla(term_of(2**31)) == '"2147483648"'
    assert tla(term_of(None, int | None)) == "<<>>"
    assert tla(term_of(4, int | None)) == "<<4>>"
    assert tla(Mapping((("a", 1), ("b", 2)))) == '("a" :> 1 @@ "b" :> 2)'
    assert tla(Mapping(())) == "<<>>"
    with pytest.raises(TypeError, match="a set has no term"):
        term_of({1})


def test_only_what_varies_is_in_the_terms_of_several_values():
    one, other = InFlight(RecordState.ACQUIRED, 1), InFlight(RecordState.ACQUIRED, 2)
    assert varying([one, other]) == [Record((("delivery_count", n),)) for n in (1, 2)]
    tables = [Table.of({"a": one, "b": one}), Table.of({"a": one, "b": other})]
    assert tla(varying(tables)[1]) == '("b" :> [delivery_count |-> 2])'
    assert tla(varying([Table.of({"a": 1}), Table.of({"b": 1})])[1]) == '("b" :> 1)'
    assert varying([Log.of((1,)), Log.of((1, 2))]) == [(1,), (1, 2)]
    assert records(["absent", one, other])[0] == "absent"
    assert itf(varying([one, other])[0]) == {"delivery_count": {"#bigint": "1"}}


def test_names_are_letters_and_digits_and_each_stands_for_one_thing():
    assert name_of_action(Deliver("app-1/producer", 5, "request")) == (
        "Deliver_app_1_producer_5_request"
    )
    assert name_of_action(Step("app-1")) == "Step_app_1"
    assert each_once([(1, "a"), (2, "a"), (3, "b"), (4, "a")]) == {
        1: "a",
        2: "a_x",
        3: "b",
        4: "a_y",
    }
    assert names.word("é") == "_"
    assert names.name_of_place(("logs", "__transaction_state-45")) == "log_transaction_state_45"


# -- TLC ---------------------------------------------------------------------------------------------


def tlc(folder: Path, config: str, module: str = "small") -> str:
    done = subprocess.run(
        ["java", "-cp", TLC, "tlc2.TLC", "-workers", "1", "-deadlock", "-config", config, module],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


class TestTlc:
    """What TLC itself says of the modules."""

    pytestmark = needs_tlc

    @pytest.mark.parametrize(
        ("designs", "faults", "story"),
        [
            ("repaired finding-I", "", SMALL),
            ("finding-D", "expire_lock=1", SMALL),
            ("kafka", "crash_broker=1", "kip-890-small"),
        ],
    )
    def test_tlc_finds_as_many_states_and_steps_as_the_search(
        self, tmp_path, designs, faults, story
    ):
        asked = [design(each) for each in designs.split()]
        done = write(tmp_path / "small.tla", searched_scenario(story), asked, budget_of(faults))
        for config, each in zip(done.files[1::2], done.searches, strict=True):
            told = tlc(tmp_path, Path(config).name)
            counted = re.search(r"(\d+) states generated, (\d+) distinct states found", told)
            assert counted is not None, told[-2000:]
            states, transitions = each.explored.states, each.explored.transitions
            assert counted.groups() == (str(transitions + 1), str(states))

    def test_tlc_finds_the_shortest_run_that_breaks_and_it_opens_in_the_stepper(self, tmp_path):
        search = kipviz.explore(SMALL, "finding-D", "expire_lock=1")
        search.tla(tmp_path / "small.tla")
        told = tlc(tmp_path, "small_properties.cfg")
        assert "Invariant Atomic is violated" in told
        (tmp_path / "tlc.out").write_text(told)
        stepper = kipviz.open_trace(tmp_path / "tlc.out", module=tmp_path / "small.tla")
        assert stepper.step == search.open().step == 31
