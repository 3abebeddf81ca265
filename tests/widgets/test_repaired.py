"""A repair in a notebook: its decisions, its table, and the runs that it opens."""

from __future__ import annotations

import pytest

import kipviz


@pytest.fixture(scope="module")
def mended():
    return kipviz.repair("kip-1289-small", "finding-D", faults="expire_lock=1")


def test_a_set_that_does_not_repair_opens_where_it_breaks(mended):
    assert mended.decisions == (("lock_expiry",),)
    stepper = mended.open()
    assert stepper.step == stepper.last_step == mended.found.attempts[0].step
    assert mended.open_run("0").step == stepper.step


def test_what_repairs_and_what_was_not_tried_open_nothing(mended):
    with pytest.raises(LookupError, match="nothing breaks under"):
        mended.open("lock_expiry")
    with pytest.raises(LookupError, match="was not tried; decisions are lock_expiry"):
        mended.open("marker_epoch")


def test_its_page_is_a_table_with_the_answer_above(mended):
    page = mended.page()
    assert "repairs finding-D" in page
    assert "| none |" in page
