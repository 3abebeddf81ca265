"""Rows with lifetimes: what a line of pictures becomes, and what a branch sends."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kipviz.views.lifetimes import Lifetimes


def fact(value: object) -> dict[str, object]:
    return {"label": "x", "value": value}


def picture_at(rows: list[dict[str, Any]], step: int) -> dict[str, dict[str, Any]]:
    """What a reader of the rows sees at a step: the picture the rows were made from."""
    picture: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row["from"] <= step and (row["to"] is None or step < row["to"]):
            assert row["id"] not in picture.get(row["card"], {}), "two rows with one id at once"
            picture.setdefault(row["card"], {})[row["id"]] = row["cells"]
    return picture


def branch_rows(parent: list[dict[str, Any]], at: int, branch: Lifetimes) -> list[dict[str, Any]]:
    """What the browser does with a branch: keep what was alive, close what closes, add the suffix."""
    ends = {(card, row_id): to for card, row_id, to in branch.closes}
    kept = [copy.deepcopy(row) for row in parent if row["from"] <= at]
    for row in kept:
        if row["to"] is None or row["to"] > at:
            row["to"] = ends.get((row["card"], row["id"]))
    return kept + branch.rows


def test_a_row_that_never_changes_is_sent_once() -> None:
    line = Lifetimes.of([{"c": {"r": fact(1)}}] * 50)
    assert line.rows == [
        {"card": "c", "id": "r", "from": 0, "to": None, "cells": fact(1), "tone": "calm"}
    ]


def test_a_changed_value_closes_one_row_and_opens_the_next_under_the_same_id() -> None:
    line = Lifetimes.of([{"c": {"r": fact(1)}}, {"c": {"r": fact(1)}}, {"c": {"r": fact(2)}}])
    assert [(row["from"], row["to"], row["cells"]["value"]) for row in line.rows] == [
        (0, 2, 1),
        (2, None, 2),
    ]


def test_a_tone_is_lifted_out_of_the_cells_and_a_new_tone_is_a_new_row() -> None:
    line = Lifetimes.of([{"c": {"r": {"a": 1}}}, {"c": {"r": {"a": 1, "tone": "broken"}}}])
    assert [(row["from"], row["cells"], row["tone"]) for row in line.rows] == [
        (0, {"a": 1}, "calm"),
        (1, {"a": 1}, "broken"),
    ]


def test_a_row_that_goes_away_and_comes_back_has_two_lives() -> None:
    line = Lifetimes.of([{"c": {"r": fact(1)}}, {"c": {}}, {"c": {"r": fact(1)}}])
    assert [(row["from"], row["to"]) for row in line.rows] == [(0, 1), (2, None)]


def test_a_card_that_goes_away_closes_its_rows() -> None:
    line = Lifetimes.of([{"c": {"r": fact(1)}, "d": {"r": fact(1)}}, {"d": {"r": fact(1)}}, {}])
    assert [(row["card"], row["from"], row["to"]) for row in line.rows] == [
        ("c", 0, 1),
        ("d", 0, 2),
    ]


def test_the_same_card_object_is_not_looked_into_again() -> None:
    class Watched(dict[str, Any]):
        looks = 0

        def items(self) -> Any:
            Watched.looks += 1
            return super().items()

    card = Watched(r=fact(1))
    Lifetimes.of([{"c": card}] * 100)
    assert Watched.looks == 1


def test_a_branch_carries_only_its_suffix_and_what_it_closes() -> None:
    line = Lifetimes.of(
        [{"c": {"a": fact(1), "b": fact(1)}}, {"c": {"a": fact(2), "b": fact(1)}}] * 1
        + [{"c": {"a": fact(3), "b": fact(9)}}]
    )
    branch = line.fork(1)
    branch.add({"c": {"a": fact(2), "b": fact(5)}})
    branch.add({"c": {"b": fact(5)}})
    assert branch.step == 3
    assert [(row["id"], row["from"], row["to"], row["cells"]["value"]) for row in branch.rows] == [
        ("b", 2, None, 5)
    ]
    assert branch.closes == [["c", "b", 2], ["c", "a", 3]]


def test_a_branch_leaves_the_rows_of_its_parent_alone() -> None:
    line = Lifetimes.of([{"c": {"a": fact(1)}}, {"c": {"a": fact(1)}}])
    before = copy.deepcopy(line.rows)
    line.fork(0).add({"c": {"a": fact(7)}})
    assert line.rows == before


def test_a_fork_before_the_branch_began_is_a_fork_of_its_parent() -> None:
    line = Lifetimes.of([{"c": {"a": fact(value)}} for value in range(5)])
    branch = line.fork(3)
    branch.add({"c": {"a": fact(30)}})
    early = branch.fork(1)
    early.add({"c": {"a": fact(10)}})
    assert early.closes == [["c", "a", 2]]
    assert early.rows[0]["from"] == 2


@pytest.mark.parametrize("at", [-1, 2, "0", True, None])
def test_a_fork_at_a_step_that_is_not_there_says_which_are(at: Any) -> None:
    line = Lifetimes.of([{}, {}])
    with pytest.raises(ValueError, match=r"this line has steps 0 to 1"):
        line.fork(at)


pictures = st.lists(
    st.dictionaries(
        st.sampled_from("cd"),
        st.dictionaries(st.sampled_from("abc"), st.builds(fact, st.integers(0, 2)), max_size=3),
        max_size=2,
    ),
    min_size=1,
    max_size=8,
)


def visible(picture: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {card: rows for card, rows in picture.items() if rows}


@given(pictures)
def test_the_rows_alive_at_a_step_are_the_picture_of_that_step(line: list[Any]) -> None:
    rows = Lifetimes.of(line).rows
    for step, picture in enumerate(line):
        assert picture_at(rows, step) == visible(picture)


@given(pictures, pictures, pictures, st.data())
def test_a_branch_of_a_branch_shows_its_own_pictures(
    first: list[Any], second: list[Any], third: list[Any], data: st.DataObject
) -> None:
    main = Lifetimes.of(first)
    at = data.draw(st.integers(0, len(first) - 1))
    branch = main.fork(at)
    for picture in second:
        branch.add(picture)
    rows = branch_rows(main.rows, at, branch)
    line = first[: at + 1] + second
    for step, picture in enumerate(line):
        assert picture_at(rows, step) == visible(picture)
        assert sorted(map(str, branch.alive(step))) != [] or visible(picture) == {}
    again_at = data.draw(st.integers(at, len(line) - 1))
    again = branch.fork(again_at)
    for picture in third:
        again.add(picture)
    parent = rows if again_at > at else main.rows
    rows = branch_rows(parent, again_at, again)
    for step, picture in enumerate(line[: again_at + 1] + third):
        assert picture_at(rows, step) == visible(picture)
