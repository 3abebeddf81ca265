"""KIP-1106: add duration based offset reset option for consumer clients."""

from __future__ import annotations

from kipviz.kips.row import MODELLED, Kip, Row

PAGE = "28-groups-that-change"
STORY = "kip-1106-passed-over"

KIP = Kip(
    1106,
    "Add duration based offset reset option for consumer clients",
    "shipped since 4.0",
    (
        Row(
            "auto.offset.reset=by_duration:<duration>",
            "A consumer without a position asks for the first record that is not older than the "
            "duration, measured by its own clock.",
            MODELLED,
            handler="clients.groups.offset_reset.where_to",
            scenario=STORY,
            test="clients/groups/test_member_reset.py::test_by_duration_asks_for_a_time_and_again_for_a_later_one",
            page=PAGE,
            note="for members that join, where records have timestamps (stamps); clients and brokers share one clock",
        ),
        Row(
            "ListOffsets with a timestamp",
            "The leader returns the offset of the first record with that timestamp or a later one, "
            "below the end that the consumer may read to. If there is none, it returns -1.",
            MODELLED,
            handler="brokers.logs.partition_log.find_by_time",
            scenario=STORY,
            test="brokers/logs/test_partition_leader.py::test_a_record_is_found_by_its_time_below_what_may_be_read",
            page=PAGE,
        ),
        Row(
            "No record is recent enough",
            "The consumer has no position. It asks again after request.timeout.ms and skips the "
            "records that are too old by then.",
            MODELLED,
            handler="clients.groups.group_reading.on_told",
            scenario=STORY,
            test="scenarios/shipped/test_kip_1106.py::test_a_record_of_the_time_between_two_questions_is_read_by_nobody",
            page=PAGE,
            note="our finding from the sources of 4.4: the duration should be longer than request.timeout.ms",
        ),
        Row(
            "Validation",
            "A consumer with an invalid duration does not start.",
            MODELLED,
            handler="clients.groups.offset_reset.why_no_reset",
            scenario=STORY,
            page=PAGE,
            test="scenarios/shipped/test_kip_1106.py::test_a_reset_that_cannot_be_is_refused_in_one_sentence",
        ),
    ),
)
