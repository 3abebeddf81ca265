"""What a producer does with an error of a response: which errors fail the transaction, and how they are thrown.

WHERE IN KAFKA: the handlers of TransactionManager, Sender.canRetry. A response whose row says nothing is for no producer.
"""

from __future__ import annotations

from dataclasses import dataclass

from kipviz.messages.errors import Errors

E = Errors

NOT_ALLOWED = (E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, E.CLUSTER_AUTHORIZATION_FAILED)
"""The errors of a producer that may not have an identity.

It may ask again when it has the right: nothing has begun. Source: Sender.maybeSendAndPollTransactionalRequest,
TransactionManager.transitionToUninitialized.
"""

OF_STATE = (E.INVALID_TXN_STATE, E.INVALID_PRODUCER_ID_MAPPING, E.UNKNOWN_PRODUCER_ID)
"""Errors of a transaction's state that most handlers of TransactionManager throw under their own class."""

COMMIT_FAILED = (
    E.ILLEGAL_GENERATION,
    E.UNKNOWN_MEMBER_ID,
    E.GROUP_ID_NOT_FOUND,
    E.STALE_MEMBER_EPOCH,
)
"""The errors of a group that rebalanced meanwhile: commitSync() throws a CommitFailedException."""


@dataclass(frozen=True, kw_only=True)
class ClientErrors:
    """How a producer's client handles the errors of one response.

    `abortable` fail only the transaction, also if they could be retried. Any other error that is not retried is fatal
    for the producer, unless `fatal` lists the fatal ones: then the others fail only the transaction. `own_class` are
    thrown under their own class, and every other one that is not retried as a KafkaException with the error's message;
    None: each one under its own class, as for requests of drafts, which have no handler. `commit_failed` are thrown
    as CommitFailedException.
    """

    abortable: tuple[Errors, ...] = ()
    fatal: tuple[Errors, ...] | None = None
    own_class: tuple[Errors, ...] | None = None
    commit_failed: tuple[Errors, ...] = ()
