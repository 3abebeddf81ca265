"""The rights that requests need: operations on resources, as Kafka's access control lists name them.

KIPS: KIP-11 (ACLs), KIP-98 (transactional ids), KIP-679, KIP-939. `brokers.authorizer` decides who has them.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from kipviz.core.values import Value
from kipviz.records.placement import topic_of


class Operation(StrEnum):
    """An operation on a resource (AclOperation)."""

    ALL = "ALL"
    READ = "READ"
    WRITE = "WRITE"
    DESCRIBE = "DESCRIBE"
    DELETE = "DELETE"
    ALTER = "ALTER"
    CREATE = "CREATE"
    CLUSTER_ACTION = "CLUSTER_ACTION"
    DESCRIBE_CONFIGS = "DESCRIBE_CONFIGS"
    ALTER_CONFIGS = "ALTER_CONFIGS"
    IDEMPOTENT_WRITE = "IDEMPOTENT_WRITE"
    TWO_PHASE_COMMIT = "TWO_PHASE_COMMIT"


class Resource(StrEnum):
    """The type of a resource (ResourceType)."""

    TOPIC = "TOPIC"
    GROUP = "GROUP"
    TRANSACTIONAL_ID = "TRANSACTIONAL_ID"
    CLUSTER = "CLUSTER"


class Need(Value, frozen=True):
    """A right that a request needs: the operation on each resource that it names.

    `alternative` is sufficient, too. `hides` means that the request is not rejected without it, but that resources
    which the sender may not see are left out of the response, or have an error there. `each` means that every topic is checked on its own:
    rejected ones have their own error, and the request continues with the others. `users_topics` means that the
    operation is never allowed on an internal topic. `or_on_cluster` means that the operation on the cluster is sufficient
    for every one. `status` says whether a release checks it.
    """

    operation: Operation
    resource: Resource
    source: str = "KafkaApis"
    status: str = "shipped"
    alternative: Operation | None = None
    hides: bool = False
    each: bool = False
    users_topics: bool = False
    or_on_cluster: bool = False


WRITE_ID = Need(Operation.WRITE, Resource.TRANSACTIONAL_ID)
DESCRIBE_ID = Need(Operation.DESCRIBE, Resource.TRANSACTIONAL_ID)
READ_GROUP = Need(Operation.READ, Resource.GROUP)
DESCRIBE_GROUP = Need(Operation.DESCRIBE, Resource.GROUP)
DELETE_GROUP = Need(Operation.DELETE, Resource.GROUP)
READ_TOPIC = Need(Operation.READ, Resource.TOPIC)
READ_EACH = Need(Operation.READ, Resource.TOPIC, each=True)
DESCRIBE_EACH = Need(Operation.DESCRIBE, Resource.TOPIC, each=True)
WRITE_EACH = Need(Operation.WRITE, Resource.TOPIC, each=True)
CREATE_TOPIC = Need(
    Operation.CREATE, Resource.TOPIC, "ControllerApis.createTopics", each=True, or_on_cluster=True
)
DELETE_TOPIC = Need(
    Operation.DELETE, Resource.TOPIC, "ControllerApis.deleteTopics", each=True, or_on_cluster=True
)
WRITE_ADDED = Need(Operation.WRITE, Resource.TOPIC, users_topics=True)
# The topics of a heartbeat: a member without this right must not learn that they exist.
DESCRIBE_TOPIC = Need(Operation.DESCRIBE, Resource.TOPIC)
INTER_BROKER = (Need(Operation.CLUSTER_ACTION, Resource.CLUSTER),)


def topics_of(partitions: Iterable[str]) -> tuple[str, ...]:
    """Return the topics of partitions, each once, in their order."""
    return tuple(dict.fromkeys(map(topic_of, partitions)))
