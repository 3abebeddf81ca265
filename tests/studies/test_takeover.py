"""Study 'takeover': how long nobody reads a partition whose owner stands still."""

from __future__ import annotations

import pytest

from kipviz.designs.catalogue import design
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.scenario import at_levels
from kipviz.studies.timed.takeover import RIVALS, SESSIONS_MS, TakenOver, run_takeover, takeover

TWICE = "src-0@100 has 2 committed outputs: it is duplicated"


@pytest.mark.parametrize(
    ("design", "session_ms", "what"),
    [
        ("kip-447-first-draft", 10_000, TakenOver(10_000, "EndTxn: PRODUCER_FENCED", "none")),
        ("kip-447-init-consumer", 10_000, TakenOver(11_000, "EndTxn: INVALID_TXN_STATE", "none")),
        ("kafka", 10_000, TakenOver(60_000, "EndTxn: INVALID_TXN_STATE", "none")),
        ("before-447", 10_000, TakenOver(10_000, "committed", TWICE)),
    ],
)
def test_what_a_takeover_comes_to_under_a_design(design, session_ms, what) -> None:
    assert run_takeover(design, session_ms) == what


def test_with_todays_session_time_out_the_shorter_default_saves_a_quarter_of_a_minute() -> None:
    _, rows = takeover()
    by = {row[1]: row for row in rows}
    assert len(rows) == len(RIVALS)
    assert SESSIONS_MS[1] == 45_000
    assert (by["kip-447-init-consumer"][3], by["kafka"][3]) == ("45 s", "60 s")
    aborts, waits = (row for row in rows if row[1].startswith("kip-447-first-draft"))
    assert (aborts[2], waits[2]) == ("10 s", "60 s")


def test_the_time_limit_of_who_leaves_it_as_it_is_is_that_of_the_design() -> None:
    """Second draft: "Shrink transactional.timeout". Who configures a limit keeps it."""
    spec = searched_scenario("kip-447-race").spec
    ours = spec.applications[0].but(transaction_timeout_ms=30_000)
    spec = spec.but(applications=(ours, *spec.applications[1:]))
    limits = {
        name: [a.transaction_timeout_ms for a in at_levels(spec, design(name)).applications]
        for name in ("kafka", "kip-447-init-consumer")
    }
    assert limits == {"kafka": [30_000, 60_000], "kip-447-init-consumer": [30_000, 10_000]}
