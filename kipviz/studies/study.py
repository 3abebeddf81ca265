"""A study: one debated question, its rivals, and an answer that is computed and never written down.

The rivals are designs that differ in what the question is about and in nothing else, so what
differs in the answer is due to that. Whole designs may stand beside them as extra rows.
"""

from __future__ import annotations

from collections.abc import Callable

from kipviz.checking.budgets import budget_of, budget_words
from kipviz.checking.critical_path import Latencies, checked
from kipviz.checking.explore import ProgressTold
from kipviz.checking.found import Bounds
from kipviz.checking.verdicts import BREAKS, SO_FAR, Judged, judge, property_named
from kipviz.core.values import Value

Table = tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]
Counting = Callable[[], Table]
# A table of times under stated assumptions.
Timing = Callable[[Latencies], Table]


class Rival(Value, frozen=True):
    """One answer that somebody would give: what it is called, and the design that does so.

    `scenario` is another one than the study's, if what the rivals do is a program and no design.
    """

    label: str
    design: str
    scenario: str = ""


class Study(Value, frozen=True):
    """One question.

    `property` is what decides; a question of counts has `counting` instead, which gives the heads
    and the rows of a table. `timing` gives a table of times for stated round trips and flushes, alone or
    beside the other one. `faults` is the fault budget of the search, in words.
    """

    name: str
    question: str
    source: str
    observable: str
    scenario: str = ""
    faults: str = ""
    properties: tuple[str, ...] = ()
    rivals: tuple[Rival, ...] = ()
    counting: Counting | None = None
    timing: Timing | None = None


class Answer(Value, frozen=True):
    """What came of a study: a table, in words, and the searches behind it.

    `times` is the table of times of a study that has another one, too; `assumptions` says under which
    stated times a table was made, "" where there are no times.
    """

    study: Study
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    judged: tuple[Judged, ...] = ()
    times: Table | None = None
    assumptions: str = ""

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        if not self.judged:
            return self.study.observable
        good, bad, open_ = [], [], []
        for rival, judged in zip(self.study.rivals, self.judged, strict=False):
            cells = [judged.cell(name) for name in self.study.properties]
            if any(cell.verdict == BREAKS for cell in cells):
                bad.append(rival.label)
            elif any(cell.verdict == SO_FAR for cell in cells):
                open_.append(rival.label)
            else:
                good.append(rival.label)
        parts = [
            f"{'; '.join(names)}: {what}"
            for names, what in ((good, "holds"), (bad, "breaks"), (open_, "not decided"))
            if names
        ]
        faults = budget_words(self.judged[0].budget) or "no fault"
        return f"{'. '.join(parts)}. (Every interleaving of {self.study.scenario}, {faults}.)"


def answer(
    study: Study,
    bounds: Bounds = Bounds(),  # noqa: B008  a value never changes
    progress: ProgressTold | None = None,
    latencies: Latencies = Latencies(),  # noqa: B008
) -> Answer:
    """Compute the answer of a study; what is judged when `progress` says False is kept.

    `latencies` are the stated times of a study that has a table of times.

    Raises:
        BadLatency: if a stated time cannot be.
    """
    times = None if study.timing is None else study.timing(checked(latencies))
    if times is not None and study.counting is None and not study.rivals:
        return Answer(study, *times, assumptions=latencies.words)
    answered = _answer(study, bounds, progress)
    return answered if times is None else answered.but(times=times, assumptions=latencies.words)


def _answer(study: Study, bounds: Bounds, progress: ProgressTold | None) -> Answer:
    if study.counting is not None:
        heads, rows = study.counting()
        return Answer(study, heads, rows)
    judged: list[Judged] = []
    asked = tuple(property_named(name) for name in study.properties)
    for rival in study.rivals:
        budget = budget_of(study.faults)
        where = rival.scenario or study.scenario
        row = judge(where, rival.design, budget, bounds, progress, asked)
        judged.append(row)
        if row.explored.stopped == "cancelled":
            break
    heads = ("rival", "design", *study.properties, "searched")
    rows = tuple(
        (
            rival.label,
            rival.design,
            *(row.cell(name).words for name in study.properties),
            f"{row.explored.states:,} states",
        )
        for rival, row in zip(study.rivals, judged, strict=False)
    )
    return Answer(study, heads, rows, tuple(judged))
