"""The questions on which designs disagree and that a client answers."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TypeAlias

from kipviz.core.table import Table
from kipviz.core.values import Value
from kipviz.messages.shares.share_groups import AcknowledgementBatch

# The number of records that a producer has numbered, by partition.
Sequences: TypeAlias = Table[str, int]


# A member id and its epoch or generation.
Member: TypeAlias = tuple[str, int]


class ThreadEntry(StrEnum):
    """What a thread's call on a session does: it enters, waits, enters later, or is rejected."""

    ENTERS = "enters"
    WAITS = "waits"
    LOOKS = "looks"
    REFUSED = "is refused"


class ClientRules(Value, frozen=True):
    """What the clients of one design do where the proposals differ."""

    next_poll: Callable[[tuple[int, ...], tuple[int, ...]], tuple[AcknowledgementBatch, ...]]
    """Which acknowledgements does the next poll() send for the previous batch:

    (offsets of the batch, offsets staged through the producer) -> acknowledgements? (KIP-1289 pseudo code; finding X1.)
    """

    explicit_mode: Callable[[tuple[int, ...]], tuple[int, ...]]
    """Which records count as acknowledged for the next poll() in explicit mode:

    (offsets staged through the producer) -> those that count? (ShareConsumerImpl.collect; finding X27.)
    """

    session_commit: Callable[[tuple[str, ...]], tuple[str, ...]]
    """For which clients does the EndTxn of a TransactionSession wait: (those with unsent work)?
    (KIP-1310 2.1: the session knows of no producer; study B17.)"""

    session_failure: Callable[[], bool]
    """Does a failure of a bound client also fail the session? (KIP-1310 3.2; study B18.)"""

    session_identity: Callable[[bool], tuple[bool, bool]]
    """What does a bound producer adopt when its session gets the next identity:

    (has a batch of it been rejected?) -> (the identity?, with sequences from 0?) (KIP-1310 3.2; study B19.)
    """

    session_sequences: Callable[[tuple[Sequences, ...]], tuple[Sequences, ...]]
    """With which sequences do the producers of one session continue:

    (the count of each)? (KIP-1310 3.2 "sequence numbers"; study B15.)
    """

    session_producers: Callable[[int], bool]
    """May one more producer be bound to a session: (how many are)? (KIP-1310 2.3; study B15.)"""

    resumed_send: Callable[[], bool]
    """May a producer bound to a resumed session send? (KIP-1310 7.1 "starts in IN_TRANSACTION".)"""

    resumed_complete: Callable[[], bool]
    """May completeTransaction(state) be called on a resumed session? (KIP-1310 2.1 and 7.1.)"""

    session_timeout: Callable[[int, int], int]
    """Which timeout does a session send to its coordinator:

    (transaction.session.timeout.ms, the interval of its heartbeats)? (KIP-1310 2.2 against KIP-1309.)
    """

    session_enlist: Callable[[tuple[str, ...]], tuple[str, ...]]
    """Which partitions does a session add below transaction version 2: (those that its producers are
    about to send to)? (KIP-1310 2.1 and 3.3.)"""

    session_adds: Callable[[], bool]
    """Does addPartitionsToTransaction() send AddPartitionsToTxn under transaction version 2, too?
    (KIP-1310 3.3 and 6.1 against KIP-890.)"""

    session_close: Callable[[bool], bool]
    """Does close() of a session abort its open transaction: (was it resumed)? (KIP-1310 2.1; Sender.run.)"""

    session_and_id: Callable[[str, str], str]
    """Which identity does a producer use that has a session and a transactional.id:

    (the session's, the one in its configurations) -> one of them, or "" for neither? (KIP-1310 2.3.)
    """

    session_threads: Callable[[bool, bool], ThreadEntry]
    """What does a call of one thread do:

    (is another thread in a call of the session, is it the send() of a bound producer)? (KIP-1310 2.1 "thread-safe".)
    """

    staging_starts: Callable[[], bool]
    """Does staging an acknowledgement start the producer's transaction? (Finding X11.)"""

    producer_member: Callable[[Member, Member, Member], Member]
    """Which member does a producer name when it sends offsets:

    (the consumer's member when it initialised, the consumer's member now, the one that the call gets)? (KIP-447, both
    drafts and the released version.)
    """

    init_joins: Callable[[], bool]
    """Does initTransactions() wait until the consumer has joined its group? (KIP-447, second draft:
    "blocking call until consumer successfully joins the group".)"""

    poll_before_staging: Callable[[tuple[int, ...], tuple[int, ...]], bool]
    """May poll() be called in a transaction whose outputs may come from the previous batch:

    (offsets of the batch, offsets that are staged or acknowledged)? (KIP-1289 pseudo code; finding X24.)
    """

    poll_while_staging: Callable[[bool], bool]
    """Does poll() wait: (is a transactional acknowledgement in flight)? (KIP-1289 "returns after enqueueing"; X25.)"""

    dropped_staging: Callable[[], bool]
    """Does the consumer get its records back when a staging is rejected, or abandoned with its transaction?

    (KIP-1289 "Records will be re-delivered on next poll()"; finding X26.)
    """

    prepare_waits: Callable[[bool], bool]
    """Does prepareTransaction() wait:

    (is a transactional acknowledgement unanswered)? (KIP-939 prepareTransaction, which flushes; KIP-1289 Follow-up KIP,
    databases as participants.)
    """

    drain: Callable[[], bool]
    """Does acknowledgementsForTransaction() remove the acknowledgements from the consumer?

    (Pull request 22357; those that stay are sent as ordinary acknowledgements.)
    """

    staged_deliveries: Callable[[tuple[tuple[int, int], ...]], tuple[tuple[int, int], ...]]
    """Which deliveries does a transactional acknowledgement name beside the member:

    ((offset, delivery count) of its records)? (KIP-1289 TxnShareAcknowledgeRequest, which names none.)
    """
