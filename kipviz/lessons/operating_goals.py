"""Goals about operators: rights, and brokers with different releases."""

from __future__ import annotations

from collections.abc import Mapping

from kipviz.clients.sending.producer import Producer
from kipviz.cluster.actions import DeleteAcls, InstallRelease
from kipviz.lessons.moment import Goal, Moment
from kipviz.messages.errors import Errors
from kipviz.messages.events import AclsChanged, MessageDelivered, TopicCreated, TopicDeleted
from kipviz.messages.message_errors import error_in
from kipviz.messages.transactions.transactions import AddPartitionsToTxnResponse

OF_RIGHTS = (
    Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    Errors.TOPIC_AUTHORIZATION_FAILED,
    Errors.GROUP_AUTHORIZATION_FAILED,
    Errors.CLUSTER_AUTHORIZATION_FAILED,
)


def _is_refused(moment: Moment) -> bool:
    """A client has just received the error that it lacks a right."""
    return any(
        isinstance(event, MessageDelivered)
        and event.way == "response"
        and error_in(event.message) in OF_RIGHTS
        for event in moment.events
    )


def _right_lost(moment: Moment) -> bool:
    """An operator removed a right on this run."""
    return any(isinstance(action, DeleteAcls) for action in moment.actions)


def _brokers_differ(moment: Moment) -> bool:
    """Brokers with different releases are in one cluster."""
    return len({name for _, name in moment.world.image.releases}) > 1


def _same_binary(moment: Moment) -> bool:
    """Every broker runs the same release after an upgrade on this run."""
    upgraded = any(isinstance(action, InstallRelease) for action in moment.actions)
    return upgraded and not _brokers_differ(moment)


def _acls_deleted(moment: Moment) -> bool:
    """Several ACLs were just deleted at once."""
    gone = (e for e in moment.events if isinstance(e, AclsChanged) and not e.created)
    return len(tuple(gone)) > 1


def _topic_deleted(moment: Moment) -> bool:
    """A topic was just deleted permanently."""
    return any(isinstance(event, TopicDeleted) for event in moment.events)


def _topic_created(moment: Moment) -> bool:
    """A topic was just created."""
    return any(isinstance(event, TopicCreated) for event in moment.events)


def _topic_awaited(moment: Moment) -> bool:
    """A send() waits for a topic that its producer does not know and that does not exist."""
    producers = (
        client
        for app in moment.world.applications.values()
        for client in app.clients
        if isinstance(client, Producer)
    )
    return any(client.metadata.resting for client in producers)


def _not_attempted(moment: Moment) -> bool:
    """A client has just learnt that a partition was not added because of another one."""
    return any(
        isinstance(event, MessageDelivered)
        and isinstance(event.message, AddPartitionsToTxnResponse)
        and any(
            each.error is Errors.OPERATION_NOT_ATTEMPTED
            for result in event.message.results
            for each in result.results
        )
        for event in moment.events
    )


OPERATING_GOALS: Mapping[str, Goal] = {
    "refused": _is_refused,
    "right lost": _right_lost,
    "brokers differ": _brokers_differ,
    "one binary": _same_binary,
    "acls deleted": _acls_deleted,
    "topic deleted": _topic_deleted,
    "topic created": _topic_created,
    "topic awaited": _topic_awaited,
    "not attempted": _not_attempted,
}
