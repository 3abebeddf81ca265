"""Votes that a share consumer sends by itself, in the name of a TransactionSession (KIP-1310, draft).

One vote is on the wire at a time, and several calls may have something to send: each waits for its turn.
"""

from __future__ import annotations

from kipviz.clients.shares.share_memory import ShareConsumer
from kipviz.messages.errors import Errors
from kipviz.messages.share_groups import TxnShareAcknowledge


def acknowledge_transactionally(
    me: ShareConsumer, request: TxnShareAcknowledge, offsets: tuple[int, ...]
) -> ShareConsumer:
    """Stage acknowledgements in the transaction of a session. Returns at once; status: draft.

    Clause: KIP-1310 2.4. The consumer sends them on its own connection, with the identity that the
    session has now.
    """
    me = me.but(staged=tuple(sorted({*me.staged, *offsets})))
    if me.voting is None:
        return me.but(voting=request)
    return me.but(votes_behind=(*me.votes_behind, request))


def taken(me: ShareConsumer) -> ShareConsumer:
    """Leave the vote that goes out to the wire, and let the next one move up."""
    following = me.votes_behind[0] if me.votes_behind else None
    return me.but(voting=following, votes_behind=me.votes_behind[1:])


def again(me: ShareConsumer, request: TxnShareAcknowledge) -> ShareConsumer:
    """Have a vote sent once more, before those that came after it."""
    behind = () if me.voting is None else (me.voting, *me.votes_behind)
    return me.but(voting=request, votes_behind=behind)


def answered(me: ShareConsumer, request: TxnShareAcknowledge, error: Errors) -> ShareConsumer:
    """Note what a vote came to. After a refusal the transaction can only abort: what waits is not sent."""
    if error is Errors.NONE:
        return me.but(vote_error=error, dropped=())
    unsent = () if me.voting is None else (me.voting, *me.votes_behind)
    return me.but(vote_error=error, dropped=(request, *unsent), voting=None, votes_behind=())
