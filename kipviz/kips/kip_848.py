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
            "Members join with epoch 0, stay in the group by heartbeats, and leave with epoch -1.",
            MODELLED,
            handler="brokers.membership.group_membership.on_consumer_group_heartbeat",
            scenario="kip-848-rebalance",
            test="brokers/membership/test_group_membership.py::test_a_member_joins_with_epoch_0_lives_by_heartbeats_and_leaves_with_epoch_minus_1",
            page="25-groups-in-a-transaction-kip-447-and-1319",
        ),
        Row(
            "Assignment Process: the target",
            "The broker's assignor computes a new target assignment whenever the group epoch is bumped.",
            SIMPLIFIED,
            handler="brokers.membership.consumer_group.uniform",
            scenario="kip-848-rebalance",
            test="brokers/membership/test_consumer_group.py::test_partitions_are_shared_out_evenly_and_as_few_as_possible_move",
            note="only the uniform assignor, not range; computed in the heartbeat that needs it, "
            "not in the background",
            page="25-groups-in-a-transaction-kip-447-and-1319",
        ),
        Row(
            "KIP-1263: group.consumer.assignment.interval.ms",
            "A group keeps its target assignment for an interval. Consumers that join meanwhile become members, and the coordinator computes one target for all of them.",
            MODELLED,
            handler="brokers.membership.assignment_interval.on_delay",
            scenario="kip-1263-interval",
            test="brokers/membership/test_group_membership.py::"
            "test_a_target_is_kept_for_the_assignment_interval_and_the_next_one_is_for_all_who_came",
            page="28-groups-that-change",
            note="without the setting the target is computed at once, and so it is by a new "
            "coordinator; not for share groups",
        ),
        Row(
            "Reconciliation of the group",
            "A partition is assigned only after its previous owner has revoked it.",
            MODELLED,
            handler="brokers.membership.consumer_group.reconcile",
            scenario="kip-848-rebalance",
            test="brokers/membership/test_consumer_group.py::test_a_partition_is_given_only_when_the_other_one_has_let_go",
            page="25-groups-in-a-transaction-kip-447-and-1319",
        ),
        Row(
            "Member Failures",
            "The coordinator removes a member that sends no heartbeat, or does not revoke its partitions in time.",
            MODELLED,
            handler="brokers.membership.group_membership.on_timer",
            scenario="kip-848-rebalance",
            test="brokers/membership/test_group_membership.py::test_a_silent_member_is_taken_out_and_the_group_goes_on",
            page="25-groups-in-a-transaction-kip-447-and-1319",
        ),
        Row(
            "Member epochs fence",
            "A heartbeat has to carry the member's epoch, or the previous one if the member owns "
            "only what it may have, or 0 to rejoin. Otherwise it gets FENCED_MEMBER_EPOCH.",
            MODELLED,
            handler="brokers.membership.consumer_group.heartbeat_check",
            scenario="kip-447-zombie",
            test="brokers/membership/test_consumer_group.py::test_a_heartbeat_has_the_member_s_epoch_or_the_one_before_it",
            page="25-groups-in-a-transaction-kip-447-and-1319",
        ),
        Row(
            "Offsets committed by a member",
            "The member's epoch is accepted even for a partition that the member has lost. Without "
            "a rebalance listener this breaks exactly once.",
            MODELLED,
            handler="brokers.membership.consumer_group.commit_checks",
            scenario="kip-848-no-listener",
            test="scenarios/test_verdicts.py::test_the_verdict_of_a_story_under_a_design[kip-848-no-listener-kafka]",
            page="25-groups-in-a-transaction-kip-447-and-1319",
        ),
        Row(
            "max.poll.interval.ms at the client",
            "A consumer that does not poll in time leaves with epoch -1, becomes STALE, and rejoins in poll().",
            MODELLED,
            handler="clients.groups.group_consumer.on_missed_poll",
            scenario="kip-848-polls-too-late",
            test="clients/groups/test_late_polls.py::test_a_member_of_kip_848_says_epoch_minus_1_and_does_not_wait_for_the_answer",
            page="26-classic-groups",
        ),
        Row(
            "ListGroups, DescribeGroups, ConsumerGroupDescribe",
            "An operator lists groups of every type, and describes regular groups of either protocol.",
            MODELLED,
            handler="brokers.groups.group_administration.on_consumer_group_describe",
            scenario="kip-345-removed",
            test="brokers/groups/test_group_administration.py::test_a_group_of_kip_848_is_stable_when_every_member_is_where_it_is_to_be",
            page="26-classic-groups",
        ),
        Row(
            "Several groups in one request",
            "ConsumerGroupDescribe, DescribeGroups, ShareGroupDescribe and DeleteGroups carry an "
            "array of groups, and each group has its own error.",
            MODELLED,
            handler="brokers.groups.several_groups.on_several_groups",
            scenario="kip-229-several",
            test="brokers/groups/test_several_groups.py::test_each_group_is_asked_of_its_own_coordinator_and_the_answer_waits_for_the_last",
            page="28-groups-that-change",
            note="so does OffsetFetch (KIP-709); the calls about share group offsets name one group",
        ),
        Row(
            "Static members",
            "A member releases its instance id with epoch -2; until then another member gets "
            "UNRELEASED_INSTANCE_ID. A restarted member takes its earlier place.",
            MODELLED,
            handler="brokers.membership.static_members.instance_check",
            scenario="kip-848-static",
            test="brokers/membership/test_static_members.py::test_who_is_back_takes_its_place_under_a_new_id_and_the_group_stays_at_its_epoch",
            page="26-classic-groups",
        ),
        Row(
            "Static members and their offsets",
            "A second process with the same instance id is rejected. Offset commits are checked by "
            "member id, not by instance id.",
            MODELLED,
            handler="brokers.membership.consumer_group.commit_checks",
            scenario="kip-848-two-of-one",
            test="brokers/membership/test_static_members.py::test_offsets_are_checked_by_the_member_s_id_and_not_by_its_name",
            page="28-groups-that-change",
            note="only heartbeats get FENCED_INSTANCE_ID; in the classic protocol offset commits "
            "get it, too (KIP-345)",
        ),
        Row(
            "group.consumer.max.size",
            "A full group accepts no new member. Existing members, known by member id or instance id, stay.",
            MODELLED,
            handler="brokers.membership.group_membership.on_consumer_group_heartbeat",
            scenario="kip-848-full",
            page="28-groups-that-change",
            test="brokers/membership/test_group_membership.py::"
            "test_a_full_group_takes_nobody_in_and_keeps_whom_it_has_also_by_a_static_name",
            note="a broker setting; since KAFKA-20601 a static member keeps its place by its "
            "instance id, which group.max.size of the classic protocol does not support "
            "(KIP-62)",
        ),
        Row(
            "Subscriptions to several topics, and changed ones",
            "A changed subscription bumps the group epoch. Members may subscribe to different topics.",
            MODELLED,
            handler="brokers.membership.subscriptions.is_new",
            scenario="kip-211-unsubscribed",
            test="brokers/membership/test_subscriptions.py::test_another_subscription_brings_the_group_to_its_next_epoch_and_the_same_one_does_not",
            page="28-groups-that-change",
        ),
        Row(
            "SubscribedTopicRegex, INVALID_REGULAR_EXPRESSION",
            "A member sends a regular expression, and the broker finds the matching topics.",
            SIMPLIFIED,
            handler="brokers.membership.subscriptions.regex_records",
            scenario="kip-848-regex",
            test="brokers/membership/test_subscriptions.py::test_an_expression_stands_for_the_topics_whose_whole_name_it_matches",
            note="resolved in the heartbeat that sends it or that finds other topics, where Kafka "
            "does it in the background; topics that the member may not describe are not left "
            "out",
            page="28-groups-that-change",
        ),
        Row(
            "Racks",
            "A member sends its rack when it joins. The log stores it, and a description contains it.",
            MODELLED,
            handler="brokers.membership.subscriptions.record_of",
            scenario="kip-848-racks",
            test="brokers/membership/test_subscriptions.py::test_a_rack_is_kept_with_the_subscription_and_another_one_is_no_new_epoch",
            page="28-groups-that-change",
            note="no assignor of 4.4 uses it; not modelled: replicas that move to other racks bump "
            "the group epoch (KIP-1101), and a consumer fetches from the closest replica "
            "(KIP-392)",
        ),
        Row(
            "Client Side Assignor: PrepareAssignment, InstallAssignment",
            "A member computes the target assignment in place of the broker.",
            OPEN,
            note="never shipped: 4.4.0 has no such requests, and its documentation says that client-side assignors are "
            "not supported (KAFKA-18327)",
        ),
    ),
)
