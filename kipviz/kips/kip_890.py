"""KIP-890: transactions server-side defense."""

from __future__ import annotations

from kipviz.kips.row import MODELLED, Kip, Row

KIP = Kip(
    890,
    "Transactions server-side defense",
    "shipped: part 1 since 3.6, part 2 (transaction version 2) since 4.0",
    (
        Row(
            "Part 2: the partition leader enlists itself",
            "The first batch of a transaction waits until the coordinator has enlisted the partition.",
            MODELLED,
            handler="brokers.partition_leader.on_produce",
            scenario="kip-1289-group-commit",
            test="brokers/test_partition_leader.py::test_the_first_batch_of_a_transaction_waits_until_the_partition_is_enlisted",
        ),
        Row(
            "Part 2: epoch bump with the decision",
            "EndTxn version 5 answers with the identity of the next transaction.",
            MODELLED,
            handler="brokers.transaction_coordinator.on_end_txn",
            scenario="kip-1289-group-commit",
            test="brokers/test_transaction_coordinator.py::test_a_commit_is_answered_with_the_next_identity_before_any_marker_is_written",
        ),
        Row(
            "Verification guard",
            "The coordinator's yes is void once a marker came by.",
            MODELLED,
            handler="brokers.partition_leader.on_enlisted",
            test="brokers/test_partition_leader.py::test_a_yes_that_comes_after_the_abort_marker_is_too_late",
        ),
        Row(
            "Epoch overflow",
            "At the last epoch the next producer id is taken at prepare and used at completion.",
            MODELLED,
            handler="brokers.transaction_metadata.record_of",
            scenario="kip-890-overflow",
            test="brokers/test_transaction_metadata.py::test_at_the_last_epoch_the_next_producer_id_is_taken_at_prepare_and_used_at_completion",
            page="20-kip-890",
        ),
        Row(
            "Part 1: verification of old clients",
            "A leader asks the coordinator whether the client has added the partition.",
            MODELLED,
            handler="brokers.transaction_metadata.verify_error",
            scenario="kip-890-hanging",
            test="brokers/test_older_transaction_versions.py::test_a_leader_asks_whether_the_client_has_added_its_partition",
            page="20-kip-890",
        ),
        Row(
            "Motivation: messages that arrive late",
            "A request of a connection that its client gave up may still be read by the broker.",
            MODELLED,
            handler="cluster.turn.Turn.lose",
            scenario="kip-890-hanging",
            test="scenarios/test_kip_890.py::test_a_late_batch_hangs_only_where_nobody_is_asked",
            page="20-kip-890",
        ),
        Row(
            "Motivation: one epoch for many transactions",
            "A late EndTxn, or a late record, may be taken for one of the next transaction.",
            MODELLED,
            handler="brokers.transaction_metadata.end_txn_error_below_5",
            scenario="kip-890-late-commit",
            test="scenarios/test_kip_890.py::test_a_late_commit_ends_the_next_transaction_only_where_both_have_one_epoch",
            page="20-kip-890",
        ),
        Row(
            "Motivation: a late record of an aborted transaction",
            "What lands behind its marker is ended by the next marker of the same producer id.",
            MODELLED,
            handler="brokers.partition_log.append",
            scenario="kip-890-late-record",
            test="scenarios/test_kip_890.py::test_a_late_record_is_committed_with_the_next_transaction_where_nobody_is_asked",
            page="20-kip-890",
        ),
        Row(
            "Part 2: a retry of EndTxn is told from a new one",
            "One epoch behind and the same outcome is a retry; another outcome is an error.",
            MODELLED,
            handler="brokers.transaction_metadata.is_end_txn_retry",
            scenario="kip-890-too-late",
            test="scenarios/test_kip_890.py::test_a_commit_after_the_time_out_is_never_a_success",
            page="20-kip-890",
        ),
        Row(
            "Upgrade and downgrade of clients",
            "A client learns the level with a new connection and changes between two transactions; the "
            "way up bumps its epoch first.",
            MODELLED,
            handler="clients.producer.connected",
            scenario="kip-890-upgrade",
            test="clients/test_older_transaction_versions.py::test_the_version_changes_between_two_transactions_and_the_way_up_bumps_the_epoch",
            page="20-kip-890",
        ),
    ),
)
