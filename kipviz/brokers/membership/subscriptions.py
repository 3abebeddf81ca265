"""Subscriptions of KIP-848 members: topic names, and a regular expression that the broker resolves.

A part of the group coordinator's role (`group_membership`). WHERE IN KAFKA:
GroupMetadataManager.maybeUpdateRegularExpressions, TopicRegexResolver. KIPS: KIP-848 (SubscribedTopicRegex).
DURABILITY: the topics of an expression are a record of the log, beside the member's subscription.
NOT MODELLED: the resolution in the background, at most every 10 s, which bumps the group's epoch once more: here it
happens in the heartbeat that brings the expression, and again in any heartbeat that finds other topics; the deletion of
the record of an unused expression; the removal of topics that the member may not describe.
"""

from __future__ import annotations

from collections.abc import Iterable

from kipviz.brokers.context import Context
from kipviz.brokers.membership.consumer_group import ConsumerGroup, GroupMember
from kipviz.brokers.membership.patterns import BadPattern, compile_pattern
from kipviz.messages.groups.membership import ConsumerGroupHeartbeat
from kipviz.records.consumer_offsets import RegexRecord, SubscriptionRecord
from kipviz.records.placement import topic_of


def is_regular(regex: str) -> bool:
    """Return whether a broker accepts a regular expression.

    Source: Utils.throwIfRegularExpressionIsInvalid (com.google.re2j).
    """
    try:
        compile_pattern(regex)
    except BadPattern:
        return False
    return True


def is_new(request: ConsumerGroupHeartbeat, known: GroupMember | None) -> bool:
    """Return whether a heartbeat has a subscription that the group does not have yet."""
    if not request.subscribes:
        return False
    now = (_names(request, known), _regex(request, known))
    return known is None or now != (known.subscribed_topic_names, known.regex)


def record_of(request: ConsumerGroupHeartbeat, known: GroupMember | None) -> SubscriptionRecord:
    """Return the record of a subscription; a heartbeat without names, or without an expression, keeps the earlier ones."""
    return SubscriptionRecord(
        request.group_id,
        request.member_id,
        _names(request, known),
        request.instance_id,
        _regex(request, known),
        request.rack or (known.rack if known is not None else ""),
    )


def rack_records(
    request: ConsumerGroupHeartbeat, known: GroupMember
) -> tuple[SubscriptionRecord, ...]:
    """Return the record of a member that is in another rack now, which is not a new subscription.

    Only a member that joins again can be, so a static one. Source: GroupMetadataManager.hasMemberSubscriptionChanged.
    """
    if request.rack in ("", known.rack):
        return ()
    said = (request.group_id, request.member_id, known.subscribed_topic_names, known.instance_id)
    return (SubscriptionRecord(*said, known.regex, request.rack),)


def regex_records(
    request: ConsumerGroupHeartbeat, group: ConsumerGroup, on: Context
) -> tuple[RegexRecord, ...]:
    """Return the record of the topics that match a new expression."""
    if not request.regex or request.regex in group.regexes:
        return ()
    return (RegexRecord(request.group_id, request.regex, _match_topics(request.regex, on)),)


def changed_regex_records(
    group_id: str, group: ConsumerGroup, on: Context
) -> tuple[RegexRecord, ...]:
    """Return the records of expressions that match other topics now, because topics were created or deleted."""
    used = dict.fromkeys(member.regex for member in group.members.values() if member.regex)
    now = {regex: _match_topics(regex, on) for regex in used}
    return tuple(
        RegexRecord(group_id, regex, topics)
        for regex, topics in now.items()
        if topics != group.regexes.get(regex)
    )


def _match_topics(regex: str, on: Context) -> tuple[str, ...]:
    """Return the topics whose whole name an expression matches.

    Source: TopicRegexResolver.resolveRegularExpressions.
    """
    pattern = compile_pattern(regex)
    names = dict.fromkeys(topic_of(partition) for partition in on.image.leaders)
    return tuple(sorted(name for name in names if pattern.fullmatch(name)))


def stored_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return names of topics as a record has them: Kafka keeps a set, and writes it in alphabetical order."""
    return tuple(sorted(set(names)))


def _names(request: ConsumerGroupHeartbeat, known: GroupMember | None) -> tuple[str, ...]:
    if request.subscribed_topic_names is None:
        return known.subscribed_topic_names if known is not None else ()
    return stored_names(request.subscribed_topic_names)


def _regex(request: ConsumerGroupHeartbeat, known: GroupMember | None) -> str:
    if request.regex is None:
        return known.regex if known is not None else ""
    return request.regex
