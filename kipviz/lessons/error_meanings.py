"""The meaning of each response of a broker, in a sentence.

The answers that a prediction offers are not listed anywhere: they are the errors to which the handlers' checks led or
could have led (`predictions.Answer.offered`).
"""

from __future__ import annotations

from collections.abc import Mapping

from kipviz.messages.errors import Errors
from kipviz.settings.consumer_configs import GROUP_INSTANCE_ID

E = Errors

MEANING: Mapping[Errors, str] = {
    E.NONE: "The request succeeded.",
    E.OFFSET_OUT_OF_RANGE: "The offset is outside the log.",
    E.NOT_LEADER_OR_FOLLOWER: "The partition is led by another broker.",
    E.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available at the moment.",
    E.COORDINATOR_LOAD_IN_PROGRESS: "The coordinator is still loading its log.",
    E.NOT_COORDINATOR: "Another broker is the coordinator.",
    E.NETWORK_EXCEPTION: "The broker that has to be asked cannot be reached.",
    E.NOT_ENOUGH_REPLICAS: "Too few replicas are in sync to take the record.",
    E.ILLEGAL_GENERATION: "The group has moved to another generation.",
    E.UNKNOWN_MEMBER_ID: "The group has no such member.",
    E.REBALANCE_IN_PROGRESS: "The group prepares its next generation: join again.",
    E.INCONSISTENT_GROUP_PROTOCOL: "The member and the group have no protocol in common.",
    E.INVALID_REGULAR_EXPRESSION: "The broker cannot read the regular expression.",
    E.MEMBER_ID_REQUIRED: "Join again with the member id in this response.",
    E.UNRELEASED_INSTANCE_ID: f"The {GROUP_INSTANCE_ID.name} is in use: its current member has not released it.",
    E.FENCED_INSTANCE_ID: f"Another process has taken over the {GROUP_INSTANCE_ID.name}.",
    E.UNSUPPORTED_VERSION: "The broker does not support this request or version.",
    E.TOPIC_AUTHORIZATION_FAILED: "The client is not authorized for this topic.",
    E.GROUP_AUTHORIZATION_FAILED: "The client is not authorized for this group.",
    E.SECURITY_DISABLED: "No authorizer is configured in this cluster: everything is allowed.",
    E.CLUSTER_AUTHORIZATION_FAILED: "Only brokers and operators may do this.",
    E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "The client is not authorized for this transactional id.",
    E.INVALID_REQUEST: "The request contradicts itself.",
    E.OUT_OF_ORDER_SEQUENCE_NUMBER: "A batch before this one is missing in the log.",
    E.INVALID_PRODUCER_EPOCH: "A newer epoch of this producer has written here.",
    E.INVALID_TXN_STATE: "The transaction is not in a state that allows this.",
    E.INVALID_PRODUCER_ID_MAPPING: "The transactional id is mapped to another producer id.",
    E.INVALID_TRANSACTION_TIMEOUT: "The timeout asked for is longer than the broker allows.",
    E.CONCURRENT_TRANSACTIONS: "The transaction before this one is not complete yet.",
    E.FENCED_LEADER_EPOCH: "The client has an older leader epoch.",
    E.PENDING_TRANSACTION: "A draft's words for an offset that is staged in an open transaction.",
    E.UNSTABLE_OFFSET_COMMIT: "An offset is staged in a transaction that is still open.",
    E.PRODUCER_FENCED: "A newer producer with this transactional id has taken over.",
    E.UNKNOWN_TOPIC_OR_PARTITION: "There is no topic of that name, or it has no such partition.",
    E.UNKNOWN_TOPIC_ID: "No topic has that id, or not any more.",
    E.FENCED_MEMBER_EPOCH: "The group has the member at another epoch: it has to join again.",
    E.INVALID_TOPIC_EXCEPTION: "The topic's name is not allowed, or looks like another topic's.",
    E.INVALID_PARTITIONS: "The topic cannot have this number of partitions.",
    E.INVALID_REPLICATION_FACTOR: "There are not enough brokers for this number of replicas.",
    E.INVALID_REPLICA_ASSIGNMENT: "The assigned replicas are not a valid placement.",
    E.INVALID_CONFIG: "The topic cannot have this config.",
    E.POLICY_VIOLATION: "The request asks for more than the controller allows.",
    E.GROUP_ID_NOT_FOUND: "There is no such group.",
    E.INVALID_GROUP_ID: "The request names no group.",
    E.NON_EMPTY_GROUP: "The group still has members.",
    E.GROUP_MAX_SIZE_REACHED: "The group has as many members as it may have.",
    E.SHARE_SESSION_LIMIT_REACHED: "The broker has as many share sessions as it may have.",
    E.STALE_MEMBER_EPOCH: "The member has not received the group's last change yet.",
    E.TRANSACTION_ABORTABLE: "The transaction can only be aborted now.",
    E.INVALID_RECORD_STATE: "The records are not held by this member, or not any more.",
    E.SHARE_SESSION_NOT_FOUND: "The broker has no share session of this member.",
    E.INVALID_SHARE_SESSION_EPOCH: "The request does not carry the share session's next epoch.",
    E.FENCED_STATE_EPOCH: "The share-partition was reinitialized in the meantime.",
}


def words_of(error: Errors) -> str:
    """Return the name of a response as it is shown."""
    return "no error" if error is E.NONE else error.name


def meaning_of(error: Errors) -> str:
    """Return the meaning of a response."""
    return MEANING.get(error, "The broker could not do it.")
