"""KIP-848: the next generation of the consumer rebalance protocol."""

from __future__ import annotations

from kipviz.kips.row import MODELLED, OPEN, SIMPLIFIED, Kip, Row

KIP = Kip(
    848,
    "The next generation of the consumer rebalance protocol",
    "shipped since 4.0",
    (
        Row(
            "Consumer Group Heartbeat",
            "Members join with epoch 0, live by heartbeats, and leave with epoch -1.",
            MODELLED,
            handler="brokers.group_membership.on_consumer_group_heartbeat",
            scenario="kip-848-rebalance",
            test="brokers/test_group_membership.py::test_a_member_joins_at_the_group_s_next_epoch",
            page="25-kip-447-and-1319",
        ),
        Row(
            "Assignment Process: the target",
            "The broker's assignor makes a target whenever the group's epoch goes up.",
            SIMPLIFIED,
            handler="brokers.consumer_group.uniform",
            scenario="kip-848-rebalance",
            test="brokers/test_consumer_group.py::test_partitions_are_shared_out_evenly_and_as_few_as_possible_move",
            note="uniform only, no range; in the heartbeat; 4.3 may make it up to a second later",
            page="25-kip-447-and-1319",
        ),
        Row(
            "Reconciliation of the group",
            "A partition is given only when whoever had it has given it up.",
            MODELLED,
            handler="brokers.consumer_group.reconciled",
            scenario="kip-848-rebalance",
            test="brokers/test_consumer_group.py::test_a_partition_is_given_only_when_the_other_one_has_let_go",
            page="25-kip-447-and-1319",
        ),
        Row(
            "Member Failures",
            "A member that is silent, or does not let go in time, is taken out.",
            MODELLED,
            handler="brokers.group_membership.on_timer",
            scenario="kip-848-rebalance",
            test="brokers/test_group_membership.py::test_a_silent_member_is_taken_out_and_the_group_goes_on",
            page="25-kip-447-and-1319",
        ),
        Row(
            "Member epochs fence",
            "FENCED_MEMBER_EPOCH to a heartbeat, STALE_MEMBER_EPOCH to offsets, UNKNOWN_MEMBER_ID to whoever is out.",
            MODELLED,
            handler="brokers.consumer_group.heartbeat_error",
            scenario="kip-447-zombie",
            test="brokers/test_consumer_group.py::test_a_heartbeat_has_the_member_s_epoch_or_the_one_before_it",
            page="25-kip-447-and-1319",
        ),
        Row(
            "Offsets in the name of a member",
            "The member's own epoch is good for every partition, whether it has it or not.",
            MODELLED,
            handler="brokers.consumer_group.commit_error",
            scenario="kip-848-no-listener",
            test="properties/test_promises.py::test_who_stages_offsets_is_a_member_that_has_the_partition",
            page="25-kip-447-and-1319",
        ),
        Row(
            "max.poll.interval.ms at the client",
            "Who is not polled in time says epoch -1 by itself, is STALE, and joins again in poll().",
            MODELLED,
            handler="clients.group_consumer.on_missed_poll",
            scenario="kip-848-polls-too-late",
            test="clients/test_late_polls.py::test_a_member_of_kip_848_says_epoch_minus_1_and_does_not_wait_for_the_answer",
            page="26-classic-groups",
        ),
        Row(
            "ListGroups, DescribeGroups, ConsumerGroupDescribe",
            "An operator lists groups of every kind, and describes regular ones by either protocol.",
            SIMPLIFIED,
            handler="brokers.group_administration.on_consumer_group_describe",
            scenario="kip-345-removed",
            test="brokers/test_group_administration.py::test_a_group_of_kip_848_is_stable_when_every_member_is_where_it_is_to_be",
            page="26-classic-groups",
            note="one group in a request; from the newest state, replicated or not",
        ),
        Row(
            "Static members",
            "A name is released with epoch -2 (UNRELEASED_INSTANCE_ID until then), and who is back has its place.",
            MODELLED,
            handler="brokers.static_members.instance_error",
            scenario="kip-848-static",
            test="brokers/test_static_members.py::test_who_is_back_takes_its_place_under_a_new_id_and_the_group_stays_at_its_epoch",
            page="26-classic-groups",
        ),
        Row(
            "group.consumer.max.size",
            "A full group takes nobody in; who is in it, by its id or its static name, stays.",
            MODELLED,
            handler="brokers.group_membership.on_consumer_group_heartbeat",
            test="brokers/test_group_membership.py::"
            "test_a_full_group_takes_nobody_in_and_keeps_whom_it_has_also_by_a_static_name",
            note="a setting of brokers; since KAFKA-20601 a static name has its place, which group.max.size of the classic "
            "protocol does not know (KIP-62)",
        ),
        Row(
            "Subscriptions of several topics, and others than before",
            "A new subscription is a new epoch of the group; members may want different topics.",
            MODELLED,
            handler="brokers.subscriptions.is_new",
            scenario="kip-211-unsubscribed",
            test="brokers/test_subscriptions.py::test_another_subscription_brings_the_group_to_its_next_epoch_and_the_same_one_does_not",
            page="28-groups-that-change",
        ),
        Row(
            "SubscribedTopicRegex, INVALID_REGULAR_EXPRESSION",
            "A member brings an expression, and the broker finds the topics for it.",
            SIMPLIFIED,
            handler="brokers.subscriptions.resolved",
            scenario="kip-848-regex",
            test="brokers/test_subscriptions.py::test_an_expression_stands_for_the_topics_whose_whole_name_it_matches",
            note="resolved in the heartbeat that brings it or finds other topics, where Kafka does so in the background; topics "
            "that a member may not describe are not left out",
            page="28-groups-that-change",
        ),
        Row(
            "Racks",
            "A member says in which rack it is, and may be given partitions near to it.",
            OPEN,
            note="RackId is in no heartbeat here",
        ),
        Row(
            "Client Side Assignor: PrepareAssignment, InstallAssignment",
            "A member makes the target in place of the broker.",
            OPEN,
            note="never shipped: 4.4.0 has no such requests, and its documentation says that client-side assignors are "
            "not supported (KAFKA-18327)",
        ),
    ),
)
