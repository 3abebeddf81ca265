"""^C that is not lost: it waits while a module is imported or an object is deleted.

Python ignores an exception in a destructor or in a callback of its import system, and an extension whose import is
broken off may leave memory behind that ends the process later. So an interrupt there is raised again a moment later.
"""

import signal
from types import FrameType

# Files of Python's import system, which has no files.
IMPORTING = "<frozen importlib"

# Seconds until it is tried again.
PAUSE = 0.01


def begin() -> None:
    """Take care of ^C from here on, on the main thread of a process in which Python does it so far."""
    if (
        hasattr(signal, "setitimer")
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    ):
        signal.signal(signal.SIGALRM, _try_again)
        signal.signal(signal.SIGINT, interrupt)


def interrupt(_: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, at once or as soon as it would not be lost."""
    if _would_be_lost(frame):
        signal.setitimer(signal.ITIMER_REAL, PAUSE)
        return
    raise KeyboardInterrupt


def _try_again(_: int, frame: FrameType | None) -> None:
    """Send ^C again, to the handler that is installed by now."""
    if _would_be_lost(frame):
        signal.setitimer(signal.ITIMER_REAL, PAUSE)
    else:
        signal.raise_signal(signal.SIGINT)


def _would_be_lost(frame: FrameType | None) -> bool:
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(IMPORTING) or code.co_name == "__del__":
            return True
        frame = frame.f_back
    return False
