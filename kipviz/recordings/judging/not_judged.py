"""The requests that are compared with the model, and the reasons why the others are not."""

from __future__ import annotations

from collections.abc import Mapping

from kipviz.core.table import Table
from kipviz.recordings.decoded.log_starts import API as DELETE_RECORDS
from kipviz.recordings.followed_members.joining import JOINING
from kipviz.recordings.followed_members.share_requests import MEMBERS
from kipviz.recordings.judging.questions import ASKED, questions
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.replayed_roles.fetching import UNKNOWN_SESSION, Fetching
from kipviz.recordings.request_context.evidence import Evidence

# Every API that can be compared.
KNOWN = (*ASKED, *MEMBERS, *JOINING, "PRODUCE", "FETCH", "FIND_COORDINATOR", DELETE_RECORDS)
# Why requests of other APIs are not compared.
NOT_ASKED = {
    "METADATA": "NOT MODELLED: the places of brokers and partitions, which are known here",
    "API_VERSIONS": "NOT MODELLED: the releases of brokers are fixed and known",
    "LIST_OFFSETS": "no leader is asked where logs start and end here: the batches show it",
    "CREATE_TOPICS": "NOT MODELLED: topics are given",
}
NO_DECISION = "the model has no such request"
NO_PARTITIONS = "its share session has no partitions any more"
REMOVED = "its topic was deleted, and its log with it"
ELSEWHERE = "another broker leads what it is about"
LEADERS_UNKNOWN = "a broker's own logs do not say who leads what"


def why_not(
    number: int,
    exchanges: tuple[Exchange, ...],
    names: Mapping[str, str],
    fetching: Fetching,
    removed: frozenset[str],
) -> str:
    """Return the reason why an exchange is not compared; `removed` are the ids and names of deleted topics."""
    exchange = exchanges[number]
    if exchange.api not in KNOWN:
        return NOT_ASKED.get(exchange.api, NO_DECISION)
    if _names_one_of(removed, exchange):
        return REMOVED
    if exchange.api == "FETCH":
        return fetching.why_not(number) or ELSEWHERE
    if exchange.api in ASKED and not questions(exchange, names):
        return NO_DECISION
    if exchange.api == "FIND_COORDINATOR":
        return LEADERS_UNKNOWN
    if exchange.api in MEMBERS:
        return NO_PARTITIONS if _has_begun(exchange, exchanges) else UNKNOWN_SESSION
    return ELSEWHERE


def words_of_removed(evidence: Evidence) -> frozenset[str]:
    """Return the ids of deleted topics, and the names that no topic has any more."""
    there = [topic for topic, _ in evidence.topics]
    ids = (topic_id for _, topic_id in evidence.removed)
    return frozenset((*ids, *(topic for topic, _ in evidence.removed if topic not in there)))


def _names_one_of(topics: frozenset[str], exchange: Exchange) -> bool:
    """Return whether a request names one of some topics, by its id or its name."""
    said = exchange.request
    named = said.get("topicData", said.get("topics", ())) or ()
    return any(
        topic.get(word) in topics
        for topic in named
        if isinstance(topic, Table)
        for word in ("topicId", "name", "topic")
    )


def _has_begun(exchange: Exchange, exchanges: tuple[Exchange, ...]) -> bool:
    """Return whether another request began the share session of this one."""
    who = ("groupId", "memberId")
    return any(
        x.api in MEMBERS
        and x.broker == exchange.broker
        and x.request["shareSessionEpoch"] == 0
        and all(x.request[each] == exchange.request[each] for each in who)
        for x in exchanges
    )
