"""Share groups followed one by one: they are independent, except for the number of sessions.

A connection may break between any two requests, so the possible histories of several groups multiply; if the groups are
followed one by one, they add up. All are followed together only if a broker had no room for another session
(SHARE_SESSION_LIMIT_REACHED), because there the sessions of all groups count.
Each group is followed in the order of its lines, and if that explains less, with earlier arrivals (`best_followed`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from kipviz.messages.errors import Errors
from kipviz.recordings.followed_members.share_answer_text import STATES
from kipviz.recordings.followed_members.share_requests import MEMBERS
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.replayed_roles.answer_text import ComparedAnswer, count_refused
from kipviz.recordings.request_context.arrival import as_early, with_one_earlier

# The requests of members, and of leaders to the share coordinator.
APIS = (*MEMBERS, *STATES)
# How many members' requests are moved to an earlier arrival, one after the other, before all of them are.
EARLIER_MAX = 8


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


def best_followed(
    exchanges: tuple[Exchange, ...],
    follow: Callable[[tuple[Exchange, ...], bool], tuple[ComparedAnswer, ...]],
) -> tuple[ComparedAnswer, ...]:
    """Follow the members in the order of the lines, and if necessary with earlier arrivals than the lines show.

    A line may be late, so a request may have arrived before others whose lines are earlier. First those that may
    explain the first difference are moved, one after the other; then all of them are. `follow` gets the exchanges, and
    whether the share coordinator answers at once.
    """
    moved, found = exchanges, follow(exchanges, False)
    best = found
    for _ in range(EARLIER_MAX):
        refused = [exchanges[each.number] for each in found if not each.accepted]
        # A write of state is compared when its leader asks, and an answer to a member when it is sent.
        times = [x.received_ms if x.api in STATES else x.answered_ms for x in refused]
        earlier = with_one_earlier(moved, MEMBERS, min(times)) if times else None
        if earlier is None:
            break
        moved = earlier
        found = follow(moved, False)
        best = min((best, found), key=count_refused)
    early = as_early(exchanges, MEMBERS)
    for at_once in (False, True):
        if count_refused(best):
            best = min((best, follow(early, at_once)), key=count_refused)
    return best
