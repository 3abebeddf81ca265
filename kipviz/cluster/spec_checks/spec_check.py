"""Validation of a cluster: its brokers, topics, groups, rights, releases, clock and applications."""

from __future__ import annotations

from kipviz.brokers.authorizer import SUPPORTED
from kipviz.brokers.settings import (
    READ_COMMITTED,
    READ_UNCOMMITTED,
    GroupConfig,
    why_no_group,
)
from kipviz.cluster.network.partition_sides import why_no_splits
from kipviz.cluster.spec_checks.application_check import check_application
from kipviz.cluster.spec_checks.topic_lists import why_no_coming_topics
from kipviz.cluster.specs import spec_limits
from kipviz.cluster.specs.share_levels import share_level, why_no_share_version
from kipviz.cluster.specs.spec import (
    INSTANT,
    STEPWISE,
    TRANSACTION_VERSIONS,
    BadSpec,
    ClusterSpec,
)
from kipviz.cluster.timing.clock import why_no_clock
from kipviz.cluster.timing.duration_limits import why_no_durations
from kipviz.messages.cluster.releases import NAMES, release
from kipviz.records.placement import INTERNAL_TOPICS, topic_of
from kipviz.settings.broker_configs import TRANSACTION_VERSION
from kipviz.settings.topic_configs import MIN_INSYNC_REPLICAS, SHARE_ISOLATION_LEVEL


def check(spec: ClusterSpec) -> None:
    """Reject an impossible cluster, with one sentence.

    Raises:
        BadSpec: what is wrong and what is allowed.
    """
    wrong = spec_limits.why_no_type(spec)
    if wrong:
        raise BadSpec(wrong)
    if not spec.brokers or len(set(spec.brokers)) != len(spec.brokers):
        raise BadSpec(f"brokers must be at least one number, and all different, not {spec.brokers}")
    if spec.replication not in (INSTANT, STEPWISE):
        raise BadSpec(f"replication must be instant or stepwise, not {spec.replication!r}")
    wrong = spec_limits.why_no_names(spec)
    wrong = wrong or spec_limits.why_out_of_range(spec_limits.OF_CLUSTERS, spec)
    if wrong:
        raise BadSpec(wrong)
    placed = {p.partition for p in spec.placements}
    for placement in spec.placements:
        unknown = [b for b in (placement.leader, *placement.others) if b not in spec.brokers]
        if unknown:
            raise BadSpec(
                f"{placement.partition} is placed on broker {unknown[0]}, "
                f"but the brokers are {', '.join(map(str, spec.brokers))}"
            )
    for partition, first, _ in spec.records:
        if partition not in placed or first < 0:
            raise BadSpec(
                f"records must be in placed partitions at offset 0 or later, "
                f"not in {partition} from {first}"
            )
    _check_topics(spec)
    if spec.transaction_version not in TRANSACTION_VERSIONS:
        raise BadSpec(
            f"{TRANSACTION_VERSION.name} must be one of {', '.join(map(str, TRANSACTION_VERSIONS))}, "
            f"not {spec.transaction_version}"
        )
    wrong = why_no_share_version(spec)
    if wrong:
        raise BadSpec(wrong)
    for config in spec.group_configs:
        _check_group(spec, config)
    if spec.clock.timed and spec.budget.pause:
        raise BadSpec("a timed clock has pauses of its own (pause_max_ms): leave pause at 0")
    settings = spec_limits.why_no_settings(spec.settings) or why_no_splits(spec)
    settings = settings or spec_limits.why_no_retention(spec)
    wrong = why_no_clock(spec.clock) or settings or why_no_durations(spec.durations) or ""
    if wrong:
        raise BadSpec(wrong)
    _check_acls(spec)
    _check_releases(spec)
    for application in spec.applications:
        check_application(spec, application, placed)
    wrong = spec_limits.why_no_transactions(spec) or spec_limits.why_no_numbers(spec)
    if wrong:
        raise BadSpec(wrong)


def _check_acls(spec: ClusterSpec) -> None:
    if spec.further_acls and spec.acls is None:
        raise BadSpec("ACLs can be created where there are some: give the cluster acls, or ()")
    for acl in (*(spec.acls or ()), *spec.further_acls):
        if acl.operation not in SUPPORTED[acl.resource]:
            known = ", ".join(SUPPORTED[acl.resource])
            raise BadSpec(
                f"an ACL of a {acl.resource.value} is for {known}, not for {acl.operation.value}"
            )


def _check_releases(spec: ClusterSpec) -> None:
    """Reject brokers without a release, and releases that do not support the finalized levels."""
    named = tuple(broker for broker, _ in spec.releases)
    if spec.releases and sorted(named) != sorted(spec.brokers):
        raise BadSpec(f"either no broker has a release or each has one, not {named}")
    if spec.binaries and not spec.releases:
        raise BadSpec(
            "binaries lists releases to install: set releases, too, so that each broker starts with one"
        )
    levels = (
        ("transaction_version", spec.transaction_version),
        ("share_version", share_level(spec)),
        ("inter_broker_protocol", spec.inter_broker_protocol),
    )
    for broker, name in (*spec.releases, *((0, name) for name in spec.binaries)):
        if name not in NAMES:
            raise BadSpec(f"a release must be one of {', '.join(NAMES)}, not {name!r}")
        for feature, level in levels if broker else ():
            most = release(name).supports(feature)
            if most < level:
                raise BadSpec(
                    f"broker {broker} has {name}, which knows {feature.replace('_', '.')} up to "
                    f"{most}, and {level} is finalized"
                )


def _check_topics(spec: ClusterSpec) -> None:
    if spec.inter_broker_protocol not in (0, 1):
        raise BadSpec(
            f"inter_broker_protocol must be 0 (below KIP-447) or 1, not {spec.inter_broker_protocol}"
        )
    if spec.txn_offset_commit not in (5, 6):
        raise BadSpec(
            f"txn_offset_commit, the brokers' newest version of TxnOffsetCommit, must be 5 or 6, not {spec.txn_offset_commit}"
        )
    topics = {topic_of(p.partition) for p in spec.placements} | set(INTERNAL_TOPICS)
    for topic, least in spec.min_insync_replicas:
        if topic not in topics or least < 1:
            raise BadSpec(
                f"{MIN_INSYNC_REPLICAS.name} must be at least 1 and for a topic that exists, not {least} of {topic}"
            )
    for remade in spec.remade:
        if remade.topic not in dict(spec.topic_ids):
            raise BadSpec(f"{remade.topic} cannot be created again: it does not exist")
    wrong = why_no_coming_topics(
        tuple(topic for topic, _ in spec.topic_ids if topic in topics - set(INTERNAL_TOPICS)),
        spec.deletable_topics,
        spec.later_topics,
        tuple(each.topic for each in spec.remade),
        tuple(topic_of(p) for p, _, values in spec.records if values),
    )
    if spec.topic_ids_from not in (6, 7):
        wrong = f"TxnOffsetCommit has topic ids from version 6 or 7, not {spec.topic_ids_from}"
    if wrong:
        raise BadSpec(wrong)


def _check_group(spec: ClusterSpec, config: GroupConfig) -> None:
    name, topic = config.group_id, config.dead_letter_topic
    wrong = why_no_group(config, spec.settings, dict(spec.topic_ids), dated=spec.clock.stamps)
    if wrong:
        raise BadSpec(wrong)
    if config.isolation_level not in (READ_COMMITTED, READ_UNCOMMITTED):
        raise BadSpec(
            f"{SHARE_ISOLATION_LEVEL.name} of {name} must be {READ_COMMITTED} or {READ_UNCOMMITTED}, "
            f"not {config.isolation_level!r}"
        )
    wrong = spec_limits.why_no_own_limits(config)
    if wrong:
        raise BadSpec(wrong)
    if topic.startswith("__"):
        raise BadSpec(
            f"the dead-letter topic of {name} must not be an internal topic such as {topic!r}"
        )
