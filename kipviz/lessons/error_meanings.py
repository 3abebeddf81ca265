"""What each answer of a broker means, in a sentence.

Which answers a prediction offers is not written anywhere: they are the errors that the checks of the handlers
led to or could have led to (`predictions.Answer.offered`).
"""

from __future__ import annotations

from collections.abc import Mapping

from kipviz.messages.errors import Errors

E = Errors

# Requests whose answer is worth a question even where it is not an error.
DECISIVE = (
    "InitProducerId",
    "InitProducerId2Pc",
    "InitProducerIdOfGroup",
    "EndTxn",
    "TxnOffsetCommit",
    "TxnShareAcknowledge",
)

MEANING: Mapping[Errors, str] = {
    E.NONE: "It is done as asked.",
    E.OFFSET_OUT_OF_RANGE: "The log does not reach to that offset, or no longer.",
    E.NOT_LEADER_OR_FOLLOWER: "The partition is led by another broker.",
    E.COORDINATOR_NOT_AVAILABLE: "Nobody coordinates it just now.",
    E.COORDINATOR_LOAD_IN_PROGRESS: "The coordinator is new in office and still reads its log.",
    E.NOT_COORDINATOR: "Another broker coordinates this name.",
    E.NETWORK_EXCEPTION: "The broker that has to be asked cannot be reached.",
    E.NOT_ENOUGH_REPLICAS: "Too few replicas are in sync to take the record.",
    E.ILLEGAL_GENERATION: "The group has gone on to another generation.",
    E.UNKNOWN_MEMBER_ID: "The group has no such member.",
    E.REBALANCE_IN_PROGRESS: "The group prepares its next generation: join again.",
    E.INCONSISTENT_GROUP_PROTOCOL: "The member and the group have no protocol in common.",
    E.INVALID_REGULAR_EXPRESSION: "The broker cannot read the regular expression.",
    E.MEMBER_ID_REQUIRED: "Come again with the name that you are given.",
    E.UNRELEASED_INSTANCE_ID: "The static member's name is in use: whoever has it has not released it.",
    E.FENCED_INSTANCE_ID: "Another process has taken over the static member's name.",
    E.UNSUPPORTED_VERSION: "The broker does not serve this yet.",
    E.TOPIC_AUTHORIZATION_FAILED: "The broker does not allow this for that topic.",
    E.GROUP_AUTHORIZATION_FAILED: "The broker does not allow this for that group.",
    E.SECURITY_DISABLED: "There are no ACLs in this cluster: everything is allowed.",
    E.CLUSTER_AUTHORIZATION_FAILED: "Only brokers and operators may do this.",
    E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "The broker does not allow this for that name.",
    E.INVALID_REQUEST: "The request contradicts itself.",
    E.OUT_OF_ORDER_SEQUENCE_NUMBER: "A batch before this one is missing in the log.",
    E.INVALID_PRODUCER_EPOCH: "A newer epoch of this producer has written here.",
    E.INVALID_TXN_STATE: "The transaction is not in a state that allows this.",
    E.INVALID_PRODUCER_ID_MAPPING: "The name belongs to another producer id.",
    E.INVALID_TRANSACTION_TIMEOUT: "The timeout asked for is longer than the broker allows.",
    E.CONCURRENT_TRANSACTIONS: "The transaction before this one is not complete yet.",
    E.FENCED_LEADER_EPOCH: "The client knows of an older leader.",
    E.PENDING_TRANSACTION: "A draft's words for an offset that is staged in an open transaction.",
    E.UNSTABLE_OFFSET_COMMIT: "An offset is staged in a transaction that is still open.",
    E.PRODUCER_FENCED: "Another producer of this name has taken over.",
    E.UNKNOWN_TOPIC_OR_PARTITION: "There is no topic of that name, or it has no such partition.",
    E.UNKNOWN_TOPIC_ID: "No topic has that id, or not any more.",
    E.FENCED_MEMBER_EPOCH: "The group has the member at another epoch: it has to join again.",
    E.GROUP_ID_NOT_FOUND: "There is no such group.",
    E.INVALID_GROUP_ID: "The request names no group.",
    E.NON_EMPTY_GROUP: "The group still has members.",
    E.GROUP_MAX_SIZE_REACHED: "The group has as many members as it may have.",
    E.SHARE_SESSION_LIMIT_REACHED: "The broker has as many share sessions as it may have.",
    E.STALE_MEMBER_EPOCH: "The member has not heard of the group's last change.",
    E.TRANSACTION_ABORTABLE: "The transaction can only be aborted now.",
    E.INVALID_RECORD_STATE: "The records are not held by this member, or not any more.",
    E.SHARE_SESSION_NOT_FOUND: "The broker has no share session of this member.",
    E.INVALID_SHARE_SESSION_EPOCH: "The share session has gone on without this request.",
    E.FENCED_STATE_EPOCH: "The share-partition was started afresh in between.",
}


def words_of(error: Errors) -> str:
    """Name an answer as it is shown."""
    return "no error" if error is E.NONE else error.name


def meaning_of(error: Errors) -> str:
    """Say what an answer means."""
    return MEANING.get(error, "The broker could not do it.")
