"""The argument of subscribe(): topic names, or an expression that a broker resolves (SubscriptionPattern).

WHERE IN KAFKA: KafkaConsumer.subscribe(Collection), subscribe(SubscriptionPattern). KIPS: KIP-848.
NOT MODELLED: subscribe(java.util.regex.Pattern), which the client resolves by itself and keeps resolving.
"""

from __future__ import annotations

from collections.abc import Iterable

from kipviz.clients.application import Call
from kipviz.clients.process_spec import ProcessSpec
from kipviz.records.placement import topic_of

PATTERN = "pattern "
# The group.protocol of KIP-848.
MODERN = "consumer"


def subscription_of(target: str) -> tuple[tuple[str, ...], str]:
    """Parse the topics and the expression of a subscription: "src, old" or "pattern src.*".

    Raises:
        ValueError: if there is neither a topic nor an expression, explained in one sentence.
    """
    topics: tuple[str, ...] = ()
    regex = ""
    if target.startswith(PATTERN):
        regex = target.removeprefix(PATTERN).strip()
    else:
        topics = tuple(name.strip() for name in target.split(",") if name.strip())
    if not topics and not regex:
        raise ValueError(
            f'subscribe() takes topics ("src, old") or an expression ("pattern src.*"), not {target!r}'
        )
    return topics, regex


def why_not_subscribed(application: ProcessSpec, placed: Iterable[str]) -> str:
    """Return why an application cannot subscribe to what its program names, "" if it can.

    `placed` are the partitions of the cluster. A member reports its rack with its subscription.
    """
    if application.rack and (application.protocol != MODERN or application.share):
        return (
            f"{application.name} is in rack {application.rack!r}: only a member of a regular group by protocol "
            f"{MODERN!r} says that here"
        )
    topics = sorted({topic_of(partition): True for partition in placed})
    for line in application.program:
        if line.call is Call.SUBSCRIBE:
            names, regex = subscription_of(line.target)
            missing = [name for name in names if name not in topics]
            if application.share or not application.protocol:
                why = "which only a consumer does that joins its regular group"
            elif missing:
                why = (
                    f"but of {missing[0]} there is no partition; the topics are {', '.join(topics)}"
                )
            elif regex and application.protocol != MODERN:
                why = "but an expression is resolved for members by KIP-848 only"
            else:
                continue
            return f"{application.name} subscribes to {line.target}, {why}"
    return ""
