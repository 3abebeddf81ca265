"""Kafka's order of requests in a search: what it lets happen, and what a rest before each costs."""

from __future__ import annotations

from typing import Any

import pytest

from kipviz.checking.search.explore import Search, explore
from kipviz.checking.search.search_result import Bounds
from kipviz.cluster.timing.clock import Clock
from kipviz.cluster.timing.durations import DURATIONS
from kipviz.designs.catalogue import REPAIRED
from kipviz.messages.shares.share_groups import TxnShareAcknowledge
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.setting_changes import BadChange, apply_changes, settings
from tests.checking.timed.test_timed import BY_DEADLINE, model_of

RESTS = "backs_off=true"


class Beside(Search):
    """A search that counts the worlds with a staging on the wire, by where its output is."""

    def __init__(self, *given: Any) -> None:
        self.unsent = self.on_wire = 0
        super().__init__(*given)

    def note(self, number: int, world: Any, states: tuple[Any, ...], depth: int) -> None:
        producer = world.applications["app-1"].producer
        if isinstance(producer.on_wire, TxnShareAcknowledge):
            self.unsent += any(batch.broker < 0 for batch in producer.accumulator.batches)
            self.on_wire += any(batch.broker >= 0 for batch in producer.accumulator.batches)
        super().note(number, world, states, depth)


def test_a_record_is_staged_before_its_output_is_sent_or_while_that_is_on_the_wire() -> None:
    """A batch that waits stays behind a transactional request; one that is out stays out."""
    search = Beside(model_of("repaired", ""))
    assert search.run(Bounds()).counterexamples == ()
    assert (search.unsent, search.on_wire) == (16, 84)


def test_a_rest_is_a_setting_of_a_timed_clock_and_of_no_other() -> None:
    known = searched_scenario("kip-1289-small").spec
    assert "backs_off" not in [s.name for s in settings(known, REPAIRED)]
    spec, _ = apply_changes(known, REPAIRED, ("clock=timed", RESTS))
    (said,) = [s for s in settings(spec, REPAIRED) if s.name == "backs_off"]
    assert said.now == "true"
    with pytest.raises(BadChange, match="backs_off must be true or false"):
        apply_changes(spec, REPAIRED, ("backs_off=perhaps",))
    with pytest.raises(BadChange, match="a sender rests with a timed clock only"):
        apply_changes(known, REPAIRED, (RESTS,))


def test_the_back_off_is_a_duration_of_a_sender_that_rests_and_of_no_other() -> None:
    row = next(row for row in DURATIONS if row.setting == "retry.backoff.ms")
    spec = searched_scenario("kip-1289-small").spec
    assert row.values(spec.but(clock=Clock("timed"))) == ()
    spec = spec.but(clock=Clock("timed", backs_off=True))
    assert row.values(spec) == (100,)
    assert row.values(spec.but(transaction_version=1)) == (100, 20)


def test_with_rests_the_small_cluster_keeps_every_property_too() -> None:
    found = explore(model_of("repaired", "", *BY_DEADLINE, "delay_max_ms=0", RESTS))
    assert (found.complete, found.counterexamples) == (True, ())
