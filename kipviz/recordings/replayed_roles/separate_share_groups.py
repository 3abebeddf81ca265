"""Share groups followed one by one: they are independent, except for the number of sessions.

A connection may break between any two requests, so the possible histories of several groups multiply; if the groups are
followed one by one, they add up. All are followed together only if a broker had no room for another session
(SHARE_SESSION_LIMIT_REACHED), because there the sessions of all groups count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from kipviz.messages.errors import Errors
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.replayed_roles.share_answer_text import STATES
from kipviz.recordings.replayed_roles.share_requests import MEMBERS

# The requests of members, and of leaders to the share coordinator.
APIS = (*MEMBERS, *STATES)


def group_by_group(exchanges: tuple[Exchange, ...]) -> Iterator[tuple[Exchange, ...]]:
    """Yield the exchanges once for each share group, without the other groups' requests; each keeps its place."""
    groups = dict.fromkeys(_group_of(each) for each in exchanges if each.api in APIS)
    if len(groups) < 2 or any(map(_had_no_room, exchanges)):
        yield exchanges
        return
    for group in groups:
        yield _of_group(exchanges, group, APIS)


def of_one_group(
    exchanges: tuple[Exchange, ...], number: int, apis: Collection[str]
) -> tuple[Exchange, ...]:
    """Return the exchanges without those requests of some APIs that belong to other groups."""
    return _of_group(exchanges, _group_of(exchanges[number]), apis)


def _of_group(
    exchanges: tuple[Exchange, ...], group: str, apis: Collection[str]
) -> tuple[Exchange, ...]:
    return tuple(
        each.but(api="") if each.api in apis and _group_of(each) != group else each
        for each in exchanges
    )


def _group_of(exchange: Exchange) -> str:
    return exchange.request.get("groupId") or ""


def _had_no_room(exchange: Exchange) -> bool:
    found: bool = (
        exchange.api == "SHARE_FETCH"
        and exchange.response.get("errorCode", 0) == Errors.SHARE_SESSION_LIMIT_REACHED
    )
    return found
