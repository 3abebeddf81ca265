"""A slot or an option that was renamed is still found by its former name, wherever such a name is stored."""

from __future__ import annotations

import pytest

from kipviz.checking.single_run import runs
from kipviz.checking.single_run.permalink import open_link, permalink
from kipviz.designs.catalogue import REPAIRED, design
from kipviz.designs.design import slot_named
from kipviz.designs.former_names import FORMER_OPTIONS, FORMER_SLOTS
from kipviz.designs.options.options import SLOTS, UnknownDesign
from kipviz.scenarios.library import scenario
from kipviz.scenarios.setting_changes import apply_changes, under

NOW = "draft-late+acknowledgement_form=batch_of_the_transaction"
BEFORE = "draft-late+vote_form=batch_of_the_transaction"
STORY = "kip-1289-draft-late-stage"
# Made before the slot was renamed.
LINK = f"kv2.{STORY}.{BEFORE}.yl6nMKECTEY.iKN7jqS5xFt6BNBNAAAVUqqqqqefZ3hlPNrdcMQ"


def test_a_former_name_is_that_of_one_slot_or_option_and_of_nothing_else() -> None:
    slots = [slot.name for slot in SLOTS]
    options = [option.name for slot in SLOTS for option in slot.options]
    assert set(FORMER_SLOTS.values()) <= set(slots)
    assert all(options.count(now) == 1 for now in FORMER_OPTIONS.values())
    assert not set(FORMER_SLOTS) & set(slots)
    assert not set(FORMER_OPTIONS) & set(options)


@pytest.mark.parametrize(("former", "now"), FORMER_SLOTS.items())
def test_a_slot_is_found_by_its_former_name(former: str, now: str) -> None:
    assert slot_named(former) is slot_named(now)


@pytest.mark.parametrize(("former", "now"), FORMER_OPTIONS.items())
def test_a_design_with_a_former_option_is_the_design_with_the_present_one(
    former: str, now: str
) -> None:
    (slot,) = (each for each in SLOTS if now in [option.name for option in each.options])
    other = next(option.name for option in slot.options if option.name != now)
    start = REPAIRED.but(**{slot.name: other})
    assert start.but(**{slot.name: former}) == start.but(**{slot.name: now})
    assert start.but(**{slot.name: now}).but(**{slot.name: former}).choices[slot.name] == now


def test_a_design_by_a_former_name_has_the_present_one() -> None:
    assert design(BEFORE) == design(NOW)
    assert design(BEFORE).name == NOW
    with pytest.raises(UnknownDesign, match="the slot 'acknowledgement_form' is named twice"):
        design(f"{BEFORE}+acknowledgement_form=batch_of_the_transaction")


def test_a_setting_by_a_former_name_changes_the_slot() -> None:
    story, change = scenario(STORY), "vote_form=batch_of_the_transaction"
    assert apply_changes(story.spec, design("draft-late"), [change]) == (story.spec, design(NOW))
    assert under(story, design(NOW), [change]) == story


def test_a_link_and_a_saved_run_with_a_former_name_open_the_same_run() -> None:
    run = runs.play(STORY, NOW)
    opened = open_link(LINK)
    assert (opened.design, opened.changes) == (run.design, ())
    assert opened.trace.world == run.trace.world
    assert f".{NOW}." in permalink(opened)
    header = runs.origin_of(run)
    assert header["design"] == NOW
    story, of, *_ = runs.open_header("a run", header | {"design": BEFORE})
    assert (story, of) == (run.scenario, run.design)
