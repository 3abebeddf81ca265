"""What a served cluster forgets after its kept steps: clients that are gone, and what was used longest ago."""

import pytest

from kipviz.brokers.logs.partition_log import (
    PartitionLog,
    append,
    delete_records,
    rebuild,
    replicate,
)
from kipviz.cluster.actions import MoveLeader
from kipviz.cluster.real.external_clients import receive, request_of
from kipviz.core.table import Table, pairs
from kipviz.messages.cluster.metadata import Metadata
from kipviz.records.batches import ABORT, COMMIT, Batch, DataRecord
from kipviz.serving import met_clients, served_cluster
from kipviz.serving.cleaning import closed_connections, compaction, expiry, log_cleaning, retention
from kipviz.serving.cleaning.expiry import forget_producers
from kipviz.serving.cleaning.retention import Retention, bytes_of
from kipviz.serving.timing import time_outs
from kipviz.serving.timing.time_outs import TimeOuts
from kipviz.serving.translating.batch_bytes import KeptBatches
from tests.serving.cleaning.test_log_cleaning import Producer
from tests.soaking import raw_client as raw
from tests.soaking.raw_client import encode_frame

CREATE_TOPICS, DELETE_TOPICS = 19, 20


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(served_cluster, "STEPS_MAX", 20)
    monkeypatch.setattr(served_cluster, "CLEAN_EVERY", 10)
    for place in (log_cleaning, compaction):
        monkeypatch.setattr(place, "TAIL", 4)
    for place, name in (
        (closed_connections, "CLOSED_MAX"),
        (met_clients, "CLIENTS_MAX"),
        (expiry, "IDS_MAX"),
        (expiry, "PRODUCERS_MAX"),
    ):
        monkeypatch.setattr(place, name, 3)
    monkeypatch.setattr(expiry, "SLACK", 2)


def ask_as(run, client_id, key=raw.INIT_PRODUCER_ID, **said):
    """Send one request with a client id over a connection of its own, and return the connection."""
    caller = run.cluster.connect(1)
    said = said or {
        "TransactionalId": None,
        "TransactionTimeoutMs": 60_000,
        "ProducerId": -1,
        "ProducerEpoch": -1,
    }
    run.cluster.feed(caller, encode_frame(key, 4, client_id, **said)[4:])
    assert caller.out, run.cluster.lines
    return caller


def guests(run):
    return [source for source, _ in run.cluster.world.connections if not source.startswith("B")]


def test_clients_that_are_gone_are_forgotten_and_no_name_of_theirs_is_used_again(small):
    run = Producer()
    stays = ask_as(run, "stays")
    ask_as(run, "kept")
    seen = set()
    for number in range(60):
        caller = ask_as(run, f"c{number % 30}")
        assert caller.source not in seen
        seen.add(caller.source)
        run.cluster.disconnect(caller)
    assert len(guests(run)) <= 10
    assert stays.source in guests(run)
    names = list(run.cluster.clients)
    assert names[:2] == ["stays", "kept"]
    assert len(names) <= 15
    assert "c29" in names
    assert ask_as(run, "c1").source not in seen
    assert ask_as(run, "stays").source == "stays/2"  # it has an open connection
    run.cluster.log_line("stays", "is still known")


def test_what_closed_connections_leave_is_kept_up_to_a_number(small, monkeypatch):
    monkeypatch.setattr(closed_connections, "CLOSED_MAX", 1_000)
    run = Producer()
    for number in range(20):
        run.cluster.disconnect(ask_as(run, f"c{number}"))
    assert len(guests(run)) == 20
    assert ask_as(run, "c1").source == "c1/1"


def test_a_client_after_the_kept_steps_is_known_by_its_name_alone(small):
    run = Producer()
    said = {
        "TransactionTimeoutMs": 60_000,
        "ProducerId": -1,
        "ProducerEpoch": -1,
    }
    home = run.cluster.world.image.home_of_transactions("t")
    assert run.cluster.world.image.leader_of(home) in (1, 2, 3)
    ask_as(run, "early", TransactionalId="t", **said)
    assert run.cluster.clients["early"].transactional_ids == ("t",)
    for number in range(10):
        ask_as(run, f"c{number}")
    ask_as(run, "late", TransactionalId="u", **said)
    assert run.cluster.clients["late"].transactional_ids == ()


def test_large_requests_end_the_kept_steps(monkeypatch):
    monkeypatch.setattr(served_cluster, "RECEIVED_MAX", 1_000)
    run = Producer()
    run.start()
    for _ in range(3):
        run.transact("x" * 600)
    kept = run.cluster.trace.depth
    assert kept < run.cluster.steps
    assert f"{kept} steps are kept; the run continues, without keeping more" in run.cluster.lines
    run.transact("y")
    assert run.cluster.trace.depth == kept


def test_a_large_request_is_not_remembered():
    small_one, large_one = (receive("c/1", 1, Metadata((name,))) for name in ("a", "b" * 20_000))
    assert request_of(small_one) is request_of(small_one)
    assert request_of(large_one) == request_of(large_one)
    assert request_of(large_one) is not request_of(large_one)


def use_id(run, name):
    home = run.cluster.world.image.home_of_transactions(name)
    broker = run.cluster.world.image.leader_of(home)
    said = {"TransactionTimeoutMs": 60_000, "ProducerId": -1, "ProducerEpoch": -1}
    told = run.ask(broker, raw.INIT_PRODUCER_ID, TransactionalId=name, **said)
    assert told["ErrorCode"] == 0
    return told["ProducerId"]


def ids(run):
    roles = pairs(run.cluster.world.roles)
    return {
        name
        for key, role in roles
        if key[1] == "transaction_coordinator"
        for name in role.transactions
    }


def test_transactional_ids_that_were_used_longest_ago_expire_but_not_one_with_a_transaction(small):
    run = Producer()
    run.start()
    pid, epoch = run.producer
    said = {"ProducerId": pid, "ProducerEpoch": epoch}
    told = run.ask(run.coordinator(), raw.ADD_OFFSETS, TransactionalId="t", GroupId="g", **said)
    assert told["ErrorCode"] == 0
    for number in range(60):
        use_id(run, f"id{number}")
    left = ids(run)
    assert "t" in left
    assert "id0" not in left
    assert "id59" in left
    assert len(left) <= 5 * 5 + 5  # of five coordinators
    first = use_id(run, "id0")
    assert first > pid  # a new producer id: nothing is known of the old one
    assert not any(served_cluster.MISTAKE in line for line in run.cluster.lines)
    home = run.cluster.world.image.home_of_transactions("id1")
    known = ids(run)
    run.cluster.take(MoveLeader(home, run.cluster.world.image.leader_of(home) % 3 + 1))
    run.cluster.run()
    assert ids(run) == known
    assert all(run.cluster.desk.moments.begin_ms(name) == -1 for name in ("id0", "id1"))


def test_groups_without_members_that_were_used_longest_ago_expire(small):
    run = Producer()
    run.beat(raw.CONSUMER_HEARTBEAT, "lives", "m", 0)
    commit_of(run, "offsets-first")
    for number in range(60):
        commit_of(run, f"offsets{number}")
        run.beat(raw.CONSUMER_HEARTBEAT, f"g{number}", "m", 0)
        run.beat(raw.CONSUMER_HEARTBEAT, f"g{number}", "m", -1)
    roles = [r for k, r in pairs(run.cluster.world.roles) if k[1] == "group_coordinator"]
    groups = {name for role in roles for name in role.groups}
    offsets = {name for role in roles for name, _ in role.offsets}
    assert "lives" in groups
    assert "g59" in groups
    assert "g0" not in groups
    assert "offsets59" in offsets
    assert "offsets-first" not in offsets
    assert len(groups | offsets) <= 5 * 5 + 5
    sizes = run.sizes()
    assert all(size <= 60 for name, size in sizes.items() if "offsets" in name), sizes


def change_topic(run, key, **said):
    told = run.ask(1, key, TimeoutMs=1_000, **said)
    (topic,) = told[next(name for name in ("Topics", "Responses") if name in told)]
    assert topic["ErrorCode"] == 0, topic
    return topic


def create(run, name):
    topic = {
        "Name": name,
        "NumPartitions": 2,
        "ReplicationFactor": 1,
        "Assignments": (),
        "Configs": (),
    }
    return change_topic(run, CREATE_TOPICS, Topics=(topic,), ValidateOnly=False)["TopicId"]


def test_days_of_creating_and_deleting_topics_leave_no_logs(small):
    run = Producer()
    first = set(run.cluster.world.logs)
    for number in range(30):
        topic_id = create(run, f"t{number}")
        gone = {"Name": None, "TopicId": topic_id}
        change_topic(run, DELETE_TOPICS, Topics=(gone,))
    stays = create(run, "stays")
    for _ in range(20):
        use_id(run, "id")
    assert set(run.cluster.world.logs) == {*first, "stays-0", "stays-1"}
    change_topic(run, DELETE_TOPICS, Topics=({"Name": None, "TopicId": stays},))
    again = create(run, "stays")
    assert again != stays
    assert run.cluster.world.logs["stays-0"].end_offset == 0
    assert not any(served_cluster.MISTAKE in line for line in run.cluster.lines)


def commit_of(run, group):
    home = run.cluster.world.image.home_of("__consumer_offsets", group)
    part = {"PartitionIndex": 0, "CommittedOffset": 1, "CommittedMetadata": None}
    topic_id = dict(run.cluster.model.spec.topic_ids)["orders"]
    told = run.ask(
        run.cluster.world.image.leader_of(home),
        raw.OFFSET_COMMIT,
        GroupId=group,
        GenerationIdOrMemberEpoch=-1,
        MemberId="",
        Topics=({"TopicId": topic_id, "Partitions": (part,)},),
    )
    assert told["Topics"][0]["Partitions"][0]["ErrorCode"] == 0


def log_of(*producer_ids, name="orders-0"):
    log = PartitionLog(name)
    for sequence, producer_id in enumerate(producer_ids):
        log = append(
            log, Batch(log.end_offset, (DataRecord(f"v{sequence}"),), producer_id, 0, sequence)
        )
    return replicate(log)


def test_a_log_forgets_the_producers_that_wrote_longest_ago(small):
    log = log_of(1, 2, 3, 4, 5, 6, 2)
    assert list(forget_producers(log_of(1, 2, 3, 4, 5)).producers) == [1, 2, 3, 4, 5]
    known = forget_producers(log)
    assert list(known.producers) == [2, 5, 6]
    assert known.forgotten == ((1, 7), (3, 7), (4, 7))


def test_whoever_reads_a_log_again_forgets_the_same_producers(small):
    known = forget_producers(log_of(1, 2, 3, 4, 5, 6))
    later = append(known, Batch(6, (DataRecord("w"),), 1, 0, 9))
    assert list(later.producers) == [1, 4, 5, 6]
    unreplicated = append(later.but(high_watermark=7), Batch(7, (DataRecord("x"),), 7, 0, 0))
    assert list(rebuild(unreplicated).producers) == [1, 4, 5, 6]
    cut = delete_records(later, 7)
    assert list(cut.at_start.producers) == [1, 4, 5, 6]


def test_a_producer_with_an_open_transaction_is_not_forgotten(small):
    log = append(
        PartitionLog("orders-0"), Batch(0, (DataRecord("v"),), 9, 0, 0, transactional=True)
    )
    for producer_id in range(1, 8):
        log = append(log, Batch(log.end_offset, (DataRecord("v"),), producer_id, 0, 0))
    assert list(forget_producers(log).producers) == [5, 6, 7, 9]


def test_what_was_forgotten_is_noted_only_while_the_log_has_a_batch_of_it(small):
    log = forget_producers(log_of(1, 2, 3, 4, 5, 6))
    shorter = delete_records(log, 5).but(at_start=None)
    for producer_id in (7, 8, 9, 10, 11):
        batch = Batch(shorter.end_offset, (DataRecord("v"),), producer_id, 0, 0)
        shorter = append(shorter, batch)
    known = forget_producers(shorter)
    assert list(known.producers) == [9, 10, 11]
    assert [place[0] for place in known.forgotten] == [6, 7, 8]


def test_the_snapshots_of_unused_share_partitions_are_repeated_so_their_log_is_pruned(small):
    run = Producer()
    run.start()
    home = run.cluster.world.image.home_of("__consumer_offsets", "s")
    run.ask(
        run.cluster.world.image.leader_of(home),
        raw.SHARE_HEARTBEAT,
        GroupId="s",
        MemberId="m",
        MemberEpoch=0,
        SubscribedTopicNames=("orders",),
    )
    world = run.cluster.world
    (partition,) = (p for p, size in run.sizes().items() if p.startswith("__share_group_state"))
    log = world.logs[partition]
    assert log_cleaning.prune(log) is log
    later = expiry.repeat_snapshots(run.cluster.model, world, partition)
    cleaned = log_cleaning.prune(later.logs[partition])
    assert cleaned.start_offset == log.end_offset
    assert len(cleaned.batches) == 1
    states = [dict(pairs(r.states)) for k, r in pairs(later.roles) if k[2] == partition]
    assert [state.cold for each in states for state in each.values()] == [True]
    assert expiry.repeat_snapshots(run.cluster.model, later, partition) is later


# -- users' partitions --------------------------------------------------------------------------


def values(name, *texts):
    log = PartitionLog(name)
    for text in texts:
        log = append(log, Batch(log.end_offset, (DataRecord(text),)))
    return replicate(log)


def test_all_partitions_together_keep_so_many_bytes_and_the_largest_one_loses_half(monkeypatch):
    said = []
    kept = Retention(said.append, KeptBatches())
    logs = Table.of({"a-0": values("a-0", *"x" * 10), "b-0": values("b-0", *"y" * 4)})
    monkeypatch.setattr(retention, "BYTES_MAX", 14 * 351)
    assert kept.apply(logs) is logs
    assert said == []
    more = logs.set("b-0", append(logs["b-0"], Batch(4, (DataRecord("z" * 2),))))
    after = kept.apply(more)
    assert [after[name].start_offset for name in ("a-0", "b-0")] == [5, 0]
    assert len(after["a-0"].batches) == 5
    assert said == ["a-0 starts at offset 5 now: all partitions keep 0 MB"]
    assert kept.apply(after) is after


def test_a_partition_keeps_so_many_batches(monkeypatch):
    monkeypatch.setattr(retention, "BATCHES_MAX", 10)
    said = []
    kept = Retention(said.append, KeptBatches())
    logs = Table.of(
        {"a-0": values("a-0", *"x" * 10), "__consumer_offsets-0": values("c", *"y" * 30)}
    )
    assert kept.apply(logs) is logs
    after = kept.apply(logs.set("a-0", values("a-0", *"x" * 11)))
    assert after["a-0"].start_offset == 6
    assert len(after["__consumer_offsets-0"].batches) == 30
    assert said == ["a-0 starts at offset 6 now: a partition keeps 10 batches"]


@pytest.mark.parametrize(("most", "starts"), [(1_000, [0, 0]), (700, [0, 1])])
def test_an_open_transaction_keeps_its_records_and_the_other_logs_have_their_bound(
    monkeypatch, most, starts
):
    monkeypatch.setattr(retention, "BYTES_MAX", most)
    begun = Batch(0, (DataRecord("x"),), 7, 0, 0, transactional=True)
    held = append(PartitionLog("a-0"), begun)
    for text in "xxxx":
        held = append(held, Batch(held.end_offset, (DataRecord(text),)))
    logs = Table.of({"a-0": replicate(held), "b-0": values("b-0", *"yy")})
    after = Retention([].append, KeptBatches()).apply(logs)
    assert [after[name].start_offset for name in ("a-0", "b-0")] == starts


def test_a_value_that_is_not_ascii_counts_four_times():
    sizes = [bytes_of(Batch(0, (DataRecord(text),))) for text in ("", "aa", "€€")]
    assert sizes == [350, 352, 358]
    assert bytes_of(Batch(0, (DataRecord(""),) * 3)) == 550
    assert (
        bytes_of(Batch(0, (), 1, 0, control=COMMIT))
        == bytes_of(Batch(0, (), 1, 0, control=ABORT))
        == 250
    )


def test_a_log_that_went_back_is_counted_again(monkeypatch):
    monkeypatch.setattr(retention, "BYTES_MAX", 10 * 351)
    kept = Retention([].append, KeptBatches())
    logs = Table.of({"a-0": values("a-0", *"x" * 10)})
    assert kept.apply(logs) is logs
    shorter = Table.of({"a-0": values("a-0", *"y" * 3)})
    assert kept.apply(shorter) is shorter
    assert kept.apply(logs) is logs
    assert kept.apply(Table.of({"a-0": values("a-0", *"x" * 11)}))["a-0"].start_offset == 6


# -- by the clock -------------------------------------------------------------------------------


def test_long_polls_that_ended_early_are_forgotten(monkeypatch):
    monkeypatch.setattr(time_outs, "ENDED_MAX", 5)
    run = Producer()
    times = TimeOuts(run.cluster, by_clock=True)
    waits = run.cluster.connect(1)
    waits.wait_ms = 1_000_000
    times.look_at(waits)
    for _ in range(50):
        caller = run.cluster.connect(1)
        caller.wait_ms = 2_000_000
        times.look_at(caller)
        caller.wait_ms = -1
        times.look_at(caller)
        assert len(times._heap) <= 2 * 2 + 5
    assert times._heap[0][2] is waits
