"""The findings of our review of KIP-1289, from A to T and from X1 on: T is the first row, the others follow in order.

X25 and X26 were found by searching the design that repairs the others. Those from X27 on are in
`kip_1289_line_by_line`.

What the text says is stated in our words, with its section. KIP-1289 is a draft; what it says is a fact, what is wrong
with it is our reading, and the run decides.
"""

from __future__ import annotations

from kipviz.studies.review_findings import story_predicates, tallies
from kipviz.studies.review_findings.findings import LIVE, BySearch, Finding
from kipviz.studies.review_findings.kip_1289_line_by_line import LINE_BY_LINE

TOGETHER = "kip-1289-small-together"
ABORTING = "kip-1289-small-abort"

ABOUT = (
    "The text is a draft (state: Voting). Each design is the repaired one, except for the named decisions, which follow "
    "the text."
)

FINDINGS: tuple[Finding, ...] = (
    Finding(
        "T",
        "The text as a whole: when a transaction commits, its marker resolves the staged records.",
        "Motivation; Flow - Share Group; corner case 6",
        "Every record of a committed transaction is delivered again, without any fault. The marker has a higher epoch "
        "than the staging, so it resolves no record, and the acquisition lock releases the record when it expires.",
        "as-written",
        property_name="atomic",
    ),
    Finding(
        "A",
        "The coordinator need not track share-partitions: the marker is broadcast anyway.",
        "Existing RPCs NOT changed, AddPartitionsToTxn",
        "The coordinator sends markers only to the partitions of the transaction. None of them is the share group's, so "
        "no marker is sent for the staged records.",
        "finding-A",
        property_name=LIVE,
    ),
    Finding(
        "B",
        "The broker that receives the marker finds the staged records in its cache.",
        "Flow - Share Group, 'Broker 5'",
        "The source partition and the state partition can have different leaders. The marker then arrives at a broker "
        "that has no staged record in its cache.",
        "finding-B",
        property_name=LIVE,
    ),
    Finding(
        "C",
        "The partition that is added to the transaction is partitionFor(groupId).",
        "Flow - Share Group, 1.",
        "The state partition depends on the group, the topic id and the partition. The marker goes to a different "
        "partition.",
        "finding-C",
        property_name=LIVE,
    ),
    Finding(
        "D",
        "An acquisition lock that expires releases a staged record.",
        "Corner case 6",
        "The record can be delivered again after the decision to commit.",
        "finding-D",
        faults="expire_lock=1",
        property_name="atomic",
    ),
    Finding(
        "E",
        "TX_PENDING is kept in memory only.",
        "Corner cases 1 and 12, __share_group_state unchanged",
        "A new share-partition leader does not find the transactional acknowledgement, although the output of the "
        "record is committed.",
        "finding-E",
        TOGETHER,
        "move_leader=1",
        "atomic",
    ),
    Finding(
        "F",
        "An abort makes staged records ACQUIRED, and the next poll() returns them again.",
        "javadoc and State machine additions against the pseudo code",
        "The records stay locked for the same member, so its next poll() returns none of them until the lock expires.",
        "finding-F",
        ABORTING,
        property_name="abort releases records",
    ),
    Finding(
        "G",
        "On commit an accepted record becomes ACKNOWLEDGED, 'same for RELEASE and REJECT'.",
        "State machine additions, against the javadoc",
        "A rejected record counts as processed and is never written to a dead-letter topic.",
        "finding-G",
        "kip-1289-small-reject",
        property_name="rejected records are archived",
    ),
    Finding(
        "H",
        "The broker appends the share group's marker and responds. The text does not mention replicas or failures.",
        "Flow - Share Group, Execution on Broker 5",
        "The transaction completes while only one broker has the marker. If that broker crashes, the marker is lost.",
        "finding-H",
        "kip-1289-small-stepwise",
        look=story_predicates.complete_but_open,
    ),
    Finding(
        "I",
        "Only a marker with the staged producer epoch resolves a record.",
        "Existing RPCs NOT changed, WriteTxnMarkers",
        "Under transaction version 2 the coordinator bumps the epoch when it decides, so no marker of the transaction "
        "has the staged epoch.",
        "finding-I",
        property_name=LIVE,
    ),
    Finding(
        "J",
        "A marker whose epoch matches the staged one resolves the record, whichever transaction it belongs to.",
        "Corner cases 5 and 14",
        "A late marker of the previous transaction would also match a record that the next transaction stages with the "
        "same epoch.",
        "repaired+marker_epoch=at_least",
        "kip-1289-small-late-marker",
        "request_timeout=1",
        "committed stays",
        because="the log rejects a marker with the epoch of an open transaction: INVALID_PRODUCER_EPOCH (transaction "
        "version 2, KIP-1228)",
    ),
    Finding(
        "K",
        "A record that is not ACQUIRED cannot be staged: INVALID_RECORD_STATE.",
        "State machine additions",
        "If the response to a successful staging is lost, the retry is rejected.",
        "finding-K",
        faults="lose_connection=1",
        property_name="own acknowledgement is no conflict",
    ),
    Finding(
        "L",
        "The request must have the member's current epoch.",
        "Corner case 8",
        "Every join or leave changes the epoch of all members, so their transactions have to be aborted although their "
        "locks are valid.",
        "finding-L",
        "kip-1289-small-members",
        look=story_predicates.held_and_stale,
    ),
    Finding(
        "M",
        "An abort makes staged records ACQUIRED until the lock expires.",
        "javadoc; KIP-932 delivery count limit",
        "When the lock expires at the delivery limit, the record is archived although no consumer failed to process it.",
        "finding-M",
        "kip-1289-small-last-delivery",
        "expire_lock=1",
        "abort is no failed delivery",
    ),
    Finding(
        "N",
        "ShareGroupMetadata has an optional group instance id.",
        "Public Interfaces, list",
        "Share groups have no static members, and the class in the same text has no such field.",
        counting=tallies.static_members,
    ),
    Finding(
        "O",
        "The request has API key 93, and its response has 94.",
        "Wire protocol additions",
        "A request and its response have one key, and Kafka has assigned both numbers to other requests.",
        counting=tallies.keys_on_the_wire,
    ),
    Finding(
        "P",
        "TX_PENDING is one more non-terminal state.",
        "State machine additions",
        "The start offset cannot advance past a staged record, and the limit of records in flight counts from the start "
        "offset.",
        "repaired",
        "kip-1289-small-head-of-line",
        look=story_predicates.waits_behind_an_acknowledgement,
    ),
    Finding(
        "Q",
        "A call for several partitions is all or nothing.",
        "Corner case 11",
        "The producer sends one request to each leader. Before a leader responds, it cannot undo what another leader "
        "has staged.",
        "finding-Q",
        "kip-1289-corner-11-two-leaders",
        look=story_predicates.half_of_a_call,
    ),
    Finding(
        "R",
        "An ordinary acknowledgement of a staged record is rejected.",
        "Pseudo code, comment",
        "acknowledge() is all or nothing for each partition, so the other records of the batch stay locked.",
        "finding-R",
        "kip-1289-small-half-a-batch",
        look=story_predicates.whole_batch_refused,
    ),
    Finding(
        "S",
        "A downgrade is refused while any record is TX_PENDING in memory.",
        "Downgrade",
        "The controller decides on a downgrade, and it has no share-partitions to check.",
        "finding-S",
        "kip-1289-small-downgrade",
        "upgrade=1",
        LIVE,
    ),
    Finding(
        "X1",
        "In implicit mode the loop calls no acknowledge(), and it calls poll() again after an abort.",
        "Pseudo code",
        "That poll() accepts the whole previous batch. No output of the batch is committed, so its records are lost.",
        "finding-X1",
        ABORTING,
        property_name="atomic",
    ),
    Finding(
        "X2",
        "The share-partition leader calls handleAddPartitionsToTransaction on its own broker.",
        "Flow - Share Group, 2.",
        "Only the broker of the transaction coordinator can handle the call. On any other broker corner case 2 applies, "
        "so every transaction is aborted.",
        "finding-X2",
        counting=BySearch(tallies.commits_with_own_broker),
    ),
    Finding(
        "X3",
        "The broker appends the marker to __share_group_state, and ShareCoordinatorShard does not change.",
        "Flow - Share Group, Execution on Broker 5; __share_group_state schema unchanged",
        "The share coordinator does not apply the marker, so its state no longer matches its own log.",
        "finding-X3",
        property_name=LIVE,
    ),
    Finding(
        "X4",
        "The leader adds the partition to the transaction, and then stages the records in memory. The text does not "
        "mention what may happen in between.",
        "Flow - Share Group, Staging Phase",
        "The transaction times out in between. Its ABORT marker finds no staged record, and the records are staged "
        "after it.",
        "finding-X4",
        TOGETHER,
        "time_out=1",
        LIVE,
    ),
    Finding(
        "X5",
        "When the last share session of a group on a broker ends, the broker removes the group's share-partitions.",
        "SharePartitionManager, Kafka 4.4.0; not mentioned in the KIP",
        "A crash of the application removes its transactional acknowledgement. Exactly-once processing has to survive "
        "such a crash.",
        "finding-X5",
        TOGETHER,
        "crash_client=1",
        "atomic",
    ),
    Finding(
        "X6",
        "The text does not mention a share-partition that is removed because a write was fenced.",
        "not mentioned in the KIP",
        "A fenced write removes the share-partition together with its transactional acknowledgement, and the output is "
        "committed.",
        "finding-X6",
        "kip-1289-small-reset-together",
        look=story_predicates.committed_and_loaded_without,
    ),
    Finding(
        "X7",
        "commitTransaction() returns when the transaction is complete.",
        "Flow - Share Group, Transaction Completion; 'true synchronisation point'",
        "It returns at PREPARE_COMMIT, while the records are still TX_PENDING.",
        "repaired",
        "kip-1289-share-commit",
        look=story_predicates.committed_and_pending,
    ),
    Finding(
        "X8",
        "The broker compares the member's epoch with the current owner of the share-partition.",
        "Corner case 8",
        "A share-partition leader knows member ids but no member epochs. Its broker knows them only if it is also the "
        "group coordinator.",
        "finding-X8",
        counting=BySearch(tallies.commits_with_epoch_check),
    ),
    Finding(
        "X9",
        "share.version 2 enables the feature.",
        "Feature Gating",
        "Level 2 already enables dead-letter queues (KIP-1191), so in a 4.4 cluster the new code is never dormant.",
        "finding-X9",
        "kip-1289-small-level-taken",
        "crash_broker=1",
        "atomic",
    ),
    Finding(
        "X10",
        "The NOT_LEADER_OR_FOLLOWER response names the current leader.",
        "TxnShareAcknowledgeResponse",
        "The new leader has no lock of this member, so a retry there never succeeds.",
        "repaired",
        "kip-1289-small-moved",
        look=story_predicates.staging_refused,
    ),
    Finding(
        "X11",
        "The text does not mention a transaction that contains only acknowledgements.",
        "Public Interfaces",
        "Unless staging starts the transaction, commitTransaction() sends no EndTxn at all.",
        "finding-X11",
        "kip-1289-small-reject",
        property_name="commit means decided",
    ),
    Finding(
        "X12",
        "The hook runs for every WriteTxnMarkers request.",
        "Existing RPCs NOT changed, WriteTxnMarkers",
        "A marker that an administrator sends for one hanging partition also resolves the acknowledgements that are "
        "staged on that broker.",
        "finding-E+marker_epoch=at_least",
        "kip-1289-small-by-hand",
        property_name="atomic",
    ),
    Finding(
        "X13",
        "The text does not mention a reset of the group's offsets while records are TX_PENDING.",
        "not mentioned in the KIP",
        "The reset raises the state epoch, and the transactional acknowledgement is fenced together with the old state.",
        "finding-X13",
        "kip-1289-small-reset",
        look=story_predicates.waits_for_nobody,
    ),
    Finding(
        "X14",
        "Atomic writes to a dead-letter topic are one motivation.",
        "Motivation, 3.",
        "A broker writes the dead letter of a rejected record after the commit, outside any transaction.",
        "repaired",
        "kip-1289-small-letter",
        look=story_predicates.letter_outside,
    ),
    Finding(
        "X15",
        "A later KIP stores TX_PENDING as one more delivery state.",
        "Future; Follow-up KIP",
        "When the share coordinator merges two states of a record, it keeps the one with the higher id. TX_PENDING has "
        "the highest, so no outcome ever replaces it.",
        "finding-X15",
        property_name=LIVE,
    ),
    Finding(
        "X16",
        "The text does not mention how __share_group_state is pruned.",
        "Follow-up KIP",
        "After a snapshot the older records can be deleted, among them a transactional acknowledgement whose marker is "
        "still to come.",
        "finding-X16",
        "kip-1289-small-pruned",
        look=story_predicates.waits_for_nobody,
    ),
    Finding(
        "X17",
        "The text does not mention records that are deleted from the log while they are staged.",
        "not mentioned in the KIP",
        "The start offset moves past the staged record. A later abort releases a record that no consumer can receive "
        "any more.",
        "repaired",
        "kip-1289-small-deleted",
        look=story_predicates.staged_before_the_start,
    ),
    Finding(
        "X18",
        "An abort makes the record ACQUIRED again, 'lock continues'.",
        "State machine additions; AcquisitionLockTimerTask, Kafka 4.4.0",
        "The record's only lock timer may have fired while the record was staged, and no new timer is started.",
        "finding-X18",
        ABORTING,
        "expire_lock=1",
        "every lock expires",
    ),
    Finding(
        "X19",
        "The call throws at once if any broker does not support the request.",
        "Corner case 9",
        "A client knows the features and versions that it received on its last connection, and not what was finalized "
        "later.",
        "repaired",
        "kip-1289-rollout",
        look=story_predicates.unsupported_though_finalized,
    ),
    Finding(
        "X20",
        "The text lists the errors of the response.",
        "TxnShareAcknowledgeResponse, supported errors",
        "Errors that the text's own flow produces are missing, and no response ever has TRANSACTIONAL_ID_NOT_FOUND.",
        counting=BySearch(tallies.undeclared_errors),
    ),
    Finding(
        "X21",
        "The principal needs Write on the share group.",
        "javadoc, GroupAuthorizationException",
        "ShareAcknowledge and TxnOffsetCommit need Read. A principal with the permission may also send the id of "
        "another principal's member.",
        counting=tallies.write_on_a_group,
    ),
    Finding(
        "X22",
        "The API takes AcknowledgementBatch and Acknowledgements, and a ConsumerRecord has a topic id.",
        "Public Interfaces, Pseudo code",
        "Both are internal classes of the client, and ConsumerRecord.topicId() does not exist.",
        because="it is about names that Kafka's public API does not have",
    ),
    Finding(
        "X23",
        "The hook scans all share-partitions of the broker.",
        "Existing RPCs NOT changed, WriteTxnMarkers",
        "Every marker causes a scan for every group, even if its transaction involves no share group.",
        "as-written",
        counting=tallies.count_visits,
    ),
    Finding(
        "X24",
        "The loop polls, processes, stages and commits.",
        "Pseudo code",
        "The application may call poll() again before it stages. The same record is then delivered again in the same "
        "transaction.",
        "finding-X24",
        "kip-1289-small-twice-in-one",
        property_name="atomic",
    ),
    Finding(
        "X25",
        "The call returns after it has enqueued the request, which names the member but no delivery.",
        "Public Interfaces; TxnShareAcknowledgeRequest",
        "A late staging also matches the next delivery of the record to the same member.",
        "finding-X25",
        "kip-1289-small-two-polls",
        "expire_lock=1",
        "atomic",
    ),
    Finding(
        "X26",
        "After an abort the next poll() returns the records again.",
        "Pseudo code, 'Records will be re-delivered on next poll()'",
        "If the staging was not sent or was rejected, the records stay locked for their member, which no longer knows "
        "of them.",
        "finding-X26",
        ABORTING,
        property_name="no self-deadlock",
    ),
    *LINE_BY_LINE,
)
