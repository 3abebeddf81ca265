"""What is put right of a damaged file: every single bit, and every line that is whole."""

from __future__ import annotations

import random

import pytest

from kipviz.core.traces.trace_repair import checks_of, end_of, lines_in

LINES = [b'{"format":"x"}', b"", b'{"parent":0,"action":{"class":"Abort"}}', b"*", b'{"parent":1}']
BODY = b"".join(line + b"\n" for line in LINES)
END = b'{"end":4,"*":"J"}'  # with signs that are one bit away from the end of a line


def flips(data):
    for at in range(len(data)):
        for bit in range(8):
            made = bytearray(data)
            made[at] ^= 1 << bit
            yield bytes(made)


def test_whole_lines_are_found_as_they_are():
    assert lines_in(BODY, checks_of(BODY)) == LINES
    assert end_of(BODY + END + b"\n", END.__eq__) == (BODY, END)


def test_each_single_bit_of_the_lines_is_put_right():
    checks = checks_of(BODY)
    for damaged in flips(BODY):
        assert lines_in(damaged, checks) == LINES, damaged


def test_each_single_bit_of_the_end_is_put_right_or_is_one_of_the_lines_before_it():
    data = BODY + END + b"\n"
    for number, damaged in enumerate(flips(data)):
        body, end = end_of(damaged, END.__eq__)
        assert end == END
        # The end of the last line before it is a part of both.
        assert body == BODY or number < 8 * len(BODY), damaged
        assert lines_in(body, checks_of(BODY)) == LINES


@pytest.mark.parametrize("seed", range(40))
def test_of_any_damage_only_whole_lines_come_back_and_all_in_their_places(seed):
    dice = random.Random(seed)
    lines = [b"line %d of many, %d" % (n, dice.randrange(1_000)) for n in range(30)]
    body = b"".join(line + b"\n" for line in lines)
    at, size = dice.randrange(len(body)), dice.randrange(2, 120)
    damaged = body[:at] + dice.randbytes(dice.choice((0, size))) + body[at + size :]
    found = lines_in(damaged, checks_of(body))
    assert len(found) == len(lines)
    assert all(one in (None, other) for one, other in zip(found, lines, strict=True))
    touched = 2 + body[at : at + size].count(b"\n")
    assert found.count(None) <= touched


def test_what_has_no_end_at_all_has_none():
    assert end_of(b"", END.__eq__) is None
    assert end_of(b"\n", END.__eq__) is None
    assert lines_in(b"", checks_of(BODY)) == [None] * 5


def test_a_line_that_is_too_long_to_be_tried_is_read_as_long_as_it_is_whole():
    lines = [b"a" * 100_000, b"b", b"c"]
    body = b"".join(line + b"\n" for line in lines)
    checks = checks_of(body)
    assert lines_in(body, checks) == lines
    damaged = b"x" + body[1:]
    assert lines_in(damaged, checks) == [None, b"b", b"c"]
