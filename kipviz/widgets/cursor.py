"""The cursor of what is stepped through: a step that is there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anywidget
import traitlets

from kipviz.widgets.line import no_step


class WithCursor(anywidget.AnyWidget):
    """A widget whose cursor is one of the steps that it shows.

    Attributes:
        step: the cursor; whoever sets it to a step that is not there hears which there are.
    """

    step = traitlets.Int(0).tag(sync=True)

    _hears_page = False

    @property
    def last_step(self) -> int:
        """The last step that the cursor can stand at."""
        raise NotImplementedError  # each widget says it; an abstract class is no HasTraits

    def set_state(self, sync_data: Mapping[str, Any]) -> None:
        """Take what the page says.

        The page stays on the steps that it has, and may have another line than Python has by now: what
        it says is taken as it is, because nobody there would read a refusal.
        """
        self._hears_page = True
        try:
            super().set_state(sync_data)
        finally:
            self._hears_page = False

    @traitlets.validate("step")
    def _valid_step(self, proposal: Mapping[str, Any]) -> int:
        step: int = proposal["value"]
        if self._hears_page:
            return max(0, step)
        if not 0 <= step <= self.last_step:
            raise traitlets.TraitError(no_step(step, self.last_step))
        return step
