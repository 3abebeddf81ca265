"""What stories cost, in a notebook."""

from __future__ import annotations

import pytest

import kipviz
from kipviz.scenarios.library import UnknownScenario


def test_costs_are_a_picture_and_a_table_with_the_same_stories() -> None:
    found = kipviz.costs("kip-1310-share-producer", "kip-1310-share-session")
    shown = found._repr_mimebundle_()
    assert shown["text/html"].startswith("<div ")
    assert shown["text/html"].count("<svg ") == 2
    assert "<th>kip-1310-share-session</th>" in shown["text/html"]
    head, *rows = shown["text/plain"].splitlines()
    assert head.split() == ["kip-1310-share-producer", "kip-1310-share-session"]
    assert ["connections", "to", "brokers", "4", "3"] in [row.split() for row in rows]


def test_costs_of_nothing_and_of_a_story_that_there_is_not_are_refused() -> None:
    with pytest.raises(ValueError, match="name at least one story"):
        kipviz.costs()
    with pytest.raises(UnknownScenario, match="there is no scenario 'x'"):
        kipviz.costs("x")


def test_two_stories_are_held_side_by_side_by_their_names() -> None:
    both = kipviz.compare("kip-1310-share-producer", "kip-1310-share-session")
    assert both.payload["left"]["title"] != both.payload["right"]["title"]
    assert len(both.payload["bigs"]) == 8
