"""What a page says of a cluster before its first step: its lanes, and one line about its settings."""

from __future__ import annotations

from kipviz.cluster.behaviour.naming import short_name
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.real.rebuilt_cluster import RebuiltModel
from kipviz.cluster.specs.abstraction import profile_of
from kipviz.cluster.specs.spec import ApplicationSpec
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
