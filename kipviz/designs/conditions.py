"""What a cluster must have for a slot's question to arise, one condition each.

A design answers every slot; where a question cannot arise, no page asks it and no search varies it.
"""

from __future__ import annotations

from kipviz.clients.application import STAGING, Call
from kipviz.clients.calling.producer_calls import KEEP_PREPARED_TXN
from kipviz.clients.operators.group_calls import RESETTING
from kipviz.cluster.specs.spec import ClusterSpec


def has_session(spec: ClusterSpec) -> bool:
    """Return whether a process has a TransactionSession."""
    return any(a.session is not None for a in spec.applications)


def has_session_beside_id(spec: ClusterSpec) -> bool:
    """Return whether a program makes a producer with a transactional.id for a session."""
    lines = (line for a in spec.applications for line in a.program)
    return any(line.call is Call.NEW_PRODUCER and line.target for line in lines)


def has_session_of_threads(spec: ClusterSpec) -> bool:
    """Return whether several threads of a process use one session."""
    return any(a.session is not None and a.threads for a in spec.applications)


def changes_start_offsets(spec: ClusterSpec) -> bool:
    """Return whether an operator changes or deletes a share group's start offsets."""
    return any(line.call in RESETTING for a in spec.applications for line in a.program)


def prepares_staged(spec: ClusterSpec) -> bool:
    """Return whether a program stages acknowledgements in a transaction that it prepares."""
    calls = [{line.call for line in a.program} for a in spec.applications]
    return any(Call.PREPARE_TRANSACTION in c and not c.isdisjoint(STAGING) for c in calls)


def stages_explicitly(spec: ClusterSpec) -> bool:
    """Return whether the records of a share consumer in explicit mode are staged."""
    return any(
        a.explicit and any(line.call in STAGING for line in a.program) for a in spec.applications
    )


def drains(spec: ClusterSpec) -> bool:
    """Return whether a program drains decisions for a transaction."""
    return any(line.call is Call.DRAIN for a in spec.applications for line in a.program)


def holds_several_partitions(spec: ClusterSpec) -> bool:
    """Return whether a share consumer holds records of several partitions."""
    return any(a.gathers for a in spec.applications)


def maintains_state(spec: ClusterSpec) -> bool:
    """Return whether share coordinators maintain their logs: cold snapshots and pruning."""
    return spec.settings.state_upkeep


def has_group_ids(spec: ClusterSpec) -> bool:
    """Return whether producers are configured with their group's id."""
    return spec.transactional_group_id


def remakes_topics(spec: ClusterSpec) -> bool:
    """Return whether topics are deleted and created again, and producers know their ids."""
    return bool(spec.remade) and spec.look_up_topics


def is_gated(spec: ClusterSpec) -> bool:
    """Return whether not all brokers know of members yet."""
    return not spec.inter_broker_protocol


def has_members_that_join(spec: ClusterSpec) -> bool:
    """Return whether members join and leave."""
    return any(a.protocol for a in spec.applications)


def has_heartbeats(spec: ClusterSpec) -> bool:
    """Return whether a producer or a session has a heartbeat interval."""
    sessions = (a.session for a in spec.applications if a.session is not None)
    beating = any(a.heartbeat_interval_ms > 0 for a in spec.applications)
    return beating or any(session.heartbeat_interval_ms > 0 for session in sessions)


def keeps_prepared(spec: ClusterSpec) -> bool:
    """Return whether a program keeps a prepared transaction."""
    return any(line.target == KEEP_PREPARED_TXN for a in spec.applications for line in a.program)
