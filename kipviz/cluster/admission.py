"""A broker's checks before a role gets a request: its version, rights, its topic, the leader.

WHO: every broker. WHERE IN KAFKA: KafkaApis, RequestChannel (versions), the getErrorResponse of each request.
DURABILITY: nothing is stored.
"""

from __future__ import annotations

from functools import lru_cache

from kipviz.brokers import deleted_topics
from kipviz.brokers.authorizer import denied_topics, not_attempted, refusal
from kipviz.brokers.checks import Check, Checks
from kipviz.brokers.context import Image
from kipviz.brokers.groups import offset_topics
from kipviz.brokers.rules import BrokerRules
from kipviz.brokers.settings import SimplifiedConsumers
from kipviz.cluster import rejections, topic_authorization
from kipviz.cluster.world import RoleKey
from kipviz.core.values import Value
from kipviz.messages.apis.api import Role
from kipviz.messages.apis.catalogue import api_of, reject_request
from kipviz.messages.cluster.coordinators import is_lookup_of_several
from kipviz.messages.cluster.features import SHARE_GROUP_LEVEL
from kipviz.messages.cluster.releases import knows
from kipviz.messages.cluster.topic_deletion import DeleteTopics
from kipviz.messages.errors import Errors
from kipviz.messages.groups.several_groups import names_several
from kipviz.messages.message import Message
from kipviz.messages.message_errors import error_of_response
from kipviz.messages.parts import has_several_parts
from kipviz.messages.shares.share_groups import ShareFetch
from kipviz.messages.transactions.admin import DescribeTransactions
from kipviz.messages.transactions.transactions import AddPartitionsToTxnResponse
from kipviz.records.placement import topic_of


class Admission(Value, frozen=True):
    """The result of these checks: a rejection, or the `message` for a role.

    `denied_topics` are topics that the sender has no right to: they are removed from the request.
    """

    checks: Checks
    message: Message
    refusal: Message | None = None
    kept_out: tuple[str, ...] = ()


def admit(
    message: Message,
    source: str,
    broker: int,
    image: Image,
    rules: BrokerRules,
    simplified: SimplifiedConsumers,
    *,
    privileged: bool,
) -> Admission:
    """Check a request in Kafka's order; a broker is `privileged` and needs no rights."""
    binary = image.release_of(broker)
    if not knows(binary, message):
        error = Errors.UNSUPPORTED_VERSION
        served = Check("request version", message.spoken, binary.name, error)
        return Admission((served,), message, reject_request(message, error))
    level = image.features.share_version
    if api_of(message).only_with_shares and level < SHARE_GROUP_LEVEL:
        error = Errors.UNSUPPORTED_VERSION
        enabled = Check("share.version", SHARE_GROUP_LEVEL, level, error)
        return Admission((enabled,), message, reject_request(message, error))
    topics: tuple[str, ...] = ()
    checks: Checks = ()
    if image.acls is not None and not privileged and not _is_checked_in_parts(message):
        unchecked = _unchecked_topics(message, source, image, rules, simplified)
        error = refusal(image.acls, source, message, unchecked)
        checks = (Check("rights", source, error is Errors.NONE, error),)
        if error is not Errors.NONE:
            answer = _reject(source, message, error, image)
            return Admission((*_kept_out(answer), *checks), message, answer)
        topics = denied_topics(image.acls, source, message, unchecked)
        if topics:
            checks = (*checks, *lacking(topics))
            message = topic_authorization.without(message, topics)
    gone = rejections.reject_gone(message, image)
    if gone is not None:
        there = Check("topic there", None, False, error_of_response(gone))
        return Admission((*checks, *_kept_out(gone), there), message, gone, topics)
    return Admission(checks, message, None, topics)


def _kept_out(answer: Message) -> Checks:
    """Return the checks of the partitions that a response keeps out of a transaction because of others."""
    results = answer.results if isinstance(answer, AddPartitionsToTxnResponse) else ()
    return tuple(check for each in results for check in deleted_topics.kept_out_checks(each))


def _is_checked_in_parts(message: Message) -> bool:
    """Return whether KafkaApis checks the right to each of several groups, transactional ids or keys on its own."""
    described = isinstance(message, DescribeTransactions) and has_several_parts(message)
    return described or names_several(message) or is_lookup_of_several(message)


def _unchecked_topics(
    message: Message,
    source: str,
    image: Image,
    rules: BrokerRules,
    simplified: SimplifiedConsumers,
) -> tuple[str, ...]:
    """Return the topics of a request for which no right is checked here.

    The leader itself checks each partition of a share session, and the controller each topic that is to be deleted,
    because it finds the names of ids first.
    """
    if isinstance(message, DeleteTopics):
        return tuple(each.name for each in message.topics if each.name is not None)
    if isinstance(message, ShareFetch) and simplified.fetches_by_session(source):
        return tuple(map(topic_of, message.names))
    return deleted_topics.nameless(message, image, rules)


def lacking(topics: tuple[str, ...]) -> Checks:
    """Return the check by which topics are removed from a request, and get an error in its response."""
    return (Check("topics without a right", None, topics, Errors.TOPIC_AUTHORIZATION_FAILED),)


def reject_unserved(
    message: Message, key: RoleKey, image: Image, rules: BrokerRules
) -> tuple[Message, Checks]:
    """Return the response to a request for a role that this broker does not have."""
    alone = offset_topics.answer_alone(message, image, rules)
    if alone is not None:
        return alone, (Check("topic there", None, False, error_of_response(alone)),)
    answer = rejections.reject_not_leader(message)
    error = error_of_response(answer)
    return answer, (Check("leader", key[0], image.leader_of(key[2]), error),)


def leader_check(key: RoleKey, image: Image) -> Checks:
    """Return the check that this broker leads the request's partition; KafkaApis needs no partition."""
    broker, role, shard = key
    if not shard:
        return ()
    return _leads(broker, role, image.leader_of(shard))


@lru_cache(maxsize=1024)
def _leads(broker: int, role: str, leader: int) -> Checks:
    """Return the check of a broker that leads: one shared object for each, because most requests have it."""
    error = Errors.NOT_COORDINATOR if Role(role).coordinates else Errors.NOT_LEADER_OR_FOLLOWER
    return (Check("leader", broker, leader, otherwise=(error,)),)


def _reject(source: str, message: Message, error: Errors, image: Image) -> Message:
    """Return the response to a request without a right, with the parts that were not attempted."""
    answer = reject_request(message, error)
    if error is not Errors.TOPIC_AUTHORIZATION_FAILED:
        return answer
    good = not_attempted(image.acls, source, message)
    if not good:
        return answer
    lost = deleted_topics.lost_partitions(good, image)
    assert isinstance(answer, AddPartitionsToTxnResponse), answer
    (only,) = answer.results
    refused = tuple(each for each in only.results if each.partition not in good)
    results = (*refused, *deleted_topics.kept_out(good, lost))
    return AddPartitionsToTxnResponse((only.but(results=results),))
