"""KIP-939: support participation in 2PC."""

from __future__ import annotations

from kipviz.kips.row import MODELLED, Kip, Row

PRODUCER = "clients/transactions/test_two_phase_producer.py::test_"
BROKER = "brokers/transactions/test_two_phase.py::test_"
PAGE = "60-commit-with-a-database-kip-939"
STORES = "scenarios/drafts/test_kip_939.py::test_"

KIP = Kip(
    939,
    "Support participation in 2PC",
    "accepted; client and schema since 4.1 (version 6 unstable), keepPreparedTxn not merged",
    (
        Row(
            "transaction.two.phase.commit.enable (producer)",
            "A producer in a two-phase commit sends Enable2Pc, and its transaction has no time limit.",
            MODELLED,
            "clients.transactions.transaction_manager.init_transactions",
            test=PRODUCER + "a_producer_of_a_two_phase_commit_asks_for_no_time_limit",
            page="60-commit-with-a-database-kip-939",
            scenario="kip-939-dual-write",
        ),
        Row(
            "transaction.two.phase.commit.enable (broker)",
            "If it is false, the response to Enable2Pc is TRANSACTIONAL_ID_AUTHORIZATION_FAILED.",
            MODELLED,
            "brokers.transactions.two_phase.request_checks",
            test=BROKER + "a_broker_allows_two_phase_commit_only_if_its_operator_does",
            scenario="kip-939-not-allowed",
            page=PAGE,
        ),
        Row(
            "No transaction time-out",
            "The coordinator stores a timeout of 2147483647. transaction.max.timeout.ms does not "
            "apply, and no scan aborts the transaction.",
            MODELLED,
            "brokers.transactions.transaction_coordinator.why_no_timeout",
            "kip-939-dual-write",
            BROKER + "a_transaction_of_a_two_phase_commit_has_no_time_limit_and_others_keep_theirs",
            page=PAGE,
        ),
        Row(
            "prepareTransaction()",
            "The producer flushes, enters PREPARED_TRANSACTION, and returns a PreparedTxnState. "
            "Preparing itself sends no request.",
            MODELLED,
            "clients.sending.producer.prepare_transaction",
            "kip-939-dual-write",
            STORES + "preparing_is_known_to_the_client_alone",
            page=PAGE,
        ),
        Row(
            "PreparedTxnState",
            "It holds the producer id and epoch. As a text it is 'pid:epoch', or empty if there is none.",
            MODELLED,
            "clients.transactions.prepared_txn_state.PreparedTxnState",
            test=PRODUCER + "a_prepared_state_is_read_as_it_was_written",
            page="60-commit-with-a-database-kip-939",
            scenario="kip-939-dual-write",
        ),
        Row(
            "completeTransaction(state)",
            "The producer commits if the state is that of the prepared transaction. Otherwise it aborts.",
            MODELLED,
            "clients.sending.producer.complete_transaction",
            "kip-939-undone",
            PRODUCER
            + "a_prepared_transaction_commits_if_the_stored_state_is_its_own_and_else_aborts",
            page=PAGE,
        ),
        Row(
            "initTransactions(keepPreparedTxn) of a release",
            "Every release returns UNSUPPORTED_VERSION.",
            MODELLED,
            "designs.options.two_phase_options.not_served",
            "kip-939-released-only",
            STORES + "a_release_refuses_to_keep_so_the_program_of_the_kip_does_not_start",
            page=PAGE,
        ),
        Row(
            "InitProducerId with KeepPreparedTxn",
            "An open transaction stays open. The response contains its identity and a new identity "
            "that may end it; the coordinator logs the new one.",
            MODELLED,
            "brokers.transactions.two_phase.keep_transaction",
            "kip-939-dual-write",
            BROKER + "a_kept_transaction_stays_as_it_is_and_its_next_owner_is_logged",
            page=PAGE,
            note="draft (pull request 21735); the epoch of the markers is our inference",
        ),
        Row(
            "Fencing of the previous owner of a kept transaction",
            "The previous owner cannot end the transaction. Leaders still accept its batches for "
            "partitions in the transaction.",
            MODELLED,
            "brokers.transactions.transaction_checks.end_txn_checks",
            "kip-939-still-writing",
            STORES + "keeping_a_transaction_does_not_keep_its_writer_out_of_it",
            note="draft; the text does not say so about batches, it follows from Kafka's checks: our inference",
            page="60-commit-with-a-database-kip-939",
        ),
        Row(
            "Epoch bump when a kept transaction is complete",
            "The next epoch is higher than the one that ended the transaction, so a late EndTxn has no effect.",
            MODELLED,
            "brokers.transactions.two_phase.decision_of_kept",
            test=BROKER
            + "a_late_copy_of_that_end_cannot_touch_the_next_transaction_unless_the_epoch_is_not_bumped",
            note="draft (pull request 21735)",
            scenario="kip-939-late-end",
            page=PAGE,
        ),
        Row(
            "Epoch overflow of a kept transaction",
            "A new producer id becomes the identity that may end the transaction.",
            MODELLED,
            "designs.options.two_phase_options.next_epoch",
            test=BROKER + "at_the_last_epoch_a_kept_transaction_is_ended_by_a_fresh_producer_id",
            note="draft (pull request 21735)",
            scenario="kip-939-last-epoch",
            page=PAGE,
        ),
        Row(
            "Dual write",
            "The application writes the state to the database together with the data. The "
            "database's commit decides, and Kafka follows.",
            MODELLED,
            "clients.transactions.external_database.commit",
            "kip-939-dual-write",
            STORES
            + "when_the_database_decides_no_crash_of_the_application_tears_the_two_stores_apart",
            page=PAGE,
        ),
        Row(
            "Admin.forceTerminateTransaction",
            "It ends a transaction that has no time limit: the admin client sends InitProducerId, which aborts it.",
            MODELLED,
            "clients.operators.admin.fence_producers",
            "kip-939-force-terminate",
            STORES + "an_operator_who_ends_a_prepared_transaction_can_tear_the_two_stores_apart",
            page=PAGE,
        ),
        Row(
            "ListTransactions, describe: how long a transaction is open",
            "A description contains the start timestamp from the transaction's record.",
            MODELLED,
            "brokers.transactions.administration.on_describe_transactions",
            "kip-994-who-takes-long",
            "brokers/administration/test_administration.py::test_where_records_carry_their_time_an_operator_is_told_it",
            note="on a timed clock",
            page="65-operators-and-symptoms",
        ),
        Row(
            "The order of KIP-1310 4.5",
            "Kafka commits before the database, and nothing records the decision.",
            MODELLED,
            "scenarios.applications.programs.KAFKA_FIRST_UNDOES",
            "kip-1310-kafka-first",
            STORES + "when_kafka_goes_first_and_nothing_is_written_down_neither_recovery_is_right",
            page=PAGE,
            note="a rival order; its text does not say how to recover, so both recoveries are our inference",
        ),
        Row(
            "Transaction versions 0 and 1",
            "A two-phase commit is allowed there. The text does not say whether a transaction can be kept.",
            MODELLED,
            "brokers.transactions.two_phase.request_checks",
            test=BROKER + "a_release_asks_for_no_transaction_version_and_keeps_in_none",
            note="4.4.0 rejects keepPreparedTxn under every transaction version, before it looks at the timeout; that the draft keeps a transaction under version 2 only is our inference",
            scenario="kip-939-version-1",
            page=PAGE,
        ),
        Row(
            "Several transactions of a database at once, several writers",
            "Each transaction has its own prepared state.",
            MODELLED,
            "clients.transactions.external_database.take_over_rows",
            "kip-939-two-at-once",
            "clients/transactions/test_shared_database.py::test_two_transactions_of_one_database_have_a_state_each",
            note="that the database has a place for each transactional id is our inference",
            page=PAGE,
        ),
        Row(
            "A writer that the database must reject",
            "Kafka's epochs fence a writer only in Kafka. A database has to compare its writers itself.",
            MODELLED,
            "clients.transactions.external_database.why_stale",
            "kip-939-database-fences",
            "clients/transactions/test_shared_database.py::"
            "test_whom_kafka_has_fenced_the_database_refuses_if_it_knows_its_writer",
            note="our inference",
            page="60-commit-with-a-database-kip-939",
        ),
        Row(
            "A writer that the database does not reject",
            "Without that check the database commits what Kafka has aborted.",
            MODELLED,
            "clients.transactions.external_database.commit",
            "kip-939-database-lets-in",
            "clients/transactions/test_shared_database.py::"
            "test_a_database_that_does_not_know_its_writer_commits_what_kafka_has_aborted",
            note="our inference",
            page="60-commit-with-a-database-kip-939",
        ),
        Row(
            "ACL operation TWO_PHASE_COMMIT",
            "A principal needs it in addition to WRITE on the transactional id, but only for enable2Pc.",
            MODELLED,
            "brokers.authorizer.needs_of",
            test="brokers/test_authorizer.py::"
            "test_only_a_transaction_without_a_time_limit_needs_a_right_of_its_own",
            page="65-operators-and-symptoms",
            scenario="pain-refused-at-start",
        ),
    ),
)
