"""A scenario: a cluster, a story on it, and the effect of each design on the story."""

from __future__ import annotations

from typing import Self

from kipviz.brokers.settings import BrokerSettings
from kipviz.clients.application import STAGING
from kipviz.clients.calls import OF_SESSIONS
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.real.served_run import ServedModel
from kipviz.cluster.specs.abstraction import SMALL
from kipviz.cluster.specs.spec import (
    ApplicationSpec,
    BadSpec,
    ClusterSpec,
    FaultBudget,
)
from kipviz.core.field_types import why_not_as_declared
from kipviz.core.model import Model
from kipviz.core.traces.trace import Trace
from kipviz.core.values import Value
from kipviz.designs.design import Design
from kipviz.properties.atomic import Atomic
from kipviz.properties.pending import NothingPending
from kipviz.properties.verdict import Property
from kipviz.scenarios.script import Beat, Chapter, play
from kipviz.scenarios.teaching_notes import Checkpoint, Watch
from kipviz.settings.client_configs import TRANSACTION_TIMEOUT_MS

PROPERTIES: tuple[Property, ...] = (Atomic(), NothingPending())


def properties_of(model: Model) -> tuple[Property, ...]:
    """Return the properties by which the runs of a model are judged.

    Where only real clients work, "atomic" is not among them: their records do not say from which source record they were
    made, so the model cannot know whether a record has a committed output.
    """
    if isinstance(model, ServedModel) and not model.spec.applications:
        return tuple(each for each in PROPERTIES if not isinstance(each, Atomic))
    return PROPERTIES


# The setting whose default can differ in a design: transaction.timeout.ms of every producer.
TIMEOUT = "transaction_timeout_ms"


class Unplayable(ValueError):
    """The design lacks what the scenario's story needs."""


class Choice(Value, frozen=True):
    """One answer to a question, whether it is right, and the comment on it."""

    text: str
    right: bool
    say: str


class Question(Value, frozen=True):
    """A question to the learner before the beat with the given number."""

    beat: int
    text: str
    choices: tuple[Choice, ...]


def at_levels(spec: ClusterSpec, design: Design) -> ClusterSpec:
    """Return a cluster with the feature levels and the settings of a design.

    A default of the producer applies to every application that keeps Kafka's default.
    """
    for name, level in design.levels:
        if name == TIMEOUT:
            spec = spec.but(
                applications=tuple(
                    a.but(transaction_timeout_ms=level) if _leaves_timeout(a) else a
                    for a in spec.applications
                )
            )
        elif name in BrokerSettings.__struct_fields__:
            spec = spec.but(settings=spec.settings.but(**{name: level}))
        else:
            spec = spec.but(**{name: level})
    return spec


def _leaves_timeout(app: ApplicationSpec) -> bool:
    return not app.two_phase_commit and app.transaction_timeout_ms == TRANSACTION_TIMEOUT_MS.default


class Scenario(Value, frozen=True):
    """A story that can be played under any design.

    `lanes` are the hosts to show first, at most four. `designs` are those for which it was written; the first one is
    the default. `clause` is the source of the story. `watch` and `checkpoints` are its teaching material. `untold`
    replaces a title that gives the answer away, until the question is answered.

    `spec` is the cluster that is stepped; `searched` is the same one under the profile `small`. `stated` names what is
    not simplified there because the story is about it, "replication" or "app-1.max_in_flight".
    """

    name: str
    title: str
    sentence: str
    clause: str
    spec: ClusterSpec
    beats: tuple[Beat, ...]
    lanes: tuple[str, ...]
    designs: tuple[str, ...]
    question: Question | None = None
    watch: tuple[Watch, ...] = ()
    checkpoints: tuple[Checkpoint, ...] = ()
    untold: str = ""
    stated: tuple[str, ...] = ()

    @property
    def searched(self) -> Self:
        """The scenario with the cluster on which searches run: fewer states, under the profile `small`."""
        return self.but(spec=SMALL.of_cluster(self.spec, self.stated))

    @property
    def listed_title(self) -> str:
        """The title where the question is not answered yet, as in a list of stories."""
        return self.untold or self.title

    def model(self, design: Design, budget: FaultBudget | None = None) -> ClusterModel:
        """Return the scenario's cluster under a design, optionally with another fault budget.

        Raises:
            Unplayable: if the story stages acknowledgements, or has a TransactionSession, and the design has none.
            BadSpec: if a field of the scenario has the wrong type, or the cluster is not valid.
        """
        wrong = why_not_as_declared(self, Scenario, "the scenario")
        if wrong:
            raise BadSpec(f"a field of the scenario has the wrong type: {wrong}")
        calls = {line.call for app in self.spec.applications for line in app.program}
        stages = not calls.isdisjoint(STAGING)
        if not design.sessions and not calls.isdisjoint(OF_SESSIONS):
            raise Unplayable(
                f"{self.name} has a TransactionSession, which design {design.name} does not have; "
                f"play it under {', '.join(self.designs)}"
            )
        if stages and not design.stages_shares:
            raise Unplayable(
                f"{self.name} stages share-group acknowledgements in a transaction, which design "
                f"{design.name} does not have; play it under {', '.join(self.designs)}"
            )
        spec = self.spec if budget is None else self.spec.but(budget=budget)
        spec = at_levels(spec, design)
        return design.model(spec)

    def play(self, design: Design) -> tuple[Trace, tuple[Chapter, ...]]:
        """Play the whole story under a design.

        Raises:
            ScriptError: if the design makes an instruction of the story impossible.
        """
        model = self.model(design)
        return play(Trace.start(model, PROPERTIES), model, self.beats)
