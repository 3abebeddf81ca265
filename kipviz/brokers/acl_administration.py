"""An operator's requests that list, create and delete ACLs, several at once.

WHO: every broker (KafkaApis). It forwards changes to the controller and waits for the response.
WHERE IN KAFKA: AclApis, StandardAuthorizer, AclControlManager.
KIPS: KIP-11, KIP-140 (the three requests), KIP-290 (patterns of names).
DURABILITY: ACLs are metadata of the cluster.
NOT MODELLED: hosts (every ACL is for all of them); the round trip of a change to the controller; the time until each
broker learns of it; operations and resources that no modelled request asks for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from kipviz.brokers.authorizer import CLUSTER_NAME, Acl
from kipviz.brokers.checks import Check, Checks, compare, error_of, in_order, report_value
from kipviz.brokers.context import Context, Effects, Reply, ReplyTo
from kipviz.brokers.handling import takes
from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.core.model import Event
from kipviz.messages.apis.catalogue import reject_request
from kipviz.messages.apis.rights import Operation, Resource
from kipviz.messages.cluster.acls import (
    PREFIXED,
    USER,
    WILDCARD,
    AclEntry,
    CreateAcls,
    CreateAclsResponse,
    DeleteAcls,
    DeleteAclsResponse,
    DeletedByFilter,
    DescribeAcls,
    DescribeAclsResponse,
    pattern_of,
)
from kipviz.messages.errors import Errors
from kipviz.messages.events import AclsChanged
from kipviz.messages.message import Message

AboutAcls: TypeAlias = DescribeAcls | CreateAcls | DeleteAcls


def entry_of(acl: Acl) -> AclEntry:
    """Return an ACL as the protocol encodes it."""
    name, pattern = pattern_of(acl.name)
    who = USER + acl.principal
    return AclEntry(acl.resource.value, name, pattern, who, acl.operation.value, acl.allow)


def acl_of(entry: AclEntry) -> Acl:
    """Return the ACL that an entry of the protocol describes."""
    name = entry.name + (WILDCARD if entry.pattern == PREFIXED else "")
    principal = entry.principal.removeprefix(USER)
    return Acl(principal, Operation(entry.operation), Resource(entry.resource), name, entry.allow)


@takes(DescribeAcls)
def on_describe_acls(
    me: KafkaApis, request: DescribeAcls, reply_to: ReplyTo, on: Context
) -> Effects[KafkaApis]:
    """List the ACLs that match a filter.

    WHEN: an operator asks. CHECKS: that the cluster has an authorizer; DESCRIBE on the cluster was checked before.
    DOES: nothing. ANSWERS: at once.
    Clause: KIP-140 "DescribeAclsRequest"; AclApis.handleDescribeAcls.
    """
    if on.image.acls is None:
        return _reject_without_authorizer(me, request, reply_to, on)
    met = tuple(e for e in map(entry_of, on.image.acls) if request.filter.meets(e))
    checks = (*_authorizer_checks(on), report_value("ACLs that match", len(met)))
    return _respond(me, reply_to, DescribeAclsResponse(Errors.NONE, met), checks)


@takes(CreateAcls)
def on_create_acls(
    me: KafkaApis, request: CreateAcls, reply_to: ReplyTo, on: Context
) -> Effects[KafkaApis]:
    """Create ACLs: each valid one is created, even if others are rejected.

    WHEN: an operator grants rights. CHECKS: that the cluster has an authorizer, that each ACL has a resource name, and
    that an ACL of the cluster has the cluster's name; ALTER on the cluster was checked before. DOES: adds the ACLs that
    do not exist; an ACL that exists is no error. ANSWERS: one result per ACL.
    Clause: KIP-140 "CreateAclsRequest"; AclApis.handleCreateAcls, AclControlManager.createAcls.
    """
    if on.image.acls is None:
        return _reject_without_authorizer(me, request, reply_to, on)
    now, events, errors = on.image.acls, list[Event](), []
    checks = _authorizer_checks(on)
    for entry in request.acls:
        of_entry = _entry_checks(entry, now)
        checks += of_entry
        errors.append(error_of(of_entry))
        acl = acl_of(entry)
        if error_of(of_entry) is Errors.NONE and acl not in now:
            now = (*now, acl)
            events.append(AclsChanged(acl.words, created=True))
    done = _respond(me, reply_to, CreateAclsResponse(tuple(errors)), checks)
    return done.but(acls=now, events=tuple(events)) if events else done


@takes(DeleteAcls)
def on_delete_acls(
    me: KafkaApis, request: DeleteAcls, reply_to: ReplyTo, on: Context
) -> Effects[KafkaApis]:
    """Delete every ACL that matches one of several filters.

    WHEN: an operator revokes rights. CHECKS: that the cluster has an authorizer; ALTER on the cluster was checked
    before. DOES: deletes what matches, even the ACL that allowed this request. ANSWERS: for each filter the ACLs that
    it matched; an ACL that two filters match is listed under both.
    Clause: KIP-140 "DeleteAclsRequest"; AclApis.handleDeleteAcls, AclControlManager.deleteAcls.
    """
    if on.image.acls is None:
        return _reject_without_authorizer(me, request, reply_to, on)
    entries = [(acl, entry_of(acl)) for acl in on.image.acls]
    results = tuple(
        DeletedByFilter(Errors.NONE, tuple(e for _, e in entries if each.meets(e)))
        for each in request.filters
    )
    gone = [acl for acl, e in entries if any(each.meets(e) for each in request.filters)]
    matched = (
        report_value(f"ACLs that match filter {n}", len(r.acls)) for n, r in enumerate(results, 1)
    )
    checks = (*_authorizer_checks(on), *matched)
    done = _respond(me, reply_to, DeleteAclsResponse(results), checks)
    if not gone:
        return done
    left = tuple(acl for acl in on.image.acls if acl not in gone)
    events = tuple(AclsChanged(acl.words, created=False) for acl in gone)
    return done.but(acls=left, events=events)


def _authorizer_checks(on: Context) -> Checks:
    """Check that the cluster has an authorizer. Source: AclApis.handleDescribeAcls ("No Authorizer is configured on the broker")."""
    there = on.image.acls is not None
    return (compare("authorizer configured", None, there, there, Errors.SECURITY_DISABLED),)


@in_order
def _entry_checks(entry: AclEntry, known: tuple[Acl, ...]) -> Iterator[Check]:
    """Check the name of one ACL's resource, then look whether the ACL exists.

    Source: AclApis.handleCreateAcls, AclControlManager.createAcls.
    """
    cluster = entry.resource == Resource.CLUSTER
    valid = entry.name == CLUSTER_NAME if cluster else bool(entry.name)
    resource = f"{entry.resource} {entry.name}".strip()
    yield compare("resource name", resource, valid, valid, Errors.INVALID_REQUEST)
    yield Check("ACL exists", resource, acl_of(entry) in known)


def _reject_without_authorizer(
    me: KafkaApis, request: AboutAcls, reply_to: ReplyTo, on: Context
) -> Effects[KafkaApis]:
    """Reject a request about ACLs in a cluster without an authorizer."""
    checks = _authorizer_checks(on)
    return _respond(me, reply_to, reject_request(request, error_of(checks)), checks)


def _respond(
    me: KafkaApis, reply_to: ReplyTo, answer: Message, checks: Checks
) -> Effects[KafkaApis]:
    return Effects(me, replies=(Reply(reply_to, answer),), checks=checks)
