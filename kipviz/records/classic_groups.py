"""The record of a classic group in `__consumer_offsets`: one for the whole group.

It is written when a generation has its assignment, and when a group is created or has become empty; the state between
two generations is in memory only.
"""

from __future__ import annotations

from kipviz.core.values import Value

# The generation of a member without one (JoinGroupRequest.UNKNOWN_GENERATION_ID).
NO_GENERATION = -1
# The assignors of consumers (partition.assignment.strategy): with the first all partitions are revoked before a
# rebalance, with the second only those that move to another member (KIP-429).
RANGE, COOPERATIVE_STICKY = "range", "cooperative-sticky"


class Subscription(Value, frozen=True):
    """A member's subscription for the leader of its group, in bytes that no broker has to decode.

    `generation` is the one in which it had `owned`; with eager rebalancing it no longer owns anything when it joins.
    Two subscriptions with any difference are different (ConsumerProtocolSubscription). `metadata` are the bytes for each of the member's assignors, as a real client sent
    them; it is empty if they are those of this subscription and nothing else.
    """

    topics: tuple[str, ...]
    owned: tuple[str, ...] = ()
    generation: int = NO_GENERATION
    metadata: tuple[bytes, ...] = ()


class MemberMetadata(Value, frozen=True):
    """A member of a generation: its subscription, and its assignment from the leader.

    `assignment` are the leader's bytes, None if they are those of `assigned` and nothing else.
    """

    member_id: str
    client_id: str
    subscription: Subscription
    assigned: tuple[str, ...] = ()
    instance_id: str = ""
    protocols: tuple[str, ...] = (RANGE,)
    assignment: bytes | None = None


class GroupMetadataRecord(Value, frozen=True):
    """A whole group of the classic protocol (GroupMetadataKey and GroupMetadataValue)."""

    group_id: str
    generation: int
    leader: str = ""
    members: tuple[MemberMetadata, ...] = ()
    protocol: str = RANGE
