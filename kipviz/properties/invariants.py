"""The invariants behind exactly once: what must hold at every step, one sentence each.

`Atomic` and `NothingPending` say whether the whole works. These say which part of the machinery failed: each is a small
function of one event and of what happened before it. They are checked together in one pass, because they share the same
facts. After one of them is broken, a state says nothing about later violations: the first one is what a search finds.

The names in `source` are the invariants of our review of KIP-1289; rules of Kafka's own code are cited with their
class.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.cluster.world import World, role_as
from kipviz.core.model import Event, Outcome
from kipviz.core.values import Value
from kipviz.messages.apis.api import Role
from kipviz.messages.errors import Errors
from kipviz.messages.events import (
    BatchAppended,
    LeaderMoved,
    MessageSent,
    OffsetStaged,
    RecordsMoved,
    SharePartitionDropped,
    SharePartitionLoaded,
    ShareStateReset,
    TopicDeleted,
    TopicRemade,
    TransactionDecided,
    TransactionMoved,
)
from kipviz.messages.shares.share_groups import TxnShareAcknowledgeResponse
from kipviz.messages.transactions.transactions import InitProducerIdResponse
from kipviz.properties.facts import share_facts
from kipviz.properties.facts.one_epoch import (
    batch_of,
    learned_below_2,
    learned_in_order,
    learned_of_old_clients,
    level_of,
    orders_transactions,
)
from kipviz.properties.facts.run_facts import Facts
from kipviz.properties.facts.share_record import (
    ShareRecord,
    list_forgotten,
    moved_records,
    without_partition,
)
from kipviz.properties.verdict import BROKEN, HOLDS, Finding
from kipviz.records.placement import CONSUMER_OFFSETS, SHARE_GROUP_STATE, topic_of
from kipviz.records.share_group_state import (
    TERMINAL,
    RecordState,
    ShareSnapshotRecord,
    ShareUpdateRecord,
)
from kipviz.records.transaction_state import TransactionState

S = RecordState
V = TypeVar("V")
FREE = (S.AVAILABLE, S.ACQUIRED)
COMPLETE = (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)
_NOTHING = Facts()


class Invariant(Value, frozen=True):
    """One invariant: a property with its name, its sentence, its source and its check.

    `breaks` returns the reason why an event breaks it, or ""; it is called before the event is folded into the facts,
    with the world after the step. A broken invariant stays broken.
    """

    name: str
    sentence: str
    source: str
    breaks: Callable[[Facts, Event, World], str]

    def initial(self, world: World) -> Facts:
        """Start with no facts: one value for all invariants, so that one pass checks them all."""
        return _NOTHING

    def observe(self, facts: Facts, action: object, outcome: Outcome) -> Facts:
        """Fold one step, for all invariants at once."""
        return _ONE_PASS.observe(facts, outcome)

    def finding(self, facts: Facts) -> Finding:
        """Return whether it still holds."""
        reason = facts.broken.get(self.name)
        return Finding(HOLDS) if reason is None else Finding(BROKEN, reason)


class _OnePass:
    """The facts after a step, computed once for whichever invariant needs them first."""

    def __init__(self) -> None:
        self._known: tuple[Facts, Outcome, Facts] | None = None

    def observe(self, facts: Facts, outcome: Outcome) -> Facts:
        known = self._known
        if known is not None and known[0] is facts and known[1] is outcome:
            return known[2]
        after = facts
        for event in outcome.events:
            if not isinstance(event, LOOKED_AT):
                continue
            for invariant in INVARIANTS:
                if invariant.name in after.broken:
                    continue
                reason = invariant.breaks(after, event, outcome.world)
                if reason:
                    after = after.but(broken=after.broken.set(invariant.name, reason))
            after = _fold_event(after, event, outcome.world)
        self._known = (facts, outcome, after)
        return after


_ONE_PASS = _OnePass()


# -- share groups -------------------------------------------------------------------------------


def _second_owner(facts: Facts, event: Event, world: World) -> str:
    if not isinstance(event, RecordsMoved) or event.after is not S.ACQUIRED:
        return ""
    for record in moved_records(event):
        owner = facts.owners.get(record, "")
        if owner and owner != event.member_id:
            return f"{record} is held by {owner} and was given to {event.member_id}"
    return ""


def _acknowledgement_left_alone(facts: Facts, event: Event, world: World) -> str:
    if not isinstance(event, RecordsMoved) or event.before is not S.TX_PENDING:
        return ""
    for record in moved_records(event):
        acknowledgement = facts.acknowledgements.get(record)
        if (
            acknowledgement is not None
            and event.after is not S.TX_PENDING
            and acknowledgement not in facts.decided
        ):
            return (
                f"{record} became {event.after.name} because {event.because}, but the transaction "
                f"of producer {acknowledgement[0]}, epoch {acknowledgement[1]} is not decided"
            )
    return ""


def _delivered_after_commit(facts: Facts, event: Event, world: World) -> str:
    if isinstance(event, RecordsMoved) and event.after in FREE:
        for record in moved_records(event):
            if facts.outcomes.get(record) == "commit":
                return (
                    f"the acknowledgement of {record} is committed, but {event.because} and made "
                    f"it {event.after.name}"
                )
    if isinstance(event, SharePartitionLoaded):
        for record in list_forgotten(facts.outcomes, event):
            if facts.outcomes[record] == "commit":
                return f"the acknowledgement of {record} is committed, but its new leader does not know it"
    return ""


def _acknowledged_after_abort(facts: Facts, event: Event, world: World) -> str:
    if not isinstance(event, RecordsMoved) or event.after is not S.ACKNOWLEDGED:
        return ""
    for record in moved_records(event):
        if facts.outcomes.get(record) == "abort":
            return f"the acknowledgement of {record} was aborted, but it is ACKNOWLEDGED without having been available again: {event.because}"
    return ""


def _acknowledgement_forgotten(facts: Facts, event: Event, world: World) -> str:
    if not isinstance(event, SharePartitionLoaded):
        return ""
    for record in list_forgotten(facts.acknowledgements, event):
        pid, epoch = facts.acknowledgements[record]
        if facts.decided.get((pid, epoch)) != "abort":
            return f"producer {pid} was promised that {record} is staged at epoch {epoch}, but the new share-partition leader has no trace of it"
    return ""


def _start_went_wrong(facts: Facts, event: Event, world: World) -> str:
    if not isinstance(event, BatchAppended):
        return ""
    for record in event.records:
        if not isinstance(record, ShareUpdateRecord | ShareSnapshotRecord):
            continue
        before, now = facts.starts.get(record.key, -1), record.start_offset
        if now < 0 or before < 0:
            continue
        group, _, partition = _share_partition(record.key, world)
        log = world.logs.get(partition)
        if now < before:
            return f"the start offset of {partition} for {group} moved back from {before} to {now}"
        # Records that retention deleted belong to no member, though a member may still hold them.
        for offset in range(max(before, log.start_offset if log is not None else 0), now):
            name = ShareRecord(group, partition, offset)
            if name not in facts.done and not _is_committed(facts, name):
                return f"the start offset of {partition} for {group} went past {name}, which is not done"
    return ""


def _is_committed(facts: Facts, name: ShareRecord) -> bool:
    """Return whether a record's acknowledgement is committed, even if its producer got no response to the staging."""
    unheard = facts.staging.get(name)
    return facts.outcomes.get(name) == "commit" or (
        unheard is not None and facts.decided.get(unheard) == "commit"
    )


# -- transactions -------------------------------------------------------------------------------


def _second_outcome(facts: Facts, event: Event, world: World) -> str:
    if isinstance(event, TransactionDecided):
        place, word = (event.producer_id, event.producer_epoch), _word(event.committed)
        before = facts.decided.get(place, word)
        if before != word:
            return f"the transaction of producer {place[0]}, epoch {place[1]} was decided as {before} and as {word}"
    if isinstance(event, BatchAppended) and event.control:
        place = (event.producer_id, event.producer_epoch)
        before = facts.markers.get(place, event.control)
        if before != event.control:
            return (
                f"producer {place[0]}, epoch {place[1]} has a {before} marker in one partition and "
                f"a {event.control} marker in {event.partition}"
            )
    return ""


def _joined_after_the_end(facts: Facts, event: Event, world: World) -> str:
    if not isinstance(event, BatchAppended) or event.control or event.producer_id < 0:
        return ""
    ended = facts.ended.get((event.partition, event.producer_id), -1)
    if ended <= event.producer_epoch:
        return _hangs_below_2(facts, event, world)
    return (
        f"{event.partition} took a batch of producer {event.producer_id}, epoch "
        f"{event.producer_epoch}, after the marker of epoch {ended}: the transaction will never end"
    )


def _hangs_below_2(facts: Facts, event: BatchAppended, world: World) -> str:
    """Return why no marker will end a batch, if marker and data have the same epoch."""
    if event.plain or level_of(world) >= 2 or (event.partition, event.producer_id) in facts.due:
        return ""
    return (
        f"{event.partition} took a batch of producer {event.producer_id}, epoch "
        f"{event.producer_epoch}, and no coordinator has that partition in a transaction: the transaction will never end"
    )


def _joins_another(facts: Facts, event: Event, world: World) -> str:
    if not isinstance(event, BatchAppended) or event.plain or level_of(world) >= 2:
        return ""
    sent = facts.sent_in.get(batch_of(event, world), -1)
    now = facts.rounds.get(event.producer_id, 0)
    if sent < 0 or sent == now or (event.partition, event.producer_id) not in facts.due:
        return ""
    return (
        f"{event.partition} took a batch that producer {event.producer_id} sent in its transaction "
        f"{sent}, and it will end with transaction {now}"
    )


def _complete_too_early(facts: Facts, event: Event, world: World) -> str:
    if not isinstance(event, TransactionMoved) or event.after not in COMPLETE:
        return ""
    # A record of completion names no partition: every log may be affected.
    for name in event.partitions or world.logs:
        log = world.logs.get(name)
        if log is not None and any(pid == event.producer_id for _, pid in log.open):
            return f"{event.transactional_id} is {event.after.value}, but its transaction is open in {name}"
    return ""


def _fenced_commits(facts: Facts, event: Event, world: World) -> str:
    if not isinstance(event, TransactionDecided) or not event.committed:
        return ""
    newest = facts.epochs.get(event.producer_id, -1)
    if newest > event.producer_epoch:
        return (
            f"{event.transactional_id} committed at epoch {event.producer_epoch}, after a newer "
            f"producer was given epoch {newest}"
        )
    return ""


def _fenced_writes(facts: Facts, event: Event, world: World) -> str:
    if not isinstance(event, BatchAppended) or event.control or event.producer_id < 0:
        return ""
    newest = facts.epochs.get(event.producer_id, -1)
    if newest > event.producer_epoch:
        return (
            f"{event.partition} took a batch of producer {event.producer_id}, epoch "
            f"{event.producer_epoch}, after a newer producer was given epoch {newest}"
        )
    return ""


def _held_in_group(role: GroupCoordinator, event: OffsetStaged) -> dict[str, tuple[str, ...]]:
    """Return each member's partitions in a group, by either protocol, including those it still has to revoke."""
    classic = role.classic_groups.get(event.group_id)
    if classic is not None:
        return {name: member.assigned for name, member in classic.members.items()}
    group = role.groups.get(event.group_id)
    return {
        name: tuple(partition for partition, _ in (*member.assigned, *member.revoking))
        for name, member in (group.members.items() if group is not None else ())
    }


def _stranger_stages(facts: Facts, event: Event, world: World) -> str:
    """Return why a sender outside the group staged an offset, or "".

    A group whose members exist from the start has no members to check.
    """
    if not isinstance(event, OffsetStaged):
        return ""
    home = world.image.home_of(CONSUMER_OFFSETS, event.group_id)
    role = world.roles.get((world.image.leader_of(home), Role.GROUP_COORDINATOR, home))
    held = _held_in_group(role_as(role, GroupCoordinator), event) if role is not None else {}
    if not held:
        return ""
    who = event.member_id or "a request without a member id"
    if event.member_id not in held:
        return (
            f"{who} staged an offset of {event.partition} and is not a member of {event.group_id}"
        )
    if event.partition not in held[event.member_id]:
        return f"{who} staged an offset of {event.partition}, which it no longer owns"
    return ""


INVARIANTS: tuple[Invariant, ...] = (
    Invariant(
        "committed stays",
        "A record whose acknowledgement is committed is never delivered again.",
        "invariant I1",
        _delivered_after_commit,
    ),
    Invariant(
        "abort undoes the acknowledgement",
        "A record whose acknowledgement was aborted is not acknowledged until it has been available again.",
        "invariant I2",
        _acknowledged_after_abort,
    ),
    Invariant(
        "one owner",
        "A record is held by one member at a time.",
        "invariant I3; SharePartition.acquire",
        _second_owner,
    ),
    Invariant(
        "staged waits",
        "A staged record waits for its transaction, whatever else happens.",
        "invariant I4",
        _acknowledgement_left_alone,
    ),
    Invariant(
        "start offset only advances",
        "The start offset never moves back. It passes only records that are done or no longer in the log.",
        "invariants I6 and I7; SharePartition.maybeUpdateCachedStateAndOffsets",
        _start_went_wrong,
    ),
    Invariant(
        "transactional acknowledgements survive",
        "Every later share-partition leader knows each transactional acknowledgement that a producer was promised.",
        "invariant I9",
        _acknowledgement_forgotten,
    ),
    Invariant(
        "one outcome",
        "A transaction is decided once, and every marker says the same.",
        "KIP-98; TransactionCoordinator.endTransaction",
        _second_outcome,
    ),
    Invariant(
        "nothing hangs",
        "No batch joins a transaction in a partition that already has the transaction's marker.",
        "KIP-890; ProducerAppendInfo.checkProducerEpoch",
        _joined_after_the_end,
    ),
    Invariant(
        "batch stays in its transaction",
        "A batch ends with the transaction in which it was sent.",
        "KIP-890, late messages; one epoch per transaction (transaction version 2)",
        _joins_another,
    ),
    Invariant(
        "complete means closed",
        "A transaction is complete only when no partition of it is open.",
        "KIP-98; TransactionMarkerChannelManager",
        _complete_too_early,
    ),
    Invariant(
        "fenced producer cannot commit",
        "A fenced producer commits nothing.",
        "KIP-98, KIP-360; TransactionCoordinator.endTransaction",
        _fenced_commits,
    ),
    Invariant(
        "fenced producer cannot write",
        "A fenced producer appends nothing.",
        "KIP-890; ProducerAppendInfo.checkProducerEpoch",
        _fenced_writes,
    ),
    Invariant(
        "no zombie offset commits",
        "Only a member that owns the partition can stage offsets for its group.",
        "KIP-447 Fence zombie; ConsumerGroup.validateOffsetCommit",
        _stranger_stages,
    ),
)
LOOKED_AT = (
    BatchAppended,
    LeaderMoved,
    MessageSent,
    OffsetStaged,
    RecordsMoved,
    SharePartitionDropped,
    SharePartitionLoaded,
    ShareStateReset,
    TopicDeleted,
    TopicRemade,
    TransactionDecided,
    TransactionMoved,
)


# -- facts --------------------------------------------------------------------------------------


def _fold_event(facts: Facts, event: Event, world: World) -> Facts:
    if orders_transactions(world):
        facts = learned_in_order(facts, event)
    if level_of(world) < 2:
        facts = learned_below_2(facts, event)
    match event:
        case RecordsMoved():
            return _fold_records(facts, event)
        case LeaderMoved(partition=partition) if topic_of(partition) == SHARE_GROUP_STATE:
            return share_facts.reset_starts(facts, partition, world)
        case TopicDeleted(topic=topic) | TopicRemade(topic=topic):
            return share_facts.without_topic(facts, topic)
        case SharePartitionDropped(partition=partition, group_id=group_id):
            return facts.but(owners=without_partition(facts.owners, group_id, partition))
        case SharePartitionLoaded():
            return _fold_load(facts, event)
        case ShareStateReset(key=key):
            group, _, partition = _share_partition(key, world)
            return facts.but(
                starts=facts.starts.without(key),
                done=without_partition(facts.done, group, partition),
                outcomes=without_partition(facts.outcomes, group, partition),
                staging=share_facts.forget_decided(facts, facts.staging, group, partition),
                acknowledgements=share_facts.forget_decided(
                    facts, facts.acknowledgements, group, partition
                ),
            )
        case MessageSent(message=TxnShareAcknowledgeResponse() as answer):
            for result in answer.responses:
                if result.error is Errors.NONE:
                    facts = share_facts.mark_acknowledged(facts, result.partition, world)
            return facts
        case MessageSent(
            message=InitProducerIdResponse(ongoing_txn_producer_id=ongoing) as kept
        ) if ongoing >= 0:
            # A producer that keeps a transaction ends it as its own: only the next one fences it.
            return facts.but(epochs=facts.epochs.set(ongoing, kept.ongoing_txn_producer_epoch))
        case MessageSent(message=InitProducerIdResponse(error=Errors.NONE) as answer):
            return facts.but(epochs=facts.epochs.set(answer.producer_id, answer.producer_epoch))
        case TransactionMoved() if level_of(world) >= 2:
            return learned_of_old_clients(facts, event, world)
        case TransactionDecided():
            return _fold_decision(facts, event)
        case BatchAppended():
            return _fold_append(facts, event)
        case _:
            return facts


def _fold_records(facts: Facts, event: RecordsMoved) -> Facts:
    owners, staging, acknowledgements = facts.owners, facts.staging, facts.acknowledgements
    outcomes, done = facts.outcomes, facts.done
    for record in moved_records(event):
        staging = staging.without(record)
        if event.after is S.TX_PENDING:
            staging = staging.set(record, (event.producer_id, event.producer_epoch))
            outcomes = outcomes.without(record)
            continue
        acknowledgements = acknowledgements.without(record)
        if event.after is S.ACQUIRED:
            owners = owners.set(record, event.member_id)
        else:
            owners = owners.without(record)
        done = done.set(record, True) if event.after in TERMINAL else done.without(record)
        if event.after is S.AVAILABLE:
            outcomes = outcomes.without(record)
    return facts.but(
        owners=owners,
        staging=staging,
        acknowledgements=acknowledgements,
        outcomes=outcomes,
        done=done,
    )


def _fold_load(facts: Facts, event: SharePartitionLoaded) -> Facts:
    """Apply a new leader's durable state; a record without state is free."""
    outcomes, acknowledgements, staging = facts.outcomes, facts.acknowledgements, facts.staging
    for record in list_forgotten(outcomes, event):
        outcomes = outcomes.without(record)
    for record in list_forgotten(acknowledgements, event):
        acknowledgements = acknowledgements.without(record)
    # The old leader may have appended a transactional acknowledgement without a response to its producer.
    for record in list_forgotten(staging, event):
        staging = staging.without(record)
    return facts.but(
        owners=without_partition(facts.owners, event.group_id, event.partition),
        staging=staging,
        outcomes=outcomes,
        acknowledgements=acknowledgements,
    )


def _fold_decision(facts: Facts, event: TransactionDecided) -> Facts:
    place, word = (event.producer_id, event.producer_epoch), _word(event.committed)
    outcomes = facts.outcomes
    for record, identity in facts.acknowledgements.items():
        if identity == place:
            outcomes = outcomes.set(record, word)
    return facts.but(outcomes=outcomes, decided=facts.decided.set(place, word))


def _fold_append(facts: Facts, event: BatchAppended) -> Facts:
    if event.control:
        place = (event.partition, event.producer_id)
        marker = (event.producer_id, event.producer_epoch)
        return facts.but(
            ended=facts.ended.set(place, event.producer_epoch),
            markers=facts.markers.set(marker, event.control),
        )
    return facts.but(starts=share_facts.fold_starts(facts.starts, event.records))


def _share_partition(key: str, world: World) -> tuple[str, str, str]:
    """Return (group, topic id, partition's name) of a share-partition's key."""
    group, topic_id, index = key.rsplit(":", 2)
    names = {known: topic for topic, known in world.image.topic_ids.items()}
    return group, topic_id, f"{names.get(topic_id, topic_id)}-{index}"


def _word(committed: bool) -> str:
    return "commit" if committed else "abort"
