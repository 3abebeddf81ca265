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
            "A recovering producer sends its previous producer id and epoch. A retried request "
            "gets the same response.",
            MODELLED,
            handler="brokers.transactions.transaction_metadata.next_identity",
            test="brokers/transactions/test_transaction_metadata.py::test_a_repeated_init_producer_id_gives_the_same_epoch_both_times",
            page="15-producer-ids-and-epochs-kip-98",
            scenario="kip-360-fenced-by-nobody",
        ),
        Row(
            "Fencing of an older instance",
            "An older instance is fenced as soon as another one sends InitProducerId without an "
            "expected id and epoch.",
            MODELLED,
            handler="brokers.transactions.transaction_checks.init_producer_id_checks",
            test="brokers/transactions/test_transaction_metadata.py::test_an_older_instance_is_fenced_once_another_has_asked_without_an_expectation",
            page="10-transactions-kip-98",
            scenario="kip-98-zombie",
        ),
        Row(
            "The expected epoch after a failover",
            "The log cannot distinguish a retried request from a zombie's (KAFKA-20357).",
            MODELLED,
            handler="brokers.transactions.transaction_metadata.next_identity",
            scenario="kip-360-fenced-by-nobody",
            test="scenarios/kip_1289/test_late_and_restored.py::test_a_repeated_question_is_a_zombies_after_the_coordinator_moved",
            page="15-producer-ids-and-epochs-kip-98",
        ),
        Row(
            "The request for the next epoch",
            "Below transaction version 2 a client that ends a transaction after losing a batch "
            "also requests its next epoch. If the batch is lost only while the transaction is "
            "ending, no request is sent, and the producer becomes unusable.",
            MODELLED,
            handler="clients.transactions.transaction_manager.on_answer",
            scenario="kip-360-nobody-asks",
            test="clients/transactions/test_older_transaction_versions.py::"
            "test_what_is_lost_while_the_transaction_ends_is_asked_for_by_nobody",
            page="20-requests-that-arrive-late-kip-890",
            note="found by reading the client of 4.4.0; we know of no issue",
        ),
        Row(
            "The expected epoch in ONGOING",
            "While a transaction is open the coordinator compares only the producer id, and aborts the transaction.",
            MODELLED,
            handler="brokers.transactions.transaction_checks.init_producer_id_checks",
            scenario="kip-360-stale-question",
            test="scenarios/kip_1289/test_late_and_restored.py::test_a_stale_question_ends_two_producers",
            page="15-producer-ids-and-epochs-kip-98",
        ),
    ),
)
