"""KIP-1191: dead-letter queues for share groups."""

from __future__ import annotations

from kipviz.kips.row import MODELLED, Kip, Row

KIP = Kip(
    1191,
    "Dead-letter queues for share groups",
    "shipped: 4.4, share.version 2",
    (
        Row(
            "Record state ARCHIVING",
            "A record that is rejected or reaches the delivery limit becomes ARCHIVING, and the "
            "leader writes that state. Then it copies the record, even if the write failed.",
            MODELLED,
            handler="brokers.share_leaders.share_partition.archive_record",
            scenario="kip-1191-poison-record",
            test="conformance/test_share_groups.py::test_17_a_first_write_that_fails_does_not_keep_a_record_out_of_the_dead_letter_queue",
            page="30-share-groups-kip-932",
        ),
        Row(
            "Dead-letter record",
            "The headers contain the topic, partition, offset, group, delivery count and reason. "
            "The value is copied only if it is enabled.",
            MODELLED,
            handler="brokers.share_leaders.share_dead_letters.enqueue",
            test="brokers/share_groups/test_share_groups_shipped.py::test_a_dead_letter_says_in_headers_where_it_is_from_and_why",
            note="records have no keys in this model",
            page="30-share-groups-kip-932",
            scenario="kip-1191-poison-record",
        ),
        Row(
            "Failures",
            "After five failed attempts the record is archived without a copy. A new leader starts "
            "its attempts again.",
            MODELLED,
            handler="brokers.share_leaders.share_dead_letters.continue_copy",
            test="brokers/share_groups/test_share_groups_shipped.py::test_after_five_attempts_a_record_is_archived_without_a_copy",
            note="there is no delay between the attempts",
            scenario="kip-1191-no-copy",
            page="35-share-groups-in-operation",
        ),
        Row(
            "errors.deadletterqueue.group.enable and the name of the topic",
            "The topic must allow dead letters, its name must start with the brokers' prefix, and "
            "it must not be an internal topic.",
            MODELLED,
            handler="brokers.share_leaders.share_dead_letters.enqueue",
            scenario="kip-1191-poison-record",
            test="brokers/share_groups/test_share_groups_shipped.py::"
            "test_a_topic_whose_name_does_not_begin_as_the_brokers_want_it_gets_no_copies",
            note="checked when a record is about to be copied, as in Kafka; if the check fails, "
            "the record is archived without a copy",
            page="30-share-groups-kip-932",
        ),
        Row(
            "errors.deadletterqueue.auto.create.topics.enable",
            "The broker creates a missing dead-letter topic. Without this setting its records are "
            "archived without a copy.",
            MODELLED,
            handler="brokers.topic_administration.on_create_topics",
            scenario="kip-1191-first-letter",
            test="brokers/share_leaders/test_dead_letter_topics.py::test_a_topic_that_is_not_there_is_made_before_its_first_letter",
            note="off by default; without it the broker writes a line to its log, and no metric changes",
            page="35-share-groups-in-operation",
        ),
        Row(
            "Failures: retries",
            "A broker attempts a copy up to five times after NOT_LEADER_OR_FOLLOWER or a lost "
            "connection, and a topic's creation if the topic already exists.",
            MODELLED,
            handler="brokers.share_leaders.share_dead_letters.continue_copy",
            test="brokers/share_leaders/test_dead_letter_topics.py::test_a_copy_and_a_topic_are_tried_five_times",
            scenario="kip-1191-no-copy",
            page="35-share-groups-in-operation",
        ),
    ),
)
