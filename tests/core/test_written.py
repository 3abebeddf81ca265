"""A value that is stored as a text: its fingerprint, its order, and actions in JSON are those of the text."""

from __future__ import annotations

import msgspec
import pytest

from kipviz.brokers.timers import (
    ROLE_DELAYS,
    ROLE_TIMERS,
    AppendTimeout,
    GroupRebalance,
    MemberRebalance,
    MemberSession,
    read_delay,
    read_timer,
)
from kipviz.clients.timers import CLIENT_TIMERS, BatchBackOff, RetryBackOff, read_client_timer
from kipviz.cluster.actions import ClientTimer, ClusterAction, RunOut, Step
from kipviz.core.values import Value, fingerprint
from kipviz.core.written import ActionReader, action_to_json


class Holder(Value, frozen=True):
    """Something with a timer among its fields."""

    place: tuple[object, ...]


@pytest.mark.parametrize("kind", [*ROLE_TIMERS, *ROLE_DELAYS, *CLIENT_TIMERS])
def test_a_text_is_read_back_as_the_value_that_it_was_written_from(kind: type) -> None:
    fields = [4 if f.type is int else f"{f.name}-1" for f in msgspec.structs.fields(kind)]
    timer = kind(*fields)
    of_clients = read_client_timer if kind in CLIENT_TIMERS else read_delay
    read = read_timer if kind in ROLE_TIMERS else of_clients
    assert read(timer.text) == timer
    assert type(read(timer.text)) is kind


def test_texts_that_begin_alike_are_told_apart() -> None:
    assert read_timer("the rebalance time-out of C1 in g") == MemberRebalance("C1", "g")
    assert read_timer("the rebalance time-out of g") == GroupRebalance("g")
    assert read_timer("the append at 12 of __transaction_state-4") == AppendTimeout(
        12, "__transaction_state-4"
    )
    assert read_timer("the session of C in a in g") == MemberSession("C in a", "g")


def test_a_timer_of_a_client_in_a_saved_run_has_its_text_as_ever() -> None:
    for text, timer in {
        "the retry back-off": RetryBackOff(),
        "the retry back-off of batch 12": BatchBackOff(12),
    }.items():
        stored = f'{{"class":"ClientTimer","source":"app-1/producer","timer":"{text}"}}'.encode()
        action = ClientTimer("app-1/producer", timer)
        assert action_to_json(action) == stored
        assert ActionReader(ClusterAction).read(stored) == action


def test_words_on_the_screen_change_neither_the_text_nor_the_fingerprint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = fingerprint(BatchBackOff(3))
    monkeypatch.setattr(BatchBackOff, "WORDS", "batch %s is at rest")
    assert (BatchBackOff(3).words, BatchBackOff(3).text) == (
        "batch 3 is at rest",
        "the retry back-off of batch 3",
    )
    assert fingerprint(BatchBackOff(3)) == before


def test_a_text_of_nothing_that_is_waited_for_is_refused_with_what_is() -> None:
    with pytest.raises(
        ValueError, match=r"'the siesta of C1' is not something to wait for.*the session of … in …"
    ):
        read_timer("the siesta of C1")


def test_a_timer_has_the_fingerprint_and_the_place_in_an_order_that_its_text_has() -> None:
    timers = [MemberSession("C2", "g"), GroupRebalance("g"), MemberSession("C10", "g")]
    texts = [timer.text for timer in timers]
    assert [timer.text for timer in sorted(timers)] == sorted(texts)
    for timer in timers:
        assert fingerprint(timer) == fingerprint(timer.text)
        assert fingerprint(Holder((1, timer))) == fingerprint(Holder((1, timer.text)))


def test_an_action_in_a_saved_run_has_the_text_of_its_timer_as_ever() -> None:
    stored = (
        b'{"class":"RunOut","broker":4,"role":"group_coordinator","shard":"__consumer_offsets-7",'
        b'"timer":"the session of C1 in g"}'
    )
    action = RunOut(4, "group_coordinator", "__consumer_offsets-7", MemberSession("C1", "g"))
    reader = ActionReader(ClusterAction)
    assert action_to_json(action) == stored
    assert reader.read(stored) == action
    assert reader.read(action_to_json(Step("app-1"))) == Step("app-1")


def test_an_action_with_a_timer_that_there_is_not_is_no_action_of_the_model() -> None:
    stored = b'{"class":"RunOut","broker":4,"role":"x","shard":"y","timer":"the siesta of C1"}'
    with pytest.raises(msgspec.DecodeError, match="not something to wait for"):
        ActionReader(ClusterAction).read(stored)
