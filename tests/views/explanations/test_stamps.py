"""What is shown of times in records, and the bytes of the two messages that tell some."""

from __future__ import annotations

from kipviz.brokers.transactions.transaction_metadata import metadata_of
from kipviz.cluster.world import World
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.messages.transactions.admin import (
    ActiveProducer,
    DescribeProducersResponse,
    DescribeTransactionsResponse,
    PartitionProducers,
    TransactionDescription,
)
from kipviz.messages.wire.codec import Encoded
from kipviz.messages.wire.frame import bytes_of
from kipviz.messages.wire.kind import Around
from kipviz.records.transaction_state import TransactionState
from kipviz.views.explanations.operators import list_learned
from kipviz.views.role_cards.coordinators import transaction
from kipviz.views.role_cards.logs import Entries
from kipviz.views.role_cards.remaining_time import timers
from tests.cluster.timing.test_record_timestamps import STAMPED, TIMED, model_of, transactions, walk

S = TransactionState


def end_world(*settings: str) -> World:
    return walk(model_of("kip-1289-small", "time_out=1", *settings, name="repaired"), 4)[-1][1]


def test_the_timers_card_says_what_time_it_is_where_records_say_it_too() -> None:
    world = end_world(*STAMPED)
    assert timers(world)["time"]["value"] == f"{world.now_ms // 1_000} s since the run began"
    assert "time" not in timers(end_world(*TIMED))


def test_a_record_of_a_transaction_is_shown_with_its_times() -> None:
    world = end_world(*STAMPED)
    home = next(n for n in world.logs if n.startswith("__transaction_state"))
    shown = [str(cells.get("value")) for cells in Entries(str)(world.logs[home]).values()]
    assert any("PREPARE" in text and "began at" in text for text in shown)
    assert all("began at" not in text for text in shown if "EMPTY" in text)
    assert all("update at" in text for text in shown if "→" in text)
    last = transactions(world)[-1]
    card = transaction(metadata_of(last), loading=False)
    assert {"last update at"} <= set(card)


def raw(message: Message) -> bytes:
    encoded: Encoded = bytes_of(message, Around())
    return encoded.data


def test_an_operator_is_told_times_in_words_and_in_bytes() -> None:
    def of_out_0(producer: ActiveProducer) -> DescribeProducersResponse:
        return DescribeProducersResponse((PartitionProducers("out-0", Errors.NONE, (producer,)),))

    told = of_out_0(ActiveProducer(4, 1, 0, -1, 7, last_timestamp=31_000))
    assert dict(list_learned(told)) == {
        "producer id 4": "epoch 1, open since offset 7, last batch at 31 s"
    }
    at = (31_000).to_bytes(8, "big")
    assert at in raw(told)
    assert at not in raw(of_out_0(ActiveProducer(4, 1, 0, -1, 7)))
    state = TransactionDescription(
        "my-a", Errors.NONE, S.ONGOING, 60_000, 4, 1, ("out-0",), transaction_start_time_ms=31_000
    )
    described = DescribeTransactionsResponse((state,))
    assert at in raw(described)
    assert dict(list_learned(described, 71_000))["began"] == "40 s ago"
    assert "began" not in dict(list_learned(described)), "an operator without a clock"
    assert "began" not in dict(
        list_learned(
            DescribeTransactionsResponse((state.but(transaction_start_time_ms=-1),)), 71_000
        )
    )
