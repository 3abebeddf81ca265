"""KIP-709: extend OffsetFetch requests to accept multiple group ids."""

from __future__ import annotations

from kipviz.kips.row import MODELLED, SIMPLIFIED, Kip, Row

TESTS = "brokers/groups/test_offsets_of_groups.py::test_"
PAGE = "28-groups-that-change"

KIP = Kip(
    709,
    "Extend OffsetFetch requests to accept multiple group ids",
    "shipped since 3.0",
    (
        Row(
            "OffsetFetch version 8: an array of groups",
            "Each group has its own offsets and its own error. A group that does not exist has neither.",
            MODELLED,
            handler="brokers.groups.offset_fetches.on_offset_fetch",
            scenario="kip-709-offsets-of-three",
            test=TESTS + "one_response_has_the_offsets_and_the_error_of_each_group",
            page=PAGE,
            note="the tools ask for all topics (null); a consumer asks for one partition of its own group",
        ),
        Row(
            "RequireStable (KIP-447) for several groups",
            "A partition with a pending offset gets UNSTABLE_OFFSET_COMMIT, and the admin client leaves it out.",
            MODELLED,
            handler="clients.operators.several_groups.sort_results",
            scenario="kip-709-offsets-of-three",
            test=TESTS + "what_is_not_stable_is_in_no_list_and_in_no_error",
            page=PAGE,
        ),
        Row(
            "FindCoordinator version 4: an array of keys",
            "One request looks up the coordinators of several groups.",
            SIMPLIFIED,
            handler="brokers.kafka_apis.on_find_coordinator",
            test="brokers/test_coordinator_lookup.py::test_each_key_has_its_own_coordinator_or_its_own_error",
            page=PAGE,
            note="real clients of a served cluster send it; the model's operators look up coordinators at once",
        ),
        Row(
            "Compatibility: brokers below version 8",
            "The client asks for one group at a time. It can ask for RequireStable only since version 7.",
            MODELLED,
            handler="messages.cluster.releases.takes_several",
            scenario="kip-709-old-coordinator",
            test=TESTS + "an_old_coordinator_is_asked_for_one_group_at_a_time",
            page=PAGE,
            note="decided for each broker; Kafka's client stops batching for the rest of the call",
        ),
    ),
)
