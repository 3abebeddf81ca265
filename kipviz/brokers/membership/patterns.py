"""Regular expressions that clients send: matched in linear time, as brokers match them.

Kafka compiles them with RE2/J, which takes no expression that needs backtracking (looking around, going back to
a group). RE2 is the same language, so what is refused here is what a broker refuses, and no expression takes
longer than its text and the name that it is matched with are long.

RE2 is the part `regex` of the package. It is imported when the first expression comes, and where it is not installed
nothing stands in for it: the expression is refused in one sentence that names the part. Only a browser, for which there is
no RE2, takes Python's own expressions without what RE2/J lacks; one that keeps them busy stops with the page's worker.

Source: com.google.re2j.Pattern in TopicRegexResolver, org.apache.kafka.coordinator.group.Utils and
TransactionStateManager.
"""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from typing import Protocol

from kipviz.core.optional_parts import missing_part

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
        MissingPart: if RE2 is not installed.
    """
    if sys.platform == "emscripten":
        return _compiled_in_a_browser(regex)
    try:
        import re2
    except ModuleNotFoundError as error:
        raise missing_part("a client's regular expression", error) or error from None
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
