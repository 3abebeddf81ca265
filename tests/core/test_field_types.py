"""What stands in the fields of a value has the types that its class says, or a sentence says where it has not."""

from enum import Enum

import pytest

from kipviz.core.field_types import why_no_value, why_not_as_declared
from kipviz.core.values import Value


class Colour(Enum):
    RED = "red"


class Inner(Value, frozen=True):
    number: int
    colour: Colour = Colour.RED


class Outer(Value, frozen=True):
    name: str
    inner: Inner | None = None
    several: tuple[Inner, ...] = ()
    pair: tuple[int, str] = (0, "")
    flag: bool = False


GOOD = Outer("a", Inner(1), (Inner(2), Inner(3)), (4, "b"), flag=True)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (GOOD.but(name=7), "it.name must be a text, not 7"),
        (GOOD.but(name=None), "it.name must be a text, not None"),
        (GOOD.but(flag=1), "it.flag must be True or False, not 1"),
        (
            GOOD.but(inner={"number": 1}),
            "it.inner must be a value of the class Inner or None, not {'number': 1}",
        ),
        (GOOD.but(inner=Inner(True)), "it.inner.number must be a whole number, not True"),
        (GOOD.but(inner=Inner(1, "red")), "it.inner.colour must be a member of Colour, not 'red'"),
        (
            GOOD.but(several=[Inner(1)]),
            "it.several must be a tuple, not [Inner(number=1, colour=<Colour.",
        ),
        (GOOD.but(several=(Inner("x"),)), "it.several[0].number must be a whole number, not 'x'"),
        (GOOD.but(pair=(1,)), "it.pair must have 2 items, not 1"),
        (GOOD.but(pair=(1, 2)), "it.pair[1] must be a text, not 2"),
        (
            GOOD.but(pair=(2**64, "")),
            "it.pair[0] must be a whole number of at most 64 bits, not 18446",
        ),
        (
            GOOD.but(inner=Inner(-(10**5_000))),
            "it.inner.number must be a whole number of at most 64 bits, not a number of thousands of digits",
        ),
        ("a", "it must be a value of the class Outer, not 'a'"),
        (
            GOOD.but(name=10**5_000),
            "it.name must be a text, not a number of thousands of digits",
        ),
    ],
)
def test_a_field_of_another_type_is_named_with_what_it_has_to_be(wrong, sentence):
    assert why_not_as_declared(GOOD, Outer, "it") == why_no_value(GOOD, Outer, "it") == ""
    assert why_not_as_declared(wrong, Outer, "it").startswith(sentence)
    assert why_no_value(wrong, Outer, "it").startswith(sentence)
