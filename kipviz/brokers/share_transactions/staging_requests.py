"""A staging of several partitions in one request: an acknowledgement for each, one response (KIP-1289).

WHEN: a producer stages what its share consumer holds of several partitions that one broker leads.
DOES: handles every part as a staging of one partition; the response waits until each has its result.
OPEN: stage_parts: what becomes of the parts that were staged when another one is rejected. A part at another leader
is another request, and no broker knows of both.
Clause: KIP-1289 corner case 11 (draft).
"""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.brokers.checks import Check, report_value
from kipviz.brokers.context import Context, Effects, Reply, ReplyTo, with_effects
from kipviz.brokers.handling import takes
from kipviz.brokers.share_leaders import share_partition, share_partition_leader
from kipviz.brokers.share_leaders.share_partition import ShareLeader, StagingCall
from kipviz.core.model import Event
from kipviz.messages.errors import Errors
from kipviz.messages.shares.share_groups import (
    TxnShareAcknowledge,
    TxnShareAcknowledgeResponse,
)
from kipviz.messages.transactions.transactions import PartitionResult


@takes(TxnShareAcknowledge)
def on_txn_share_acknowledge(
    me: ShareLeader, request: TxnShareAcknowledge, reply_to: ReplyTo, on: Context
) -> Effects[ShareLeader]:
    """Split a staging and pass each partition of it to the leader.

    WHEN: sendShareAcknowledgementsToTransaction. CHECKS: nothing of its own. DOES: stores the call until all parts have
    a result. ANSWERS: at once for one partition that is rejected, otherwise when every part has its result.
    Clause: KIP-1289 "TxnShareAcknowledgeRequest", Topics and Partitions (draft).
    """
    if len(request.partitions) == 1:
        return share_partition_leader.on_txn_share_acknowledge(me, request, reply_to, on)
    me = me.but(calls=(*me.calls, StagingCall(reply_to, request)))
    parts: list[Effects[ShareLeader]] = []
    for named in request.partitions:
        alone = request.but(partitions=(named,))
        done = share_partition_leader.on_txn_share_acknowledge(me, alone, reply_to, on)
        me = done.state
        parts.append(done.after((report_value("partition", named.partition),)))
    return with_effects(me, *parts)


def collect_results(done: Effects[ShareLeader], on: Context) -> Effects[ShareLeader]:
    """Collect the results of parts, and send one response once all are known."""
    me = done.state
    replies: list[Reply] = []
    events: list[Event] = []
    checks: list[Check] = []
    for reply in done.replies:
        call = next((c for c in me.calls if c.reply_to == reply.to), None)
        if call is None or not isinstance(reply.message, TxnShareAcknowledgeResponse):
            replies.append(reply)
            continue
        known = call.but(results=(*call.results, *reply.message.responses))
        others = tuple(c for c in me.calls if c is not call)
        if len(known.results) < len(call.request.partitions):
            me = me.but(calls=(*others, known))
            continue
        me, results, undone = _decide_parts(me.but(calls=others), known, on)
        events += undone
        checks += _result_checks(known, results)
        rejected_first = sorted(results, key=lambda result: result.error is Errors.NONE)
        answer = TxnShareAcknowledgeResponse(tuple(rejected_first))
        replies.append(Reply(call.reply_to, answer))
    return done.but(
        state=me,
        replies=tuple(replies),
        events=(*done.events, *events),
        checks=(*done.checks, *checks),
    )


def on_disconnected(me: ShareLeader, source: str) -> ShareLeader:
    """Remove the calls of a closed connection."""
    left = tuple(call for call in me.calls if call.reply_to.source != source)
    return me if len(left) == len(me.calls) else me.but(calls=left)


def _result_checks(call: StagingCall, results: tuple[PartitionResult, ...]) -> Iterator[Check]:
    """Return the result of each part by itself, and the error that it gets because of the others."""
    own = {result.partition: result.error for result in call.results}
    for each in results:
        error = own[each.partition]
        if error is not Errors.NONE:
            yield Check("staged", each.partition, error, error)
        elif each.error is not Errors.NONE:
            yield Check("staged with the others", each.partition, True, each.error)


def _decide_parts(
    me: ShareLeader, call: StagingCall, on: Context
) -> tuple[ShareLeader, tuple[PartitionResult, ...], tuple[Event, ...]]:
    """Release what was staged if the design stages all parts or none; the error is then the first one.

    What is in the log stays there: only the transaction can end an acknowledgement.
    """
    staged = {result.partition: result.error for result in call.results}
    refused = next((error for error in staged.values() if error is not Errors.NONE), Errors.NONE)
    if not on.rules.stage_parts(tuple(result.error for result in call.results)):
        return me, call.results, ()
    events: list[Event] = []
    results = []
    for named in call.request.partitions:
        error = staged[named.partition]
        if error is Errors.NONE:
            error = refused
            key = on.image.share_key(call.request.group_id, named.partition)
            share = me.shares.get(key)
            if share is not None:
                alone = call.request.but(partitions=(named,))
                share, moves = share_partition.unstage(share, alone)
                me = me.but(shares=me.shares.set(key, share))
                events += moves
        results.append(PartitionResult(named.partition, error))
    return me, tuple(results), tuple(events)
