"""The cursor of what is stepped through: a step that is there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anywidget
import traitlets

from kipviz.widgets.line import no_step
from kipviz.widgets.page_messages import readable


class WithCursor(anywidget.AnyWidget):
    """A widget whose cursor is one of the steps that it shows.

    Attributes:
        step: the cursor; whoever sets it to a step that is not there hears which there are.
        notice: a sentence for the reader that no wish asked for.
    """

    step = traitlets.Int(0).tag(sync=True)
    notice = traitlets.Unicode("").tag(sync=True)

    _hears_page = False

    @property
    def last_step(self) -> int:
        """The last step that the cursor can stand at."""
        raise NotImplementedError  # each widget says it; an abstract class is no HasTraits

    def set_state(self, sync_data: Mapping[str, Any]) -> None:
        """Take over what the page says, as far as it can be read; what cannot changes nothing.

        The page stays on the steps that it has, and may have another line than Python has by now: a step
        behind the last one is the last one.
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

    def _why_nowhere(self, said: dict[str, Any]) -> str:
        """Take out of the page's values the lines that are not there; say so in a sentence, or nothing."""
        return ""

    def say(self, sentence: str) -> None:
        """Show a sentence on the page; the same sentence again is shown again."""
        self.notice = ""
        self.notice = sentence

    @traitlets.validate("step")
    def _valid_step(self, proposal: Mapping[str, Any]) -> int:
        step: int = proposal["value"]
        if self._hears_page:
            return max(0, min(step, self.last_step))
        if not 0 <= step <= self.last_step:
            raise traitlets.TraitError(no_step(step, self.last_step))
        return step
