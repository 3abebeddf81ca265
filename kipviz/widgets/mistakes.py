"""A mistake in a notebook is one line: what was wrong and what is allowed, without the way through our code.

What is raised on purpose has its sentence; the frames above it are of no use to who mistyped a name. What fails
by itself is an error of the program, and keeps its traceback.
"""

from __future__ import annotations

import linecache
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

# What a sentence for the reader is raised as, beside our own classes.
KINDS = (ValueError, LookupError, TypeError, AttributeError, ImportError, OSError)
OURS = ("kipviz", "traitlets")


def is_mistake(error: BaseException, trace: TracebackType | None) -> bool:
    """Whether an error was raised on purpose, with a sentence, by a line of this package."""
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
        # What IPython asks an exception for that has a face of its own.
        error._render_traceback_ = lambda: [f"{kind.__name__}: {error}"]
    shell.showtraceback((kind, error, trace), tb_offset=tb_offset, running_compiled_code=True)


def in_one_line() -> None:
    """Have the notebook or the IPython shell that runs this show mistakes so; without one, or beside another handler, nothing changes."""
    from IPython.core.getipython import get_ipython

    shell: Any = get_ipython()
    if shell is not None and not shell.custom_exceptions:
        shell.set_custom_exc((Exception,), _show)
