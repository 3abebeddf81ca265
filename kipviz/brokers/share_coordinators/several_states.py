"""A request about several share-partitions: each one's coordinator on this broker answers, in one response.

A part of KafkaApis (`kafka_apis`), with the same state. WHERE IN KAFKA: ShareCoordinatorService.readState, writeState and
  similar methods, which schedule one operation for each share-partition and combine the results.
KIPS: KIP-932.
DURABILITY: volatile; after a broken connection the sender retries.
NOT MODELLED: senders of several; the leaders and group coordinators of the model ask about one share-partition at a time.
"""

from __future__ import annotations

from kipviz.brokers.checks import Checks, compare
from kipviz.brokers.context import Context, Effects, LocalCall, Reply, ReplyTo
from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.brokers.local_calls import AskedOfOne
from kipviz.messages.apis.api import Role
from kipviz.messages.apis.catalogue import reject_request
from kipviz.messages.errors import Errors
from kipviz.messages.shares.share_state import StatesRequest
from kipviz.records.placement import SHARE_GROUP_STATE


def on_several_states(
    me: KafkaApis, request: StatesRequest, reply_to: ReplyTo, on: Context
) -> Effects[KafkaApis]:
    """Pass each share-partition to its coordinator.

    CHECKS: for each share-partition whether it is coordinated here (NOT_COORDINATOR); an error of one does not affect
    the others. DOES: nothing else. ANSWERS: when every coordinator has answered (`cluster.topic_authorization`).
    Clause: KIP-932; ShareCoordinatorService.
    """
    replies: list[Reply] = []
    calls: list[LocalCall] = []
    checks: Checks = ()
    for part in request.partitions:
        one = request.but(partitions=(part,))
        home = on.image.home_of(SHARE_GROUP_STATE, part.key)
        leader = on.image.leader_of(home)
        here = leader == on.broker
        checks += (compare("leader", on.broker, leader, here, Errors.NOT_COORDINATOR),)
        if here:
            calls.append(LocalCall(Role.SHARE_COORDINATOR, home, AskedOfOne(reply_to, one)))
        else:
            replies.append(Reply(reply_to, reject_request(one, Errors.NOT_COORDINATOR)))
    return Effects(me, replies=tuple(replies), local=tuple(calls), checks=checks)
