"""Authorization: Kafka's access control lists, compared with the rights that a request needs.

WHO: every broker, before any role sees a request. WHERE IN KAFKA: KafkaApis, AuthHelper, StandardAuthorizer, AclEntry.
KIPS: KIP-11 (ACLs), KIP-290 (prefixes), KIP-98 (transactional ids), KIP-664; KIP-1289 and KIP-1310 (drafts).
DURABILITY: ACLs are metadata; an operator may delete them and create them again.
NOT MODELLED: hosts; the time until each broker learns of a change. Brokers are super users, as Kafka requires.
"""

from __future__ import annotations

from typing import assert_never

from kipviz.core.values import Value
from kipviz.messages.apis.catalogue import api_of
from kipviz.messages.apis.rights import (
    CREATE_TOPIC,
    DELETE_TOPIC,
    WRITE_ADDED,
    Need,
    Operation,
    Resource,
)
from kipviz.messages.errors import Errors
from kipviz.messages.groups.several_groups import named_groups
from kipviz.messages.message import Message
from kipviz.messages.transactions.transactions import AddPartitionsToTxn, named_transactions
from kipviz.records.placement import INTERNAL_TOPICS, topic_of

CLUSTER_NAME = "kafka-cluster"
ANYBODY = "*"


Op, R = Operation, Resource

# The operations that an ACL of each modelled resource may have (AclEntry). A group has no WRITE, so the right that
# KIP-1289 requires cannot be granted: kafka-acls.sh rejects it.
SUPPORTED: dict[Resource, tuple[Operation, ...]] = {
    R.TOPIC: (
        Op.ALL,
        Op.READ,
        Op.WRITE,
        Op.DESCRIBE,
        Op.ALTER,
        Op.CREATE,
        Op.DELETE,
        Op.DESCRIBE_CONFIGS,
        Op.ALTER_CONFIGS,
    ),
    R.GROUP: (Op.ALL, Op.READ, Op.DESCRIBE, Op.DELETE),
    R.TRANSACTIONAL_ID: (Op.ALL, Op.WRITE, Op.DESCRIBE, Op.TWO_PHASE_COMMIT),
    R.CLUSTER: (
        Op.ALL,
        Op.ALTER,
        Op.DESCRIBE,
        Op.CLUSTER_ACTION,
        Op.IDEMPOTENT_WRITE,
        Op.CREATE,
        Op.DESCRIBE_CONFIGS,
        Op.ALTER_CONFIGS,
    ),
}
# Each of these operations implies DESCRIBE (StandardAuthorizerData).
IMPLY_DESCRIBE = (Op.READ, Op.WRITE, Op.DELETE, Op.ALTER)
ERROR_OF: dict[Resource, Errors] = {
    R.TOPIC: Errors.TOPIC_AUTHORIZATION_FAILED,
    R.GROUP: Errors.GROUP_AUTHORIZATION_FAILED,
    R.TRANSACTIONAL_ID: Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    R.CLUSTER: Errors.CLUSTER_AUTHORIZATION_FAILED,
}


class Acl(Value, frozen=True):
    """One entry: it allows or denies a principal an operation on a resource.

    A principal is the name of a process; "*" is every principal. A name that ends in "*" is a prefix, and "*" alone is
    every name. What no entry allows is denied, and a denial takes precedence over every permission.
    """

    principal: str
    operation: Operation
    resource: Resource
    name: str = CLUSTER_NAME
    allow: bool = True

    @property
    def words(self) -> str:
        """The entry as the beginning of a sentence: "app-1 may READ TOPIC src"."""
        may_it = "may" if self.allow else "must not"
        return f"{self.principal} {may_it} {self.operation.value} {self.resource.value} {self.name}"


class DraftRight(Value, frozen=True):
    """The right that a draft's page says a request needs, in its own words; "" where the page says nothing."""

    request: str
    resource: Resource
    operation: str
    source: str


# The drafts' tables as written, including rows without any effect.
DRAFTS: tuple[DraftRight, ...] = (
    DraftRight("InitProducerId", R.TRANSACTIONAL_ID, "WRITE", "KIP-1310 6.1"),
    DraftRight("AddPartitionsToTxn", R.TRANSACTIONAL_ID, "WRITE", "KIP-1310 6.1"),
    DraftRight("AddPartitionsToTxn", R.TOPIC, "", "KIP-1310 6.1"),
    DraftRight("EndTxn", R.TRANSACTIONAL_ID, "WRITE", "KIP-1310 6.1"),
    DraftRight("TxnHeartbeat", R.TRANSACTIONAL_ID, "WRITE", "KIP-1310 6.1 (KIP-1309)"),
    DraftRight("AddShareAcksToTxn", R.TRANSACTIONAL_ID, "WRITE", "KIP-1310 6.1 (KIP-1289)"),
    DraftRight("AddShareAcksToTxn", R.GROUP, "", "KIP-1310 6.1 (KIP-1289)"),
    DraftRight("TxnShareAcknowledge", R.TRANSACTIONAL_ID, "", "KIP-1289, errors of the response"),
    DraftRight("TxnShareAcknowledge", R.GROUP, "WRITE", "KIP-1289, javadoc"),
    DraftRight("TxnShareAcknowledge", R.TOPIC, "", "KIP-1289, errors of the response"),
)


def needs_of(message: Message) -> tuple[Need, ...]:
    """Return the rights that a request needs, in the order in which Kafka checks them."""
    return api_of(message).rights(message)


def named_resources(message: Message, resource: Resource) -> tuple[str, ...]:
    """Return the resources of one type that a request names."""
    match resource:
        case R.TRANSACTIONAL_ID:
            return named_transactions(message)
        case R.GROUP:
            return named_groups(message)
        case R.TOPIC:
            return _topics(message)
        case R.CLUSTER:
            return (CLUSTER_NAME,)
        case _:
            assert_never(resource)


def _topics(message: Message) -> tuple[str, ...]:
    topics = api_of(message).topics
    assert topics is not None, f"the row of {type(message).__name__} says no topics"
    return topics(message)


def principal_of(source: str) -> str:
    """Return the principal of a connection: the process that opened it."""
    return source.partition("/")[0]


def may(
    acls: tuple[Acl, ...], principal: str, operation: Operation, resource: Resource, name: str
) -> bool:
    """Return whether a principal may do something. What no ACL allows is denied."""
    found = [
        acl
        for acl in acls
        if acl.principal in (principal, ANYBODY)
        and acl.resource is resource
        and _matches(acl.name, name)
        and (
            acl.operation in (operation, Op.ALL)
            or (operation is Op.DESCRIBE and _implies_describe(acl))
            or (
                operation is Op.DESCRIBE_CONFIGS and acl.allow and acl.operation is Op.ALTER_CONFIGS
            )
        )
    ]
    return bool(found) and all(acl.allow for acl in found)


def _implies_describe(acl: Acl) -> bool:
    return acl.allow and acl.operation in IMPLY_DESCRIBE


def _matches(pattern: str, name: str) -> bool:
    if pattern.endswith("*"):
        return name.startswith(pattern[:-1])
    return pattern == name


def refusal(
    acls: tuple[Acl, ...] | None, source: str, message: Message, nameless: tuple[str, ...] = ()
) -> Errors:
    """Return the error with which a request is rejected, or NONE. Without ACLs everything is allowed.

    `nameless` are topics that the request names by unknown ids. No right is checked for them; they get an error of
    their own (KIP-1319 "Topic ID resolution").

    Clause: KIP-11; KafkaApis checks this before any role sees the request.
    """
    if acls is None:
        return Errors.NONE
    for need in needs_of(message):
        names = () if need.hides else named_resources(message, need.resource)
        lacking = _lacking(acls, source, need, _drop_nameless(names, need, nameless))
        if lacking and need.operation is Op.IDEMPOTENT_WRITE and _writes_somewhere(acls, source):
            continue
        if lacking and (not need.each or lacking == names):
            return ERROR_OF[need.resource]
    return Errors.NONE


def denied_topics(
    acls: tuple[Acl, ...] | None, source: str, message: Message, nameless: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Return the topics that the sender may not use, for a request that is served for its other topics.

    Clause: KIP-11; AuthHelper.filterByAuthorized.
    """
    if acls is None:
        return ()
    asked = (need for need in needs_of(message) if need.each)
    named = (
        (need, _drop_nameless(named_resources(message, need.resource), need, nameless))
        for need in asked
    )
    found = (_lacking(acls, source, need, names) for need, names in named)
    return tuple(name for names in found for name in names)


def not_attempted(acls: tuple[Acl, ...] | None, source: str, message: Message) -> tuple[str, ...]:
    """Return the partitions of a client's AddPartitionsToTxn that fail only because others are not authorized.

    Clause: KIP-98 "AddPartitionsToTxnRequest"; KafkaApis.handleAddPartitionsToTxnRequest.
    """
    if acls is None or not isinstance(message, AddPartitionsToTxn):
        return ()
    lacking = _lacking(acls, source, WRITE_ADDED, named_resources(message, R.TOPIC))
    asked = (p for each in message.transactions for p in each.partitions)
    return tuple(p for p in asked if topic_of(p) not in lacking)


def _drop_nameless(
    names: tuple[str, ...], need: Need, nameless: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the names without the topics whose name is unknown."""
    if need.resource is not Resource.TOPIC:
        return names
    return tuple(name for name in names if name not in nameless)


def _lacking(
    acls: tuple[Acl, ...], source: str, need: Need, names: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the names for which the sender lacks a right."""
    operations = [o for o in (need.operation, need.alternative) if o is not None]
    who = principal_of(source)
    if need.or_on_cluster and may(acls, who, need.operation, R.CLUSTER, CLUSTER_NAME):
        return ()
    return tuple(
        name
        for name in names
        if (need.users_topics and name in INTERNAL_TOPICS)
        or not any(may(acls, who, o, need.resource, name) for o in operations)
    )


def _writes_somewhere(acls: tuple[Acl, ...], source: str) -> bool:
    """Return whether a principal may write to any topic, existing or not.

    A denial that covers all of what is allowed takes precedence (KIP-679, Authorizer.authorizeByResourceType).
    """
    who = (principal_of(source), ANYBODY)
    own = [a for a in acls if a.principal in who]
    found = [a for a in own if a.resource is R.TOPIC and a.operation in (Op.WRITE, Op.ALL)]
    denied = [a.name for a in found if not a.allow]
    return any(a.allow and not any(_matches(no, a.name) for no in denied) for a in found)


def topics_seen(acls: tuple[Acl, ...] | None, source: str, partitions: tuple[str, ...]) -> bool:
    """Return whether the sender may describe a group: it must be able to describe all its members' topics.

    Source: KafkaApis.handleConsumerGroupDescribe, handleShareGroupDescribe.
    """
    return all(seen(acls, source, R.TOPIC, topic_of(partition)) for partition in partitions)


def may_delete(acls: tuple[Acl, ...] | None, source: str, topic: str) -> bool:
    """Return whether the sender may delete a topic. Source: ControllerApis.deleteTopics."""
    return acls is None or not _lacking(acls, source, DELETE_TOPIC, (topic,))


def may_create(acls: tuple[Acl, ...] | None, source: str, topic: str) -> bool:
    """Return whether the sender may create a topic by a lookup. Source: KafkaApis.handleTopicMetadataRequest."""
    return acls is None or not _lacking(acls, source, CREATE_TOPIC, (topic,))


def allows(
    acls: tuple[Acl, ...] | None, source: str, operation: Operation, resource: Resource, name: str
) -> bool:
    """Return whether a sender may do something; without ACLs everything is allowed."""
    return acls is None or may(acls, principal_of(source), operation, resource, name)


def seen(acls: tuple[Acl, ...] | None, source: str, resource: Resource, name: str) -> bool:
    """Return whether a response may name something: the sender must have the right to describe it.

    A principal that may describe the cluster sees every group (KafkaApis.handleListGroupsRequest).
    """
    if resource is R.GROUP and allows(acls, source, Op.DESCRIBE, R.CLUSTER, CLUSTER_NAME):
        return True
    return allows(acls, source, Op.DESCRIBE, resource, name)
