"""A question about several transactions: each coordinator on this broker answers for its own.

A part of KafkaApis (`kafka_apis`). WHERE IN KAFKA: KafkaApis.handleAddPartitionsToTxnRequest.
KIPS: KIP-890 (AddPartitionsToTxn since version 4).
DURABILITY: none; the answers for single transactions stay with the request (`cluster.topic_authorization`).
"""

from __future__ import annotations

from kipviz.brokers import deleted_topics
from kipviz.brokers.checks import Check
from kipviz.brokers.context import Context, Effects, LocalCall, Reply, ReplyTo
from kipviz.brokers.handling import takes
from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.brokers.local_calls import AskedOfOne
from kipviz.brokers.transactions import transaction_coordinator
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.messages.apis.api import Role
from kipviz.messages.errors import Errors
from kipviz.messages.transactions.transactions import (
    AddPartitionsToTxn,
    AddPartitionsToTxnResponse,
    TxnPartitions,
    TxnPartitionsResult,
    refused_partitions,
)


@takes(AddPartitionsToTxn)
def on_add_partitions(
    me: TransactionCoordinator | KafkaApis,
    request: AddPartitionsToTxn,
    reply_to: ReplyTo,
    on: Context,
) -> Effects[TransactionCoordinator | KafkaApis]:
    """Pass a question to the coordinator of its transaction, or several questions to theirs.

    WHEN: a broker asks about the transactions of several producers. CHECKS: for each that its partitions exist, and
    that it is coordinated here (NOT_COORDINATOR); an error of one does not affect the others.
    DOES: nothing else.
    ANSWERS: when every coordinator has answered, with errors for each transaction.
    Clause: KIP-890 part 1; KafkaApis.handleAddPartitionsToTxnRequest.
    """
    if isinstance(me, TransactionCoordinator):
        return transaction_coordinator.on_add_partitions(me, request, reply_to, on)
    refused: list[Reply] = []
    calls: list[LocalCall] = []
    checks: list[Check] = []
    for each in request.transactions:
        home = on.image.home_of_transactions(each.transactional_id)
        answer = _refusal(each, home, on)
        if answer is None:
            alone = AskedOfOne(reply_to, request.but(transactions=(each,)))
            calls.append(LocalCall(Role.TRANSACTION_COORDINATOR, home, alone))
        else:
            refused.append(Reply(reply_to, AddPartitionsToTxnResponse((answer,))))
            checks += (*deleted_topics.kept_out_checks(answer), _deciding(each, answer, home, on))
    return Effects(me, replies=tuple(refused), local=tuple(calls), checks=tuple(checks))


def _refusal(asked: TxnPartitions, home: str, on: Context) -> TxnPartitionsResult | None:
    gone = deleted_topics.not_added(asked, on.image)
    if gone is not None or on.image.leader_of(home) == on.broker:
        return gone
    return refused_partitions(asked, Errors.NOT_COORDINATOR)


def _deciding(asked: TxnPartitions, answer: TxnPartitionsResult, home: str, on: Context) -> Check:
    """Return the check that rejects a transaction's question before its coordinator gets it."""
    if answer.error is Errors.NOT_COORDINATOR:
        return Check("leader", on.broker, on.image.leader_of(home), answer.error)
    lost = deleted_topics.lost_partitions(asked.partitions, on.image)
    return Check("partitions there", asked.partitions, lost, answer.error)
