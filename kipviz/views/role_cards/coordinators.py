"""The cards of the group coordinator and the transaction coordinator, and of the partition leaders."""

from __future__ import annotations

from kipviz.brokers.context import Image
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.membership.classic_group import ClassicGroup, GroupState
from kipviz.brokers.membership.consumer_group import GroupMember
from kipviz.brokers.transactions import producer_groups
from kipviz.brokers.transactions.transaction_metadata import TransactionMetadata
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.cluster.behaviour.naming import number, render_list, short_name
from kipviz.cluster.timing.clock import ms
from kipviz.cluster.world import BrokerRole
from kipviz.records.batches import NO_TIMESTAMP
from kipviz.records.consumer_offsets import STABLE
from kipviz.views.role_cards.card_rows import Card, Fact, facts
from kipviz.views.tones import CALM, WARNING, tone_of_transaction


def offsets(role: BrokerRole | None) -> Card:
    """Return what a group has committed, and what is pending in a transaction."""
    if not isinstance(role, GroupCoordinator):
        return facts([("coordinator", "none", "gone")])
    if role.loading:
        return facts([("coordinator", "loading", "warning")])
    rows: list[Fact] = []
    for (group, partition), committed in role.offsets.items():
        rows.append((f"{group}, {partition}", f"committed {committed.offset}", "done"))
    for pid, pending in role.pending.items():
        for p in pending:
            words = f"{p.offset} by pid {pid}"
            rows.append((f"pending, {p.partition}", words, "pending"))
    members = ", ".join(f"{m} epoch {e}" for (_, m), e in role.members.items())
    if members or not (len(role.groups) or len(role.classic_groups)):
        rows.append(("members", members or "none", "calm"))
    for name, known in role.groups.items():
        rows.append((name, f"group epoch {known.epoch}", "calm"))
        rows += [(f"{name}, {m}", *_member(member)) for m, member in known.members.items()]
    for name, classic in role.classic_groups.items():
        words = f"generation {classic.generation}, {classic.state.name}"
        rows.append((name, words, "calm" if classic.state is GroupState.STABLE else "pending"))
        rows += [(f"{name}, {m}", *_of_generation(classic, m)) for m in classic.members]
        rows += [
            (f"{name}, {m}", "has its member id, has not joined", "pending")
            for m in classic.pending
        ]
    return facts(rows)


def _of_generation(group: ClassicGroup, name: str) -> tuple[str, str]:
    """Return the assignment of a classic group's member, and what it waits for, in words."""
    member = group.members[name]
    words = f"{'leader, ' if name == group.leader else ''}{render_list(member.assigned)}"
    if member.joining is not None:
        return f"{words}; has joined the next generation", "pending"
    if member.syncing is not None:
        return f"{words}; waits for its assignment", "pending"
    late = group.state is GroupState.PREPARING_REBALANCE
    return (f"{words}; has not rejoined", "warning") if late else (words, "calm")


def _member(member: GroupMember) -> tuple[str, str]:
    """Return a member's epoch, its partitions, and those that it must revoke, in words."""
    words = f"epoch {member.epoch}, {render_list(member.partitions)}"
    if member.revoking:
        words += f", revokes {render_list(tuple(p for p, _ in member.revoking))}"
    return words, "calm" if member.state == STABLE else "pending"


NO_GENERATION = ("", CALM)


def generation(role: TransactionCoordinator, name: str) -> tuple[str, str]:
    """Return the generation for which a producer has its identity, and its assignment in it: words and their tone.

    The words are "" except for a producer with a group (KIP-447, first draft).
    """
    mine = role.assignments.get(name)
    if mine is None:
        return NO_GENERATION
    seen = producer_groups.newest(role.assignments, mine.group_id)
    over = f", over: {seen} was seen" if seen > mine.generation else ""
    words = f"{mine.generation} of {mine.group_id}{over}; has {render_list(mine.assigned)}"
    return words, WARNING if over else CALM


def transaction(
    known: TransactionMetadata | None,
    loading: bool | None,
    generation: tuple[str, str] = NO_GENERATION,
) -> Card:
    """Return what the coordinator knows of one transactional id; `loading` is None without a coordinator."""
    if loading is None:
        return facts([("coordinator", "none", "gone")])
    if loading:
        return facts([("coordinator", "loading", "warning")])
    if known is None:
        return facts([("state", "unknown yet", "calm")])
    pending = known.pending_state.value if known.pending_state else "nothing"
    rows = [
        ("state", known.state.value, tone_of_transaction(known.state)),
        ("pending transition", pending, "calm"),
        ("producer id", str(known.producer_id), "calm"),
        ("epoch", str(known.producer_epoch), "calm"),
        ("participants", ", ".join(map(short_name, known.partitions)) or "none", "calm"),
        ("markers sent", ", ".join(short_name(p) for p, _ in known.sent) or "none", "calm"),
    ]
    words, tone = generation
    if words:
        rows.append(("generation", words, tone))
    if known.to_send:
        rows.append(("markers to send", ", ".join(map(short_name, known.to_send)), "warning"))
    if known.next_producer_id >= 0:
        rows.append(("next producer id", number(known.next_producer_id), "calm"))
    if known.next_producer_epoch >= 0:
        rows.append(("next epoch", number(known.next_producer_epoch), "calm"))
    if known.is_kept:
        rows.append(("kept: to be ended by", known.kept_for, "pending"))
    if known.start_timestamp_ms != NO_TIMESTAMP:
        rows.append(("began at", ms(known.start_timestamp_ms), "calm"))
    if known.last_update_timestamp_ms != NO_TIMESTAMP:
        rows.append(("last update at", ms(known.last_update_timestamp_ms), "calm"))
    if known.cancelled:
        rows.append(("markers", "failed for good", "broken"))
    return facts(rows)


def leaders(image: Image) -> Card:
    """Return the leader of every partition."""
    rows: list[Fact] = []
    for partition, held in image.leaders.items():
        who = f"Broker {held.leader}" if held.leader >= 0 else "no leader"
        tone = "calm" if held.leader >= 0 else "gone"
        rows.append((short_name(partition), f"{who}, epoch {held.epoch}", tone))
    return facts(rows)
