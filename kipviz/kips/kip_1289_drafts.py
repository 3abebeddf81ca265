"""KIP-1289 as it is being implemented, and as its first users call it: what the source shows, and what stays open.

The sources are unmerged drafts: pull request 22357 of Apache Kafka in three iterations, the Flink connector's pull
request 271 (FLIP-573) and a Streams branch. A row describes them in our words. A fact that none of the stored sources
shows is an open row of its own, with the slot that has every reading of it.
"""

from __future__ import annotations

from kipviz.kips.row import MODELLED, OPEN, SIMPLIFIED, Row

PAGE = "46-a-draft-as-implemented-kip-1289"
_ENDS = "scenarios/test_kip_1289_drafts.py::test_a_story_ends_as_pinned"


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
        test=f"scenarios/test_kip_1289_drafts.py::{test}" if test else f"{_ENDS}[{story}]",
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
        "the vote is a delivery state of the durable state (middle, late)",
        "The leader adds the participant, writes delivery state 5, and responds when it is stored. A "
        "write that arrives after the marker is pending for good.",
        "brokers.share_leaders.share_writes.stage_as_state",
        "kip-1289-draft-late-stage",
    ),
    _make_row(
        "the marker has to have the staged epoch (early, middle)",
        "Under transaction version 2 no honest marker has it: the record stays TX_PENDING.",
        "designs.options.options.equal",
        "kip-1289-draft-epoch",
    ),
    _make_row(
        "the persister keeps the higher state number",
        "TX_PENDING is 5, so an outcome that is written as any other state loses against it.",
        "designs.options.implementation_options.by_state_number",
        "kip-1289-draft-merge",
    ),
    _make_row(
        "a stage write that fails is rolled back to ACQUIRED",
        "If only its answers were lost, memory says ACQUIRED and the log says TX_PENDING.",
        "brokers.share_leaders.share_partition.roll_back",
        "kip-1289-draft-lost-answer",
        test="test_after_a_stage_write_whose_answer_was_lost_memory_and_log_say_two_things",
    ),
    _make_row(
        "an acknowledgement after a stage write whose answers were lost",
        "ACKNOWLEDGED at the same delivery count loses the merge, and the abort marker makes the record AVAILABLE.",
        "designs.options.implementation_options.by_state_number",
        "kip-1289-draft-lost-answer-acknowledged",
        note="the consumer keeps drained decisions here (slot drain), so that it can acknowledge them again",
    ),
    _make_row(
        "an abort after a failover (middle, late)",
        "The record becomes AVAILABLE, and the delivery that was written with the vote still counts.",
        "brokers.share_leaders.share_loading.loaded",
        "kip-1289-draft-failover-abort",
    ),
    _make_row(
        "a vote outlives its leader and its coordinator (middle, late)",
        "Both may move between staging and commit; in memory (early) the vote is lost.",
        "brokers.share_leaders.share_loading.loaded",
        "kip-1289-draft-failover",
    ),
    _make_row(
        "the leader reads the state again for the outcome (late)",
        "An answer for a leader that was fenced meanwhile is dropped.",
        "brokers.share_leaders.share_loading.refreshed",
        "kip-1289-draft-fenced-refresh",
        note="one request of a share-partition is in flight at a time, so a read never meets a stage write",
    ),
    _make_row(
        "a refresh waits for a stage write (late)",
        "A record whose vote is not durable yet must not look like an aborted one.",
        "brokers.share_leaders.share_partition.can_refresh",
        "kip-1289-draft-refresh-waits",
    ),
    _make_row(
        "a refresh resolves only votes that the leader noted before the read (late)",
        "A late outcome of one transaction leaves the vote of the next transaction TX_PENDING.",
        "brokers.share_leaders.share_loading.refreshed",
        "kip-1289-draft-late-refresh",
        note="the model notes votes that are durable; the draft compares producer id and epoch of each, too",
    ),
    _make_row(
        "two transactions with one epoch",
        "Below transaction version 2 the outcome of one leaves the vote of the next alone where the leader notes records "
        "before it reads (late), and frees it where it goes by producer id and epoch alone.",
        "brokers.share_leaders.share_loading.refreshed",
        "kip-1289-draft-one-epoch",
        note="the late iteration notes the pending records when it reads, one read at a time and none beside a stage write, so the "
        "response never meets another vote of the same record (seen in source: SharePartitionTxnState and its test); that a cluster "
        "stages below version 2 is our inference, and so is a leader that goes by the epoch alone",
    ),
    _make_row(
        "a closed session releases ACQUIRED records alone",
        "Transactional acknowledgements of a member are committed after it has left.",
        "brokers.share_leaders.share_writes.release",
        "kip-1289-draft-closed",
    ),
    _make_row(
        "an abort after the member has left (middle, late)",
        "The record becomes AVAILABLE for another member.",
        "brokers.share_transactions.share_outcomes.aborted",
        "kip-1289-draft-closed-abort",
    ),
    _make_row(
        "the hook runs before the marker is appended (early)",
        "A broker that crashes in between has sent the outcome to no one.",
        "brokers.kafka_apis.on_write_txn_markers",
        "kip-1289-draft-hook-first",
    ),
    _make_row(
        "an abort makes a record AVAILABLE and does not ask for the delivery limit",
        "A record whose transaction is aborted every time is never archived.",
        "brokers.share_transactions.share_outcomes.aborted",
        "kip-1289-draft-poison",
    ),
    _make_row(
        "staged acknowledgements count as work of the transaction",
        "A transaction without outputs sends EndTxn.",
        "clients.transactions.stagings.send_share_acknowledgements",
        "kip-1289-draft-filter",
    ),
    _make_row(
        "a staging names its member and no delivery",
        "Two deliveries of a record to one member look alike.",
        "brokers.share_leaders.acknowledgement_checks.stage_checks",
        "kip-1289-draft-same-holder",
    ),
    _make_row(
        "a staging of an old copy takes the new delivery",
        "The transaction of the second copy is refused, because the first copy has acknowledged the record.",
        "brokers.share_leaders.acknowledgement_checks.stage_checks",
        "kip-1289-draft-same-holder-next",
    ),
    Row(
        "As implemented: acknowledgementsForTransaction()",
        "In explicit mode ACCEPT and REJECT decisions leave the consumer as an object for a producer.",
        MODELLED,
        handler="clients.shares.draining.drain",
        scenario="kip-1289-draft-small",
        page=PAGE,
        test="clients/test_draining.py::test_drained_decisions_leave_the_consumer_and_the_rest_stays",
    ),
    Row(
        "As implemented: keys 93, 94 and 95, and the staged fields of a state batch",
        "The schemas of each iteration, with their bytes.",
        MODELLED,
        handler="messages.wire.drafts.bytes_in",
        scenario="kip-1289-draft-late-stage",
        page=PAGE,
        test="messages/test_drafts.py::test_a_staging_has_the_key_of_its_iteration_and_is_read_back",
    ),
    _not_known(
        "how the leader adds the participant at a remote coordinator",
        "The tests of the middle and late iterations have three brokers, so it does; we could not read the code.",
        "enlistment",
    ),
    _not_known(
        "which epoch rule the share coordinator has (late)",
        "The leader compares no epoch; the tests commit under transaction version 2.",
        "marker_epoch",
    ),
    _not_known(
        "how an outcome passes the merge (middle)",
        "The tests see it resolve, and the combiner keeps the higher state number.",
        "outcome_join and state_rank",
    ),
    _not_known(
        "whether the lock timer is armed again after a roll-back",
        "InFlightState arms none; we could not read SharePartition of the late iteration.",
        "rollback_lock",
    ),
    _not_known(
        "where the member's epoch is compared (late)",
        "A test refuses the next epoch and the one before last; one epoch back is asked by no test.",
        "member_check and member_epoch",
    ),
    _not_known(
        "whether acknowledgements are staged below transaction version 2",
        "The early iteration does not ask for the version; a test of the late one fixes version 2.",
        "refresh_match, with the setting staging_transaction_version",
    ),
    _not_known(
        "what makes the leader read the state again (late)",
        "The refresh is in the source, what triggers it is not. A revision of June 2026 reloaded the share-partition when a transactional acknowledgement found pending records; its author withdrew that (review comment of 17 June).",
        here="here it may read at any time (the action Refresh)",
    ),
    _flink(
        "one transaction, completed by the checkpoint that is older",
        "KIP-939 aborts a transaction that the checkpoint does not hold, and the record comes again.",
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
        "A crash between the two commits repeats the output.",
        "scenarios.applications.connector_programs.FLINK_OUTPUTS_FIRST",
        "kip-1289-flink-outputs-first",
        note="a recovery that commits the acknowledgements again by the checkpoint is not modelled",
    ),
    _flink(
        "the lock runs out before the acknowledgement is staged",
        "The staging is refused; outputs that are committed all the same are repeated.",
        "brokers.share_leaders.acknowledgement_checks.stage_checks",
        "kip-1289-flink-lock",
    ),
    _flink(
        "a stale member epoch",
        "Where the present epoch is wanted, a member that joins aborts the transaction of another one.",
        "brokers.share_transactions.share_staging.checks_at_once",
        "kip-1289-flink-stale-epoch",
    ),
    _flink(
        "a restart makes the next epoch stale",
        "The member of the run before times out, and the group epoch changes once more. At the delivery limit the "
        "record is archived.",
        "brokers.share_leaders.acknowledgement_checks.stage_checks",
        "kip-1289-flink-restart-loop",
    ),
    _flink(
        "a prepared job that never returns",
        "No timer frees its record; an administrator does.",
        "brokers.transactions.transaction_coordinator.on_init_producer_id",
        "kip-1289-flink-never-returns",
    ),
    _flink(
        "fewer subtasks after a crash",
        "The transactional id of a removed subtask is never initialized again; the start offset waits.",
        "brokers.share_leaders.share_partition.advance_start",
        "kip-1289-flink-scale-down",
    ),
    _flink(
        "without two-phase commit",
        "A restart aborts output and acknowledgement together, and the record comes again.",
        "brokers.transactions.transaction_coordinator.on_init_producer_id",
        "kip-1289-flink-without-two-phase",
    ),
    _flink(
        "an element after the barrier",
        "A prepared producer refuses a staging.",
        "clients.thread.step",
        "kip-1289-flink-late-element",
    ),
    _flink(
        "several members feed one sink through a shuffle",
        "Two stagings of two members, one marker; one refusal aborts both.",
        "clients.shares.draining.consumer_of",
        "kip-1289-flink-shuffle",
        note="both sources and the sink are one process",
    ),
    _flink(
        "several members feed one sink, and the epoch of one becomes stale",
        "A member that joins makes the drained epoch of another one stale; where the present one is wanted, the vote of "
        "the third is aborted with it.",
        "clients.sessions.binding.settle",
        "kip-1289-flink-shuffle-epoch",
        note="both sources and the sink are one process",
    ),
    _flink(
        "two sources give their payloads the same id",
        "The sink throws, and the transaction aborts; what was drained and not staged waits for its lock.",
        "clients.shares.draining.drain",
        "kip-1289-flink-payload-id",
        note="the ids stand in the program's text; the model has no map of them",
    ),
    _streams(
        "forward, then process",
        "A copy and an acknowledgement in one transaction, the task's work in another one.",
        "scenarios.applications.connector_programs.LOOP",
        "kip-1289-ingress",
    ),
    _streams(
        "at least once",
        "The results of send() are not looked at before everything is acknowledged.",
        "scenarios.applications.connector_programs.INGRESS_AT_LEAST_ONCE",
        "kip-1289-ingress-at-least-once",
    ),
    _streams(
        "acknowledged and not drained",
        "close() sends what was decided and not drained as an ordinary acknowledgement.",
        "clients.shares.share_consumer.close",
        "kip-1289-ingress-closed",
    ),
    _streams(
        "acknowledged, not drained, polled again",
        "The next poll() acknowledges what was decided and not drained, although the copy is aborted.",
        "clients.shares.share_consumer.poll",
        "kip-1289-ingress-polled",
    ),
    _streams(
        "a map of this client's tasks alone",
        "A record of another partition throws each time, until the delivery limit archives it.",
        "scenarios.applications.connector_programs.INGRESS_UNKNOWN_TASK",
        "kip-1289-ingress-unknown-task",
    ),
)
