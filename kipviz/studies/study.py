"""A study: one debated question, its rivals, and an answer that is computed and never written down.

The rivals are designs that differ in what the question is about and in nothing else, so what
differs in the answer is due to that. Whole designs may stand beside them as extra rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kipviz.checking.judging.budgets import budget_of, budget_words
from kipviz.checking.judging.verdicts import BREAKS, SO_FAR, Judged, judge, property_named
from kipviz.checking.search.explore import CANCELLED
from kipviz.checking.search.search_result import Bounds
from kipviz.checking.timed.critical_path import Latencies, checked
from kipviz.core.values import Value
from kipviz.designs.catalogue import design as design_named

Table = tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]
Row = tuple[str, ...]
NOT_ASKED = "not asked"
Counting = Callable[[], Table]
# Hears how far a part of a study is, in words; when it says False the part ends.
Tell = Callable[[str], bool]
# Hears (the part, parts done, parts in all, how far the part is); when it says False the study ends.
StudyProgress = Callable[[str, int, int, str], bool]
# A table of times under stated assumptions.
Timing = Callable[[Latencies], Table]


class Rival(Value, frozen=True):
    """One answer that somebody would give: what it is called, and the design that does so.

    `scenario` is another one than the study's, if what the rivals do is a program and no design.
    `faults` is another fault budget than the study's, in words, and `properties` are others to ask.
    """

    label: str
    design: str
    scenario: str = ""
    faults: str = ""
    properties: tuple[str, ...] = ()


class StoppedEarly(Exception):
    """A part of a study was told to end: its rows would not be whole, so it has none."""


class Part(Value, frozen=True):
    """Some rows of a counted study: what they are about, and how they are computed.

    `rows` raises StoppedEarly when its `Tell` says False.
    """

    label: str
    rows: Callable[[Tell], tuple[Row, ...]]


class Parts(Value, frozen=True):
    """A counted study that takes long: its heads, and the parts that are computed one after the other."""

    heads: tuple[str, ...]
    each: tuple[Part, ...]


def content(_words: str) -> bool:
    """Let a part run to its end, whatever it tells."""
    return True


def searching(tell: Tell) -> Callable[[int, int], bool]:
    """Return the progress of a search that tells its states and its depth."""
    return lambda states, depth: tell(f"{states:,} states, depth {depth}")


class Study(Value, frozen=True):
    """One question.

    `property` is what decides; a question of counts has `counting` instead, which gives the heads
    and the rows of a table, or `parts` if it takes long. `beside` is a second table
    behind searched or counted rivals: of runs, or of the same question on the timed clock. `timing` gives a table of times for stated round trips and flushes, alone or
    beside the other one. `timing_of` gives the timing with rows for further designs, by their names. `faults` is the fault budget of the search,
    in words. `work_ms` is how long an application works on a batch in a table of times if the reader states nothing.
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
    timing_of: Callable[[tuple[str, ...]], Timing] | None = None
    parts: Parts | None = None
    beside: Parts | None = None
    work_ms: int = 0


class NoDesignsHere(ValueError):
    """Designs were named for a study that is about its own ones only; the message says which take others."""


def with_designs(study: Study, designs: tuple[str, ...]) -> Study:
    """Return a study with further designs beside its own: as rivals of its search, or as rows of its times.

    Raises:
        UnknownDesign: if there is none of a name.
        NoDesignsHere: if the study has no place for them.
    """
    named = tuple(design_named(name) for name in designs)
    if not named:
        return study
    names = tuple(each.name for each in named)
    if study.timing_of is not None:
        return study.but(timing=study.timing_of(names))
    if study.rivals and not any(rival.scenario for rival in study.rivals):
        rivals = (*study.rivals, *(Rival(each.title, each.name) for each in named))
        return study.but(rivals=rivals)
    raise NoDesignsHere(
        f"the study {study.name} is about its own designs: others can stand beside those of cost and of a study whose rivals "
        "are designs, such as B8"
    )


class Answer(Value, frozen=True):
    """What came of a study: a table, in words, and the searches behind it.

    `times` is the second table of a study that has one: of times, of runs, or of its question on the timed clock; `assumptions` says under which
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
            if any(cell.verdict == BREAKS for cell in judged.cells):
                bad.append(rival.label)
            elif any(cell.verdict == SO_FAR for cell in judged.cells):
                open_.append(rival.label)
            else:
                good.append(rival.label)
        parts = [
            f"{'; '.join(names)}: {what}"
            for names, what in ((good, "holds"), (bad, "breaks"), (open_, "not decided"))
            if names
        ]
        return f"{'. '.join(parts)}. (Every interleaving of {self._searched()}.)"

    def _searched(self) -> str:
        """Say what was searched: scenario by scenario, under which faults."""
        found = dict.fromkeys(
            (row.scenario, budget_words(row.budget) or "no fault") for row in self.judged
        )
        budgets = dict.fromkeys(words for _, words in found)
        if len(budgets) == 1:
            return f"{self.study.scenario}, {next(iter(budgets))}"
        return "; ".join(f"{scenario}, {words}" for scenario, words in found)


def answers(
    study: Study,
    bounds: Bounds = Bounds(),  # noqa: B008  a value never changes
    progress: StudyProgress | None = None,
    latencies: Latencies = Latencies(),  # noqa: B008
) -> Iterator[Answer]:
    """Yield the answer of a study as it grows: one more rival or part each time, the last one whole.

    `progress` hears (the part, parts done, parts in all, how far the part is). When it says False, a
    search is kept as far as it went, a count that is not whole is left out, and nothing follows.
    `latencies` are the stated times of a study that has a table of times.

    Raises:
        BadLatency: if a stated time cannot be.
    """
    latencies = latencies.but(work_ms=checked(latencies).work_ms or study.work_ms)
    times = None if study.timing is None else study.timing(latencies)
    if times is not None and not (study.counting or study.parts or study.rivals):
        yield Answer(study, *times, assumptions=latencies.words)
        return
    for found in _growing(study, bounds, progress):
        yield found if times is None else found.but(times=times, assumptions=latencies.words)


def answer(
    study: Study,
    bounds: Bounds = Bounds(),  # noqa: B008
    progress: StudyProgress | None = None,
    latencies: Latencies = Latencies(),  # noqa: B008
) -> Answer:
    """Compute the whole answer of a study: the last one of `answers`, with the same arguments.

    Raises:
        BadLatency: if a stated time cannot be.
    """
    *_, last = answers(study, bounds, progress, latencies)
    return last


def _growing(study: Study, bounds: Bounds, progress: StudyProgress | None) -> Iterator[Answer]:
    if study.counting is not None:
        yield Answer(study, *study.counting())
        return
    found = Answer(study, (), ())
    if study.parts is not None:
        for found in _counted(study, study.parts, progress):
            yield found
        cut = len(found.rows) < len(study.parts.each)
    else:
        for found in _judged(study, bounds, progress):
            yield found
        cut = bool(found.judged) and found.judged[-1].explored.stopped == CANCELLED
    if study.beside is not None and not cut:
        for counted in _counted(study, study.beside, progress):
            yield found.but(times=(counted.heads, counted.rows))


def _counted(study: Study, parts: Parts, progress: StudyProgress | None) -> Iterator[Answer]:
    rows: tuple[Row, ...] = ()
    yield Answer(study, parts.heads, rows)
    for part, tell in zip(
        parts.each, _telling([p.label for p in parts.each], progress), strict=True
    ):
        try:
            if not tell("begins"):
                return
            rows += part.rows(tell)
        except StoppedEarly:
            return
        yield Answer(study, parts.heads, rows)


def _judged(study: Study, bounds: Bounds, progress: StudyProgress | None) -> Iterator[Answer]:
    judged: tuple[Judged, ...] = ()
    rows: tuple[Row, ...] = ()
    names = dict.fromkeys((*study.properties, *(p for r in study.rivals for p in r.properties)))
    heads = ("rival", "design", *names, "searched")
    telling = _telling([rival.label for rival in study.rivals], progress)
    for rival, tell in zip(study.rivals, telling, strict=True):
        budget = budget_of(rival.faults or study.faults)
        where = rival.scenario or study.scenario
        asked = tuple(property_named(name) for name in rival.properties or study.properties)
        row = judge(where, rival.design, budget, bounds, searching(tell), asked)
        judged += (row,)
        words = {cell.asked: cell.words for cell in row.cells}
        verdicts = (words.get(name, NOT_ASKED) for name in names)
        rows += ((rival.label, rival.design, *verdicts, f"{row.explored.states:,} states"),)
        yield Answer(study, heads, rows, judged)
        if row.explored.stopped == CANCELLED:
            return


def _telling(labels: list[str], progress: StudyProgress | None) -> Iterator[Tell]:
    """Give what each part of a study is to tell."""
    for done, label in enumerate(labels):

        def tell(words: str, done: int = done, label: str = label) -> bool:
            return progress is None or progress(label, done, len(labels), words)

        yield tell
