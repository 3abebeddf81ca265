"""What is alike is digested once, and the first matches all."""

from __future__ import annotations

import pytest

from kipviz.core import interning
from kipviz.core.interning import Alike


def test_the_first_stands_for_all_and_only_it_is_digested() -> None:
    asked: list[tuple[int, ...]] = []

    def digest(thing: tuple[int, ...]) -> bytes:
        asked.append(thing)
        return bytes(thing)

    met = Alike(digest)
    one, other = (1, 2), (2, 1)
    equal = (one[0], one[1])
    assert met.first(one)[0] is met.first(one)[0] is one
    assert met.first(equal)[0] is one
    assert met.first(other) == (other, b"\x02\x01")
    assert asked == [one, other]


def test_it_forgets_rather_than_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interning, "ALIKE_MAX", 2)
    asked: list[int] = []

    def digest(thing: int) -> bytes:
        asked.append(thing)
        return b"%d" % thing

    met = Alike(digest)
    found = [met.first(thing)[1] for thing in (1, 2, 3, 1, 3)]
    assert found == [b"1", b"2", b"3", b"1", b"3"]
    assert asked == [1, 2, 3, 1]
