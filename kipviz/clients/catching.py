"""Catch blocks: the class of the exception that a call throws, and which catch blocks may name it.

Source: TransactionManager.maybeFailWithError, TransactionalRequestResult.await, ConsumerCoordinator,
CommitRequestManager.
"""

from __future__ import annotations

from kipviz.clients.application import Application, Call, Line
from kipviz.clients.calls import CALLS, CONSTRUCTORS, client_of
from kipviz.clients.kinds import Holder
from kipviz.clients.sending.producer import Producer
from kipviz.clients.throwing.client_errors import ClientError, ExceptionClass, OwnError
from kipviz.clients.throwing.exceptions import ABORTS, class_of, exception_for
from kipviz.clients.transactions import external_database
from kipviz.clients.transactions.producer_errors import client_errors
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.messages.cluster.coordinators import FindCoordinator
from kipviz.messages.groups.groups import TxnOffsetCommit
from kipviz.messages.message import Message
from kipviz.messages.shares.share_groups import TxnShareAcknowledge
from kipviz.messages.transactions.transactions import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    EndTxn,
    InitProducerId,
)

# Classes by their names, as the catch blocks of a program have them.
KAFKA_EXCEPTION = ExceptionClass.KAFKA.value
COMMIT_FAILED_EXCEPTION = ExceptionClass.COMMIT_FAILED.value
TIMEOUT = ExceptionClass.TIMEOUT.value
UNSUPPORTED_VERSION = ExceptionClass.UNSUPPORTED_VERSION.value
# What a thread threw, from future.get(): it is no KafkaException.
EXECUTION = ExceptionClass.EXECUTION.value
INVALID_TXN_STATE = ExceptionClass.INVALID_TXN_STATE.value
FENCED = "ProducerFencedException"
IN_ERROR = (ProducerState.ABORTABLE_ERROR, ProducerState.FATAL_ERROR)
# These end the process, whatever its catch block does: it can only rethrow them.
RETHROWN = (FENCED, UNSUPPORTED_VERSION)

_WRITES: tuple[type[Message], ...] = (AddPartitionsToTxn, TxnShareAcknowledge, EndTxn)
# The requests whose errors a call throws.
_REQUESTS: dict[Call, tuple[type[Message], ...]] = {
    Call.INIT_TRANSACTIONS: (FindCoordinator, InitProducerId),
    Call.SEND_OFFSETS: (AddOffsetsToTxn, FindCoordinator, TxnOffsetCommit),
    Call.COMMIT_TRANSACTION: _WRITES,
    Call.PREPARE_TRANSACTION: _WRITES,
}
_OF_BATCHES = ("TransactionAbortableException",)
# The exceptions that a call throws under a name of their own.
_NAMED = {
    Call.INIT_TRANSACTIONS: (TIMEOUT,),
    Call.SEND_OFFSETS: (TIMEOUT,),
    Call.COMMIT_TRANSACTION: (TIMEOUT, *_OF_BATCHES),
    Call.ABORT_TRANSACTION: (TIMEOUT,),
    Call.PREPARE_TRANSACTION: (INVALID_TXN_STATE, *_OF_BATCHES),
    Call.COMPLETE_TRANSACTION: (INVALID_TXN_STATE, TIMEOUT),
    Call.SEND_SHARE_ACKNOWLEDGEMENTS: (UNSUPPORTED_VERSION,),
    Call.SHARE_GROUP_METADATA: (TIMEOUT,),
    Call.POLL: (
        ExceptionClass.NO_OFFSET_FOR_PARTITION.value,
        ExceptionClass.OFFSET_OUT_OF_RANGE.value,
    ),
    Call.GET: (EXECUTION,),
    Call.COMMIT_SYNC: (COMMIT_FAILED_EXCEPTION, ExceptionClass.REBALANCE_IN_PROGRESS.value),
}


def catchable(call: Call) -> tuple[str, ...]:
    """Return what a catch block around a call may name, in order: subclasses of KafkaException, or ExecutionException.

    Exceptions that fence or end the producer are not among them, because they end the process.
    """
    named = set(_NAMED.get(call, ()))
    for request in _REQUESTS.get(call, ()):
        for error in client_errors(request).abortable:
            found = exception_for(request, error)
            if found.kind == ABORTS:
                named.add(found.exception)
    return tuple(sorted(named - {KAFKA_EXCEPTION}))


def is_caught(me: Application, line: Line, raised: ClientError) -> bool:
    """Return whether a line has a catch block that catches the exception of its call.

    It does not if the exception is of another class, or is thrown again. Clause: KIP-1289 Pseudo code, 'throw fatal'.
    """
    if line.on_error < 0:
        return False
    thrown = class_thrown(me, line, raised)
    if thrown not in line.catches if line.catches else thrown == EXECUTION:
        return False
    if line.on_error >= len(me.program):
        return True  # the catch block ends the program
    rethrown = me.program[line.on_error].rethrows
    return not isinstance(raised, OwnError) or raised.EXCEPTION.value not in rethrown


def class_thrown(me: Application, line: Line, raised: ClientError) -> str:
    """Return the class of the exception that a call throws to its thread.

    A producer that is already in an error state throws a KafkaException around the earlier error. Only the call that
    waited for the response throws that error itself.
    """
    client = client_of(me, line)
    transactional = isinstance(client, Holder) and (
        not isinstance(client, Producer) or client.is_transactional
    )
    if isinstance(client, Holder) and not me.waiting and client.manager.state in IN_ERROR:
        return KAFKA_EXCEPTION
    if isinstance(raised, OwnError):
        return raised.EXCEPTION.value
    request, error = raised.request, raised.error
    if transactional:
        return exception_for(request, error).exception
    if error in client_errors(request).commit_failed:
        return COMMIT_FAILED_EXCEPTION
    return class_of(error)


def goes_on_elsewhere(me: Application, line: Line) -> bool:
    """Return whether the catch block uses an object without an error: a new session, or a database."""
    if line.on_error >= len(me.program):
        return False  # the catch block ends the program
    call = me.program[line.on_error].call
    return call in CONSTRUCTORS or CALLS[call].of == external_database.NAME
