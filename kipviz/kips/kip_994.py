"""KIP-994: minor enhancements to ListTransactions and DescribeTransactions."""

from __future__ import annotations

from kipviz.kips.row import MODELLED, SIMPLIFIED, Kip, Row

BROKER = "brokers/administration/test_administration.py::test_"

KIP = Kip(
    994,
    "Minor enhancements to ListTransactions and DescribeTransactions",
    "shipped since 3.8",
    (
        Row(
            "DurationFilter",
            "The list has the transactional ids whose last transaction began at least that long ago.",
            MODELLED,
            "brokers.transactions.administration.listing",
            "kip-994-who-takes-long",
            BROKER + "a_filter_for_a_duration_looks_at_the_last_beginning",
            note="on a timed clock; like Kafka, it also lists transactional ids that never had a transaction",
            page="65-operators-and-symptoms",
        ),
        Row(
            "TransactionStartTimeMs, and how the tool uses it",
            "A description contains when the transaction began. The tool shows how long it has been open.",
            SIMPLIFIED,
            "brokers.transactions.administration.on_describe_transactions",
            "kip-994-who-takes-long",
            "views/explanations/test_stamps.py::test_an_operator_is_told_times_in_words_and_in_bytes",
            note="only where records have timestamps (stamps)",
            page="65-operators-and-symptoms",
        ),
    ),
)
