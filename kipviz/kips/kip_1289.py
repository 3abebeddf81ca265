"""KIP-1289: transactional acknowledgements for share groups."""

from __future__ import annotations

from kipviz.kips.row import MODELLED, Kip, Row

KIP = Kip(
    1289,
    "Transactional acknowledgements for share groups",
    "draft",
    (
        Row(
            "Flow - Share Group: TxnShareAcknowledge",
            "Acknowledgements are staged at the share-partition leader through the producer.",
            MODELLED,
            handler="brokers.share_partition_leader.on_txn_share_acknowledge",
            scenario="kip-1289-share-commit",
            test="brokers/test_share_partition_leader.py::test_a_vote_is_promised_when_it_is_durable_and_then_pins_the_record",
            page="40-kip-1289",
        ),
        Row(
            "Markers resolve staged records",
            "Commit makes them acknowledged, abort gives them back.",
            MODELLED,
            handler="brokers.share_partition_leader.on_marker",
            scenario="kip-1289-share-abort",
            test="brokers/test_share_coordinator.py::test_a_marker_makes_of_a_vote_what_it_says",
            page="40-kip-1289",
        ),
        Row(
            "Corner case 6: lock expiry",
            "What becomes of a staged record when its lock runs out.",
            MODELLED,
            handler="brokers.share_partition_leader.on_lock_expiry",
            scenario="kip-1289-lock-expiry",
            test="brokers/test_share_partition_leader.py::test_a_staged_record_cannot_be_acquired_nor_acknowledged_nor_released_with_its_member",
            page="40-kip-1289",
        ),
        Row(
            "Pseudo code: sendShareAcknowledgementsToTransaction",
            "The loop of an application.",
            MODELLED,
            handler="clients.producer.send_share_acknowledgements",
            scenario="kip-1289-share-commit",
            test="clients/test_producer.py::test_staging_alone_starts_the_transaction",
            page="40-kip-1289",
        ),
    ),
)
