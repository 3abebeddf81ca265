"""KIP-994: minor enhancements to ListTransactions and DescribeTransactions."""

from __future__ import annotations

from kipviz.kips.row import MODELLED, SIMPLIFIED, Kip, Row

BROKER = "brokers/test_administration.py::test_"

KIP = Kip(
    994,
    "Minor enhancements to ListTransactions and DescribeTransactions",
    "shipped since 3.8",
    (
        Row(
            "DurationFilter",
            "A list has the transactional ids whose last transaction began that long ago.",
            MODELLED,
            "brokers.transactions.administration.listing",
            "kip-994-who-takes-long",
            BROKER + "a_filter_for_a_duration_looks_at_the_last_beginning",
            note="on a timed clock; Kafka lists what never had a transaction as well, and so does this",
            page="65-operators-and-symptoms",
        ),
        Row(
            "TransactionStartTimeMs, and what the tool makes of it",
            "A description has when the transaction began; the tool shows for how long it runs.",
            SIMPLIFIED,
            "brokers.transactions.administration.on_describe_transactions",
            "kip-994-who-takes-long",
            BROKER + "a_description_says_how_long_ago_the_transaction_began",
            note="how long ago, up to an hour; the time itself where records carry it (stamps)",
            page="65-operators-and-symptoms",
        ),
    ),
)
