"""A trace of another tool as a run of ours: each step is found among the possible actions, by its name and arguments."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import msgspec

from kipviz.checking.single_run import runs
from kipviz.checking.single_run.quiescence import with_timers_at_rest
from kipviz.checking.single_run.runs import Run
from kipviz.checking.tla.foreign_trace import Foreign, Named, looks_foreign, read_foreign
from kipviz.checking.tla.itf import states_of
from kipviz.checking.tla.module import HEAD, SEARCHES
from kipviz.checking.tla.names import name_of_action, word
from kipviz.checking.tla.terms import term_of
from kipviz.cluster.actions import ClusterAction
from kipviz.cluster.behaviour.catalogue import name_action
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.cluster.world import World
from kipviz.core.model import Model
from kipviz.core.outside import untrusted_file
from kipviz.core.outside.printable import escape_line
from kipviz.core.outside.suggestions import nearest
from kipviz.core.traces.tracefile import TraceFileError
from kipviz.scenarios.library import carried
from kipviz.scenarios.setting_changes import settings_of_search

LISTED_MAX = 8
_HEAD_MAX = 1 << 20


def load(
    path: str | os.PathLike[str],
    *,
    module: str | os.PathLike[str] | None = None,
    scenario: str = "",
    design: str | None = None,
    budget: FaultBudget | None = None,
) -> Run:
    """Open a file of a run: one of kipviz's own, or a trace that TLC, Apalache or Quint wrote.

    A trace of another tool belongs to the search from which `module` was written, or to `scenario` under `design`, with
    the fault budget `budget`. An ITF document that kipviz wrote contains this itself.

    Raises:
        TraceFileError: if the file cannot be read, or a step of the trace is not possible.
        ValueError: for an unknown name.
    """
    try:
        data = untrusted_file.read(path)
    except OSError:
        return runs.load(path)  # it raises with the reason
    if not looks_foreign(data):
        return runs.load(path)
    name = os.fspath(path)
    trace = read_foreign(name, data)
    said = _origin(name, trace, module, scenario, design, budget)
    under, chosen, _, origin = runs.open_header(name, said)
    del under
    story = carried(origin.scenario, origin.story)
    run_budget = FaultBudget(**origin.budget)
    ours = (
        module is None and trace.origin is not None
    )  # a run's own document has all of its settings
    settings = (*(() if ours else settings_of_search(story)), *origin.settings)
    start = runs.follow(story, chosen, run_budget, (), settings)
    actions = _actions(name, trace, with_timers_at_rest(start.model))
    run = runs.follow(story, chosen, run_budget, actions, settings)
    return msgspec.structs.replace(
        run, trace=run.trace.last(), changes=_changes(trace, run) if trace.origin else ()
    )


# --- what it is about -------------------------------------------------------------------------------


def _origin(
    path: str,
    trace: Foreign,
    module: str | os.PathLike[str] | None,
    scenario: str,
    design: str | None,
    budget: FaultBudget | None,
) -> dict[str, Any]:
    if module is not None:
        return _of_module(module, design)
    if trace.origin is not None:
        return dict(trace.origin)
    if not scenario:
        raise TraceFileError(
            f"{path} does not name its scenario: name the module that kipviz wrote, or a scenario, its design and its faults"
        )
    story = carried(scenario, "")
    said = runs.scenario_header(story, FaultBudget() if budget is None else budget)
    return said | {"design": story.designs[0] if design is None else design}


def _of_module(module: str | os.PathLike[str], design: str | None) -> dict[str, Any]:
    """Return the head of a module for one of its designs."""
    name = os.fspath(module)
    try:
        text = untrusted_file.read(module)[:_HEAD_MAX].decode(errors="replace")
    except OSError as error:
        raise TraceFileError(f"cannot read {name}: {error.strerror or error}") from None
    line = next((each for each in text.splitlines() if each.startswith(HEAD)), None)
    try:
        said = msgspec.json.decode(line.removeprefix(HEAD)) if line is not None else None
        if not isinstance(said, dict):
            raise TypeError
        designs = [each["design"] for each in said.pop(SEARCHES)]
        if not designs or not all(isinstance(each, str) for each in designs):
            raise TypeError
    except (msgspec.DecodeError, LookupError, TypeError, AttributeError, RecursionError):
        raise TraceFileError(
            f"{name} is not a module that kipviz wrote: its head is not there"
        ) from None
    chosen = designs[0] if design is None else design
    if chosen not in designs:
        raise TraceFileError(
            f"{name} has the design{'s' if len(designs) > 1 else ''} {', '.join(map(escape_line, designs))}, not {escape_line(chosen)}"
        )
    return said | {"design": chosen}


# --- what was done ------------------------------------------------------------------------------------


def _actions(path: str, trace: Foreign, model: Model) -> tuple[ClusterAction, ...]:
    """Return the actions of a trace, each of which is possible at its step.

    Raises:
        TraceFileError: at the first one that is not possible or is ambiguous.
    """
    world, taken = model.initial(), []
    met: dict[ClusterAction, None] = {}
    for number, step in enumerate(trace.steps, 1):
        possible = model.enabled(world)
        found = [action for action in possible if _is(step, world, action)]
        if len(found) != 1:
            where = f"{path}: step {number} ({step.place}), {escape_line(step.name)},"
            names = _render_actions(world, found or possible)
            if found:
                raise TraceFileError(f"{where} may be any of {names}: give its arguments")
            more = model.enabled(_lend_faults(world))  # actions that only the fault budget excludes
            close = next((a for a in (*met, *more) if _is(step, world, a)), None)
            why = f": {model.why_not(world, close)}" if close else _like(step, possible)
            raise TraceFileError(f"{where} is not possible there{why}. Possible are {names}")
        met |= dict.fromkeys(possible)
        taken.append(found[0])
        world = model.step(world, found[0]).world
    return tuple(taken)


def _is(step: Named, world: World, action: ClusterAction) -> bool:
    """Return whether a step names an action: by its name in a module, its words, or its kind with its arguments."""
    fields = action.__struct_fields__
    kind = type(action).__name__
    values = {"kind": kind, **{field: getattr(action, field) for field in fields}}
    for name, value in step.given.items():
        if name in values and _as_given(values[name]) != value:
            return False
    if (
        step.listed
        and tuple(_as_given(getattr(action, f)) for f in fields)[: len(step.listed)] != step.listed
    ):
        return False
    asked = word(step.name).lower()
    called = name_action(world, action)
    names = (name_of_action(action), called.in_scripts, called.on_screen)
    return (
        asked in {word(each).lower() for each in names}
        or _again(asked, names[0])
        or asked == kind.lower()
    )


def _again(asked: str, name: str) -> bool:
    """Return whether a name is another one's plus the letter that makes it unique in a module."""
    rest = asked.removeprefix(word(name).lower())
    return asked != rest and rest in ("_x", "_y", "_z")


def _as_given(value: object) -> Any:
    return value if isinstance(value, bool | int | str) else term_of(value)


def _lend_faults(world: World) -> World:
    """Return the world with one more of every fault in its budget."""
    budget = world.budget
    return world.but(
        budget=budget.but(**{f: getattr(budget, f) + 1 for f in budget.__struct_fields__})
    )


def _like(step: Named, possible: Sequence[ClusterAction]) -> str:
    names = [name_of_action(action) for action in possible]
    return f"; the nearest name is {nearest(step.name, names)[0]}" if names else ""


def _render_actions(world: World, actions: Sequence[ClusterAction]) -> str:
    names = [
        f"{name_of_action(action)} ({name_action(world, action).on_screen})"
        for action in actions[:LISTED_MAX]
    ]
    more = len(actions) - LISTED_MAX
    return "; ".join(names) + (f"; and {more} more" if more > 0 else "") if names else "no steps"


def _changes(trace: Foreign, run: Run) -> tuple[str, ...]:
    """Return where the states of a document that kipviz wrote differ from those of the run."""
    now = states_of(run)["states"]
    for number, (state, was) in enumerate(zip(now, trace.states, strict=True)):
        for name in dict.fromkeys((*state, *was)):
            if name != "#meta" and state.get(name) != was.get(name):
                return (
                    f"step {number} came out differently: {escape_line(name)} has another value",
                )
    return ()
