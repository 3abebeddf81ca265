"""Transactions that are a part of an external two-phase commit: what the coordinator does for them.

WHERE IN KAFKA: TransactionCoordinator.handleInitProducerId, TransactionMetadata; for what KIP-939 keeps, pull request
21735 (open).
KIPS: KIP-939 (accepted). SHIPPED in 4.4.0: a producer may switch the time limit off, if the broker allows it, and
InitProducerId(keepPreparedTxn) is rejected. DRAFT: that it keeps the open transaction. "Prepared" is a term of the
client only: the coordinator has ONGOING.

A kept transaction has two identities. Its data and markers continue with the one that it was written with; only the one
that the last InitProducerId returned may end it. The second is in `next_producer_id` and `next_producer_epoch` until
the transaction is complete.
"""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.brokers.checks import Check, compare, in_order, report_value
from kipviz.brokers.context import Context
from kipviz.brokers.transactions.transaction_metadata import TransactionMetadata, record_of
from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.transactions.transactions import (
    NO_TIME_LIMIT,
    TWO_PHASE,
    InitProducerId,
    InitProducerIdResponse,
)
from kipviz.records.transaction_state import TransactionRecord, TransactionState
from kipviz.settings.client_configs import TRANSACTION_TIMEOUT_MS


class KeptTransaction(Value, frozen=True):
    """The result for an open transaction that InitProducerId is to keep.

    `record` is what has to be logged, None if the caller gets the identity that is already stored.
    """

    record: TransactionRecord | None
    new_producer_ids: int = 0


def is_half_an_identity(request: InitProducerId) -> bool:
    """Return whether a request has a producer id without an epoch, or the other way round.

    Source: KafkaApis.handleInitProducerIdRequest.
    """
    return (request.producer_id == -1) != (request.producer_epoch == -1)


def _is_whole(request: InitProducerId) -> Check:
    """Check that a request has both a producer id and an epoch, or neither of them."""
    half = is_half_an_identity(request)
    return compare(
        "producer id and epoch", None, request.producer_epoch, not half, Errors.INVALID_REQUEST
    )


@in_order
def nameless_checks(request: InitProducerId) -> Iterator[Check]:
    """Return the checks of a producer without a transactional id."""
    yield _is_whole(request)


@in_order
def request_checks(request: InitProducerId, on: Context) -> Iterator[Check]:
    """Check an InitProducerId before anything is looked up.

    Order and errors are those of Kafka 4.4.0: the form of the request, the broker's setting, then keepPreparedTxn,
    which a design serves either for every identity or for none, and here only under transaction version 2, whose
    responses contain the next identity (our inference: KIP-939 does not mention older versions). A request without
    Enable2Pc has a time limit.
    """
    yield _is_whole(request)
    name, settings = request.transactional_id, on.settings
    yield compare("transactional id", name, None, bool(name), Errors.INVALID_REQUEST)
    if request.version >= TWO_PHASE:
        if request.enable_2pc:
            allowed = settings.two_phase_commit_enable
            error = Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
            yield compare("two-phase commit allowed", True, allowed, allowed, error)
        keeps, served = request.keep_prepared_txn, on.rules.keep_prepared(0, 0, 1)
        error = served if keeps and isinstance(served, Errors) else Errors.NONE
        yield Check("keepPreparedTxn", keeps, not isinstance(served, Errors), error)
        if keeps:
            version = on.image.features.transaction_version
            enough = version >= 2
            yield compare("transaction version", 2, version, enough, Errors.UNSUPPORTED_VERSION)
        if request.heartbeat_interval_ms:
            yield report_value("heartbeat interval", request.heartbeat_interval_ms)
        if request.enable_2pc:
            return
    asked, most = request.transaction_timeout_ms, settings.transaction_max_timeout_ms
    fits = 0 < asked <= most
    yield compare(
        TRANSACTION_TIMEOUT_MS.name, asked, most, fits, Errors.INVALID_TRANSACTION_TIMEOUT
    )


def limits_of(request: InitProducerId) -> dict[str, int]:
    """Return a record's fields for how long a transaction may take, and for its heartbeats (KIP-1309)."""
    timeout = NO_TIME_LIMIT if request.enable_2pc else request.transaction_timeout_ms
    return {"timeout_ms": timeout, "heartbeat_interval_ms": request.heartbeat_interval_ms}


def keep_transaction(known: TransactionMetadata, on: Context) -> KeptTransaction:
    """Keep an open transaction: it stays ONGOING, and gets another identity that may end it."""
    facing = known.as_its_client_knows_it
    fresh = on.next_producer_id
    given = on.rules.keep_prepared(facing.producer_id, facing.producer_epoch, fresh)
    assert not isinstance(given, Errors), "refused before"
    if given == (facing.producer_id, facing.producer_epoch):
        return KeptTransaction(None)
    record = record_of(known, TransactionState.ONGOING).but(
        next_producer_id=given[0], next_producer_epoch=given[1]
    )
    return KeptTransaction(record, 1 if given[0] == fresh else 0)


def kept_answer(known: TransactionMetadata) -> InitProducerIdResponse:
    """Return to the producer that kept a transaction its own identity, and that of the transaction."""
    facing = known.as_its_client_knows_it
    return InitProducerIdResponse(
        Errors.NONE,
        facing.producer_id,
        facing.producer_epoch,
        known.producer_id,
        known.producer_epoch,
    )


def decision_of_kept(
    known: TransactionMetadata, decision: TransactionRecord, on: Context
) -> TransactionRecord:
    """Return the record that decides a kept transaction: its next identity follows the one that ended it.

    The markers have the epoch after that of the data, as always (KIP-890); KIP-939's text does not say which one it
    means: our inference. So is the rule below transaction version 2: the response has no next identity there, so the
    one that ended the transaction stays.
    """
    facing = known.as_its_client_knows_it
    after = (facing.producer_id, facing.producer_epoch)
    if decision.client_transaction_version >= 2:
        after = on.rules.kept_completion(*after, on.next_producer_id)
    return decision.but(
        previous_producer_id=facing.producer_id,
        next_producer_id=after[0],
        next_producer_epoch=after[1],
    )
