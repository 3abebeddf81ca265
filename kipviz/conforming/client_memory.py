"""What the clients of a program remember from one answer to the next: identities, sequences, sessions, and what they hold."""

from __future__ import annotations

from dataclasses import dataclass, field

# The identity of a producer that has none.
NOBODY = (-1, -1)


@dataclass
class Producer:
    """What a producer knows: who it is, who it was, and its next sequences."""

    now: tuple[int, int] = NOBODY
    before: tuple[int, int] = NOBODY
    sequences: dict[int, int] = field(default_factory=dict)

    def becomes(self, who: tuple[int, int]) -> None:
        """Take another identity; sequences begin again with it."""
        if who != self.now and who[0] >= 0:
            self.before, self.now = self.now, who
            self.sequences = {}


@dataclass
class Session:
    """What a share member has at one leader: the epoch of its session, and which partitions are in it."""

    epoch: int = 0
    partitions: tuple[int, ...] = ()


@dataclass
class Member:
    """What a member knows: its epoch in its group, and for a share member its sessions and what it holds.

    A member of a classic group has the name that it was given; its epoch is a generation.
    """

    epoch: int = 0
    name: str = ""
    sessions: dict[int, Session] = field(default_factory=dict)
    held: list[tuple[int, int, int]] = field(default_factory=list)

    def session_at(self, node: int) -> Session:
        """Return its session at a leader."""
        return self.sessions.setdefault(node, Session())
