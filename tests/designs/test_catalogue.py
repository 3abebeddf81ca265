"""Slots, options and the named designs made of them."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kipviz.brokers.rules import BrokerRules
from kipviz.clients.rules import ClientRules
from kipviz.designs.catalogue import AS_WRITTEN, CATALOGUE, FINDINGS, REPAIRED, design
from kipviz.designs.options.options import SLOTS, STATUSES, Option, Slot, UnknownDesign

OPTIONS = [(slot, option) for slot in SLOTS for option in slot.options]
AS_SLOT = pytest.mark.parametrize("slot", SLOTS, ids=lambda slot: slot.name)
AS_OPTION = pytest.mark.parametrize(
    ("slot", "option"), OPTIONS, ids=[f"{slot.name}={option.name}" for slot, option in OPTIONS]
)
AS_DESIGN = pytest.mark.parametrize("known", CATALOGUE, ids=lambda known: known.name)


@AS_SLOT
def test_a_slot_is_a_question_with_at_least_two_different_answers(slot: Slot) -> None:
    assert slot.question.endswith("?")
    assert slot.finding
    names = [option.name for option in slot.options]
    assert len(names) == len(set(names)) >= 2
    assert len({option.choose for option in slot.options}) == len(names)


@AS_SLOT
def test_the_first_option_of_a_slot_is_that_of_the_repaired_design(slot: Slot) -> None:
    assert REPAIRED.option(slot.name) == slot.options[0]


@AS_OPTION
def test_an_option_says_what_it_does_how_settled_it_is_and_where_it_is_from(
    slot: Slot, option: Option
) -> None:
    assert option.sentence[0].isupper()
    assert option.sentence.endswith(".")
    assert "\n" not in option.sentence
    assert option.status in STATUSES
    assert option.source
    assert option.choose.__name__ == option.name


def test_slots_have_names_of_their_own_and_fill_the_rules_of_both_sides() -> None:
    names = [slot.name for slot in SLOTS]
    assert len(set(names)) == len(names)
    on_brokers = {slot.name for slot in SLOTS if slot.on_brokers}
    assert on_brokers == set(BrokerRules.__struct_fields__)
    assert set(names) - on_brokers == set(ClientRules.__struct_fields__)


@AS_DESIGN
def test_a_named_design_fills_every_slot_and_says_what_it_is(known: object) -> None:
    assert isinstance(known, type(REPAIRED))
    assert len(known.chosen) == len(SLOTS)
    brokers, clients = known.broker_rules(), known.client_rules()
    for slot in SLOTS:
        rules = brokers if slot.on_brokers else clients
        assert getattr(rules, slot.name) is known.option(slot.name).choose
    assert known.status in STATUSES
    assert known.title
    assert known.sentence.endswith(".")
    assert known.source


def test_no_two_named_designs_are_alike() -> None:
    assert len({known.name for known in CATALOGUE}) == len(CATALOGUE)
    assert len({(d.chosen, d.stages_shares, d.levels) for d in CATALOGUE}) == len(CATALOGUE)
    assert len({known.sentence for known in CATALOGUE}) == len(CATALOGUE)


@AS_DESIGN
def test_a_design_is_called_no_more_settled_than_its_least_settled_part(known: object) -> None:
    assert isinstance(known, type(REPAIRED))
    # a design that cannot stage acknowledgements never asks the questions of KIP-1289.
    asked = SLOTS if known.stages_shares else ()
    parts = [STATUSES.index(known.option(slot.name).status) for slot in asked] or [0]
    assert STATUSES.index(known.status) >= max(parts)


def test_nothing_inferred_is_in_the_design_that_is_shown_as_written() -> None:
    assert "our inference" not in {AS_WRITTEN.option(slot.name).status for slot in SLOTS}


@pytest.mark.parametrize(
    ("finding", "slot"), [("finding-I", "marker_epoch"), ("finding-D", "lock_expiry")]
)
def test_a_finding_is_the_repaired_design_with_one_slot_as_written(finding: str, slot: str) -> None:
    own, repaired = AS_WRITTEN.option(slot).name, REPAIRED.option(slot).name
    assert design(finding).differs_from(REPAIRED) == ((slot, own, repaired),)


@pytest.mark.parametrize("known", FINDINGS, ids=lambda known: known.name)
def test_the_design_of_a_finding_is_the_repaired_one_but_for_what_the_text_or_kafka_says(
    known: object,
) -> None:
    assert isinstance(known, type(REPAIRED))
    assert design(known.name) is known
    changed = known.differs_from(REPAIRED)
    assert changed or known.levels
    for slot, mine, _ in changed:
        option = known.option(slot)
        # What the text leaves open is told as that, and is nothing of our own.
        settled = option.status != "our inference" or option.source == "KIP-1289 does not say"
        assert settled, (slot, mine)


def test_the_designs_of_findings_have_names_and_sentences_of_their_own() -> None:
    every = (*CATALOGUE, *FINDINGS)
    assert len({known.name for known in every}) == len(every)
    assert len({known.sentence for known in every}) == len(every)


# -- made from another one --------------------------------------------------------------------


@AS_OPTION
def test_a_design_made_from_another_differs_in_that_slot_only(slot: Slot, option: Option) -> None:
    made = REPAIRED.but(**{slot.name: option.name})
    expected = (
        () if option is slot.options[0] else ((slot.name, option.name, slot.options[0].name),)
    )
    assert made.differs_from(REPAIRED) == expected
    assert made.option(slot.name) is option


def test_a_design_made_from_another_is_named_for_what_differs_and_says_it() -> None:
    made = REPAIRED.but(lock_expiry="back_to_available", abort_target="acquired")
    assert made.name == "repaired+lock_expiry=back_to_available+abort_target=acquired"
    assert made.title == (
        "KIP-1289, repaired, but lock_expiry=back_to_available, abort_target=acquired"
    )
    for name in ("lock_expiry", "abort_target"):
        assert made.option(name).sentence in made.sentence


def test_a_choice_that_changes_nothing_gives_the_design_itself() -> None:
    assert REPAIRED.but(lock_expiry="pinned_until_marker") is REPAIRED
    assert REPAIRED.but() is REPAIRED


def test_a_written_design_with_an_inferred_part_is_an_inference() -> None:
    assert AS_WRITTEN.but(participant="nowhere").status == "draft"
    assert AS_WRITTEN.but(stage_retry="idempotent").status == "our inference"


choices = st.dictionaries(
    st.sampled_from(SLOTS).map(lambda slot: slot.name), st.integers(0, 2), max_size=4
).map(
    lambda drawn: {
        slot.name: slot.options[drawn[slot.name] % len(slot.options)].name
        for slot in SLOTS
        if slot.name in drawn
    }
)


@given(st.sampled_from(CATALOGUE), choices)
def test_a_design_travels_as_its_name(base: object, chosen: dict[str, str]) -> None:
    assert isinstance(base, type(REPAIRED))
    made = base.but(**chosen)
    assert design(made.name) == made
    one_by_one = base
    for slot, option in chosen.items():
        one_by_one = one_by_one.but(**{slot: option})
    assert one_by_one == made


@AS_DESIGN
def test_a_design_travels_as_a_pickle_too(known: object) -> None:
    assert isinstance(known, type(REPAIRED))
    assert design(known.name) is known
    for made in (known, known.but(eviction="refused", stage_retry="invalid_record_state")):
        assert pickle.loads(pickle.dumps(made)) == made


# -- names that there are not -----------------------------------------------------------------


def test_an_unknown_design_is_answered_with_the_nearest_ones_and_where_all_are() -> None:
    with pytest.raises(UnknownDesign) as wrong:
        design("as-writen")
    said = str(wrong.value)
    assert said.startswith("there is no design 'as-writen'; nearest are as-written, as-written-")
    assert said.endswith(", and `kipviz list` lists all")


@pytest.mark.parametrize(
    "ask",
    [
        lambda: REPAIRED.but(locks="x"),
        lambda: REPAIRED.option("locks"),
        lambda: design("repaired+locks=x"),
    ],
)
def test_an_unknown_slot_is_answered_with_the_nearest_ones(ask: object) -> None:
    assert callable(ask)
    with pytest.raises(UnknownDesign) as wrong:
        ask()
    said = str(wrong.value)
    assert said.startswith("there is no slot 'locks'; nearest are lock_")
    assert said.endswith(", and `kipviz list slots` lists all")


@pytest.mark.parametrize(
    "ask",
    [
        lambda: REPAIRED.but(lock_expiry="never"),
        lambda: design("finding-I+lock_expiry=never"),
        lambda: SLOTS[3].option("never"),
    ],
)
def test_an_unknown_option_is_answered_with_the_options_of_its_slot(ask: object) -> None:
    assert callable(ask)
    with pytest.raises(UnknownDesign) as wrong:
        ask()
    assert str(wrong.value) == (
        "slot lock_expiry has no option 'never'; it has pinned_until_marker, back_to_available, "
        "back_to_acquired, noticed_by_nobody"
    )


@pytest.mark.parametrize("name", ["repaired+lock_expiry", "repaired+", "finding-I+lock_expiry+x=y"])
def test_a_change_that_is_no_slot_and_option_is_answered_with_its_form(name: str) -> None:
    with pytest.raises(UnknownDesign, match="is not of the form slot=option"):
        design(name)
