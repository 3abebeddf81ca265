"""KIP-345: static members of a consumer group."""

from __future__ import annotations

from kipviz.kips.row import MODELLED, Kip, Row

TESTS = "brokers/membership/test_classic_static_members.py::"
KIP = Kip(
    345,
    "Introduce static membership protocol to reduce consumer rebalances",
    "shipped since 2.3",
    (
        Row(
            "Rolling bounce",
            "A static member that restarts gets its earlier assignment without a rebalance "
            "(SkipAssignment for the leader).",
            MODELLED,
            handler="brokers.membership.classic_membership.on_join_group",
            scenario="kip-345-restart",
            test=TESTS
            + "test_a_static_member_has_its_name_at_once_and_takes_its_place_without_a_rebalance",
            page="26-classic-groups",
        ),
        Row(
            "FENCED_INSTANCE_ID",
            "If two processes use one instance id, the coordinator fences every request of the older one.",
            MODELLED,
            handler="brokers.membership.classic_group.member_checks",
            scenario="kip-345-two-of-one",
            test=TESTS + "test_who_speaks_in_a_static_member_s_older_id_is_fenced",
            page="26-classic-groups",
        ),
        Row(
            "A static member that does not rejoin",
            "The coordinator keeps it until its session times out, and rejects its old generation.",
            MODELLED,
            handler="brokers.membership.classic_membership.on_timer",
            scenario="kip-447-generation",
            test=TESTS
            + "test_a_static_member_that_does_not_join_in_time_is_kept_and_counts_for_the_old_generation",
            page="26-classic-groups",
        ),
        Row(
            "No LeaveGroup",
            "A static member sends no LeaveGroup when it stops. An operator can remove it by its group.instance.id.",
            MODELLED,
            handler="brokers.membership.classic_membership.on_leave_group",
            scenario="kip-345-removed",
            test=TESTS + "test_an_operator_takes_a_static_member_out_by_its_name",
            page="26-classic-groups",
        ),
        Row(
            "removeMembersFromConsumerGroup, several members in one LeaveGroup",
            "An operator removes members by member id or by group.instance.id.",
            MODELLED,
            handler="brokers.membership.classic_membership.on_leave_group",
            scenario="kip-345-removed",
            test="brokers/groups/test_group_administration.py::test_several_members_go_in_one_request_and_the_group_rebalances_once",
            page="26-classic-groups",
        ),
    ),
)
