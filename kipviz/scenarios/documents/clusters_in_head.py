"""Clusters in the heads of story documents: a known cluster, and the differences from it.

The keys are the fields of `ClusterSpec`; those of an application are the fields of `ApplicationSpec`. A missing key has
Kafka's value, unless `simplified` names it: "simplified: [replication, protocol]" are the rows of
`kipviz.cluster.specs.simplifications` that this cluster leaves out. What Kafka can be configured with is no row of that
list, but a setting, such as "max_records: 1".

Searches read the same head under the profile `small`. What it states is kept there: those fields are `stated`. A head
with "profile: kafka-defaults" or "profile: small" has one cluster, which is both stepped and searched.

A few keys have a readable form: a placement is "partition: [leader, other brokers]", records are
"src-0 from 100: [a, b]", and an ACL is a sentence such as "app-1 may READ TOPIC src".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec.structs import FieldInfo
from msgspec.structs import fields as read_fields

from kipviz.brokers.authorizer import Acl
from kipviz.brokers.settings import GroupConfig
from kipviz.cluster.specs.abstraction import KAFKA, PROFILES, SMALL, Pairs, Profile, values_of_rows
from kipviz.cluster.specs.simplifications import (
    CHOSEN,
    OF_APPLICATIONS,
    OF_BROKERS,
    OF_CLUSTERS,
    Row,
    Simplification,
)
from kipviz.cluster.specs.spec import ApplicationSpec, ClusterSpec, Placement, Remade, ThreadSpec
from kipviz.core.values import Value
from kipviz.messages.apis.rights import Operation, Resource
from kipviz.records.transaction_state import TransactionRecord
from kipviz.scenarios.bases import CLUSTERS, PROCESSES, cluster_in, process_in
from kipviz.scenarios.documents.bad_story import Wrong, not_known
from kipviz.scenarios.documents.head import (
    HeadList,
    Keys,
    Node,
    Plain,
    Word,
    is_number,
    write_head,
)
from kipviz.scenarios.documents.programs_in_text import (
    Program,
    names_of_programs,
    programs_by_name,
)

# The spec that a row of a profile is about.
S = TypeVar("S")
V = TypeVar("V", bound=Value)
_PROFILES = {profile.name: profile for profile in PROFILES}
CLUSTER = "cluster"
LIKE = "like"
APPLICATIONS = "applications"
PROFILE = "profile"
SIMPLIFIED = "simplified"
KEYS = (PROFILE, SIMPLIFIED, CLUSTER, *ClusterSpec.__struct_fields__)
# The rows that a head may name; what Kafka can be configured with is a setting.
_ROWS: dict[str, Row] = {row.field: row for row in CHOSEN if not row.configures}
_OF_APPLICATIONS = tuple(row.field for row in OF_APPLICATIONS)
_OF_CLUSTERS = tuple(row.field for row in OF_CLUSTERS)
_OF_BROKERS = tuple(row.field for row in OF_BROKERS)
SETTINGS = "settings"
_RECORDS = re.compile(r"(\S+) from ([0-9]{1,18})")
_BROKER = re.compile(r"[0-9]{1,9}")
_ACL = re.compile(r"(\S+) (may|must not) (\S+) (\S+) (.+)")


@cache
def fields(kind: type[Value]) -> tuple[FieldInfo, ...]:
    """Return the fields of a class with their types, which are slow to determine."""
    return read_fields(kind)


# -- reading -----------------------------------------------------------------------------------


class ReadCluster(Value, frozen=True):
    """A cluster as it was read.

    Attributes:
        spec: the cluster.
        stated: the rows of the simplifications in which it is like Kafka because its head states so, "replication" or
            "app-1.max_in_flight"; searches keep them.
    """

    spec: ClusterSpec
    stated: tuple[str, ...]


def read_cluster(
    keys: Keys, programs: Mapping[str, Program], unnamed: Profile = KAFKA
) -> ReadCluster:
    """Read the cluster that a head names, with its changes.

    Args:
        keys: the keys of the head that belong to the cluster.
        programs: the document's own programs, by name.
        unnamed: the profile for a head that names neither a profile nor its simplifications.

    Raises:
        Wrong: if a key or a value is not valid, or contradicts the profile or the simplifications that the head names.
    """
    asked, simplified = keys.get(PROFILE), keys.get(SIMPLIFIED)
    if asked is not None and simplified is not None:
        raise Wrong(
            simplified.line,
            f"{PROFILE} and {SIMPLIFIED} contradict each other: {SIMPLIFIED} lists what a cluster leaves out, and "
            f"'{PROFILE}: {SMALL.name}' is short for everything. Leave one of the two keys",
        )
    unnamed = KAFKA if simplified is not None else unnamed
    profile = unnamed if asked is None else _PROFILES[_one_of(PROFILE, asked, _PROFILES)]
    left = (PROFILE, SIMPLIFIED, CLUSTER)
    own = Keys(keys.line, tuple(entry for entry in keys.entries if entry[0] not in left))
    if asked is not None or profile is SMALL:
        spec = _read_under(profile, keys.get(CLUSTER), own, programs)
        if profile is KAFKA:
            _check_profile(own, spec)
        return ReadCluster(spec, list_stated(spec, spec))
    searched = _read_under(SMALL, keys.get(CLUSTER), own, programs)
    spec = _read_under(KAFKA, keys.get(CLUSTER), own, programs)
    if simplified is not None:
        names = _read_names(simplified)
        spec = _simplify_cluster(spec, searched, names)
        for row, pairs in values_of_rows(spec):
            if row.field in names:
                _check_simplification(row, pairs, names[row.field])
    return ReadCluster(spec, list_stated(spec, searched))


def _read_under(
    profile: Profile, named: Node | None, own: Keys, programs: Mapping[str, Program]
) -> ClusterSpec:
    """Read a cluster whose unset fields have the values of a profile."""
    base: ClusterSpec | None = None
    if named is not None:
        base = cluster_in(profile, _one_of("cluster", named, CLUSTERS))
    spec: ClusterSpec = _Reading(programs, profile).struct(ClusterSpec, own, base)
    return spec if base is not None else profile.of_brokers(spec, said=_list_set_fields(own))


def _read_names(node: Node) -> dict[str, int]:
    """Read the list of simplifications: each name and its line."""
    names: dict[str, int] = {}
    for item in node.items if isinstance(node, HeadList) else (node,):
        if not isinstance(node, HeadList) or not isinstance(item, Word):
            raise Wrong(node.line, f"{SIMPLIFIED} is a list such as [replication, protocol], or []")
        configured = next((r for r in CHOSEN if r.field == item.text and r.configures), None)
        if configured is not None:
            raise Wrong(
                item.line,
                f"{item.text} is no simplification, because Kafka can be configured so "
                f"({configured.setting}): state its value as a key of its own",
            )
        if item.text not in _ROWS:
            raise Wrong(item.line, not_known("simplification", item.text, _ROWS))
        if item.text in names:
            raise Wrong(item.line, f"{SIMPLIFIED} has {item.text} twice")
        names[item.text] = item.line
    return names


def _simplify_cluster(kafka: ClusterSpec, small: ClusterSpec, names: Container[str]) -> ClusterSpec:
    """Return a cluster like Kafka's with some rows of the same cluster under the profile `small`."""
    pairs = zip(kafka.applications, small.applications, strict=True)
    apps = tuple(_simplify(app, simple, names, _OF_APPLICATIONS) for app, simple in pairs)
    settings = _simplify(kafka.settings, small.settings, names, _OF_BROKERS)
    return _simplify(kafka, small, names, _OF_CLUSTERS).but(applications=apps, settings=settings)


def _simplify(kafka: V, small: V, names: Container[str], rows: tuple[str, ...]) -> V:
    return kafka.but(**{field: getattr(small, field) for field in rows if field in names})


def _check_simplification(row: Row, pairs: Pairs, at: int) -> None:
    """Reject a simplification that changes nothing in a cluster."""
    values = [value for value, kafkas in pairs if kafkas != row.values[1]]
    if not values:
        raise Wrong(
            at,
            f"the simplification {row.field} makes no difference in this cluster, which has nothing that it simplifies "
            f"({row.small}): leave it out",
        )
    if row.values[1] not in values:
        raise Wrong(
            at,
            f"the simplification {row.field} and the {row.field} that the head states contradict each other: "
            f"{row.small}. Leave one of them",
        )


def list_stated(spec: ClusterSpec, searched: ClusterSpec) -> tuple[str, ...]:
    """Return the rows that the profile `small` would change in a cluster, and that its searched form has as it is."""
    small = SMALL.of_cluster(spec)
    found = [
        f"{app.name}.{field}"
        for app, fresh, kept in zip(
            spec.applications, small.applications, searched.applications, strict=True
        )
        for field in _list_differences(app, fresh, kept, _OF_APPLICATIONS)
    ]
    found += _list_differences(spec, small, searched, _OF_CLUSTERS)
    found += _list_differences(spec.settings, small.settings, searched.settings, _OF_BROKERS)
    return tuple(found)


def _list_differences(now: Value, fresh: Value, kept: Value, rows: tuple[str, ...]) -> list[str]:
    return [
        field
        for field in rows
        if getattr(now, field) == getattr(kept, field) != getattr(fresh, field)
    ]


def _list_set_fields(keys: Keys) -> dict[str, int]:
    """Return the fields that a head sets, including those of the brokers' settings, each with its line."""
    inner = keys.get(SETTINGS)
    settings = inner.entries if isinstance(inner, Keys) else ()
    return {name: line for name, line, _ in (*keys.entries, *settings)}


def _check_profile(keys: Keys, spec: ClusterSpec) -> None:
    """Reject a value that Kafka cannot have in a head that declares the cluster to be like Kafka."""
    apps = keys.get(APPLICATIONS)
    of_apps = {name: node for name, _, node in apps.entries} if isinstance(apps, Keys) else {}
    _refuse_simple(spec, _list_set_fields(keys), OF_CLUSTERS, spec)
    _refuse_simple(spec.settings, _list_set_fields(keys), OF_BROKERS, spec)
    for app in spec.applications:
        node = of_apps.get(app.name)
        said = _list_set_fields(node) if isinstance(node, Keys) else {}
        _refuse_simple(app, said, OF_APPLICATIONS, app)


def _refuse_simple(
    holder: Value, said: Mapping[str, int], rows: tuple[Simplification[S], ...], about: S
) -> None:
    for row in rows:
        at = said.get(row.field)
        if row.configures or at is None:
            continue
        if getattr(holder, row.field) == row.values[1] != row.kafkas(about):
            raise Wrong(
                at,
                f"profile {KAFKA.name} and this {row.field} contradict each other: {row.small}. "
                f"Leave the key, or say '{SIMPLIFIED}: [{row.field}]' instead of the profile",
            )


def _one_of(kind: str, node: Node, names: Mapping[str, object]) -> str:
    if not isinstance(node, Word) or node.text not in names:
        text = node.text if isinstance(node, Word) else "[...]"
        raise Wrong(node.line, not_known(kind, text, names))
    return node.text


class _Reading:
    """Values read from the nodes of a head, each by the type of its field."""

    def __init__(self, programs: Mapping[str, Program], profile: Profile) -> None:
        self.programs = programs
        self.profile = profile
        self.special: dict[tuple[type, str], Callable[[Node], Any]] = {
            (ClusterSpec, "placements"): _pairs(self._placement),
            (ClusterSpec, "records"): _pairs(self._records),
            (ClusterSpec, "topic_ids"): _pairs(self._two(str)),
            (ClusterSpec, "min_insync_replicas"): _pairs(self._two(int)),
            (ClusterSpec, "releases"): _pairs(self._release),
            (ClusterSpec, APPLICATIONS): _pairs(self._application),
            (ClusterSpec, "group_configs"): _pairs(self._read_keyed(GroupConfig)),
            (ClusterSpec, "remade"): _pairs(self._read_keyed(Remade)),
            (ClusterSpec, "transactions"): _pairs(self._read_keyed(TransactionRecord)),
            (ClusterSpec, "acls"): _each(_acl),
            (ClusterSpec, "further_acls"): _each(_acl),
            (ApplicationSpec, "program"): self._program,
            (ApplicationSpec, "threads"): _pairs(self._read_keyed(ThreadSpec)),
        }

    def struct(self, kind: type, node: Node, base: Any, **given: Any) -> Any:
        """Read a value of a class: the fields that a map has, and those of a base for the others."""
        if not isinstance(node, Keys):
            raise Wrong(node.line, f"this must be a map of keys: {', '.join(_names(kind, given))}")
        rows = {row.name: row for row in fields(kind) if row.name not in given}
        values = dict(given)
        for name, at, inner in node.entries:
            if name not in rows:
                raise Wrong(at, not_known("key", name, rows))
            special = self.special.get((kind, name))
            if special is not None:
                values[name] = special(inner)
            else:
                before = getattr(base, name) if base is not None else _default(rows[name])
                values[name] = self.value(rows[name].type, inner, name, before)
        if base is not None:
            return base.but(**values)
        missing = [n for n, row in rows.items() if n not in values and row.required]
        if missing:
            raise Wrong(node.line, f"the key {missing[0]!r} is missing")
        return kind(**values)

    def value(self, kind: Any, node: Node, name: str, before: Any = None) -> Any:
        """Read a value of a type."""
        origin = get_origin(kind)
        if origin in (Union, UnionType):
            if isinstance(node, Word) and not node.quoted and node.text == "null":
                return None
            (some,) = (each for each in get_args(kind) if each is not NoneType)
            return self.value(some, node, name, before)
        if origin is tuple:
            return self._tuple(get_args(kind), node, name)
        if issubclass(kind, msgspec.Struct):
            return self.struct(kind, node, before if before is not None else _empty(kind))
        if not isinstance(node, Word):
            raise Wrong(node.line, f"{name} is one value, not a list or a map")
        if issubclass(kind, Enum):
            known = {str(each.value): each for each in kind}
            return known[_one_of(name, node, known)]
        if kind is bool:
            return {"true": True, "false": False}[
                _one_of(f"value of {name}", node, {"true": 1, "false": 1})
            ]
        if kind is int:
            if not is_number(node):
                raise Wrong(node.line, f"{name} must be a whole number, not {node.text!r}")
            return int(node.text)
        return node.text

    def _tuple(self, kinds: tuple[Any, ...], node: Node, name: str) -> tuple[Any, ...]:
        if not isinstance(node, HeadList):
            raise Wrong(node.line, f"{name} is a list such as [one, two]")
        if kinds[-1] is Ellipsis:
            if isinstance(kinds[0], type) and issubclass(kinds[0], msgspec.Struct):
                raise Wrong(node.line, f"{name} is a map, or []")
            return tuple(self.value(kinds[0], each, name) for each in node.items)
        if len(node.items) != len(kinds):
            raise Wrong(node.line, f"{name} must have {len(kinds)} values, not {len(node.items)}")
        pairs = zip(kinds, node.items, strict=True)
        return tuple(self.value(kind, each, name) for kind, each in pairs)

    def _placement(self, partition: str, at: int, node: Node) -> Placement:
        brokers = self._tuple((int, ...), node, f"the placement of {partition}")
        if not brokers:
            raise Wrong(at, f"{partition} needs a leader: {partition}: [leader, other brokers]")
        return Placement(partition, brokers[0], brokers[1:])

    def _records(self, key: str, at: int, node: Node) -> tuple[str, int, tuple[str, ...]]:
        asked = _RECORDS.fullmatch(key)
        if asked is None:
            raise Wrong(at, f"records must be 'src-0 from 100: [a, b]', not {key!r}")
        return asked[1], int(asked[2]), self._tuple((str, ...), node, "records")

    def _two(self, kind: type) -> Callable[[str, int, Node], tuple[str, Any]]:
        return lambda key, _, node: (key, self.value(kind, node, key))

    def _release(self, key: str, at: int, node: Node) -> tuple[int, str]:
        if _BROKER.fullmatch(key) is None:
            raise Wrong(at, f"a broker must be a whole number, not {key!r}")
        return int(key), str(self.value(str, node, key))

    def _read_keyed(self, kind: type) -> Callable[[str, int, Node], Any]:
        first = kind.__struct_fields__[0]  # type: ignore[attr-defined]
        return lambda key, _, node: self.struct(kind, node, None, **{first: key})

    def _application(self, name: str, at: int, node: Node) -> ApplicationSpec:
        if not isinstance(node, Keys):
            raise Wrong(at, f"the application {name} is a map of keys, such as 'program: NAME'")
        like = node.get(LIKE)
        base = None
        if like is not None:
            base = process_in(self.profile, _one_of("process", like, PROCESSES), name)
        own = Keys(at, tuple(entry for entry in node.entries if entry[0] != LIKE))
        app: ApplicationSpec = self.struct(ApplicationSpec, own, base, name=name)
        if base is None:
            return self.profile.of_application(app, said=_list_set_fields(own))
        base = self.profile.for_process(base, app, said=_list_set_fields(own))
        made: ApplicationSpec = self.struct(ApplicationSpec, own, base, name=name)
        return made

    def _program(self, node: Node) -> Program:
        known = {**programs_by_name(), **self.programs}
        return known[_one_of("program", node, known)]


def _names(kind: type, given: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(row.name for row in fields(kind) if row.name not in given)


def _default(row: FieldInfo) -> Any:
    return None if row.default is msgspec.NODEFAULT else row.default


def _empty(kind: type) -> Any:
    """Return a value of a class with its defaults, or None if it has fields without a default."""
    return None if any(row.required for row in fields(kind)) else kind()


def _pairs(read: Callable[[str, int, Node], Any]) -> Callable[[Node], tuple[Any, ...]]:
    def reading(node: Node) -> tuple[Any, ...]:
        if isinstance(node, HeadList) and not node.items:
            return ()
        if not isinstance(node, Keys):
            raise Wrong(node.line, "this must be a map, or [] for none")
        return tuple(read(key, at, inner) for key, at, inner in node.entries)

    return reading


def _each(read: Callable[[int, str], Any]) -> Callable[[Node], tuple[Any, ...]]:
    def reading(node: Node) -> tuple[Any, ...]:
        if not isinstance(node, HeadList):
            raise Wrong(node.line, "this must be a list, or [] for none")
        words = [each for each in node.items if isinstance(each, Word)]
        return tuple(read(each.line, each.text) for each in words)

    return reading


def _acl(at: int, text: str) -> Acl:
    asked = _ACL.fullmatch(text)
    if asked is None:
        raise Wrong(
            at, f"an ACL must be 'app-1 may READ TOPIC src' or with 'must not', not {text!r}"
        )
    if asked[3] not in Operation.__members__:
        raise Wrong(at, not_known("operation", asked[3], Operation.__members__))
    if asked[4] not in Resource.__members__:
        raise Wrong(at, not_known("resource", asked[4], Resource.__members__))
    return Acl(asked[1], Operation(asked[3]), Resource(asked[4]), asked[5], asked[2] == "may")


# -- writing -----------------------------------------------------------------------------------


def write_cluster(
    spec: ClusterSpec, stated: Container[str], programs: dict[Program, str]
) -> dict[str, Plain]:
    """Return the keys of a cluster: its simplifications, the base with the fewest differences, and the differences.

    Args:
        spec: the cluster.
        stated: the rows that the head has to state although they are like Kafka, as `ReadCluster` has them.
        programs: the names of the document's own programs; further ones are added as needed.
    """
    apps = spec.applications
    for app in apps:
        if app.program not in names_of_programs():
            programs.setdefault(app.program, app.name)
    names = tuple(_list_simplified(spec))
    whole = SMALL.of_cluster(spec)
    # A head that would state every row names the profile.
    entire = not names and whole != spec == SMALL.of_cluster(spec, stated)
    kept_rows: Container[str] = () if entire else stated
    said = {}
    for name in CLUSTERS:
        small = cluster_in(SMALL, name)
        base = _simplify_cluster(cluster_in(KAFKA, name), small, names)
        mine = spec.but(applications=base.applications)
        said[name] = _struct(mine, base, _list_kept(spec, small, kept_rows, _OF_CLUSTERS))
        settings = _list_kept(spec.settings, small.settings, kept_rows, _OF_BROKERS)
        inner = _struct(spec.settings, base.settings, settings)
        if inner:
            said[name][SETTINGS] = inner
    own = _shortest(CLUSTER, said)
    if apps:
        own[APPLICATIONS] = {
            app.name: _write_application(app, names, kept_rows, programs) for app in apps
        }
    return {**({PROFILE: KAFKA.name} if entire else {SIMPLIFIED: list(names)}), **own}


def _list_simplified(spec: ClusterSpec) -> Iterator[str]:
    """Yield the rows that a cluster leaves out."""
    for row, pairs in values_of_rows(spec):
        if not row.configures and any(value == row.values[1] != kafkas for value, kafkas in pairs):
            yield row.field


def _list_kept(
    holder: Value, small: Value, stated: Container[str], rows: tuple[str, ...], owner: str = ""
) -> tuple[str, ...]:
    """Return the fields that a head has to state, because a base under the profile `small` has another value."""
    return tuple(
        field
        for field in rows
        if f"{owner}{field}" in stated and getattr(small, field) != getattr(holder, field)
    )


def _write_application(
    app: ApplicationSpec,
    simplified: Container[str],
    stated: Container[str],
    programs: Mapping[Program, str],
) -> dict[str, Plain]:
    named = programs.get(app.program) or names_of_programs()[app.program]
    owner = f"{app.name}."
    said: dict[str, dict[str, Plain]] = {}
    for kind in PROCESSES:
        small = process_in(SMALL, kind, app.name)
        if not _may_start_from(app, small, stated):
            continue
        kafka = KAFKA.for_process(process_in(KAFKA, kind, app.name), app)
        base = _simplify(kafka, small, simplified, _OF_APPLICATIONS)
        kept = _list_kept(app, small, stated, _OF_APPLICATIONS, owner)
        said[kind] = {
            key: named if key == "program" else value
            for key, value in _struct(app, base, kept).items()
        }
    return _shortest(LIKE, said)


def _may_start_from(app: ApplicationSpec, small: ApplicationSpec, stated: Container[str]) -> bool:
    """Return whether searches, which keep what a base states, would change what they have to change."""
    return not any(
        getattr(app, row.field) == getattr(small, row.field) == row.kafkas(app) != row.values[1]
        and f"{app.name}.{row.field}" not in stated
        for row in OF_APPLICATIONS
    )


def _shortest(key: str, said: Mapping[str, dict[str, Plain]]) -> dict[str, Plain]:
    """Return the changes from the base with the fewest differences, the first one of those."""
    lines = {name: len(list(write_head(changes))) for name, changes in said.items()}
    best = min(said, key=lambda name: lines[name])
    return {key: best, **said[best]}


def _struct(value: Value, base: Any, kept: Container[str] = ()) -> dict[str, Plain]:
    """Return the fields in which a value differs from a base, or from its defaults without one, and the `kept` fields."""
    found: dict[str, Plain] = {}
    for row in fields(type(value)):
        mine = getattr(value, row.name)
        before = getattr(base, row.name) if base is not None else row.default
        if mine != before or row.name in kept:
            special = _SPECIAL.get((type(value), row.name))
            found[row.name] = special(mine) if special else _plain(mine, before)
    return found


def _plain(value: Any, before: Any = None) -> Plain:
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, Value):
        same = type(before) is type(value)
        return _struct(value, before if same else _empty(type(value)))
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if value is None or isinstance(value, str | int):
        return value
    raise TypeError(f"a head has no form for {value!r}")


def _keyed_rows(rows: Sequence[Value]) -> Plain:
    found: dict[str, Plain] = {}
    for row in rows:
        first, *_ = row.__struct_fields__
        changes = _struct(row, None)
        key = changes.pop(first)
        found[str(key)] = changes
    return found or []


def _map(rows: Sequence[tuple[Any, ...]]) -> Plain:
    return {str(key): value for key, value in rows} or []


_SPECIAL: dict[tuple[type, str], Callable[[Any], Plain]] = {
    (ClusterSpec, "placements"): lambda rows: (
        {p.partition: [p.leader, *p.others] for p in rows} or []
    ),
    (ClusterSpec, "records"): lambda rows: (
        {f"{name} from {first}": list(values) for name, first, values in rows} or []
    ),
    (ClusterSpec, "topic_ids"): _map,
    (ClusterSpec, "min_insync_replicas"): _map,
    (ClusterSpec, "releases"): _map,
    (ClusterSpec, "group_configs"): _keyed_rows,
    (ClusterSpec, "remade"): _keyed_rows,
    (ClusterSpec, "transactions"): _keyed_rows,
    (ClusterSpec, "acls"): lambda rows: [acl.words for acl in rows] if rows is not None else None,
    (ClusterSpec, "further_acls"): lambda rows: [acl.words for acl in rows],
    (ApplicationSpec, "program"): lambda _: "",
    (ApplicationSpec, "threads"): _keyed_rows,
}
