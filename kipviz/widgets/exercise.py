"""A lab in a notebook: the task, a stepper to work in, a check of the run, hints, and the line to hand in."""

from __future__ import annotations

import os

from kipviz.checking.single_run import runs
from kipviz.checking.single_run.permalink import is_link, open_link, permalink
from kipviz.checking.single_run.runs import Run
from kipviz.course.hand_in import HandIn, LabClaim, write
from kipviz.course.judging import RunResult, judge
from kipviz.course.lab import Lab, lab_named
from kipviz.lessons.own_story import Story, story
from kipviz.widgets.lab import stepper_of
from kipviz.widgets.stepping.stepper import Stepper


class Exercise:
    """A lab that a learner works on.

    Example:
        lab = kipviz.lab("deliver-twice")
        run = lab.open()
        lab.check(run)
    """

    def __init__(self, lab: Lab) -> None:
        """Start without hints and without a checked run."""
        self.lab = lab
        self.checked: LabClaim | None = None
        self._hints = 0
        self._steppers: list[Stepper] = []

    @property
    def text(self) -> str:
        """The task and its goals, as Markdown."""
        return self.lab.text

    @property
    def document(self) -> str:
        """The story that the learner changes, "" if the lab has none."""
        return self.lab.document

    def open(self, *changes: str, document: str | os.PathLike[str] | Story = "") -> Stepper:
        """Open the start of the lab in a stepper.

        Args:
            changes: settings to change, each of the form name=value; the lab lists them.
            document: your own version of the lab's story: the text or a path.

        Raises:
            ValueError: if a setting or value is not valid, or the document is no story.
        """
        if document:
            own = document if isinstance(document, Story) else story(document)
            run = runs.play(own, self.lab.design)
        else:
            run = runs.play(self.lab.start(), self.lab.design)
        if self.lab.settings or changes:
            run = runs.again(run, (*self.lab.settings, *changes))
        elif not self.lab.document:
            run = _at_start(run)
        stepper = stepper_of(run)
        self._steppers.append(stepper)
        return stepper

    def check(self, answer: Stepper | str) -> RunResult:
        """Check a run: which goals it reaches, and which are missing.

        Args:
            answer: the stepper, whose current branch counts, or a permalink.

        Raises:
            ValueError: if it is neither, or the permalink cannot be opened.
        """
        run = _run_of(answer)
        result = judge(self.lab, run)
        try:
            self.checked = LabClaim(self.lab.name, result.reached, permalink(run))
        except ValueError:
            self.checked = (
                None  # too long for a line of text: it was checked, and cannot be handed in
            )
        return result

    def hint(self) -> str:
        """Return the next hint; after the last one, the last one again."""
        self._hints = min(self._hints + 1, len(self.lab.hints))
        return f"Hint {self._hints} of {len(self.lab.hints)}: {self.lab.hints[self._hints - 1]}"

    def answered(self) -> tuple[int, int]:
        """Return how many questions were answered in the lab's steppers, and how many of the answers are right."""
        scores = [stepper.score for stepper in self._steppers]
        return sum(s["answered"] for s in scores), sum(s["right"] for s in scores)

    def __repr__(self) -> str:
        """Return the task."""
        return self.text

    def _repr_markdown_(self) -> str:
        return self.text


def lab(name: str) -> Exercise:
    """Find a lab by name; `kipviz course` lists them.

    Example:
        >>> import kipviz
        >>> lab = kipviz.lab("survive-the-crash")
        >>> lab.check(lab.open().run_on(seed=7))
        survive-the-crash: 3 of 4 goals
          MISSING  A broker crashed after the decision, with markers still due: at none of 43 steps
          reached  The output is committed at the end of your run: output-A-0 has a COMMIT marker
          reached  The run has at most one fault: the run has 0
          reached  No property is violated: no property is broken

    Raises:
        UnknownLab: if there is no such lab; the message suggests the nearest name.
    """
    return Exercise(lab_named(name))


def hand_in(who: str, *exercises: Exercise) -> str:
    """Return one line of text with your checked labs. Nothing is sent; give the line to your teacher.

    Args:
        who: a name that your teacher knows, at most 80 letters; it need not be your own.
        exercises: labs, each checked at least once.

    Example:
        >>> import kipviz
        >>> lab = kipviz.lab("survive-the-crash")
        >>> result = lab.check(lab.open())
        >>> kipviz.hand_in("team 7", lab)[:4]
        'kh1.'

    Raises:
        ValueError: if a lab was not checked, the name is not valid, or an argument is no lab.
    """
    entries, answered, right = [], 0, 0
    for each in exercises:
        if not isinstance(each, Exercise):
            raise ValueError(f"a hand-in takes labs, as kipviz.lab returns them, not {each!r}")  # noqa: TRY004
        if each.checked is None:
            raise ValueError(f"check {each.lab.name} first: lab.check(run)")
        entries.append(each.checked)
        more, of_them = each.answered()
        answered, right = answered + more, right + of_them
    return write(HandIn(who, answered, right, tuple(entries)))


def _at_start(run: Run) -> Run:
    """Return the run before its first step: the story's own steps are not the learner's."""
    return runs.follow(run.scenario, run.design, run.budget, ())


def _run_of(answer: object) -> Run:
    if isinstance(answer, Stepper) and answer.lab is not None:
        run: Run = answer.lab.run_at(answer.branch, answer.step)
        return run
    if isinstance(answer, str) and is_link(answer):
        return open_link(answer)
    raise ValueError(f"a lab checks a stepper or a permalink, not {answer!r}")
