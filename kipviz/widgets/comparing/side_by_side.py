"""Any two runs side by side: two designs, two seeds, two branches, two files, or a mixture."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, overload

from kipviz.checking.single_run import runs
from kipviz.checking.single_run.runs import Run
from kipviz.checking.single_run.seeded_run import Task, Verdict
from kipviz.scenarios.library import is_scenario
from kipviz.views.role_cards.own_view import View, own_views
from kipviz.widgets.comparing.columns import BadColumns, Columns
from kipviz.widgets.comparing.compare import Compare
from kipviz.widgets.lab import open_seeded, open_trace, stepper_of
from kipviz.widgets.stepping.stepper import Stepper

# A run: a stepper (its current branch), a run, a campaign's task or verdict, or the path of a trace file.
OneRun: TypeAlias = Stepper | Run | Task | Verdict | str | os.PathLike[str]


@overload
def compare(
    what: OneRun,
    left: OneRun | int,
    right: str | int | None = None,
    *,
    names: tuple[str, str] | None = None,
    views: Sequence[View] = (),
) -> Compare: ...


@overload
def compare(
    what: str, left: str, right: str, third: str, /, *more: str, views: Sequence[View] = ()
) -> Columns: ...


def compare(
    what: OneRun,
    left: OneRun | int,
    right: str | int | None = None,
    *more: str,
    names: tuple[str, str] | None = None,
    views: Sequence[View] = (),
) -> Compare | Columns:
    """Show two runs side by side, stepped together; or a scenario under three or more designs, in columns.

        compare("kip-1289-lock-expiry", "repaired", "as-written", "finding-D")    in columns
        compare("kip-1289-lock-expiry", "repaired", "finding-D")    a scenario under two designs
        compare(stepper, "main", "B5 crashes")                      two branches, by name or number
        compare(one, other)                                         any two runs
        compare("kip-1310-share-producer", "kip-1310-share-session")    two stories

    Args:
        what: a scenario's name or a stepper, if three are given; else the run on the left.
        left: the left side; else the run on the right.
        right: the right side.
        more: further designs; all are compared with the first one.
        names: the names of the two sides; by default their designs, branches or seeds.
        views: functions of your own, as for `Stepper.view`: a card on both sides, or in columns a table of each view
            for every design, wherever it changes.

    A run is a stepper, a `Run`, a campaign's task or verdict, or the path of a trace file.

    Example:
        >>> import kipviz
        >>> kipviz.compare("kip-1289-lock-expiry", "repaired", "finding-D").last_step
        67
        >>> kipviz.compare("kip-1289-lock-expiry", "repaired", "finding-D", "as-written").names
        ('repaired', 'finding-D', 'as-written')

    Raises:
        ValueError: if a name is unknown, or a design makes a part of the story impossible.
        TraceFileError: if a file cannot be read.
    """
    if more and names is not None:
        raise ValueError("columns are called by their designs: leave names out")
    if more:
        return columns(_word(what), [_word(each) for each in (left, right, *more)], views)
    if right is None:
        one, other = _stepper(what), _stepper(left)
        lines = (one.branch, other.branch)
    elif isinstance(what, Stepper):
        one = other = what
        lines = (_branch(what, left), _branch(what, right))
    else:
        one, other = (stepper_of(runs.play(_word(what), _word(each))) for each in (left, right))
        lines = (0, 0)
    called = names or _names((one, other), lines)
    if views:
        one, other = one.view(*views, branch=lines[0]), other.view(*views, branch=lines[1])
        lines = (one.branch, other.branch)
    sides = [{**s.payload, "branches": s.known_branches} for s in (one, other)]
    return Compare(sides[0], sides[1], lines=lines, names=called)


def columns(scenario: str, designs: Sequence[str], views: Sequence[View] = ()) -> Columns:
    """Play a scenario under several designs, and put them in columns, with the reader's own views.

    Raises:
        BadView: if one of the views is not valid.
        ValueError: if a name is unknown, or a design is named twice or makes a part of the story impossible.
    """
    own_views(views)  # an invalid view is reported before any story is played
    played = [runs.play(scenario, each) for each in designs]
    found = [run.design.name for run in played]
    twice = next((name for name in found if found.count(name) > 1), None)
    if twice is not None:
        raise BadColumns(f"the design {twice} is named twice; name each once")
    # Each design has its own copies of the views: one that failed is not called again, and shows the reason.
    return Columns([stepper_of(run, own_views(views)).payload for run in played], found)


def two_views(run: OneRun, design: str | None = None) -> Stepper:
    """Open a run with the client's view beside the brokers' view of the same moment.

    Args:
        run: a scenario's name, or any run that `compare` accepts.
        design: another design than the scenario's own.

    Example:
        >>> import kipviz
        >>> kipviz.two_views("kip-1289-share-commit").last_step
        42

    Raises:
        ValueError: if it is no run, or a name is unknown.
    """
    named = isinstance(run, str) and is_scenario(run)
    stepper = stepper_of(runs.play(_word(run), design)) if named or design else _stepper(run)
    stepper.tool = "beliefs"
    return stepper


def _stepper(run: Any) -> Stepper:
    match run:
        case Stepper():
            return run
        case Run():
            return stepper_of(run)
        case Task() | Verdict():
            return open_seeded(run)
        case str() if is_scenario(run):
            return stepper_of(runs.play(run))
        case str() | os.PathLike():
            return open_trace(run)
        case _:
            raise ValueError(
                f"{run!r} is not a run: give a stepper, a run, a campaign's task or verdict, or the path "
                "of a trace file, or a scenario's name"
            )


def _word(what: Any) -> str:
    if isinstance(what, str):
        return what
    raise ValueError(
        f"{what!r} is not a name: with three or more of them, give a scenario and designs"
    )


def _branch(stepper: Stepper, wanted: Any) -> int:
    """Return the number of a branch that is given by name or number."""
    known: Mapping[Any, str] = {0: "main", **{b["id"]: b["name"] for b in stepper.known_branches}}
    if wanted in known:
        return int(wanted)
    found = [number for number, name in known.items() if name == wanted]
    if len(found) == 1:
        return found[0]
    words = ", ".join(f"{number} ({name})" for number, name in known.items())
    why = "two branches are" if found else "no branch is"
    raise ValueError(f"{why} called {wanted!r}; there are {words}")


def _names(steppers: tuple[Stepper, Stepper], lines: tuple[int, int]) -> tuple[str, str]:
    """Return names for the two sides that distinguish them: designs, branches, seeds, else left and right."""
    designs = tuple(s.payload["design"]["name"] for s in steppers)
    branches = tuple(
        {0: "main", **{b["id"]: b["name"] for b in s.known_branches}}[number]
        for s, number in zip(steppers, lines, strict=True)
    )
    for one, other in (designs, branches, tuple(map(_seed, steppers))):
        if one != other and one and other:
            return one, other
    return "left", "right"


def _seed(stepper: Stepper) -> str:
    task = stepper.lab.run_at(0, 0).task if stepper.lab is not None else None
    return f"seed {task.seed}" if task else ""
