"""Clients' regular expressions: what RE2 takes, in time that grows with the text alone."""

from __future__ import annotations

import re
import sys

import pytest

from kipviz.brokers.membership import patterns
from kipviz.brokers.membership.patterns import BadPattern, compile_pattern
from kipviz.core.outside.optional_parts import MissingPart


@pytest.mark.parametrize(
    ("regex", "text", "fits"),
    [
        ("o?src", "src", True),
        ("o?src", "osrc2", False),
        ("orders-.*", "orders-eu", True),
        ("(?i)ORDERS", "orders", True),
        (r"\pL+", "größe", True),
        ("a{2,3}", "aa", True),
        ("a|b", "c", False),
    ],
)
def test_an_expression_matches_a_whole_name(regex: str, text: str, *, fits: bool) -> None:
    assert (compile_pattern(regex).fullmatch(text) is not None) is fits


@pytest.mark.parametrize(
    "regex", ["(", "[", "a**b(", "(?=a)b", "(?<!a)b", r"(a)\1", "(?P=name)", "a{1001}", "\\"]
)
def test_what_re2_does_not_take_is_no_pattern(regex: str) -> None:
    with pytest.raises(BadPattern):
        compile_pattern(regex)


@pytest.mark.parametrize("regex", ["(a+)+b", "(a|a)*b", "(a|aa)+b", "(.*a){20}b"])
def test_an_expression_that_keeps_a_backtracking_engine_busy_is_answered(regex: str) -> None:
    """With backtracking none of these would end: each further letter doubles the work."""
    assert compile_pattern(regex).fullmatch("a" * 5_000) is None


def test_without_re2_an_expression_is_refused_in_one_sentence_and_nothing_stands_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    compile_pattern.cache_clear()
    for _ in range(2):  # the refusal is not remembered, an expression is
        with pytest.raises(
            MissingPart,
            match=r"^a client's regular expression needs the package google-re2, which is not installed; "
            r"install it with: pip install 'kipviz\[regex\]'$",
        ):
            compile_pattern("o?src")
    monkeypatch.undo()
    assert compile_pattern("o?src").fullmatch("src")


def test_in_a_browser_pythons_expressions_stand_in_without_what_re2_lacks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(patterns.sys, "platform", "emscripten")
    compile_pattern.cache_clear()
    assert compile_pattern("o?src").fullmatch("src")
    for regex in ("(?=a)b", r"(a)\1", "("):
        with pytest.raises(BadPattern):
            compile_pattern(regex)
    compile_pattern.cache_clear()


def test_an_expression_that_is_none_is_told_once_and_printed_nowhere(capfd) -> None:
    with pytest.raises(BadPattern):
        compile_pattern("(unique-to-this-test")
    assert tuple(capfd.readouterr()) == ("", "")


def test_only_in_a_browser_python_s_own_expressions_are_compiled(monkeypatch) -> None:
    """They take time that grows exponentially; RE2/J does not (TopicRegexResolver)."""
    monkeypatch.setattr(sys, "platform", "emscripten")
    assert isinstance(compile_pattern.__wrapped__("o?src"), re.Pattern)
    monkeypatch.setattr(sys, "platform", "linux")
    assert not isinstance(compile_pattern.__wrapped__("o?src"), re.Pattern)
