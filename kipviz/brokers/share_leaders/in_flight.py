"""One record of a share-partition, as its leader holds it in memory (InFlightState.java)."""

from __future__ import annotations

from kipviz.core.values import Value
from kipviz.records.share_group_state import TERMINAL, RecordState, StagedBatch, StateBatch

NO_MEMBER = ""

S = RecordState

# state -> states that a record may go to (RecordState.validateTransition). Kafka's has no
# TX_PENDING: what leads there and away from it is KIP-1289's (draft). ARCHIVING is of KIP-1191:
# a record that is given up stays in it until its copy is in the dead-letter queue.
TRANSITIONS: dict[RecordState, tuple[RecordState, ...]] = {
    S.AVAILABLE: (S.ACQUIRED,),
    S.ACQUIRED: (S.AVAILABLE, S.TX_PENDING, S.ACKNOWLEDGED, S.ARCHIVING, S.ARCHIVED),
    S.TX_PENDING: (S.AVAILABLE, S.ACQUIRED, S.ACKNOWLEDGED, S.ARCHIVING, S.ARCHIVED),
    S.ACKNOWLEDGED: (),
    S.ARCHIVING: (S.ARCHIVED,),
    S.ARCHIVED: (),
}

# What InFlightState.archive does without asking: a free record that nobody may read any more,
# because its transaction was aborted or because it is not in the log.
AT_ONCE: dict[RecordState, tuple[RecordState, ...]] = {S.AVAILABLE: (S.ARCHIVED,)}

# What a failed durable write makes of the state that waited for it: back to the member that held
# the record, or, where the lock ran out meanwhile, released (InFlightState.completeStateTransition).
UNDONE: dict[RecordState, tuple[RecordState, ...]] = dict.fromkeys(
    (S.AVAILABLE, S.TX_PENDING, S.ACKNOWLEDGED, S.ARCHIVING, S.ARCHIVED),
    (S.ACQUIRED, S.AVAILABLE, S.ARCHIVED),
)


class InFlight(Value, frozen=True):
    """Delivery state, count and owner of one offset.

    `lock` names the acquisition it belongs to (the first offset of that acquisition), -1 when no timer runs. `ongoing`
    marks a transition whose durable write is not answered yet: the record is in its new state but nobody may acquire
    it; a failed write gives it back to `before_member`, unless the lock ran out in the meantime (`lock_ran_out`). The
    `staged` fields hold the transactional acknowledgement of a transaction (KIP-1289), -1 when there is none.
    `batch_first` and `batch_last` are the ends of the batch in which a record travelled when it became suspect, -1 for
    one that travelled alone or is not. `cause` says why it is given up.
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

    def unstaged(self, state: RecordState, **changes: object) -> InFlight:
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
    """Return neighbouring offsets with equal state, delivery count and staged fields as batches."""
    out: list[StateBatch] = []
    for offset, record in cells:
        batch = _state_batch(offset, record)
        if out and out[-1].last == offset - 1 and out[-1].but(first=offset, last=offset) == batch:
            out[-1] = out[-1].but(last=offset)
        else:
            out.append(batch)
    return tuple(out)


def _state_batch(offset: int, record: InFlight) -> StateBatch:
    """Return one offset as a batch; of a record that is TX_PENDING it says who staged it (draft)."""
    batch = StateBatch(offset, offset, record.state, record.delivery_count)
    if record.state is not S.TX_PENDING:
        return batch
    return batch.but(
        staged_producer_id=record.staged_producer_id,
        staged_producer_epoch=record.staged_producer_epoch,
        staged_type=record.staged_type,
    )


def staged_batches(cells: tuple[tuple[int, InFlight], ...]) -> tuple[StagedBatch, ...]:
    """Return neighbouring staged offsets with equal transactional acknowledgement and delivery count as batches."""
    out: list[StagedBatch] = []
    for offset, record in cells:
        vote = (record.staged_type, record.delivery_count)
        if (
            out
            and out[-1].last == offset - 1
            and (out[-1].acknowledge_type, out[-1].delivery_count) == vote
        ):
            out[-1] = out[-1].but(last=offset)
        else:
            out.append(StagedBatch(offset, offset, *vote))
    return tuple(out)
