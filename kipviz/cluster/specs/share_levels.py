"""The finalized level of share.version when a cluster starts, and the levels that a spec may set.

WHERE IN KAFKA: ShareVersion (0: no share groups, 1: KIP-932, 2: dead-letter queues of KIP-1191). KIP-1289 (draft) adds
what the model has as level 3 (finding X9).
"""

from __future__ import annotations

from kipviz.cluster.specs.spec import SHARE_VERSION, ClusterSpec
from kipviz.messages.cluster.features import SHARE_GROUP_LEVEL, STAGING_LEVEL
from kipviz.messages.cluster.releases import release


def share_level(spec: ClusterSpec) -> int:
    """Return the finalized level: the highest that all releases support, unless the spec sets a lower one."""
    binaries = (release(name).share_version for _, name in spec.releases)
    known = spec.share_rollout or min(binaries, default=STAGING_LEVEL)
    return min(known, spec.share_version) if spec.share_version < SHARE_VERSION else known


def why_no_share_version(spec: ClusterSpec) -> str:
    """Return why a cluster cannot start with its level of share.version, or ""."""
    if not 0 <= spec.share_version <= SHARE_VERSION:
        return f"share_version must be 0, 1 or {SHARE_VERSION}, not {spec.share_version}"
    if spec.share_rollout not in (0, STAGING_LEVEL - 1, STAGING_LEVEL):
        return (
            "share_rollout, the share.version at which a rollout of KIP-1289 begins, must be "
            f"{STAGING_LEVEL - 1}, {STAGING_LEVEL}, or 0 without a rollout, not {spec.share_rollout}"
        )
    if spec.share_rollout and spec.share_version < SHARE_VERSION:
        return (
            f"a rollout of KIP-1289 begins at share.version {spec.share_rollout} (share_rollout): leave "
            f"share_version at {SHARE_VERSION}, not {spec.share_version}"
        )
    if spec.staging_level not in (SHARE_VERSION, STAGING_LEVEL):
        return f"staging_level must be 2 (the draft's) or 3, not {spec.staging_level}"
    given = [a.name for a in spec.members if a.share and not a.protocol]
    if given and share_level(spec) < SHARE_GROUP_LEVEL:
        return (
            f"{given[0]} is in its share group before the run, which takes share.version 1: raise "
            "share_version, or let it join with its first poll (protocol 'share')"
        )
    return ""
