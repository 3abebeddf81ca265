"""Symmetry reduction: applications that differ only in their names are interchangeable.

Two worlds that become equal by exchanging the names of such applications (with their transactional ids and member ids)
have the same future up to names, so a search needs to visit only one of them. Their common key is the smallest digest
under the possible renamings.

Not interchangeable: records, because a log is ordered; brokers, because the partitions that a broker leads or
replicates distinguish it, and one without partitions changes nothing; applications whose transactional ids have
different coordinators, because those are on different brokers; members that join their group, because an assignor uses
the order of names.
"""

from __future__ import annotations

import re
from enum import Enum
from itertools import permutations, product
from types import NoneType
from typing import Any

import msgspec
from msgspec.structs import astuple

from kipviz.clients.application import Application
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.network.partition_sides import hosts_in, hosts_on, order_sides
from kipviz.cluster.specs.spec import ApplicationSpec, ClusterSpec
from kipviz.cluster.world import World
from kipviz.core.log import Log
from kipviz.core.model import Model
from kipviz.core.table import Table
from kipviz.core.values import Part, Value, digest_of, memory_of
from kipviz.properties.verdict import States
from kipviz.records.placement import TRANSACTION_STATE, partition_for

Names = tuple[str, str, str]
_PART = 2
_NAMELESS = frozenset({NoneType, bool, int, bytes})
_encode = msgspec.msgpack.Encoder().encode


class Renaming:
    """A mapping from names to other names, which computes the digest of a value under it.

    A digest under a renaming is stored with its part, so each part is encoded once per renaming, however many worlds
    contain it.
    """

    def __init__(self, names: dict[str, str]) -> None:
        """Store the names; an old name is replaced wherever it is a whole word."""
        self._names = names
        self._known: dict[str, str] = {}
        self._rest: dict[Any, bytes] = {}
        self._orders: dict[tuple[Any, ...], tuple[bytes, tuple[int, ...]]] = {}
        self._tag = "as " + ",".join(f"{old}={new}" for old, new in names.items())
        words = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
        self._pattern = re.compile(rf"(?<![\w-])(?:{words})(?![\w-])") if words else None

    def word(self, text: str) -> str:
        """Return a text with the new names in it."""
        known = self._known.get(text)
        if known is None:
            known = text
            if self._pattern is not None:
                known = self._pattern.sub(lambda found: self._names[found.group()], text)
            self._known[text] = known
        return known

    def digest(self, part: Part) -> bytes:
        """Return sixteen bytes for a part under the new names."""
        memory = memory_of(part)
        if memory.digests is None:
            memory.digests = {}
        known = memory.digests.get(self._tag)
        if known is None:
            fields = part.changing() if type(part) is Application else astuple(part)
            shape = [type(part).__name__, [self._shape(field) for field in fields]]
            known = memory.digests[self._tag] = digest_of(_encode(shape))
        return known

    def world(self, world: World) -> bytes:
        """Return sixteen bytes for a whole world under the new names."""
        rest = (world.up, world.budget, world.cuts, world.next_producer_id)
        mark = self._rest.get(rest)
        if mark is None:
            cuts = sorted(_rename_partition(self, cut) for cut in world.cuts)
            shape = [*map(self._shape, (world.up, world.budget, world.next_producer_id)), cuts]
            mark = self._rest[rest] = digest_of(_encode(shape))
        # The image contains names of partitions and brokers only.
        pieces = [mark, world.image.digest]
        if world.deadlines:
            due = [
                [d.kind, [self._shape(each) for each in d.place], d.after, d.by]
                for d in world.deadlines
            ]
            pieces.append(digest_of(_encode(sorted(due))))
        table: Table[Any, Any]
        for table in (world.logs, world.roles, world.applications, world.connections):
            names, order = self._arrange(table.keys())
            values = table.values()
            pieces.append(names)
            pieces += [self.digest(values[at]) for at in order]
        return digest_of(b"".join(pieces))

    def _arrange(self, keys: tuple[Any, ...]) -> tuple[bytes, tuple[int, ...]]:
        """Return a digest of keys under the new names, and their order under them."""
        known = self._orders.get(keys)
        if known is None:
            fresh = [self._key(key) for key in keys]
            order = tuple(sorted(range(len(keys)), key=fresh.__getitem__))
            mark = digest_of(_encode([fresh[at] for at in order]))
            known = self._orders[keys] = (mark, order)
        return known

    def _key(self, key: Any) -> Any:
        if isinstance(key, tuple):
            return tuple(self._key(each) for each in key)
        return self.word(key) if isinstance(key, str) else key

    def _shape(self, value: Any) -> Any:
        kind = type(value)
        if kind is str:
            return self.word(value)
        if kind in _NAMELESS:
            return value
        if kind is tuple or kind is Log:
            return [self._shape(each) for each in value]
        if isinstance(value, Enum):
            return {kind.__name__: value.name}
        if isinstance(value, Part):
            return msgspec.msgpack.Ext(_PART, self.digest(value))
        if isinstance(value, Table):
            # In the order of the new names, because a table is ordered by its keys.
            names, order = self._arrange(value.keys())
            values = value.values()
            return {"Table": [names, *(self._shape(values[at]) for at in order)]}
        return {kind.__name__: [self._shape(each) for each in astuple(value)]}


def rename_value(value: Any, renaming: Renaming) -> Any:
    """Return a value with the new names in it; a `Renaming` itself only computes its digest."""
    if isinstance(value, Enum):
        return value
    if isinstance(value, str):
        return renaming.word(value)
    if isinstance(value, World):
        parts = {f: rename_value(getattr(value, f), renaming) for f in value.__struct_fields__}
        due = sorted(parts["deadlines"], key=lambda d: (d.kind, d.place))
        cuts = sorted(_rename_partition(renaming, cut) for cut in value.cuts)
        return World(**(parts | {"cuts": tuple(cuts), "deadlines": tuple(due)}))
    if isinstance(value, Log):
        return Log.of(rename_value(each, renaming) for each in value)
    if isinstance(value, tuple):
        return tuple(rename_value(each, renaming) for each in value)
    if isinstance(value, Table):
        return Table.of(
            {rename_value(k, renaming): rename_value(v, renaming) for k, v in value.items()}
        )
    if isinstance(value, Value):
        return type(value)(*(rename_value(each, renaming) for each in astuple(value)))
    return value


def _rename_partition(renaming: Renaming, cut: tuple[str, str]) -> tuple[str, str]:
    """Return a network partition with the new names in it, its hosts in order."""
    one, other = ([renaming.word(host) for host in hosts_on(side)] for side in cut)
    return order_sides(one, other)


class Symmetry:
    """The reduction for clusters with interchangeable applications.

    Attributes:
        classes: the names of the applications, for each class of interchangeable ones.
    """

    name = "symmetry"
    alone = None

    def __init__(self) -> None:
        """Start without a model."""
        self.classes: tuple[tuple[Names, ...], ...] = ()
        self._colours: dict[str, Renaming] = {}
        self._renamings: dict[tuple[int, ...], Renaming] = {}

    def fit(self, model: Model, *, full_states: bool) -> None:
        """Find the interchangeable applications.

        Raises:
            ValueError: if there are none, if a fault is possible that depends on the order of names, or if full states
                are to be compared, which differ between symmetric worlds.
        """
        if not isinstance(model, ClusterModel):
            raise TypeError("the reduction 'symmetry' works for clusters only")
        if full_states:
            raise ValueError(
                "full states are compared without the reduction 'symmetry': symmetric states differ"
            )
        budget = model.spec.budget
        for kind in ("crash_broker", "move_leader"):
            if getattr(budget, kind):
                raise ValueError(
                    f"with {kind} there is no symmetry: what a broker does for several at once, it "
                    "does in the order of their names"
                )
        self.classes = interchangeable(model.spec)
        if not self.classes:
            raise ValueError(
                "no two applications of this cluster are interchangeable: they would have to "
                "differ in their names only, and their transactional ids to have one coordinator"
            )
        for names in (n for cls in self.classes for n in cls):
            self._colours[names[0]] = Renaming(dict(zip(names, ("", "t", "m"), strict=True)))

    def key(self, world: World, states: States) -> bytes:
        """Return sixteen bytes that are equal for worlds that differ only in names."""
        return min(
            digest_of(renaming.world(world) + b"".join([renaming.digest(s) for s in states]))
            for renaming in self._candidates(world)
        )

    def orbit(self, world: World, states: States) -> int:
        """Return how many different states have the same key: the size of the orbit."""
        every = [list(permutations(range(len(cls)))) for cls in self.classes]
        return len(
            {
                digest_of(r.world(world) + b"".join([r.digest(s) for s in states]))
                for r in (self._renaming(sum(each, ())) for each in product(*every))
            }
        )

    def _candidates(self, world: World) -> list[Renaming]:
        """Return the renamings that sort the applications of each class by their content."""
        per_class = []
        for cls in self.classes:
            colours = [
                self._colours[names[0]].digest(world.applications[names[0]]) for names in cls
            ]
            order = sorted(range(len(cls)), key=colours.__getitem__)
            per_class.append(
                [
                    p
                    for p in permutations(order)
                    if all(colours[a] == colours[b] for a, b in zip(p, order, strict=True))
                ]
            )
        return [self._renaming(sum(each, ())) for each in product(*per_class)]

    def _renaming(self, order: tuple[int, ...]) -> Renaming:
        """Return the renaming that maps the first application of `order` to the first name of its class, and so on."""
        known = self._renamings.get(order)
        if known is None:
            names: dict[str, str] = {}
            at = 0
            for cls in self.classes:
                for place, which in enumerate(order[at : at + len(cls)]):
                    names |= dict(zip(cls[which], cls[place], strict=True))
                at += len(cls)
            known = self._renamings[order] = Renaming(names)
        return known


def interchangeable(spec: ClusterSpec) -> tuple[tuple[Names, ...], ...]:
    """Return the classes of applications that differ only in names, two or more in each."""
    classes: dict[Any, list[Names]] = {}
    for app in spec.applications:
        if app.protocol:
            continue
        names = (app.name, app.transactional_id, app.member_id)
        classes.setdefault(_likeness(app, spec), []).append(names)
    return tuple(
        tuple(cls)
        for cls in classes.values()
        if len(cls) > 1 and len({name for names in cls for name in names}) == 3 * len(cls)
    )


def _likeness(app: ApplicationSpec, spec: ClusterSpec) -> ApplicationSpec:
    home = partition_for(app.transactional_id, spec.internal_partitions)
    alike = app.but(name="", transactional_id=f"{TRANSACTION_STATE}-{home}", member_id="")
    # A network partition in the spec may name it: then it keeps its name.
    named = any(app.name in hosts_in(text.replace("|", " ")) for text in spec.splits)
    return alike.but(name=app.name) if named else alike
