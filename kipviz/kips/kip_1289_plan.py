"""KIP-1289, Test Plan: every row judges its own test, and names the design."""

from __future__ import annotations

from kipviz.kips.row import MODELLED, SIMPLIFIED, Row

TEST_PLAN = (
    Row(
        "Test Plan: Unit Tests, state transitions on commit",
        "In the repaired design a record goes from ACQUIRED to TX_PENDING to ACKNOWLEDGED.",
        MODELLED,
        handler="brokers.share_leaders.share_partition.stage",
        scenario="kip-1289-share-commit",
        test="conformance/test_kip_1289_plan.py::test_unit_state_transitions_from_acquired_to_acknowledged_on_commit",
        page="45-review-of-a-draft-kip-1289",
    ),
    Row(
        "Test Plan: Unit Tests, state transitions on abort",
        "In the repaired design a record goes from ACQUIRED to TX_PENDING to AVAILABLE.",
        MODELLED,
        handler="brokers.share_leaders.share_partition.stage",
        scenario="kip-1289-share-abort",
        test="conformance/test_kip_1289_plan.py::test_unit_state_transitions_to_available_on_abort",
        page="40-share-groups-in-a-transaction-kip-1289",
    ),
    Row(
        "Test Plan: Unit Tests, idempotency",
        "The repaired design accepts a staging that is sent again. Under finding K it is rejected.",
        MODELLED,
        handler="brokers.share_leaders.share_partition.stage",
        scenario="kip-1289-share-commit",
        test="conformance/test_kip_1289_plan.py::test_unit_idempotency_of_a_staging_that_is_sent_again",
        page="45-review-of-a-draft-kip-1289",
    ),
    Row(
        "Test Plan: Unit Tests, time-out and auto-abort",
        "In the repaired design the coordinator aborts a transaction that times out, and its "
        "record becomes available again.",
        MODELLED,
        handler="brokers.transactions.transaction_coordinator.on_timeout",
        scenario="kip-1289-corner-7",
        test="conformance/test_kip_1289_plan.py::test_unit_transaction_timeout_and_auto_abort",
        page="45-review-of-a-draft-kip-1289",
    ),
    Row(
        "Test Plan: Integration Tests, end-to-end commit",
        "In the repaired design the outputs are committed once.",
        MODELLED,
        handler="brokers.transactions.transaction_coordinator.on_end_txn",
        scenario="kip-1289-share-commit",
        test="conformance/test_kip_1289_plan.py::test_integration_end_to_end_commit_flow",
        page="45-review-of-a-draft-kip-1289",
    ),
    Row(
        "Test Plan: Integration Tests, end-to-end abort",
        "In the repaired design no output is committed.",
        MODELLED,
        handler="brokers.transactions.transaction_coordinator.on_end_txn",
        scenario="kip-1289-share-abort",
        test="conformance/test_kip_1289_plan.py::test_integration_end_to_end_abort_flow",
        page="40-share-groups-in-a-transaction-kip-1289",
    ),
    Row(
        "Test Plan: Integration Tests, coordinator recovery",
        "The transaction coordinator or the share coordinator crashes after the decision. The "
        "repaired design completes the transaction.",
        MODELLED,
        handler="brokers.transactions.transaction_coordinator.on_end_txn",
        scenario="kip-1289-share-commit",
        test="conformance/test_kip_1289_plan.py::test_integration_coordinator_recovery",
        page="45-review-of-a-draft-kip-1289",
    ),
    Row(
        "Test Plan: Integration Tests, several consumers in a network partition",
        "The other member continues to read. The staged record of the isolated member is acknowledged afterwards.",
        MODELLED,
        handler="brokers.transactions.transaction_coordinator.on_end_txn",
        scenario="kip-1289-share-commit",
        test="conformance/test_kip_1289_plan.py::test_integration_multi_consumer_behavior_within_a_single_group_during_network_partitions",
        page="45-review-of-a-draft-kip-1289",
    ),
    Row(
        "Test Plan: System & Performance Tests",
        "A transactional acknowledgement costs more messages, bytes and appends than a plain one, "
        "but no more writes of share state.",
        SIMPLIFIED,
        handler="studies.test_plan.cost.bills",
        scenario="kip-1289-share-commit",
        test="conformance/test_kip_1289_plan.py::test_system_and_performance_transactional_against_non_transactional_modes",
        note="messages, records and bytes are counted; times are critical paths under stated round "
        "trips and flushes, not benchmarks",
        page="45-review-of-a-draft-kip-1289",
    ),
    Row(
        "Test Plan: System & Performance Tests, exactly-once delivery",
        "In the repaired design six random runs of two members deliver exactly once.",
        MODELLED,
        handler="brokers.share_leaders.share_partition.stage",
        scenario="kip-1289-two-members",
        test="conformance/test_kip_1289_plan.py::test_system_verifies_exactly_once_delivery",
        page="90-campaigns",
    ),
    Row(
        "Test Plan: Chaos Tests, as written",
        "As written no run with one crash around PREPARE_COMMIT is exactly once: the source's "
        "leader loses the acknowledgement, or the lock frees the record.",
        MODELLED,
        handler="studies.test_plan.chaos.sweep",
        scenario="kip-1289-share-commit",
        test="conformance/test_kip_1289_plan.py::test_chaos_as_the_text_has_it_no_run_is_exactly_once",
        page="45-review-of-a-draft-kip-1289",
    ),
    Row(
        "Test Plan: Chaos Tests",
        "In the repaired design no crash of one broker at any step around PREPARE_COMMIT breaks exactly once.",
        MODELLED,
        handler="studies.test_plan.chaos.sweep",
        scenario="kip-1289-share-commit",
        test="conformance/test_kip_1289_plan.py::test_chaos_every_broker_crashes_at_every_step_around_prepare_commit",
        page="45-review-of-a-draft-kip-1289",
    ),
)
