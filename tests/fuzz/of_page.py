"""A target that hears what a page says: values that it sets, wishes, and messages for files."""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path
from typing import Any

from kipviz.widgets.lab import open_run
from kipviz.widgets.stepping.stepper import Stepper
from tests.fuzz.corpus import PLACE
from tests.fuzz.fuzzing import Target
from tests.fuzz.mutation import as_json, of_json

STORY = "pain-vanished"


@cache
def _read_messages() -> list[Any]:
    return [
        json.loads(line) for line in (PLACE / "page.jsonl").read_text(encoding="utf-8").splitlines()
    ]


def _messages(dice: random.Random) -> bytes:
    said = [dice.choice(_read_messages()) for _ in range(dice.choice((1, 2, 4)))]
    return as_json([of_json(one, dice) if dice.randrange(4) else one for one in said])


def hear(stepper: Stepper, message: Any) -> None:
    """Give a widget a message as Jupyter does."""
    stepper._handle_msg({"content": {"data": message}, "buffers": []})


def _hear(data: bytes, _: Path) -> object:
    stepper = open_run(STORY)
    for message in json.loads(data):
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            continue  # Jupyter itself sends no such thing
        if message["method"] == "update" and not isinstance(message.get("state", {}), dict):
            continue
        message.pop("buffer_paths", None)
        hear(stepper, message)
    # It still does what it is there for.
    said = (
        repr(stepper),
        stepper.text(),
        stepper.permalink(),
        stepper.holds_back(),
        stepper.steps(),
    )
    stepper.branch, stepper.step = 0, 3
    stepper.run_on(seed=1, steps=2)
    stepper.branch = 0
    return said


TARGETS = (Target("page", "what a page says to the kernel", _messages, _hear, (), 25),)
