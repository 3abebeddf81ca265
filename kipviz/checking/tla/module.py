"""A search as a TLA+ module that TLC checks, with the counts that it has to find.

The module's state is a record for each part of the cluster that changes, with the fields that change. Its actions are
the model's; each lists the situations in which it is possible, what it asks the rules there, and what it changes. The
rules of the slots are operators: a formula if the rule is simple enough, otherwise a table of its answers. A rule that
is changed in the module changes what TLC finds, as far as the searches contain what follows.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

import kipviz
from kipviz.checking.single_run.runs import scenario_header
from kipviz.checking.tla.names import each_once, name_of_action, name_of_place, word
from kipviz.checking.tla.reachable_states import PROPERTY, Reached
from kipviz.checking.tla.rule_recorder import RuleAnswer
from kipviz.checking.tla.rule_text import formula, parameters
from kipviz.checking.tla.situations import Deed, Numbers, Rules, Situation, Update, deed
from kipviz.checking.tla.terms import Record, Term, quote_text, records, term_of, tla
from kipviz.cluster.actions import ClusterAction
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.core.values import Value
from kipviz.designs.design import slot_named
from kipviz.designs.own_rule import Rule, question_of
from kipviz.designs.slot import Option, Slot
from kipviz.properties.pending import NothingPending
from kipviz.properties.verdict import BROKEN, HOLDS
from kipviz.scenarios.scenario import Scenario

HEAD = "\\* kipviz-search "
SEARCHES = "searches"
# A longer term gets a name.
SHORT = 32
AND, OR = " /\\ ", " \\/ "


class Module(Value, frozen=True):
    """The text of a module, and the settings with which TLC counts each design's states or looks for broken properties."""

    name: str
    text: str
    settings: tuple[tuple[str, str], ...]
    properties: tuple[tuple[str, str], ...]


def module_of(
    name: str,
    scenario: Scenario,
    reached: Reached,
    budget: FaultBudget,
    settings: Sequence[str] = (),
) -> Module:
    """Write a search as a module.

    Raises:
        NotWhole: if the designs cannot be in one module.
    """
    return _Writing(name, scenario, reached, budget, settings).module()


class _Writing:
    """Writes one module."""

    def __init__(
        self,
        name: str,
        scenario: Scenario,
        reached: Reached,
        budget: FaultBudget,
        settings: Sequence[str],
    ) -> None:
        self._name, self._reached = name, reached
        self._about = {
            "kipviz": kipviz.__version__,
            **scenario_header(scenario, budget, settings),
            SEARCHES: [
                {
                    "design": each.design.name,
                    "states": each.explored.states,
                    "transitions": each.explored.transitions,
                    "depth": each.explored.depth,
                }
                for each in reached.searches
            ],
        }
        self._rules = Rules(reached)
        self._several = len(reached.searches) > 1
        self._deeds = {
            action: deed(reached, self._rules, steps) for action, steps in reached.steps.items()
        }
        places = ((each.place, name_of_place(each.place)) for each in reached.variables)
        self._variables = tuple(each_once(places).values())
        self._actions = each_once((action, name_of_action(action)) for action in reached.steps)
        self._named: dict[str, str] = {}
        self._operators = tuple(_operator(slot) for slot in reached.questions)

    def module(self) -> Module:
        # Values are named when they are first met, and are defined above their uses.
        rules = [line for slot in self._reached.questions for line in self._slot(slot)]
        actions = [line for action in self._deeds for line in self._action(action)]
        named = [f"{name} == {text}" for text, name in self._named.items()]
        title = f" MODULE {self._name} "
        lines = [
            f"{title:-^79}",
            *self._head(),
            "EXTENDS Integers, Sequences, TLC",
            "",
            *(("CONSTANT Design  \\* " + self._design_names(), "") if self._several else ()),
            *_section("Values in questions to rules"),
            *named,
            "",
            *_section(
                "Rules of the slots: questions on which designs disagree, and what this design answers"
            ),
            *rules,
            *_section(
                "State: the parts of the cluster that change, and of each the fields that change"
            ),
            *self._state(),
            *_section(
                "Actions: where each is possible, what it asks the rules, and what it changes"
            ),
            *actions,
            *self._next(),
            "=" * 79,
        ]
        settings, properties = [], []
        for each in self._reached.searches:
            name = each.design.name
            constant = [f"CONSTANT Design = {quote_text(name)}"] if self._several else []
            config = "\n".join(["SPECIFICATION Spec", *constant, ""])
            settings.append((name, config))
            invariants = "".join(f"INVARIANT {_camel(p)}\n" for p in self._of_states())
            properties.append((name, config + invariants))
        return Module(self._name, "\n".join(lines) + "\n", tuple(settings), tuple(properties))

    # -- the head ------------------------------------------------------------------------------

    def _head(self) -> Iterator[str]:
        yield HEAD + json.dumps(self._about, ensure_ascii=True)
        yield from _comment(
            f"Written by kipviz {kipviz.__version__} of a search of {self._about['scenario']}. A state is "
            "a record for each part of the cluster that changes; what never changes is left out. The rules decide: change one, and "
            "TLC finds what follows, as far as the search knows it. A step whose rules answer what no search has seen is not possible."
        )
        for each in self._reached.searches:
            under, found = each.design.name, each.explored
            yield from _comment(
                f"Under {under} kipviz found {found.states:,} states and {found.transitions:,} transitions. TLC finds "
                f"{found.states} distinct states, and generates {found.transitions + 1}: it counts the first one, too."
            )
        yield from _comment(
            f"Run it with: java -cp tla2tools.jar tlc2.TLC -deadlock -config {self._name}.cfg {self._name}"
        )
        yield from _comment("-deadlock because a finished run has no further step.")

    def _design_names(self) -> str:
        return " or ".join(quote_text(each.design.name) for each in self._reached.searches)

    # -- rules ---------------------------------------------------------------------------------

    def _slot(self, name: str) -> Iterator[str]:
        slot, operator = slot_named(name), _operator(name)
        options: dict[str, tuple[Option, list[str]]] = {}
        for each in self._reached.searches:
            option = each.design.option(name)
            options.setdefault(option.name, (option, []))[1].append(each.design.name)
        yield from _comment(f"Slot {name}: {slot.question}")
        taken = (*self._variables, *self._operators)
        for option, designs in options.values():
            own = f"{operator}_{word(option.name)}" if len(options) > 1 else operator
            yield from _comment(
                f"{option.name} ({option.status}; {option.source}): {option.sentence}"
            )
            names = parameters(option.choose, taken)
            of = f"({', '.join(names)})" if names else ""
            search = next(
                n for n, s in enumerate(self._reached.searches) if s.design.name == designs[0]
            )
            asked = self._ask_slot(slot, search)
            written = formula(slot, option.choose, names)
            if written is not None:
                yield f"{own}{of} == {written}"
                yield from (f"ASSUME {_call(own, each)} = {answer}" for each, answer in asked)
            else:
                yield from _source_of(option)
                yield from _table(f"{own}{of}", names, asked)
        if len(options) > 1:
            names = parameters(next(iter(options.values()))[0].choose, taken)
            of = f"({', '.join(names)})" if names else ""
            yield f"{operator}{of} =="
            for at, (option, designs) in enumerate(options.values()):
                under = ", ".join(map(quote_text, designs))
                sign = "[]" if at else "CASE"
                yield f"  {sign} Design \\in {{{under}}} -> {operator}_{word(option.name)}{of}"
        yield ""

    def _ask_slot(self, slot: Slot, search: int) -> list[tuple[tuple[str, ...], str]]:
        """Return each question to a slot with the answer of a search's design."""
        return [
            (
                self._arguments(slot, arguments),
                self._answer(slot, self._rules.answer(search, slot.name, arguments)),
            )
            for arguments in self._reached.questions[slot.name]
        ]

    def _arguments(self, slot: Slot, arguments: tuple[object, ...]) -> tuple[str, ...]:
        takes, _ = question_of(slot)
        return tuple(
            self._short(term_of(each, kind), each)
            for each, kind in zip(arguments, takes, strict=True)
        )

    def _answer(self, slot: Slot, answer: object) -> str:
        _, gives = question_of(slot)
        return self._short(term_of(answer, gives), answer)

    def _short(self, term: Term, value: object) -> str:
        text = tla(term)
        if len(text) <= SHORT:
            return text
        if text not in self._named:
            kind = (
                type(value).__name__.capitalize()
                if isinstance(value, tuple)
                else type(value).__name__
            )
            self._named[text] = f"{kind}_{len(self._named) + 1}"
        return self._named[text]

    def _question(self, asked: RuleAnswer) -> str:
        slot = slot_named(asked.slot)
        call = _call(_operator(asked.slot), self._arguments(slot, asked.arguments))
        if isinstance(asked.answer, bool):
            return call if asked.answer else f"~{call}"
        return f"{call} = {self._answer(slot, asked.answer)}"

    # -- the state -----------------------------------------------------------------------------

    def _state(self) -> Iterator[str]:
        variables = self._reached.variables
        for name, variable in zip(self._variables, variables, strict=True):
            first, *keys = variable.place
            yield from _comment(f"{first} {', '.join(map(str, keys))}".strip())
            if variable.place[0] == PROPERTY:
                rows = list(self._render_memory(variable.place[1], variable.values))
            else:
                rows = records(variable.values)
            yield f"{name}_values == <<"
            yield from (
                f"  {tla(_number_term(number, record))}{',' if number < len(rows) else ''}"
                for number, record in enumerate(rows, 1)
            )
            yield ">>"
        yield ""
        steady = (name_of_place(place) for place in self._reached.steady)
        yield from _comment(f"The same in every state: {', '.join(steady)}.")
        yield f"VARIABLES {', '.join(self._variables)}"
        yield f"vars == <<{', '.join(self._variables)}>>"
        yield ""
        yield "Init =="
        for search in self._reached.searches:
            if self._several:
                yield f"  \\/ /\\ Design = {quote_text(search.design.name)}"
            indent = "     " if self._several else "  "
            for name, variable in zip(self._variables, variables, strict=True):
                yield f"{indent}/\\ {name} = {name}_values[{variable.at[search.first] + 1}]"
        yield ""
        broken = [f'{self._property(name)}.verdict = "{BROKEN}"' for name in self._properties()]
        yield from _comment("The search does not go beyond a state that breaks a property.")
        yield f"Broken == {OR.join(broken) or 'FALSE'}"
        for prop in self._reached.properties:
            if prop.name in self._of_states():
                yield from _comment(f"{prop.name}: {prop.sentence}")
                yield f'{_camel(prop.name)} == {self._property(prop.name)}.verdict # "{BROKEN}"'
            elif prop.name in self._properties():
                yield from _comment(
                    f"{prop.name} is about what can still come behind a state, which no invariant says; kipviz decides it on "
                    "its graph. Here is where nothing is pending."
                )
                yield f'NothingPending == {self._property(prop.name)}.verdict = "{HOLDS}"'
        yield ""

    def _properties(self) -> tuple[str, ...]:
        """Return the properties whose memory changes, so that they can break here."""
        return tuple(each.place[1] for each in self._reached.variables if each.place[0] == PROPERTY)

    def _of_states(self) -> tuple[str, ...]:
        """Return the properties that a single state can break; being stuck forever is not one of them."""
        return tuple(name for name in self._properties() if name != NothingPending.name)

    def _property(self, name: str) -> str:
        at = [each.place for each in self._reached.variables].index((PROPERTY, name))
        return self._variables[at]

    def _render_memory(self, name: str, values: tuple[Any, ...]) -> Iterator[Term]:
        prop = next(each for each in self._reached.properties if each.name == name)
        for state in values:
            found = prop.finding(state)
            yield Record((("verdict", found.status), ("reason", found.reason)))

    # -- actions -------------------------------------------------------------------------------

    def _action(self, action: ClusterAction) -> Iterator[str]:
        made = self._deeds[action]
        labels = self._reached.labels[action]
        more = f", and {len(labels) - 4} more" if len(labels) > 4 else ""
        yield from _comment(f"{'; '.join(labels[:4])}{more}. {_sentence(action)}")
        yield f"{self._actions[action]} =="
        yield "  /\\ ~Broken"
        for at, situation in enumerate(made.situations):
            sign = "/\\ \\/" if not at else "   \\/"
            parts = list(self._situation(made, situation))
            yield from (
                f"  {sign if not n else '     '} /\\ {part}" for n, part in enumerate(parts)
            )
        yield from (line for update in made.updates for line in self._update(update))
        told = {*made.changes, *(update.variable for update in made.updates)}
        same = [name for n, name in enumerate(self._variables) if n not in told]
        if same:
            yield from textwrap.wrap(
                f"/\\ UNCHANGED <<{', '.join(same)}>>",
                100,
                initial_indent="  ",
                subsequent_indent="                 ",
                break_long_words=False,
                break_on_hyphens=False,
            )
        yield ""

    def _situation(self, made: Deed, situation: Situation) -> Iterator[str]:
        yield from self._when(situation.when)
        yield from map(self._question, situation.asked)
        then = dict(situation.then)
        for n in made.changes:
            name = self._variables[n]
            yield f"{name}' = {name}_values[{then[n] + 1}]" if n in then else f"{name}' = {name}"

    def _when(self, numbers: Numbers) -> Iterator[str]:
        for n, value in numbers:
            yield f"{self._variables[n]}.id = {value + 1}"

    def _update(self, update: Update) -> Iterator[str]:
        name = self._variables[update.variable]
        yield f"  /\\ {name}' ="
        for at, row in enumerate(update.rows):
            conditions = [*self._when(row.when), *map(self._question, row.asked)]
            sign = "[]" if at else "CASE"
            yield f"       {sign} {AND.join(conditions) or 'TRUE'} -> {name}_values[{row.then[0][1] + 1}]"
        yield f"       [] OTHER -> {name}"

    def _next(self) -> Iterator[str]:
        yield "Next =="
        yield from (f"  \\/ {name}" for name in self._actions.values())
        yield ""
        yield "Spec == Init /\\ [][Next]_vars"


def _number_term(number: int, term: Term) -> Record:
    fields = term.fields if isinstance(term, Record) else (("is", term),)
    return Record((("id", number), *fields))


def _section(title: str) -> Iterator[str]:
    yield "-" * 79
    yield from _comment(title)
    yield ""


def _comment(text: str) -> Iterator[str]:
    """Yield a text as the lines of a comment; a character outside ASCII is written by its number."""
    plain = quote_text(" ".join(text.split()))[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    yield from textwrap.wrap(
        plain, 110, initial_indent="\\* ", subsequent_indent="\\*   ", break_on_hyphens=False
    )


def _operator(slot: str) -> str:
    return "".join(each.capitalize() for each in slot.split("_"))


def _camel(text: str) -> str:
    return "".join(each.capitalize() for each in word(text).split("_"))


def _call(operator: str, arguments: Sequence[str]) -> str:
    return f"{operator}({', '.join(arguments)})" if arguments else operator


def _table(
    left: str, names: Sequence[str], asked: Sequence[tuple[tuple[str, ...], str]]
) -> Iterator[str]:
    """Yield a definition that lists the questions and their answers."""
    answers = {answer for _, answer in asked}
    if not names and len(answers) == 1:
        yield f"{left} == {asked[0][1]}"
        return
    yield from _comment("A table of the questions to it; there were no others.")
    yield f"{left} =="
    one = names[0] if len(names) == 1 else f"<<{', '.join(names)}>>"
    for at, (arguments, answer) in enumerate(asked):
        given = arguments[0] if len(names) == 1 else f"<<{', '.join(arguments)}>>"
        yield f"  {'[]' if at else 'CASE'} {one} = {given} -> {answer}"


def _source_of(option: Option) -> Iterator[str]:
    """Yield a reader's own rule as its author wrote it."""
    if isinstance(option.choose, Rule):
        yield from (line for each in option.choose.text.splitlines() for line in _as_is(each))


def _as_is(line: str) -> Iterator[str]:
    plain = quote_text(line)[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    yield f"\\* {plain}".rstrip()


def _sentence(action: ClusterAction) -> str:
    return (type(action).__doc__ or "").strip().partition("\n")[0]
