"""The rights at the time of a recorded request: the ACLs that an operator added and removed.

A broker's authorizer comes before any role, so a request that it rejects changes nothing: `joining` and `sharing` do
not handle it. A client on the listener of the brokers is a super user. When an ACL changes, a request of that time is
compared with both.

A broker's own logs have the ACLs in `__cluster_metadata`. They do not name the super users (super.users is in the
broker's configuration), so there each request may also come from a super user.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from kipviz.brokers.authorizer import ANYBODY, CLUSTER_NAME, ERROR_OF, Acl, may
from kipviz.core.values import Value
from kipviz.messages.apis.rights import Operation, Resource
from kipviz.messages.cluster.acls import PREFIXED, USER
from kipviz.messages.errors import Errors
from kipviz.recordings.decoded.acl_records import LoggedAccessControlEntry
from kipviz.recordings.decoded.elections import LEARNS_MS
from kipviz.recordings.recorded import Call, Exchange, Plain, Recording
from kipviz.recordings.request_context.arrival import span_of
from kipviz.records.placement import topic_of

AUTHORIZER = "authorizer.class.name"
SUPER_USER = "ANONYMOUS"
# The principals whose requests may be a broker's own; without an authorizer there are no principals.
BROKERS = ("", SUPER_USER)
CHANGES = ("createAcls", "deleteAcls")
# The right to look up the coordinator of a type of key (FindCoordinatorRequest.CoordinatorType).
OF_KEYS = {
    0: (Operation.DESCRIBE, Resource.GROUP),
    1: (Operation.DESCRIBE, Resource.TRANSACTIONAL_ID),
    2: (Operation.CLUSTER_ACTION, Resource.CLUSTER),
}
Acls = tuple[Acl, ...]
_CONNECTION = re.compile(r".+:\d+-(.+):\d+-\d+(?:-\d+)?")


class Allowed(Value, frozen=True):
    """The ACLs from some time on: possibly known since `begin_ms`, and certainly since `known_ms`.

    `of_hosts` are ACLs of one host each; `super_users` says that any client may be a super user.
    """

    begin_ms: int
    known_ms: int
    acls: Acls
    of_hosts: tuple[tuple[str, Acl], ...] = ()
    super_users: bool = False

    def at(self, host: str) -> Acls:
        """Return the ACLs for a client on a host."""
        return (*self.acls, *(acl for each, acl in self.of_hosts if each == host))


def recorded_acls(recording: Recording) -> tuple[Allowed, ...]:
    """Return the ACLs of a recording over time; none without an authorizer."""
    if AUTHORIZER not in recording.settings:
        return ()
    found = [Allowed(0, 0, ())]
    for call in recording.calls:
        if call.name in CHANGES:
            after = _apply_change(found[-1].acls, call)
            found.append(Allowed(call.called_ms, call.returned_ms, after))
    return tuple(found)


def logged_acls(
    changes: Iterable[tuple[int, LoggedAccessControlEntry, bool]],
) -> tuple[Allowed, ...]:
    """Return the ACLs of a metadata log over time; none if there never was one.

    Args:
        changes: time in ms, the ACL, and whether it is added.
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
    """Return an ACL as the model has it, None if no request of the model depends on it."""
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


def _apply_change(acls: Acls, call: Call) -> Acls:
    named = tuple(_acl(view) for view in call.arguments["acls"])
    left = tuple(acl for acl in acls if acl not in named)
    return (*left, *named) if call.name == "createAcls" else left


def _acl(view: Plain) -> Acl:
    star = "*" if view["pattern"] == "PREFIXED" else ""
    return Acl(
        view["principal"],
        Operation(view["operation"]),
        Resource(view["resource"]),
        f"{view['name']}{star}",
        view["permission"] == "ALLOW",
    )


def host_of(connection: str) -> str:
    """Return the client's host in a broker's name of a connection (host:port-host:port-number), "" for another name."""
    found = _CONNECTION.fullmatch(connection)
    return found[1] if found else ""


class Admission:
    """The possible decisions of a recorded broker's authorizer."""

    def __init__(self, allowed: tuple[Allowed, ...]) -> None:
        self._allowed = allowed

    def acls_of(self, exchange: Exchange) -> tuple[Acls | None, ...]:
        """Return the ACLs that a broker may have used; None for a client that may do everything."""
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
        # The super user comes last: the ACLs are the likelier reason.
        return (*dict.fromkeys(found), *([None] if any(each.super_users for each in known) else []))

    def of_group(self, exchange: Exchange) -> tuple[bool, ...]:
        """Return the possible decisions of the authorizer about a member's group."""
        asked = (Operation.READ, Resource.GROUP, exchange.request["groupId"])
        return self._each(exchange, *asked)

    def of_topic(self, exchange: Exchange, partition: str) -> tuple[bool, ...]:
        """Return the possible decisions about reading a partition's topic."""
        return self._each(exchange, Operation.READ, Resource.TOPIC, topic_of(partition))

    def of_key(self, exchange: Exchange, kind: int, key: str) -> tuple[Errors, ...]:
        """Return the possible errors of a lookup of a key's coordinator, or NONE.

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
