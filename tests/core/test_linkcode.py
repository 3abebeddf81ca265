"""The letters of a permalink."""

from __future__ import annotations

import base64
import contextlib
import re
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kipviz.core.linkcode import (
    LENGTH_MAX,
    PREFIX,
    BadLink,
    Link,
    Part,
    Taken,
    joined,
    read,
    write,
)

TAKEN = st.builds(Taken, st.one_of(st.integers(0, 40), st.text(max_size=9)), st.integers(0, 15))


@st.composite
def links(draw):
    parts = [Part(0, tuple(draw(st.lists(TAKEN, max_size=40))))]
    for _ in range(draw(st.integers(0, 3))):
        if parts[-1].last - parts[-1].at < 2:
            break
        at = draw(st.integers(parts[-1].at + 1, parts[-1].last - 1))
        parts.append(Part(at, tuple(draw(st.lists(TAKEN, min_size=1, max_size=20)))))
    step = draw(st.integers(0, parts[-1].last))
    mark = draw(st.binary(min_size=8, max_size=8))
    return Link(draw(st.text(max_size=30)), draw(st.integers(0, 255)), mark, step, tuple(parts))


@given(links())
def test_what_is_written_is_read_again(link):
    taken = [step for part in link.parts for step in part.taken]
    text = write(link)
    assert re.fullmatch(r"kv1\.[A-Za-z0-9_-]+", text)
    back = read(text)
    # A choice that is written out has the same place among all steps.
    assert back == link
    assert len(taken) == sum(len(part.taken) for part in back.parts)


@given(links(), st.data())
def test_a_link_that_lost_or_changed_a_letter_is_refused(link, data):
    text = write(link)
    at = data.draw(st.integers(len(PREFIX), len(text) - 1))
    other = data.draw(st.sampled_from("Ab3_-").filter(lambda letter: letter != text[at]))
    for broken in (text[:at], text[:at] + text[at + 1 :], text[:at] + other + text[at + 1 :]):
        if at == len(text) - 1 and len(broken) == len(text):
            continue  # the last letter has bits that stand for nothing
        with pytest.raises(BadLink) as refused:
            read(broken)
        assert "\n" not in str(refused.value)


@given(st.binary(max_size=60))
def test_any_bytes_with_a_right_checksum_are_read_or_refused_in_a_sentence(data):
    whole = zlib.crc32(data).to_bytes(4, "big") + data
    text = PREFIX + base64.urlsafe_b64encode(whole).decode().rstrip("=")
    with contextlib.suppress(BadLink):
        assert read(text).parts


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is no permalink"),
        ("https://example.org/", "is no permalink"),
        ("kv2.AAAA", "in the format 'kv2.'"),
        ("kv1.", "cut off or damaged"),
        ("kv1.A", "cut off or damaged"),
        ("kv1.<script>alert(1)</script>", "cut off or damaged"),
        ("kv1.AAAAAAAA\u2028", "cut off or damaged"),
        ("kv1." + "A" * LENGTH_MAX, "8,004 letters"),
    ],
)
def test_what_is_no_link_is_refused_in_one_sentence(text, why):
    with pytest.raises(BadLink, match=re.escape(why)) as refused:
        read(text)
    assert len(str(refused.value)) < 160


def test_a_link_that_a_mail_has_broken_into_lines_is_read():
    link = Link("head", 7, bytes(8), 2, (Part(0, (Taken(1, 2), Taken(0, 3))),))
    text = write(link)
    assert read(f"  {text[:9]}\r\n{text[9:]}\n") == link


def test_a_branch_leaves_the_line_that_has_the_step_it_leaves():
    one = Taken(0, 0)
    main, late, early = Part(0, (one,) * 5), Part(4, (one,) * 3), Part(2, (one,) * 2)
    assert joined([main, late]) == (main, late)
    assert joined([main, late, early]) == (main, early)
    assert joined([main, Part(5, (one,) * 2)]) == (Part(0, (one,) * 7),)
    assert joined([main, late, Part(7, (one,))]) == (main, Part(4, (one,) * 4))


def test_a_step_takes_about_one_letter():
    steps = tuple(Taken(n % 3, n % 16) for n in range(3000))
    assert len(write(Link("", 0, bytes(8), 0, (Part(0, steps),)))) < 1.4 * 3000


def sealed(*fields: bytes) -> str:
    """A link with these fields and the checksum that fits them."""
    body = b"".join(fields)
    whole = zlib.crc32(body).to_bytes(4, "big") + body
    return PREFIX + base64.urlsafe_b64encode(whole).decode().rstrip("=")


HEAD, MARK, ONE_STEP = b"\x01h\x00", bytes(8), b"\x00\x01\x00\x01\x00"


def test_a_link_made_by_hand_is_read():
    assert read(sealed(HEAD, MARK, ONE_STEP, b"\x00\x00")).parts == (Part(0, (Taken(0, 0),)),)


@pytest.mark.parametrize(
    "fields",
    [
        (b"\x01\xff",),
        (HEAD, MARK, b"\xff\xff\xff\xff\xff"),
        (HEAD, MARK, b"\x00\x7f"),
        (HEAD, MARK, b"\x00\x00\x00\x00"),
        (HEAD, MARK, b"\x00\x01\x01\x01\x00", b"\x00\x00"),
        (HEAD, MARK, b"\x02\x01\x00\x01\x00", b"\x00\x00"),
        (HEAD, MARK, b"\x00\x02\x00\x02\x02\x01\x00", b"\x00\x00\x00"),
        (HEAD, MARK, ONE_STEP, b"\x77\x00"),
        (HEAD, MARK, ONE_STEP, b"\x00\xff"),
        (HEAD, MARK, ONE_STEP, b"\x00\x00\x00"),
    ],
    ids=[
        "letters that are none",
        "a number without end",
        "more parts than bytes",
        "no part",
        "a first part that begins later",
        "a cursor behind the end",
        "a part that begins where the one before ends",
        "picks of an unknown width",
        "a pick without end",
        "bytes left over",
    ],
)
def test_a_field_that_cannot_be_makes_a_link_a_damaged_one(fields):
    with pytest.raises(BadLink, match="cut off or damaged"):
        read(sealed(*fields))
