"""KIP-1309: transaction heartbeats."""

from __future__ import annotations

from kipviz.kips.row import MODELLED, Kip, Row

BROKER = "brokers/transactions/test_transaction_liveness.py::test_"
STORIES = "scenarios/drafts/test_kip_1309.py::test_"
PAGE = "55-heartbeats-and-two-stores-kip-1309"
OURS = "the page has no fields, no key and no errors, and 4.4.0 has no such request: they are our inference"

KIP = Kip(
    1309,
    "Transaction heartbeats",
    "draft",
    (
        Row(
            "TxnHeartbeat",
            "A producer with an open transaction reports that it is alive.",
            MODELLED,
            "brokers.transactions.transaction_liveness.on_txn_heartbeat",
            "kip-1309-dead-writer",
            BROKER + "a_heartbeat_is_heard_from_the_owner_only_and_changes_nothing",
            note=OURS,
            page=PAGE,
        ),
        Row(
            "transaction.heartbeat.interval.ms",
            "0 turns heartbeats off. The producer sends the interval to the coordinator with InitProducerId.",
            MODELLED,
            "clients.transactions.producer_timers.timers",
            test="clients/sending/test_heartbeats.py::test_a_producer_beats_only_while_a_transaction_is_open",
            note="where the request has it, and that it is logged, are our inference",
            page="55-heartbeats-and-two-stores-kip-1309",
            scenario="kip-1309-dead-writer",
        ),
        Row(
            "Abort after three intervals",
            "The coordinator aborts a transaction whose producer sent no heartbeat, as after a timeout.",
            MODELLED,
            "brokers.transactions.transaction_liveness.on_timer",
            "kip-1309-dead-writer",
            "studies/test_one_timeout.py::"
            "test_readers_of_a_dead_writer_wait_for_the_time_out_and_the_scan_or_for_three_intervals",
            note="exact to the millisecond on a timed clock; without a clock the intervals may be over at any moment",
            page=PAGE,
        ),
        Row(
            "transaction.timeout.ms stays",
            "Whichever expires first aborts the transaction.",
            MODELLED,
            "brokers.transactions.transaction_coordinator.on_timeout",
            "kip-1309-dead-writer",
            BROKER + "the_time_limit_runs_beside_it",
            page=PAGE,
        ),
        Row(
            "ACL",
            "TxnHeartbeat needs WRITE on the transactional id.",
            MODELLED,
            "brokers.authorizer.needs_of",
            test=BROKER + "a_heartbeat_needs_what_the_page_says",
            scenario="kip-1309-right-lost",
            page=PAGE,
        ),
        Row(
            "Prepared transactions (KIP-939)",
            "The text does not mention them, so this is a slot.",
            MODELLED,
            "designs.options.liveness_options.every_transaction",
            "kip-1309-prepared",
            BROKER + "whether_a_two_phase_commit_is_watched_is_a_question_of_design",
            note="that two-phase commits are exempt is our inference",
            page="60-commit-with-a-database-kip-939",
        ),
        Row(
            "transaction.session.timeout.ms",
            "For KAFKA-20381 KIP-1310 has another setting, which -1 turns off.",
            MODELLED,
            "designs.options.liveness_options.one_session_timeout",
            "kip-1309-two-settings",
            STORIES + "the_two_settings_fit_together_in_two_readings_of_four",
            note="the two texts contradict each other: two slots, and a run for each reading",
            page=PAGE,
        ),
        Row(
            "Heartbeats if the writer is not the committer",
            "A committer in another process has to send them (Flink).",
            MODELLED,
            "brokers.transactions.transaction_liveness.on_txn_heartbeat",
            "kip-1309-committer-beats",
            STORIES + "a_committer_may_beat_in_the_name_of_a_dead_writer",
            note="no text says so; that any process with the identity may is our inference",
            page=PAGE,
        ),
        Row(
            "No process sends heartbeats",
            "The writer has crashed and the committer has not started. The coordinator aborts the "
            "transaction after three intervals.",
            MODELLED,
            "brokers.transactions.transaction_liveness.on_timer",
            "kip-1309-nobody-beats",
            STORIES + "what_a_checkpoint_counts_as_written_is_aborted_when_nobody_beats",
            page=PAGE,
        ),
        Row(
            "The interval of a process that resumes",
            "InitProducerId carries the interval, but a process that resumes a session sends no InitProducerId.",
            MODELLED,
            "clients.sessions.transaction_session.resume",
            "kip-1309-other-interval",
            STORIES + "a_committer_with_an_interval_of_its_own_is_given_up_while_it_lives",
            note="no text mentions it",
            page=PAGE,
        ),
    ),
)
