"""The calls of an application thread: what each call does, on which client, and when it is legal.

There is one row for each call. A new call is a name in `Call`, a function in `kipviz.clients.calling` and a row in
`CALLS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from kipviz.clients import workers
from kipviz.clients.application import Application, Call, Line
from kipviz.clients.calling import (
    admin_calls,
    consumer_calls,
    database_calls,
    producer_calls,
    staging_calls,
)
from kipviz.clients.calling.named_client import named_client
from kipviz.clients.groups.subscribing import subscription_of
from kipviz.clients.kinds import Client
from kipviz.clients.operators import admin as administering
from kipviz.clients.operators.acl_calls import OF_ACLS, READ_OF_ACLS
from kipviz.clients.operators.group_calls import OF_ANY_GROUP, READ_BY_OPERATORS
from kipviz.clients.rules import ClientRules
from kipviz.clients.sessions import session_calls
from kipviz.clients.shares import draining
from kipviz.clients.throwing.client_errors import WrongState, WrongTxnState
from kipviz.clients.transactions import external_database as databases
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.core.values import Value

C = Call
S = ProducerState
Enter: TypeAlias = Callable[[Application, Line, ClientRules], Application]


class Calling(Value, frozen=True):
    """The facts about one call.

    `of` is the kind of client whose method it is. A `blocking` call makes the thread wait until the client is `done`.
    An `at_once` call returns at once if there is nothing to wait for. `legal` are the producer states in which the call
    may be made. In an error state the call throws that error, and in any other state the exception `illegal`. A call
    with its own exception throws that one in every state that is not legal. `enter` returns the application after the
    call was entered.
    """

    of: str
    enter: Enter
    blocking: bool = False
    legal: tuple[ProducerState, ...] = ()
    illegal: type[WrongState | WrongTxnState] = WrongState
    at_once: bool = False

    @property
    def always_illegal(self) -> bool:
        """Whether the call's own exception takes precedence over the producer's error."""
        return self.illegal is WrongTxnState


def client_of(me: Application, line: Line) -> Client:
    """Return the client whose method a line calls."""
    of = CALLS[line.call].of
    if of == PRODUCER:
        return named_client(me, line, me.producer)
    if of == CONSUMER:
        return named_client(me, line, me.consumer)
    return me.client_named(line.client or of)


PRODUCER, CONSUMER, ADMIN = "producer", "consumer", "admin"
# The calls of a session.
OF_SESSIONS = (
    C.NEW_SESSION,
    C.NEW_PRODUCER,
    C.TRANSACTION_SESSION,
    C.INITIALIZE,
    C.RESUME,
    C.ADD_PARTITIONS,
    C.ADD_SHARE_ACKS,
    C.ACKNOWLEDGE_TRANSACTIONALLY,
    C.HEARTBEAT,
    C.CLOSE,
)
# The calls that create a session. They need no other client in any state.
CONSTRUCTORS = (C.NEW_SESSION, C.NEW_PRODUCER, C.RESUME)
IN_TRANSACTION = (S.IN_TRANSACTION,)
OPEN = (S.IN_TRANSACTION, S.PREPARED_TRANSACTION)

# How the target of a call is parsed, where it is more than a name.
TARGETS: dict[Call, Callable[[str], object]] = {
    **READ_BY_OPERATORS,
    **READ_OF_ACLS,
    C.FIND_HANGING: administering.hanging_of,
    C.SUBSCRIBE: subscription_of,
    C.RESUME: session_calls.resume_target,
    C.RESUME_TRANSACTION: session_calls.resume_target,
}

CALLS: dict[Call, Calling] = {
    C.INIT_TRANSACTIONS: Calling(
        PRODUCER, producer_calls.init_transactions, True, (S.UNINITIALIZED,)
    ),
    C.BEGIN_TRANSACTION: Calling(PRODUCER, producer_calls.begin_transaction, False, (S.READY,)),
    C.SEND: Calling(PRODUCER, producer_calls.send, False, IN_TRANSACTION),
    C.SEND_OFFSETS: Calling(PRODUCER, producer_calls.send_offsets, True, IN_TRANSACTION),
    C.SEND_SHARE_ACKNOWLEDGEMENTS: Calling(PRODUCER, staging_calls.stage, False, IN_TRANSACTION),
    C.COMMIT_TRANSACTION: Calling(PRODUCER, producer_calls.commit_transaction, True, OPEN),
    C.ABORT_TRANSACTION: Calling(
        PRODUCER, producer_calls.abort_transaction, True, (*OPEN, S.ABORTABLE_ERROR)
    ),
    C.PREPARE_TRANSACTION: Calling(
        PRODUCER, producer_calls.prepare_transaction, True, IN_TRANSACTION
    ),
    C.COMPLETE_TRANSACTION: Calling(
        PRODUCER,
        producer_calls.complete_transaction,
        True,
        (S.PREPARED_TRANSACTION,),
        WrongTxnState,
    ),
    C.POLL: Calling(CONSUMER, consumer_calls.poll, True),
    C.ACKNOWLEDGE: Calling(CONSUMER, consumer_calls.acknowledge),
    C.COMMIT_SYNC: Calling(CONSUMER, consumer_calls.commit_sync, True),
    C.COMMIT_ASYNC: Calling(CONSUMER, consumer_calls.commit_async),
    C.CLOSE_CONSUMER: Calling(CONSUMER, consumer_calls.close_consumer, True),
    C.INITIALIZE: Calling(PRODUCER, producer_calls.init_transactions, True, (S.UNINITIALIZED,)),
    # Constructors: the state of the previous session does not matter.
    C.NEW_SESSION: Calling(PRODUCER, session_calls.new_session, False, tuple(S)),
    C.NEW_PRODUCER: Calling(PRODUCER, session_calls.new_producer, False, tuple(S)),
    C.TRANSACTION_SESSION: Calling(PRODUCER, session_calls.transaction_session, False, tuple(S)),
    C.RESUME: Calling(PRODUCER, session_calls.resume, False, tuple(S)),
    C.RESUME_TRANSACTION: Calling(PRODUCER, session_calls.resume, False, (S.UNINITIALIZED,)),
    C.ADD_PARTITIONS: Calling(PRODUCER, session_calls.add_partitions, False, IN_TRANSACTION),
    C.ADD_SHARE_ACKS: Calling(PRODUCER, staging_calls.add_share_acks, False, IN_TRANSACTION),
    C.ACKNOWLEDGE_TRANSACTIONALLY: Calling(CONSUMER, staging_calls.acknowledge_transactionally),
    C.HEARTBEAT: Calling(PRODUCER, session_calls.heartbeat, False, OPEN),
    C.CLOSE: Calling(PRODUCER, session_calls.close, True, tuple(S), at_once=True),
    C.LIST_TRANSACTIONS: Calling(ADMIN, admin_calls.list_transactions, True),
    C.DESCRIBE_TRANSACTIONS: Calling(
        ADMIN, admin_calls.asking(administering.describe_transactions), True
    ),
    C.DESCRIBE_PRODUCERS: Calling(
        ADMIN, admin_calls.asking(administering.describe_producers), True
    ),
    C.FIND_HANGING: Calling(ADMIN, admin_calls.asking(administering.find_hanging), True),
    C.ABORT_BY_HAND: Calling(ADMIN, admin_calls.asking(administering.abort_transaction), True),
    C.FENCE_PRODUCERS: Calling(ADMIN, admin_calls.asking(administering.fence_producers), True),
    # KIP-939: the same for one transactional id, to end a transaction that has no timeout.
    C.FORCE_TERMINATE: Calling(ADMIN, admin_calls.asking(administering.fence_producers), True),
    C.DESCRIBE_SHARE_GROUPS: Calling(
        ADMIN, admin_calls.asking(administering.describe_share_group), True
    ),
    C.LIST_SHARE_GROUP_OFFSETS: Calling(
        ADMIN, admin_calls.asking(administering.list_share_group_offsets), True
    ),
    C.ALTER_SHARE_GROUP_OFFSETS: Calling(
        ADMIN, admin_calls.asking(administering.alter_share_group_offsets), True
    ),
    C.DELETE_SHARE_GROUP_OFFSETS: Calling(
        ADMIN, admin_calls.asking(administering.delete_share_group_offsets), True
    ),
    C.DELETE_SHARE_GROUPS: Calling(
        ADMIN, admin_calls.asking(administering.delete_share_group), True
    ),
    C.DRAIN: Calling(CONSUMER, draining.drain),
    C.SHARE_GROUP_METADATA: Calling(CONSUMER, staging_calls.share_group_metadata),
    **{
        call: Calling(ADMIN, admin_calls.asking(ask), True)
        for call, ask in (OF_ANY_GROUP | OF_ACLS).items()
    },
    C.UNSUBSCRIBE: Calling(CONSUMER, consumer_calls.unsubscribe, True),
    C.SUBSCRIBE: Calling(CONSUMER, consumer_calls.subscribe),
    C.FLUSH: Calling(PRODUCER, producer_calls.flush, True, tuple(S)),
    C.SEEK: Calling(CONSUMER, consumer_calls.seek),
    # Calls of the language, not of a client: they are listed with those that need no producer state.
    C.SUBMIT: Calling(CONSUMER, workers.submit),
    C.GET: Calling(CONSUMER, workers.get),
    C.DATABASE_INSERT: Calling(databases.NAME, database_calls.insert),
    C.DATABASE_PREPARE: Calling(databases.NAME, database_calls.prepare),
    C.DATABASE_COMMIT: Calling(databases.NAME, database_calls.database_commit),
    C.DATABASE_CLAIM: Calling(databases.NAME, database_calls.database_claim),
    C.DATABASE_ROLLBACK: Calling(databases.NAME, database_calls.database_rollback),
}
