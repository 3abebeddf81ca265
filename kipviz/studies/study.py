"""A study: one debated question, its rivals, and an answer that is always computed.

The rivals are designs that differ only in the subject of the question, so any difference in the answer is due to that.
Complete designs may be added as extra rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kipviz.checking.judging.budgets import budget_of, budget_words
from kipviz.checking.judging.verdicts import BREAKS, SO_FAR, DesignVerdicts, judge, property_named
from kipviz.checking.search.search_result import Bounds
from kipviz.checking.timed.critical_path import Latencies, validate_latencies
from kipviz.core.outside.printable import complete_sentence
from kipviz.core.values import Value
from kipviz.designs.catalogue import design as design_named

Table = tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]
Row = tuple[str, ...]
NOT_ASKED = "not asked"
Counting = Callable[[], Table]
# Called with the progress of a part of a study, in words; if it returns False, the part ends.
Tell = Callable[[str], bool]
# Called with (the part, parts done, all parts, progress of the part); if it returns False, the study ends.
StudyProgress = Callable[[str, int, int, str], bool]
# Makes a table of times under assumed latencies.
Timing = Callable[[Latencies], Table]


class Rival(Value, frozen=True):
    """One possible answer: its name, and the design that implements it.

    `scenario` replaces the study's, if the rivals are programs rather than designs. `faults` replaces the study's fault
    budget, in words, and `properties` are further ones to judge.
    """

    label: str
    design: str
    scenario: str = ""
    faults: str = ""
    properties: tuple[str, ...] = ()


class StoppedEarly(Exception):
    """A part of a study was stopped: its rows would be incomplete, so it has none."""


class Part(Value, frozen=True):
    """Some rows of a counted study: their label, and how they are computed.

    `rows` raises StoppedEarly if its `Tell` returns False.
    """

    label: str
    rows: Callable[[Tell], tuple[Row, ...]]


class Parts(Value, frozen=True):
    """A counted study that takes long: its heads, and the parts that are computed one after the other."""

    heads: tuple[str, ...]
    each: tuple[Part, ...]


def content(_words: str) -> bool:
    """Let a part run to its end, whatever it reports."""
    return True


def searching(tell: Tell) -> Callable[[int, int], bool]:
    """Return the progress callback of a search, which reports its states and its depth."""
    return lambda states, depth: tell(f"{states:,} states, depth {depth}")


class Study(Value, frozen=True):
    """One question.

    `property` decides. A question of counts has `counting` instead, which returns the heads and the rows of a table, or
    `parts` if it takes long. `beside` is a second table after searched or counted rivals: of runs, or of the same
    question on the timed clock. `timing` returns a table of times for assumed round trips and flushes, alone or next to
    the other one. `timing_of` returns the timing with rows for further designs, by their names. `faults` is the fault
    budget of the search, in words. `work_ms` is the default processing time of a batch in a table of times.
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
    """Designs were named for a study that covers only its own ones; the message names the studies that accept others."""


def with_designs(study: Study, designs: tuple[str, ...]) -> Study:
    """Return a study with further designs beside its own: as rivals of its search, or as rows of its times.

    Raises:
        UnknownDesign: if a design is unknown.
        NoDesignsHere: if the study accepts no further designs.
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
    """The answer of a study: a table, in words, and its searches.

    `times` is the second table of a study that has one: of times, of runs, or of its question on the timed clock.
    `assumptions` are the assumed latencies of a table, "" if it has no times.
    """

    study: Study
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    judged: tuple[DesignVerdicts, ...] = ()
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
            complete_sentence(f"{'; '.join(names)}: {what}")
            for names, what in ((good, "holds"), (bad, "breaks"), (open_, "not decided"))
            if names
        ]
        return f"{' '.join(parts)} (Every interleaving of {self._render_searched()}.)"

    def _render_searched(self) -> str:
        """Return what was searched: the scenarios, and under which faults."""
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
    """Yield the answer of a study as it grows: one more rival or part each time, the last one complete.

    `progress` is called with (the part, parts done, all parts, progress of the part). If it returns False, a search is
    kept as far as it went, an incomplete count is left out, and nothing follows. `latencies` are the assumed latencies
    of a study that has a table of times.

    Raises:
        BadLatency: if a latency is not valid.
    """
    latencies = latencies.but(work_ms=validate_latencies(latencies).work_ms or study.work_ms)
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
    """Compute the complete answer of a study: the last one of `answers`, with the same arguments.

    Raises:
        BadLatency: if a latency is not valid.
    """
    *_, last = answers(study, bounds, progress, latencies)
    return last


def _growing(study: Study, bounds: Bounds, progress: StudyProgress | None) -> Iterator[Answer]:
    if study.counting is not None:
        yield Answer(study, *study.counting())
        return
    found = Answer(study, (), ())
    if study.parts is not None:
        for found in _count_parts(study, study.parts, progress):
            yield found
        cut = len(found.rows) < len(study.parts.each)
    else:
        for found in _judge_rivals(study, bounds, progress):
            yield found
        cut = bool(found.judged) and found.judged[-1].explored.cancelled
    if study.beside is not None and not cut:
        for counted in _count_parts(study, study.beside, progress):
            yield found.but(times=(counted.heads, counted.rows))


def _count_parts(study: Study, parts: Parts, progress: StudyProgress | None) -> Iterator[Answer]:
    rows: tuple[Row, ...] = ()
    yield Answer(study, parts.heads, rows)
    for part, tell in zip(
        parts.each, _make_callbacks([p.label for p in parts.each], progress), strict=True
    ):
        try:
            if not tell("begins"):
                return
            rows += part.rows(tell)
        except StoppedEarly:
            return
        yield Answer(study, parts.heads, rows)


def _judge_rivals(study: Study, bounds: Bounds, progress: StudyProgress | None) -> Iterator[Answer]:
    judged: tuple[DesignVerdicts, ...] = ()
    rows: tuple[Row, ...] = ()
    names = dict.fromkeys((*study.properties, *(p for r in study.rivals for p in r.properties)))
    heads = ("rival", "design", *names, "searched")
    telling = _make_callbacks([rival.label for rival in study.rivals], progress)
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
        if row.explored.cancelled:
            return


def _make_callbacks(labels: list[str], progress: StudyProgress | None) -> Iterator[Tell]:
    """Yield the progress callback of each part of a study."""
    for done, label in enumerate(labels):

        def tell(words: str, done: int = done, label: str = label) -> bool:
            return progress is None or progress(label, done, len(labels), words)

        yield tell
