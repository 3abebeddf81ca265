"""A run as a pytest file: it takes the same actions and asserts the same verdicts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import kipviz
from kipviz.checking.judging.budgets import counts_of
from kipviz.checking.single_run.permalink import head_of
from kipviz.checking.single_run.runs import Judgement, Run
from kipviz.cluster.actions import ClusterAction
from kipviz.cluster.behaviour.catalogue import label
from kipviz.core.values import TextEnum, TextValue, Value, fingerprint
from kipviz.scenarios.library import document_of

WIDE = 96


def pytest_source(run: Run, judged: Sequence[Judgement]) -> str:
    """Return a run's current branch as the source of a test, with its verdicts.

    Raises:
        ValueError: if the run's scenario is not in the library and cannot be written as a document, because the test
            could not open it.
    """
    if not head_of(run):
        raise ValueError(
            "a test names a scenario of the library or carries a story, and this run is of no such scenario"
        )
    text = document_of(run.scenario)
    lines = "".join(f"    {line!a}\n" for line in text.splitlines(keepends=True))
    document = f"STORY = (\n{lines})\n" if text else ""
    find, given = ("carried", ", STORY") if text else ("scenario", "")
    nodes = [run.trace.node(id_) for id_ in run.trace.line]
    kinds = sorted({type(node.action).__name__ for node in nodes[1:]})
    steps = "".join(
        f"    # {number}. {render_comment(label(before.world, node.action))}\n    {render_action(node.action)},\n"
        for number, (before, node) in enumerate(pairwise(nodes), 1)
    )
    found = "".join(f"    {j.property!a}: ({j.status!a}, {j.step}),\n" for j in judged)
    named = {type(each) for node in nodes[1:] for each in named_in(node.action)}
    homes = sorted({kind.__module__ for kind in named})
    names = "".join(
        f"from {home} import {', '.join(sorted(k.__name__ for k in named if k.__module__ == home))}\n"
        for home in homes
    )
    names += f"from kipviz.cluster.actions import {', '.join(kinds)}\n" if kinds else ""
    return f"""\
# {render_comment(run.scenario.title)}
# under the design: {render_comment(run.design.title)}
# Written by kipviz {kipviz.__version__}; needs kipviz and pytest.

from kipviz.checking.single_run import runs
{names}from kipviz.cluster.specs.spec import FaultBudget
from kipviz.core.values import fingerprint
from kipviz.designs.catalogue import design
from kipviz.scenarios.setting_changes import under
from kipviz.scenarios.library import {find}

{document}SETTINGS = ({"".join(f"{change!a}, " for change in run.settings)})
BUDGET = FaultBudget({", ".join(f"{kind}={count}" for kind, count in counts_of(run.budget).items())})
ACTIONS = (
{steps})
VERDICTS = {{  # "holds", "pending" or "broken", and the step at which it broke, else -1
{found}}}
FINGERPRINT = "{fingerprint(nodes[-1].world).hex()}"


def test_{_name(run.scenario.name)}_under_{_name(run.design.name)}():
    rules = design({run.design.name!a})
    story = under({find}({run.scenario.name!a}{given}), rules, SETTINGS)
    run = runs.follow(story, rules, BUDGET, ACTIONS)
    assert {{found.property: (found.status, found.step) for found in runs.judge(run)}} == VERDICTS
    assert fingerprint(run.trace.last().world).hex() == FINGERPRINT
"""


def render_action(action: ClusterAction) -> str:
    """Return an action as a Python expression."""
    return _call(action)


def _call(value: Value) -> str:
    fields = (getattr(value, name) for name in value.__struct_fields__)
    return f"{type(value).__name__}({', '.join(map(_expression, fields))})"


def _expression(value: object) -> str:
    if isinstance(value, TextValue):
        return _call(value)
    if isinstance(value, TextEnum):
        return f"{type(value).__name__}.{value.name}"
    return ascii(value)


def named_in(action: ClusterAction) -> tuple[TextValue | TextEnum, ...]:
    """Return the timers, delays and roles that an action names."""
    fields = (getattr(action, name) for name in action.__struct_fields__)
    return tuple(each for each in fields if isinstance(each, TextValue | TextEnum))


def render_comment(text: str) -> str:
    """Return a text that cannot leave its comment: on one line, without invisible characters."""
    line = "".join(c if c.isprintable() else " " for c in text)
    line = " ".join(line.split())
    return line if len(line) <= WIDE else f"{line[: WIDE - 1]}…"


def _name(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
