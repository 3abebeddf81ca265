"""The design lab in a notebook: tables as Markdown, stories in the stepper, nonsense refused."""

from __future__ import annotations

import pytest

import kipviz
from kipviz.views.reports.blocks import keys_of

SMALL = "kip-1289-small"


def test_a_verdict_table_is_markdown_and_opens_what_breaks_where_it_breaks():
    found = kipviz.verdicts(SMALL, ["repaired", "finding-I"])
    assert "| finding-I (our inference) | holds | breaks after 20 |" in found.page()
    stepper = found.open("finding-I")
    assert stepper.step == 20
    assert "no stuck transactions or records" in repr(stepper)


def test_a_study_tells_its_question_and_opens_the_rival_that_breaks():
    found = kipviz.study("B1")
    assert found.page().startswith("## B1. Which marker may resolve")
    assert found.open("repaired+marker_epoch=equal").step == 20


def test_a_design_that_breaks_nothing_has_no_story_and_the_others_are_named():
    found = kipviz.verdicts(SMALL, ["repaired", "finding-I"])
    with pytest.raises(LookupError, match="designs that break: finding-I"):
        found.open("repaired")


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: kipviz.verdicts(SMALL, "repaired"), "designs must be a list of names"),
        (lambda: kipviz.verdicts(SMALL, ["no-such"]), "there is no design 'no-such'"),
        (lambda: kipviz.verdicts("none", ["repaired"]), "there is no scenario 'none'"),
        (lambda: kipviz.verdicts(SMALL, ["repaired"], states_max=0), "states_max must be a whole"),
        (lambda: kipviz.study("B99"), "there is no study 'B99'"),
    ],
)
def test_nonsense_is_refused_in_one_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def test_a_table_of_no_designs_says_that_nothing_was_judged():
    assert repr(kipviz.verdicts(SMALL, [])) == "Nothing was judged.\n"


def test_a_counterexample_opens_where_the_property_breaks_and_says_what_would_have_saved_it():
    found = kipviz.explore(SMALL, "finding-D", "expire_lock=1")
    stepper = found.open("atomic")
    assert stepper.step == 31
    assert "Without step 31 (the lock of src-0@100 expires)" in stepper.payload["title"]
    saves = found.saves("atomic", search=False)
    assert "| lock\\_expiry=pinned\\_until\\_marker |" in repr(saves)
    assert "lock_expiry=pinned_until_marker" in set(keys_of(saves.blocks()))
    other = saves.open()  # the decision that changes least
    assert other.payload["design"]["name"] == "finding-D+lock_expiry=noticed_by_nobody"
    assert "✓ atomic" in repr(other)
    with pytest.raises(LookupError, match=r"those that save it: .*lock_expiry=pinned_until"):
        saves.open("lock_expiry=for_ever")
    asked_of_the_stepper = kipviz.saves(stepper, "atomic")
    assert asked_of_the_stepper.decisions == saves.decisions
