"""KIP-709: extend OffsetFetch requests to accept multiple group ids."""

from __future__ import annotations

from kipviz.kips.row import MODELLED, SIMPLIFIED, Kip, Row

TESTS = "brokers/test_offsets_of_groups.py::test_"
PAGE = "28-groups-that-change"

KIP = Kip(
    709,
    "Extend OffsetFetch requests to accept multiple group ids",
    "shipped since 3.0",
    (
        Row(
            "OffsetFetch version 8: an array of groups",
            "Each group has its offsets and an error of its own; a group that is not there has neither.",
            MODELLED,
            handler="brokers.groups.offset_fetches.on_offset_fetch",
            scenario="kip-709-offsets-of-three",
            test=TESTS + "one_response_has_the_offsets_and_the_error_of_each_group",
            page=PAGE,
            note="with all topics (null), as the tools ask; a consumer asks for one partition of its own group",
        ),
        Row(
            "RequireStable beside it (KIP-447)",
            "A pending offset is UNSTABLE_OFFSET_COMMIT of its partition, which the admin client leaves out.",
            MODELLED,
            handler="clients.operators.several_groups.sort_results",
            scenario="kip-709-offsets-of-three",
            test=TESTS + "what_is_not_stable_is_in_no_list_and_in_no_error",
            page=PAGE,
        ),
        Row(
            "FindCoordinator version 4: an array of keys",
            "The coordinators of several groups are looked up in one request.",
            SIMPLIFIED,
            handler="cluster.topic_authorization.narrowed",
            scenario="kip-709-offsets-of-three",
            test=TESTS + "the_groups_of_one_coordinator_go_together",
            page=PAGE,
            note="looked up at once, as everywhere here: there is no request",
        ),
        Row(
            "Compatibility: brokers below version 8",
            "The client asks for one group at a time, and for RequireStable only since version 7.",
            MODELLED,
            handler="messages.cluster.releases.takes_several",
            scenario="kip-709-old-coordinator",
            test=TESTS + "an_old_coordinator_is_asked_for_one_group_at_a_time",
            page=PAGE,
            note="broker by broker; Kafka's client stops asking together for the rest of the call",
        ),
    ),
)
