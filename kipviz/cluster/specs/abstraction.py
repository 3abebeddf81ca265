"""The two profiles of how much of Kafka a cluster leaves out; `simplifications` has the rows.

    kafka-defaults    unset fields are as in Kafka; every new spec starts so
    small             fewer states: the searches use it

A spec holds values and no profile's name. Its profile is derived from its values (`profile_of`), so that the name
always fits the cluster.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import TypeAlias

from kipviz.brokers.settings import BrokerSettings
from kipviz.cluster.specs.simplifications import (
    OF_APPLICATIONS,
    OF_BROKERS,
    OF_CLUSTERS,
    FieldValue,
    Row,
)
from kipviz.cluster.specs.spec import ApplicationSpec, ClusterSpec
from kipviz.core.outside.suggestions import unknown
from kipviz.core.values import Value

_FIELDS = tuple(row.field for row in OF_APPLICATIONS)


class UnknownProfile(ValueError):
    """An unknown name of a profile."""


class Profile(Value, frozen=True):
    """A named choice of simplifications: its name, a sentence, and whether it has the simple values."""

    name: str
    sentence: str
    simple: bool

    def of_application(self, app: ApplicationSpec, said: Container[str] = ()) -> ApplicationSpec:
        """Return an application with this profile's values in place of the other one's.

        Values of neither profile stay, and so do the fields that `said` names.
        """
        rows = ((row.field, row.kafkas(app), row.values[1]) for row in OF_APPLICATIONS)
        return app.but(**dict(self._changes(rows, app, said)))

    def for_process(
        self, base: ApplicationSpec, app: ApplicationSpec, said: Container[str] = ()
    ) -> ApplicationSpec:
        """Return a base with the values that this profile has for the process that was made of it.

        Kafka's value may depend on the process: the producer of a TransactionSession, say, has one batch in flight here.
        What the base has otherwise than the profile stays, and so do the fields that `said` names.
        """
        if self.simple:
            return base
        rows = (row for row in OF_APPLICATIONS if row.field not in said)
        return base.but(
            **{
                row.field: row.kafkas(app)
                for row in rows
                if getattr(base, row.field) == row.kafkas(base)
            }
        )

    def of_brokers(self, spec: ClusterSpec, said: Container[str] = ()) -> ClusterSpec:
        """Return a cluster with this profile's values in place of the other one's, except in its applications."""
        rows = ((row.field, row.kafkas(spec), row.values[1]) for row in OF_CLUSTERS)
        own = dict(self._changes(rows, spec, said))
        return spec.but(settings=self.of_settings(spec.settings, said), **own)

    def of_settings(self, settings: BrokerSettings, said: Container[str] = ()) -> BrokerSettings:
        """Return brokers' settings with this profile's values in place of the other one's."""
        rows = ((row.field, *row.values) for row in OF_BROKERS)
        return settings.but(**dict(self._changes(rows, settings, said)))

    def of_cluster(self, spec: ClusterSpec, said: Container[str] = ()) -> ClusterSpec:
        """Return a cluster and its applications with this profile's values in place of the other one's.

        The fields that `said` names stay: "replication" of the cluster or its brokers, "app-1.protocol" of an application.
        """
        apps = tuple(
            self.of_application(app, {field for field in _FIELDS if f"{app.name}.{field}" in said})
            for app in spec.applications
        )
        return self.of_brokers(spec, said).but(applications=apps)

    def _changes(
        self,
        rows: Iterable[tuple[str, FieldValue, FieldValue]],
        holder: Value,
        said: Container[str],
    ) -> Iterator[tuple[str, FieldValue]]:
        """Yield the fields that change, from rows of a field, Kafka's value and the simple one."""
        for field, *ours in rows:
            now, fresh = getattr(holder, field), ours[self.simple]
            if field not in said and now == ours[not self.simple] and now != fresh:
                yield field, fresh


KAFKA = Profile(
    "kafka-defaults",
    "Everything that the model has of Kafka is as Kafka has it by default.",
    simple=False,
)
SMALL = Profile("small", "Fewer states: the searches run on it.", simple=True)
PROFILES = (KAFKA, SMALL)


def profile_named(name: str) -> Profile:
    """Return a profile by its name.

    Raises:
        UnknownProfile: for an unknown name; the message lists the profiles.
    """
    found = next((profile for profile in PROFILES if profile.name == name), None)
    if found is None:
        raise UnknownProfile(
            unknown("profile", name, [p.name for p in PROFILES], "`kipviz list profiles`")
        )
    return found


class Abstracted(Value, frozen=True):
    """The simplifications of a cluster; only those that make a difference in this cluster are named.

    Attributes:
        profile: `small` if the cluster leaves out at least one thing that the model has.
        left_out: what it leaves out.
        as_in_kafka: what is as in Kafka although the profile `small` leaves it out.
        lacking: what it leaves out because the model has nothing else for such a process.
    """

    profile: Profile
    left_out: tuple[str, ...] = ()
    as_in_kafka: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()

    @property
    def partly(self) -> bool:
        """Whether the cluster leaves out only some of what the profile `small` leaves out of it."""
        return bool(self.left_out and self.as_in_kafka)

    @property
    def name(self) -> str:
        """The profile's name in a few words, with how much of `small` applies if that is not all."""
        if not self.partly:
            return f"abstraction profile {self.profile.name}"
        of = len(self.left_out) + len(self.as_in_kafka)
        return f"{len(self.left_out)} of the {of} simplifications of profile {SMALL.name}"

    @property
    def words(self) -> str:
        """The profile's name, what the cluster leaves out, and what it has in spite of the profile."""
        said = [", ".join(self.left_out)] if self.left_out else []
        if self.partly:
            said.append(f"as in Kafka: {', '.join(self.as_in_kafka)}")
        if self.lacking:
            said.append(f"the model has here no more than: {', '.join(self.lacking)}")
        return f"profile {self.profile.name}{': ' if said else ''}{'; '.join(said)}"


def profile_of(spec: ClusterSpec) -> Abstracted:
    """Return the simplifications of a cluster, derived from its values."""
    left_out: list[str] = []
    as_in_kafka: list[str] = []
    lacking: list[str] = []
    for row, pairs in values_of_rows(spec):
        simple = row.values[1]
        if any(value == simple != kafkas for value, kafkas in pairs):
            left_out.append(row.small)
        elif any(value == simple for value, _ in pairs):
            lacking.append(row.small)
        elif any(value == kafkas for value, kafkas in pairs):
            as_in_kafka.append(row.kafka.format(pairs[0][0]))
    profile = SMALL if left_out else KAFKA
    return Abstracted(profile, tuple(left_out), tuple(as_in_kafka), tuple(lacking))


Pairs: TypeAlias = list[tuple[FieldValue, FieldValue]]


def values_of_rows(spec: ClusterSpec) -> Iterator[tuple[Row, Pairs]]:
    """Yield each row with a cluster's and Kafka's values, for each application where they make a difference."""
    for row in OF_APPLICATIONS:
        apps = [app for app in spec.applications if row.occurs(app)]
        yield row, [(getattr(app, row.field), row.kafkas(app)) for app in apps]
    for holder, rows in ((spec, OF_CLUSTERS), (spec.settings, OF_BROKERS)):
        for of_all in rows:
            pairs = [(getattr(holder, of_all.field), of_all.kafkas(spec))]
            yield of_all, pairs if of_all.occurs(spec) else []
