"""What a timed clock shows: how long every timer has left, on a card and where a step is looked at."""

from __future__ import annotations

from kipviz.cluster.actions import ClientTimer, RunOut
from kipviz.cluster.timing.clock import Due
from kipviz.cluster.world import World
from kipviz.views.explanations.guards import guards
from kipviz.views.role_cards.cards import Cards
from kipviz.views.role_cards.remaining_time import timers
from tests.cluster.timing.test_timers import JOINING, go, model_of, running

MODEL = model_of(JOINING, "run_out=1")
JOINED: World = go(MODEL, MODEL.initial(), lambda w: running(w, Due.ROLE_TIMER))


def test_a_card_has_what_is_left_of_every_timer() -> None:
    rows = {label: cells["value"] for label, cells in timers(JOINED).items()}
    assert rows["the session of C1 in my-group-4 expires at B4"] == "in 45 s"
    assert rows["the heartbeat interval of app-1/consumer ends"] == "in 5 s or later"


def test_the_card_is_there_with_a_timed_clock_only() -> None:
    def of(*settings: str) -> list[str]:
        model = model_of(JOINING, "", *settings)
        return [head.id for head in Cards(model).heads]

    assert "timers" in of()
    assert "timers" not in of("clock=untimed")


def test_a_timer_that_is_looked_at_says_what_it_has_left() -> None:
    session, beat = running(JOINED, Due.ROLE_TIMER)[0], running(JOINED, Due.CLIENT_TIMER)[0]
    looked = dict(guards(MODEL, JOINED, RunOut(*session.place)))  # type: ignore[arg-type]
    assert looked["time left"] == "45 s"
    looked = dict(guards(MODEL, JOINED, ClientTimer(*beat.place)))  # type: ignore[arg-type]
    assert looked["time left"] == "5 s"


def test_what_is_under_way_is_no_timer() -> None:
    prompt = model_of(JOINING, "run_out=1", "delay_max_ms=0", "pause_max_ms=0")
    world = go(prompt, prompt.initial(), lambda w: running(w, "on the wire"))
    assert not [name for name in timers(world) if "arrives" in name]
