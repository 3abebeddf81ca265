"""A notice of the share coordinator with an outcome, as an alternative to the leader's question.

WHO: the share coordinator and the leader of the source partition. WHERE IN KAFKA: nowhere; no draft has such a request.
STATUS: our inference (slot outcome_news, study B2).
DURABILITY: none; a lost notice is not repeated, because the leader may ask all the same, and a new leader reads the
  state anyway.
"""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.brokers.checks import report_value
from kipviz.brokers.context import (
    NOBODY,
    Channel,
    Context,
    Effects,
    Reply,
    ReplyTo,
    Request,
    with_effects,
)
from kipviz.brokers.handling import takes
from kipviz.brokers.share_coordinators.share_state import ShareCoordinator
from kipviz.brokers.share_leaders import share_partition_leader
from kipviz.brokers.share_leaders.share_partition import (
    PendingWrite,
    ShareLeader,
    Status,
    pending_cells,
)
from kipviz.messages.apis.api import Role
from kipviz.messages.errors import Errors
from kipviz.messages.shares.share_state import (
    ReadShareGroupState,
    ReadShareGroupStateResponse,
    ReadStateData,
    ReadStateResult,
    TellShareGroupState,
    TellShareGroupStateResponse,
)

# The client of a broker that sends the outcomes.


def news(before: ShareCoordinator, after: ShareCoordinator, on: Context) -> tuple[Request, ...]:
    """Return the notices to share-partition leaders whose transactional acknowledgements a marker has just resolved."""
    if not on.rules.outcome_news():
        return ()
    return tuple(_make_notices(after, before, on))


def _make_notices(me: ShareCoordinator, before: ShareCoordinator, on: Context) -> Iterator[Request]:
    for key, state in me.states.items():
        known = before.states.get(key)
        pending = me.pending_acknowledgements(key)
        if known == state and pending == before.pending_acknowledgements(key):
            continue
        broker = on.image.leader_of(partition_of(key, on))
        if broker == NOBODY:
            continue
        told = TellShareGroupState(
            key, state.state_epoch, state.start_offset, state.batches, pending
        )
        yield Request(Channel.OUTCOMES, broker, told, Role.SHARE_COORDINATOR, me.shard)


def partition_of(key: str, on: Context) -> str:
    """Return the source partition of a share-partition's key, "" if its topic was deleted."""
    _, topic_id, index = key.rsplit(":", 2)
    found = (f"{topic}-{index}" for topic, each in on.image.topic_ids.items() if each == topic_id)
    return next(found, "")


@takes(TellShareGroupState)
def on_tell(
    me: ShareLeader, request: TellShareGroupState, reply_to: ReplyTo, on: Context
) -> Effects[ShareLeader]:
    """Apply an outcome that the share coordinator sends.

    WHEN: a marker has resolved transactional acknowledgements of a share-partition. CHECKS: it is ACTIVE here, has
    transactional acknowledgements, and has no request in flight; otherwise its own question, or the next one, brings
    the outcome. DOES: the same as for the response to that question. ANSWERS: at once. Status: our inference (study
    B2).
    """
    share = me.shares.get(request.key)
    answer = TellShareGroupStateResponse(Errors.NONE, request.key)
    heard = Effects(me, replies=(Reply(reply_to, answer),))
    if share is None:
        return heard.after((report_value("share-partition", None),))
    status, free = share.status, not share.writes
    heard = heard.after(
        (report_value("share-partition", status), report_value("no request in flight", free))
    )
    if status is not Status.ACTIVE or not free or not any(pending_cells(share)):
        return heard
    asked = PendingWrite(
        "refresh", ReadShareGroupState((ReadStateData(request.key, share.leader_epoch),))
    )
    asking = me.but(shares=me.shares.set(share.key, share.but(writes=(asked,), on_wire=True)))
    state = ReadStateResult(
        Errors.NONE,
        request.key,
        request.state_epoch,
        request.start_offset,
        request.batches,
        request.pending,
    )
    read = ReadShareGroupStateResponse((state,))
    done = share_partition_leader.on_state_answered(
        asking, share.key, str(share.incarnation), read, on
    )
    return with_effects(done.state, heard, done)
