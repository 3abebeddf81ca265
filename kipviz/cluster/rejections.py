"""A broker's response to a request that it cannot serve: it is not the leader, or the partition does not exist.

WHERE IN KAFKA: KafkaApis, and the getErrorResponse of each request, which is in its row (`messages.apis`).
"""

from __future__ import annotations

from kipviz.brokers import deleted_topics
from kipviz.brokers.context import Image
from kipviz.messages.apis.api import Role
from kipviz.messages.apis.catalogue import APIS, api_of, reject_request
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.messages.transactions.transactions import AddPartitionsToTxn, AddPartitionsToTxnResponse

# Each broker has one of these, whatever it leads.
ON_EVERY_BROKER = (Role.KAFKA_APIS, Role.SHARE_PARTITION_LEADER)


def reject_not_leader(message: Message) -> Message:
    """Return the error of a broker that does not lead the request's partition."""
    role = api_of(message).role
    assert role not in ON_EVERY_BROKER, f"{type(message).__name__} is for every broker"
    error = Errors.NOT_COORDINATOR if role.coordinates else Errors.NOT_LEADER_OR_FOLLOWER
    return reject_request(message, error)


# Requests for which a missing partition is an error of its own, by name or by the topic's id.
_NAMING = frozenset(api.request for api in APIS if api.by_name or api.topic_ids_from is not None)


def reject_gone(message: Message, image: Image) -> Message | None:
    """Return the response to a request about a partition that does not exist, or None."""
    if type(message) not in _NAMING and not isinstance(message, AddPartitionsToTxn):
        return None
    if isinstance(message, AddPartitionsToTxn):
        if len(message.transactions) > 1:
            return None
        lost = deleted_topics.not_added(message.transactions[0], image)
        return None if lost is None else AddPartitionsToTxnResponse((lost,))
    error = deleted_topics.error_of(message, image)
    return None if error is Errors.NONE else reject_request(message, error)
