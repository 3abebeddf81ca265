"""Text of a file, a log or a command line, made safe for a terminal.

Names and values may come from a recorded log or from another person's file, and a terminal interprets some characters as
commands: they would move the cursor, hide text or set the window's title.
"""

from __future__ import annotations

SENTENCE_MAX = 2_000


def escape_line(line: str) -> str:
    """Return a line in which every unprintable character is written as an escape."""
    if line.isprintable():
        return line
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)


def sentence(text: str) -> str:
    """Return a message as one line of readable length, without unprintable characters."""
    line = escape_line(" ".join(text.split()))
    return line if len(line) <= SENTENCE_MAX else f"{line[:SENTENCE_MAX]}…"


def complete_sentence(message: str) -> str:
    """Return a clause, such as an error's message, as a sentence: with a capital, unless a name is first, and a full stop."""
    first = message.partition(" ")[0]
    is_word = first.rstrip(",;:").isalpha() and first.islower()
    begin = first.capitalize() if is_word else first
    end = "" if message.endswith((".", "!", "?", "…")) else "."
    return f"{begin}{message[len(first) :]}{end}"


def several(text: str) -> str:
    """Return lines of text, each as `escape_line` returns it."""
    return "\n".join(map(escape_line, text.split("\n")))
