"""KIP-211: when the offsets of a consumer group are deleted."""

from __future__ import annotations

from kipviz.kips.row import MODELLED, Kip, Row

KIP = Kip(
    211,
    "Revise expiration semantics of consumer group offsets",
    "shipped since 2.1",
    (
        Row(
            "Offsets of an empty group",
            "They expire once the group has had no members for offsets.retention.minutes.",
            MODELLED,
            handler="brokers.groups.group_retention.is_counted_together",
            scenario="kip-211-idle-classic",
            test="brokers/groups/test_group_retention.py::test_of_an_empty_classic_group_everything_is_forgotten_at_once",
            note="classic protocol; on a timed clock the period starts when the group becomes "
            "empty, without a clock it may end at any moment; the next check comes up to "
            "offsets.retention.check.interval.ms later",
            page="28-groups-that-change",
        ),
        Row(
            "Offsets of a KIP-848 group, and offsets without a group",
            "The period starts at each offset's own commit, even if the group has been empty for only a moment.",
            MODELLED,
            handler="brokers.groups.group_retention.timers",
            scenario="kip-211-idle-modern",
            test="brokers/groups/test_group_retention.py::test_of_a_group_of_kip_848_and_of_offsets_alone_each_offset_is_forgotten_by_itself",
            note="found by reading 4.4.0: KIP-848 does not store when a group became empty; we know of no issue",
            page="28-groups-that-change",
        ),
        Row(
            "A group with members keeps its offsets",
            "Offsets do not expire while the group has members, no matter when they were committed.",
            MODELLED,
            handler="brokers.groups.group_retention.timers",
            test="brokers/groups/test_group_retention.py::test_a_group_with_members_keeps_its_offsets_and_so_does_one_that_nothing_expires_of",
            page="26-classic-groups",
            scenario="kip-211-forgotten",
        ),
        Row(
            "The group is deleted with its last offset",
            "The coordinator writes a tombstone for each record of the group. An offset that is "
            "pending in a transaction keeps the group alive.",
            MODELLED,
            handler="brokers.groups.group_retention.on_timer",
            scenario="kip-211-forgotten",
            test="brokers/groups/test_group_retention.py::test_what_is_pending_stays_and_with_it_the_group",
            page="26-classic-groups",
        ),
        Row(
            "Offsets of topics that no member subscribes to any more",
            "They expire even though the group has members.",
            MODELLED,
            handler="brokers.groups.group_retention.on_timer",
            scenario="kip-211-unsubscribed",
            test="brokers/groups/test_group_retention.py::test_of_a_topic_that_nobody_subscribes_to_offsets_are_forgotten_and_the_group_stays",
            page="28-groups-that-change",
        ),
        Row(
            "DeleteGroups, OffsetDelete",
            "An operator deletes a group or some of its offsets, including offsets that are pending in a transaction.",
            MODELLED,
            handler="brokers.groups.group_administration.on_delete_groups",
            scenario="kip-229-deleted-in-flight",
            test="brokers/groups/test_group_administration.py::test_a_group_goes_with_its_offsets_also_with_those_of_an_open_transaction",
            page="26-classic-groups",
        ),
    ),
)
