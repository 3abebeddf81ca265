"""The requests of leaders and group coordinators to the share coordinator (the persister's requests)."""

from __future__ import annotations

from typing import ClassVar, Protocol, TypeAlias, TypeVar

from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.records.share_group_state import StagedBatch, StateBatch

K_co = TypeVar("K_co", bound="_Keyed", covariant=True)


class _Keyed(Protocol):
    @property
    def key(self) -> str: ...


class _WithPartitions(Protocol[K_co]):
    @property
    def partitions(self) -> tuple[K_co, ...]: ...


class _WithResults(Protocol[K_co]):
    @property
    def results(self) -> tuple[K_co, ...]: ...


class _OnePartition:
    """A request whose array has one share-partition, as the model's leaders and coordinators send it."""

    __slots__ = ()

    @property
    def only(self: _WithPartitions[K_co]) -> K_co:
        """The only share-partition."""
        (one,) = self.partitions
        return one

    @property
    def key(self: _WithPartitions[K_co]) -> str:
        """The key of the only share-partition."""
        (one,) = self.partitions
        return one.key


class _OneResult:
    """The response to such a request."""

    __slots__ = ()

    @property
    def only(self: _WithResults[K_co]) -> K_co:
        """The result for the only share-partition."""
        (one,) = self.results
        return one

    @property
    def key(self: _WithResults[K_co]) -> str:
        """The key of the only share-partition."""
        (one,) = self.results
        return one.key


class ReadStateData(Value, frozen=True):
    """The share-partition to load, with the leader epoch that fences older leaders."""

    key: str
    leader_epoch: int


class ReadShareGroupState(Message, _OnePartition, frozen=True):
    """A share-partition leader loads the durable state."""

    API_KEY: ClassVar[int] = 84
    VERSION: ClassVar[int] = 0
    partitions: tuple[ReadStateData, ...]


class PendingBatch(Value, frozen=True):
    """A transactional acknowledgement as the share coordinator reports it. Status: our inference."""

    producer_id: int
    producer_epoch: int
    staged: StagedBatch


class ReadStateResult(Value, frozen=True):
    """Start offset, state epoch and state batches; the repaired design adds the pending transactional acknowledgements."""

    error: Errors
    key: str
    state_epoch: int = -1
    start_offset: int = -1
    batches: tuple[StateBatch, ...] = ()
    pending: tuple[PendingBatch, ...] = ()


class ReadShareGroupStateResponse(Message, _OneResult, frozen=True):
    """The state of each share-partition."""

    API_KEY: ClassVar[int] = 84
    VERSION: ClassVar[int] = 0
    IS_RESPONSE: ClassVar[bool] = True
    results: tuple[ReadStateResult, ...]


class InitializeStateData(Value, frozen=True):
    """The state to create: the state epoch is the group's; with a start offset of -1 share.auto.offset.reset decides."""

    key: str
    state_epoch: int
    start_offset: int


class InitializeShareGroupState(Message, _OnePartition, frozen=True):
    """A group coordinator creates the state of share-partitions, before it assigns them."""

    API_KEY: ClassVar[int] = 83
    VERSION: ClassVar[int] = 0
    partitions: tuple[InitializeStateData, ...]


class InitializeStateResult(Value, frozen=True):
    """The result for one share-partition."""

    error: Errors
    key: str


class InitializeShareGroupStateResponse(Message, _OneResult, frozen=True):
    """Whether each state exists now."""

    API_KEY: ClassVar[int] = 83
    VERSION: ClassVar[int] = 0
    IS_RESPONSE: ClassVar[bool] = True
    results: tuple[InitializeStateResult, ...]


class DeleteStateData(Value, frozen=True):
    """The share-partition whose state is deleted."""

    key: str


class DeleteShareGroupState(Message, _OnePartition, frozen=True):
    """A group coordinator deletes the state of share-partitions."""

    API_KEY: ClassVar[int] = 86
    VERSION: ClassVar[int] = 0
    partitions: tuple[DeleteStateData, ...]


class DeleteStateResult(Value, frozen=True):
    """The result for one share-partition."""

    error: Errors
    key: str


class DeleteShareGroupStateResponse(Message, _OneResult, frozen=True):
    """Whether each state is deleted; one that never existed counts as deleted."""

    API_KEY: ClassVar[int] = 86
    VERSION: ClassVar[int] = 0
    IS_RESPONSE: ClassVar[bool] = True
    results: tuple[DeleteStateResult, ...]


class ReadStateSummaryData(Value, frozen=True):
    """The share-partition whose offsets are read."""

    key: str


class ReadShareGroupStateSummary(Message, _OnePartition, frozen=True):
    """A group coordinator asks for the offsets of share-partitions; this fences no leader."""

    API_KEY: ClassVar[int] = 87
    VERSION: ClassVar[int] = 1
    partitions: tuple[ReadStateSummaryData, ...]


class ReadStateSummaryResult(Value, frozen=True):
    """Epochs, start offset, and the number of completed records after it; -1 for unknown values."""

    error: Errors
    key: str
    state_epoch: int = 0
    leader_epoch: int = 0
    start_offset: int = -1
    delivery_complete_count: int = -1


class ReadShareGroupStateSummaryResponse(Message, _OneResult, frozen=True):
    """The summary of each share-partition."""

    API_KEY: ClassVar[int] = 87
    VERSION: ClassVar[int] = 1
    IS_RESPONSE: ClassVar[bool] = True
    results: tuple[ReadStateSummaryResult, ...]


class WriteStateData(Value, frozen=True):
    """The state of one share-partition, as its leader has it."""

    key: str
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    batches: tuple[StateBatch, ...]


class WriteShareGroupState(Message, _OnePartition, frozen=True):
    """A share-partition leader makes delivery states durable."""

    API_KEY: ClassVar[int] = 85
    VERSION: ClassVar[int] = 1
    partitions: tuple[WriteStateData, ...]


class WriteStateResult(Value, frozen=True):
    """The result for one share-partition."""

    error: Errors
    key: str


class WriteShareGroupStateResponse(Message, _OneResult, frozen=True):
    """Whether each state is durable."""

    API_KEY: ClassVar[int] = 85
    VERSION: ClassVar[int] = 1
    IS_RESPONSE: ClassVar[bool] = True
    results: tuple[WriteStateResult, ...]


class TellShareGroupState(Message, frozen=True):
    """A notice of the share coordinator to the source partition's leader: the outcome of its acknowledgements.

    It has the fields of a ReadShareGroupStateResponse. Status: our inference, an alternative in study B2; no draft has it.
    """

    STATUS: ClassVar[str] = "our inference"
    key: str
    state_epoch: int
    start_offset: int
    batches: tuple[StateBatch, ...] = ()
    pending: tuple[PendingBatch, ...] = ()


class TellShareGroupStateResponse(Message, frozen=True):
    """The leader has received it, with or without effect. Status: our inference."""

    STATUS: ClassVar[str] = "our inference"
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    key: str


class TxnWriteShareGroupState(Message, frozen=True):
    """A share-partition leader makes a transactional acknowledgement durable before the producer gets a response.

    Like every write it has the start offset, which is valid whatever the transaction's outcome. `archiving` means that
    the group has a dead-letter queue: a rejected record is copied first. Status: our inference. KIP-1289 defers
    persistence and names no request for it.
    """

    STATUS: ClassVar[str] = "our inference"
    key: str
    state_epoch: int
    leader_epoch: int
    transactional_id: str
    producer_id: int
    producer_epoch: int
    staged: tuple[StagedBatch, ...]
    start_offset: int = -1
    archiving: bool = False


class TxnWriteShareGroupStateResponse(Message, frozen=True):
    """Whether the transactional acknowledgement is in the log. Status: our inference."""

    STATUS: ClassVar[str] = "our inference"
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    key: str


# The requests that Kafka has, and their responses: each has an array of share-partitions.
StatesRequest: TypeAlias = (
    InitializeShareGroupState
    | ReadShareGroupState
    | WriteShareGroupState
    | DeleteShareGroupState
    | ReadShareGroupStateSummary
)
StatesResponse: TypeAlias = (
    InitializeShareGroupStateResponse
    | ReadShareGroupStateResponse
    | WriteShareGroupStateResponse
    | DeleteShareGroupStateResponse
    | ReadShareGroupStateSummaryResponse
)
# What a group coordinator asks of share coordinators for an operator, and their responses.
OperatorsStateRequest: TypeAlias = (
    ReadShareGroupStateSummary | InitializeShareGroupState | DeleteShareGroupState
)
OperatorsStateResponse: TypeAlias = (
    ReadShareGroupStateSummaryResponse
    | InitializeShareGroupStateResponse
    | DeleteShareGroupStateResponse
)
# Every request to a share coordinator and every response; those in flight name one share-partition, by its key.
ShareStateMessage: TypeAlias = (
    OperatorsStateRequest
    | OperatorsStateResponse
    | ReadShareGroupState
    | ReadShareGroupStateResponse
    | WriteShareGroupState
    | WriteShareGroupStateResponse
    | TellShareGroupState
    | TellShareGroupStateResponse
    | TxnWriteShareGroupState
    | TxnWriteShareGroupStateResponse
)
