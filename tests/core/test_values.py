"""Values and their fingerprints."""

import copy
import gc
import os
import pickle
import struct
import subprocess
import sys
from enum import Enum, IntEnum
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kipviz.core.log import Log
from kipviz.core.table import Table
from kipviz.core.values import (
    Part,
    Value,
    digest_of,
    digests_after,
    encoding,
    fingerprint,
    memory_of,
)

ROOT = Path(__file__).parents[2]


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1


class Point(Value, frozen=True):
    x: int
    y: int = 0


class Spot(Value, frozen=True):
    x: int
    y: int = 0


class Holder(Value, frozen=True):
    content: object


class Role(Part, frozen=True):
    name: str
    rows: Table[str, int] = Table.of()
    notes: tuple[object, ...] = ()


scalars = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text() | st.binary()
contents = st.recursive(
    scalars | st.sampled_from(Colour),
    lambda inner: (
        st.lists(inner, max_size=4).map(tuple)
        | st.builds(Holder, inner)
        | st.lists(inner, max_size=4).map(Log.of)
        | st.dictionaries(st.text(max_size=3), inner, max_size=4).map(Table.of)
        | st.builds(Role, st.text(max_size=3), notes=st.tuples(inner))
    ),
    max_leaves=12,
)


def rebuilt(value):
    """Make the same content again, by another route and sharing nothing."""
    match value:
        case tuple():
            return tuple(rebuilt(each) for each in value)
        case Log():
            log = Log.of(["something else"]).truncate(0)
            for each in value:
                log = log.append(rebuilt(each))
            return log
        case Table():
            table = Table.of({"~~~": 0})
            for key in reversed(value.keys()):
                table = table.set(key, "not yet").set(key, rebuilt(value[key]))
            return table.without("~~~")
        case Value():
            fields = {name: rebuilt(getattr(value, name)) for name in value.__struct_fields__}
            return value.but(**fields)
    return value


def write_value(value):
    """Write content so that only what counts as the same content is written the same way."""
    match value:
        case tuple() | Log():
            return f"{type(value).__name__}[{','.join(write_value(each) for each in value)}]"
        case Table():
            return f"Table[{','.join(write_value(pair) for pair in value.items())}]"
        case Value():
            fields = tuple(getattr(value, name) for name in value.__struct_fields__)
            return f"{type(value).__name__}{write_value(fields)}"
    return f"{type(value).__name__}:{value!r}"


@given(contents)
def test_the_same_content_made_by_another_route_has_the_same_fingerprint(value):
    assert fingerprint(rebuilt(value)) == fingerprint(value)


@given(contents, contents)
def test_fingerprints_are_equal_exactly_when_the_contents_are(one, other):
    assert (fingerprint(one) == fingerprint(other)) == (write_value(one) == write_value(other))


@given(contents)
def test_a_pickled_value_comes_back_equal_and_with_the_same_fingerprint(value):
    before = fingerprint(value)
    again = pickle.loads(pickle.dumps(value))
    assert again == value
    assert hash(again) == hash(value)
    assert fingerprint(again) == before


def test_but_changes_the_named_fields_and_shares_the_rest():
    role = Role("a", Table.of({"x": 1}))
    other = role.but(name="b")
    assert (other.name, role.name) == ("b", "a")
    assert other.rows is role.rows
    assert type(other) is Role


def test_but_refuses_a_name_that_is_no_field():
    with pytest.raises(TypeError, match="has no field 'z'"):
        Point(1).but(z=2)


def test_a_value_cannot_be_changed_in_place():
    with pytest.raises(AttributeError):
        Point(1).x = 2


def test_the_name_of_the_class_is_part_of_the_content():
    assert fingerprint(Point(1, 2)) != fingerprint(Spot(1, 2))
    assert fingerprint((Point(1, 2),)) != fingerprint((Spot(1, 2),))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (0, False),
        (0, None),
        ("a", b"a"),
        ("", ()),
        ((1, (2, 3)), (1, 2, 3)),
        ((), ((),)),
        (Colour.RED, "red"),
        (Colour.RED, "RED"),
        (Colour.RED, Colour.BLUE),
        (Level.LOW, 1),
        (Point(1, 2), ("Point", 1, 2)),
        (Log.of([1]), (1,)),
        (Log.of(), Table.of()),
        (Table.of({1: 2}), ((1, 2),)),
        (Holder(Log.of([1])), Holder(Log.of([1]).digest)),
    ],
)
def test_contents_that_look_alike_have_different_fingerprints(one, other):
    assert fingerprint(one) != fingerprint(other)
    assert fingerprint(Holder(one)) != fingerprint(Holder(other))


def test_a_field_that_a_class_gets_later_changes_no_fingerprint_made_before():
    def record(**later):
        fields = [("offset", int), ("flags", tuple, ()), *later.items()]
        named = [(f[0], *f[1:]) if isinstance(f[1], type) else (f[0], *f[1]) for f in fields]
        return msgspec.defstruct("Record", named, bases=(Value,), frozen=True)

    old = record()
    new = record(epoch=(int, 0), marks=(Table, Table.of()), sure=(bool, False))
    assert fingerprint(new(1)) == fingerprint(old(1))
    assert fingerprint(new(1, (2,))) == fingerprint(old(1, (2,)))
    grown = [new(1, (), 7), new(1, (), 0, Table.of({"a": 1})), new(1, (), 0, Table.of(), True)]
    assert len({fingerprint(value) for value in (new(1), *grown)}) == 4


def test_a_field_at_another_value_that_equals_its_default_is_told_apart():
    pair = msgspec.defstruct("Pair", [("one", tuple, (0, 1))], bases=(Value,), frozen=True)
    assert pair((False, True)) == pair()
    assert fingerprint(pair((False, True))) != fingerprint(pair())


@pytest.mark.parametrize("content", [{1}, frozenset({1}), {"a": 1}, [1], 1.5, object()])
def test_what_has_no_canonical_form_is_refused_with_the_place_where_it_sits(content):
    kind = type(content).__name__
    with pytest.raises(TypeError, match=f"a value holds a {kind}, which has no fingerprint: use"):
        fingerprint(content)
    with pytest.raises(TypeError, match=f"Point.y holds a {kind}, which"):
        fingerprint(Point(1, content))
    with pytest.raises(TypeError, match=f"Holder.content holds a {kind}, which"):
        fingerprint(Role("r", notes=(1, Holder((2, content)))))
    for inside in (Table.of({1: content}), Log.of([(content,)])):
        with pytest.raises(TypeError, match=f"Holder.content holds a {kind}, which"):
            fingerprint(Role("r", notes=(1, Holder(inside))))
    with pytest.raises(TypeError, match=f"holds a {kind}, which"):
        fingerprint(Table.of({1: content}))
    with pytest.raises(TypeError, match=f"holds a {kind}, which"):
        fingerprint(Log.of([content]))


def test_an_int_beyond_64_bits_is_refused():
    assert fingerprint(2**63) != fingerprint(2**63 - 1)
    with pytest.raises(ValueError, match="64 bits"):
        fingerprint(Point(2**64))


def test_a_part_computes_its_digest_once_and_never_passes_it_on():
    role = Role("a", Table.of({"x": 1}))
    twin = Role("a", Table.of({"x": 1}))
    assert role.digest is role.digest
    assert role.digest == twin.digest == fingerprint(twin)
    assert fingerprint((role, 1)) == fingerprint((twin, 1))

    changed = role.but(name="b")
    assert memory_of(changed).shape is None
    assert changed.digest == Role("b", Table.of({"x": 1})).digest != role.digest
    assert memory_of(pickle.loads(pickle.dumps(role))).shape is None
    assert memory_of(copy.copy(role)).shape is None


def test_the_memory_of_a_part_counts_neither_for_equality_nor_for_hash_nor_in_json():
    role, twin = Role("a", notes=(1,)), Role("a", notes=(1,))
    assert role.digest
    assert role == twin
    assert hash(role) == hash(twin)
    assert repr(role) == repr(twin)
    assert msgspec.structs.asdict(role) == msgspec.structs.asdict(twin)


def test_a_part_costs_one_word_more_than_a_value_and_its_memory_goes_with_it():
    class Plain(Value, frozen=True):
        name: str
        rows: Table[str, int] = Table.of()
        notes: tuple[Any, ...] = ()

    role, shape = Role("a"), msgspec.msgpack.Ext(1, b"0123456789abcdef")
    assert sys.getsizeof(role) == sys.getsizeof(Plain("a")) + struct.calcsize("P")
    assert not gc.is_tracked(role)
    held = sys.getrefcount(shape)
    memory_of(role).shape = shape
    assert sys.getrefcount(shape) == held + 1
    del role
    assert sys.getrefcount(shape) == held


def test_a_nested_part_is_written_by_its_digest_wherever_it_sits():
    role = Role("a")
    assert role.digest
    # A false memory shows where it is used.
    memory_of(role).shape = msgspec.msgpack.Ext(1, b"0123456789abcdef")
    for value in (role, (role,), Holder(role), Holder((1, role))):
        assert encoding(value).count(b"0123456789abcdef") == 1
    for around in (
        lambda it: Role("b", notes=(it,)),
        lambda it: Table.of({1: it}),
        lambda it: Log.of([it]),
    ):
        assert fingerprint(around(role)) != fingerprint(around(Role("a")))


SCRIPT = """
from kipviz.core.log import Log
from kipviz.core.table import Table
from kipviz.core.values import Part, Value, fingerprint

class Role(Part, frozen=True):
    name: str
    rows: Table
    log: Log

keys = list({f"key {number}" for number in range(200)})
role = Role("a", Table.of({key: len(key) for key in keys}), Log.of(sorted(keys)))
print(keys[0], fingerprint((role, Table.of({1: role}))).hex())
"""


def test_fingerprints_are_the_same_in_processes_with_different_hash_seeds():
    printed = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout.rsplit(maxsplit=1)
        for seed in ("1", "2", "3")
    ]
    assert len({first for first, _ in printed}) > 1  # the sets really were in different orders
    assert len({digest for _, digest in printed}) == 1


def test_fingerprints_stay_what_they_were():
    """Fingerprints are in files: if this changes, the format of trace files has to change."""
    table = Table.of({"a": Point(1, 2), "b": None})
    role = Role("r", Table.of({f"k{n}": n for n in range(100)}), (Colour.RED, b"x", True))
    assert fingerprint(Point(1, 2)).hex() == "9f6c120794e1524292f48fbce4d885b7"
    assert fingerprint(table).hex() == "e5d98521bdc01ffeae36d40c86969127"
    assert fingerprint(Log.of([1, "a", role])).hex() == "99074d05d3c24114d6b8fddeaba59d35"


def test_a_renamed_class_keeps_the_fingerprints_that_were_made_before():
    class Location(Value, frozen=True):
        STORED_NAME: ClassVar[str] = "Point"

        x: int
        y: int

    assert fingerprint(Location(1, 2)) == fingerprint(Point(1, 2))
    assert Location.__struct_fields__ == ("x", "y")


@given(st.binary(), st.lists(st.binary()))
def test_a_digest_after_a_prefix_is_that_of_both_together(prefix, rests):
    digest = digests_after(prefix)
    assert [digest(rest) for rest in rests] == [digest_of(prefix + rest) for rest in rests]
