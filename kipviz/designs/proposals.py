"""A reader's own design: a named design in which one or more slots have the reader's functions."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Self

from kipviz.designs.catalogue import design as design_named
from kipviz.designs.catalogue import register_design
from kipviz.designs.design import Design, slot_named
from kipviz.designs.own_rule import own_rule
from kipviz.designs.slot import DRAFT, STATUSES, Option

_NAME = re.compile(r"[a-z][a-z0-9-]{0,59}")
SOURCE = "a rule of your own"


class DesignName(str):
    """The name of a design, for every function that takes a design; it holds the design itself.

    Attributes:
        design: the design itself.
    """

    __slots__ = ("design",)
    design: Design

    def __new__(cls, design: Design) -> Self:
        """Return the name of a design that holds the design."""
        made = super().__new__(cls, design.name)
        made.design = design
        return made

    def __reduce__(self) -> tuple[Callable[[Design], DesignName], tuple[Design]]:
        return _register_design, (self.design,)

    def __repr__(self) -> str:
        """Describe the design."""
        return f"design {self.design.name} ({self.design.status}): {self.design.sentence}"


def _register_design(design: Design) -> DesignName:
    """Register a design in another process: a worker finds it by its name."""
    if design.own:
        register_design(design)
    return DesignName(design)


def design(name: str) -> DesignName:
    """Return a design by name: "repaired", or one derived from it, "repaired+lock_expiry=back_to_available".

    Example:
        >>> import kipviz
        >>> kipviz.design("repaired").design.option("marker_epoch").name
        'greater'

    Raises:
        UnknownDesign: if there is no such design, slot or option.
    """
    return DesignName(design_named(name))


def propose(name: str, base: str = "repaired", **rules: Callable[..., object]) -> DesignName:
    """Propose a design: an existing one with your own plain functions in one or more slots.

    A function takes the slot's arguments, returns the slot's answer, and does nothing else; its docstring is the
    sentence that is shown. `kipviz.list_slots()` lists the slots and their questions. The result, or its name, can be
    used wherever a design's name can, also in processes and Spark workers. A saved run or a link has only the name of
    the design: its reader proposes it first, and no code of a file is ever run.

    Args:
        name: the new design's name, in lower-case letters, digits and hyphens.
        base: the design whose other slots are kept.
        rules: a function for each slot, by the slot's name.

    Example:
        >>> import kipviz
        >>> def never_earlier(staged: int, marker: int) -> bool:
        ...     '''A marker resolves a transactional acknowledgement that is not newer than itself.'''
        ...     return staged <= marker
        >>> mine = kipviz.propose("not-newer", "repaired", marker_epoch=never_earlier)
        >>> print(kipviz.explore("kip-1289-small", mine).explored.sentence)
        686 states, 1,905 transitions, depth 42, untimed: no property is broken

    Raises:
        BadRule: if a function cannot fill its slot; the message repeats the slot's question.
        UnknownDesign: if there is no such base or slot.
        ValueError: if the name is invalid, or a design of the catalogue has it.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(
            f"a design's name must be small letters, digits and hyphens, such as 'ask-first', not {name!r}"
        )
    if not rules:
        raise ValueError(
            "a proposal needs a rule: name a slot and a function, such as marker_epoch=my_function"
        )
    made = base.design if isinstance(base, DesignName) else design_named(base)
    words = []
    for slot_name, function in rules.items():
        slot = slot_named(slot_name)
        rule = own_rule(slot, function)
        status = max(made.status, DRAFT, key=STATUSES.index)
        made = made.with_own(slot, Option(rule.__name__, rule, status, SOURCE))
        words.append(f"{slot.question} {rule.__doc__}")
    own = ", ".join(f"{slot}={option.name}" for slot, option in made.own)
    made = made.but_called(
        name, f"{name}: your own {own}", " ".join(words), f"{SOURCE}; other slots as in {base}"
    )
    register_design(made)
    return DesignName(made)
