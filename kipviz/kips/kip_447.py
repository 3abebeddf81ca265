"""KIP-447: producer scalability for exactly once semantics."""

from __future__ import annotations

from kipviz.kips.row import MODELLED, OPEN, SIMPLIFIED, Kip, Row

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
            page="25-kip-447-and-1319",
        ),
        Row(
            "OffsetFetch: wait for pending offsets",
            "Whoever wants stable offsets is told UNSTABLE_OFFSET_COMMIT while some are pending.",
            MODELLED,
            handler="brokers.group_coordinator.on_offset_fetch",
            scenario="kip-447-race",
            test="brokers/test_group_coordinator.py::test_a_pending_offset_hides_the_committed_one_from_whoever_wants_stable_offsets",
            page="25-kip-447-and-1319",
        ),
        Row(
            "Motivation: one producer per partition fences by its name",
            "What there was before: initTransactions() under the task's transactional id.",
            MODELLED,
            handler="brokers.transaction_coordinator.on_init_producer_id",
            scenario="kip-447-task-ids",
            test="scenarios/test_verdicts.py::test_the_verdict_of_a_story_under_a_design",
            page="25-kip-447-and-1319",
        ),
        Row(
            "Motivation and Rejected Alternatives, counted",
            "Objects, connections and requests per task, per thread, and from a pool.",
            SIMPLIFIED,
            handler="studies.producers.scaling",
            test="studies/test_producers.py::test_a_producer_per_task_grows_with_the_partitions_and_one_per_thread_does_not",
            note="several transactional ids in one producer are not built",
        ),
        Row(
            "Compatibility: two rolling bounces",
            "A version in between that is fenced by name and by member.",
            MODELLED,
            handler="brokers.consumer_group.commit_error",
            scenario="kip-447-two-bounces",
            test="scenarios/test_verdicts.py::test_the_verdict_of_a_story_under_a_design",
            page="25-kip-447-and-1319",
        ),
        Row(
            "Two drafts: the group id as a producer config; initTransactions(consumer)",
            "In whose name offsets go out, and what a reader of pending offsets is told.",
            SIMPLIFIED,
            handler="designs.group_options.as_it_was_at_init",
            scenario="kip-447-group-id-only",
            test="designs/test_group_options.py::test_what_a_reader_of_a_pending_offset_is_told",
            note="InitProducerId does not carry the group, and the transaction coordinator keeps no "
            "generation; the 10 s time-out is a setting of the producer",
            page="25-kip-447-and-1319",
        ),
        Row(
            "Offsets beside the transaction",
            "commitSync() after commitTransaction(): at least once.",
            MODELLED,
            handler="brokers.group_coordinator.on_offset_commit",
            scenario="kip-447-offsets-beside",
            test="brokers/test_offset_commit.py::test_an_offset_is_committed_at_once_in_the_name_of_a_member",
        ),
        Row(
            "COORDINATOR_LOAD_IN_PROGRESS for old consumers (draft)",
            "Who does not know PendingTransactionException is told to wait for the coordinator.",
            MODELLED,
            handler="designs.group_options.pending_to_new_loading_to_old",
            test="designs/test_group_options.py::test_old_and_new_clients_wait_and_ask_again",
        ),
        Row(
            "inter.broker.protocol.version as the gate (draft)",
            "Brokers first, then clients: a newer request is refused until all brokers know it.",
            OPEN,
            note="brokers of one cluster are of one release here",
        ),
        Row(
            "Generations of the classic protocol",
            "JoinGroup, SyncGroup, ILLEGAL_GENERATION while a group rebalances.",
            OPEN,
            note="members join by KIP-848 only; version 5 says ILLEGAL_GENERATION for a stale epoch",
        ),
        Row(
            "Both halves are needed",
            "Without the member check or without the wait a zombie's pause does harm.",
            MODELLED,
            handler="studies.zombies.pauses",
            scenario="kip-447-race",
            test="studies/test_zombies.py::test_each_half_closes_a_window_of_its_own",
            page="25-kip-447-and-1319",
        ),
        Row(
            "ConsumerGroupMetadata with the group's id only",
            "Without a member nobody is checked, and a zombie commits.",
            MODELLED,
            handler="brokers.consumer_group.commit_error",
            scenario="kip-447-group-id-only",
            test="brokers/test_consumer_group.py::test_who_may_commit",
            page="25-kip-447-and-1319",
        ),
    ),
)
