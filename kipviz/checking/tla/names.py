"""The TLA+ names of parts of a world, properties and actions: letters, digits and underscores, each name unique."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from typing import TypeVar

from kipviz.checking.tla.reachable_states import PROPERTY, Place
from kipviz.cluster.actions import ClusterAction

K = TypeVar("K", bound=Hashable)


def word(text: str) -> str:
    """Return a text as a part of a name."""
    return re.sub("[^0-9A-Za-z]+", "_", text).strip("_") or "_"


def name_of_place(place: Place) -> str:
    """Return the name of a part of a world: log_output_A_0, app_1_producer_to_B1, property_atomic."""
    match place:
        case ("logs", str() as partition):
            return f"log_{word(partition)}"
        case ("applications", str() as name):
            return word(name)
        case ("connections", str() as source, int() as broker):
            return f"{word(source)}_to_B{broker}"
        case ("roles", int() as broker, str() as role, str() as shard):
            # Internal partitions are named by their number: the role implies the topic.
            of = shard.rpartition("-")[2] if shard.startswith("__") else word(shard)
            return f"B{broker}_{role}_{of}" if shard else f"B{broker}_{role}"
        case (str() as first, *others) if first == PROPERTY:
            return "_".join((first, *(word(str(each)) for each in others)))
    return "_".join(word(str(each)) for each in place)


def name_of_action(action: ClusterAction) -> str:
    """Return the name of an action: its kind and its arguments, Deliver_app_1_producer_1_request."""
    about = (getattr(action, field) for field in action.__struct_fields__)
    parts = [word(_text(each)) for each in about if each not in ("", None)]
    return "_".join((type(action).__name__, *parts))


def each_once(keys: Iterable[tuple[K, str]]) -> dict[K, str]:
    """Return a unique name for each key; if two would be equal, the later one gets a letter."""
    names: dict[K, str] = {}
    taken: dict[str, int] = {}
    for key, name in keys:
        again = taken[name] = taken.get(name, -1) + 1
        names[key] = f"{name}_{_letters(again)}" if again else name
    return names


def _letters(number: int) -> str:
    """Return x, y, z, xx, ... for 1, 2, 3, 4."""
    return "xyz"[(number - 1) % 3] * ((number + 2) // 3)


def _text(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)
