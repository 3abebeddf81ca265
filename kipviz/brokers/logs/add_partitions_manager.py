"""What a broker asks coordinators for its partitions: one request to each at a time, for whatever waits.

WHO: every broker, for the leaders and coordinators on it. WHERE IN KAFKA: AddPartitionsToTxnManager, an
  InterBrokerSendThread.
KIPS: KIP-890 (AddPartitionsToTxn since version 4: several transactions in one request).
DURABILITY: volatile; a broken connection is NETWORK_EXCEPTION to all whose question was on it.
A part of KafkaApis's role (`kafka_apis`), with the same state, where `asks_together` is set; else each
request that waits asks for itself, and one connection has the questions one behind the other.
NOT MODELLED: the pace of the thread, which takes what waits as soon as the answer before it is there; that the oldest
  question of a request says for all of it whether its client knows TRANSACTION_ABORTABLE.
"""

from __future__ import annotations

from kipviz.brokers.context import Context, Effects, LocalCall, Request
from kipviz.brokers.kafka_apis import ROLE, AskedOfNode, KafkaApis
from kipviz.brokers.local_calls import AddOrVerify, Enlisted
from kipviz.messages.errors import Errors
from kipviz.messages.message import in_one
from kipviz.messages.transactions import AddPartitionsToTxn, AddPartitionsToTxnResponse, with_error


def on_question(me: KafkaApis, call: AddOrVerify, on: Context) -> Effects:
    """Ask a coordinator about a transaction, or let the question wait until it has answered another one.

    WHEN: a leader or coordinator here needs a partition in a transaction. CHECKS: whether one about the same
    transactional id waits already. DOES: of these two the one with the older epoch is refused
    (INVALID_PRODUCER_EPOCH); with the same epoch the one that waits has to make room (NETWORK_EXCEPTION): its
    client is thought to have asked again. ANSWERS: nobody but who is refused.
    Clause: KIP-890 part 1; AddPartitionsToTxnManager.addTxnData.
    """
    new = call.question
    node = next((each for each in me.nodes if each.broker == new.broker), None)
    if node is None:
        return _send(me, new.broker, (new,))
    name, epoch = _about(new).transactional_id, _about(new).producer_epoch
    before = next((q for q in node.waiting if _about(q).transactional_id == name), None)
    if before is not None and _about(before).producer_epoch > epoch:
        return Effects(
            me, local=(_answer(new, with_error(_about(new), Errors.INVALID_PRODUCER_EPOCH)),)
        )
    kept = tuple(q for q in node.waiting if q is not before)
    later = node.but(waiting=(*kept, new))
    me = me.but(nodes=tuple(later if each is node else each for each in me.nodes))
    if before is None:
        return Effects(me)
    again = _about(before).producer_epoch == epoch
    error = Errors.NETWORK_EXCEPTION if again else Errors.INVALID_PRODUCER_EPOCH
    return Effects(me, local=(_answer(before, with_error(_about(before), error)),))


def on_answered(
    me: KafkaApis, answer: AddPartitionsToTxnResponse, on: Context, tag: str
) -> Effects:
    """Let everybody whose transaction was asked about continue, and ask what has waited meanwhile.

    WHEN: a coordinator's broker has answered, or the connection to it is lost. DOES: sends all that waits for this
    broker in one request. ANSWERS: each question with what was said of its transaction.
    Clause: KIP-890 part 1; AddPartitionsToTxnManager.AddPartitionsToTxnHandler, generateRequests.
    """
    node = next(each for each in me.nodes if each.broker == int(tag))
    said = {each.transactional_id: each for each in answer.of_transactions}
    told = tuple(_answer(q, said[_about(q).transactional_id]) for q in node.on_the_way)
    me = me.but(nodes=tuple(each for each in me.nodes if each is not node))
    done = _send(me, node.broker, node.waiting) if node.waiting else Effects(me)
    return done.but(local=told)


def _send(me: KafkaApis, broker: int, questions: tuple[Request, ...]) -> Effects:
    """Put questions into one request; a broker has one on its way until that is answered."""
    message = in_one(map(_about, questions))
    request = questions[0].but(message=message, role=ROLE, shard="", tag=str(broker))
    asked = AskedOfNode(broker, questions)
    return Effects(me.but(nodes=(*me.nodes, asked)), requests=(request,))


def _about(question: Request) -> AddPartitionsToTxn:
    assert isinstance(question.message, AddPartitionsToTxn)
    return question.message


def _answer(question: Request, said: AddPartitionsToTxnResponse) -> LocalCall:
    """Return the call that brings an answer to who has asked."""
    return LocalCall(question.role, question.shard, Enlisted(said, question.tag))
