"""KIP-360: improve reliability of idempotent and transactional producer."""

from __future__ import annotations

from kipviz.kips.row import MODELLED, Kip, Row

KIP = Kip(
    360,
    "Improve reliability of idempotent and transactional producer",
    "shipped since 2.5",
    (
        Row(
            "InitProducerId with the expected id and epoch",
            "A producer that recovers says who it was; a repeated request gets the same answer.",
            MODELLED,
            handler="brokers.transactions.transaction_metadata.next_identity",
            test="brokers/test_transaction_metadata.py::test_a_repeated_init_producer_id_gives_the_same_epoch_both_times",
            page="15-producer-ids-and-epochs-kip-98",
            scenario="kip-360-fenced-by-nobody",
        ),
        Row(
            "Fencing of an older instance",
            "An older instance is fenced once another one has asked without an expectation.",
            MODELLED,
            handler="brokers.transactions.transaction_checks.init_producer_id_checks",
            test="brokers/test_transaction_metadata.py::test_an_older_instance_is_fenced_once_another_has_asked_without_an_expectation",
            page="10-transactions-kip-98",
            scenario="kip-98-zombie",
        ),
        Row(
            "The expected epoch after a failover",
            "The log cannot distinguish a retried request from a zombie's (KAFKA-20357).",
            MODELLED,
            handler="brokers.transactions.transaction_metadata.next_identity",
            scenario="kip-360-fenced-by-nobody",
            test="scenarios/test_late_and_restored.py::test_a_repeated_question_is_a_zombies_after_the_coordinator_moved",
            page="15-producer-ids-and-epochs-kip-98",
        ),
        Row(
            "Who asks for the next epoch",
            "Which call ends a transaction after a batch was lost; if the batch is lost later, none does, and the producer is unusable.",
            MODELLED,
            handler="clients.transactions.transaction_manager.on_answer",
            scenario="kip-360-nobody-asks",
            test="clients/test_older_transaction_versions.py::"
            "test_what_is_lost_while_the_transaction_ends_is_asked_for_by_nobody",
            page="20-requests-that-arrive-late-kip-890",
            note="found by reading the client of 4.4.0; no issue is known to us",
        ),
        Row(
            "The expected epoch in ONGOING",
            "With a transaction open only the producer id is compared, and the transaction aborted.",
            MODELLED,
            handler="brokers.transactions.transaction_checks.init_producer_id_checks",
            scenario="kip-360-stale-question",
            test="scenarios/test_late_and_restored.py::test_a_stale_question_ends_two_producers",
            page="15-producer-ids-and-epochs-kip-98",
        ),
    ),
)
