"""The requests of leaders and group coordinators to the share coordinator (the persister's requests)."""

from __future__ import annotations

from typing import ClassVar, TypeAlias

from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.records.share_group_state import StagedBatch, StateBatch


class ReadShareGroupState(Message, frozen=True):
    """A share-partition leader loads the durable state; its leader epoch fences older leaders."""

    API_KEY: ClassVar[int] = 84
    VERSION: ClassVar[int] = 0
    key: str
    leader_epoch: int


class PendingBatch(Value, frozen=True):
    """A staged acknowledgement as the share coordinator reports it. Status: our inference."""

    producer_id: int
    producer_epoch: int
    staged: StagedBatch


class ReadShareGroupStateResponse(Message, frozen=True):
    """Start offset, state epoch and state batches; the repaired design adds the pending transactional acknowledgements."""

    API_KEY: ClassVar[int] = 84
    VERSION: ClassVar[int] = 0
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    key: str
    state_epoch: int = -1
    start_offset: int = -1
    batches: tuple[StateBatch, ...] = ()
    pending: tuple[PendingBatch, ...] = ()


class InitializeShareGroupState(Message, frozen=True):
    """A group coordinator creates the state of a share-partition, before it assigns it.

    The state epoch is the group's; with a start offset of -1 share.auto.offset.reset decides.
    """

    API_KEY: ClassVar[int] = 83
    VERSION: ClassVar[int] = 0
    key: str
    state_epoch: int
    start_offset: int


class InitializeShareGroupStateResponse(Message, frozen=True):
    """Whether the state exists now."""

    API_KEY: ClassVar[int] = 83
    VERSION: ClassVar[int] = 0
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    key: str


class DeleteShareGroupState(Message, frozen=True):
    """A group coordinator deletes the state of a share-partition."""

    API_KEY: ClassVar[int] = 86
    VERSION: ClassVar[int] = 0
    key: str


class DeleteShareGroupStateResponse(Message, frozen=True):
    """Whether the state is deleted; one that never existed counts as deleted."""

    API_KEY: ClassVar[int] = 86
    VERSION: ClassVar[int] = 0
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    key: str


class ReadShareGroupStateSummary(Message, frozen=True):
    """A group coordinator asks for a share-partition's offsets; this fences no leader."""

    API_KEY: ClassVar[int] = 87
    VERSION: ClassVar[int] = 1
    key: str


class ReadShareGroupStateSummaryResponse(Message, frozen=True):
    """Epochs, start offset, and the number of completed records after it; -1 for unknown values."""

    API_KEY: ClassVar[int] = 87
    VERSION: ClassVar[int] = 1
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    key: str
    state_epoch: int = 0
    leader_epoch: int = 0
    start_offset: int = -1
    delivery_complete_count: int = -1


class WriteShareGroupState(Message, frozen=True):
    """A share-partition leader makes delivery states durable."""

    API_KEY: ClassVar[int] = 85
    VERSION: ClassVar[int] = 1
    key: str
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    batches: tuple[StateBatch, ...]


class WriteShareGroupStateResponse(Message, frozen=True):
    """Whether the state is durable."""

    API_KEY: ClassVar[int] = 85
    VERSION: ClassVar[int] = 1
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    key: str


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


# What a group coordinator asks of share coordinators for an operator, and their responses.
OperatorsStateRequest: TypeAlias = (
    ReadShareGroupStateSummary | InitializeShareGroupState | DeleteShareGroupState
)
OperatorsStateResponse: TypeAlias = (
    ReadShareGroupStateSummaryResponse
    | InitializeShareGroupStateResponse
    | DeleteShareGroupStateResponse
)
# Every request to a share coordinator and every response names one share-partition by its key.
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
