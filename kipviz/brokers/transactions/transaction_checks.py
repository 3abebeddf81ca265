"""The checks of a transaction coordinator's requests, in Kafka's order.

WHERE IN KAFKA: TransactionCoordinator's endTransaction, prepareInitProducerIdTransit, handleAddPartitionsToTransaction
and handleVerifyPartitionsInTransaction. Each function returns the checks up to the first one that fails; see `checks`.
"""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.brokers.checks import (
    Check,
    Checks,
    add_translation,
    compare,
    error_of,
    has_loaded,
    in_order,
    report_value,
)
from kipviz.brokers.context import Context
from kipviz.brokers.rules import BrokerRules
from kipviz.brokers.transactions import producer_groups, two_phase
from kipviz.brokers.transactions.producer_groups import Assignments
from kipviz.brokers.transactions.transaction_metadata import (
    COMPLETED,
    PREPARED,
    TransactionMetadata,
    error_for_version,
    is_end_txn_retry,
    is_overflow_retry,
)
from kipviz.messages.errors import Errors
from kipviz.messages.transactions.group_transactions import InitProducerIdOfGroup
from kipviz.messages.transactions.transactions import (
    AddOffsetsToTxn,
    EndTxn,
    InitProducerId,
    TxnPartitions,
)
from kipviz.records.transaction_state import EPOCH_MAX, LAST_CLIENT_EPOCH, TransactionState

S = TransactionState


@in_order
def asking_checks(loading: bool, request: InitProducerId, on: Context) -> Iterator[Check]:
    """Check that an InitProducerId is served: its fields are allowed, and the log is loaded."""
    yield from two_phase.request_checks(request, on)
    yield has_loaded(loading)


def _served_checks(
    loading: bool, assignments: Assignments, name: str, rules: BrokerRules
) -> Iterator[Check]:
    """Check that a request has a transactional id, that the log is loaded, and that its generation is current."""
    if not name:
        yield compare("transactional id", name, None, False, Errors.INVALID_REQUEST)
    yield has_loaded(loading)
    yield from producer_groups.generation_checks(assignments, name, rules)


@in_order
def joining_checks(
    loading: bool,
    assignments: Assignments,
    known: TransactionMetadata | None,
    request: TxnPartitions | AddOffsetsToTxn,
    rules: BrokerRules,
) -> Iterator[Check]:
    """Return every check of AddPartitionsToTxn, including verification, and of AddOffsetsToTxn."""
    yield from _served_checks(loading, assignments, request.transactional_id, rules)
    if isinstance(request, TxnPartitions) and request.verify_only:
        yield from verify_checks(known, request)
    else:
        yield from add_partitions_checks(known, request)


@in_order
def ending_checks(
    loading: bool,
    assignments: Assignments,
    known: TransactionMetadata | None,
    request: EndTxn,
    rules: BrokerRules,
) -> Iterator[Check]:
    """Return every check of EndTxn."""
    yield from _served_checks(loading, assignments, request.transactional_id, rules)
    yield is_known(known, request.transactional_id)
    assert known is not None
    of_version = end_txn_checks if request.version >= 5 else end_txn_checks_below_5
    yield from of_version(known, request)
    yield report_value("partitions", known.partitions)


def _no_transition(known: TransactionMetadata) -> Check:
    """Check that no transition of the transaction is being logged: one at a time."""
    pending = known.pending_state
    return compare(
        "pending transition", None, pending, pending is None, Errors.CONCURRENT_TRANSACTIONS
    )


@in_order
def init_producer_id_checks(known: TransactionMetadata, request: InitProducerId) -> Iterator[Check]:
    """Check that a producer can get an identity now: no transition in progress, no stale caller."""
    yield _no_transition(known)
    expected = request.producer_id
    if expected >= 0:
        fits = _is_expected_producer(known, request)
        yield compare("producer id", expected, known.producer_id, fits, Errors.PRODUCER_FENCED)
    ended = known.state not in PREPARED
    yield compare("state", None, known.state, ended, Errors.CONCURRENT_TRANSACTIONS)


@in_order
def identity_checks(known: TransactionMetadata, request: InitProducerId) -> Iterator[Check]:
    """Check the epoch that a producer expects: the stored one, or the previous one, which is a retry.

    A request that names a group expects none (KIP-447, first draft). An exhausted epoch with another expected epoch is
    an IllegalStateException in Kafka, which the client receives as UNKNOWN_SERVER_ERROR.
    """
    if request.producer_id < 0 or isinstance(request, InitProducerIdOfGroup):
        return
    epoch, expected = known.producer_epoch, request.producer_epoch
    if known.is_exhausted:
        error, fits = Errors.UNKNOWN_SERVER_ERROR, expected == epoch
    else:
        error = Errors.PRODUCER_FENCED
        fits = epoch == -1 or expected in (epoch, known.last_producer_epoch)
    yield compare("producer epoch", expected, epoch, fits, error)


def is_known(known: TransactionMetadata | None, name: str | None) -> Check:
    """Check that the coordinator knows a transactional id."""
    found = known.transactional_id if known is not None else None
    error = Errors.INVALID_PRODUCER_ID_MAPPING
    return compare("transactional id", name, found, known is not None, error)


def _same_id(known: TransactionMetadata, producer_id: int) -> Check:
    same = known.producer_id == producer_id
    error = Errors.INVALID_PRODUCER_ID_MAPPING
    return compare("producer id", producer_id, known.producer_id, same, error)


def _same_epoch(known: TransactionMetadata, epoch: int) -> Check:
    same = known.producer_epoch == epoch
    return compare("producer epoch", epoch, known.producer_epoch, same, Errors.PRODUCER_FENCED)


@in_order
def owner_checks(
    known: TransactionMetadata | None, name: str, producer_id: int, epoch: int
) -> Iterator[Check]:
    """Check that a transactional id is known, and belongs to a producer with this id and epoch."""
    yield is_known(known, name)
    assert known is not None
    owner = known.as_its_client_knows_it
    yield _same_id(owner, producer_id)
    yield _same_epoch(owner, epoch)


@in_order
def add_partitions_checks(
    known: TransactionMetadata | None, request: TxnPartitions | AddOffsetsToTxn
) -> Iterator[Check]:
    """Check that partitions can be added; the order is Kafka's.

    A transition in progress comes before producer id and epoch, so that a rotation of the producer id can finish. A
    kept transaction accepts no more partitions (KIP-939, draft; the error is our inference).
    """
    yield is_known(known, request.transactional_id)
    assert known is not None
    yield _no_transition(known)
    owner = known.as_its_client_knows_it
    yield _same_id(owner, request.producer_id)
    yield _same_epoch(owner, request.producer_epoch)
    if known.is_kept:
        yield compare("kept for", None, known.kept_for, False, Errors.INVALID_TXN_STATE)
    ended = known.state not in PREPARED
    yield compare("state", None, known.state, ended, Errors.CONCURRENT_TRANSACTIONS)
    if isinstance(request, TxnPartitions):
        yield Check("partitions", request.partitions, known.partitions)


@in_order
def verify_checks(known: TransactionMetadata | None, request: TxnPartitions) -> Iterator[Check]:
    """Check that every partition is in the ongoing transaction; nothing changes (KIP-890 part 1).

    A transition in progress is no reason for an error. Outside a transaction the set is empty, so every partition is
    TRANSACTION_ABORTABLE. The response names those that are in it all the same (`transaction_append.answer_add`).
    Source: handleVerifyPartitionsInTransaction.
    """
    yield is_known(known, request.transactional_id)
    assert known is not None
    yield _same_id(known, request.producer_id)
    yield _same_epoch(known, request.producer_epoch)
    ended = known.state not in PREPARED
    yield compare("state", None, known.state, ended, Errors.CONCURRENT_TRANSACTIONS)
    asked, members = request.partitions, known.partitions
    added = set(asked) <= set(members)
    yield compare("partitions", asked, members, added, Errors.TRANSACTION_ABORTABLE)


def _requested_outcome(request: EndTxn) -> str:
    return "COMMIT" if request.committed else "ABORT"


def _is_decided_so(known: TransactionMetadata, request: EndTxn) -> bool:
    """Return whether a transaction's decision is the one that a request asks for."""
    return request.committed == (known.state in (S.PREPARE_COMMIT, S.COMPLETE_COMMIT))


@in_order
def end_txn_checks_below_5(known: TransactionMetadata, request: EndTxn) -> Iterator[Check]:
    """Return the checks of EndTxn up to version 4 (transaction versions 0 and 1).

    The epoch does not change with the decision, so a completed transaction is recognized by its state alone. Source:
    TransactionCoordinator.endTransactionWithTV1. Here, too, a kept transaction is ended by the producer that kept it
    last: our inference, KIP-939 does not mention older versions.
    """
    known = known.as_its_client_knows_it
    yield _same_id(known, request.producer_id)
    yield _same_epoch(known, request.producer_epoch)
    yield _no_transition(known)
    error = Errors.NONE
    if known.state is not S.ONGOING:
        if known.state is S.EMPTY or not _is_decided_so(known, request):
            error = Errors.INVALID_TXN_STATE
        elif known.state in PREPARED:
            error = Errors.CONCURRENT_TRANSACTIONS
    yield Check("state", _requested_outcome(request), known.state, error)


@in_order
def end_txn_checks(known: TransactionMetadata, request: EndTxn) -> Iterator[Check]:
    """Return the checks of EndTxn version 5; if none fails the transaction is decided, or was before.

    Kafka 4.4.0: a commit that comes too late for a transaction that the coordinator has aborted is INVALID_TXN_STATE;
    KAFKA-20785 makes it PRODUCER_FENCED later. A kept transaction is ended by the identity that kept it last (KIP-939,
    draft).
    """
    yield _no_transition(known)
    known = known.as_its_client_knows_it
    retry = is_end_txn_retry(known, request)
    rotated = is_overflow_retry(known, request)
    same_id = known.producer_id == request.producer_id or rotated
    error = Errors.INVALID_PRODUCER_ID_MAPPING
    yield compare("producer id", request.producer_id, known.producer_id, same_id, error)
    epoch = request.producer_epoch
    current = epoch == known.producer_epoch
    state, commit = known.state, request.committed
    before = retry and not rotated
    fits = before if state in PREPARED else current or (state in COMPLETED and retry)
    yield compare("producer epoch", epoch, known.producer_epoch, fits, Errors.PRODUCER_FENCED)
    same = _is_decided_so(known, request)
    if state is S.ONGOING:
        error = Errors.NONE
    elif state in PREPARED:
        error = Errors.CONCURRENT_TRANSACTIONS if same else Errors.INVALID_TXN_STATE
    elif state in COMPLETED and retry:
        error = Errors.NONE if same else Errors.INVALID_TXN_STATE
    else:
        error = Errors.INVALID_TXN_STATE if commit else Errors.NONE
    yield Check("state", _requested_outcome(request), state, error)
    if wastes_producer_id(known, request):
        beyond = known.producer_epoch + 1
        yield compare("next epoch", None, beyond, False, Errors.UNKNOWN_SERVER_ERROR)


def wastes_producer_id(known: TransactionMetadata, request: EndTxn) -> bool:
    """Return whether a commit in version 5 fails at epoch 32767, after a producer id was allocated for it.

    Only an abort succeeds there. The epoch after it is negative, which is an IllegalArgumentException. Source:
    TransactionMetadata.prepareAbortOrCommit, prepareTransitionTo (KAFKA-20090).
    """
    own = known.producer_epoch == request.producer_epoch == EPOCH_MAX
    return own and request.committed and known.state is S.ONGOING and not known.is_kept


def version_checks(version: int, checks: Checks, since: int = 2) -> Checks:
    """Add the check that translates an error for a client of an older version (`spoken_in`)."""
    told = error_for_version(version, error_of(checks), since)
    return add_translation(checks, "request version", version, told)


def _is_expected_producer(known: TransactionMetadata, request: InitProducerId) -> bool:
    if known.producer_epoch == -1 or request.producer_id == known.producer_id:
        return True
    exhausted = request.producer_epoch >= LAST_CLIENT_EPOCH
    return request.producer_id == known.previous_producer_id and exhausted
