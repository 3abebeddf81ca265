"""KIP-664: tooling to detect and abort hanging transactions."""

from __future__ import annotations

from kipviz.kips.row import MODELLED, SIMPLIFIED, Kip, Row

KIP = Kip(
    664,
    "Tooling to detect and abort hanging transactions",
    "shipped since 3.0",
    (
        Row(
            "ListTransactions",
            "A broker names the transactional ids that it coordinates, by state, producer id, duration (KIP-994) and pattern (KIP-1152), and none that is DEAD.",
            MODELLED,
            "brokers.transactions.administration.listing",
            "kip-664-fence",
            "brokers/test_administration.py::test_a_list_has_what_passes_every_filter_and_never_the_dead",
            note="a duration is asked for on a timed clock only",
            page="65-operators-and-symptoms",
        ),
        Row(
            "DescribeTransactions",
            "A coordinator tells the state, the identity, the partitions without a marker, and when "
            "the transaction began.",
            MODELLED,
            "brokers.transactions.administration.on_describe_transactions",
            "kip-664-fence",
            "brokers/test_administration.py::test_a_description_has_what_the_coordinator_knows",
            note="how long ago it began on a timed clock, at which time where records carry it (stamps)",
            page="65-operators-and-symptoms",
        ),
        Row(
            "DescribeProducers",
            "The leader of a partition tells which producers its log knows, and what is open.",
            SIMPLIFIED,
            "brokers.transactions.administration.on_describe_producers",
            "kip-664-abort-not-hanging",
            "brokers/test_administration.py::"
            "test_the_producers_of_a_log_are_told_with_what_they_have_open",
            note="of the leader only; the time of the last record where records carry it (stamps)",
            page="65-operators-and-symptoms",
        ),
        Row(
            "kafka-transactions.sh find-hanging",
            "An open transaction hangs if no coordinator has its partition on its list.",
            SIMPLIFIED,
            "clients.operators.admin.find_hanging",
            "kip-664-hanging",
            "clients/test_admin.py::test_a_transaction_hangs_if_no_coordinator_will_end_it",
            note="without --max-transaction-timeout every open transaction is old enough; with one it takes "
            "times in records (stamps)",
            page="65-operators-and-symptoms",
        ),
        Row(
            "abortTransaction",
            "An operator's own ABORT marker is for one partition, with the epoch of its log and of transaction version 0; the coordinator is not asked.",
            MODELLED,
            "clients.operators.admin.abort_transaction",
            "kip-664-abort-not-hanging",
            "clients/test_admin.py::"
            "test_a_transaction_is_aborted_with_the_epoch_of_the_log_and_as_of_version_0",
            page="65-operators-and-symptoms",
        ),
        Row(
            "fenceProducers (KIP-360)",
            "An InitProducerId without a producer fences the producer that has the transactional id.",
            MODELLED,
            "clients.operators.admin.fence_producers",
            "kip-664-fence",
            "clients/test_admin.py::test_fencing_gives_the_identity_that_nobody_has_now",
            page="65-operators-and-symptoms",
        ),
        Row(
            "partition-level metric of late transactions",
            "A partition counts the transactions that are open for longer than they may be.",
            MODELLED,
            "views.measures.metrics.Metrics",
            test="views/test_late_transactions.py::"
            "test_a_partition_is_late_when_its_oldest_transaction_is_open_too_long",
            note="on a timed clock; of all brokers together",
            scenario="kip-664-late",
            page="65-operators-and-symptoms",
        ),
    ),
)
