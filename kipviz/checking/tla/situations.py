"""The situations in which a step is possible: the few variables that decide it, derived from finished searches.

For each action the searches know each state in which it is possible, and each in which it is not. A set of variables
decides it if all states with equal values of these variables agree: whether it is possible, what it asks the rules,
what it changes. One variable after the other is left out as long as the rest decides. This is exact for every state
that was reached, and TLC reaches no other: it starts where a search started, and each step leads where the search's
step led.

Different designs ask different questions and get different answers. Two situations of an action are compatible if the
answers distinguish them: a rule of a design admits the one that its own search took, and no other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import msgspec

from kipviz.checking.tla.reachable_states import PROPERTY, NotWhole, Reached, SearchStep, Variable
from kipviz.checking.tla.rule_recorder import RuleAnswer

# For some of the variables, by their index, the index of the value.
Numbers: TypeAlias = tuple[tuple[int, int], ...]

# The questions of an action, and its changes.
Row: TypeAlias = tuple[tuple[RuleAnswer, ...], Numbers]


class Situation(msgspec.Struct, frozen=True, eq=False):
    """Where an action is possible, its questions, and its changes."""

    when: Numbers
    asked: tuple[RuleAnswer, ...]
    then: Numbers


class Update(msgspec.Struct, frozen=True, eq=False):
    """How an action changes the memory of a property: its value after each situation, by the answers."""

    variable: int
    rows: tuple[Situation, ...]


class Deed(msgspec.Struct, frozen=True, eq=False):
    """Everything that an action does in the searches."""

    situations: tuple[Situation, ...]
    updates: tuple[Update, ...]
    changes: tuple[int, ...]


class _Known(msgspec.Struct, eq=False):
    """What is known of the states that agree in some variables: the row of each design, and all their rows."""

    own: dict[int, Row | None]
    rows: dict[Row, None]


class Rules:
    """The answers of each design's rules, and thereby the rows that they admit."""

    def __init__(self, reached: Reached) -> None:
        """Store the designs of the searches."""
        self._reached = reached
        self._admits: dict[tuple[int, tuple[RuleAnswer, ...]], bool] = {}

    def answer(self, design: int, slot: str, arguments: tuple[object, ...]) -> object:
        """Return the answer of a design's rule.

        Raises:
            NotWhole: if the rule raises.
        """
        chosen = self._reached.searches[design].design
        try:
            return chosen.option(slot).choose(*arguments)
        except Exception as error:
            raise NotWhole(
                f"the rule of {slot} in {chosen.name} cannot answer what another design of the module is asked: {error}"
            ) from error

    def admits(self, design: int, asked: tuple[RuleAnswer, ...]) -> bool:
        """Return whether a design gives all of these answers."""
        known = self._admits.get((design, asked))
        if known is None:
            known = all(self.answer(design, a.slot, a.arguments) == a.answer for a in asked)
            self._admits[design, asked] = known
        return known


def deed(reached: Reached, rules: Rules, steps: Sequence[SearchStep]) -> Deed:
    """Return the situations in which an action is possible, and what it does there."""
    variables = reached.variables
    properties = [n for n, each in enumerate(variables) if each.place[0] == PROPERTY]
    world = [n for n in range(len(variables)) if n not in properties]
    changed = [n for n in world if any(_differs(variables[n], step) for step in steps)]
    still = [n for n in world if n not in changed]
    # Variables that the step does not change are the least likely to matter, and among them those with many values.
    still.sort(key=lambda n: (-len(variables[n].values), n))

    def row_of(step: SearchStep) -> Row:
        differs = tuple(n for n in changed if _differs(variables[n], step))
        return step.asked, tuple((n, variables[n].at[step.after]) for n in differs)

    possible = {step.before: row_of(step) for step in steps}
    states = (s for s in range(len(variables[0].at)) if s not in reached.broken)
    known = _collect_known(reached, ((state, possible.get(state)) for state in states))
    for here in known.values():
        if _mixes_rows(here, rules.admits):
            raise NotWhole(
                "what these designs do in one state differs by more than what their rules are asked there: write a module for each"
            )
    situations = _decisive(known, (*properties, *still, *changed), rules)
    updates = []
    for n in properties:
        if not any(_differs(variables[n], step) for step in steps):
            continue
        after = (
            (
                s.before,
                (s.asked, ((n, variables[n].at[s.after]),) if _differs(variables[n], s) else ()),
            )
            for s in steps
        )
        order = (*(p for p in properties if p != n), *still, *changed, n)
        updates.append(
            Update(n, _drop_idle_rows(_decisive(_collect_known(reached, after), order, rules)))
        )
    return Deed(situations, tuple(updates), tuple(changed))


def _drop_idle_rows(rows: tuple[Situation, ...]) -> tuple[Situation, ...]:
    """Return the rows that change something, without answers that make no difference."""
    thens: dict[Numbers, set[Numbers]] = {}
    for row in rows:
        thens.setdefault(row.when, set()).add(row.then)
    told = {
        (row.when, row.asked if len(thens[row.when]) > 1 else ()): row for row in rows if row.then
    }
    return tuple(Situation(when, asked, row.then) for (when, asked), row in told.items())


def _collect_known(reached: Reached, outcomes: Any) -> dict[tuple[int, ...], _Known]:
    found: dict[tuple[int, ...], _Known] = {}
    for state, row in outcomes:
        key = tuple(each.at[state] for each in reached.variables)
        here = found.setdefault(key, _Known({}, {}))
        here.own[reached.of(state)] = row
        if row is not None:
            here.rows[row] = None
    return found


def _decisive(
    known: dict[tuple[int, ...], _Known], order: Sequence[int], rules: Rules
) -> tuple[Situation, ...]:
    """Leave out one variable after the other, in the given order, as long as the others decide; return the rows."""
    kept = tuple(range(len(order)))
    for variable in order:
        place = kept.index(variable)
        fewer = _forget_variable(known, place, rules.admits)
        if fewer is not None:
            kept, known = (*kept[:place], *kept[place + 1 :]), fewer
    return tuple(
        Situation(tuple(zip(kept, key, strict=True)), asked, then)
        for key, here in known.items()
        for asked, then in here.rows
    )


def _forget_variable(
    known: dict[tuple[int, ...], _Known],
    place: int,
    admits: Callable[[int, tuple[RuleAnswer, ...]], bool],
) -> dict[tuple[int, ...], _Known] | None:
    """Return what is known without one variable; None if it is contradictory then."""
    fewer: dict[tuple[int, ...], _Known] = {}
    joined: dict[tuple[int, ...], None] = {}
    for key, here in known.items():
        shorter = (*key[:place], *key[place + 1 :])
        there = fewer.get(shorter)
        if there is None:
            fewer[shorter] = here
            continue
        if any(there.own.get(design, row) != row for design, row in here.own.items()):
            return None
        fewer[shorter] = _Known(there.own | here.own, there.rows | here.rows)
        joined[shorter] = None
    return None if any(_mixes_rows(fewer[key], admits) for key in joined) else fewer


def _mixes_rows(here: _Known, admits: Callable[[int, tuple[RuleAnswer, ...]], bool]) -> bool:
    """Return whether a design admits another row than its own."""
    return any(
        row != own and admits(design, row[0])
        for design, own in here.own.items()
        for row in here.rows
    )


def _differs(variable: Variable, step: SearchStep) -> bool:
    return variable.at[step.before] != variable.at[step.after]
