"""The bytes of a message, asked of a stepper."""

from __future__ import annotations

import pytest

import kipviz
from kipviz.widgets.pages.payload import read
from kipviz.widgets.stepping.stepper import Stepper
from tests.widgets import flow

STORY = "kip-1289-share-commit"


def id_of(stepper: Stepper, label: str) -> str:
    found: str = next(m["id"] for m in stepper.payload["messages"] if m["label"] == label)
    return found


def test_the_bytes_of_the_chosen_message_are_given_to_print() -> None:
    stepper = kipviz.open(STORY)
    stepper.selection = {"kind": "message", "id": id_of(stepper, "EndTxn COMMIT")}
    text = stepper.bytes()
    assert text.startswith("EndTxnRequest · key 26, version 5 · 48 bytes\n")
    assert stepper.bytes(id_of(stepper, "Produce")).startswith("ProduceRequest")


def test_a_branch_has_the_bytes_of_its_own_messages_and_of_those_before() -> None:
    stepper = kipviz.open(STORY)
    first = id_of(stepper, "InitProducerId")
    before = stepper.bytes(first)
    stepper.step = 20
    stepper.take(next(choice for choice in stepper.possible() if "is disconnected" in choice))
    assert stepper.branch != 0
    assert stepper.bytes(first) == before
    last = stepper.branches[-1]["messages"][-1]
    assert last["sent"] > 20
    assert stepper.bytes(last["id"]).count("\n") > 5


def test_a_message_that_the_line_does_not_have_is_refused_in_one_sentence() -> None:
    stepper = kipviz.open(STORY)
    with pytest.raises(ValueError, match=r"^there is no message 'm99' on this line$"):
        stepper.bytes("m99")
    with pytest.raises(ValueError, match=r"^no message is chosen: click one, or name it"):
        stepper.bytes()


def test_a_payload_without_bytes_is_still_shown() -> None:
    payload = flow.share_payload()
    read(payload)
    message = payload["messages"][0]["id"]
    with pytest.raises(ValueError, match=rf"^no bytes are recorded for message '{message}'"):
        Stepper(payload).bytes(message)


def test_a_shape_that_there_is_not_is_refused() -> None:
    payload = flow.share_payload()
    payload["messages"][0]["bytes"] = ["no-such-shape", "00"]
    with pytest.raises(ValueError, match="there is no shape 'no-such-shape'"):
        read(payload)
