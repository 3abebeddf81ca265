"""The questions on which designs disagree, one slot each.

A slot decides and a handler acts: a handler asks its slot and is the same for every design. The options, their names
and their sources are in `designs`; nothing here knows them.
"""

from __future__ import annotations

from collections.abc import Callable

from kipviz.brokers.share_leaders.in_flight import InFlight
from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.records.share_group_state import Rank, RecordState, StagedBatch, StateBatch


class BrokerRules(Value, frozen=True):
    """What the brokers of one design do where the proposals differ."""

    staged_acks: Callable[[tuple[StagedBatch, ...]], tuple[StagedBatch, ...]]
    """Which part of a transactional acknowledgement is durable before the producer learns that it is staged? (KIP-1289
    "__share_group_state schema unchanged"; findings E, H, X5.)
    """

    participant: Callable[[str, str, int], tuple[str, ...]]
    """Which keys of `__share_group_state` does the transaction get as participants for an acknowledgement: (group id,
    topic id, partition) -> keys? (KIP-1289 "partitionFor(groupId)"; findings A, C.)
    """

    enlistment: Callable[[int, int], int]
    """Which broker does the share-partition leader ask to add a participant to the transaction: (own broker,
    coordinator's broker) -> broker, or NOT_ASKED? (KIP-1289 "txnCoordinator.handleAddPartitions..."; X2.)
    """

    lock_expiry: Callable[[InFlight], InFlight | None]
    """What becomes of a TX_PENDING record when its acquisition lock expires? None: its timer does not run. (KIP-1289
    corner case 6; finding D.)
    """

    marker_epoch: Callable[[int, int], bool]
    """Does a marker resolve a transactional acknowledgement: (epoch of the acknowledgement, epoch of the marker)?
    (KIP-1289 "Per-record fencing by (producerId, producerEpoch)"; finding I.)
    """

    outcome_news: Callable[[], bool]
    """Does the share coordinator notify the source partition's leader of the outcome of transactional acknowledgements,
    or does the leader ask? (Study B2; no draft says either.)
    """

    marker_reach: Callable[[tuple[str, ...]], tuple[str, ...]]
    """Which of the share-partitions that a broker leads does an arriving marker resolve? (KIP-1289 "broadcasts to all
    SharePartition instances on that broker"; findings A, B.)
    """

    abort_target: Callable[[InFlight], InFlight]
    """Which state does a staged record get when its transaction aborts? (KIP-1289 javadoc against its test plan;
    finding F.)
    """

    stage_retry: Callable[[], Errors]
    """What is the response to a second, equal staging by the same transaction? (Finding K.)"""

    eviction: Callable[[], bool]
    """May a share-partition be dropped from memory while it has a pending transactional acknowledgement? (Finding X5.)
    """

    epoch_check: Callable[[int, int], bool]
    """Does a log reject a producer's batch: (its epoch, the last epoch that the log has seen)?
    (ProducerAppendInfo.checkProducerEpoch.)
    """

    sequence_check: Callable[[], bool]
    """Does a log check the sequences of batches, to find duplicates and gaps? (ProducerStateEntry.findDuplicateBatch,
    ProducerAppendInfo.checkSequence.)
    """

    verification_guard: Callable[[bool], bool]
    """Is the coordinator's positive answer for a new partition still valid: (no marker was written since)?
    (VerificationGuard, KIP-890.)
    """

    marker_fencing: Callable[[int, int], bool]
    """Does a log reject a marker: (its coordinator epoch, the last one that the log has seen)?
    (ProducerAppendInfo.checkCoordinatorEpoch.)
    """

    lock_timeout: Callable[[], bool]
    """Does the acquisition lock of an ACQUIRED record expire? (SharePartition.AcquisitionLockTimerTask.)"""

    keep_prepared: Callable[[int, int, int], tuple[int, int] | Errors]
    """Under which identity may a transaction be ended that InitProducerId has kept: (its producer id, its epoch, a new
    producer id) -> identity? (KIP-939 keepPreparedTxn; pull requests 21735 and 22704.)
    """

    kept_completion: Callable[[int, int, int], tuple[int, int]]
    """Which identity is stored when a kept transaction is complete: (producer id and epoch that ended it, a new
    producer id) -> identity? (Pull request 21735, the delayed commit.)
    """

    commit_target: Callable[[int], RecordState]
    """Which state does a staged record get when its transaction commits: (acknowledge type)? (KIP-1289 javadoc against
    its State machine additions; finding G.)
    """

    marker_answer: Callable[[], bool]
    """Does the response to a marker in `__share_group_state` wait for the replicas? (Finding H.)"""

    outcome_write: Callable[[], bool]
    """Does the response to a marker wait until the outcome of transactional acknowledgements in memory is durable?
    (KIP-1289 does not say; pull request 22357; finding X43.)
    """

    state_marker: Callable[[], bool]
    """Is the share coordinator notified of a marker that is written to its log?
    (KIP-1289 "no ShareCoordinatorShard changes"; KafkaApis.handleWriteTxnMarkersRequest; X3.)"""

    outcome_join: Callable[
        [tuple[StateBatch, ...], tuple[StateBatch, ...], bool, int], tuple[StateBatch, ...]
    ]
    """How is the outcome of a transactional acknowledgement merged into the durable state: (stored, decided, committed,
    start offset)? (KIP-1289 "persistent TX_PENDING via DeliveryState"; finding X15.)
    """

    member_check: Callable[[int, int], Errors]
    """May the share-partition leader rely on its own broker's knowledge of the member: (own broker, the group
    coordinator's broker)? (KIP-1289 corner case 8; finding X8.)
    """

    pending_offset: Callable[[bool, int], Errors]
    """Which error does a consumer get while its group's offset is pending: (does it require stable offsets, version of
    OffsetFetch)? (KIP-447, both drafts and what is shipped.)
    """

    group_metadata_gate: Callable[[int], Errors]
    """May a TxnOffsetCommit name a member of its group: (level of inter.broker.protocol.version)?
    (KIP-447, both drafts: Compatibility, Deprecation, and Migration Plan.)"""

    older_generation: Callable[[int, int], Errors]
    """Does the transaction coordinator serve a producer: (its generation, the newest that the coordinator has seen)?
    (KIP-447, first draft "Fencing zombie".)
    """

    older_transaction: Callable[[], tuple[bool, bool]]
    """What becomes of an open transaction of an older generation, in partitions that now belong to another producer: is
    it aborted, and does InitProducerId wait for it? (KIP-447, first draft "InitProducerId".)
    """

    name_beside_id: Callable[[], bool]
    """Does TxnOffsetCommit have a name beside each id, and is the name used when the id is unknown? (KIP-1319, Rejected
    Alternatives: names alongside ids.)
    """

    zombie_offsets: Callable[[Errors], Errors]
    """Is a TxnOffsetCommit fenced by the group's members: (the error of its member)? (KIP-447 "Fence zombie".)"""

    liveness: Callable[[bool], bool]
    """Is a transaction aborted if its producer sends nothing for three heartbeat intervals: (is it part of a two-phase
    commit)? (KIP-1309, draft.)
    """

    silence: Callable[[int], int]
    """How long may the owner of a transaction send nothing: (the ms that it sent with InitProducerId)? (KIP-1309
    against KIP-1310 2.2.)
    """

    marker_below_level: Callable[[bool], bool]
    """Does a marker's hook run: (is the share.version level that KIP-1289 adds finalized)? (KIP-1289 "Downgrade";
    finding S.)
    """

    reset_epoch: Callable[[int], int]
    """Which state epoch does an operator's AlterShareGroupOffsets use: (the group's epoch)? (KIP-932
    "AlterShareGroupOffsets"; GroupMetadataManager.alterShareGroupOffsets.)
    """

    reset_while_pending: Callable[[bool], tuple[Errors, bool]]
    """What is the result of a reset, or a deletion, of a share-partition's state: (is a transactional acknowledgement
    pending there) -> the error, and whether such an acknowledgement survives? (Findings X6, X13.)
    """

    prune_floor: Callable[[int, int], int]
    """Up to which offset is `__share_group_state` pruned: (offset of the oldest needed snapshot, that of the first
    transactional acknowledgement whose outcome is in no snapshot)? (ShareCoordinatorOffsetsManager; finding X16.)
    """

    member_epoch: Callable[[int, tuple[int, int] | None], Errors]
    """Is a staging fenced by the member's epoch: (the request's epoch, the current and previous one at the group's
    coordinator; None: no member)? (KIP-1289 corner case 8; L.)
    """

    stage_parts: Callable[[tuple[Errors, ...]], bool]
    """Is what a request staged released when another of its partitions is rejected: (the errors of all partitions)?
    (KIP-1289 corner case 11; finding Q.)
    """

    initialize_again: Callable[[], bool]
    """Does an Initialize that repeats its state epoch and its start offset create the state of a share-partition again?
    (KIP-932 "InitializeShareGroupState"; ShareCoordinatorShard.initializeState.)
    """

    acknowledgement_form: Callable[[], bool]
    """Is a durable transactional acknowledgement an ordinary delivery state that the leader writes after it has added
    the participant? (KIP-1289 Follow-up KIP; pull request 22357, middle and late.)
    """

    pending_resolver: Callable[[], bool]
    """Does the share coordinator complete the TX_PENDING batches of its state when a marker arrives? (Pull request
    22357, late; findings B, X15.)
    """

    state_rank: Callable[[StateBatch], Rank]
    """Which of two states of one offset stays in the durable state: the one with the higher rank?
    (PersisterStateBatchCombiner; pull request 22357.)
    """

    marker_hook: Callable[[bool, bool], bool]
    """Does the hook of a marker request run: (is nothing appended yet, does the request name a partition of
    `__share_group_state`)? (KIP-1289 "Flow - Share Group"; pull request 22357.)
    """

    abort_limit: Callable[[int, int], bool]
    """Is a record archived when its transaction aborts: (its delivery count, the group's limit)?
    (KIP-932 "Max delivery count"; pull request 22357, InFlightState.)"""

    rollback_lock: Callable[[int], int]
    """Which lock does a record have after its staging failed: (its earlier lock), -1 for no timer? (KIP-932
    "acquisition lock"; pull request 22357, InFlightState.)
    """

    participant_order: Callable[[], bool]
    """Is the participant added before the acknowledgement is staged? (KIP-1289 Flow, "Only on success"; the other order
    shows why this one is needed.)
    """

    refresh_match: Callable[[bool], bool]
    """Does the response to a refresh resolve an acknowledgement of a transaction that had acknowledgements when the
    refresh was sent: (was this acknowledgement durable then)? (Pull request 22357, SharePartitionTxnState; S6.)
    """

    end_txn_response: Callable[[], bool]
    """Does the response to EndTxn wait until every marker is written?
    (KIP-98 "EndTxnRequest", 4.2; TransactionCoordinator.endTransaction; study B6.)"""

    unanswered_acknowledgement: Callable[[], bool]
    """Does a transactional acknowledgement stay pending if the state that a refresh reads has no batch for it? (Pull
    request 22357, SharePartitionTxnState.finalState.) A state of a newer epoch fails the read, and the share-partition
    is dropped, as for any other FENCED_STATE_EPOCH: what the draft does then is not stored.
    """
