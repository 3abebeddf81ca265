"""A share fetch at a broker that does not lead a partition: its share session is checked first, and its epoch advances.

The model's leader checks the leadership first if a request is about one partition, and its clients begin a new session
after any error. Kafka's clients keep counting epochs, and so does the broker, which may lead the partition again later.
Source: KafkaApis.handleShareFetchRequest, SharePartitionManager.newContext, ShareFetchUtils.
"""

from __future__ import annotations

from kipviz.brokers import deleted_topics
from kipviz.brokers.checks import error_of, one_after_another
from kipviz.brokers.context import Context, Effects, Reply, ReplyTo
from kipviz.brokers.share_leaders import share_partition_leader, share_sessions
from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.brokers.share_leaders.share_sessions import FINAL_EPOCH
from kipviz.messages.apis.shares.share_fetch import reject_fetch
from kipviz.messages.errors import Errors
from kipviz.messages.shares.share_groups import ShareFetch


def on_share_fetch(
    me: ShareLeader, request: ShareFetch, to: ReplyTo, on: Context
) -> Effects[ShareLeader]:
    """Fetch from the partition's leader; any other broker checks the form, the session, and then the leadership."""
    partition = request.first.partition
    if on.image.leader_of(partition) == on.broker:
        return share_partition_leader.on_share_fetch(me, request, to, on)
    checks = share_sessions.form_checks(request)
    if error_of(checks) is Errors.NONE:
        me, session = share_sessions.after(me, request, to, on)
        checks += session
    refused_before = error_of(checks) is not Errors.NONE
    told = one_after_another(lambda: checks, lambda: (deleted_topics.leader_check(partition, on),))
    answer = reject_fetch(partition, error_of(told))
    done = Effects(me, replies=(Reply(to, answer),), checks=told)
    if refused_before or request.session_epoch != FINAL_EPOCH:
        return done
    return share_partition_leader.close_session(done, request, to, on)
