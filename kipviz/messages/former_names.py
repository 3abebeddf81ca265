"""Names that messages had before: a script that was stored with one of them gets a sentence about it."""

from __future__ import annotations

import re

FORMER_NAMES = {
    "InitProducerId2Pc": "InitProducerId",
    "InitProducerId2PcResponse": "InitProducerIdResponse",
}
"""The names that messages have now, by the names that they had."""


def validate_message_names(words: str) -> None:
    """Reject words of a script that name a message as it was called before.

    They are not read as the new name: that may also be the name of other messages, and then the script would do
    something else.

    Raises:
        ValueError: the message says what the name is now.
    """
    for name in re.findall(r"\w+", words):
        if name in FORMER_NAMES:
            raise ValueError(
                f"no message is called {name} any more: it is {FORMER_NAMES[name]}, whose version says which fields it has"
            )
