"""Who was allowed what at the time of a recorded request: the ACLs that an operator made and took away.

A broker's authorizer is asked before any role is, so what it refuses changes nothing: such a request is not
handed to those who follow members (`joining`, `sharing`). Who came over the listener of the brokers is a
super user. Where an ACL changes, a request of that time is asked with both.

Of a broker's own logs the ACLs stand in `__cluster_metadata`. They do not say who is a super user (super.users stands in the
broker's configuration), so there each request may also be one of a super user.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from kipviz.brokers.authorizer import ANYBODY, CLUSTER_NAME, ERROR_OF, Acl, may
from kipviz.core.table import Table
from kipviz.core.values import Value
from kipviz.messages.acls import PREFIXED, USER
from kipviz.messages.apis.rights import Operation, Resource
from kipviz.messages.errors import Errors
from kipviz.recordings.decoded.acl_records import LoggedAccessControlEntry
from kipviz.recordings.decoded.elections import LEARNS_MS
from kipviz.recordings.recorded import Call, Exchange, Recording
from kipviz.recordings.request_context.arrival import span_of
from kipviz.records.placement import topic_of

AUTHORIZER = "authorizer.class.name"
SUPER_USER = "ANONYMOUS"
# Whose requests may be a broker's own; without an authorizer nobody has a name.
BROKERS = ("", SUPER_USER)
CHANGES = ("createAcls", "deleteAcls")
# What has to be allowed to look for the coordinator of a type of key (FindCoordinatorRequest.CoordinatorType).
OF_KEYS = {
    0: (Operation.DESCRIBE, Resource.GROUP),
    1: (Operation.DESCRIBE, Resource.TRANSACTIONAL_ID),
    2: (Operation.CLUSTER_ACTION, Resource.CLUSTER),
}
Acls = tuple[Acl, ...]
_CONNECTION = re.compile(r".+:\d+-(.+):\d+-\d+(?:-\d+)?")


class Allowed(Value, frozen=True):
    """The ACLs from some time on: they may have been known since `begin_ms`, and no others after `known_ms`.

    `of_hosts` are ACLs of one host each; `super_users` says that whoever asks may be one.
    """

    begin_ms: int
    known_ms: int
    acls: Acls
    of_hosts: tuple[tuple[str, Acl], ...] = ()
    super_users: bool = False

    def at(self, host: str) -> Acls:
        """Return the ACLs for who comes from a host."""
        return (*self.acls, *(acl for each, acl in self.of_hosts if each == host))


def allowed_in(recording: Recording) -> tuple[Allowed, ...]:
    """Give the ACLs of a recording one after the other; none where there is no authorizer."""
    if AUTHORIZER not in recording.settings:
        return ()
    found = [Allowed(0, 0, ())]
    for call in recording.calls:
        if call.name in CHANGES:
            after = _changed(found[-1].acls, call)
            found.append(Allowed(call.called_ms, call.returned_ms, after))
    return tuple(found)


def allowed_by(
    changes: Iterable[tuple[int, LoggedAccessControlEntry, bool]],
) -> tuple[Allowed, ...]:
    """Give the ACLs of a metadata log one after the other; none where there never was one.

    Args:
        changes: time in ms, the ACL, and whether it is made.
    """
    now: dict[str, LoggedAccessControlEntry] = {}
    found = [Allowed(0, 0, (), super_users=True)]
    for at, entry, made in changes:
        if made:
            now[entry.acl_id] = entry
        else:
            now.pop(entry.acl_id, None)
        known = [(each.host, acl) for each in now.values() if (acl := _acl_of(each)) is not None]
        found.append(
            Allowed(
                at,
                at + LEARNS_MS,
                tuple(acl for host, acl in known if host == ANYBODY),
                tuple(each for each in known if each[0] != ANYBODY),
                super_users=True,
            )
        )
    return tuple(found) if len(found) > 1 else ()


def _acl_of(entry: LoggedAccessControlEntry) -> Acl | None:
    """Return an ACL as the model has it, None for one that no request of the model is held against."""
    if entry.operation not in set(Operation) or entry.resource not in set(Resource):
        return None
    star = ANYBODY if entry.pattern == PREFIXED else ""
    return Acl(
        entry.principal.removeprefix(USER),
        Operation(entry.operation),
        Resource(entry.resource),
        f"{entry.name}{star}",
        entry.permission == "ALLOW",
    )


def _changed(acls: Acls, call: Call) -> Acls:
    named = tuple(_acl(view) for view in call.arguments["acls"])
    left = tuple(acl for acl in acls if acl not in named)
    return (*left, *named) if call.name == "createAcls" else left


def _acl(view: Table[str, Any]) -> Acl:
    star = "*" if view["pattern"] == "PREFIXED" else ""
    return Acl(
        view["principal"],
        Operation(view["operation"]),
        Resource(view["resource"]),
        f"{view['name']}{star}",
        view["permission"] == "ALLOW",
    )


def host_of(connection: str) -> str:
    """Return the client's host of a connection, as brokers write it (host:port-host:port-number); "" if it is none."""
    found = _CONNECTION.fullmatch(connection)
    return found[1] if found else ""


class Admission:
    """What the authorizer of a recorded broker may have said to whoever asked."""

    def __init__(self, allowed: tuple[Allowed, ...]) -> None:
        self._allowed = allowed

    def acls_of(self, exchange: Exchange) -> tuple[Acls | None, ...]:
        """Give the ACLs that a broker may have gone by; None for who may do everything."""
        if not self._allowed or exchange.principal in BROKERS:
            return (None,)
        begin, end = span_of(exchange)
        later = (*(each.known_ms for each in self._allowed[1:]), end)
        known = [
            each
            for each, over in zip(self._allowed, later, strict=True)
            if each.begin_ms <= end and over >= begin
        ]
        host = host_of(exchange.connection)
        found: list[Acls | None] = [each.at(host) for each in known]
        # Who may do everything comes last: what ACLs allow is the nearer reason.
        return (*dict.fromkeys(found), *([None] if any(each.super_users for each in known) else []))

    def of_group(self, exchange: Exchange) -> tuple[bool, ...]:
        """Say whether a member gets past the authorizer with what it asks of its group."""
        asked = (Operation.READ, Resource.GROUP, exchange.request["groupId"])
        return self._each(exchange, *asked)

    def of_topic(self, exchange: Exchange, partition: str) -> tuple[bool, ...]:
        """Say whether a reader may have records of a partition."""
        return self._each(exchange, Operation.READ, Resource.TOPIC, topic_of(partition))

    def of_key(self, exchange: Exchange, kind: int, key: str) -> tuple[Errors, ...]:
        """Give the error with which the coordinator of a key is not told, or NONE.

        Clause: KIP-11; KafkaApis.getCoordinator.
        """
        operation, resource = OF_KEYS[kind]
        name = CLUSTER_NAME if resource is Resource.CLUSTER else key
        known = self._each(exchange, operation, resource, name)
        return tuple(Errors.NONE if each else ERROR_OF[resource] for each in known)

    def _each(
        self, exchange: Exchange, operation: Operation, resource: Resource, name: str
    ) -> tuple[bool, ...]:
        who = exchange.principal
        found = (
            a is None or may(a, who, operation, resource, name) for a in self.acls_of(exchange)
        )
        return tuple(dict.fromkeys(found))
