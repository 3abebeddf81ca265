"""An error's message where it stands alone: a sentence."""

from __future__ import annotations

import pytest

from kipviz.core.outside.printable import complete_sentence


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        ("there is no branch 9; there are 0, 1", "There is no branch 9; there are 0, 1."),
        ("stopped; nothing was changed", "Stopped; nothing was changed."),
        ("max.block.ms must be a whole number", "max.block.ms must be a whole number."),
        ("app-1 is down", "app-1 is down."),
        ("'x' is no action", "'x' is no action."),
        ("ACLs are given", "ACLs are given."),
        ("The file is empty.", "The file is empty."),
        ("did you mean 'B1'?", "Did you mean 'B1'?"),
    ],
)
def test_a_message_that_stands_alone_begins_and_ends_as_a_sentence(message, sentence):
    assert complete_sentence(message) == sentence
