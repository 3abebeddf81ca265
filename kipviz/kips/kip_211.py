"""KIP-211: when the offsets of a consumer group are forgotten."""

from __future__ import annotations

from kipviz.kips.row import MODELLED, OPEN, SIMPLIFIED, Kip, Row

KIP = Kip(
    211,
    "Revise expiration semantics of consumer group offsets",
    "shipped since 2.1",
    (
        Row(
            "Offsets of an empty group",
            "They are forgotten when the group was without members for offsets.retention.minutes.",
            SIMPLIFIED,
            handler="brokers.group_retention.on_timer",
            scenario="kip-211-forgotten",
            test="brokers/test_group_retention.py::test_of_an_empty_group_everything_is_forgotten_and_of_offsets_alone_they_are",
            note="at any moment, on a timed clock too; offsets of one group expire together",
            page="26-classic-groups",
        ),
        Row(
            "A group with members keeps its offsets",
            "However long ago they were committed.",
            MODELLED,
            handler="brokers.group_retention.timers",
            test="brokers/test_group_retention.py::test_a_group_with_members_keeps_its_offsets_and_so_does_one_that_nothing_expires_of",
            page="26-classic-groups",
            scenario="kip-211-forgotten",
        ),
        Row(
            "The group goes with its last offset",
            "A tombstone for each record of it; what is pending in a transaction keeps it.",
            MODELLED,
            handler="brokers.group_retention.on_timer",
            scenario="kip-211-forgotten",
            test="brokers/test_group_retention.py::test_what_is_pending_stays_and_with_it_the_group",
            page="26-classic-groups",
        ),
        Row(
            "Offsets of topics that no member subscribes to any more",
            "They expire although the group has members.",
            OPEN,
            note="a subscription is one topic here and does not change",
        ),
        Row(
            "DeleteGroups, OffsetDelete",
            "An operator deletes a group, or offsets of it: also those that a transaction holds.",
            MODELLED,
            handler="brokers.group_administration.on_delete_groups",
            scenario="kip-229-deleted-in-flight",
            test="brokers/test_group_administration.py::test_a_group_goes_with_its_offsets_also_with_those_of_an_open_transaction",
            page="26-classic-groups",
        ),
    ),
)
