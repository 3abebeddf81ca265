"""What the entries of a table allow, asked again only for entries that are other objects than before.

A step changes few entries of a table, and a search meets most of them again. So what was found for an entry is kept
by the very object. An answer may depend on nothing but the entry and its key: whoever asks takes care of that.
"""

from collections.abc import Callable
from itertools import compress
from operator import is_not
from typing import Any, Generic, TypeVar

from kipviz.core.table import Table

T = TypeVar("T")

# So many entries are remembered beside those of the last table: a search meets eight in ten again (measured), a run
# has little use for more than the last ones.
KEPT_MAX = 512


class KeptAnswers(Generic[T]):
    """Asks one question about each entry of tables, and remembers the answers."""

    def __init__(self, ask: Callable[[Any, Any, Any], T]) -> None:
        """Begin with nothing known; `ask` is given a key, a value, and what was given with the table."""
        self._ask = ask
        self._keys: tuple[Any, ...] = ()
        self._values: tuple[Any, ...] = ()
        self._answers: list[T] = []
        self._met: dict[tuple[int, Any], tuple[Any, T]] = {}

    def of(self, table: Table[Any, Any], given: Any) -> list[T]:
        """Return the answers for all entries of a table, in the order of its keys; the list is not to be changed."""
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
            )  # keeps it: its id is its own
        return known[1]
