"""KIP-1319: TxnOffsetCommit with topic ids."""

from __future__ import annotations

from kipviz.kips.row import MODELLED, SIMPLIFIED, Kip, Row

KIP = Kip(
    1319,
    "TxnOffsetCommit with topic ids",
    "shipped since 4.4",
    (
        Row(
            "Public Interfaces: TxnOffsetCommit version 6",
            "Ids instead of names, and errors of their own.",
            MODELLED,
            handler="messages.wire.groups.TXN_OFFSET_COMMIT_REQUEST",
            scenario="kip-1319-by-id",
            test="messages/test_wire_recorded.py::test_every_field_is_kafkas_version_by_version",
        ),
        Row(
            "Broker-Side: topic ID resolution",
            "UNKNOWN_TOPIC_ID, then what may not be read, then the partition.",
            SIMPLIFIED,
            handler="brokers.group_coordinator.unresolved",
            scenario="kip-1319-remade",
            test="brokers/test_offset_topics.py::test_an_id_is_resolved_before_a_partition_is_looked_for",
            note="authorization is asked before either",
        ),
        Row(
            "Broker-Side: error mapping",
            "GROUP_ID_NOT_FOUND and STALE_MEMBER_EPOCH from version 6 on, ILLEGAL_GENERATION before.",
            MODELLED,
            handler="brokers.group_coordinator.spoken_in",
            test="brokers/test_offset_topics.py::test_up_to_version_5_there_is_one_error_for_every_wrong_epoch",
        ),
        Row(
            "Broker-Side: persisting topic IDs",
            "OffsetCommitValue version 4 has the id; an offset of another id is none.",
            MODELLED,
            handler="brokers.group_coordinator.on_offset_fetch",
            scenario="kip-1319-by-id",
            test="brokers/test_offset_topics.py::test_the_id_is_kept_with_the_offset_also_when_it_came_by_name",
        ),
        Row(
            "Producer-Side: topic ID resolution",
            "Topics are looked up within max.block.ms, and dropped after metadata.max.idle.ms.",
            MODELLED,
            handler="clients.topic_ids.missing",
            scenario="kip-1319-by-id",
            test="clients/test_topic_ids.py::test_the_first_commit_waits_for_the_id_and_the_second_does_not",
        ),
        Row(
            "Producer-Side: fallback",
            "One id missing: the whole request goes by names, in version 5.",
            MODELLED,
            handler="clients.topic_ids.named",
            scenario="kip-1319-remade-v5",
            test="clients/test_topic_ids.py::test_a_request_is_built_by_ids_or_as_a_whole_by_names",
        ),
        Row(
            "Producer-Side: error handling",
            "UNKNOWN_TOPIC_ID is tried again, the other two end the transaction.",
            SIMPLIFIED,
            handler="clients.producer.on_timer",
            scenario="kip-1319-remade",
            test="clients/test_topic_ids.py::test_an_unknown_id_is_sent_again_after_the_back_off_until_max_block_ms",
            note="after max.block.ms the transaction has to be aborted here; in Java it could go on",
        ),
        Row(
            "What an id protects from",
            "Only an id that the producer knew before the topic was made again.",
            MODELLED,
            handler="clients.topic_ids.named",
            scenario="kip-1319-remade-first",
            test="brokers/test_offset_topics.py::test_with_a_topic_goes_what_groups_had_of_it",
        ),
        Row(
            "Rejected Alternatives",
            "Two versions instead of one; names beside ids.",
            SIMPLIFIED,
            scenario="kip-1319-remade-v5",
            handler="brokers.group_coordinator.spoken_in",
            test="brokers/test_offset_topics.py::test_up_to_version_5_there_is_one_error_for_every_wrong_epoch",
            note="version 5 beside version 6 can be compared; no design has a third one",
        ),
    ),
)
