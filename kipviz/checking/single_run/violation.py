"""A run that violates a property, rendered in words and ready to be opened at the violation.

A branch beside it is the same run without the one event whose absence would have kept the property
(`checking.single_run.shrink`). So a reader sees both, and where they diverge.
"""

from __future__ import annotations

import msgspec

from kipviz.checking.judging.verdicts import EVERY_PROPERTY, property_named
from kipviz.checking.single_run.quiescence import places_at_rest
from kipviz.checking.single_run.runs import KeptLine, Run, judge, labels
from kipviz.checking.single_run.shrink import LONG, Saving, is_accident, saving
from kipviz.core.model import NotEnabled
from kipviz.properties.verdict import BROKEN


class Breaking(msgspec.Struct, frozen=True, eq=False):
    """A run up to its violation of a property.

    `broken` names the property. `run` stands at the violation, and its title describes it. `saved` is the step whose
    absence would have kept the property, if there is one, and `sentence` names it. `reason` is the property's own.
    `blame` names the program that breaks it under every design, "" if the design is at fault.
    """

    broken: str
    reason: str
    run: Run
    saved: Saving | None
    sentence: str
    blame: str = ""

    @property
    def step(self) -> int:
        """The number of steps up to the violation."""
        return self.run.trace.depth


def breaking(run: Run, broken: str = "") -> Breaking:
    """Cut a run where it breaks a property; without a name, where it first breaks any.

    Raises:
        LookupError: if the run does not break it.
        UnknownProperty: if no property has this name.
    """
    asked = (property_named(broken),) if broken else EVERY_PROPERTY
    found = [j for j in judge(run, asked) if j.status == BROKEN]
    if not found:
        raise LookupError(f"the run does not break {broken or 'a property'}")
    first = min(found, key=lambda judgement: judgement.step)
    line = run.trace.line
    actions = tuple(run.trace.node(node).action for node in line[1 : first.step + 1])
    worlds = [run.trace.node(node).world for node in line[: first.step]]
    at_rest = places_at_rest(run.model, worlds, actions)
    saved = saving(run.model, actions, first.property, at_rest)
    sentence = _sentence(saved, labels(run), len(actions), at_rest)
    title = f"“{first.property}” breaks at step {first.step} under {run.design.name}. {sentence}"
    cut, _ = run.trace.jump(line[first.step]).only(())
    told = Run(run.scenario.but(title=title), run.design, run.model, cut, settings=run.settings)
    if saved is not None:
        told = _add_branch(told, saved, sentence)
    return Breaking(first.property, first.reason, told, saved, sentence, first.blame)


def _sentence(
    saved: Saving | None, names: tuple[str, ...], steps: int, at_rest: frozenset[int]
) -> str:
    if saved is None:
        what = "accident" if steps > LONG else "step"
        return f"There is no single {what} without which the property would hold."
    without = f"Without step {saved.at + 1} ({names[saved.at]}) the property would hold"
    if saved.at in at_rest:
        return (
            f"{without}: a timer that expires when nothing else can happen, so no accident is needed "
            "to break it."
        )
    if is_accident(saved.action):
        return f"{without}."
    return f"{without}: an ordinary step, so no accident is needed to break it."


def _add_branch(run: Run, saved: Saving, sentence: str) -> Run:
    """Add the run without the saving step as a branch."""
    trace, line = run.trace, run.trace.line
    other = trace.jump(line[saved.at])
    for node in line[saved.at + 2 :]:
        try:
            other = other.take(trace.node(node).action)
        except NotEnabled:
            continue
    if other.depth == saved.at:
        return run
    main = KeptLine("main", -1, 0, line[-1])
    without = KeptLine(f"without step {saved.at + 1}", 0, 0, other.cursor, sentence)
    return msgspec.structs.replace(run, trace=other.jump(line[-1]), lines=(main, without), line=0)
