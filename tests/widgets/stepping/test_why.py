"""Why, asked in Python: who made a value so, what led to a step, what stands still."""

from __future__ import annotations

import pytest

from kipviz.widgets.lab import open_run
from kipviz.widgets.stepping.stepper import Stepper
from tests.widgets import flow

STUCK = "kip-98-stuck-lso"
TXN = "transaction:my-txn"


def at_end(name: str) -> Stepper:
    return open_run(name).last()


def test_a_value_says_since_when_it_is_so_and_which_steps_made_it_so() -> None:
    told = at_end("kip-1289-group-commit").why(TXN, "state").splitlines()
    assert told[0].startswith("my-txn, state: COMPLETE_COMMIT, since step ")
    since = int(told[0].rpartition(" ")[2])
    assert told[1].startswith(f"{since} ")
    assert told[2].endswith(": sent its message")
    assert told[-1].split(" ", 1)[1].startswith("initTransactions()")


def test_a_record_of_a_share_partition_is_named_as_people_name_it() -> None:
    stepper = at_end("kip-1289-lock-expiry")
    card = next(head["id"] for head in stepper.payload["cards"] if head["id"].startswith("share:"))
    row = next(r["id"] for r in stepper.payload["rows"] if r["card"] == card and "100" in r["id"])
    stepper.go_to("poll() returns")
    told = stepper.why("src-0 for g1", row)
    assert told == stepper.why(card, row)
    assert told.startswith("src-0@100 for g1: ")


def test_the_value_that_was_chosen_on_the_page_is_meant_when_none_is_named() -> None:
    stepper = at_end(STUCK)
    with pytest.raises(ValueError, match=r"^no value is chosen: click one, or name it"):
        stepper.why()
    stepper.selection = {"kind": "value", "id": f"{TXN} state", "card": TXN, "row": "state"}
    assert stepper.why() == stepper.why(TXN, "state")


def test_a_card_and_a_row_that_there_are_not_are_refused_with_those_that_there_are() -> None:
    stepper = at_end(STUCK)
    with pytest.raises(ValueError, match=rf"^there is no card 'x' at step \d+; there are: .*{TXN}"):
        stepper.why("x", "state")
    with pytest.raises(ValueError, match=rf"^{TXN} has no row 'x' at step \d+; it has: .*state"):
        stepper.why(TXN, "x")


def test_the_causes_of_a_step_are_earlier_steps_its_main_one_first() -> None:
    stepper = open_run("kip-1289-share-commit").go_to("EndTxn arrives at B1")
    (sent, title, words), *others = stepper.causes()
    assert (title, words) == ("producer sends EndTxn", "sent its message")
    assert sent < stepper.step
    assert others
    assert stepper.causes(0) == ()
    with pytest.raises(ValueError, match=r"^there is no step 99 on this line: it has 0 to 42"):
        stepper.causes(99)


def test_what_holds_the_lso_back_is_said_once_and_the_rest_waits_for_that() -> None:
    main, txn, reader = at_end(STUCK).holds_back()
    assert main.startswith("needs an action: The last stable offset of output-A-0 stays at 0")
    assert "app-1 is down and will do neither. Way out: transaction.timeout.ms (60 s)" in main
    assert txn == (
        "needs an action: my-txn stays ONGOING. Way out: what frees the LSO of output-A-0."
    )
    assert reader.startswith("needs an action: reader waits in poll().")
    assert reader.endswith("Way out: what frees the LSO of output-A-0.")
    assert len(reader) < 260


def test_a_branch_says_why_of_its_own_steps_and_of_what_it_took_over() -> None:
    stepper = at_end(STUCK)
    before = stepper.holds_back()
    stepper.take("my-txn times out").last()
    assert stepper.branch == 1
    told = stepper.why(TXN, "state").splitlines()
    assert "my-txn times out" in "\n".join(told)
    assert not any("LSO" in sentence for sentence in stepper.holds_back())
    stepper.step = stepper.known_branches[0]["at"]
    assert stepper.holds_back() == before


def test_a_run_without_causes_and_holds_says_nothing_stands_still() -> None:
    stepper = Stepper(flow.share_payload())
    stepper.step = 5
    assert stepper.holds_back() == ()
    assert stepper.causes() == ()
