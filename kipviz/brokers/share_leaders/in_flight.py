"""One record of a share-partition, as its leader holds it in memory (InFlightState.java)."""

from __future__ import annotations

from kipviz.core.values import Value
from kipviz.records.share_group_state import TERMINAL, RecordState, StagedBatch, StateBatch

NO_MEMBER = ""

S = RecordState

# state -> states that a record may go to (RecordState.validateTransition). Kafka's has no TX_PENDING: the transitions
# to it and from it are KIP-1289's (draft). ARCHIVING is from KIP-1191: an archived record stays in it until its copy is
# in the dead-letter queue.
TRANSITIONS: dict[RecordState, tuple[RecordState, ...]] = {
    S.AVAILABLE: (S.ACQUIRED,),
    S.ACQUIRED: (S.AVAILABLE, S.TX_PENDING, S.ACKNOWLEDGED, S.ARCHIVING, S.ARCHIVED),
    S.TX_PENDING: (S.AVAILABLE, S.ACQUIRED, S.ACKNOWLEDGED, S.ARCHIVING, S.ARCHIVED),
    S.ACKNOWLEDGED: (),
    S.ARCHIVING: (S.ARCHIVED,),
    S.ARCHIVED: (),
}

# What InFlightState.archive does without any check: a free record that must not be read any longer, because its
# transaction was aborted or because it is not in the log.
AT_ONCE: dict[RecordState, tuple[RecordState, ...]] = {S.AVAILABLE: (S.ARCHIVED,)}

# The state of a record after a failed durable write: back to the member that held it or, if the lock expired meanwhile,
# released (InFlightState.completeStateTransition).
UNDONE: dict[RecordState, tuple[RecordState, ...]] = dict.fromkeys(
    (S.AVAILABLE, S.TX_PENDING, S.ACKNOWLEDGED, S.ARCHIVING, S.ARCHIVED),
    (S.ACQUIRED, S.AVAILABLE, S.ARCHIVED),
)


class InFlight(Value, frozen=True):
    """Delivery state, count and owner of one offset.

    `lock` names the acquisition it belongs to (the first offset of that acquisition), -1 when no timer runs. `ongoing`
    marks a transition whose durable write is not answered yet: the record is in its new state but cannot be acquired; a
    failed write returns it to `before_member`, unless the lock expired in the meantime (`lock_ran_out`). The `staged`
    fields hold the transactional acknowledgement (KIP-1289), -1 without one. `batch_first` and `batch_last` are the
    ends of the batch in which a record was delivered when it became suspect, -1 for a record that was delivered alone
    or is not suspect. `cause` says why it is archived.
    """

    state: RecordState
    delivery_count: int = 0
    member_id: str = NO_MEMBER
    lock: int = -1
    ongoing: bool = False
    before_member: str = NO_MEMBER
    lock_ran_out: bool = False
    staged_producer_id: int = -1
    staged_producer_epoch: int = -1
    staged_type: int = -1
    batch_first: int = -1
    batch_last: int = -1
    cause: str = ""

    @property
    def is_terminal(self) -> bool:
        """Whether the record will never be delivered again."""
        return self.state in TERMINAL and not self.ongoing

    def without_staging(self, state: RecordState, **changes: object) -> InFlight:
        """Return the record in another state, without its transactional acknowledgement, its owner or its lock."""
        changes = {"member_id": NO_MEMBER, "lock": -1, **changes}
        return self.but(
            state=state,
            ongoing=False,
            before_member=NO_MEMBER,
            lock_ran_out=False,
            staged_producer_id=-1,
            staged_producer_epoch=-1,
            staged_type=-1,
            **changes,
        )


def state_batches(cells: tuple[tuple[int, InFlight], ...]) -> tuple[StateBatch, ...]:
    """Return offsets as batches of neighbours with equal state, delivery count and staged fields."""
    out: list[StateBatch] = []
    for offset, record in cells:
        batch = _state_batch(offset, record)
        if out and out[-1].last == offset - 1 and out[-1].but(first=offset, last=offset) == batch:
            out[-1] = out[-1].but(last=offset)
        else:
            out.append(batch)
    return tuple(out)


def _state_batch(offset: int, record: InFlight) -> StateBatch:
    """Return one offset as a batch; a TX_PENDING record also has the fields of its staging (draft)."""
    batch = StateBatch(offset, offset, record.state, record.delivery_count)
    if record.state is not S.TX_PENDING:
        return batch
    return batch.but(
        staged_producer_id=record.staged_producer_id,
        staged_producer_epoch=record.staged_producer_epoch,
        staged_type=record.staged_type,
    )


def staged_batches(cells: tuple[tuple[int, InFlight], ...]) -> tuple[StagedBatch, ...]:
    """Return staged offsets as batches of neighbours with equal acknowledgement and delivery count."""
    out: list[StagedBatch] = []
    for offset, record in cells:
        acknowledgement = (record.staged_type, record.delivery_count)
        if (
            out
            and out[-1].last == offset - 1
            and (out[-1].acknowledge_type, out[-1].delivery_count) == acknowledgement
        ):
            out[-1] = out[-1].but(last=offset)
        else:
            out.append(StagedBatch(offset, offset, *acknowledgement))
    return tuple(out)
