"""The cursor of a widget: a step that exists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import anywidget
import traitlets

from kipviz.widgets.pages.line import no_step
from kipviz.widgets.stepping.page_messages import readable

# What traitlets tells of a value: the old one, the new one, or the proposed one, each of its trait's type.
Change: TypeAlias = Mapping[str, Any]


class WithCursor(anywidget.AnyWidget):
    """A widget whose cursor is one of the steps that it shows.

    Attributes:
        step: the cursor; setting it to an unknown step raises an error with the range of steps.
        notice: a sentence for the reader that answers no request.
    """

    step = traitlets.Int(0).tag(sync=True)
    notice = traitlets.Unicode("").tag(sync=True)

    _hears_page = False

    @property
    def last_step(self) -> int:
        """The last step at which the cursor can stand."""
        raise NotImplementedError  # each widget defines it; an abstract class cannot be a HasTraits

    def set_state(self, sync_data: Mapping[str, object]) -> None:
        """Accept the page's values as far as they are valid; invalid values change nothing.

        The page keeps the steps that it has, which may belong to another branch than Python's: a step after the last
        one becomes the last one.
        """
        said, wrong = readable(sync_data)
        if (elsewhere := self._why_nowhere(said)) != "":
            wrong = wrong or elsewhere
        self._hears_page = True
        try:
            super().set_state(said)
        finally:
            self._hears_page = False
        if wrong:
            self.say(wrong)

    def _why_nowhere(self, said: dict[str, object]) -> str:
        """Remove unknown branches from the page's values; return a sentence about them, or ""."""
        return ""

    def say(self, sentence: str) -> None:
        """Show a sentence on the page, even if it is the same as before."""
        self.notice = ""
        self.notice = sentence

    @traitlets.validate("step")
    def _valid_step(self, proposal: Change) -> int:
        step: int = proposal["value"]
        if self._hears_page:
            return max(0, min(step, self.last_step))
        if not 0 <= step <= self.last_step:
            raise traitlets.TraitError(no_step(step, self.last_step))
        return step
