"""What reaches a terminal: words to read, whatever the names in a file are."""

import pytest

from kipviz.command.output import answer
from kipviz.core.outside.printable import escape_line


@pytest.mark.parametrize(
    ("hostile", "words"),
    [
        ("my-txn\x1b[2J", r"my-txn\x1b[2J"),
        ("a\x07b\x00c", r"a\x07b\x00c"),
        ("one\rtwo\ntwo", r"one\rtwo\ntwo"),
        ("\u202etxt.exe", r"\u202etxt.exe"),
        ("\ud800", r"\ud800"),
    ],
)
def test_what_a_terminal_would_take_for_a_command_is_written_out(hostile, words, capsys):
    assert escape_line(hostile) == words
    answer({}, [hostile], as_json=False)
    assert capsys.readouterr().out == words + "\n"


def test_words_of_any_language_and_signs_of_print_stay_as_they_are():
    line = "✓ atomic … Größe 交易 — “branch” ×2"
    assert escape_line(line) == line


def test_markup_is_only_text_there():
    line = "<script>alert(1)</script> & 'quotes' \"too\""
    assert escape_line(line) == line
