"""What an operator may do to a running cluster, besides finalizing a feature's level.

WHERE IN KAFKA: AclControlManager. KIPS: KIP-11, KIP-140 (CreateAcls, DeleteAcls).
NOT MODELLED: that brokers apply a change of the metadata one after the other; filters that delete
  several ACLs at once.
"""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.brokers.authorizer import Acl
from kipviz.cluster.actions import CreateAcls, DeleteAcls
from kipviz.cluster.spec import ClusterSpec
from kipviz.cluster.world import World


def known_acls(spec: ClusterSpec) -> tuple[Acl, ...]:
    """Give the ACLs that an operator of this cluster thinks of, in their order."""
    return tuple(dict.fromkeys((*(spec.acls or ()), *spec.further_acls)))


def acl_changes(spec: ClusterSpec, world: World) -> Iterator[CreateAcls | DeleteAcls]:
    """Give what an operator may do to the ACLs now; without any everything is allowed for good."""
    now = world.image.acls
    if now is not None:
        for acl in known_acls(spec):
            yield DeleteAcls(acl) if acl in now else CreateAcls(acl)


def why_no_acl_change(
    spec: ClusterSpec, world: World, action: CreateAcls | DeleteAcls
) -> str | None:
    """Say why an operator does not create or delete an ACL now."""
    acl, now = action.acl, world.image.acls
    if now is None:
        return "this cluster has no ACLs: everything is allowed"
    if acl not in known_acls(spec):
        return f"nobody here thinks of the ACL '{acl.words}' (settings acls and further_acls)"
    if isinstance(action, CreateAcls):
        return f"there is an ACL '{acl.words}' already" if acl in now else None
    return None if acl in now else f"there is no ACL '{acl.words}' to delete"


def created(spec: ClusterSpec, now: tuple[Acl, ...], acl: Acl) -> tuple[Acl, ...]:
    """Give the ACLs with one more, in the operator's order: equal rights are equal worlds."""
    return tuple(known for known in known_acls(spec) if known in now or known == acl)


def deleted(now: tuple[Acl, ...], acl: Acl) -> tuple[Acl, ...]:
    """Give the ACLs without one."""
    return tuple(known for known in now if known != acl)
