"""How the clients of one process inform each other: after every step of the process their changes are passed on.

WHO: a client process. WHERE IN KAFKA: each pair is one object, or two with a common lock (KafkaShareConsumer with its
ShareMembershipManager, TransactionManager with its TransactionalRequestResult).
A process with a TransactionSession has one more exchange (KIP-1310, a draft): `kipviz.clients.sessions.binding`.
"""

from __future__ import annotations

from kipviz.clients.application import Application
from kipviz.clients.groups.consumer_membership import MemberState
from kipviz.clients.rules import ClientRules
from kipviz.clients.sessions import binding
from kipviz.clients.shares import share_consumer as sharing
from kipviz.clients.shares import share_member, staged_records
from kipviz.clients.shares.draining import consumer_of
from kipviz.clients.shares.share_member import ShareMember
from kipviz.clients.shares.share_memory import ShareConsumer
from kipviz.clients.transactions import group_identity, results


def settle(me: Application, rules: ClientRules) -> Application:
    """Pass on the changes of one step between the clients of a process."""
    me = group_identity.settle(_memberships(me))
    return results.settle(staged_records.settle(binding.settle_session(me, rules), rules))


def _memberships(me: Application) -> Application:
    """Exchange the changes between all share consumers of a process and their memberships."""
    own = () if not isinstance(me.consumer, ShareConsumer) else ("",)
    others = (name for name, client in me.others.items() if isinstance(client, ShareConsumer))
    for member in (*own, *others):
        me = _membership(me, member)
    return me


def _membership(me: Application, name: str) -> Application:
    """Exchange the changes between one share consumer and its membership (KIP-932).

    The consumer wants to be a member from its first poll() until it is closed, and reads the assignments of the
    membership. A poll() that waits for an assignment throws the membership's errors.
    """
    member = me.others.get(share_member.name_of(name))
    if not isinstance(member, ShareMember):
        return me
    consumer = consumer_of(me, name)
    before = member
    if consumer.subscription.awaiting and member.state is MemberState.UNSUBSCRIBED:
        member = share_member.join(member)
    if consumer.closed and member.state not in (*share_member.SILENT, MemberState.LEAVING):
        member = share_member.leave(member)
    after = sharing.assigned_now(consumer, member.partitions, member.member_epoch)
    if member.error and after.subscription.awaiting:
        wants = after.subscription.but(awaiting=False)
        after = after.but(error=member.error, done=True, subscription=wants)
        member = member if member.state is MemberState.FATAL else member.but(error="")
    if member is before and after is consumer:
        return me
    return me.with_client(member).with_client(after)
