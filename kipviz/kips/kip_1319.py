"""KIP-1319: TxnOffsetCommit with topic ids."""

from __future__ import annotations

from kipviz.kips.row import MODELLED, Kip, Row

KIP = Kip(
    1319,
    "TxnOffsetCommit with topic ids",
    "shipped since 4.4",
    (
        Row(
            "Public Interfaces: TxnOffsetCommit version 6",
            "The request has topic ids instead of names, and errors of its own.",
            MODELLED,
            handler="messages.groups.groups.TxnOffsetCommit",
            scenario="kip-1319-by-id",
            test="messages/test_wire_recorded.py::test_every_field_is_kafkas_version_by_version",
            page="25-groups-in-a-transaction-kip-447-and-1319",
        ),
        Row(
            "Broker-Side: topic ID resolution",
            "The coordinator rejects unknown ids first (UNKNOWN_TOPIC_ID), then topics that may "
            "not be read, then unknown partitions.",
            MODELLED,
            handler="brokers.groups.offset_topics.unknown_partitions",
            scenario="kip-1319-remade",
            test="cluster/real/test_rights_by_id.py::test_the_id_is_resolved_then_the_right_is_asked_for_then_the_partition",
            page="25-groups-in-a-transaction-kip-447-and-1319",
        ),
        Row(
            "Broker-Side: error mapping",
            "Since version 6 the errors are GROUP_ID_NOT_FOUND and STALE_MEMBER_EPOCH; before, it "
            "is ILLEGAL_GENERATION.",
            MODELLED,
            handler="brokers.groups.group_coordinator.error_for_version",
            scenario="kip-1319-stale-v5",
            page="25-groups-in-a-transaction-kip-447-and-1319",
            test="brokers/groups/test_offset_topics.py::test_up_to_version_5_there_is_one_error_for_every_wrong_epoch",
        ),
        Row(
            "Broker-Side: error mapping, version 6",
            "A member with an old epoch receives STALE_MEMBER_EPOCH; the producer handles it like ILLEGAL_GENERATION.",
            MODELLED,
            handler="brokers.membership.consumer_group.commit_checks",
            scenario="kip-1319-stale",
            test="scenarios/shipped/test_stale_offsets.py::test_the_same_offsets_are_refused_in_the_words_of_their_version",
            page="25-groups-in-a-transaction-kip-447-and-1319",
        ),
        Row(
            "Broker-Side: persisting topic IDs",
            "OffsetCommitValue version 4 contains the topic id. An offset with another id is ignored.",
            MODELLED,
            handler="brokers.groups.offset_fetches.on_offset_fetch",
            scenario="kip-1319-by-id",
            test="brokers/groups/test_offset_topics.py::test_the_id_is_kept_with_the_offset_also_when_it_came_by_name",
            page="25-groups-in-a-transaction-kip-447-and-1319",
        ),
        Row(
            "Producer-Side: topic ID resolution",
            "The producer looks up topics within max.block.ms, and drops them after metadata.max.idle.ms.",
            MODELLED,
            handler="clients.transactions.topic_ids.missing",
            scenario="kip-1319-by-id",
            test="clients/sending/test_topic_ids.py::test_the_first_commit_waits_for_the_id_and_the_second_does_not",
            page="25-groups-in-a-transaction-kip-447-and-1319",
        ),
        Row(
            "Producer-Side: fallback",
            "If one id is missing, the whole request uses names, in version 5.",
            MODELLED,
            handler="clients.transactions.topic_ids.build_request",
            scenario="kip-1319-remade-v5",
            test="clients/sending/test_topic_ids.py::test_a_request_is_built_by_ids_or_as_a_whole_by_names",
            page="25-groups-in-a-transaction-kip-447-and-1319",
        ),
        Row(
            "Compatibility: transaction version 1",
            "Requests have version 4 at most and use names, so a re-created topic is not detected.",
            MODELLED,
            handler="clients.transactions.topic_ids.build_request",
            scenario="kip-1319-remade-tv1",
            test="clients/sending/test_topic_ids.py::test_below_transaction_version_2_the_id_is_looked_up_and_not_sent",
            page="25-groups-in-a-transaction-kip-447-and-1319",
        ),
        Row(
            "Producer-Side: error handling",
            "The producer retries after UNKNOWN_TOPIC_ID. The other two errors end the transaction.",
            MODELLED,
            handler="clients.sending.producer.on_timer",
            scenario="kip-1319-remade",
            test="clients/sending/test_topic_ids.py::test_what_ends_the_transaction_waits_behind_offsets_that_nobody_waits_for",
            note="a producer that waits for the id of a deleted topic can neither commit nor "
            "abort: found with this row (finding 1319-A)",
            page="25-groups-in-a-transaction-kip-447-and-1319",
        ),
        Row(
            "What an id protects against",
            "An id that is looked up after the topic was re-created protects against nothing: exactly once is broken.",
            MODELLED,
            handler="clients.transactions.topic_ids.build_request",
            scenario="kip-1319-remade-first",
            test="scenarios/test_verdicts.py::test_the_verdict_of_a_story_under_a_design[kip-1319-remade-first-kafka]",
            page="25-groups-in-a-transaction-kip-447-and-1319",
        ),
        Row(
            "Rejected Alternatives: names alongside ids",
            "A request with both is redundant and ambiguous.",
            MODELLED,
            scenario="kip-1319-both",
            handler="designs.options.group_options.names_too",
            test="designs/test_topic_names.py::test_a_name_beside_the_id_takes_away_what_the_id_protects_from",
            note="that the name wins where they disagree is our inference",
            page="27-how-zombies-are-kept-out-kip-447",
        ),
        Row(
            "Rejected Alternatives: two versions instead of one",
            "Version 6 brings the new errors, version 7 the ids.",
            MODELLED,
            scenario="kip-1319-two-versions",
            handler="clients.transactions.topic_ids.build_request",
            test="designs/test_topic_names.py::"
            "test_a_release_between_two_versions_says_what_is_wrong_and_loses_what_an_id_would_save",
            page="27-how-zombies-are-kept-out-kip-447",
            note="that a release supports only version 6 is our inference: otherwise there is no difference",
        ),
    ),
)
