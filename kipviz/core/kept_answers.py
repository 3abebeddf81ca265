"""Answers about the entries of a table, computed again only for entries that are new objects.

A step changes few entries of a table, and a search meets most of them again. So the answer for an entry is kept by the
object itself. The runs of a campaign have most tables in common, so the joined answers for a whole table can be kept, too.
An answer may depend on nothing but the entry and its key: the caller has to ensure that.
"""

from collections.abc import Callable
from itertools import compress
from operator import is_not
from typing import Any, Generic, TypeVar

from kipviz.core.table import Table

T = TypeVar("T")
J = TypeVar("J")

# The number of entries kept beside those of the last table: a search meets eight in ten again (measured), a run needs
# little more than the last ones.
KEPT_MAX = 512
# The number of tables that a campaign keeps with their joined answers, some 300 bytes each beside the tables. A single run
# never meets one again.
TABLES_MAX = 1024


class KeptAnswers(Generic[T, J]):
    """Answers one question about each entry of tables, joins the answers for a table, and keeps both."""

    def __init__(
        self,
        ask: Callable[[Any, Any, Any], T | None],
        join: Callable[[list[T]], J],
        tables_max: int = 0,
    ) -> None:
        """Start with no answers.

        `ask` is called with a key, a value, and the argument given with the table; None is no answer. `join` is called
        with the other answers for a table, in the order of its keys. `tables_max` is the number of tables kept beside the
        last one.
        """
        self._ask = ask
        self._join = join
        self._tables_max = tables_max
        empty: Table[Any, Any] = Table()
        self._last: tuple[Table[Any, Any], list[T | None], J] = (empty, [], join([]))
        # The tables are kept, so that their ids are their own.
        self._tables: dict[int, tuple[Table[Any, Any], list[T | None], J]] = {}
        self._met: dict[tuple[int, Any], tuple[Any, T | None]] = {}

    def of(self, table: Table[Any, Any], given: Any) -> J:
        """Return the joined answers for all entries of a table."""
        known = self._last
        if known[0] is table:
            return known[2]
        found = self._tables.get(id(table))
        if found is None:
            found = self._find(table, given)
            if self._tables_max:
                if len(self._tables) >= self._tables_max:
                    self._tables.clear()
                self._tables[id(table)] = found
        self._last = found
        return found[2]

    def _find(
        self, table: Table[Any, Any], given: Any
    ) -> tuple[Table[Any, Any], list[T | None], J]:
        """Answer for a table that is not kept, most often a small change of the last one."""
        before, answers, joined = self._last
        keys, values = table.keys(), table.values()
        if keys is not before.keys():
            entries = zip(keys, values, strict=True)
            answers = [self._answer(key, value, given) for key, value in entries]
            return table, answers, self._join([a for a in answers if a is not None])
        same = True
        for at in compress(range(len(values)), map(is_not, values, before.values())):
            answer = self._answer(keys[at], values[at], given)
            if answer != answers[at]:
                if same:
                    answers, same = answers.copy(), False
                answers[at] = answer
        if not same:
            joined = self._join([a for a in answers if a is not None])
        return table, answers, joined

    def _answer(self, key: Any, value: Any, given: Any) -> T | None:
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
