"""What clients wait for: each timer is a value, with its clause, the settings that it takes and its text.

A timer of a client runs out (`ClientTimer`); what happens then is in the client that keeps it. The text of each is a
language, as those of the brokers' timers are (`brokers.timers`): saved runs, links and stories have it, so it is never
reworded. What a reader sees is `WORDS`, where a timer has any.
"""

from __future__ import annotations

from typing import ClassVar, TypeAlias, get_args

from kipviz.clauses import DRAFT, SHIPPED, Clause
from kipviz.core.values import TextValue
from kipviz.core.written import reader_of
from kipviz.settings.client_configs import MAX_BLOCK_MS, METADATA_MAX_IDLE_MS
from kipviz.settings.consumer_configs import FETCH_MAX_WAIT_MS

# TransactionManager.ADD_PARTITIONS_RETRY_BACKOFF_MS
ADD_PARTITIONS_RETRY_BACKOFF_MS = 20


class HeartbeatInterval(TextValue, frozen=True):
    """The next heartbeat of a member of any kind of group, or of the owner of an open transaction (KIP-1309, a draft).

    When it is over, the heartbeat is due and goes out with the next room on the connection. `OF_TRANSACTIONS` is the clause of
    the second kind.
    """

    TEXT: ClassVar[str] = "the heartbeat interval"
    CLAUSE: ClassVar[Clause] = Clause(
        "on_timer",
        "KIP-62 heartbeat.interval.ms; KIP-848 group.consumer.heartbeat.interval.ms; "
        "KIP-932 group.share.heartbeat.interval.ms",
        SHIPPED,
        "AbstractCoordinator.HeartbeatThread, AbstractHeartbeatRequestManager, ShareHeartbeatRequestManager",
    )
    OF_TRANSACTIONS: ClassVar[Clause] = Clause(
        "on_timer",
        "KIP-1309 transaction.heartbeat.interval.ms",
        DRAFT,
        "KAFKA-20381, open: TransactionManager",
    )


class RetryBackOff(TextValue, frozen=True):
    """The wait of a member for an offset that is not stable, or of a producer for a topic that is not known.

    When it is over, the same is asked again.
    """

    TEXT: ClassVar[str] = "the retry back-off"
    CLAUSE: ClassVar[Clause] = Clause(
        "on_timer",
        "KIP-447 OffsetFetch: UNSTABLE_OFFSET_COMMIT; KIP-1319 UNKNOWN_TOPIC_ID; retry.backoff.ms",
        SHIPPED,
        "RequestState, CommitRequestManager, ProducerMetadata",
    )


class FetchWait(TextValue, frozen=True):
    """The wait of a consumer in poll() for which no broker had a record; when it is over, all are asked again."""

    TEXT: ClassVar[str] = "the fetch wait"
    CLAUSE: ClassVar[Clause] = Clause(
        "on_timer",
        f"{FETCH_MAX_WAIT_MS.name}; in Kafka the broker waits with its answer",
        SHIPPED,
        "FetchRequestManager, ShareConsumeRequestManager; DelayedFetch",
    )


class ResetWait(TextValue, frozen=True):
    """The wait of a member for a record that is young enough for auto.offset.reset=by_duration; then it asks for a later time."""

    TEXT: ClassVar[str] = "the wait for another reset"
    CLAUSE: ClassVar[Clause] = Clause(
        "on_timer",
        "KIP-1106 auto.offset.reset=by_duration; request.timeout.ms",
        SHIPPED,
        "OffsetsRequestManager.sendListOffsetsRequestsAndResetPositions, SubscriptionState",
    )


class BatchBackOff(TextValue, frozen=True):
    """The rest of a producer's batch that came back with a retriable error, by its number; then it may go out again."""

    TEXT: ClassVar[str] = "the retry back-off of batch %s"
    CLAUSE: ClassVar[Clause] = Clause(
        "on_timer",
        "KIP-580 retry.backoff.ms, retry.backoff.max.ms",
        SHIPPED,
        "RecordAccumulator.shouldBackoff",
    )
    number: int


class SenderBackOff(TextValue, frozen=True):
    """The rest of a producer's sender, or of a session's network thread, before a transactional request goes out again."""

    TEXT: ClassVar[str] = "the retry back-off of the sender"
    CLAUSE: ClassVar[Clause] = Clause(
        "on_timer",
        "KIP-98 retry.backoff.ms",
        SHIPPED,
        "Sender.maybeSendAndPollTransactionalRequest",
    )


class ShortSenderBackOff(TextValue, frozen=True):
    """The same after the first AddPartitionsToTxn of a transaction, which waits for the markers of the one before."""

    TEXT: ClassVar[str] = "the short retry back-off of the sender"
    CLAUSE: ClassVar[Clause] = Clause(
        "on_timer",
        "KIP-98 CONCURRENT_TRANSACTIONS; retry.backoff.ms, at most 20 ms",
        SHIPPED,
        "TransactionManager.ADD_PARTITIONS_RETRY_BACKOFF_MS",
    )


class MaxBlock(TextValue, frozen=True):
    """The wait of sendOffsetsToTransaction() for the ids of its topics; then the call comes back, and what it asked for goes on."""

    TEXT: ClassVar[str] = MAX_BLOCK_MS.name
    CLAUSE: ClassVar[Clause] = Clause(
        "on_timer",
        "KIP-1319 sendOffsetsToTransaction; max.block.ms",
        SHIPPED,
        "KafkaProducer.sendOffsetsToTransaction",
    )


class MaxIdle(TextValue, frozen=True):
    """How long a producer keeps the metadata of a topic that it does not use; then it knows its id no more."""

    TEXT: ClassVar[str] = METADATA_MAX_IDLE_MS.name
    CLAUSE: ClassVar[Clause] = Clause(
        "on_timer",
        "KIP-526 metadata.max.idle.ms",
        SHIPPED,
        "ProducerMetadata.retainTopic",
    )


SenderRest: TypeAlias = SenderBackOff | ShortSenderBackOff
TimerOfClient: TypeAlias = (
    HeartbeatInterval
    | RetryBackOff
    | FetchWait
    | ResetWait
    | BatchBackOff
    | SenderRest
    | MaxBlock
    | MaxIdle
)

CLIENT_TIMERS: tuple[type[TimerOfClient], ...] = get_args(TimerOfClient)
read_client_timer = reader_of(CLIENT_TIMERS)
"""Reads the text of a timer of a client."""


def rest_ms(rest: SenderRest, retry_backoff_ms: int) -> int:
    """Return how long a back-off takes, in ms."""
    short = min(retry_backoff_ms, ADD_PARTITIONS_RETRY_BACKOFF_MS)
    return short if isinstance(rest, ShortSenderBackOff) else retry_backoff_ms
