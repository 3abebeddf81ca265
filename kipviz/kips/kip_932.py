"""KIP-932: queues for Kafka."""

from __future__ import annotations

from kipviz.kips.row import MODELLED, OPEN, Kip, Row

KIP = Kip(
    932,
    "Queues for Kafka",
    "shipped: early access 4.0, preview 4.1, production 4.2",
    (
        Row(
            "Acquisition lock",
            "A record is delivered to one member, locked for a time.",
            MODELLED,
            handler="brokers.share_partition_leader.on_lock_expiry",
            scenario="kip-1289-lock-expiry",
            test="brokers/test_share_partition_leader.py::test_two_members_never_hold_the_same_record",
        ),
        Row(
            "Acknowledgement types",
            "ACCEPT, RELEASE, REJECT and gaps; all batches of a request are taken or none.",
            MODELLED,
            handler="brokers.share_partition_leader.on_share_acknowledge",
            test="brokers/test_share_partition_leader.py::test_each_type_becomes_what_it_says_and_one_write_carries_them_all",
        ),
        Row(
            "Delivery count limit",
            "A record that fails too often is archived.",
            MODELLED,
            handler="brokers.share_partition",
            test="brokers/test_share_partition_leader.py::test_a_release_at_the_limit_archives",
        ),
        Row(
            "Share sessions",
            "Requests of one member on one broker carry a session epoch.",
            MODELLED,
            handler="brokers.share_partition_leader.on_share_fetch",
            test="brokers/test_share_partition_leader.py::test_the_session_machine",
        ),
        Row(
            "Persister, share coordinator",
            "What a share-partition promises is written to __share_group_state.",
            MODELLED,
            handler="brokers.share_coordinator.on_write",
            scenario="kip-1289-share-commit",
            test="brokers/test_share_coordinator.py::test_a_write_cannot_move_the_start_offset_back_nor_undo_a_higher_state",
        ),
        Row(
            "State epoch and leader epoch",
            "An older leader and an older state epoch are fenced.",
            MODELLED,
            handler="brokers.share_coordinator.on_read",
            test="brokers/test_share_coordinator.py::test_an_older_leader_and_an_older_state_epoch_are_fenced",
        ),
        Row(
            "share.acknowledgement.mode",
            "In explicit mode every record has to be acknowledged before the next poll().",
            MODELLED,
            handler="clients.share_consumer.why_no_poll",
            test="clients/test_share_consumer.py::test_in_explicit_mode_every_record_has_to_be_acknowledged_before_the_next_poll",
        ),
        Row(
            "ShareGroupHeartbeat, assignment",
            "Members come and go, and share the partitions.",
            OPEN,
            note="members are given",
        ),
        Row(
            "Several partitions",
            "One session reads many partitions.",
            OPEN,
            note="one partition per ShareFetch",
        ),
    ),
)
