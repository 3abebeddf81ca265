"""The result of a query as lines of text and as one document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from kipviz.messages.transactions.transactions import NO_TIME_LIMIT
from kipviz.recordings.auditing.audit_findings import moment_of, span_of
from kipviz.settings.client_configs import TRANSACTION_TIMEOUT_MS
from kipviz.views.reasons.open_transactions import lines_of_open, lines_of_pending
from kipviz.watching.admin_queries import Owned, ShareGroupNow
from kipviz.watching.cluster_query import Look

# The number of rows of each kind in the text; JSON has all of them.
TOLD = 20


def lines(look: Look) -> Iterator[str]:
    """Yield the lines of a query's result."""
    name = look.cluster_id or "the cluster"
    size = f"{_render_count(look.brokers, 'broker')}, {_render_count(look.partitions, 'partition')}"
    yield f"{name}: {size}, {moment_of(look.at_ms)} by this machine's clock"
    yield from (
        "",
        _render_count(len(look.owned), "open transaction") + (":" if look.owned else "."),
    )
    yield from _some(f"  {_render_transaction(each, look)}" for each in look.owned)
    for row in look.rows[:TOLD]:
        yield from lines_of_open(row)
    yield from _more(len(look.rows))
    for each in look.pending[:TOLD]:
        yield from lines_of_pending(each)
    yield from _more(len(look.pending))
    for group in look.shares[:TOLD]:
        yield ""
        yield from _share_group(group)
    yield from _more(len(look.shares))
    yield from ("",) if look.not_seen else ()
    yield from (f"not shown: {each}" for each in look.not_seen)


def _render_count(count: int, what: str) -> str:
    return f"{count or 'No'} {what}{'' if count == 1 else 's'}"


def _some(told: Iterable[str]) -> Iterator[str]:
    every = tuple(told)
    yield from every[:TOLD]
    yield from _more(len(every))


def _more(count: int) -> Iterator[str]:
    if count > TOLD:
        yield f"  and {count - TOLD:,} more of this kind (--json has all of them)"


def _render_transaction(each: Owned, look: Look) -> str:
    age = f" for {span_of(max(0, look.at_ms - each.began_ms))}" if each.began_ms >= 0 else ""
    limit = (
        "no time limit"
        if each.timeout_ms == NO_TIME_LIMIT
        else f"{TRANSACTION_TIMEOUT_MS.name} {span_of(each.timeout_ms)}"
    )
    late = " (overdue)" if look.is_overdue(each) else ""
    who = f"producer id {each.producer_id}, epoch {each.producer_epoch}, coordinator broker {each.coordinator}"
    shown = ", ".join(each.partitions[:5])
    more = f" and {len(each.partitions) - 5} more" if len(each.partitions) > 5 else ""
    where = f"; {shown}{more}" if each.partitions else "; no partition yet"
    return f"{each.transactional_id}: {each.state}{age}{late}, {limit}, {who}{where}"


def _share_group(group: ShareGroupNow) -> Iterator[str]:
    members = (
        "members not known" if group.members < 0 else _render_count(group.members, "member").lower()
    )
    backlog = _total(group)
    yield f"share group {group.group_id}: {group.state or 'state not known'}, {members}, {backlog}"
    yield from _some(
        f"  {each.partition}: start offset {each.start_offset if each.start_offset >= 0 else 'not known'}, "
        f"lag {each.lag if each.lag >= 0 else 'not known'}"
        for each in group.backlog
    )


def _total(group: ShareGroupNow) -> str:
    """Return the backlog in all partitions, as far as it is known."""
    known = [each.lag for each in group.backlog if each.lag >= 0]
    if not known:
        return "backlog not known"
    least = "" if len(known) == len(group.backlog) else "at least "
    return f"backlog {least}{_render_count(sum(known), 'record').lower()}"


def document(look: Look) -> dict[str, Any]:
    """Return the result of a query as one document: times in ms since 1970, -1 for unknown values."""
    found: dict[str, Any] = msgspec.to_builtins(look)
    for each, row in zip(look.owned, found["owned"], strict=True):
        row["overdue"] = look.is_overdue(each)
        row["age_ms"] = look.at_ms - each.began_ms if each.began_ms >= 0 else -1
    return found | {"wrong": look.is_wrong}
