"""The runs of a campaign, by arithmetic: job number -> (scenario, design, faults, seed).

Nothing is stored per run, so a campaign of a million runs is a small value that is sent to a worker with the function.
Job numbers are in reading order (scenario, design, faults, seed); *places* are the order in which jobs are handed out.
They differ because neighbours take about the same time: a hundred runs of the slow design in a row would go to one
worker. Place -> job multiplies by a step near N divided by the golden ratio and coprime to N, which spreads every
stretch of neighbours over all places evenly (three-distance theorem), and better than a hash would, which leaves
Poisson clumps.
"""

from __future__ import annotations

import math
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from kipviz.core.outside.validation import several
from kipviz.core.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

TASK_MODULE = "kipviz.checking.single_run.seeded_run"
JOBS_MAX = 5_000_000
_SEED_MAX = 2**63 - 1
_GOLDEN = (math.sqrt(5) - 1) / 2


class RunTask(Protocol):
    """A run to make, as the ``Task`` of a task module has it."""

    @property
    def scenario(self) -> str:
        """The scenario."""

    @property
    def design(self) -> str:
        """The design."""

    @property
    def faults(self) -> str:
        """The fault profile."""

    @property
    def seed(self) -> int:
        """The seed of the dice."""

    @property
    def steps_max(self) -> int:
        """The maximum number of steps."""


class _Named(Protocol):
    @property
    def name(self) -> str: ...


class Plan(Value, frozen=True):
    """Every combination of scenarios, designs and fault profiles, each run with the same seeds.

    Make one with ``make_plan``, which checks the names.
    """

    scenarios: tuple[str, ...]
    designs: tuple[str, ...]
    faults: tuple[str, ...]
    runs: int
    seed: int
    steps_max: int
    task_module: str = TASK_MODULE

    @property
    def jobs(self) -> int:
        """The number of runs in all."""
        return len(self.scenarios) * len(self.designs) * len(self.faults) * self.runs

    def task(self, job: int) -> RunTask:
        """The task of one job number, as the ``Task`` of the task module."""
        rest, run = divmod(job, self.runs)
        rest, fault = divmod(rest, len(self.faults))
        scenario, design = divmod(rest, len(self.designs))
        made: RunTask = import_module(self.task_module).Task(
            scenario=self.scenarios[scenario],
            design=self.designs[design],
            faults=self.faults[fault],
            seed=self.seed + run,
            steps_max=self.steps_max,
        )
        return made

    def job_at(self, place: int) -> int:
        """The job handed out at a place; every job has exactly one place."""
        return place * _spread(self.jobs) % self.jobs

    def with_plain_names(self) -> Plan:
        """The plan with plain names, as a file has it."""
        return self.but(
            scenarios=tuple(map(str, self.scenarios)), designs=tuple(map(str, self.designs))
        )

    def own_texts(self) -> tuple[str, ...]:
        """The text of every story and every rule in the plan that the reader has written."""
        from kipviz.designs.own_rule import texts_of
        from kipviz.designs.proposals import DesignName
        from kipviz.lessons.own_story import Story
        from kipviz.scenarios.library import document_of

        stories = (document_of(one.scenario) for one in self.scenarios if isinstance(one, Story))
        designs = (one.design for one in self.designs if isinstance(one, DesignName))
        return (*stories, *(text for design in designs for text in texts_of(design)))

    def __str__(self) -> str:
        """The campaign in one line, the same on every machine."""
        return (
            f"{self.jobs} runs: {_render_count(self.scenarios, 'scenario')} x "
            f"{_render_count(self.designs, 'design')} x {_render_count(self.faults, 'fault profile')} x "
            f"seeds {self.seed}..{self.seed + self.runs - 1}"
        )


def make_plan(
    scenarios: str | Iterable[str],
    designs: str | Iterable[str],
    faults: str | Iterable[str] = "calm",
    runs: int = 100,
    seed: int = 0,
    steps_max: int = 600,
    task_module: str = TASK_MODULE,
) -> Plan:
    """Return a checked plan: the names exist, the numbers are valid.

    Raises:
        ValueError: in one sentence, what is wrong and what is allowed.
    """
    known = known_names(task_module)
    _check_positive("runs", runs)
    _check_positive("steps_max", steps_max)
    _check_seed(seed, runs)
    plan = Plan(
        scenarios=_carry_names(
            _checked_names("scenario", scenarios, known["scenarios"]), task_module
        ),
        designs=_carry_names(_checked_names("design", designs, known["designs"]), task_module),
        faults=_checked_names("fault profile", faults, known["faults"]),
        runs=runs,
        seed=seed,
        steps_max=steps_max,
        task_module=task_module,
    )
    if plan.jobs > JOBS_MAX:
        raise ValueError(
            f"a campaign has at most {JOBS_MAX} runs, not {plan.jobs}: split it by seed"
        )
    _check_combinations(plan)
    return plan


def known_names(task_module: str = TASK_MODULE) -> dict[str, tuple[str, ...]]:
    """Return the known scenarios, designs and fault profiles, in the order of their catalogues.

    A task module of another model has its own function ``known_names``.
    """
    own = getattr(import_module(task_module), "known_names", None)
    if own is not None:
        return dict(own())
    from kipviz.checking.judging.faults import FAULTS
    from kipviz.designs.catalogue import CATALOGUE, FINDINGS, registered_designs
    from kipviz.scenarios.library import LIBRARY, registered_stories

    named: dict[str, Sequence[_Named]] = {
        "scenarios": (*LIBRARY, *registered_stories()),
        "designs": (*CATALOGUE, *FINDINGS, *registered_designs()),
        "faults": FAULTS,
    }
    return {what: tuple(one.name for one in all_) for what, all_ in named.items()}


def _carry_names(names: tuple[str, ...], task_module: str) -> tuple[str, ...]:
    """Return names that carry the reader's own stories and designs: a worker has only what is sent to it."""
    if getattr(import_module(task_module), "known_names", None) is not None:
        return names
    from kipviz.designs.catalogue import design, is_design
    from kipviz.designs.proposals import DesignName
    from kipviz.lessons.own_story import Story
    from kipviz.scenarios.library import registered_stories

    carried: dict[str, str] = {one.name: Story(one) for one in registered_stories()}
    for name in names:
        if is_design(name) and design(name).own:
            carried[name] = DesignName(design(name))
    return tuple(carried.get(name, name) for name in names)


def _check_combinations(plan: Plan) -> None:
    """Let the task module reject what it cannot run, before a million runs fail.

    Examples are a design with an unknown slot, or a scenario that a design cannot run.
    """
    model_of = getattr(import_module(plan.task_module), "model_of", None)
    if model_of is None:
        return
    for job in range(0, plan.jobs, plan.runs):
        model_of(plan.task(job))


def _checked_names(what: str, given: str | Iterable[str], known: Sequence[str]) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else several(f"a {what}", given, known[0])
    # "repaired+slot=option" is made from a named design; the task module checks the rest.
    unknown = [name for name in names if name.partition("+")[0] not in known]
    if unknown or not names:
        said = f"there is no {what} {unknown[0]!r}" if unknown else f"no {what} was named"
        raise ValueError(f"{said}: choose from {', '.join(known)}")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the {what} {twice!r} is named twice: name each one once")
    return names


def _check_positive(what: str, number: object) -> None:
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise ValueError(f"{what} must be a whole number of at least 1, not {number!r}")


def _check_seed(seed: object, runs: int) -> None:
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise ValueError(f"seed must be a whole number, not {seed!r}")  # noqa: TRY004 - one kind of error for bad words
    if not -_SEED_MAX <= seed <= _SEED_MAX - runs:
        raise ValueError(f"seed must fit 64 bits, and {seed} with {runs} runs does not")


def _spread(jobs: int) -> int:
    """The step from one place's job to the next: near jobs/golden ratio and coprime to jobs."""
    step = max(1, round(jobs * _GOLDEN))
    while math.gcd(step, jobs) != 1:
        step += 1
    return step


def _render_count(names: Sequence[str], noun: str) -> str:
    return f"{noun} {names[0]}" if len(names) == 1 else f"{len(names)} {noun}s"
