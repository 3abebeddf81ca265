"""Open a run in the stepper: a scenario by name, a permalink, a seeded run or a trace file."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.single_run import runs
from kipviz.checking.single_run.permalink import is_link, open_link
from kipviz.checking.single_run.runs import Run
from kipviz.checking.single_run.seeded_run import Task, Verdict
from kipviz.checking.tla.trace_replay import load
from kipviz.core.outside.validation import path as path_given
from kipviz.core.traces.tracefile import TraceFileError
from kipviz.scenarios.library import is_scenario
from kipviz.scenarios.library import scenario as scenario_named
from kipviz.views.role_cards.own_view import OwnView, View, own_views
from kipviz.widgets.stepping.autosave import Keeper, recover_run
from kipviz.widgets.stepping.lines import Lab
from kipviz.widgets.stepping.stepper import Stepper


class KeptFileDamaged(UserWarning):
    """The file that keeps a run was damaged; the message states what was recovered, and how."""


class TraceChanged(UserWarning):
    """A trace file or permalink came out differently, because the model has changed since it was saved."""


@runtime_checkable
class HasRun(Protocol):
    """An object that has a run to show, such as the server of `kipviz.serve`."""

    def run(self) -> Run:
        """Return the run as it is now."""


def open_run(
    scenario: str | HasRun | Run,
    design: str | None = None,
    *,
    keep: str | os.PathLike[str] | None = None,
    views: Sequence[View] = (),
) -> Stepper:
    """Open a scenario in the stepper, under its own design or another one; or a permalink.

    A permalink opens at the step and on the branch at which it was made. If the model has changed since, a warning
    states what differs.

    The server of `kipviz.serve` opens at its newest step, and the page follows its clients while the server runs: what
    you choose at the newest step happens in the cluster that they are connected to. A run of it, `server.run()` or
    `server.run(until=12)`, opens as it is then and does not follow them.

    With `keep`, a file beside the notebook, everything that is done in the stepper is saved there: branches, their
    names, the cursor, and the reader's answers. A notebook that is opened again finds all of it. If the file is
    damaged, a warning states what was recovered: everything intact, or the copy from before its last change. You can
    script a fault of your own with the stepper's methods:

        stepper = kipviz.open("kip-1289-group-commit", keep="my-run.kipviz")
        stepper.fault_at("B1 crashes after PREPARE_COMMIT")
        stepper.take("B1 starts").run_on(seed=7).name("the coordinator dies")

    Each function in `views`, which maps a world to rows or to an SVG, gets a card beside the others; `Stepper.view`
    describes what such a function returns.

    Example:
        >>> import kipviz
        >>> kipviz.open("kip-1289-group-commit").last_step
        42
        >>> def running(world):
        ...     '''Which brokers are running.'''
        ...     return {f"broker {broker}": "runs" for broker in world.up}
        >>> stepper = kipviz.open("kip-1289-group-commit", views=[running])
        >>> print(stepper.why("running", "broker 1"))
        running, broker 1: runs, since step 0
        0 start

    Raises:
        ValueError: if the scenario or design is unknown, the design makes a part of the scenario's story impossible,
            the permalink is incomplete, or the file holds a run of another scenario or design.
        TraceFileError: if the file cannot be read or written, in one sentence.
    """
    own = own_views(views)
    if not isinstance(scenario, str):
        return _open_served(scenario, own, alone=design is None and keep is None)
    link = is_link(scenario)
    if link and design is not None:
        raise ValueError("a permalink brings its own design: leave the other one out")
    keep = keep if keep is None else path_given("keep", keep)
    if keep is not None and os.path.lexists(keep):
        stepper = _open_left(_open_kept(keep, scenario if not link else None, design), own)
    elif link:
        stepper = _open_left(open_link(scenario), own)
    else:
        stepper = stepper_of(runs.play(scenario, design), own)
    if keep is not None:
        Keeper(stepper, keep).write()
    return stepper


def _open_served(given: object, views: tuple[OwnView, ...], *, alone: bool) -> Stepper:
    """Open an object that has its own run; `alone` is whether no other argument was given."""
    if not isinstance(given, HasRun | Run):
        what = type(given).__name__
        raise ValueError(  # noqa: TRY004  bad input is a ValueError everywhere
            f"kipviz.open takes a story's name, a permalink, the server of kipviz.serve or its run, not {what}"
        )
    if not alone:
        raise ValueError(
            "a served cluster has its design already, and save() keeps its run: leave design and keep out"
        )
    if isinstance(given, Run):
        return _open_left(given, views)
    # Only here: a browser without a server has no sockets, and nothing to follow.
    from kipviz.serving.serve import Server
    from kipviz.widgets.live.live_stepper import LiveStepper

    if isinstance(given, Server):
        return LiveStepper(given, views)
    return _open_left(given.run(), views)


def _open_kept(path: str | os.PathLike[str], scenario: str | None, design: str | None) -> Run:
    """Read the file that keeps a scenario's run; a run that was opened by a link is kept with the link's design."""
    try:
        run = runs.load(path)
    except TraceFileError as wrong:
        run, said = recover_run(path, wrong)
        warnings.warn(said, KeptFileDamaged, stacklevel=4)
    under = run.scenario.designs[0] if design is None else design
    if scenario is not None and (run.scenario.name, run.design.name) != (scenario, under):
        raise ValueError(
            f"{os.fspath(path)} keeps a run of {run.scenario.name} under {run.design.name}, "
            f"not of {scenario} under {under}: keep this one in a file of another name"
        )
    named = scenario is not None and not run.settings and is_scenario(scenario)
    if named and run.scenario != scenario_named(run.scenario.name):
        raise ValueError(
            f"{os.fspath(path)} keeps a run of {scenario} as the story was before it was changed: keep "
            "this one in a file of another name"
        )
    return run


def open_seeded(
    run: str | Task | Verdict,
    design: str = "",
    faults: str = "calm",
    seed: int = 0,
    steps_max: int = 600,
) -> Stepper:
    """Open a campaign's run in the stepper: by its names and seed, its task, or its verdict.

    Example:
        >>> import kipviz
        >>> kipviz.open_seeded("kip-1289-small", "finding-D", "rough", 6).last().step > 76
        True

    Raises:
        ValueError: if the run names an unknown scenario, design or fault profile, or its seed is not an integer.
    """
    if isinstance(run, str):
        run = Task(run, design, faults, seed, steps_max)
    if not isinstance(run, Task | Verdict):
        raise ValueError(f"a run must be a scenario's name, a task or a verdict, not {run!r}")  # noqa: TRY004
    made = runs.replay(run.task if isinstance(run, Verdict) else run)
    if made.error:
        warnings.warn(f"The model failed: {made.error}", RuntimeWarning, stacklevel=2)
    return stepper_of(made)


def open_trace(
    path: str | os.PathLike[str],
    *,
    module: str | os.PathLike[str] | None = None,
    scenario: str = "",
    design: str | None = None,
    faults: str = "",
) -> Stepper:
    """Open a trace file in the stepper, with all its branches, at the step where it was saved.

    If the model has changed since it was saved, a warning states what differs. A trace of TLC, Apalache or Quint opens,
    too: ITF, TLC's `-dumpTrace json`, or TLC's printed output. Its steps are identified by their names and arguments,
    and each is checked against the model.

    Args:
        path: the file.
        module: for a trace of TLC: the module, which `kipviz.explore(...).tla(...)` wrote.
        scenario: for a trace that does not name its scenario: the scenario.
        design: its design; by default the module's first one, or the scenario's own.
        faults: the faults that may happen in it, such as "expire_lock=1".

    Example:
        >>> import kipviz
        >>> stepper = kipviz.open("kip-1289-small")
        >>> stepper.step = 12
        >>> kipviz.save(stepper, "run.trace")
        >>> kipviz.open_trace("run.trace").step
        12

    Raises:
        TraceFileError: if the file cannot be read or is no complete trace, or a step of another tool's trace is not
            possible, in one sentence.
        ValueError: for an unknown name.
    """
    place = path_given("a trace file", path)
    of = None if module is None else path_given("a module", module)
    return _open_left(
        load(place, module=of, scenario=scenario, design=design, budget=budget_of(faults))
    )


def _open_left(run: Run, views: tuple[OwnView, ...] = ()) -> Stepper:
    """Open a run where it was saved, and warn of what came out differently."""
    stepper = stepper_of(run, views)
    lab = stepper.lab
    assert lab is not None, "stepper_of puts the run's model behind the stepper"
    for change in (*run.changes, *lab.lost):
        warnings.warn(change, TraceChanged, stacklevel=3)
    stepper.learn(run.learned)
    stepper.branch, stepper.step = lab.place
    return stepper


def permalink(stepper: Stepper) -> str:
    """Return a line of text that opens a stepper's run at its current step: kipviz.open("kv2.…").

    Example:
        >>> import kipviz
        >>> stepper = kipviz.open("kip-1289-small")
        >>> stepper.step = 12
        >>> link = kipviz.permalink(stepper)
        >>> kipviz.open(link).step
        12

    Raises:
        ValueError: if its scenario is not in the library, or the link would be too long.
    """
    return _stepper(stepper).permalink()


def _stepper(given: object) -> Stepper:
    if not isinstance(given, Stepper):
        raise ValueError(f"a stepper must be the result of kipviz.open, not {given!r}")  # noqa: TRY004
    return given


def save(stepper: Stepper, path: str | os.PathLike[str]) -> None:
    """Write a stepper's run to a trace file: every branch, and the cursor.

    Example:
        >>> import kipviz
        >>> kipviz.save(kipviz.open("kip-1289-small"), "run.trace")
        >>> kipviz.open_trace("run.trace").last_step
        42

    Raises:
        ValueError: if there is no model behind the stepper.
        TraceFileError: if the file cannot be written.
    """
    lab = _stepper(stepper).lab
    if lab is None:
        raise ValueError(
            "only a stepper with a model behind it can be saved: one that kipviz.open, open_seeded, "
            "open_trace or explore gave"
        )
    runs.save(
        lab.run_with_branches(stepper.branch, stepper.step, stepper.learned),
        path_given("a trace file", path),
    )


def stepper_of(
    run: Run,
    views: tuple[OwnView, ...] = (),
    progress: Callable[[int, int], object] = lambda _done, _of: None,
) -> Stepper:
    """Open any run in the stepper; the stepper's `lab` answers its requests.

    `progress` hears how many steps are drawn, and of how many.
    """
    lab = Lab(run, views, progress)
    stepper = Stepper(lab.payload, lab.respond)
    stepper.lab = lab
    return stepper
