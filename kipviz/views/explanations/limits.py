"""What a client's own time limits, and an operator, look at."""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.clients.kinds import MemberConsumer, expiring
from kipviz.cluster.actions import (
    CreateAcls,
    DeleteAcls,
    DeleteRecords,
    ExpireBatch,
    GiveUp,
    InstallRelease,
    MissPoll,
    UpgradeFeature,
)
from kipviz.cluster.world import World, host_of
from kipviz.views.role_cards.card_rows import listed, short_name


def time_limit(
    world: World, action: GiveUp | ExpireBatch | MissPoll | UpgradeFeature
) -> Iterator[tuple[str, str]]:
    """Give the names and values that a client or an operator looks at."""
    match action:
        case GiveUp(source=source, broker=broker):
            connection = world.connections[source, broker]
            waiting = [type(e.message).__name__ for e in connection.requests]
            yield "not read by the broker yet", listed(tuple(waiting))
            busy = connection.serving
            yield "the broker works on", type(busy.message).__name__ if busy else "nothing"
            yield "request time-outs left", str(world.budget.request_timeout)
        case ExpireBatch(source=source):
            batch = expiring(world.applications[host_of(source)].client_at(source))
            if batch is not None:
                yield "batch", f"{len(batch.records)} records for {short_name(batch.partition)}"
                yield "was on the wire", "yes" if batch.sent else "no, or it does not matter"
            yield "expiries left", str(world.budget.delivery_timeout)
        case MissPoll(source=source):
            member = world.applications[host_of(source)].client_at(source)
            assert isinstance(member, MemberConsumer)
            yield "in poll()", "no"
            yield "member", f"{member.state.value}, {listed(member.owned)}"
            yield "late polls left", str(world.budget.miss_poll)
        case UpgradeFeature(feature=feature):
            yield "finalized now", str(getattr(world.image.features, feature))
            yield "changes left", str(world.budget.upgrade)


def operated(
    world: World, action: CreateAcls | DeleteAcls | InstallRelease | DeleteRecords
) -> Iterator[tuple[str, str]]:
    """Give the names and values that an operator of ACLs, binaries or records looks at."""
    if isinstance(action, DeleteRecords):
        log = world.logs[action.partition]
        oldest = log.batches[0]
        yield "log start", str(log.start_offset)
        yield "oldest batch", f"offsets {oldest.base_offset} to {oldest.last_offset}"
        yield "high watermark", str(log.high_watermark)
        yield "deletions left", str(world.budget.delete_records)
        return
    if isinstance(action, InstallRelease):
        yield "binary now", world.image.release_of(action.broker).name
        levels = world.image.features
        yield "transaction.version", str(levels.transaction_version)
        yield "share.version", str(levels.share_version)
        yield "restarts left", str(world.budget.restart)
        return
    acl = action.acl
    same = [a.words for a in world.image.acls or () if a.resource is acl.resource]
    yield f"ACLs of a {acl.resource.value}", listed(tuple(same))
    yield "changes left", str(world.budget.acls)
