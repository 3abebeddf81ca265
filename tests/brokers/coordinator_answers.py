"""What a role is told when a transaction coordinator has answered its question."""

from __future__ import annotations

from kipviz.brokers.context import Tag, TransactionQuestion
from kipviz.brokers.local_calls import Enlisted
from kipviz.messages.errors import Errors
from kipviz.messages.transactions.transactions import TxnPartitions, refused_partitions


def answer_of(asked: TxnPartitions, error: Errors) -> Enlisted:
    """Return the answer to a question: one error for all its partitions."""
    return Enlisted(asked, refused_partitions(asked, error))


def enlisted(
    error: Errors,
    transactional_id: str,
    producer_id: int,
    producer_epoch: int,
    partitions: tuple[str, ...],
) -> Enlisted:
    """Return the answer to a question about a producer's partitions."""
    return answer_of(
        TxnPartitions(transactional_id, producer_id, producer_epoch, partitions), error
    )


def with_tag(answer: Enlisted, tag: Tag) -> Enlisted:
    """Return the answer to the question that has a tag."""
    return answer.but(number=tag.number if isinstance(tag, TransactionQuestion) else str(tag))
