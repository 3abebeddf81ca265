"""A run in the Informal Trace Format of Apalache and Quint (ADR 15): JSON, one state for each step, with its action.

A variable is a part of the cluster that changes in the run, with the fields that change; `action` names the action,
with its arguments. `#meta` contains the run's origin, so that the file opens as the same run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import kipviz
from kipviz.checking.single_run.runs import Run, origin_of
from kipviz.checking.tla.names import each_once, name_of_action, name_of_place
from kipviz.checking.tla.reachable_states import ABSENT, Place, list_places
from kipviz.checking.tla.terms import Record, Term, itf, records, term_of
from kipviz.cluster.actions import ClusterAction

ACTION = "action"
ORIGIN = "kipviz"
DESCRIPTION = "https://apalache-mc.org/docs/adr/015adr-trace.html"
_NOTHING = Record((("name", "Init"), ("arguments", Record(()))))


def itf_of(run: Run) -> str:
    """Return a run's branch as a document.

    Raises:
        TraceFileError: if the run's own story cannot be written.
    """
    document = {
        "#meta": {
            "format": "ITF",
            "format-description": DESCRIPTION,
            "source": run.scenario.name,
            "description": f"{run.scenario.title}, design {run.design.name}; written by kipviz {kipviz.__version__}",
            ORIGIN: origin_of(run),
        },
        **states_of(run),
    }
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def states_of(run: Run) -> dict[str, Any]:
    """Return the variables of a run's branch, and their values after each step."""
    nodes = [run.trace.node(node) for node in run.trace.line]
    columns: dict[Place, list[Any]] = {}
    for number, node in enumerate(nodes):
        for place, value in list_places(node.world):
            column = columns.setdefault(place, [])
            column += [ABSENT] * (number - len(column))
            column.append(value)
    told: dict[Place, list[Any]] = {}
    for place, met in columns.items():
        column = [*met, *[ABSENT] * (len(nodes) - len(met))]
        values = tuple(dict.fromkeys(column))
        if len(values) > 1:
            terms = dict(zip(values, map(itf, records(values)), strict=True))
            told[place] = [terms[value] for value in column]
    names = each_once([*((place, name_of_place(place)) for place in told), ((ACTION,), ACTION)])
    states = []
    for number, node in enumerate(nodes):
        state = {names[place]: column[number] for place, column in told.items()}
        named = _NOTHING if node.action is None else _action(node.action)
        states.append({"#meta": {"index": number}, names[(ACTION,)]: itf(named), **state})
    return {"params": [], "vars": [ACTION, *(names[place] for place in told)], "states": states}


def _action(action: ClusterAction) -> Record:
    return Record(
        (("name", name_of_action(action)), ("arguments", Record(tuple(_arguments(action)))))
    )


def _arguments(action: ClusterAction) -> Iterator[tuple[str, Term]]:
    yield "kind", type(action).__name__
    for field in action.__struct_fields__:
        yield field, term_of(getattr(action, field))
