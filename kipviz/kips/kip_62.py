"""KIP-62: heartbeats of a consumer from a background thread; the classic group protocol."""

from __future__ import annotations

from kipviz.kips.row import MODELLED, OPEN, SIMPLIFIED, Kip, Row

KIP = Kip(
    62,
    "Allow consumer to send heartbeats from a background thread (the classic group protocol)",
    "shipped since 0.10.1",
    (
        Row(
            "JoinGroup",
            "Whoever comes begins a rebalance; it ends when everybody has joined again.",
            MODELLED,
            handler="brokers.classic_membership.on_join_group",
            scenario="kip-62-rebalance",
            test="brokers/test_classic_membership.py::test_a_second_member_waits_until_the_first_has_joined_again",
        ),
        Row(
            "SyncGroup",
            "The leader brings the assignment; it is valid when the log has it.",
            MODELLED,
            handler="brokers.classic_membership.on_sync_group",
            scenario="kip-62-rebalance",
            test="brokers/test_classic_membership.py::test_the_assignment_is_valid_when_it_is_replicated",
        ),
        Row(
            "States of a group",
            "EMPTY, PREPARING_REBALANCE, COMPLETING_REBALANCE, STABLE, DEAD, and from where each is entered.",
            MODELLED,
            handler="brokers.classic_group.to",
            scenario="kip-62-rebalance",
            test="brokers/test_classic_group.py::test_a_state_is_entered_from_its_predecessors_only",
        ),
        Row(
            "Background heartbeats",
            "A member that waits or works is alive; REBALANCE_IN_PROGRESS tells it to join again.",
            MODELLED,
            handler="brokers.classic_membership.on_heartbeat",
            scenario="kip-62-in-the-middle",
            test="brokers/test_classic_membership.py::test_a_heartbeat_tells_that_the_group_rebalances",
        ),
        Row(
            "Session time-out",
            "Who is not heard of is out, and the others rebalance.",
            MODELLED,
            handler="brokers.classic_membership.on_timer",
            scenario="kip-62-rebalance",
            test="brokers/test_classic_membership.py::test_a_silent_member_is_taken_out_and_the_others_rebalance",
        ),
        Row(
            "max.poll.interval.ms as rebalance time-out",
            "Who lives but does not join in time is out, too.",
            MODELLED,
            handler="brokers.classic_membership.on_timer",
            scenario="kip-62-too-slow",
            test="brokers/test_classic_membership.py::test_the_group_goes_on_without_who_does_not_join_in_time",
        ),
        Row(
            "max.poll.interval.ms at the client",
            "A consumer that does not poll in time leaves its group by itself.",
            OPEN,
            note="the coordinator's rebalance time-out is there",
        ),
        Row(
            "The leader's assignment",
            "One consumer, not the broker, says who gets what.",
            SIMPLIFIED,
            handler="clients.classic_consumer.ranges",
            scenario="kip-62-rebalance",
            test="clients/test_classic_consumer.py::test_the_leader_gives_ranges_in_the_order_of_ids",
            note="range alone, for one topic; INCONSISTENT_GROUP_PROTOCOL cannot come up",
        ),
        Row(
            "Eager rebalancing",
            "Everything is given up in poll(), before JoinGroup.",
            MODELLED,
            handler="clients.classic_consumer.poll",
            scenario="kip-62-in-the-middle",
            test="clients/test_classic_consumer.py::test_everything_is_given_up_before_joining_again",
        ),
        Row(
            "MEMBER_ID_REQUIRED (KIP-394)",
            "A new member is given a name and has to come again with it.",
            MODELLED,
            handler="brokers.classic_membership.on_join_group",
            scenario="kip-62-rebalance",
            test="brokers/test_classic_membership.py::test_who_has_no_name_gets_one_and_has_to_come_again",
        ),
        Row(
            "group.initial.rebalance.delay.ms (KIP-134)",
            "An empty group waits for more members before its first generation.",
            MODELLED,
            handler="brokers.classic_membership.on_delay",
            scenario="kip-62-rebalance",
            test="brokers/test_classic_membership.py::test_an_empty_group_waits_once_more_when_somebody_else_has_joined",
        ),
        Row(
            "The group in __consumer_offsets",
            "One record with the whole group; a new coordinator goes on from the last one.",
            MODELLED,
            handler="brokers.classic_group.loaded",
            scenario="kip-62-coordinator-gone",
            test="brokers/test_classic_membership.py::test_a_new_coordinator_goes_on_from_the_last_generation_in_the_log",
        ),
        Row(
            "Cooperative rebalancing (KIP-429), other assignors",
            "Members keep what they will get back.",
            OPEN,
            note="eager only",
        ),
    ),
)
