"""An operator's changes to a running cluster: levels of features, releases of brokers, ACLs.

WHERE IN KAFKA: FeatureControlManager, ClusterControlManager, AclControlManager.
KIPS: KIP-584 (features), KIP-631 (registration), KIP-11 and KIP-140 (CreateAcls, DeleteAcls).
NOT MODELLED: that brokers apply a change of the metadata one after the other; filters that delete several ACLs at once
(an admin client does that: acl_administration); controllers of another release than the brokers; the return of leaders
to a restarted broker (MoveLeader does it).
"""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.brokers.authorizer import Acl
from kipviz.brokers.context import Image
from kipviz.clients.application import STAGING
from kipviz.cluster.actions import CreateAcls, DeleteAcls, InstallRelease, UpgradeFeature
from kipviz.cluster.specs.spec import SHARE_VERSION, TRANSACTION_VERSIONS, ClusterSpec
from kipviz.cluster.world import World
from kipviz.messages.cluster.features import STAGING_LEVEL
from kipviz.settings.broker_configs import TRANSACTION_VERSION

INTER_BROKER_PROTOCOL = "inter_broker_protocol"


def known_acls(spec: ClusterSpec) -> tuple[Acl, ...]:
    """Return the ACLs that an operator of this cluster may create, in their order."""
    return tuple(dict.fromkeys((*(spec.acls or ()), *spec.further_acls)))


def acl_changes(spec: ClusterSpec, world: World) -> Iterator[CreateAcls | DeleteAcls]:
    """Return the possible changes of ACLs; without any ACLs everything is allowed for good."""
    now = world.image.acls
    if now is not None:
        for acl in known_acls(spec):
            yield DeleteAcls(acl) if acl in now else CreateAcls(acl)


def why_no_acl_change(
    spec: ClusterSpec, world: World, action: CreateAcls | DeleteAcls
) -> str | None:
    """Return why an operator cannot create or delete an ACL now."""
    acl, now = action.acl, world.image.acls
    if now is None:
        return "this cluster has no ACLs: everything is allowed"
    if acl not in known_acls(spec):
        return f"the ACL '{acl.words}' is not among this cluster's ACLs (settings acls and further_acls)"
    if isinstance(action, CreateAcls):
        return f"the ACL '{acl.words}' already exists" if acl in now else None
    return None if acl in now else f"there is no ACL '{acl.words}' to delete"


def add_acl(spec: ClusterSpec, now: tuple[Acl, ...], acl: Acl) -> tuple[Acl, ...]:
    """Return the ACLs with one more."""
    return order_acls(spec, (*now, acl))


def order_acls(spec: ClusterSpec, acls: tuple[Acl, ...]) -> tuple[Acl, ...]:
    """Return ACLs in the operator's order, others after them: equal rights are equal worlds."""
    known = known_acls(spec)
    others = sorted((acl for acl in dict.fromkeys(acls) if acl not in known), key=lambda a: a.words)
    return (*(acl for acl in known if acl in acls), *others)


def remove_acl(now: tuple[Acl, ...], acl: Acl) -> tuple[Acl, ...]:
    """Return the ACLs without one."""
    return tuple(known for known in now if known != acl)


# -- feature levels ------------------------------------------------------------------------------


def upgrades(spec: ClusterSpec, world: World) -> Iterator[UpgradeFeature]:
    """Return the levels that an operator may finalize; transactional acknowledgements require version 2."""
    wanted: list[UpgradeFeature] = []
    if spec.share_rollout:
        wanted += [UpgradeFeature("share_version", n) for n in (STAGING_LEVEL - 1, STAGING_LEVEL)]
    elif spec.share_version < SHARE_VERSION:
        above = range(world.image.features.share_version + 1, SHARE_VERSION + 1)
        wanted += [UpgradeFeature("share_version", level) for level in above]
    if not any(line.call in STAGING for app in spec.applications for line in app.program):
        wanted += [UpgradeFeature("transaction_version", level) for level in TRANSACTION_VERSIONS]
    if not spec.inter_broker_protocol:
        wanted.append(UpgradeFeature(INTER_BROKER_PROTOCOL, 1))
    features, image = world.image.features, world.image
    for action in wanted:
        same = action.level == getattr(features, action.feature)
        if not same and not image.unsupporting(action.feature, action.level):
            yield action


def why_no_upgrade(spec: ClusterSpec, world: World, a: UpgradeFeature) -> str | None:
    """Return why a level cannot be finalized now.

    Clause: KIP-584; the controller checks what every registered broker supports.
    """
    if a in upgrades(spec, world):
        return None
    if a.feature == "share_version":
        levels = f"{STAGING_LEVEL - 1} or {STAGING_LEVEL}"
        where = f"share.version goes to {levels} in a rollout (setting share_rollout), if it is not there"
        if spec.share_version < SHARE_VERSION:
            where = f"share.version goes up from {spec.share_version} (share_version) to {SHARE_VERSION} at most"
        asked = spec.share_rollout or spec.share_version < SHARE_VERSION
        return (_not_supported(world.image, a) if asked else None) or where
    if a.feature == INTER_BROKER_PROTOCOL and not spec.inter_broker_protocol:
        once = "inter.broker.protocol.version goes up once, to 1"
        return _not_supported(world.image, a) or once
    if a.feature != "transaction_version" or a.level not in TRANSACTION_VERSIONS:
        levels = ", ".join(map(str, TRANSACTION_VERSIONS))
        return f"transaction_version can be finalized at {levels}, not {a.feature} at {a.level}"
    if a.level == world.image.features.transaction_version:
        return f"{TRANSACTION_VERSION.name} {a.level} is already finalized"
    lacking = _not_supported(world.image, a)
    return lacking or "acknowledgements are staged here, which takes transaction version 2"


def _not_supported(image: Image, a: UpgradeFeature) -> str | None:
    lacking = image.unsupporting(a.feature, a.level)
    if not lacking:
        return None
    known = image.release_of(lacking[0])
    feature = a.feature.replace("_", ".")
    return (
        f"broker {lacking[0]} has {known.name}, which knows {feature} up to "
        f"{known.supports(a.feature)}: the controller does not finalize {a.level}"
    )


# -- releases ------------------------------------------------------------------------------------


def installations(spec: ClusterSpec, world: World) -> Iterator[InstallRelease]:
    """Return the releases that an operator may install now."""
    for broker, name in world.image.releases:
        for binary in spec.binaries:
            if binary != name:
                yield InstallRelease(broker, binary)


def why_no_installation(spec: ClusterSpec, world: World, a: InstallRelease) -> str | None:
    """Return why a release cannot be installed on a broker now."""
    if a in installations(spec, world):
        return None
    if not spec.binaries:
        return "this cluster has no other release to install (setting binaries)"
    if a.broker not in spec.brokers:
        return f"there is no broker {a.broker}"
    if world.image.release_of(a.broker).name == a.release:
        return f"broker {a.broker} already runs {a.release}"
    return f"a release to install must be one of {', '.join(spec.binaries)}, not {a.release}"


def set_release(
    now: tuple[tuple[int, str], ...], broker: int, name: str
) -> tuple[tuple[int, str], ...]:
    """Return the brokers' releases after one of them got another."""
    return tuple((each, name if each == broker else known) for each, known in now)


def why_not_registered(image: Image, broker: int) -> str | None:
    """Return why the controller rejects a broker that starts: it has to support the finalized levels.

    Clause: KIP-584; ClusterControlManager.registerBroker.
    """
    known = image.release_of(broker)
    for feature in ("transaction_version", "share_version"):
        level, most = getattr(image.features, feature), known.supports(feature)
        if level > most:
            return (
                f"broker {broker} has {known.name}, which knows {feature.replace('_', '.')} up to "
                f"{most}, and {level} is finalized: the controller does not register it"
            )
    return None
