"""Values as bytes and back: the same value, and nothing but a value."""

from __future__ import annotations

import pickle
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import ClassVar

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kipviz.core.log import Log
from kipviz.core.serialization import DEPTH_MAX, NotAValue, deserialize, serialize
from kipviz.core.table import Table
from kipviz.core.values import Part, Value, fingerprint


class Shape(Enum):
    ROUND = 1
    FLAT = 2


class Box(Value, frozen=True):
    content: object
    size: int = 0


class Room(Part, frozen=True):
    name: str
    boxes: Table[str, int] = Table.of()
    notes: tuple[object, ...] = ()


scalars = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text() | st.binary()
values = st.recursive(
    scalars | st.sampled_from(Shape),
    lambda inner: (
        st.lists(inner, max_size=4).map(tuple)
        | st.builds(Box, inner)
        | st.lists(inner, max_size=20).map(Log.of)
        | st.dictionaries(st.text(max_size=3), inner, max_size=40).map(Table.of)
        | st.builds(Room, st.text(max_size=3), notes=st.lists(inner, max_size=2).map(tuple))
    ),
    max_leaves=30,
)


@given(values)
def test_a_value_comes_back_as_it_was(value: object) -> None:
    back = deserialize(serialize(value))
    assert back == value
    assert type(back) is type(value)


def test_true_stays_true_and_an_enum_member_is_no_number() -> None:
    back = deserialize(serialize((True, 1, Shape.ROUND, Box(False))))
    assert [type(item) for item in back] == [bool, int, Shape, Box]
    assert fingerprint(back) == fingerprint((True, 1, Shape.ROUND, Box(False)))


class Parcel(Value, frozen=True):
    STORED_NAME: ClassVar[str] = "Packet"

    content: object


def test_a_renamed_class_is_read_from_bytes_with_its_former_name() -> None:
    data = serialize((Parcel(1), Box(2)))
    assert b":Packet" in data
    assert b"Parcel" not in data
    assert deserialize(data) == (Parcel(1), Box(2))
    with pytest.raises(NotAValue, match="no value class"):
        deserialize(data.replace(b":Packet", b":Parcel"))


def test_a_part_that_is_kept_elsewhere_is_named_by_its_digest() -> None:
    room = Room("a", notes=(Room("inner"),))
    kept = {room.digest: room}
    data = serialize((room, room), lambda part: part.digest)
    assert len(data) < 60
    one, two = deserialize(data, kept.__getitem__)
    assert one is two is room


def test_a_part_by_itself_is_written_out() -> None:
    room = Room("a")
    assert deserialize(serialize(room, lambda part: part.digest)) == room


@pytest.mark.parametrize("wrong", [[1], {"a": 1}, 0.5, {1, 2}, Path("x"), print])
def test_what_is_no_value_is_refused_when_it_is_written(wrong: object) -> None:
    with pytest.raises(TypeError, match=f"a {type(wrong).__name__} is not a value"):
        serialize(Box(wrong))


def bytes_of(classes: list[str], body: object) -> bytes:
    return msgspec.msgpack.encode([classes, body])


NESTED: object = 1
for _ in range(DEPTH_MAX + 2):
    NESTED = [0, NESTED]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "not a value of kipviz"),
        (pickle.dumps(print), "not a value of kipviz"),
        (bytes_of(["os:system"], [4, "true"]), "no value class 'os:system'"),
        (bytes_of(["builtins:eval"], [4, "1"]), "no value class"),
        (bytes_of(["subprocess:Popen"], [4, ["true"]]), "no value class"),
        (bytes_of([f"{__name__}:NoSuch"], [4]), "no value class"),
        (bytes_of([], [4, 1]), "not a value of kipviz"),
        (bytes_of([f"{__name__}:Shape"], [4, "SQUARE"]), "not a value of kipviz"),
        (bytes_of([f"{__name__}:Shape"], [4]), "not a value of kipviz"),
        (bytes_of([f"{__name__}:Box"], [4, 1, 2, 3]), "not a value of kipviz"),
        (bytes_of([], {"a": 1}), "a dict is in a place where a value"),
        (bytes_of([], []), "a list is in a place where a value"),
        (bytes_of([], [True, 1]), "a list is in a place where a value"),
        (bytes_of([], [-1, 1]), "a list is in a place where a value"),
        (bytes_of([], 0.5), "a float is in a place where a value"),
        (bytes_of([], [1, "a"]), "not a value of kipviz"),
        (bytes_of([], [1, "a", 2, 3, 4]), "not a value of kipviz"),
        (bytes_of([], [3, b"name"]), "a part is named that is not kept here"),
        (bytes_of([], NESTED), f"more than {DEPTH_MAX} deep"),
    ],
)
def test_bytes_that_are_no_value_are_one_sentence(data: bytes, sentence: str) -> None:
    with pytest.raises(NotAValue, match=sentence):
        deserialize(data)


@given(st.binary(max_size=200))
def test_any_bytes_end_in_a_value_or_a_sentence(data: bytes) -> None:
    for given_bytes in (data, bytes_of([f"{__name__}:Box"], None)[:-1] + data):
        with suppress(NotAValue):
            deserialize(given_bytes)


def test_a_stored_class_is_found_whatever_room_its_file_stands_in() -> None:
    names, body = msgspec.msgpack.decode(serialize(Shape.FLAT))
    assert names == ["tests.core.test_serialization:Shape"]
    for name in (
        "tests.core.room.test_serialization:Shape",
        "tests.core.a.b.test_serialization:Shape",
    ):
        assert deserialize(msgspec.msgpack.encode([[name], body])) is Shape.FLAT
    with pytest.raises(NotAValue, match=r"no value class 'tests.core.other:Shape'"):
        deserialize(msgspec.msgpack.encode([["tests.core.other:Shape"], body]))
