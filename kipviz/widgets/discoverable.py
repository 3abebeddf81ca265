"""The names that completion lists for a widget: those for a reader, without the machinery of ipywidgets."""

from __future__ import annotations


def own_names(cls: type) -> tuple[str, ...]:
    """Return the public names that kipviz adds to a class, in alphabetical order.

    A name that kipviz only overrides, such as ipywidgets' `set_state`, belongs to the machinery.
    """
    ours, theirs = set[str](), set[str]()
    for base in cls.__mro__:
        (ours if base.__module__.partition(".")[0] == "kipviz" else theirs).update(vars(base))
    return tuple(sorted(name for name in ours - theirs if not name.startswith("_")))


class Discoverable:
    """A widget whose `dir()` lists the names that kipviz adds. Everything else of ipywidgets works as before."""

    def __dir__(self) -> list[str]:
        """Return the widget's own names, and Python's special names."""
        special = (name for name in super().__dir__() if name.startswith("__"))
        mine = (name for name in vars(self) if not name.startswith("_"))
        return sorted({*own_names(type(self)), *mine, *special})
