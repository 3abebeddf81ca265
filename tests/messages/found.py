"""Every message class of the package, found without a list."""

from __future__ import annotations

import importlib
import pkgutil

import kipviz.messages
from kipviz.messages.message import Message


def messages() -> list[type[Message]]:
    """Import every module of `kipviz.messages`, and return the message classes by name."""
    for module in pkgutil.walk_packages(kipviz.messages.__path__, "kipviz.messages."):
        importlib.import_module(module.name)
    found: dict[str, type[Message]] = {}
    waiting: list[type[Message]] = [Message]
    while waiting:
        kinds = [k for k in waiting.pop().__subclasses__() if k.__module__.startswith("kipviz.")]
        found.update((kind.__name__, kind) for kind in kinds)
        waiting += kinds
    return [found[name] for name in sorted(found)]
