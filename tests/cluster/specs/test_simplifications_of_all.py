"""What is in every cluster, whatever its profile: for each row a test that shows what the model has instead of Kafka's behaviour."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.cluster.spec_checks.spec_check import check
from kipviz.cluster.specs.simplifications import ALWAYS, Simplification
from kipviz.cluster.specs.spec import BadSpec, Placement
from kipviz.driving.cluster import Cluster
from kipviz.messages.cluster.metadata import Metadata
from kipviz.messages.events import MessageDelivered
from kipviz.messages.logs.producing import Fetch, FetchResponse
from kipviz.scenarios.bases import CLUSTERS, process
from tests.cluster.specs.test_simplifications import goes_on, group, list_sent, share

TESTS = Path(__file__).parents[2]
HERE = "cluster/specs/test_simplifications_of_all.py"

# By Kafka's setting or class: the test that shows the simple value, and the other one where a field has it.
SHOWN = {
    "all timeouts": "cluster/timing/test_clock.py::test_a_lock_runs_out_when_its_time_is_over_and_not_before",
    "message.timestamp.type": "cluster/timing/test_record_timestamps.py::test_without_being_asked_for_no_record_carries_a_time",
    "retry.backoff.ms": "cluster/timing/test_clock.py::test_a_sender_rests_with_a_timed_clock_only",
    "isolation.level": "clients/groups/test_member_isolation.py::"
    "test_a_process_s_consumer_has_the_level_of_its_spec_however_it_joins",
    "buffer.memory": "clients/sending/test_several_in_flight.py::test_send_waits_for_room_and_goes_on_when_a_batch_is_through",
    "transactional.id.expiration.ms": "brokers/transactions/test_transactional_id_expiration.py::"
    "test_without_the_setting_nothing_expires",
    "offsets.retention.minutes": "brokers/groups/test_group_retention.py::"
    "test_a_group_with_members_keeps_its_offsets_and_so_does_one_that_nothing_expires_of",
    "producer.id.expiration.ms": "cluster/timing/test_producer_expiry.py::test_without_the_setting_no_log_forgets_anybody",
    "share.coordinator.state.topic.prune.interval.ms": "brokers/share_coordinators/test_share_upkeep.py::"
    "test_without_the_setting_no_job_comes",
    "group.share.assignment.interval.ms": "brokers/membership/test_share_membership.py::"
    "test_a_group_of_nobody_has_the_target_of_its_own_epoch_and_no_one_waits_for_the_next",
    "log.retention.ms": "brokers/logs/test_log_retention.py::test_it_takes_times_in_records_and_is_off_unless_it_is_set",
    "auto.create.topics.enable": "brokers/administration/test_created_by_lookups.py::"
    "test_without_the_setting_a_lookup_creates_nothing",
    "Metadata, FindCoordinator": f"{HERE}::test_a_client_sends_to_the_leader_of_the_moment_and_asks_nobody_who_that_is",
    "FetchSessionHandler": f"{HERE}::test_each_fetch_names_every_partition_of_a_broker",
    "InFlightBatch": f"{HERE}::test_records_that_were_acquired_together_stand_alone",
    "ReplicaFetcherThread": f"{HERE}::test_all_followers_have_a_record_at_once",
    "group.protocol": f"{HERE}::test_a_group_of_two_protocols_is_refused",
}


def test_every_row_has_a_test_that_shows_what_there_is_instead() -> None:
    assert [row.setting for row in ALWAYS] == list(SHOWN)


@pytest.mark.parametrize("row", ALWAYS, ids=lambda row: row.setting)
def test_the_test_of_a_row_is_there(row: Simplification) -> None:
    file, _, name = SHOWN[row.setting].partition("::")
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_a_client_sends_to_the_leader_of_the_moment_and_asks_nobody_who_that_is() -> None:
    """Kafka's client learns of the new leader from an error or from Metadata (NOT_LEADER_OR_FOLLOWER)."""
    cluster = goes_on(Cluster(group()), 1)
    cluster.take("src-0 moves to B4")
    goes_on(cluster, 2)
    fetched = [
        event.broker
        for event in cluster.events
        if isinstance(event, MessageDelivered) and isinstance(event.message, Fetch)
    ]
    assert (fetched[0], fetched[-1]) == (5, 4)
    assert list_sent(cluster, Metadata) == []


def test_each_fetch_names_every_partition_of_a_broker() -> None:
    """Kafka's consumer names those that changed since the last request of its fetch session, and fetches ahead."""
    cluster = goes_on(Cluster(group(protocol="consumer", max_records=1)), 10)
    asked = [tuple(p.partition for p in fetch.partitions) for fetch in list_sent(cluster, Fetch)]
    assert ("src-0", "src-1") in asked, asked
    first = next(
        answer for answer in list_sent(cluster, FetchResponse) if answer.responses[0].records
    )
    assert [len(part.records) for part in first.responses] == [2, 2]
    again = list_sent(cluster, Fetch)[list_sent(cluster, FetchResponse).index(first) + 1]
    assert [p.partition for p in again.partitions] == ["src-0", "src-1"]


def test_records_that_were_acquired_together_stand_alone() -> None:
    """Kafka's share-partition has one InFlightBatch for them until one of them differs."""
    cluster = goes_on(Cluster(share(max_records=2)), 1)
    leaders = [role for role in cluster.world.roles.values() if isinstance(role, ShareLeader)]
    (held,) = (share.records for leader in leaders for share in leader.shares.values())
    assert list(held) == [100, 101]


def test_all_followers_have_a_record_at_once() -> None:
    """Each follower of Kafka's fetches for itself, so one may be behind the other."""
    base = CLUSTERS["regular-group"]
    placements = tuple(
        p.but(others=(3, 5)) if p.partition == "__transaction_state-45" else p
        for p in base.placements
    )
    assert Placement("__transaction_state-45", 1, (3, 5)) in placements
    spec = base.but(
        placements=placements,
        applications=(process("group-member", "app-1"),),
        replication="stepwise",
    )
    cluster = Cluster(spec)
    cluster.take("app-1 goes on").until("InitProducerId arrives at B1")
    log = cluster.world.logs["__transaction_state-45"]
    assert log.high_watermark < log.end_offset
    cluster.take("__transaction_state-45 is replicated")
    log = cluster.world.logs["__transaction_state-45"]
    assert log.high_watermark == log.end_offset


def test_a_group_of_two_protocols_is_refused() -> None:
    """Kafka's group may go from classic to consumer while members of both are in it (KIP-848)."""
    both = tuple(
        process("group-member", f"app-{n}", protocol=p)
        for n, p in ((1, "classic"), (2, "consumer"))
    )
    with pytest.raises(BadSpec, match="either all members of a group join it, by one protocol"):
        check(CLUSTERS["two-partitions"].but(applications=both))
