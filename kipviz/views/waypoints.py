"""Where a long big step pauses on its way, so that a reader sees at most six messages at once."""

from __future__ import annotations

from collections.abc import Sequence

# About as many as a person takes in at once.
MESSAGES_AT_ONCE = 6


def rests(first: int, end: int, notable: Sequence[bool]) -> list[int]:
    """Return the small steps inside a big one at which stepping forward pauses.

    Args:
        first: the big step's first small step.
        end: its last one, at which it ends anyway.
        notable: for each small step of the whole branch whether it deserves attention.

    Returns:
        Steps from `first` on and before `end`, ascending, never more than six messages apart; none for a big step of
            six messages or fewer. As few as possible; among those the most notable ones, and then those that make parts
            of similar size.
    """
    # For each step at which a part may begin: the parts from there on, how many of them end at a step that is not
    # notable, how uneven they are, and where the first of them ends.
    best: dict[int, tuple[int, int, int, int]] = {}
    for begin in range(end, first - 1, -1):
        if end - begin < MESSAGES_AT_ONCE:
            best[begin] = (1, 0, (end - begin + 1) ** 2, end)
            continue
        ways = []
        for rest in range(begin, begin + MESSAGES_AT_ONCE):
            parts, dull, uneven, _ = best[rest + 1]
            size = rest + 1 - begin
            ways.append((parts + 1, dull + (not notable[rest]), uneven + size**2, rest))
        best[begin] = min(ways)
    found = []
    rest = best[first][3]
    while rest < end:
        found.append(rest)
        rest = best[rest + 1][3]
    return found
