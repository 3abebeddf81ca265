"""What is asked once more, who is refused a part of what he asks for, and what is late: read from events."""

from __future__ import annotations

from typing import Any

from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.messages.errors import Errors
from kipviz.messages.events import (
    CallReturned,
    MessageDelivered,
    OffsetResolved,
    TimePassed,
)
from kipviz.messages.groups.membership import ConsumerGroupHeartbeatResponse
from kipviz.messages.logs.producing import ProduceResponse
from kipviz.messages.message_errors import error_in
from kipviz.messages.shares.share_admin import AlterShareGroupOffsetsResponse
from kipviz.messages.transactions.liveness import TxnHeartbeatResponse
from kipviz.messages.transactions.transactions import EndTxnResponse, WriteTxnMarkersResponse
from kipviz.records.batches import DataRecord
from kipviz.views.measures.metrics import LATE, Metrics
from tests.scenarios.story import first_step, markers, nodes, play_once


def events(name: str, under: str, kind: type) -> list[Any]:
    trace, _ = play_once(name, under)
    return [e for node in nodes(trace) for e in node.events if isinstance(e, kind)]


def list_arrived(name: str, under: str, kind: type) -> list[Any]:
    return [e.message for e in events(name, under, MessageDelivered) if isinstance(e.message, kind)]


def list_thrown(name: str, under: str) -> list[str]:
    return [str(e.raised) for e in events(name, under, CallReturned) if e.raised]


def test_a_batch_waits_twice_as_long_each_time_and_nobody_hears_of_it() -> None:
    name = "kip-98-batch-backs-off"
    assert [e.ms for e in events(name, "kafka", TimePassed)] == [100, 200, 400]
    refused = Errors.NOT_ENOUGH_REPLICAS
    assert [error_in(a) for a in list_arrived(name, "kafka", ProduceResponse)] == [
        *[refused] * 3,
        Errors.NONE,
    ]
    assert list_thrown(name, "kafka") == []


def test_a_marker_that_finds_too_few_replicas_is_sent_again_and_holds_no_commit_up() -> None:
    name = "kip-98-offsets-without-replicas"
    trace, _ = play_once(name, "kafka")
    answers = [a.results[0].error for a in list_arrived(name, "kafka", WriteTxnMarkersResponse)]
    missing = Errors.NOT_ENOUGH_REPLICAS
    assert answers == [Errors.NONE, missing, missing, Errors.NONE]
    returned = first_step(trace, CallReturned, call="commitTransaction", raised="")
    assert returned < first_step(trace, OffsetResolved, committed=True)


def test_offsets_of_a_call_that_came_back_too_early_are_committed_with_the_rest() -> None:
    name = "kip-98-offsets-timed-out"
    (why,) = list_thrown(name, "kafka")
    assert why.startswith("TimeoutException: sendOffsetsToTransaction()")
    (resolved,) = events(name, "kafka", OffsetResolved)
    assert (resolved.offset, resolved.committed) == (101, True)


def test_what_was_sent_first_is_first_in_the_log_though_it_was_verified_in_vain() -> None:
    trace, chapters = play_once("kip-890-in-vain", "kafka-tv1")
    remembered = (
        nodes(trace)[chapters[1].end].world.roles[3, "partition_leader", "output-A-0"].verifications
    )
    assert [each.lowest for each in remembered] == [0]
    errors = [error_in(a) for a in list_arrived("kip-890-in-vain", "kafka-tv1", ProduceResponse)]
    assert errors.count(Errors.OUT_OF_ORDER_SEQUENCE_NUMBER) == 2
    data = (r for b in trace.world.logs["output-A-0"].batches for r in b.records)
    assert [r.value for r in data if isinstance(r, DataRecord)] == ["f(a)", "f(b)", "f(c)"]
    assert markers(trace.world)["output-A-0"] == ["COMMIT"]


def test_of_two_topics_the_one_that_is_allowed_is_served_and_the_other_has_an_error() -> None:
    (answer,) = list_arrived("kip-11-one-of-two-topics", "kafka", AlterShareGroupOffsetsResponse)
    told = {result.partition: result.error for result in answer.results}
    assert told == {"src-0": Errors.NONE, "old-0": Errors.TOPIC_AUTHORIZATION_FAILED}


def test_a_heartbeat_with_a_topic_that_may_not_be_seen_makes_nobody_a_member() -> None:
    trace, chapters = play_once("kip-11-heartbeat", "kafka")
    first = list_arrived("kip-11-heartbeat", "kafka", ConsumerGroupHeartbeatResponse)[0]
    assert first.error is Errors.TOPIC_AUTHORIZATION_FAILED
    then = nodes(trace)[chapters[0].end].world.roles.values()
    assert not any(role.groups for role in then if isinstance(role, GroupCoordinator))


def test_an_owner_who_may_not_beat_any_more_is_given_up() -> None:
    name = "kip-1309-right-lost"
    errors = [a.error for a in list_arrived(name, "kip-1309", TxnHeartbeatResponse)]
    assert errors == [Errors.NONE, Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED]
    assert markers(play_once(name, "kip-1309")[0].world) == {"output-A-0": ["ABORT"]}
    assert list_arrived(name, "kip-1309", EndTxnResponse) == []


def test_a_late_transaction_is_counted_from_age_alone() -> None:
    trace, chapters = play_once("kip-664-late", "kafka")
    metrics = Metrics(longest_ms=trace.model.spec.settings.transaction_max_timeout_ms)
    counts = []
    for node in nodes(trace):
        metrics.observe(node.events)
        counts.append(int(metrics.card[LATE]["value"]))
    ends = [counts[chapter.end] for chapter in chapters]
    assert ends == [0, 0, 1, 1, 1, 0]


def test_a_group_that_forgets_a_topic_goes_on_and_reads_it_again() -> None:
    name = "kip-932-forget-topic"
    assert list_thrown(name, "kafka") == ["DeleteShareGroupOffsets: NON_EMPTY_GROUP"]
    trace, _ = play_once(name, "kafka")
    assert [r.offset for r in trace.world.applications["app-1"].consumer.records] == [100, 101]
