"""Kafka's exact order of requests against the one that stories have: other sizes, the same verdicts.

By default a batch that waits goes out before a transactional request, so it is under way when the request
is; in Kafka the request goes first, and a record may be staged before its output is sent.
"""

from __future__ import annotations

from typing import Any

import pytest

from kipviz.checking.explore import Search, explore
from kipviz.checking.found import Bounds
from kipviz.checking.verdicts import EVERY_PROPERTY
from kipviz.cluster.clock import Clock
from kipviz.cluster.durations import DURATIONS
from kipviz.designs.catalogue import REPAIRED
from kipviz.messages.share_groups import TxnShareAcknowledge
from kipviz.scenarios.changes import BadChange, changed, settings
from kipviz.scenarios.library import scenario
from tests.checking.counts import CALM, EXACT, Space
from tests.checking.test_timed import model_of, size

EXACTLY = "exact_sender=true"


class Met(Search):
    """A search that keeps the applications and logs that it met."""

    def __init__(self, *given: Any) -> None:
        self.seen: set[bytes] = set()
        super().__init__(*given)

    def note(self, number: int, world: Any, states: tuple[Any, ...], depth: int) -> None:
        self.seen.add(self.key(world.but(applications=without_switch(world)), states))
        super().note(number, world, states, depth)


class Staged(Search):
    """A search that counts the worlds in which a staging is on the wire and its output is not out."""

    def __init__(self, *given: Any) -> None:
        self.before = 0
        super().__init__(*given)

    def note(self, number: int, world: Any, states: tuple[Any, ...], depth: int) -> None:
        producer = world.applications["app-1"].producer
        unsent = any(batch.broker < 0 for batch in producer.batches)
        self.before += unsent and isinstance(producer.on_wire, TxnShareAcknowledge)
        super().note(number, world, states, depth)


def without_switch(world: Any) -> Any:
    app = world.applications["app-1"]
    return world.applications.set("app-1", app.but(producer=app.producer.but(exact_sender=False)))


@pytest.mark.parametrize("exact", EXACT, ids=lambda s: f"{s.design} {s.faults}")
def test_with_the_exact_order_there_are_just_so_many_states(exact: Space) -> None:
    found = explore(model_of(exact.design, exact.faults, EXACTLY))
    assert size(found) == (exact.states, exact.transitions, exact.depth)
    assert found.complete


def test_every_promise_has_the_same_verdict_under_both_orders() -> None:
    for design, faults in (("repaired", ""), ("finding-I", ""), ("finding-D", "expire_lock=1")):
        broken = [
            sorted(c.property for c in Search(model, EVERY_PROPERTY).run(Bounds()).counterexamples)
            for model in (model_of(design, faults), model_of(design, faults, EXACTLY))
        ]
        assert broken[0] == broken[1], design


def test_what_the_usual_order_meets_in_the_small_cluster_the_exact_one_meets_too() -> None:
    usual, exact = Met(model_of("repaired", "")), Met(model_of("repaired", "", EXACTLY))
    usual.run(Bounds())
    exact.run(Bounds())
    assert (len(usual.seen), len(exact.seen)) == (CALM.states, EXACT[0].states)
    assert usual.seen < exact.seen


def test_a_record_is_staged_before_its_output_is_sent_in_the_exact_order_only() -> None:
    found = []
    for settings_ in ((), (EXACTLY,)):
        search = Staged(model_of("repaired", "", *settings_))
        search.run(Bounds())
        found.append(search.before)
    assert found == [0, 16]


def test_the_exact_order_is_a_setting_that_is_said_where_it_is_chosen() -> None:
    story = scenario("kip-1289-small")
    design = REPAIRED
    assert "exact_sender" not in [s.name for s in settings(story.spec, design)]
    spec, _ = changed(story.spec, design, (EXACTLY,))
    (said,) = [s for s in settings(spec, design) if s.name == "exact_sender"]
    assert said.now == "true"
    with pytest.raises(BadChange, match="exact_sender"):
        changed(story.spec, design, ("exact_sender=perhaps",))


def test_the_back_off_is_a_duration_of_an_exact_sender_and_of_no_other() -> None:
    row = next(row for row in DURATIONS if row.setting == "retry.backoff.ms")
    spec = scenario("kip-1289-small").spec.but(clock=Clock("timed"))
    assert row.values(spec) == ()
    assert row.values(spec.but(exact_sender=True)) == (100,)
    assert row.values(spec.but(exact_sender=True, transaction_version=1)) == (100, 20)


def test_with_a_clock_the_small_cluster_keeps_every_promise_too() -> None:
    settings_ = ("clock=timed", "tick=next", "delay_max_ms=0", EXACTLY)
    found = explore(model_of("repaired", "", *settings_))
    assert (found.complete, found.counterexamples) == (True, ())
