"""The metrics that KIP-1289 proposes, against runs, and when its alert is raised."""

from __future__ import annotations

import pytest

from kipviz.cluster.actions import Tick
from kipviz.cluster.timing.clock import Clock
from kipviz.core.traces.trace import Trace
from kipviz.designs.catalogue import design
from kipviz.scenarios.library import scenario
from kipviz.scenarios.script import play
from kipviz.studies.test_plan import alerts
from kipviz.views.measures import proposed_metrics as pm
from kipviz.views.role_cards.cards import Cards
from tests.scenarios.story import committed_outputs, nodes, play_once

BEATS = scenario("kip-1289-share-commit").beats
BEGIN, STAGE = BEATS[:4], BEATS[4:6]


def along(trace: Trace, *, timed: bool = False) -> list[pm.ProposedMetrics]:
    """The metrics at every step of a trace, as they were then."""
    found = []
    for end in range(1, len(trace.line) + 1):
        metrics = pm.ProposedMetrics(timed=timed)
        for node in nodes(trace)[:end]:
            metrics.observe(node.world, node.events)
        found.append(metrics)
    return found


def at_end(story: str, under: str = "repaired") -> dict[str, int]:
    metrics = pm.ProposedMetrics()
    for node in nodes(play_once(story, under)[0]):
        metrics.observe(node.world, node.events)
    return metrics.counts


def test_there_are_six_new_metrics_one_reused_one_deferred_and_the_alert() -> None:
    assert len(pm.ABOUT) == 9
    assert set(pm.ProposedMetrics().card) == set(pm.ABOUT)


def test_the_gauge_goes_up_with_a_staging_and_down_with_its_outcome() -> None:
    counts = [
        m.counts[pm.PENDING] for m in along(play_once("kip-1289-share-commit", "repaired")[0])
    ]
    assert max(counts) == 2
    assert counts[-1] == 0
    partitions = at_end("kip-1289-share-commit")[pm.PARTITIONS]
    assert partitions == 0


def test_a_commit_is_one_staging_without_an_error() -> None:
    counts = at_end("kip-1289-share-commit")
    assert (counts[pm.SENDS], counts[pm.ERRORS], counts[pm.METADATA]) == (1, 0, 1)


def test_how_long_a_record_was_pending_is_known_when_it_is_resolved() -> None:
    metrics = along(play_once("kip-1289-share-commit", "repaired")[0])[-1]
    assert metrics.card[pm.RESIDENCY]["value"].startswith("2 resolved, at most ")
    assert metrics.card[pm.LATENCY]["value"].startswith("1 answered, at most ")


def test_a_refused_staging_counts_as_an_error() -> None:
    counts = at_end("kip-1289-corner-10")
    assert (counts[pm.SENDS], counts[pm.ERRORS]) == (1, 1)


@pytest.mark.parametrize(
    ("under", "expired"), [("finding-D", 1), ("as-written", 1), ("repaired", 0)]
)
def test_a_lock_that_runs_out_while_a_record_is_pending_is_critical(
    under: str, expired: int
) -> None:
    assert at_end("kip-1289-lock-expiry", under)[pm.EXPIRED] == expired


def test_a_crash_of_the_leader_brings_the_gauge_of_a_transactional_acknowledgement_in_memory_to_nothing() -> (
    None
):
    """The metric that is to show the trouble is gone with what it counts."""
    assert at_end("kip-1289-corner-1", "as-written")[pm.PENDING] == 0
    assert at_end("kip-1289-corner-1", "as-written")[pm.EXPIRED] == 0


def test_under_finding_i_the_gauge_never_comes_down() -> None:
    assert at_end("kip-1289-share-commit", "finding-I")[pm.PENDING] == 2


def test_without_a_clock_the_alert_is_not_raised_and_says_why() -> None:
    metrics = along(play_once("kip-1289-share-commit", "finding-I")[0])[-1]
    assert not metrics.alert
    assert "without a clock the time is unknown" in metrics.card[pm.ALERT]["value"]


def test_on_a_clock_the_alert_comes_after_the_transaction_should_have_timed_out() -> None:
    """With Kafka's defaults only the coordinator's scan, every 10 s, is between 60 s and the end."""
    story = scenario("kip-1289-small")
    timed = story.but(spec=story.spec.but(clock=Clock("timed", tick="next")))
    model = timed.model(design("repaired"))
    trace, _ = play(Trace.start(model), model, (*BEGIN, *STAGE))
    staged = trace.depth
    while ticks := [a for a in model.enabled(trace.world) if isinstance(a, Tick)]:
        trace = trace.take(ticks[0])
    words = [m.card[pm.ALERT]["value"] for m in along(trace, timed=True)[staged:]]
    assert words == [
        "not yet: pending for 0 s",
        "not yet: pending for 30 s",
        "not yet: pending for 60 s",
        "raised: pending for 70 s",
    ]
    sends = [m.card[pm.SENDS]["value"] for m in along(trace, timed=True)[staged:]]
    assert sends == [
        "1, 0.033 a second",
        "1, 0.033 a second",  # a window of 30 s is over: nothing is added any more
        "1, 0.000 a second",  # two are over: it is forgotten
        "1, 0.000 a second",
    ]


@pytest.mark.parametrize(
    ("under", "lock_ms", "longest_ms", "raised"),
    [
        ("repaired", 30_000, 70_000, True),
        ("finding-D", 30_000, 30_000, False),
        ("finding-D", 60_000, 60_000, False),
        ("as-written", 30_000, 30_000, False),
    ],
)
def test_where_a_lock_ends_a_staging_the_alert_is_never_raised(
    under: str, lock_ms: int, longest_ms: int, raised: bool
) -> None:
    """Finding X29: an abandoned batch, each timer as late as it may be."""
    trace = alerts.run_undisturbed(under, commits=False, lock_ms=lock_ms)
    seen = along(trace, timed=True)
    assert max(metrics.pending_ms for metrics in seen) == longest_ms
    assert any(metrics.alert for metrics in seen) is raised
    gauge = alerts.measure_run(under, commits=False, lock_ms=lock_ms)
    assert (gauge.pending_ms, gauge.staged) == (longest_ms, 1)


@pytest.mark.parametrize(
    ("under", "expired"),
    [("as-written", 1), ("as-written+marker_epoch=greater", 0), ("repaired", 0)],
)
def test_as_written_every_commit_raises_the_critical_counter(under: str, expired: int) -> None:
    """Finding X30: nothing is abandoned and no marker is missing. The cause is the epoch alone (I)."""
    trace = alerts.run_undisturbed(under, commits=True)
    metrics = along(trace, timed=True)[-1]
    assert metrics.counts[pm.EXPIRED] == expired
    assert metrics.card[pm.EXPIRED]["tone"] == ("broken" if expired else "calm")
    assert committed_outputs(trace.world) == {"src-0@100": 1}
    assert alerts.measure_run(under, commits=True).expired == expired


def test_the_card_is_there_where_acknowledgements_are_staged_and_nowhere_else() -> None:
    heads = {
        name: [head.id for head in Cards(scenario(name).model(design("repaired"))).heads]
        for name in ("kip-1289-share-commit", "kip-1289-group-commit")
    }
    assert "proposed" in heads["kip-1289-share-commit"]
    assert "proposed" not in heads["kip-1289-group-commit"]
