"""A user's mistake in a notebook is shown as one line: what was wrong and what is allowed, without a traceback.

An error that kipviz raises on purpose has a sentence; its traceback does not help a user who mistyped a name. Any other
error is a bug, and keeps its traceback.
"""

from __future__ import annotations

import linecache
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

# The types with which a sentence for the reader is raised, beside our own classes.
KINDS = (ValueError, LookupError, TypeError, AttributeError, ImportError, OSError)
OURS = ("kipviz", "traitlets")


def is_mistake(error: BaseException, trace: TracebackType | None) -> bool:
    """Return whether an error was raised on purpose, with a sentence, by a line of this package."""
    module = type(error).__module__.partition(".")[0]
    if trace is None or not (isinstance(error, KINDS) or module in OURS) or not str(error):
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    frame = trace.tb_frame
    line = linecache.getline(frame.f_code.co_filename, trace.tb_lineno)
    name = str(frame.f_globals.get("__name__"))
    return name.partition(".")[0] == "kipviz" and line.lstrip().startswith("raise ")


def _show(
    shell: InteractiveShell,
    kind: type[BaseException],
    error: Any,
    trace: TracebackType | None,
    tb_offset: int | None = None,
) -> None:
    if is_mistake(error, trace):
        # IPython calls this method of an exception that renders itself.
        error._render_traceback_ = lambda: [f"{kind.__name__}: {error}"]
    shell.showtraceback((kind, error, trace), tb_offset=tb_offset, running_compiled_code=True)


def in_one_line() -> None:
    """Show mistakes this way in the IPython shell or kernel that runs this; do nothing if it has another handler."""
    from IPython.core.getipython import get_ipython

    shell: Any = get_ipython()
    if shell is not None and not shell.custom_exceptions:
        shell.set_custom_exc((Exception,), _show)
