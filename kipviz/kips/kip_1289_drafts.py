"""KIP-1289 as it is being implemented, and as its first users call it: what the source shows, and what stays open.

The sources are unmerged drafts: pull request 22357 of Apache Kafka in three iterations, the Flink connector's pull
request 271 (FLIP-573) and a Streams branch. A row describes them in our words. A fact that none of the stored sources
shows is an open row of its own, with the slot that has every reading of it.
"""

from __future__ import annotations

from kipviz.kips.row import MODELLED, OPEN, SIMPLIFIED, Row

PAGE = "46-a-draft-as-implemented-kip-1289"
_ENDS = "scenarios/kip_1289/test_kip_1289_drafts.py::test_a_story_ends_as_pinned"


def _make_row(
    clause: str, says: str, handler: str, story: str, note: str = "", *, test: str = ""
) -> Row:
    """Return a row whose story is played to its end; `test` names a test that checks more than the end."""
    return Row(
        f"As implemented: {clause}",
        says,
        SIMPLIFIED if note else MODELLED,
        handler=handler,
        scenario=story,
        test=f"scenarios/kip_1289/test_kip_1289_drafts.py::{test}" if test else f"{_ENDS}[{story}]",
        page=PAGE,
        note=note,
    )


def _flink(clause: str, says: str, handler: str, story: str, note: str = "") -> Row:
    row = _make_row(clause, says, handler, story, note)
    return row.but(clause=f"FLIP-573 (draft): {clause}")


def _streams(clause: str, says: str, handler: str, story: str, note: str = "") -> Row:
    row = _make_row(clause, says, handler, story, note)
    return row.but(clause=f"Streams ingress (draft): {clause}")


def _not_known(clause: str, says: str, slot: str = "", *, here: str = "") -> Row:
    reading = here or f"every reading is an option of {slot}"
    note = f"in no file that we could read; {reading}"
    return Row(f"As implemented: {clause}", says, OPEN, note=note)


AS_IMPLEMENTED = (
    _make_row(
        "the transactional acknowledgement is a delivery state of the durable state (middle, late)",
        "The leader adds the participant, writes delivery state 5, and responds when it is stored. "
        "A write that arrives after the marker stays pending forever.",
        "brokers.share_leaders.share_writes.stage_as_state",
        "kip-1289-draft-late-stage",
    ),
    _make_row(
        "the marker must have the staged epoch (early, middle)",
        "Under transaction version 2 no legitimate marker has that epoch, so the record stays TX_PENDING.",
        "designs.options.options.equal",
        "kip-1289-draft-epoch",
    ),
    _make_row(
        "the persister keeps the higher state number",
        "TX_PENDING is 5, so an outcome that is written as any other state loses the merge.",
        "designs.options.implementation_options.by_state_number",
        "kip-1289-draft-merge",
    ),
    _make_row(
        "a failed stage write is rolled back to ACQUIRED",
        "If only its responses were lost, memory has ACQUIRED and the log has TX_PENDING.",
        "brokers.share_leaders.share_partition.roll_back",
        "kip-1289-draft-lost-answer",
        test="test_after_a_stage_write_whose_answer_was_lost_memory_and_log_say_two_things",
    ),
    _make_row(
        "an acknowledgement after a stage write whose responses were lost",
        "ACKNOWLEDGED at the same delivery count loses the merge, and the abort marker makes the record AVAILABLE.",
        "designs.options.implementation_options.by_state_number",
        "kip-1289-draft-lost-answer-acknowledged",
        note="here the consumer keeps drained decisions (slot drain), so that it can acknowledge them again",
    ),
    _make_row(
        "an abort after a failover (middle, late)",
        "The record becomes AVAILABLE. The delivery that was written with the transactional "
        "acknowledgement still counts.",
        "brokers.share_leaders.share_loading.load_state",
        "kip-1289-draft-failover-abort",
    ),
    _make_row(
        "a transactional acknowledgement survives its leader and its coordinator (middle, late)",
        "Both may move between staging and commit. In memory only (early), the acknowledgement is lost.",
        "brokers.share_leaders.share_loading.load_state",
        "kip-1289-draft-failover",
    ),
    _make_row(
        "the leader reads the state again for the outcome (late)",
        "A response for a leader that was fenced meanwhile is dropped.",
        "brokers.share_leaders.share_loading.refresh_state",
        "kip-1289-draft-fenced-refresh",
        note="a share-partition has one request in flight at a time, so a read never meets a stage write",
    ),
    _make_row(
        "a refresh waits for a stage write (late)",
        "A record whose transactional acknowledgement is not durable yet must not look like an aborted one.",
        "brokers.share_leaders.share_partition.can_refresh",
        "kip-1289-draft-refresh-waits",
    ),
    _make_row(
        "a refresh resolves only acknowledgements that the leader noted before the read (late)",
        "A late outcome of one transaction leaves the acknowledgement of the next transaction TX_PENDING.",
        "brokers.share_leaders.share_loading.refresh_state",
        "kip-1289-draft-late-refresh",
        note="the model notes durable acknowledgements; the draft also compares the producer id and epoch of each",
    ),
    _make_row(
        "two transactions with one epoch",
        "Below transaction version 2 the outcome of one transaction does not affect the "
        "acknowledgement of the next if the leader notes records before it reads (late). If the "
        "leader compares only producer id and epoch, the outcome frees it.",
        "brokers.share_leaders.share_loading.refresh_state",
        "kip-1289-draft-one-epoch",
        note="the late iteration notes the pending records when it reads, one read at a time and "
        "none beside a stage write, so the response never meets another acknowledgement of "
        "the same record (seen in source: SharePartitionTxnState and its test); that a "
        "cluster stages below version 2 is our inference, and so is a leader that compares "
        "only the epoch",
    ),
    _make_row(
        "a closed session releases only ACQUIRED records",
        "A member's transactional acknowledgements are committed after it has left.",
        "brokers.share_leaders.share_writes.release",
        "kip-1289-draft-closed",
    ),
    _make_row(
        "an abort after the member has left (middle, late)",
        "The record becomes AVAILABLE for another member.",
        "brokers.share_transactions.share_outcomes.abort_record",
        "kip-1289-draft-closed-abort",
    ),
    _make_row(
        "the hook runs before the marker is appended (early)",
        "If the broker crashes in between, neither the marker nor the outcome is in any log.",
        "brokers.kafka_apis.on_write_txn_markers",
        "kip-1289-draft-hook-first",
    ),
    _make_row(
        "an abort makes a record AVAILABLE without checking the delivery limit",
        "A record whose transaction always aborts is never archived.",
        "brokers.share_transactions.share_outcomes.abort_record",
        "kip-1289-draft-poison",
    ),
    _make_row(
        "transactional acknowledgements count as work of the transaction",
        "A transaction without outputs sends EndTxn.",
        "clients.transactions.stagings.send_share_acknowledgements",
        "kip-1289-draft-filter",
    ),
    _make_row(
        "a staging identifies its member, but not the delivery",
        "Two deliveries of a record to one member cannot be distinguished.",
        "brokers.share_leaders.acknowledgement_checks.stage_checks",
        "kip-1289-draft-same-holder",
    ),
    _make_row(
        "a staging of an old copy applies to the new delivery",
        "The transaction of the second copy is rejected, because the first copy has already acknowledged the record.",
        "brokers.share_leaders.acknowledgement_checks.stage_checks",
        "kip-1289-draft-same-holder-next",
    ),
    Row(
        "As implemented: acknowledgementsForTransaction()",
        "In explicit mode the application takes ACCEPT and REJECT decisions out of the consumer, "
        "as an object for a producer.",
        MODELLED,
        handler="clients.shares.draining.drain",
        scenario="kip-1289-draft-small",
        page=PAGE,
        test="clients/shares/test_draining.py::test_drained_decisions_leave_the_consumer_and_the_rest_stays",
    ),
    Row(
        "As implemented: keys 93, 94 and 95, and the staged fields of a state batch",
        "The model has the schemas of each iteration, and encodes their bytes.",
        MODELLED,
        handler="messages.wire.drafts.bytes_in",
        scenario="kip-1289-draft-late-stage",
        page=PAGE,
        test="messages/test_drafts.py::test_a_staging_has_the_key_of_its_iteration_and_is_read_back",
    ),
    _not_known(
        "how the leader adds the participant at a remote coordinator",
        "The tests of the middle and late iterations have three brokers, so the leader does it; we "
        "could not read the code.",
        "enlistment",
    ),
    _not_known(
        "which epoch rule the share coordinator has (late)",
        "The leader compares no epoch. The tests commit under transaction version 2.",
        "marker_epoch",
    ),
    _not_known(
        "how an outcome passes the merge (middle)",
        "In the tests it resolves, and the combiner keeps the higher state number.",
        "outcome_join and state_rank",
    ),
    _not_known(
        "whether the lock timer is started again after a rollback",
        "InFlightState starts none; we could not read SharePartition of the late iteration.",
        "rollback_lock",
    ),
    _not_known(
        "where the member's epoch is compared (late)",
        "A test rejects the next epoch and the one before the previous epoch. No test sends the previous epoch.",
        "member_check and member_epoch",
    ),
    _not_known(
        "whether acknowledgements are staged below transaction version 2",
        "The early iteration does not check the version. A test of the late one sets version 2.",
        "refresh_match, with the setting staging_transaction_version",
    ),
    _not_known(
        "what makes the leader read the state again (late)",
        "The refresh is in the source, but its trigger is not. A revision of June 2026 reloaded "
        "the share-partition when a transactional acknowledgement found pending records; its "
        "author withdrew that (review comment of 17 June).",
        here="here it may read at any time (the action Refresh)",
    ),
    _flink(
        "one transaction, completed from an older checkpoint",
        "KIP-939 aborts a transaction that the checkpoint does not contain, and the record is delivered again.",
        "clients.sending.producer.complete_transaction",
        "kip-1289-flink-stale-handle",
    ),
    _flink(
        "a second sink, acknowledgements first",
        "A crash between the two commits loses the output.",
        "scenarios.applications.connector_programs.FLINK_ACKS_FIRST",
        "kip-1289-flink-acks-first",
    ),
    _flink(
        "a second sink, outputs first",
        "A crash between the two commits duplicates the output.",
        "scenarios.applications.connector_programs.FLINK_OUTPUTS_FIRST",
        "kip-1289-flink-outputs-first",
        note="a recovery that commits the acknowledgements again from the checkpoint is not modelled",
    ),
    _flink(
        "the lock expires before the acknowledgement is staged",
        "The staging is rejected. Outputs that are committed all the same are duplicated.",
        "brokers.share_leaders.acknowledgement_checks.stage_checks",
        "kip-1289-flink-lock",
    ),
    _flink(
        "a stale member epoch",
        "If the current epoch is required, a member that joins aborts another member's transaction.",
        "brokers.share_transactions.share_staging.checks_at_once",
        "kip-1289-flink-stale-epoch",
    ),
    _flink(
        "a restart makes the next epoch stale",
        "The member of the previous run times out, and the group epoch changes once more. At the "
        "delivery limit the record is archived.",
        "brokers.share_leaders.acknowledgement_checks.stage_checks",
        "kip-1289-flink-restart-loop",
    ),
    _flink(
        "a prepared job that never returns",
        "No timer frees its record; an administrator has to.",
        "brokers.transactions.transaction_coordinator.on_init_producer_id",
        "kip-1289-flink-never-returns",
    ),
    _flink(
        "fewer subtasks after a crash",
        "The transactional id of a removed subtask is never initialized again, and the start offset does not advance.",
        "brokers.share_leaders.share_partition.advance_start",
        "kip-1289-flink-scale-down",
    ),
    _flink(
        "without two-phase commit",
        "A restart aborts output and acknowledgement together, and the record is delivered again.",
        "brokers.transactions.transaction_coordinator.on_init_producer_id",
        "kip-1289-flink-without-two-phase",
    ),
    _flink(
        "an element after the barrier",
        "A prepared producer rejects a staging.",
        "clients.thread.step",
        "kip-1289-flink-late-element",
    ),
    _flink(
        "several members feed one sink through a shuffle",
        "The stagings of two members share one marker. If one staging is rejected, both are aborted.",
        "clients.shares.draining.consumer_of",
        "kip-1289-flink-shuffle",
        note="both sources and the sink are one process",
    ),
    _flink(
        "several members feed one sink, and the epoch of one becomes stale",
        "A member that joins makes the drained epoch of another one stale. If the current epoch is "
        "required, the third member's acknowledgement is aborted, too.",
        "clients.settling.settle",
        "kip-1289-flink-shuffle-epoch",
        note="both sources and the sink are one process",
    ),
    _flink(
        "two sources give their payloads the same id",
        "The sink throws, and the transaction aborts. Drained decisions that were not staged wait for their lock.",
        "clients.shares.draining.drain",
        "kip-1289-flink-payload-id",
        note="the ids are in the program's text; the model has no map of them",
    ),
    _streams(
        "forward, then process",
        "The copy and its acknowledgement are in one transaction, the task's work in another one.",
        "scenarios.applications.connector_programs.LOOP",
        "kip-1289-ingress",
    ),
    _streams(
        "at least once",
        "Everything is acknowledged before the results of send() are checked.",
        "scenarios.applications.connector_programs.INGRESS_AT_LEAST_ONCE",
        "kip-1289-ingress-at-least-once",
    ),
    _streams(
        "acknowledged but not drained",
        "close() sends decisions that were not drained as ordinary acknowledgements.",
        "clients.shares.share_consumer.close",
        "kip-1289-ingress-closed",
    ),
    _streams(
        "acknowledged, not drained, polled again",
        "The next poll() acknowledges decisions that were not drained, although the copy is aborted.",
        "clients.shares.share_consumer.poll",
        "kip-1289-ingress-polled",
    ),
    _streams(
        "a map of only this client's tasks",
        "A record of another partition makes the program throw each time, until the delivery limit "
        "archives the record.",
        "scenarios.applications.connector_programs.INGRESS_UNKNOWN_TASK",
        "kip-1289-ingress-unknown-task",
    ),
)
