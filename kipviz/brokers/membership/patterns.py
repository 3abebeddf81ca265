"""Regular expressions that clients send: matched in linear time, as brokers match them.

Kafka compiles them with RE2/J, which takes no expression that needs backtracking (looking around, going back to
a group). RE2 is the same language, so what is refused here is what a broker refuses, and no expression takes
longer than its text and the name that it is matched with are long.

In a browser there is no RE2. Python's own expressions stand in there, without what RE2/J lacks; an expression
that keeps them busy stops with the page's worker.

Source: com.google.re2j.Pattern in TopicRegexResolver, org.apache.kafka.coordinator.group.Utils and
TransactionStateManager.
"""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING or sys.platform != "emscripten":
    import re2

# What Python's expressions have and RE2/J's do not: looking around, and going back to a group.
_NOT_IN_RE2 = re.compile(r"\(\?(?:=|!|<=|<!|P=|\()|\\[1-9]")


class Pattern(Protocol):
    """A compiled expression."""

    def fullmatch(self, text: str) -> object | None:
        """Return something when the whole text matches, else None."""


class BadPattern(ValueError):
    """A text that is no regular expression of RE2."""


@lru_cache(maxsize=256)
def compiled(regex: str) -> Pattern:
    """Compile a regular expression as a broker does.

    Raises:
        BadPattern: if it is none, or needs more memory than RE2 grants.
    """
    if sys.platform == "emscripten":
        return _compiled_in_a_browser(regex)
    options = re2.Options()
    options.log_errors = False
    try:
        pattern: Pattern = re2.compile(regex, options)
    except re2.error as wrong:
        raise BadPattern(str(wrong)) from None
    return pattern


def _compiled_in_a_browser(regex: str) -> Pattern:
    if _NOT_IN_RE2.search(regex) is not None:
        raise BadPattern("RE2 has no look-around and no back-references")
    try:
        return re.compile(regex)
    except re.error as wrong:
        raise BadPattern(str(wrong)) from None
