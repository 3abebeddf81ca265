"""A result in a notebook: tables that can be searched and sorted, counterexamples as pictures, runs that open.

Beside the widget a notebook stores a page of HTML with the same tables and pictures, for readers without a kernel, for
a forge and for print. A shell shows the page as Markdown.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from pathlib import Path
from typing import Any, TypedDict

import anywidget
import ipywidgets
import msgspec
import traitlets

from kipviz.core.outside.printable import complete_sentence
from kipviz.views.reports.blocks import (
    Blocks,
    BrokenRun,
    ResultPayload,
    TextTable,
    keys_of,
    render_markdown,
    still,
)
from kipviz.widgets.stepping.stepper import Stepper

FRONT = Path(__file__).parents[1] / "static" / "results.js"

# The number of steps before the violation in a picture: with the lanes' heads they fit a laptop's screen.
PICTURE_STEPS = 14


class OpenRequest(msgspec.Struct, frozen=True):
    """The page's request to open the run with this key."""

    run: str


class OpenAnswer(TypedDict, total=False):
    """What the page is told of its request to open a run: where it is, or why it is not open."""

    run: str
    say: str
    error: str


def _plain_name(value: object) -> str:
    """Return the name of a reader's own design or story, which is more than a str."""
    if isinstance(value, str):
        return str.__str__(value)
    raise NotImplementedError


class ResultPage(ABC):
    """A result that a notebook shows as searchable tables, and a shell as a page of Markdown."""

    @abstractmethod
    def blocks(self) -> Blocks:
        """Return the blocks of the page."""

    def open_run(self, run: str) -> Stepper:
        """Open the run that a cell names by its key, at the step that demonstrates the cell.

        Raises:
            LookupError: if there is no such run.
        """
        raise LookupError(f"no run belongs to {run!r} here")

    def page(self) -> str:
        """Return the page in Markdown."""
        return render_markdown(self.blocks())

    def _repr_mimebundle_(self, **options: Any) -> Any:
        bundle = ResultPanel(self)._repr_mimebundle_(**options)
        words = {"text/plain": repr(self), "text/html": self.html()}
        if isinstance(bundle, tuple):
            return ({**bundle[0], **words}, *bundle[1:])
        return {**(bundle or {}), **words}

    def html(self) -> str:
        """Return the page as HTML with its pictures, for a reader without a kernel."""
        return still(self.blocks(), self._pictures)

    def __repr__(self) -> str:
        """Return the page as text."""
        return self.page()

    @cached_property
    def _pictures(self) -> dict[str, str]:
        """Return a picture of the last steps of each counterexample, as the stepper draws them."""
        broken = [block for block in self.blocks() if isinstance(block, BrokenRun)]
        return {each.run: self._picture(each) for each in broken}

    def _picture(self, broken: BrokenRun) -> str:
        return self.open_run(broken.run).still(PICTURE_STEPS, broken.title)

    def payload(self) -> dict[str, Any]:
        """Return the data of the page as plain values."""
        blocks = tuple(b.fit_page() if isinstance(b, TextTable) else b for b in self.blocks())
        made: dict[str, Any] = msgspec.to_builtins(
            ResultPayload(blocks, self._pictures), enc_hook=_plain_name
        )
        return made


class ResultView(anywidget.AnyWidget):
    """The page of a result: its tables, its pictures, and its buttons that open runs.

    Attributes:
        payload: the content; see `ResultPayload`.
    """

    _esm = FRONT.read_text(encoding="utf-8")

    payload = traitlets.Dict().tag(sync=True)


class ResultPanel(ipywidgets.VBox):
    """A result on the page, and below it the run that was opened last.

    Attributes:
        stepper: the run that was opened last, or None.
    """

    def __init__(self, result: ResultPage) -> None:
        """Show a result; no run is open."""
        self.stepper: Stepper | None = None
        self._result = result
        self._keys = set(keys_of(result.blocks()))
        self.view = ResultView(payload=result.payload())
        self.view.on_msg(self._on_message)
        self._below = ipywidgets.VBox()
        super().__init__([self.view, self._below])

    def _on_message(self, _view: object, said: object, _buffers: object) -> None:
        """Open the run that the page requests, or send the page the reason why not."""
        try:
            run = msgspec.convert(said, OpenRequest).run
        except msgspec.ValidationError as wrong:
            self._tell({"error": f"The page asked for something unknown: {wrong}."})
            return
        try:
            self.open_run(run)
        except (LookupError, ValueError) as sentence:
            self._tell({"run": run, "error": complete_sentence(str(sentence.args[0]))})
        except Exception as wrong:
            words = (
                f"The model failed: {type(wrong).__name__}: {wrong}. The kernel's log says where."
            )
            self._tell({"run": run, "error": words})
            raise

    def _tell(self, answer: OpenAnswer) -> None:
        self.view.send(answer)

    def open_run(self, run: str) -> Stepper:
        """Open a run below the tables, instead of the one that was open there.

        Raises:
            LookupError: if no cell of the page has a run with this key.
        """
        if run not in self._keys:
            raise LookupError(f"no cell of this table opens a run called {run!r}")
        stepper = self._result.open_run(run)
        self._below.children = (stepper,)
        self.stepper = stepper
        self._tell({"run": run, "say": f"The run is open below, at message {stepper.step}."})
        return stepper
