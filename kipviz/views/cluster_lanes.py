"""What a page says of a cluster before its first step: its lanes, and one line about its settings."""

from __future__ import annotations

from collections.abc import Sequence

from kipviz.cluster.behaviour.naming import short_name
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.real.rebuilt_cluster import RebuiltModel
from kipviz.cluster.specs.abstraction import profile_of
from kipviz.cluster.specs.spec import ApplicationSpec
from kipviz.designs.design import Design
from kipviz.scenarios.library import is_scenario
from kipviz.scenarios.library import scenario as scenario_named
from kipviz.scenarios.scenario import Scenario, at_levels
from kipviz.scenarios.setting_changes import is_searched
from kipviz.views.role_cards.card_rows import NAMELESS
from kipviz.views.role_cards.real_clients import lanes as lanes_of_clients


def spec_line(model: ClusterModel) -> str:
    """Return what a cluster is, in one line."""
    spec = model.spec
    if isinstance(model, RebuiltModel):
        return f"rebuilt from logs: {len(model.entries):,} batches"
    clock = spec.clock.words
    if not spec.clock.timed:
        clock = f"{clock}: a timer may expire at any moment"
    return (
        f"Kafka {spec.kafka_version} · transaction version {spec.transaction_version} · "
        f"replication {spec.replication} · {clock} · {profile_of(spec).name}"
    )


def list_left_out(scenario: Scenario, design: Design, settings: Sequence[str]) -> tuple[str, ...]:
    """Return what the cluster of a run leaves out, if the run is on the cluster of searches and its story is not.

    `scenario` has the run's cluster, and `settings` are the changes that made it. A story that is found by no name has no
    other cluster to compare with.
    """
    if not is_searched(settings):
        return ()
    left_out = profile_of(at_levels(scenario.spec, design)).left_out
    if not is_scenario(scenario.name):
        return left_out
    own = profile_of(at_levels(scenario_named(scenario.name).spec, design)).left_out
    return left_out if left_out != own else ()


def list_lanes(model: ClusterModel) -> list[tuple[str, str, str]]:
    """Return every lane: its id, its title, and the text of its head at the start."""
    return [*lanes_of_clients(model), *lanes_of_spec(model)]


def lanes_of_spec(model: ClusterModel) -> list[tuple[str, str, str]]:
    """Return the lanes of the model's own hosts, whose heads change after a crash or a leader change."""
    lanes = [(app.name, app.name, _sub(app)) for app in model.spec.applications]
    leads = {b: list[str]() for b in model.spec.brokers}
    for placement in model.spec.placements:
        leads[placement.leader].append(short_name(placement.partition))
    return [*lanes, *((f"B{b}", f"Broker {b}", ", ".join(leads[b])) for b in leads)]


def _sub(app: ApplicationSpec) -> str:
    if app.admin:
        return "admin client"
    return f"{app.transactional_id or NAMELESS} · {app.member_id}"
