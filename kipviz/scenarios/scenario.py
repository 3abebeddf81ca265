"""A scenario: a cluster, a story on it, and what each design makes of the story."""

from __future__ import annotations

from kipviz.brokers.settings import BrokerSettings
from kipviz.clients.application import STAGING
from kipviz.clients.calls import OF_SESSIONS
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.specs.spec import (
    TRANSACTION_TIMEOUT_MS,
    ApplicationSpec,
    BadSpec,
    ClusterSpec,
    FaultBudget,
)
from kipviz.core.field_types import why_not_as_declared
from kipviz.core.trace import Trace
from kipviz.core.values import Value
from kipviz.designs.design import Design
from kipviz.properties.atomic import Atomic
from kipviz.properties.pending import NothingPending
from kipviz.properties.verdict import Property
from kipviz.scenarios.script import Beat, Chapter, play
from kipviz.scenarios.teaching_notes import Checkpoint, Watch

PROPERTIES: tuple[Property, ...] = (Atomic(), NothingPending())


# What a design may have another default of: transaction.timeout.ms of every producer.
TIMEOUT = "transaction_timeout_ms"


class Unplayable(ValueError):
    """A scenario under a design that lacks what its story is about."""


class Choice(Value, frozen=True):
    """One answer to a question, whether it is right, and what to say to it."""

    text: str
    right: bool
    say: str


class Question(Value, frozen=True):
    """What a learner is asked before the beat of that number is played."""

    beat: int
    text: str
    choices: tuple[Choice, ...]


def at_levels(spec: ClusterSpec, design: Design) -> ClusterSpec:
    """Give a cluster at the feature levels, and with the settings, that a design stands for.

    A default of the producer is that of every application which leaves it as Kafka has it.
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
    return not app.two_phase_commit and app.transaction_timeout_ms == TRANSACTION_TIMEOUT_MS


class Scenario(Value, frozen=True):
    """A story that can be played under any design.

    `lanes` are the hosts to show first, at most four. `designs` are those it was written for,
    the first one is the default. `clause` says where the story comes from. `watch` and
    `checkpoints` are what it is taught with. `untold` stands in place of a title that tells the
    answer, until the question was answered.
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

    def model(self, design: Design, budget: FaultBudget | None = None) -> ClusterModel:
        """Give the scenario's cluster under a design, with another fault budget if one is given.

        Raises:
            Unplayable: if the story stages acknowledgements, or has a TransactionSession, and the
                design has no such thing.
            BadSpec: if a field of the scenario is not of its type, or the cluster cannot be.
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
        return ClusterModel(spec, design.broker_rules(), design.client_rules())

    def play(self, design: Design) -> tuple[Trace, tuple[Chapter, ...]]:
        """Play the whole story under a design.

        Raises:
            ScriptError: if the design makes an instruction of the story impossible.
        """
        model = self.model(design)
        return play(Trace.start(model, PROPERTIES), model, self.beats)
