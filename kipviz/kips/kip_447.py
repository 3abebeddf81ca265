"""KIP-447: producer scalability for exactly once semantics."""

from __future__ import annotations

from kipviz.kips.row import MODELLED, Kip, Row

KIP = Kip(
    447,
    "Producer scalability for exactly once semantics",
    "shipped since 2.5",
    (
        Row(
            "Fence by the group: TxnOffsetCommit carries the member",
            "The group coordinator refuses offsets of a member that is none any more.",
            MODELLED,
            handler="brokers.group_coordinator.on_txn_offset_commit",
            scenario="kip-447-zombie",
            test="brokers/test_group_coordinator.py::test_the_member_is_checked_once_the_partition_is_enlisted",
        ),
        Row(
            "OffsetFetch: wait for pending offsets",
            "Whoever wants stable offsets is told UNSTABLE_OFFSET_COMMIT while some are pending.",
            MODELLED,
            handler="brokers.group_coordinator.on_offset_fetch",
            scenario="kip-447-race",
            test="brokers/test_group_coordinator.py::test_a_pending_offset_hides_the_committed_one_from_whoever_wants_stable_offsets",
        ),
        Row(
            "Both halves are needed",
            "Without the member check or without the wait a zombie's pause does harm.",
            MODELLED,
            handler="studies.zombies.pauses",
            scenario="kip-447-race",
            test="studies/test_zombies.py::test_each_half_closes_a_window_of_its_own",
        ),
        Row(
            "ConsumerGroupMetadata with the group's id only",
            "Without a member nobody is checked, and a zombie commits.",
            MODELLED,
            handler="brokers.consumer_group.commit_error",
            scenario="kip-447-group-id-only",
            test="brokers/test_consumer_group.py::test_who_may_commit",
        ),
    ),
)
