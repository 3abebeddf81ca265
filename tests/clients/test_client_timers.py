"""The timers of clients: each says where it is written and which setting says how long it takes."""

from __future__ import annotations

import pytest

from kipviz.clauses import DRAFT, SHIPPED
from kipviz.clients.kinds import clause_of_timer
from kipviz.clients.shares.share_member import ShareMember
from kipviz.clients.timers import CLIENT_TIMERS, HeartbeatInterval, SenderBackOff, TimerOfClient
from kipviz.cluster.timing.durations import DURATIONS
from tests.clients.parts import producer_of


@pytest.mark.parametrize("kind", CLIENT_TIMERS)
def test_a_timer_of_a_client_names_a_setting_of_kafkas_in_its_clause(
    kind: type[TimerOfClient],
) -> None:
    settings = [row.setting for row in DURATIONS if row.setting in kind.CLAUSE.clause]
    assert settings, kind.CLAUSE.clause
    assert kind.CLAUSE.kafka
    assert kind.__doc__


def test_a_heartbeat_of_a_transaction_is_a_drafts_and_one_of_a_member_is_not() -> None:
    beat = HeartbeatInterval()
    producer = producer_of("app-1/producer", "t", heartbeat_interval_ms=5_000)
    member = ShareMember("app-1/member", "g", "M1", ("src",))
    assert clause_of_timer(producer, beat).status == DRAFT
    assert clause_of_timer(member, beat) == beat.CLAUSE
    assert beat.CLAUSE.status == SHIPPED
    assert clause_of_timer(producer, SenderBackOff()) == SenderBackOff.CLAUSE
