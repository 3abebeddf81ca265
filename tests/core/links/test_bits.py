"""Numbers, texts and bytes as bits in a row."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kipviz.core.links.bits import BadBits, BitReader, BitWriter, bytes_of, letters_of


@given(st.lists(st.integers(0, 2**32 - 1)), st.integers(0, 7), st.text(), st.binary())
def test_what_is_written_is_read_in_the_same_order(numbers, low, text, data):
    out = BitWriter().text(text)
    for number in numbers:
        out.number(number).rice(number % 1000, low)
    found = BitReader(out.raw(data).data())
    assert found.text() == text
    for number in numbers:
        assert (found.number(), found.rice(low)) == (number, number % 1000)
    assert found.raw() == data
    found.end()


def test_small_numbers_take_few_bits():
    sizes = [8 * len(BitWriter().number(n).bits(0, 7).data()) // 8 for n in (0, 1, 6, 7)]
    assert sizes == [1, 2, 2, 2]
    # Elias's gamma code of n + 1: 1, 010, 011, 00100.
    assert BitWriter().number(0).number(1).number(2).number(3).data() == bytes(
        [0b10100110, 0b01000000]
    )


@given(st.binary(min_size=1))
def test_letters_are_those_of_exactly_one_sequence_of_bytes(data):
    assert bytes_of(letters_of(data)) == data


@pytest.mark.parametrize("letters", ["", "A", "AAAAA", "AB", "AA==", "A A", "A\n", "Ä", "+/"])
def test_other_letters_are_refused(letters):
    with pytest.raises(BadBits):
        bytes_of(letters)


def test_bits_that_end_too_early_or_late_are_refused():
    for read in (BitReader.number, BitReader.text, lambda bits: bits.bits(1), lambda b: b.rice(0)):
        with pytest.raises(BadBits):
            read(BitReader(b""))
    with pytest.raises(BadBits, match="too large"):
        BitReader(bytes(5) + b"\xff" * 8).number()
    for left in (b"\x00", b"\x01"):
        with pytest.raises(BadBits, match="left over"):
            BitReader(left).end()
