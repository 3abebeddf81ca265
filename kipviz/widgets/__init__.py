"""The widgets of a notebook page: the stepper, comparisons, tables of results, panels.

The classes are imported when they are first used, so that code which needs only text or a page as a file does not load
ipywidgets.
"""

from importlib import import_module
from typing import Any

__all__ = ["Compare", "Stepper"]

_HOMES = {
    "Compare": "kipviz.widgets.comparing.compare",
    "Stepper": "kipviz.widgets.stepping.stepper",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
