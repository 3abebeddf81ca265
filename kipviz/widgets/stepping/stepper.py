"""The stepper: a trace on the page, stepped in the browser.

The whole trace is sent once. Stepping, branches and cards need no kernel; the page asks Python only for what is new:
another choice, a fault. The answer is a branch that contains only what differs.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from functools import cached_property
from html import escape
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Self, TypeAlias

import traitlets

from kipviz.checking.single_run.learner_record import Learned
from kipviz.core.outside.printable import complete_sentence
from kipviz.views.exports import hexdump
from kipviz.views.exports.image import image
from kipviz.views.exports.svg import svg
from kipviz.views.page_parts import Part, Shown
from kipviz.views.role_cards.own_view import OwnView, View, own_views
from kipviz.widgets.discoverable import Discoverable
from kipviz.widgets.pages import payload as payloads
from kipviz.widgets.pages import text_view
from kipviz.widgets.pages.line import Line, line_of, message_of, no_step
from kipviz.widgets.pages.open_question import flow_of, tells_at, title_of
from kipviz.widgets.pages.score import Score
from kipviz.widgets.stepping import reasons
from kipviz.widgets.stepping.cursor import Change, WithCursor
from kipviz.widgets.stepping.page_messages import (
    Command,
    PageAnswer,
    Progress,
    TreeChanges,
    Work,
    number_of,
)
from kipviz.widgets.stepping.sharing import StepRow, permalink_of, steps_of, whole
from kipviz.widgets.stepping.stepper_commands import Asking

if TYPE_CHECKING:  # pandas takes long to import, and a recorded run has no model behind it
    import pandas as pd

    from kipviz.widgets.stepping.files import NoFile, SentFile
    from kipviz.widgets.stepping.lines import Lab

FRONT = Path(__file__).parents[1] / "static" / "stepper.js"

# The width of the stored words in characters: what a notebook shows beside its file browser.
WORDS_WIDE = 100

# The number of steps around the cursor in the still picture of a stored notebook.
STILL_STEPS = 40

# What IPython shows of a widget: contents by their media types, perhaps with metadata beside them.
Contents: TypeAlias = dict[str, object]
Bundle: TypeAlias = Contents | tuple[Contents, Contents] | None
Respond: TypeAlias = Callable[[Command], PageAnswer | Work]

# How long the kernel works on a request before it handles other messages of the page.
BREATH_SECONDS = 0.08


class Stepper(Discoverable, Asking, WithCursor):
    """A trace to step through, forward and back, with branches.

    Attributes:
        payload: the content; see `kipviz.widgets.pages.payload`.
        branches: the branches made so far, each with only what differs from its parent.
        step: the cursor, a small step of the current branch.
        branch: the current branch, 0 for the main branch.
        selection: what the reader clicked: ``{"kind": "message", "id": ...}`` or ``{}``.
        answers: the reader's answers to the questions: question id -> number of the option.
        revealed: the questions whose answer was shown; later answers do not count.
        reached: the goals that the reader has reached on the page.
        score: what counts: ``{"answered", "right", "questions", "goals", "of", "reached"}``.
        all_lanes: whether all lanes are shown, or only those of the first screen.
        presenter: whether the page is in presenter mode: large type, and a remote's keys step.
        views: which cards are pinned or hidden, which rows are pinned, and whether only what changed is shown:
            ``{"pinned": [id], "hidden": [id], "rows": [[card, row]], "only": bool}``.
        tool: the name of the drawer that is open under the toolbar, "" for none.
        command: the page's last request; the page sets it.
        answer: Python's last answer: ``{"id"}`` with the result of `kipviz.widgets.stepping.lines.Lab.respond`, or with
            ``"busy"``, its progress, or with ``"error"``, a sentence.
        tree: changes to the branches: ``{"names": {number: name}, "gone": [number, ...]}``.
        notice: a sentence for the reader that answers no request.
        said: the answer to the last request that Python made, in words.
        made: how often a branch was made or changed.
    """

    _esm = FRONT.read_text(encoding="utf-8")

    payload = traitlets.Dict().tag(sync=True)
    # The page adds an answered branch to its own list; echoing that back would send it twice.
    branches = traitlets.List().tag(sync=True, echo_update=False)
    branch = traitlets.Int(0).tag(sync=True)
    selection = traitlets.Dict().tag(sync=True)
    answers = traitlets.Dict().tag(sync=True)
    revealed = traitlets.List().tag(sync=True)
    reached = traitlets.List().tag(sync=True)
    score = traitlets.Dict().tag(sync=True)
    all_lanes = traitlets.Bool(False).tag(sync=True)
    presenter = traitlets.Bool(False).tag(sync=True)
    views = traitlets.Dict().tag(sync=True)
    tool = traitlets.Unicode("").tag(sync=True)
    command = traitlets.Dict().tag(sync=True)
    answer = traitlets.Dict().tag(sync=True)
    tree = traitlets.Dict().tag(sync=True)
    said = traitlets.Unicode("")
    made = traitlets.Int(0)

    lab: Lab | None = None
    """The object that answers requests about the run, if a model is behind it; see `kipviz.widgets.lab`."""

    def __init__(self, payload: Shown, respond: Respond | None = None, **traits: object) -> None:
        """Show a payload; `respond` makes a branch from a command, or raises ValueError."""
        self._known = payloads.read(payload)
        self._respond = respond
        self._gained = Score(payload)
        self._stopped = False
        super().__init__(payload=dict(payload), **traits)
        self.on_msg(self._on_message)
        self._count({})

    # -- asking for what is new ---------------------------------------------------------------------

    @traitlets.observe("command")
    def _on_command(self, change: Change) -> None:
        command = change["new"]
        if not command:
            return
        if command.get("do") == "stop":
            self._stopped = True
            return
        number = number_of(command)
        with self._answering(number):
            answer = self._ask(command)
            if isinstance(answer, Generator):
                self._stopped = False
                self._work_on(number, answer)
            else:
                self._tell(number, self._take_in(answer))

    def _work_on(self, number: int | None, work: Work) -> None:
        """Work for a moment, report progress, and let the kernel handle other messages in between."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            loop = None  # no event loop that has to be served
        until = time.monotonic() + BREATH_SECONDS
        with self._answering(number):
            while not self._stopped:
                try:
                    said = next(work)
                except StopIteration as done:
                    self._tell(number, self._take_in(done.value))
                    return
                if loop is not None and time.monotonic() > until:
                    self._tell(number, {"busy": said})
                    loop.call_later(0.001, self._work_on, number, work)
                    return
            raise ValueError("stopped; nothing was changed")

    @contextlib.contextmanager
    def _answering(self, number: int | None) -> Iterator[None]:
        """Answer with what went wrong: a sentence for an impossible request, otherwise the error of a bug."""
        try:
            yield
        except ValueError as sentence:
            self._tell(number, {"error": complete_sentence(str(sentence))})
        except Exception as wrong:
            self._tell(
                number,
                {
                    "error": f"The model failed: {type(wrong).__name__}: {wrong}. The kernel's log says where.",
                },
            )
            raise

    def _tell(self, number: int | None, answer: PageAnswer | Progress) -> None:
        self.answer = {"id": number, **answer}

    def ask(self, do: str, **more: object) -> Self:
        """Make a request at the cursor, as the page does, and move to its answer.

        Raises:
            ValueError: if it is not possible there, with the reason.
        """
        answer = self._ask({"do": do, "branch": self.branch, "step": self.step, **more})
        if isinstance(answer, Generator):
            work = answer
            while True:
                try:
                    next(work)
                except StopIteration as done:
                    answer = done.value
                    break
        answer = self._take_in(answer)
        made = answer.get("branch")
        if made:
            self.send_state("branches")
            self.branch, self.step = made["id"], made["at"] + 1
        if answer.get("go"):
            self.branch, self.step = answer["go"]["branch"], answer["go"]["step"]
        self.said = answer.get("say", "")
        return self

    def _ask(self, command: Command) -> PageAnswer | Work:
        if self._respond is None:
            raise ValueError(
                "this stepper shows a recorded run: there is no model behind it to ask"
            )
        self._place_of(command)
        return self._respond(command)

    def _place_of(self, command: Command) -> tuple[int, int]:
        """Return the branch and the step of a request.

        Raises:
            ValueError: if there is no such place, in one sentence.
        """
        branch, step = command.get("branch", 0), command.get("step", 0)
        line = line_of(self.payload, self.known_branches, branch)
        if type(branch) is not int:  # 1.0 and True are equal to a branch's number
            raise ValueError(f"there is no branch {branch!r}; a branch is a whole number")
        if type(step) is not int or not 0 <= step <= line.last:
            raise ValueError(no_step(step, line.last))
        return branch, step

    def _take_in(self, answer: PageAnswer) -> PageAnswer:
        """Store the result of an answer; the page itself learns of a branch by the answer."""
        if "branch" in answer:
            branch = dict(answer["branch"])
            payloads.read_branch(branch, self._known)
            if branch["id"] in (0, *(other["id"] for other in self.known_branches)):
                raise ValueError(
                    f"branch {branch['id']} exists already; a new branch needs a new number"
                )
            # Append in place: the page adds the answer's branch itself, so old branches are not sent again.
            self.branches.append(branch)
        names, gone = self.tree.get("names", {}), self.tree.get("gone", [])
        if "name" in answer:
            number, name = answer["name"]
            self._change_tree({"names": {**names, str(number): name}, "gone": gone})
        if "gone" in answer:
            if self.branch in answer["gone"]:  # the cursor must not stay on a removed branch
                self.branch, self.step = answer["go"]["branch"], answer["go"]["step"]
            self._change_tree({"names": names, "gone": sorted({*gone, *answer["gone"]})})
        self.made += 1
        return answer

    def _change_tree(self, tree: TreeChanges) -> None:
        self.tree = tree

    @traitlets.observe("answers", "revealed", "reached", "step", "branch")
    def _count(self, change: Change) -> None:
        place = (self.branch, self.step)
        self.score = self._gained.update(
            self.known_branches, place, self.answers, self.revealed, self.reached
        )

    @property
    def learned(self) -> Learned:
        """The reader's answers, revealed questions and reached goals; invalid values from the page are left out."""
        answers = self.answers.items()
        return Learned(
            tuple((str(name), said) for name, said in answers if isinstance(said, int)),
            tuple(map(str, self.revealed)),
            tuple(map(str, self.reached)),
        )

    def learn(self, learned: Learned) -> None:
        """Restore a reader's record; answers first, so that they count as they were when revealed."""
        self.answers = dict(learned.answers)
        self.revealed = list(learned.revealed)
        self.reached = list(learned.reached)

    def copy(self, step: int | None = None) -> Stepper:
        """Return an independent stepper of this run and its branches, at a step of this branch.

        One stepper shown in two cells has one cursor, which moves in both. A copy has its own cursor, answers and new
        branches, so that each cell keeps showing the step that its text describes: ``stepper.copy(12)``. Without a step
        it stands at the step of this one.

        Raises:
            ValueError: if this branch has no such step; the message states the range.
        """
        at = self.step if step is None else step
        return self._another(self.branch, at, () if self.lab is None else self.lab.views)

    def view(self, *functions: View, branch: int | None = None) -> Stepper:
        """Return an independent stepper of this run, with an additional card for each of your functions.

        A function takes a world and returns the content of its card: a mapping of labels to values, a list of rows
        (label, value) or (label, value, tone), or the text of an SVG. A tone is calm, pending, done, warning, broken or
        gone. The function's name is the card's title, and the first line of its docstring is shown beside it. It must
        depend on the world alone. An error in it is shown as one sentence on its card. `kipviz.compare` and an exported
        page have these cards, too; a saved run or a link does not, because no code is written into a file.

        Args:
            functions: from a world to rows or to an SVG.
            branch: the branch on which it stands; by default this one.

        Raises:
            ValueError: if one is no function of one argument, two have the same name, or there is no model behind this
                stepper.
        """
        if self.lab is None:
            raise ValueError(
                "this stepper shows a recorded run: there is no model behind it whose worlds a view could be asked about"
            )
        number = self.branch if branch is None else branch
        at = min(self.step, line_of(self.payload, self.known_branches, number).last)
        return self._another(number, at, own_views(functions))

    def _another(self, number: int, at: int, views: tuple[OwnView, ...]) -> Stepper:
        branch, at = self._place_of({"branch": number, "step": at})
        learned = self.learned
        if self.lab is None:
            made = Stepper({**self.payload, "branches": self.known_branches}, self._respond)
        else:
            lab, learned = self.lab.another(branch, at, learned, views)
            branch, at = lab.place
            made = Stepper(lab.payload, lab.respond)
            made.lab = lab
        made.all_lanes = self.all_lanes
        made.views = dict(self.views)
        made.learn(learned)
        made.branch, made.step = branch, at
        return made

    # -- in words -------------------------------------------------------------------------------------

    @property
    def known_branches(self) -> list[Part]:
        """All branches: those that came with the payload, then those made since."""
        names, gone = self.tree.get("names", {}), self.tree.get("gone", [])
        return [
            {**branch, "name": names.get(str(branch["id"]), branch["name"])}
            for branch in (*self.payload.get("branches", []), *self.branches)
            if branch["id"] not in gone
        ]

    @property
    def _line(self) -> Line:
        return line_of(self.payload, self.known_branches, self.branch)

    @cached_property
    def _fingerprint(self) -> str:
        return payloads.fingerprint(self.payload)

    def text(self) -> str:
        """Return the steps of the current branch as a table for a plain terminal."""
        head = [self.payload["title"], self._describe_run(), ""]
        return "\n".join([*head, *text_view.table(self._line, self.step), "", repr(self)])

    def bytes(self, message: str = "") -> str:
        """Return the bytes of a message with its fields, to print; by default of the selected message.

        A message is named by its id; `selection` has the id of the clicked one.

        Raises:
            ValueError: if there is no such message on this branch, or none is selected.
        """
        if not message and self.selection.get("kind") == "message":
            message = self.selection["id"]
        if not message:
            raise ValueError("no message is chosen: click one, or name it by its id, such as 'm1'")
        found, tables = message_of(self.payload, self.known_branches, self.branch, message)
        if not found.get("bytes"):
            raise ValueError(f"no bytes are recorded for message {message!r}")
        return hexdump.dump(found, tables)

    def why(self, card: str = "", row: str = "") -> str:
        """Return the history of a value, to print: what it is, since when, and the steps that led there.

        A card is named by its id or its title, a row by its id or its label; without names it is the value that is
        selected on the page. `causes` returns the steps that led to one step.

        Raises:
            ValueError: if there is no such card or row at the cursor, with those that exist, or none is selected.
        """
        if not card and self.selection.get("kind") == "value":
            card, row = self.selection["card"], self.selection["row"]
        if not card:
            raise ValueError(
                "no value is chosen: click one, or name it: why('transaction:my-txn', 'state')"
            )
        place = (self.payload, self.known_branches, self.branch, self.step)
        return reasons.render_history(self.payload, self._line, reasons.row_of(*place, card, row))

    def causes(self, step: int | None = None) -> tuple[tuple[int, str, str], ...]:
        """Return the steps that led to a step, or to the one at the cursor, its main cause first.

        Each is a step's number, its title, and what the later step used from it.

        Raises:
            ValueError: if this branch has no such step.
        """
        return reasons.causes_of(self._line, self.step if step is None else step)

    def holds_back(self) -> tuple[str, ...]:
        """Return what is blocked at the cursor: which host has to act, why, and the way out, worst first."""
        return reasons.list_blocked(self.payload, self.known_branches, self.branch, self.step)

    def permalink(self) -> str:
        """Return a line of text that opens this run at its current step: kipviz.open("kv2.…").

        Raises:
            ValueError: if the run's scenario is not in the library, or the run is too long for a link.
        """
        return permalink_of(self.payload, self.known_branches, self.branch, self.step)

    def steps(self) -> list[StepRow]:
        """Return this branch as rows, one for each step; `frame` makes them a DataFrame."""
        return steps_of(self.payload, self.known_branches, self.branch)

    def frame(self) -> pd.DataFrame:
        """Return this branch as a pandas DataFrame, one row for each step."""
        import pandas as pd

        return pd.DataFrame(self.steps())

    def _why_nowhere(self, said: dict[str, object]) -> str:
        """Remove an unknown branch from the page's values; return a sentence about it, or ""."""
        known = {0, *(branch["id"] for branch in self.known_branches)}
        if said.get("branch", 0) in known:
            return ""
        return f"There is no branch {said.pop('branch')} any more; the kernel stays on branch {self.branch}."

    def _on_message(self, _widget: object, content: object, _buffers: object) -> None:
        """Send the page a file, as a message, so that it is not stored among the values."""
        if not isinstance(content, Mapping) or content.get("do") != "file":
            return
        from kipviz.widgets.stepping.files import file_of

        number = number_of(content)
        try:
            payload = {**self.payload, "branches": self.known_branches}
            branch, step = self._place_of(content)
            what = content.get("what", "")
            made = file_of(what, payload, branch, step, self.lab, self.learned)
        except ValueError as sentence:
            self._send_no_file(number, sentence)
        except Exception as wrong:
            self._send_no_file(number, wrong)
            raise
        else:
            sent: SentFile = {"id": number, **made}
            self.send(sent)

    def _send_no_file(self, number: int | None, why: Exception) -> None:
        answer: NoFile = {
            "id": number,
            "error": complete_sentence(f"The file could not be made: {why}"),
        }
        self.send(answer)

    def _describe_run(self) -> str:
        design = self.payload["design"]
        parts = (f"design {design['name']} ({design['status']})", self.payload.get("spec_line", ""))
        return " · ".join(part for part in parts if part)

    def __repr__(self) -> str:
        """Step n of m | sentence | verdicts | fingerprint."""
        line = self._line
        return text_view.sentence_line(line, max(0, min(self.step, line.last)), self._fingerprint)

    def _repr_mimebundle_(self, **kwargs: object) -> Bundle:
        """Return the widget, and beside it a still picture and the flow in words.

        They are shown without a kernel or a front end: in a fresh clone in JupyterLab, which draws the picture in HTML
        only, in a notebook on GitHub, in a page made by nbconvert.
        """
        bundle: Bundle = super()._repr_mimebundle_(**kwargs)
        words = "\n".join([repr(self), *self._flow()])
        return with_words(bundle, words, self.still())

    @property
    def _shown(self) -> set[str]:
        """The questions whose answer was shown, here or on the page."""
        here = () if self.branch else self.payload.get("questions", ())
        return {*self.revealed, *(q["id"] for q in here if q["step"] <= self.step)}

    def _flow(self) -> list[str]:
        """The big steps in words; up to an open question, and then the question."""
        if self.branch:
            return text_view.flow(self._line)
        told, rest = flow_of(self.payload, self._line, self._shown)
        later = (
            ["The steps after the question appear here once its answer is shown."] if rest else []
        )
        return [*told, *later]

    def still(self, around: int = STILL_STEPS, title: str = "") -> str:
        """Return the steps around the cursor as a picture of the first screen's lanes, an SVG.

        `title` replaces the run's title above it.
        """
        shown = whole(self.payload, self.known_branches, self.branch)
        until = None if title or self.branch else tells_at(self.payload, self._shown) - 1
        shown |= {"title": title or title_of(self.payload, self._shown)}
        return svg(shown, cursor=self.step, around=around, all_lanes=False, until=until)

    @property
    def last_step(self) -> int:
        """The last step of this branch."""
        return self._line.last

    @traitlets.validate("branch")
    def _valid_branch(self, proposal: Change) -> int:
        branch: int = proposal["value"]
        if not self._hears_page:
            try:
                line_of(self.payload, self.known_branches, branch)
            except ValueError as wrong:
                raise traitlets.TraitError(str(wrong)) from None
        return branch

    @traitlets.observe("branch")
    def _on_branch(self, change: Change) -> None:
        """Move the cursor to the end of a shorter branch; if the page made the change, it sets the cursor itself."""
        if not self._hears_page:
            self.step = min(self.step, self.last_step)


def with_words(bundle: Bundle, words: str, picture: str) -> Bundle:
    """Return the bundle with these words as its plain text, and the picture above them as HTML."""
    first, *rest = words.split("\n")
    folded = "<br>\n".join(escape(line.strip(), quote=False) for line in rest)
    page = f"<p>{image(picture, first)}</p>\n<details><summary>In words</summary>\n<p>{folded}</p></details>"
    more = {"text/plain": wrap_lines(words), "text/html": page}
    if isinstance(bundle, tuple):
        contents, metadata = bundle
        return {**contents, **more}, metadata
    return None if bundle is None else {**bundle, **more}


def wrap_lines(words: str) -> str:
    """Break lines between words: a viewer of a notebook that was not run would break them anywhere."""
    return "\n".join(
        fill(
            line,
            WORDS_WIDE,
            subsequent_indent="     ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        for line in words.split("\n")
    )
