"""Goals of the stories of TransactionSession (KIP-1310)."""

from __future__ import annotations

from collections.abc import Mapping

from kipviz.brokers.timers import TransactionLiveness
from kipviz.clients.transactions.external_database import ExternalDatabase
from kipviz.cluster.actions import RunOut
from kipviz.lessons.moment import Goal, Moment
from kipviz.messages.events import CallReturned, MessageSent
from kipviz.messages.logs.producing import ProduceResponse
from kipviz.records.batches import DataRecord


def _batch_refused(moment: Moment) -> bool:
    """A leader has just rejected a batch of a producer."""
    return any(
        isinstance(event, MessageSent)
        and isinstance(event.message, ProduceResponse)
        and any(each.error for each in event.message.partition_responses)
        for event in moment.events
    )


def _row_without_output(moment: Moment) -> bool:
    """A database has committed a row whose output is in no log."""
    world = moment.world
    written = {
        record.origin
        for log in world.logs.values()
        for batch in log.batches
        for record in batch.records
        if isinstance(record, DataRecord)
    }
    rows = {
        row
        for app in world.applications.values()
        for client in app.others.values()
        if isinstance(client, ExternalDatabase)
        for row in client.rows
    }
    return bool(rows - written)


def _silence(moment: Moment) -> bool:
    """A transaction was ended on this run because its client sent no heartbeats."""
    return any(
        isinstance(action, RunOut) and isinstance(action.timer, TransactionLiveness)
        for action in moment.actions
    )


def _call_threw(moment: Moment) -> bool:
    """A call of an application has just thrown."""
    return any(isinstance(event, CallReturned) and event.raised for event in moment.events)


SESSION_GOALS: Mapping[str, Goal] = {
    "batch refused": _batch_refused,
    "row without output": _row_without_output,
    "silence": _silence,
    "call threw": _call_threw,
}
