"""The only dice of kipviz: they choose the actions of a random run.

Dice are counted, not rolled: the number drawn at a step is a hash of the seed and the number of the step. So a
scheduler has no state that could differ between two machines, a branch needs no copy of it, and a run can be continued
at any step.

A profile weighs *kinds* of actions, not actions: first a kind is drawn among those that are possible now, then one
action of that kind, all equally likely. So faults stay as rare as the profile says, however many different faults are
possible.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias, TypeVar

from kipviz.core.values import Value, digest_of

A = TypeVar("A")

# Some kinds that can be drawn: for each the sum of its weight and those before it, and the places of its actions.
_Groups: TypeAlias = tuple[tuple[int, tuple[int, ...]], ...]

# The number of lists of kinds that are kept for a profile: the runs of a campaign have most of them in common.
GROUPS_MAX = 256


class Profile(Value, frozen=True):
    """How often each kind of action is drawn, relative to the other kinds.

    A weight of 0 means never. A kind without a weight is rejected when it occurs.

    Raises:
        ValueError: if a weight is not a whole number from 0, or a kind is named twice.
    """

    name: str
    weights: tuple[tuple[str, int], ...]

    def __post_init__(self) -> None:
        kinds = [kind for kind, _ in self.weights]
        for kind, weight in self.weights:
            if type(weight) is not int or weight < 0:
                raise ValueError(
                    f"profile {self.name!r}: the weight of {kind!r} must be a whole number "
                    f"of at least 0 (never), not {weight!r}"
                )
            if kinds.count(kind) > 1:
                raise ValueError(f"profile {self.name!r} weighs {kind!r} more than once")

    def weight(self, kind: str) -> int:
        """Return the weight of a kind of action.

        Raises:
            ValueError: if the profile has no weight for it.
        """
        for name, weight in self.weights:
            if name == kind:
                return weight
        raise ValueError(
            f"profile {self.name!r} has no weight for actions of kind {kind!r}; it weighs "
            + ", ".join(name for name, _ in self.weights)
        )


class Scheduler:
    """Chooses actions for a random run; the same seed chooses the same on every machine."""

    __slots__ = ("_groups", "profile", "seed")

    def __init__(self, seed: int, profile: Profile) -> None:
        """Make a scheduler.

        Raises:
            ValueError: if the seed is not a whole number.
        """
        if type(seed) is not int:
            raise ValueError(f"a seed must be a whole number, such as 7, not {seed!r}")
        self.seed = seed
        self.profile = profile
        self._groups = _groups_of(profile)

    def choose(self, step: int, actions: tuple[A, ...], kind: Callable[[A], str]) -> A | None:
        """Return the action to take at a step, or None if the profile allows none of them.

        The result depends on the seed, the number of the step and the actions in their order.
        """
        kinds = tuple(map(kind, actions))
        groups = self._groups.get(kinds)
        if groups is None:
            if len(self._groups) >= GROUPS_MAX:
                self._groups.clear()
            groups = self._groups[kinds] = _group(self.profile, kinds)
        if not groups:
            return None
        dice = digest_of(f"{self.seed} {step}".encode())
        drawn = int.from_bytes(dice[:8], "big") % groups[-1][0]
        for below, places in groups:
            if drawn < below:
                return actions[places[int.from_bytes(dice[8:], "big") % len(places)]]
        raise AssertionError("the dice are smaller than the sum of the weights")

    def __repr__(self) -> str:
        return f"Scheduler(seed={self.seed}, profile={self.profile.name!r})"


@lru_cache(maxsize=16)
def _groups_of(_: Profile) -> dict[tuple[str, ...], _Groups]:
    """Return the groups of lists of kinds under a profile, as far as they are known: one cache for many runs."""
    return {}


def _group(profile: Profile, kinds: tuple[str, ...]) -> _Groups:
    """Return the kinds with a weight, in the order in which they first occur."""
    total, groups = 0, []
    for name in dict.fromkeys(kinds):
        weight = profile.weight(name)
        if weight:
            total += weight
            groups.append((total, tuple(at for at, of in enumerate(kinds) if of == name)))
    return tuple(groups)
