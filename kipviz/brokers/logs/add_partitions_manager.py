"""Questions of a broker to transaction coordinators: one request in flight to each, for all that wait.

WHO: every broker, for the leaders and coordinators on it. WHERE IN KAFKA: AddPartitionsToTxnManager, an
InterBrokerSendThread.
KIPS: KIP-890 (AddPartitionsToTxn since version 4: several transactions in one request).
DURABILITY: volatile; after a broken connection every question in that request gets NETWORK_EXCEPTION.

A part of KafkaApis (`kafka_apis`), with the same state, if `asks_together` is set. Otherwise each waiting request sends
its own question, and one connection carries the questions one after the other.

NOT MODELLED: the pace of the thread, which sends the waiting questions as soon as it has the previous response; that
the oldest question of a request decides for all of them whether the client knows TRANSACTION_ABORTABLE; an error of a
whole response, because brokers have every right.
"""

from __future__ import annotations

from kipviz.brokers.context import Context, Effects, LocalCall, Request
from kipviz.brokers.kafka_apis import AskedOfNode, KafkaApis
from kipviz.brokers.local_calls import AddOrVerify, Enlisted
from kipviz.messages.apis.api import Role
from kipviz.messages.errors import Errors
from kipviz.messages.transactions.transactions import (
    AddPartitionsToTxn,
    AddPartitionsToTxnResponse,
    TxnPartitions,
    TxnPartitionsResult,
    refused_partitions,
)


def on_question(me: KafkaApis, call: AddOrVerify, on: Context) -> Effects[KafkaApis]:
    """Ask a coordinator about a transaction, or queue the question while an earlier request is in flight.

    WHEN: a leader or coordinator here needs a partition in a transaction. CHECKS: whether a question about the same
    transactional id waits already. DOES: of two such questions, rejects the one with the older epoch
    (INVALID_PRODUCER_EPOCH); with the same epoch the waiting one is dropped (NETWORK_EXCEPTION), because its client is
    assumed to have retried. ANSWERS: only the rejected question.
    Clause: KIP-890 part 1; AddPartitionsToTxnManager.addTxnData.
    """
    new = call.question
    node = next((each for each in me.nodes if each.broker == new.broker), None)
    if node is None:
        return _send(me, new.broker, (new,))
    name, epoch = _find_transaction(new).transactional_id, _find_transaction(new).producer_epoch
    before = next((q for q in node.waiting if _find_transaction(q).transactional_id == name), None)
    if before is not None and _find_transaction(before).producer_epoch > epoch:
        return Effects(me, local=(_reject(new, Errors.INVALID_PRODUCER_EPOCH),))
    kept = tuple(q for q in node.waiting if q is not before)
    later = node.but(waiting=(*kept, new))
    me = me.but(nodes=tuple(later if each is node else each for each in me.nodes))
    if before is None:
        return Effects(me)
    again = _find_transaction(before).producer_epoch == epoch
    error = Errors.NETWORK_EXCEPTION if again else Errors.INVALID_PRODUCER_EPOCH
    return Effects(me, local=(_reject(before, error),))


def on_answered(
    me: KafkaApis, answer: AddPartitionsToTxnResponse, on: Context, tag: str
) -> Effects[KafkaApis]:
    """Continue all requests whose transaction was in the response, and send the questions that waited.

    WHEN: a coordinator's broker has answered. DOES: sends all questions that wait for this broker in one request.
    ANSWERS: each question, with the result for its transaction.
    Clause: KIP-890 part 1; AddPartitionsToTxnManager.AddPartitionsToTxnHandler, generateRequests.
    """
    node = _asked_of(me, tag)
    said = {each.transactional_id: each for each in answer.results}
    told = (_answer(q, said[_find_transaction(q).transactional_id]) for q in node.on_the_way)
    return _send_waiting(me, node).but(local=tuple(told))


def on_disconnected(me: KafkaApis, on: Context, tag: str) -> Effects[KafkaApis]:
    """Answer all questions of the lost request with NETWORK_EXCEPTION, and send those that waited behind it."""
    node = _asked_of(me, tag)
    lost = tuple(_reject(question, Errors.NETWORK_EXCEPTION) for question in node.on_the_way)
    return _send_waiting(me, node).but(local=lost)


def _asked_of(me: KafkaApis, tag: str) -> AskedOfNode:
    """Return the request in flight whose tag has come back."""
    return next(each for each in me.nodes if each.broker == int(tag))


def _send_waiting(me: KafkaApis, node: AskedOfNode) -> Effects[KafkaApis]:
    """Send the questions that waited for the end of a request, if there are any."""
    me = me.but(nodes=tuple(each for each in me.nodes if each is not node))
    return _send(me, node.broker, node.waiting) if node.waiting else Effects(me)


def _send(me: KafkaApis, broker: int, questions: tuple[Request, ...]) -> Effects[KafkaApis]:
    """Send questions in one request; each broker has at most one in flight."""
    message = AddPartitionsToTxn(tuple(map(_find_transaction, questions)))
    request = questions[0].but(message=message, role=Role.KAFKA_APIS, shard="", tag=str(broker))
    asked = AskedOfNode(broker, questions)
    return Effects(me.but(nodes=(*me.nodes, asked)), requests=(request,))


def _find_transaction(question: Request) -> TxnPartitions:
    """Return what a question is about: one transaction."""
    assert isinstance(question.message, AddPartitionsToTxn)
    (only,) = question.message.transactions
    return only


def _answer(question: Request, said: TxnPartitionsResult) -> LocalCall:
    """Return the call that delivers an answer to the role that asked."""
    told = Enlisted(_find_transaction(question), said, str(question.tag))
    return LocalCall(question.role, question.shard, told)


def _reject(question: Request, error: Errors) -> LocalCall:
    """Return the call that rejects a question."""
    return _answer(question, refused_partitions(_find_transaction(question), error))
