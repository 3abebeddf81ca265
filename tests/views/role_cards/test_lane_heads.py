"""What the heads of lanes say while a leadership is elsewhere, a host is down and a client is fenced."""

from __future__ import annotations

from kipviz.widgets.lab import open_run
from kipviz.widgets.stepping.sharing import whole


def spans(payload, lane):
    return [(h["mark"], h["sub"]) for h in payload["heads"] if h["lane"] == lane]


def test_a_broker_that_is_down_leads_nothing_and_another_leads_what_it_led():
    payload = open_run("kip-98-split-network", "kafka").payload
    assert spans(payload, "B1") == [("crashed", "")]
    assert spans(payload, "B5") == [("", "src-0, transactions-45")]
    assert spans(payload, "B3") == []


def test_a_cut_between_sets_is_every_pair_that_stands_apart_until_it_is_healed():
    payload = open_run("kip-98-split-network", "kafka").payload
    pairs = {(c["one"], c["other"]) for c in payload["cuts"]}
    assert pairs == {(one, other) for one in ("B1", "B5", "app-1") for other in ("B3", "B4")}
    healed = {c["to"] for c in payload["cuts"]}
    assert len(healed) == 1
    assert None not in healed


def test_a_producer_that_a_newer_one_has_fenced_is_marked():
    payload = open_run("kip-98-zombie", "kafka").payload
    assert spans(payload, "app-1") == [("fenced", "my-txn · C1")]
    assert spans(payload, "app-2") == []


def test_a_branch_before_the_crash_has_no_crash_and_a_branch_behind_it_inherits_it():
    stepper = open_run("kip-98-split-network", "kafka")
    crash = stepper.payload["downs"][0]["from"]
    stepper.step = crash - 1
    stepper.take("app-1 crashes")
    before = whole(stepper.payload, stepper.branches, stepper.branches[-1]["id"])
    assert [h["mark"] for h in before["heads"] if h["lane"] == "B1"] == []
    stepper.branch, stepper.step = 0, crash + 1
    stepper.take("app-1 crashes")
    behind = whole(stepper.payload, stepper.branches, stepper.branches[-1]["id"])
    assert "crashed" in [h["mark"] for h in behind["heads"] if h["lane"] == "B1"]
    assert "crashed" in [h["mark"] for h in behind["heads"] if h["lane"] == "app-1"]
