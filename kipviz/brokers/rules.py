"""The questions on which designs disagree, one slot each.

A slot decides and a handler acts: a handler asks its slot and reads the same forevery design. The options, their names
and their sources live in `designs`; nothing here knows them.
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
    """What of a transactional acknowledgement is made durable before the producer is told that it is staged? (KIP-1289
    "__share_group_state schema unchanged"; findings E, H, X5.)
    """

    participant: Callable[[str, str, int], tuple[str, ...]]
    """Under which keys of `__share_group_state` is the transaction told to look for the transactional acknowledgement:
    (group id, topic id, partition) -> keys? (KIP-1289 "partitionFor(groupId)"; findings A, C.)
    """

    enlistment: Callable[[int, int], int]
    """Which broker does the share-partition leader ask to add a participant to the transaction: (own broker,
    coordinator's broker) -> broker, or NOT_ASKED? (KIP-1289 "txnCoordinator.handleAddPartitions..."; X2.)
    """

    lock_expiry: Callable[[InFlight], InFlight | None]
    """What becomes of a TX_PENDING record when its acquisition lock runs out; None: its timer
    does not run. (KIP-1289 corner case 6; finding D.)"""

    marker_epoch: Callable[[int, int], bool]
    """Does a marker resolve a transactional acknowledgement: (epoch staged with, epoch of the marker)? (KIP-1289
    "Per-record fencing by (producerId, producerEpoch)"; finding I.)
    """

    outcome_news: Callable[[], bool]
    """Does the share coordinator tell the leader of the source what became of its transactional acknowledgements, or is
    it asked? (Study B2; no draft says either.)
    """

    marker_reach: Callable[[tuple[str, ...]], tuple[str, ...]]
    """Which of the share-partitions that a broker leads does an arriving marker touch?
    (KIP-1289 "broadcasts to all SharePartition instances on that broker"; findings A, B.)"""

    abort_target: Callable[[InFlight], InFlight]
    """What does a staged record become when its transaction aborts?
    (KIP-1289 javadoc against its test plan; finding F.)"""

    stage_retry: Callable[[], Errors]
    """What does a second, equal staging by the same transaction answer? (Finding K.)"""

    eviction: Callable[[], bool]
    """May a share-partition be dropped from memory while a transactional acknowledgement is pending in it? (Finding
    X5.)
    """

    epoch_check: Callable[[int, int], bool]
    """Does a log refuse what a producer writes: (its epoch, the last epoch that the log has seen)?
    (ProducerAppendInfo.checkProducerEpoch.)"""

    sequence_check: Callable[[], bool]
    """Does a log look at the sequences of batches, to know repetitions and gaps?
    (ProducerStateEntry.findDuplicateBatch, ProducerAppendInfo.checkSequence.)"""

    verification_guard: Callable[[bool], bool]
    """Is the coordinator's yes to a new partition still good: (no marker came by since)?
    (VerificationGuard, KIP-890.)"""

    marker_fencing: Callable[[int, int], bool]
    """Does a log refuse a marker: (its coordinator epoch, the last one that the log has seen)?
    (ProducerAppendInfo.checkCoordinatorEpoch.)"""

    lock_timeout: Callable[[], bool]
    """Does the acquisition lock of an ACQUIRED record run out? (SharePartition.AcquisitionLock-
    TimerTask.)"""

    keep_prepared: Callable[[int, int, int], tuple[int, int] | Errors]
    """Under which identity may a transaction be ended that InitProducerId has kept: (its producer
    id, its epoch, a fresh producer id) -> identity? (KIP-939 keepPreparedTxn; pull requests 21735
    and 22704.)"""

    kept_completion: Callable[[int, int, int], tuple[int, int]]
    """Which identity is stored when a kept transaction is complete: (producer id and epoch that
    ended it, a fresh producer id) -> identity? (Pull request 21735, the delayed commit.)"""

    commit_target: Callable[[int], RecordState]
    """What does a staged record become when its transaction commits: (acknowledge type)?
    (KIP-1289 javadoc against its State machine additions; finding G.)"""

    marker_answer: Callable[[], bool]
    """Does the answer to a marker in `__share_group_state` wait for the replicas? (Finding H.)"""

    outcome_write: Callable[[], bool]
    """Does the answer to a marker wait until the outcome of transactional acknowledgements in memory is durable?
    (KIP-1289 does not say; pull request 22357; finding X43.)
    """

    state_marker: Callable[[], bool]
    """Is the share coordinator notified of a marker that is written to its log?
    (KIP-1289 "no ShareCoordinatorShard changes"; KafkaApis.handleWriteTxnMarkersRequest; X3.)"""

    outcome_join: Callable[
        [tuple[StateBatch, ...], tuple[StateBatch, ...], bool, int], tuple[StateBatch, ...]
    ]
    """How does the outcome of a transactional acknowledgement enter the durable state: (stored, decided, committed,
    start offset)? (KIP-1289 "persistent TX_PENDING via DeliveryState"; finding X15.)
    """

    member_check: Callable[[int, int], Errors]
    """May the share-partition leader go by what its own broker knows of the member: (own broker,
    the group coordinator's broker)? (KIP-1289 corner case 8; finding X8.)"""

    pending_offset: Callable[[bool, int], Errors]
    """What is a consumer told whose group's offset is pending: (does it ask for stable offsets,
    version of OffsetFetch)? (KIP-447, both drafts and what ships.)"""

    group_metadata_gate: Callable[[int], Errors]
    """May a TxnOffsetCommit name a member of its group: (level of inter.broker.protocol.version)?
    (KIP-447, both drafts: Compatibility, Deprecation, and Migration Plan.)"""

    older_generation: Callable[[int, int], Errors]
    """Does the transaction coordinator serve a producer: (its generation, the newest that the
    coordinator has heard of)? (KIP-447, first draft "Fencing zombie".)"""

    older_transaction: Callable[[], tuple[bool, bool]]
    """What becomes of a transaction that an older generation has left open in partitions which
    another producer has been given now: is it aborted, and is it waited for? (KIP-447, first draft
    "InitProducerId".)"""

    name_beside_id: Callable[[], bool]
    """Does TxnOffsetCommit have a name beside each id, and is that looked for when nobody knows the
    id? (KIP-1319, Rejected Alternatives: names alongside ids.)"""

    zombie_offsets: Callable[[Errors], Errors]
    """Is a TxnOffsetCommit held against the group's members: (what is wrong with its member)?
    (KIP-447 "Fence zombie".)"""

    liveness: Callable[[bool], bool]
    """Is a transaction aborted because its producer was silent for three heartbeat intervals: (is
    it part of a two-phase commit)? (KIP-1309, draft.)"""

    silence: Callable[[int], int]
    """For how long may the owner of a transaction be silent: (ms that it told with InitProducerId)?
    (KIP-1309 against KIP-1310 2.2.)"""

    marker_below_level: Callable[[bool], bool]
    """Does a marker's hook run: (is the level of share.version finalized that KIP-1289 adds)?
    (KIP-1289 "Downgrade"; finding S.)"""

    reset_epoch: Callable[[int], int]
    """Which state epoch does an operator's AlterShareGroupOffsets have: (the group's epoch)?
    (KIP-932 "AlterShareGroupOffsets"; GroupMetadataManager.alterShareGroupOffsets.)"""

    reset_while_pending: Callable[[bool], tuple[Errors, bool]]
    """What comes of a reset, or a deletion, of a share-partition's state: (is a transactional acknowledgement pending
    there) -> what is answered, and whether a transactional acknowledgement outlives it? (Findings X6, X13.)
    """

    prune_floor: Callable[[int, int], int]
    """How far is `__share_group_state` deleted: (offset of the oldest snapshot that is needed, that of the first
    transactional acknowledgement whose outcome no snapshot has)? (ShareCoordinatorOffsetsManager; finding X16.)
    """

    member_epoch: Callable[[int, tuple[int, int] | None], Errors]
    """Is a staging held against the member's epoch: (the request's, the present one and the one
    before as the group's coordinator has them; None: no member)? (KIP-1289 corner case 8; L.)"""

    stage_parts: Callable[[tuple[Errors, ...]], bool]
    """Is what was staged of a request given back when another partition of it is refused: (what each
    partition is told)? (KIP-1289 corner case 11; finding Q.)"""

    initialize_again: Callable[[], bool]
    """Is the state of a share-partition made again by an Initialize that repeats its state epoch and its start offset?
    (KIP-932 "InitializeShareGroupState"; ShareCoordinatorShard.initializeState.)
    """

    vote_form: Callable[[], bool]
    """Is a durable transactional acknowledgement an ordinary delivery state, written by the leader after it has added
    the participant? (KIP-1289 Follow-up KIP; pull request 22357, middle and late.)
    """

    pending_resolver: Callable[[], bool]
    """Does the share coordinator complete what is TX_PENDING in its state when a marker comes?
    (Pull request 22357, late; findings B, X15.)"""

    state_rank: Callable[[StateBatch], Rank]
    """Which of two states of one offset stays in the durable state: the one that ranks higher?
    (PersisterStateBatchCombiner; pull request 22357.)"""

    marker_hook: Callable[[bool, bool], bool]
    """Does the hook of a marker request run: (is nothing appended yet, does the request name a partition of
    `__share_group_state`)? (KIP-1289 "Flow - Share Group"; pull request 22357.)"""

    abort_limit: Callable[[int, int], bool]
    """Is a record archived when its transaction aborts: (its delivery count, the group's limit)?
    (KIP-932 "Max delivery count"; pull request 22357, InFlightState.)"""

    rollback_lock: Callable[[int], int]
    """Which lock has a record whose staging failed: (the lock that it had), -1 for no timer?
    (KIP-932 "acquisition lock"; pull request 22357, InFlightState.)"""

    participant_order: Callable[[], bool]
    """Is the participant added before the acknowledgement is staged?
    (KIP-1289 Flow, "Only on success"; the other order shows what it is there for.)"""

    refresh_match: Callable[[bool], bool]
    """Does the answer to a refresh resolve a transactional acknowledgement of a transaction that had transactional
    acknowledgements when it was sent: (was this transactional acknowledgement durable then)? (Pull request 22357,
    SharePartitionTxnState; S6.)
    """

    end_txn_response: Callable[[], bool]
    """Does the response to EndTxn wait until every marker is written?
    (KIP-98 "EndTxnRequest", 4.2; TransactionCoordinator.endTransaction; study B6.)"""

    unanswered_vote: Callable[[], bool]
    """Does a transactional acknowledgement stay pending for which the state that a refresh reads has no batch? (Pull
    request 22357, SharePartitionTxnState.finalState.) A state of a newer epoch fails the read, and the share-partition
    is dropped, as for any other FENCED_STATE_EPOCH: what the draft does then is not stored.
    """
