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
            "A broker lists the transactional ids that it coordinates, filtered by state, producer "
            "id, duration (KIP-994) and pattern (KIP-1152). It never lists one that is DEAD.",
            MODELLED,
            "brokers.transactions.administration.listing",
            "kip-664-fence",
            "brokers/administration/test_administration.py::test_a_list_has_what_passes_every_filter_and_never_the_dead",
            note="the duration filter is used only on a timed clock",
            page="65-operators-and-symptoms",
        ),
        Row(
            "DescribeTransactions",
            "The coordinator returns the state, the producer id and epoch, the partitions without "
            "a marker, and when the transaction began.",
            MODELLED,
            "brokers.transactions.administration.on_describe_transactions",
            "kip-664-fence",
            "brokers/administration/test_administration.py::test_a_description_has_what_the_coordinator_knows",
            note="on a timed clock it returns how long ago the transaction began; where records "
            "have timestamps (stamps), the time itself",
            page="65-operators-and-symptoms",
        ),
        Row(
            "DescribeProducers",
            "The leader of a partition returns the producers in its log and their open transactions.",
            SIMPLIFIED,
            "brokers.transactions.administration.on_describe_producers",
            "kip-664-abort-not-hanging",
            "brokers/administration/test_administration.py::"
            "test_the_producers_of_a_log_are_told_with_what_they_have_open",
            note="only from the leader; the time of the last record only where records have timestamps (stamps)",
            page="65-operators-and-symptoms",
        ),
        Row(
            "kafka-transactions.sh find-hanging",
            "An open transaction hangs if no coordinator lists its partition.",
            SIMPLIFIED,
            "clients.operators.admin.find_hanging",
            "kip-664-hanging",
            "clients/operators/test_admin.py::test_a_transaction_hangs_if_no_coordinator_will_end_it",
            note="without --max-transaction-timeout every open transaction is old enough; the "
            "option needs records with timestamps (stamps)",
            page="65-operators-and-symptoms",
        ),
        Row(
            "abortTransaction",
            "An operator's ABORT marker is for one partition. It has the epoch in that log and "
            "transaction version 0, and no coordinator is involved.",
            MODELLED,
            "clients.operators.admin.abort_transaction",
            "kip-664-abort-not-hanging",
            "clients/operators/test_admin.py::"
            "test_a_transaction_is_aborted_with_the_epoch_of_the_log_and_as_of_version_0",
            page="65-operators-and-symptoms",
        ),
        Row(
            "fenceProducers (KIP-360)",
            "An admin client sends InitProducerId, which fences the producer with that transactional id.",
            MODELLED,
            "clients.operators.admin.fence_producers",
            "kip-664-fence",
            "clients/operators/test_admin.py::test_fencing_gives_the_identity_that_nobody_has_now",
            page="65-operators-and-symptoms",
        ),
        Row(
            "partition-level metric of late transactions",
            "A partition counts the transactions that have been open for longer than allowed.",
            MODELLED,
            "views.measures.metrics.Metrics",
            test="views/measures/test_late_transactions.py::"
            "test_a_partition_is_late_when_its_oldest_transaction_is_open_too_long",
            note="on a timed clock; summed over all brokers",
            scenario="kip-664-late",
            page="65-operators-and-symptoms",
        ),
    ),
)
