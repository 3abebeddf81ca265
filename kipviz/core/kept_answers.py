"""Answers about the entries of a table, computed again only for entries that are new objects.

A step changes few entries of a table, and a search meets most of them again. So the answer for an entry is kept by the
object itself. An answer may depend on nothing but the entry and its key: the caller has to ensure that.
"""

from collections.abc import Callable
from itertools import compress
from operator import is_not
from typing import Any, Generic, TypeVar

from kipviz.core.table import Table

T = TypeVar("T")

# The number of entries kept beside those of the last table: a search meets eight in ten again (measured), a run needs
# little more than the last ones.
KEPT_MAX = 512


class KeptAnswers(Generic[T]):
    """Answers one question about each entry of tables, and keeps the answers."""

    def __init__(self, ask: Callable[[Any, Any, Any], T]) -> None:
        """Start with no answers; `ask` is called with a key, a value, and the argument given with the table."""
        self._ask = ask
        self._keys: tuple[Any, ...] = ()
        self._values: tuple[Any, ...] = ()
        self._answers: list[T] = []
        self._met: dict[tuple[int, Any], tuple[Any, T]] = {}

    def of(self, table: Table[Any, Any], given: Any) -> list[T]:
        """Return the answers for all entries of a table, in the order of its keys; do not change the list."""
        keys, values = table.keys(), table.values()
        if values is self._values:
            return self._answers
        if keys is self._keys:
            answers = self._answers.copy()
            for at in compress(range(len(values)), map(is_not, values, self._values)):
                answers[at] = self._answer(keys[at], values[at], given)
        else:
            entries = zip(keys, values, strict=True)
            answers = [self._answer(key, value, given) for key, value in entries]
        self._keys, self._values, self._answers = keys, values, answers
        return answers

    def _answer(self, key: Any, value: Any, given: Any) -> T:
        place = (id(value), key)
        known = self._met.get(place)
        if known is None:
            if len(self._met) >= KEPT_MAX:
                self._met.clear()
            known = self._met[place] = (
                value,
                self._ask(key, value, given),
            )  # keeps the object, so that its id is its own
        return known[1]
