"""A consumer's subscription or assignment, the partitions that it owns, and its positions in them.

WHERE IN KAFKA: SubscriptionState.
DURABILITY: none; only the group's committed offsets last.
"""

from __future__ import annotations

from kipviz.core.table import Table
from kipviz.core.values import Value
from kipviz.messages.groups.groups import GroupOffset
from kipviz.records.placement import topic_of

# The position of a partition while auto.offset.reset asks the log for one.
ASKED = -1


class SubscriptionState(Value, frozen=True):
    """The subscription of a consumer, its partitions and their positions.

    A consumer with `user_assigned` partitions has called assign() (SubscriptionType.USER_ASSIGNED): it has no topics,
    does not join its group, and owns them in each life of its process. Others subscribe to `topics` by name, and to
    what `regex` matches; the expression "" is one that it still has to withdraw. `first_topics` are those that it began
    with if it now has others: the next life of its process begins with them again. `owned` are its partitions. `auto_offset_reset` says what it does without a position
    inside the log; "" is earliest without a round trip. `unfound` are partitions in which every record was too old
    (by_duration): they are asked again after a while.
    """

    topics: tuple[str, ...]
    first_topics: tuple[str, ...] = ()
    regex: str | None = None
    owned: tuple[str, ...] = ()
    positions: Table[str, int] = Table.of()
    auto_offset_reset: str = ""
    unfound: tuple[str, ...] = ()
    user_assigned: bool = False

    @classmethod
    def assign(cls, partitions: tuple[str, ...], auto_offset_reset: str = "") -> SubscriptionState:
        """Return the state of a consumer whose user assigns its partitions."""
        return cls((), owned=partitions, auto_offset_reset=auto_offset_reset, user_assigned=True)

    @property
    def anew(self) -> SubscriptionState:
        """The subscription of the process's next life, which runs its program from the start."""
        if self.user_assigned:
            return SubscriptionState.assign(self.owned, self.auto_offset_reset)
        return SubscriptionState(
            self.first_topics or self.topics, auto_offset_reset=self.auto_offset_reset
        )

    @property
    def fetchable(self) -> tuple[str, ...]:
        """Its partitions without those of topics to which it no longer subscribes by name.

        It owns those until the next assignment. Source: SubscriptionState.isFetchableAndSubscribed.
        """
        if self.user_assigned or self.regex:
            return self.owned
        return tuple(p for p in self.owned if topic_of(p) in self.topics)

    @property
    def without_partitions(self) -> SubscriptionState:
        """The same without partitions."""
        return self.but(owned=(), positions=Table.of())

    @property
    def without_positions(self) -> SubscriptionState:
        """The same without positions: it must ask for the committed offsets."""
        return self.but(positions=Table.of())

    @property
    def read_so_far(self) -> tuple[GroupOffset, ...]:
        """The position of every partition, except those whose position the log is still asked for."""
        return tuple(GroupOffset(p, at) for p, at in self.positions.items() if at != ASKED)

    def subscribe_to(self, topics: tuple[str, ...]) -> SubscriptionState:
        """Subscribe to these topics and no others."""
        begins_with = self.first_topics or self.topics
        first = () if topics == begins_with else begins_with
        return self.but(topics=topics, first_topics=first)

    def owning(self, partitions: tuple[str, ...]) -> SubscriptionState:
        """Own these partitions, and keep the positions of those that it already had."""
        kept = {p: at for p, at in self.positions.items() if p in partitions}
        return self.but(owned=partitions, positions=Table.of(kept))

    def at(self, partition: str, position: int) -> SubscriptionState:
        """Set the position of a partition."""
        return self.but(positions=self.positions.set(partition, position))
