"""What completion lists of a widget: what a reader uses, and not the machinery of ipywidgets below it."""

from __future__ import annotations


def own_names(cls: type) -> tuple[str, ...]:
    """Return the public names that kipviz gives a class, in the order of the letters.

    What kipviz only overrides, such as ipywidgets' `set_state`, belongs to the machinery.
    """
    ours, theirs = set[str](), set[str]()
    for base in cls.__mro__:
        (ours if base.__module__.partition(".")[0] == "kipviz" else theirs).update(vars(base))
    return tuple(sorted(name for name in ours - theirs if not name.startswith("_")))


class Discoverable:
    """A widget whose `dir()` lists what kipviz gives it. All else of ipywidgets works as before."""

    def __dir__(self) -> list[str]:
        """Return the widget's own names, and those of Python's protocols."""
        special = (name for name in super().__dir__() if name.startswith("__"))
        mine = (name for name in vars(self) if not name.startswith("_"))
        return sorted({*own_names(type(self)), *mine, *special})
