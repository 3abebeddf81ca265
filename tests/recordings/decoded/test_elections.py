"""Several brokers: who led what when, and what a broker that is asked may have known of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kipviz.cluster.real.rebuilt_cluster import RebuiltBatch
from kipviz.core.table import Table
from kipviz.messages.errors import Errors
from kipviz.recordings.decoded.elections import (
    FOR_EVER,
    LEARNS_MS,
    LeaderDecision,
    brokers_of,
    election_times,
    list_known,
    loading_spans,
    placements_of,
)
from kipviz.recordings.decoded.internal_topics import markers
from kipviz.recordings.decoded.producer_id_blocks import BLOCK, GivenIds
from kipviz.recordings.followed_members.share_answer_text import at_broker
from kipviz.recordings.judging.accept import Acceptor
from kipviz.recordings.recorded import Exchange, Recording, load_recording
from kipviz.recordings.replayed_roles.fetching import MARKS, FetchedPartition, Reading, refusal_of
from kipviz.recordings.request_context.arrival import span_of
from kipviz.recordings.request_context.evidence import Evidence, of_recording
from kipviz.records.batches import Batch, DataRecord

RELEASE = Path(__file__).parents[1] / "kafka-4.4.0"
CLUSTERS = (
    "cluster-answers",
    "coordinator-move",
    "leader-move",
    "markers-across-brokers",
    "min-insync-replicas",
    "rolling-bounce",
)
SHARES = "share-leader-move"
OUTPUT = "output-A-0"


def decision(at_ms: int, leader: int, epoch: int, *isr: int) -> LeaderDecision:
    return LeaderDecision(OUTPUT, leader, epoch, (1, 2, 3), isr or (1, 2, 3), at_ms)


MADE, MOVED, SHRUNK = decision(0, 1, 0), decision(5_000, 2, 1), decision(9_000, 2, 1, 2)


def leaders(begin_ms: int, end_ms: int) -> list[int]:
    known = list_known((MADE, MOVED, SHRUNK), begin_ms, end_ms)
    return [each.leader_of(OUTPUT) for each in known]


def test_a_broker_learns_of_a_decision_when_it_was_made_or_a_moment_later() -> None:
    assert leaders(4_000, 4_900) == [1]
    assert leaders(4_900, 5_100) == [1, 2]
    assert leaders(5_000 + LEARNS_MS - 1, 6_100) == [1, 2]
    assert leaders(5_000 + LEARNS_MS, 6_100) == [2]


def test_an_elected_leader_may_read_its_log_until_it_writes_to_it_or_another_one_is_elected() -> (
    None
):
    def make_entry(at_ms: int, offset: int, epoch: int) -> RebuiltBatch:
        return RebuiltBatch(
            OUTPUT, Batch(offset, (DataRecord("x"),), 7, 0, offset), at_ms, "", leader_epoch=epoch
        )

    later = decision(9_500, 3, 2)
    decisions = (MADE, MOVED, SHRUNK, later)
    assert loading_spans(decisions, ()) == {OUTPUT: ((0, 5_000), (5_000, 9_500), (9_500, FOR_EVER))}
    entries = (make_entry(100, 0, 0), make_entry(8_000, 1, 1), make_entry(9_000, 2, 1))
    assert loading_spans(decisions, entries) == {
        OUTPUT: ((0, 100), (5_000, 8_000), (9_500, FOR_EVER))
    }
    # What another broker has answered shows nothing.
    shown = ((OUTPUT, 2, 6_000), (OUTPUT, 1, 5_500), (OUTPUT, 3, 9_600), (OUTPUT, 3, 9_700))
    assert loading_spans(decisions, entries, shown) == {
        OUTPUT: ((0, 100), (5_000, 6_000), (9_500, 9_600))
    }


def test_which_replicas_are_in_sync_is_known_at_each_time() -> None:
    known = list(list_known((MADE, MOVED, SHRUNK), 9_100, 9_200))
    assert [
        set(each.decisions[OUTPUT].replicas) - set(each.decisions[OUTPUT].isr) for each in known
    ] == [
        set(),
        {1, 3},
    ]
    assert known[0].leader_of("src-0") == -1


def test_brokers_first_leaders_and_when_each_began_come_from_the_decisions() -> None:
    assert brokers_of((MADE, MOVED)) == (1, 2, 3)
    (placed,) = placements_of((MADE, MOVED, SHRUNK))
    assert (placed.leader, placed.others) == (1, (2, 3))
    assert election_times((MADE, MOVED, SHRUNK)) == {(OUTPUT, 0): 0, (OUTPUT, 1): 5_000}


@pytest.mark.parametrize(
    ("broker", "epoch", "version", "told"),
    [
        (2, 1, 12, None),
        (2, -1, 4, None),
        (1, 1, 11, None),
        (1, 1, 10, "NOT_LEADER_OR_FOLLOWER"),
        (4, -1, 12, "NOT_LEADER_OR_FOLLOWER"),
        (2, 0, 12, "FENCED_LEADER_EPOCH"),
        (1, 2, 10, "UNKNOWN_LEADER_EPOCH"),
    ],
)
def test_a_reader_is_refused_who_has_another_leader_in_mind(
    broker: int, epoch: int, version: int, told: str | None
) -> None:
    (known,) = list_known((MADE, MOVED), 8_000, 8_000)
    reading = Reading(0, committed=True, leader_epoch=epoch)
    said = refusal_of(FetchedPartition(OUTPUT, reading, ()), known, broker, version)
    assert (None if said is None else said[0][1]) == told


def test_a_reader_of_whom_nothing_is_known_is_told_no_more_than_marks() -> None:
    (known,) = list_known((MADE, MOVED), 8_000, 8_000)
    said = refusal_of(FetchedPartition(OUTPUT, None, ()), known, 1, 10)
    assert said is not None
    assert len(said) == MARKS


def test_each_broker_has_a_block_of_producer_ids_of_its_own() -> None:
    def make_exchange(identity: int, begin: int, broker: int) -> Exchange:
        told = Table.of({"producerId": identity, "producerEpoch": 0, "errorCode": 0})
        return Exchange("INIT_PRODUCER_ID", 5, "c", begin, begin + 1, Table.of({}), told, broker)

    ids = GivenIds((make_exchange(0, 0, 2), make_exchange(BLOCK, 4, 1)), 0)
    assert ids.next_of(make_exchange(-1, 8, 2)) == (1, BLOCK, 2 * BLOCK)
    assert ids.next_of(make_exchange(-1, 8, 1)) == (BLOCK + 1, 2 * BLOCK)
    assert ids.block_is_due(make_exchange(-1, 8, 3))


# -- the recordings ------------------------------------------------------------------------------


def list_refused(evidence: Evidence) -> set[str]:
    return {asked.api for asked in Acceptor(evidence).compare_all() if not asked.accepted}


@pytest.mark.parametrize("name", CLUSTERS)
def test_nobody_else_than_who_was_asked_could_have_said_it(name: str) -> None:
    """An answer that is put into another broker's mouth is refused, where only a leader gives it."""
    evidence = of_recording(RELEASE / name)
    assert list_refused(evidence) == set()
    others = {1: 2, 2: 3, 3: 1}
    swapped = tuple(x.but(broker=others[x.broker]) for x in evidence.exchanges)
    assert {"END_TXN", "INIT_PRODUCER_ID", "PRODUCE"} <= list_refused(
        evidence.but(exchanges=swapped)
    )


@pytest.mark.parametrize("name", ["coordinator-move", "leader-move", "rolling-bounce"])
def test_without_the_decisions_about_leaders_the_answers_are_refused(name: str) -> None:
    evidence = of_recording(RELEASE / name)
    first = tuple(d for d in evidence.decisions if d.leader_epoch == 0)
    assert list_refused(evidence.but(decisions=first)) & {"PRODUCE", "END_TXN"}


def test_without_the_replicas_that_are_missing_the_answers_are_refused() -> None:
    evidence = of_recording(RELEASE / "min-insync-replicas")
    assert list_refused(evidence.but(min_insync_replicas=())) == {"PRODUCE", "WRITE_TXN_MARKERS"}


def test_a_zombie_is_told_that_the_leader_is_another_one() -> None:
    recording = load_recording(RELEASE / "leader-move")
    (told,) = [x for x in recording.wire if x.client == "zombie"]
    assert told.broker == 1
    (topic,) = told.response["responses"]
    (part,) = topic["partitionResponses"]
    assert (part["errorCode"], part["currentLeader"]["leaderId"]) == (6, 2)


def test_markers_go_to_the_leader_of_now_with_the_epoch_of_the_coordinator_of_now() -> None:
    recording = load_recording(RELEASE / "leader-move")
    written = [x for x in recording.wire if x.api == "WRITE_TXN_MARKERS"]
    coordinators = [x.client for x in written]
    assert coordinators == ["broker-2-txn-marker-sender", "broker-3-txn-marker-sender"]
    assert [x.broker for x in written] == [2, 1]
    assert [m["coordinatorEpoch"] for x in written for m in x.request["markers"]] == [0, 1]


def errors_of(exchanges: tuple[Exchange, ...]) -> list[int]:
    return [x.response["errorCode"] for x in exchanges]


def test_an_end_that_is_sent_again_is_answered_as_the_first_one_once_it_is_complete() -> None:
    """NOT_COORDINATOR, CONCURRENT_TRANSACTIONS while markers are out, then the identity; no other end."""
    recording = load_recording(RELEASE / "coordinator-move")
    hands = tuple(x for x in recording.wire if x.api == "END_TXN" and x.client[:7] == "by-hand")
    assert errors_of(hands) == [16, 51, 16, 51, 0, 48]
    assert [x.broker for x in hands] == [2, 3, 3, 2, 2, 2]


def test_a_new_coordinator_sends_the_markers_again_with_its_own_epoch() -> None:
    recording = load_recording(RELEASE / "coordinator-move")
    found = [m for s in recording.segments["output-A-0"] for m in markers(s)]
    assert [(m.offset, m.producer_epoch, m.coordinator_epoch) for m in found] == [
        (4, 1, 1),
        (6, 2, 1),
        (7, 2, 2),
    ]


def test_one_request_has_the_markers_for_all_partitions_of_a_broker() -> None:
    recording = load_recording(RELEASE / "markers-across-brokers")
    written = [x for x in recording.wire if x.api == "WRITE_TXN_MARKERS"]
    assert sorted(x.broker for x in written) == [1, 1, 2, 2, 3, 3]
    of_three = [
        sorted(
            (t["name"], p)
            for m in x.request["markers"]
            for t in m["topics"]
            for p in t["partitionIndexes"]
        )
        for x in written
        if x.broker == 3
    ]
    both = [("__consumer_offsets", 2), ("output-A", 2), ("output-A", 3)]
    assert of_three == [both, both]


def test_a_marker_is_tried_again_without_a_pause_until_the_replica_is_back() -> None:
    """The first twenty in a row are lines of the recording; how many more is told beside it."""
    recording = load_recording(RELEASE / "min-insync-replicas")
    codes = [
        p["errorCode"]
        for x in recording.wire
        if x.api == "WRITE_TXN_MARKERS"
        for m in x.response["markers"]
        for t in m["topics"]
        for p in t["partitions"]
    ]
    assert codes[:20] == [19] * 20
    assert codes[-1] == 0
    more = (RELEASE / "min-insync-replicas" / "repeated.jsonl").read_text(encoding="utf-8")
    assert "WRITE_TXN_MARKERS of broker-3-txn-marker-sender" in more


def test_what_was_locked_is_delivered_by_the_new_leader_as_if_for_the_first_time() -> None:
    """A lock is in the old leader's memory alone, and so is that the record was delivered once."""
    recording = load_recording(RELEASE / SHARES)
    taken = [
        (x.broker, r["firstOffset"], r["lastOffset"], r["deliveryCount"])
        for x in recording.wire
        if x.api == "SHARE_FETCH"
        for t in x.response["responses"]
        for p in t["partitions"]
        for r in p["acquiredRecords"]
    ]
    assert taken == [(1, 0, 3, 1), (2, 1, 3, 1)]


def test_a_leader_of_before_does_not_know_the_partition_that_a_member_acknowledges() -> None:
    recording = load_recording(RELEASE / SHARES)
    told = [
        (x.broker, p["errorCode"])
        for x in recording.wire
        if x.api == "SHARE_ACKNOWLEDGE"
        for t in x.response["responses"]
        for p in t["partitions"]
    ]
    assert told == [(1, 0), (1, 3), (2, 0)]


def test_a_new_leader_reads_the_state_with_its_epoch_and_a_new_coordinator_has_it_all() -> None:
    recording = load_recording(RELEASE / SHARES)
    asked = [
        (x.api.split("_")[0], x.client[-1], x.broker != 3, p["leaderEpoch"])
        for x in recording.wire
        if x.api in {"READ_SHARE_GROUP_STATE", "WRITE_SHARE_GROUP_STATE"}
        for t in x.request["topics"]
        for p in t["partitions"]
    ]
    assert [each[:2] for each in asked] == [
        ("READ", "1"),
        ("WRITE", "1"),
        ("READ", "2"),
        ("WRITE", "2"),
    ]
    assert [each[3] for each in asked] == [0, 0, 1, 1]
    homes = [x.broker for x in recording.wire if x.api.endswith("SHARE_GROUP_STATE")]
    assert homes[-1] != homes[0]


def test_the_share_partition_leaders_of_each_broker_are_followed() -> None:
    evidence = of_recording(RELEASE / SHARES)
    assert list_refused(evidence) == set()
    first = tuple(d for d in evidence.decisions if d.leader_epoch == 0)
    assert {"SHARE_FETCH", "SHARE_ACKNOWLEDGE"} <= list_refused(evidence.but(decisions=first))
    others = {1: 2, 2: 1, 3: 3}
    swapped = tuple(x.but(broker=others[x.broker]) for x in evidence.exchanges)
    assert "SHARE_FETCH" in list_refused(evidence.but(exchanges=swapped))


def test_a_broker_asks_again_without_its_leaders_where_nobody_is_in_office() -> None:
    def asks(client: str, code: int) -> Exchange:
        part = Table.of({"partition": 0, "errorCode": code})
        told = Table.of({"results": (Table.of({"topicId": "t", "partitions": (part,)}),)})
        return Exchange("READ_SHARE_GROUP_STATE", 0, client, 0, 1, Table.of({}), told, 3)

    mine, refused_, others = (
        asks("Persister-client-1", 0),
        asks("Persister-client-1", 16),
        asks("x", 0),
    )
    kept = at_broker((mine, refused_, others), 1)
    assert [x.api for x in kept] == ["READ_SHARE_GROUP_STATE", "", ""]


def test_a_rolling_bounce_loses_nothing_of_what_a_loop_commits() -> None:
    recording = load_recording(RELEASE / "rolling-bounce")
    assert all(call.error is None for call in recording.calls)
    stopped = [c.arguments["broker"] for c in recording.calls if c.name == "stopBroker"]
    assert stopped == [1, 2, 3]
    ended = [x for x in recording.wire if x.api == "END_TXN" and x.response["errorCode"] == 0]
    assert len(ended) == 3
    for index in range(3):
        found = [m for s in recording.segments[f"output-A-{index}"] for m in markers(s)]
        assert [m.committed for m in found] == [True, True, True]


@pytest.mark.parametrize("name", ["coordinator-move", "min-insync-replicas", "rolling-bounce"])
def test_a_coordinator_loads_from_its_election_until_it_shows_that_it_has_and_at_no_other_time(
    name: str,
) -> None:
    evidence = of_recording(RELEASE / name)
    acceptor = Acceptor(evidence)
    spans = acceptor.known_leaders.loading["__transaction_state-1"]
    late = [
        (number, x)
        for number, x in enumerate(acceptor.exchanges)
        if x.api == "END_TXN"
        and not any(at <= x.answered_ms and span_of(x)[0] <= until for at, until in spans)
    ]
    assert late
    for number, x in late:
        told = x.response.set("errorCode", 14).set("producerId", -1).set("producerEpoch", -1)
        assert not any(a.accepted for a in acceptor.of(number, x.but(response=told)))


def test_a_new_coordinator_is_not_one_then_loads_and_then_answers() -> None:
    """Whether it is met while it loads is a matter of milliseconds; the order is not."""
    recording = load_recording(RELEASE / "coordinator-move")
    codes = [
        told["errorCode"]
        for x in recording.wire
        if x.api == "DESCRIBE_TRANSACTIONS"
        for told in x.response["transactionStates"]
    ]
    assert codes == sorted(codes, key=[16, 14, 0].index)
    assert {16, 0} <= set(codes)


def of_hands(recording: Recording, api: str) -> list[tuple[int, list[int]]]:
    """Give who answered the requests by hand of an API, and every error code that was told."""

    def codes(told: object) -> list[int]:
        if isinstance(told, Table):
            return [
                code
                for name, value in told.items()
                for code in ([value] if name.lower().endswith("errorcode") else codes(value))
            ]
        return [c for each in told for c in codes(each)] if isinstance(told, tuple) else []

    return [
        (x.broker, list(dict.fromkeys(codes(x.response))))
        for x in recording.wire
        if x.api == api and x.client.startswith("by-hand")
    ]


def test_who_is_not_in_office_says_so_and_changes_nothing() -> None:
    recording = load_recording(RELEASE / "cluster-answers")
    for api in ("DESCRIBE_TRANSACTIONS", "ADD_OFFSETS_TO_TXN", "END_TXN", "INIT_PRODUCER_ID"):
        (wrong, told), (right, answer) = of_hands(recording, api)[:2]
        assert (wrong, told, right) == (3, [16], 2), api
        assert answer != [16], api
    for api in ("TXN_OFFSET_COMMIT", "OFFSET_COMMIT", "OFFSET_FETCH", "CONSUMER_GROUP_HEARTBEAT"):
        (wrong, told), (right, answer) = of_hands(recording, api)
        assert (wrong, told, right) == (2, [16], 3), api
        assert answer != [16], api


def test_every_replica_is_read_from_and_describes_producers_but_only_a_leader_takes_markers() -> (
    None
):
    """The epoch that a reader knows is looked at wherever it asks: 74 is older, 75 is newer."""
    recording = load_recording(RELEASE / "cluster-answers")
    assert of_hands(recording, "DESCRIBE_PRODUCERS") == [(2, [0]), (1, [0])]
    reads = of_hands(recording, "FETCH")[2:]
    assert [code for _, (*_, code) in reads] == [0, 74, 0, 75] * 2
    assert of_hands(recording, "WRITE_TXN_MARKERS") == [(1, [6]), (2, [0])]


def test_a_broker_without_a_replica_describes_no_producers() -> None:
    acceptor = Acceptor(of_recording(RELEASE / "cluster-answers"))
    number, exchange = next(
        (n, x) for n, x in enumerate(acceptor.exchanges) if x.api == "DESCRIBE_PRODUCERS"
    )
    (asked,) = acceptor.of(number, exchange.but(broker=9))
    assert [dict(said)["error"] for said in asked.possible] == ["NOT_LEADER_OR_FOLLOWER"]


@pytest.mark.parametrize(
    ("error", "shows"),
    [
        (Errors.NONE, True),
        (Errors.CONCURRENT_TRANSACTIONS, True),
        (Errors.COORDINATOR_LOAD_IN_PROGRESS, False),
        # KafkaApis rejects these before the coordinator sees them.
        (Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, False),
        (Errors.GROUP_AUTHORIZATION_FAILED, False),
        (Errors.TOPIC_AUTHORIZATION_FAILED, False),
    ],
)
def test_an_answer_that_kafka_apis_gives_does_not_show_that_a_coordinator_has_loaded(
    error: Errors, shows: bool
) -> None:
    evidence = of_recording(RELEASE / "coordinator-move")
    acceptor = Acceptor(evidence)
    known = acceptor.known_leaders
    asked = next(x for x in acceptor.exchanges if x.api == "END_TXN")
    answer = asked.response.set("errorCode", error.value)
    assert bool(list(known._list_shown([asked.but(response=answer)]))) is shows
