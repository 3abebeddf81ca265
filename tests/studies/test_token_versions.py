"""B34: two recoveries of one checkpoint, by the version in which they end its transaction."""

from __future__ import annotations

import pytest

from kipviz.studies.counting.token_versions import SITUATIONS, answers, versions_of


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda each: each.words)
def test_whatever_the_version_the_first_recovery_commits_and_nothing_is_written_twice(
    situation,
) -> None:
    for _, version in versions_of(situation):
        first, _, values = answers(situation, version)
        assert (first, values) == ("NONE", "f(a)")


def test_no_choice_of_a_version_knows_every_repetition_again() -> None:
    """EndTxn 4 at level 2: the client bumps its epoch behind it, and who comes again is fenced."""
    up, down, last = SITUATIONS
    second = {
        (each.now, version): answers(each, version)[1] for each in (up, down) for version in (1, 2)
    }
    assert second == {
        (2, 1): "PRODUCER_FENCED",
        (2, 2): "NONE",
        (1, 1): "PRODUCER_FENCED",
        (1, 2): "NONE",
    }
    assert answers(last, 1)[1] == "INVALID_PRODUCER_ID_MAPPING"
    assert answers(last, 2)[1] == "NONE"
