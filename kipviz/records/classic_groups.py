"""The record of `__consumer_offsets` that a group of the classic protocol leaves: one for all of it.

It is written when a generation has its assignment, and when a group is made or has become empty; what
happens between two generations is in memory only.
"""

from __future__ import annotations

from kipviz.core.values import Value

# Who has no generation (JoinGroupRequest.UNKNOWN_GENERATION_ID).
NO_GENERATION = -1
# The assignors of consumers (partition.assignment.strategy): with the first everything is given up before
# a rebalance, with the second only what goes to somebody else (KIP-429).
RANGE, COOPERATIVE_STICKY = "range", "cooperative-sticky"


class Subscription(Value, frozen=True):
    """What a member tells the leader of its group, in bytes that no broker has to understand.

    `generation` is the one in which it had `owned`; with eager rebalancing it owns nothing any more when
    it joins. Two subscriptions that differ in anything are two (ConsumerProtocolSubscription).
    `further_topics` are those that it subscribes to besides `topic`.
    """

    topic: str
    owned: tuple[str, ...] = ()
    generation: int = NO_GENERATION
    further_topics: tuple[str, ...] = ()

    @property
    def topics(self) -> tuple[str, ...]:
        """All topics that the member subscribes to."""
        return (self.topic, *self.further_topics)


class MemberMetadata(Value, frozen=True):
    """A member of a generation: what it subscribed to, and what the leader has given it."""

    member_id: str
    client_id: str
    subscription: Subscription
    assigned: tuple[str, ...] = ()
    instance_id: str = ""
    protocols: tuple[str, ...] = (RANGE,)


class GroupMetadataRecord(Value, frozen=True):
    """A whole group of the classic protocol (GroupMetadataKey and GroupMetadataValue)."""

    group_id: str
    generation: int
    leader: str = ""
    members: tuple[MemberMetadata, ...] = ()
    protocol: str = RANGE
