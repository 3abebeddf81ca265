"""How partitions are shared out among members who do not all want the same."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kipviz.records.balance import balance_partitions

PARTITIONS = ("a-0", "a-1", "a-2", "b-0", "b-1", "c-0")
MEMBERS = ("m1", "m2", "m3")
TOPICS = st.lists(st.sampled_from(("a", "b", "c")), unique=True).map(tuple)


@given(
    st.fixed_dictionaries(dict.fromkeys(MEMBERS, TOPICS)),
    st.fixed_dictionaries(
        dict.fromkeys(MEMBERS, st.lists(st.sampled_from(PARTITIONS), unique=True).map(tuple))
    ),
)
def test_everybody_gets_of_its_topics_and_no_move_would_make_it_more_even(topics, had):
    shares = balance_partitions(PARTITIONS, topics, had)
    given_out = sorted(p for mine in shares.values() for p in mine)
    wanted = {topic for mine in topics.values() for topic in mine}
    assert given_out == [p for p in PARTITIONS if p[0] in wanted]
    for name, mine in shares.items():
        assert all(p[0] in topics[name] for p in mine)
        for other in MEMBERS:
            could = any(p[0] in topics[other] for p in mine)
            assert not could or len(mine) - len(shares[other]) <= 1


def test_who_has_a_partition_keeps_it_while_that_is_even():
    topics = {"m1": ("a", "b"), "m2": ("a",)}
    had = {"m1": ("a-2", "b-0", "b-1"), "m2": ("a-0", "a-1")}
    assert balance_partitions(PARTITIONS[:5], topics, had) == {
        "m1": ("a-2", "b-0", "b-1"),
        "m2": ("a-0", "a-1"),
    }


def test_of_two_that_say_that_they_have_it_one_keeps_it():
    topics = {"m1": ("a",), "m2": ("a", "c")}
    had = {"m1": ("a-0",), "m2": ("a-0",)}
    assert balance_partitions(("a-0", "c-0"), topics, had) == {"m1": ("a-0",), "m2": ("c-0",)}


def test_what_nobody_wants_stays_nobodys():
    assert balance_partitions(("a-0", "b-0"), {"m1": ("a",)}, {}) == {"m1": ("a-0",)}
