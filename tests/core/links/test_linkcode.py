"""The letters of a permalink."""

from __future__ import annotations

import contextlib
import re
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kipviz.core.links.bits import BitWriter, letters_of
from kipviz.core.links.link import (
    LENGTH_MAX,
    BadLink,
    CursorMark,
    Leg,
    Link,
    LinkStep,
    Part,
    SumOfMarks,
    join_branches,
    link_of,
)
from kipviz.core.links.linkcode import PATTERN, PREFIX, read, write
from tests.core.links.first_format import first_number, first_sealed, first_text, first_written

HEAD = "kip-1289-small.repaired.wA"
MARKS = st.binary(min_size=8, max_size=8)
STEP = st.tuples(st.one_of(st.integers(0, 40), st.text(max_size=9)), MARKS)


@st.composite
def chains(draw):
    """The branches that lead to a line, as `join_branches` leaves them, and a step of the line."""
    legs = [Leg(0, tuple(draw(st.lists(STEP, max_size=40))))]
    for _ in range(draw(st.integers(0, 3))):
        if legs[-1].last - legs[-1].at < 2:
            break
        at = draw(st.integers(legs[-1].at + 1, legs[-1].last - 1))
        legs.append(Leg(at, tuple(draw(st.lists(STEP, min_size=1, max_size=20)))))
    return draw(MARKS), draw(st.integers(0, legs[-1].last)), tuple(legs)


@st.composite
def links(draw):
    return link_of(HEAD, *draw(chains()))


@given(links())
def test_what_is_written_is_read_again(link):
    text = write(link)
    assert re.fullmatch(PATTERN, text)
    assert text.startswith(f"kv2.{HEAD}.")
    assert read(text) == link


@given(st.text(max_size=30), chains(), MARKS)
def test_a_link_of_the_first_format_says_the_same_choices(head, chain, mark):
    start, step, legs = chain
    old = read(first_written(head, start, mark, step, legs))
    new = link_of(HEAD, start, step, legs)
    assert (old.head, old.start, old.step) == (head, new.start, new.step)
    assert old.witness == CursorMark(mark)
    assert [part.at for part in old.parts] == [part.at for part in new.parts]
    for part, leg in zip(old.parts, legs, strict=True):
        assert part.taken == tuple(LinkStep(pick, after[0] >> 4) for pick, after in leg.steps)


def broken_at(text, at, other):
    """A link without its end, without one letter, and with another letter."""
    return text[:at], text[:at] + text[at + 1 :], text[:at] + other + text[at + 1 :]


@given(links(), st.data())
def test_a_link_that_lost_or_changed_a_letter_is_refused(link, data):
    text = write(link)
    at = data.draw(st.integers(len(PREFIX), len(text) - 1))
    other = data.draw(st.sampled_from("Ab3_-").filter(lambda letter: letter != text[at]))
    for broken in broken_at(text, at, other):
        with pytest.raises(BadLink, match="cut off or damaged"):
            read(broken)


@given(chains(), st.data())
def test_a_first_link_that_lost_or_changed_a_letter_is_refused(chain, data):
    start, step, legs = chain
    text = first_written("head", start, bytes(8), step, legs)
    at = data.draw(st.integers(len("kv1."), len(text) - 1))
    other = data.draw(st.sampled_from("Ab3_-").filter(lambda letter: letter != text[at]))
    for broken in broken_at(text, at, other):
        with pytest.raises(BadLink, match="cut off or damaged"):
            read(broken)


def seal(data: bytes, head: str = "h") -> str:
    """A link with these bytes behind its head, and the checksum that fits them."""
    before = f"kv2.{head}"
    whole = zlib.crc32(data, zlib.crc32(before.encode())).to_bytes(4, "big") + data
    return f"{before}.{letters_of(whole)}"


@given(st.binary(max_size=60))
def test_any_bytes_with_a_right_checksum_are_read_or_refused_in_a_sentence(data):
    for text in (seal(data), first_sealed(data)):
        with contextlib.suppress(BadLink):
            assert read(text).parts


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is not a permalink"),
        ("https://example.org/", "is not a permalink"),
        ("kv3.AAAA", "in the format 'kv3.', and this version of kipviz reads 'kv2.' and 'kv1.'"),
        ("kv2.", "cut off or damaged"),
        ("kv2.kip-1289-small.repaired", "cut off or damaged"),
        ("kv2.a.b.AAAAAAA=", "cut off or damaged"),
        ("kv2.a.b.c.é", "cut off or damaged"),
        ("kv2.<script>.b.c.AAAA", "cut off or damaged"),
        ("kv2.a.\udce9.c.AAAA", "cut off or damaged"),
        ("kv1.", "cut off or damaged"),
        ("kv1.A", "cut off or damaged"),
        ("kv1.<script>alert(1)</script>", "cut off or damaged"),
        ("kv1.AAAAAAAA\u2028", "cut off or damaged"),
        ("kv1." + "A" * LENGTH_MAX, "8,004 letters"),
        ("kv2." + "A" * LENGTH_MAX, "8,004 letters"),
    ],
)
def test_what_is_no_link_is_refused_in_one_sentence(text, why):
    with pytest.raises(BadLink, match=re.escape(why)) as refused:
        read(text)
    assert len(str(refused.value)) < 160


def test_a_link_that_a_mail_has_broken_into_lines_is_read():
    link = link_of(HEAD, bytes(8), 2, [Leg(0, ((1, b"a" * 8), (0, b"b" * 8)))])
    text = write(link)
    assert read(f"  {text[:9]}\r\n{text[9:]}\n") == link


def test_a_branch_leaves_the_line_that_has_the_step_it_leaves():
    one = (0, bytes(8))
    main, late, early = Leg(0, (one,) * 5), Leg(4, (one,) * 3), Leg(2, (one,) * 2)
    assert join_branches([main, late]) == (main, late)
    assert join_branches([main, late, early]) == (main, early)
    assert join_branches([main, Leg(5, (one,) * 2)]) == (Leg(0, (one,) * 7),)
    assert join_branches([main, late, Leg(7, (one,))]) == (main, Leg(4, (one,) * 4))


def test_a_step_takes_less_than_a_letter():
    steps = tuple((n % 3, bytes((n % 256,)) * 8) for n in range(3000))
    assert len(write(link_of(HEAD, bytes(8), 0, [Leg(0, steps)]))) < 0.8 * 3000


def test_any_other_world_of_the_line_is_another_sum():
    steps = [(0, bytes((n,)) * 8) for n in range(20)]
    whole = link_of(HEAD, bytes(8), 0, [Leg(0, tuple(steps))])
    for n in range(20):
        changed = [*steps[:n], (0, bytes((n,)) * 7 + b"!"), *steps[n + 1 :]]
        other = link_of(HEAD, bytes(8), 0, [Leg(0, tuple(changed))])
        assert other.parts == whole.parts  # the two bits of the step do not show it
        assert other.witness != whole.witness


# --- fields that cannot be ---------------------------------------------------------------------------


def bits() -> BitWriter:
    """The start and the sum of a link, to which a test adds the rest."""
    return BitWriter().bits(0, 8).bits(5, 32)


def test_a_link_made_by_hand_is_read():
    made = bits().number(0).number(0).number(1).number(0).bits(0, 3).rice(0, 0).bits(2, 2)
    link = read(seal(made.data()))
    assert link == Link("h", 0, 1, (Part(0, (LinkStep(0, 2),)),), SumOfMarks(5))


@pytest.mark.parametrize(
    "made",
    [
        BitWriter().bits(0, 8),
        bits().bits(0, 40),
        bits().number(0).number(1000),
        bits().number(2).number(0).number(1).number(0).bits(0, 3).rice(0, 0).bits(0, 2),
        bits().number(0).number(1).number(2).number(2).number(1).number(0).bits(0, 20),
        bits().number(0).number(0).number(0).number(1).number(0).raw(b"\xff"),
        bits().number(0).number(0).number(1).number(0).bits(0, 3).bits(0x7FFF, 15),
        bits().number(0).number(0).number(1).number(0).bits(7, 3).bits(0, 2),
        bits().number(0).number(0).number(2**32).number(0).bits(0, 3),
        bits().number(0).number(0).number(1).number(0).bits(0, 20),
        bits().number(0).number(0).number(0).number(0).bits(0, 3).bits(1, 2),
    ],
    ids=[
        "no sum",
        "a number without end",
        "more parts than bits",
        "a cursor before the start",
        "a part that begins where the one before ends",
        "an action that is no text",
        "a pick without end",
        "a pick that is cut off",
        "more steps than bits",
        "bytes left over",
        "bits left over",
    ],
)
def test_a_field_that_cannot_be_makes_a_link_a_damaged_one(made):
    with pytest.raises(BadLink, match="cut off or damaged"):
        read(seal(made.data()))


FIRST_HEAD, MARK, ONE_STEP = first_text("h") + b"\x00", bytes(8), b"\x00\x01\x00\x01\x00"


def test_a_first_link_made_by_hand_is_read():
    made = read(first_sealed(FIRST_HEAD, MARK, ONE_STEP, b"\x00\x00"))
    assert made == Link("h", 0, 0, (Part(0, (LinkStep(0, 0),)),), CursorMark(MARK), 4)


@pytest.mark.parametrize(
    "fields",
    [
        (b"\x01\xff",),
        (FIRST_HEAD, MARK, b"\xff\xff\xff\xff\xff"),
        (FIRST_HEAD, MARK, b"\x00\x7f"),
        (FIRST_HEAD, MARK, b"\x00\x00\x00\x00"),
        (FIRST_HEAD, MARK, b"\x00\x01\x01\x01\x00", b"\x00\x00"),
        (FIRST_HEAD, MARK, b"\x02\x01\x00\x01\x00", b"\x00\x00"),
        (FIRST_HEAD, MARK, b"\x00\x02\x00\x02\x02\x01\x00", b"\x00\x00\x00"),
        (FIRST_HEAD, MARK, first_number(0) + b"\x01\x00", first_number(2**31), b"\x00\x00"),
        (FIRST_HEAD, MARK, ONE_STEP, b"\x77\x00"),
        (FIRST_HEAD, MARK, ONE_STEP, b"\x00\xff"),
        (FIRST_HEAD, MARK, ONE_STEP, b"\x00\x00\x00"),
    ],
    ids=[
        "letters that are none",
        "a number without end",
        "more parts than bytes",
        "no part",
        "a first part that begins later",
        "a cursor behind the end",
        "a part that begins where the one before ends",
        "more steps than bits",
        "picks of an unknown width",
        "a pick without end",
        "bytes left over",
    ],
)
def test_a_field_that_cannot_be_makes_a_first_link_a_damaged_one(fields):
    with pytest.raises(BadLink, match="cut off or damaged"):
        read(first_sealed(*fields))
