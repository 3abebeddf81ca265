"""What is drawn on a notebook page: the stepper and the comparison of two runs.

The classes come when they are asked for: what only needs words or a page as a file does not wait
for ipywidgets.
"""

from importlib import import_module
from typing import Any

__all__ = ["Compare", "Stepper"]

_HOMES = {"Compare": "kipviz.widgets.compare", "Stepper": "kipviz.widgets.stepper"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
