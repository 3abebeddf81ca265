"""Regular expressions from clients, matched in linear time as brokers match them.

Kafka compiles them with RE2/J, which rejects expressions that need backtracking (lookaround, backreferences). RE2 has
the same language, so this rejects what a broker rejects, and a match takes time linear in the lengths of the expression
and of the name.

RE2 is the part `regex` of the package. It is imported when the first expression arrives. Where it is not installed,
there is no substitute: the expression is rejected with one sentence that names the part. Only a browser, for which
there is no RE2, uses Python's own expressions, without what RE2/J lacks; one that runs too long stops with the page's
worker.

Source: com.google.re2j.Pattern in TopicRegexResolver, org.apache.kafka.coordinator.group.Utils and
TransactionStateManager.
"""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from typing import Protocol

from kipviz.core.outside.optional_parts import missing_part

# What Python's expressions have and RE2/J's lack: lookaround and backreferences.
_NOT_IN_RE2 = re.compile(r"\(\?(?:=|!|<=|<!|P=|\()|\\[1-9]")


class Pattern(Protocol):
    """A compiled expression."""

    def fullmatch(self, text: str) -> object | None:
        """Return a match if the whole text matches, else None."""


class BadPattern(ValueError):
    """A text that is not a valid regular expression of RE2."""


@lru_cache(maxsize=256)
def compile_pattern(regex: str) -> Pattern:
    """Compile a regular expression as a broker does.

    Raises:
        BadPattern: if it is not valid, or needs more memory than RE2 allows.
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
