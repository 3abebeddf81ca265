"""The findings of our review of KIP-1289, from A to S and from X1 to X26, in their order.

X25 and X26 were found by searching the design that mends the others.

What the text says is told in our words, with the place where it says so. KIP-1289 is a draft; that
it says so is a fact, what is the matter with it is our reading, and the run is what decides.
"""

from __future__ import annotations

from kipviz.studies import looks, tallies
from kipviz.studies.findings import LIVE, Finding

TOGETHER = "kip-1289-small-together"
ABORTING = "kip-1289-small-abort"

FINDINGS: tuple[Finding, ...] = (
    Finding(
        "A",
        "The coordinator need not track share-partitions: the marker is broadcast anyway.",
        "Existing RPCs NOT changed, AddPartitionsToTxn",
        "A transaction sends markers to its participants only; without one nobody is told.",
        "finding-A",
        promise=LIVE,
    ),
    Finding(
        "B",
        "The marker's broker finds the staged records in its cache.",
        "Flow - Share Group, 'Broker 5'",
        "The leader of the source and the leader of the state partition are two brokers.",
        "finding-B",
        promise=LIVE,
    ),
    Finding(
        "C",
        "The participant is partitionFor(groupId).",
        "Flow - Share Group, 1.",
        "Share state is placed by group, topic id and partition; the marker goes elsewhere.",
        "finding-C",
        promise=LIVE,
    ),
    Finding(
        "D",
        "A lock that runs out frees a staged record.",
        "Corner case 6",
        "The record is given away after the decision to commit.",
        "finding-D",
        faults="expire_lock=1",
        promise="atomic",
    ),
    Finding(
        "E",
        "TX_PENDING lives in memory only.",
        "Corner cases 1 and 12, __share_group_state unchanged",
        "A new leader finds no vote, and the output of the record is committed.",
        "finding-E",
        TOGETHER,
        "move_leader=1",
        "atomic",
    ),
    Finding(
        "F",
        "An abort makes staged records ACQUIRED; the next poll() brings them again.",
        "javadoc and State machine additions against the pseudo code",
        "The next poll() waits for what its own member holds, until the lock runs out.",
        "finding-F",
        ABORTING,
        promise="an abort brings it again",
    ),
    Finding(
        "G",
        "On commit: ACCEPT becomes ACKNOWLEDGED, 'same for RELEASE and REJECT'.",
        "State machine additions, against the javadoc",
        "What was rejected counts as processed, and never reaches a dead-letter topic.",
        "finding-G",
        "kip-1289-small-reject",
        promise="a rejection stays one",
    ),
    Finding(
        "H",
        "The share side appends its marker and answers; nothing is said of replicas or failures.",
        "Flow - Share Group, Execution on Broker 5",
        "The transaction is complete while the marker is on one broker alone, and it dies.",
        "finding-H",
        "kip-1289-small-stepwise",
        look=looks.complete_but_open,
    ),
    Finding(
        "I",
        "Only a marker with the staged producer epoch resolves a record.",
        "Existing RPCs NOT changed, WriteTxnMarkers",
        "Under transaction version 2 the decision bumps the epoch: no honest marker fits.",
        "finding-I",
        promise=LIVE,
    ),
    Finding(
        "J",
        "A marker that fits the staged epoch resolves the record, whichever transaction sent it.",
        "Corner cases 5 and 14",
        "A late marker of the transaction before would fit the next one of the same epoch.",
        "repaired+marker_epoch=at_least",
        faults="lose_connection=1",
        promise="atomic",
        because="two transactions have one epoch under transaction versions 0 and 1 only; under "
        "version 2 the coordinator takes no new participant before every marker is answered",
    ),
    Finding(
        "K",
        "A record that is not ACQUIRED cannot be staged: INVALID_RECORD_STATE.",
        "State machine additions",
        "A staging whose answer was lost is refused when it comes again.",
        "finding-K",
        faults="lose_connection=1",
        promise="own vote counts",
    ),
    Finding(
        "L",
        "The member's epoch must be the current one.",
        "Corner case 8",
        "Every join or leave aborts the transactions of all members, who hold valid locks.",
        because="share-group members that come and go while a transaction is open",
        needs=True,
    ),
    Finding(
        "M",
        "An abort makes staged records ACQUIRED until the lock runs out.",
        "javadoc; KIP-932 delivery count limit",
        "At the limit the lock archives a record that nobody ever failed to process.",
        "finding-M",
        "kip-1289-small-last-delivery",
        "expire_lock=1",
        "an abort is no failure",
    ),
    Finding(
        "N",
        "ShareGroupMetadata has an optional group instance id.",
        "Public Interfaces, list",
        "Share groups have no static members, and the class in the same text has no such field.",
        because="two lists in the text differ; no message carries it",
    ),
    Finding(
        "O",
        "The request has API key 93, its answer 94.",
        "Wire protocol additions",
        "One request has one key, and Kafka has given both to others.",
        because="in Kafka's trunk 93 is StreamsGroupTopologyDescriptionUpdate and 94 is "
        "UnregisterController; the bytes here carry the draft's 93 in both directions",
    ),
    Finding(
        "P",
        "TX_PENDING is one more state that is not final.",
        "State machine additions",
        "The start offset waits for it, and the limit of records in flight counts from there.",
        "repaired",
        "kip-1289-small-head-of-line",
        look=looks.waits_behind_a_vote,
    ),
    Finding(
        "Q",
        "A call over several partitions is all or nothing.",
        "Corner case 11",
        "Two partitions may have two leaders, and none of them can undo the other's part.",
        because="one request goes to each leader; what becomes of the half that was staged is "
        "study B25",
    ),
    Finding(
        "R",
        "An ordinary acknowledgement of a staged record is rejected.",
        "Pseudo code, comment",
        "acknowledge() is all or nothing per partition: the others in the batch stay locked.",
        "finding-R",
        "kip-1289-small-half-a-batch",
        look=looks.whole_batch_refused,
    ),
    Finding(
        "S",
        "A downgrade is refused while any record is TX_PENDING in memory.",
        "Downgrade",
        "The controller decides on downgrades, and has no share-partition to look at.",
        "finding-S",
        "kip-1289-small-downgrade",
        "upgrade=1",
        LIVE,
    ),
    Finding(
        "X1",
        "In implicit mode the loop needs no acknowledge(); the next poll() follows the abort.",
        "Pseudo code",
        "That poll() accepts the whole batch before it, and no output is committed: it is lost.",
        "finding-X1",
        ABORTING,
        promise="atomic",
    ),
    Finding(
        "X2",
        "The share-partition leader calls handleAddPartitionsToTransaction on its own broker.",
        "Flow - Share Group, 2.",
        "Only the coordinator's broker can do that; corner case 2 makes it an abort, for ever.",
        "finding-X2",
        counting=tallies.commits_with_own_broker,
    ),
    Finding(
        "X3",
        "The broker appends the marker to __share_group_state; no ShareCoordinatorShard changes.",
        "Flow - Share Group, Execution on Broker 5; __share_group_state schema unchanged",
        "The coordinator does not know that marker, and is out of step with its own log.",
        "finding-X3",
        promise=LIVE,
    ),
    Finding(
        "X4",
        "Staging follows the enlistment in memory; nothing is said of what comes in between.",
        "Flow - Share Group, Staging Phase",
        "The time-out aborts in between; the marker finds nothing, and then it is staged.",
        "finding-X4",
        TOGETHER,
        "time_out=1",
        LIVE,
    ),
    Finding(
        "X5",
        "The last session of a group on a broker takes its share-partitions along.",
        "SharePartitionManager, Kafka 4.4.0; not mentioned in the KIP",
        "A crash of the application, which exactly once is for, evicts the vote.",
        "finding-X5",
        TOGETHER,
        "crash_client=1",
        "atomic",
    ),
    Finding(
        "X6",
        "Nothing is said of a share-partition that is removed because a write was fenced.",
        "not mentioned in the KIP",
        "Any refused write drops the share-partition, and with it the votes in its memory.",
        because="a state epoch that moves on: a group that is deleted, or whose offsets are reset; "
        "a new leader drops votes alike, which is E",
        needs=True,
    ),
    Finding(
        "X7",
        "commitTransaction() returns when the transaction is complete.",
        "Flow - Share Group, Transaction Completion; 'true synchronisation point'",
        "It returns at PREPARE_COMMIT, while the records are still TX_PENDING.",
        "repaired",
        "kip-1289-share-commit",
        look=looks.committed_and_pending,
    ),
    Finding(
        "X8",
        "The broker compares the member's epoch with the current owner of the share-partition.",
        "Corner case 8",
        "A share-partition leader knows member ids and no epochs; its own broker seldom does.",
        "finding-X8",
        counting=tallies.commits_with_epoch_check,
    ),
    Finding(
        "X9",
        "share.version 2 turns it on.",
        "Feature Gating",
        "Level 2 is the one of dead-letter queues (KIP-1191): a 4.4 cluster has it already.",
        because="the number is taken; by the text a broker without the code would advertise it",
    ),
    Finding(
        "X10",
        "NOT_LEADER_OR_FOLLOWER comes with the current leader.",
        "TxnShareAcknowledgeResponse",
        "The new leader has no lock of this member: being sent there never helps.",
        "repaired",
        "kip-1289-small-moved",
        look=looks.staging_refused,
    ),
    Finding(
        "X11",
        "Nothing is said of a transaction that only acknowledges.",
        "Public Interfaces",
        "Unless staging starts the transaction, commitTransaction() sends no EndTxn at all.",
        "finding-X11",
        "kip-1289-small-reject",
        promise="commit is true",
    ),
    Finding(
        "X12",
        "The hook runs for every WriteTxnMarkers request.",
        "Existing RPCs NOT changed, WriteTxnMarkers",
        "An administrator's marker for one hanging partition would resolve votes elsewhere.",
        because="an administrator's abort is KIP-664's; its marker has the epoch of the open "
        "transaction, which fits a vote only where markers must fit exactly, and there I comes first",
    ),
    Finding(
        "X13",
        "Nothing is said of a reset of the group's offsets while records are TX_PENDING.",
        "not mentioned in the KIP",
        "The state epoch moves on, and a later commit is fenced.",
        because="AlterShareGroupOffsets and the deletion of a group",
        needs=True,
    ),
    Finding(
        "X14",
        "An atomic write to a dead-letter topic is a motivation.",
        "Motivation, 3.",
        "A rejected record goes to its dead-letter topic after the commit, outside of it.",
        because="with the text's own words: REJECT becomes ARCHIVING on commit, and what ARCHIVING "
        "writes is in no transaction; study B30 counts the letters",
    ),
    Finding(
        "X15",
        "A later KIP makes TX_PENDING durable as one more delivery state.",
        "Future; Follow-up KIP",
        "The share coordinator joins states, and the one with the highest id wins for ever.",
        "finding-X15",
        promise=LIVE,
    ),
    Finding(
        "X16",
        "Nothing is said of what is pruned of the log.",
        "Follow-up KIP",
        "A snapshot after the vote lets the vote be deleted before its marker.",
        because="pruning of __share_group_state",
        needs=True,
    ),
    Finding(
        "X17",
        "Nothing is said of records that are deleted while they are staged.",
        "not mentioned in the KIP",
        "The start offset cannot pass a vote below the log's start until its marker comes.",
        because="in the repaired design the vote keeps its record until the marker, as P shows; "
        "the text has no rule to compare with",
    ),
    Finding(
        "X18",
        "An abort gives the record back, 'lock continues'.",
        "State machine additions; AcquisitionLockTimerTask, Kafka 4.4.0",
        "The only timer may have fired while the record was staged; there is no other one.",
        "finding-X18",
        ABORTING,
        "expire_lock=1",
        "a lock can end",
    ),
    Finding(
        "X19",
        "The call throws at once if any broker lacks the request.",
        "Corner case 9",
        "A client knows what its last connection told it, and nothing that was finalized since.",
        "repaired",
        "kip-1289-rollout",
        look=looks.unsupported_though_finalized,
    ),
    Finding(
        "X20",
        "The errors of the answer are listed.",
        "TxnShareAcknowledgeResponse, supported errors",
        "Errors that its own flow produces are missing, and TRANSACTIONAL_ID_NOT_FOUND never comes.",
        counting=tallies.undeclared_errors,
    ),
    Finding(
        "X21",
        "The principal needs Write on the share group.",
        "javadoc, GroupAuthorizationException",
        "ShareAcknowledge and TxnOffsetCommit need Read; any principal may quote a member's id.",
        because="AclEntry has no WRITE of a group, so what the text asks for cannot be granted; "
        "kip-1289 stories with ACLs give READ",
    ),
    Finding(
        "X22",
        "The API takes AcknowledgementBatch and Acknowledgements; a ConsumerRecord has a topic id.",
        "Public Interfaces, Pseudo code",
        "Both are internal classes of the client, and ConsumerRecord.topicId() does not exist.",
        because="names in the text that Kafka's public API does not have",
    ),
    Finding(
        "X23",
        "The hook looks through all share-partitions of the broker.",
        "Existing RPCs NOT changed, WriteTxnMarkers",
        "Every marker pays for every group, also where no share group takes part.",
        "as-written",
        counting=tallies.walked_through,
    ),
    Finding(
        "X24",
        "The loop polls, processes, stages and commits.",
        "Pseudo code",
        "Nothing refuses a second poll() before the staging, and the same record comes again.",
        "finding-X24",
        "kip-1289-small-twice-in-one",
        promise="atomic",
    ),
    Finding(
        "X25",
        "The call returns after enqueueing; it names the member, and no delivery.",
        "Public Interfaces; TxnShareAcknowledgeRequest",
        "A staging that is late fits the next delivery of the record to the same member.",
        "finding-X25",
        "kip-1289-small-two-polls",
        "expire_lock=1",
        "atomic",
    ),
    Finding(
        "X26",
        "After an abort the next poll() brings the records again.",
        "Pseudo code, 'Records will be re-delivered on next poll()'",
        "A staging that was not sent, or was refused, leaves them with their member, unknown to it.",
        "finding-X26",
        ABORTING,
        promise="nobody waits for itself",
    ),
)


def finding(name: str) -> Finding:
    """Give a finding by its name, such as "X4".

    Raises:
        LookupError: if there is none; the message lists what there is.
    """
    for known in FINDINGS:
        if known.name.lower() == name.strip().lower():
            return known
    allowed = ", ".join(known.name for known in FINDINGS)
    raise LookupError(f"there is no finding {name!r}; the findings are {allowed}")
