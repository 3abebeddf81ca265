"""The only dice of kipviz: they choose the actions of a random run.

Dice are counted, not rolled: the number drawn at a step is a hash of the seed and the number of the step. So a
scheduler has no state that could differ between two machines, a branch needs no copy of it, and a run can be continued
at any step.

A profile weighs *kinds* of actions, not actions: first a kind is drawn among those that are possible now, then one
action of that kind, all equally likely. So faults stay as rare as the profile says, however many different faults are
possible.
"""

from collections.abc import Callable
from typing import TypeVar

from kipviz.core.values import Value, digest_of

A = TypeVar("A")


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

    __slots__ = ("_weights", "profile", "seed")

    def __init__(self, seed: int, profile: Profile) -> None:
        """Make a scheduler.

        Raises:
            ValueError: if the seed is not a whole number.
        """
        if type(seed) is not int:
            raise ValueError(f"a seed must be a whole number, such as 7, not {seed!r}")
        self.seed = seed
        self.profile = profile
        self._weights = dict(profile.weights)

    def choose(self, step: int, actions: tuple[A, ...], kind: Callable[[A], str]) -> A | None:
        """Return the action to take at a step, or None if the profile allows none of them.

        The result depends on the seed, the number of the step and the actions in their order.
        """
        kinds = list(map(kind, actions))
        names = tuple(dict.fromkeys(kinds))  # in the order in which the kinds first occur
        known = self._weights
        # The profile rejects a kind without a weight, with a sentence.
        weights = [known[n] if n in known else self.profile.weight(n) for n in names]
        total = sum(weights)
        if not total:
            return None
        dice = digest_of(f"{self.seed} {step}".encode())
        left = int.from_bytes(dice[:8], "big") % total
        for weight, name in zip(weights, names, strict=True):
            if left < weight:
                group = [a for a, of in zip(actions, kinds, strict=True) if of == name]
                return group[int.from_bytes(dice[8:], "big") % len(group)]
            left -= weight
        raise AssertionError("the dice are smaller than the sum of the weights")

    def __repr__(self) -> str:
        return f"Scheduler(seed={self.seed}, profile={self.profile.name!r})"
