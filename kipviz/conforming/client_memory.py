"""The clients' memory from one answer to the next: identities, sequences, sessions, and acquired records."""

from __future__ import annotations

from dataclasses import dataclass, field

# The identity of a producer without one.
NOBODY = (-1, -1)


@dataclass
class Producer:
    """What a producer knows: its current and previous identity, and its next sequences."""

    now: tuple[int, int] = NOBODY
    before: tuple[int, int] = NOBODY
    sequences: dict[int, int] = field(default_factory=dict)

    def becomes(self, who: tuple[int, int]) -> None:
        """Adopt another identity; its sequences start at 0."""
        if who != self.now and who[0] >= 0:
            self.before, self.now = self.now, who
            self.sequences = {}


@dataclass
class Session:
    """A share member's session at one leader: its epoch, and the partitions in it."""

    epoch: int = 0
    partitions: tuple[int, ...] = ()


@dataclass
class Member:
    """What a member knows: its epoch in its group, and for a share member its sessions and acquired records.

    A member of a classic group has the member id that it was assigned; its epoch is a generation.
    """

    epoch: int = 0
    name: str = ""
    sessions: dict[int, Session] = field(default_factory=dict)
    held: list[tuple[int, int, int]] = field(default_factory=list)

    def session_at(self, node: int) -> Session:
        """Return its session at a leader."""
        return self.sessions.setdefault(node, Session())
