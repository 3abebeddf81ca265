"""The calls of an application's program: on clients that it has, and possible there."""

from __future__ import annotations

from kipviz.clients.application import STAGING, Call, Line
from kipviz.clients.calls import ADMIN, CALLS, CONSUMER
from kipviz.clients.sessions.session_calls import GIVEN, ON_GIVEN
from kipviz.clients.shares.draining import drained_member
from kipviz.clients.transactions import external_database as databases
from kipviz.cluster.specs.session_config import SESSION
from kipviz.cluster.specs.spec import ApplicationSpec
from kipviz.messages.shares.share_groups import AcknowledgeType

# Calls of some consumers only: their name, and whether a consumer is one of them.
OF_SHARE_CONSUMERS = (
    *STAGING,
    Call.ACKNOWLEDGE,
    Call.COMMIT_ASYNC,
    Call.CLOSE_CONSUMER,
    Call.SHARE_GROUP_METADATA,
    Call.DRAIN,
)
OF_MEMBERS = (Call.SUBSCRIBE, Call.UNSUBSCRIBE)


def why_no_program(app: ApplicationSpec) -> str:
    """Return which line of a program calls something impossible, or ""; a line number after the last is the end."""
    return next(filter(None, (_why_no_line(app, line) for line in app.program)), "")


def why_no_such_call(app: ApplicationSpec) -> str:
    """Return which call of a program has no session, or ""."""
    for line in app.program:
        if line.call is Call.NEW_PRODUCER and app.session is None:
            return f"{app.name} has no session that a producer could be made for"
        if line.client == GIVEN and line.call not in ON_GIVEN:
            known = ", ".join(call.value for call in ON_GIVEN)
            return f"{app.name} calls {line.call.value}() on {GIVEN}, which has {known}"
    return ""


def _why_no_line(app: ApplicationSpec, line: Line) -> str:
    called = f"{app.name}: {line.call.value}()"
    if line.then < -1 or line.on_error < -1:
        return f"{called} continues in line 0 or a later one, or in the next one (-1), not in {min(line.then, line.on_error)}"
    if line.call is Call.ACKNOWLEDGE and line.target and not line.target.isdecimal():
        return f"{called} must be about the record at an offset, or about all ('' as target), not {line.target!r}"
    if any(kind == AcknowledgeType.UNKNOWN for _, kind in line.verdicts):
        known = ", ".join(kind.name for kind in AcknowledgeType if kind >= 0)
        return f"{called} must give a record one of {known}, not {AcknowledgeType.UNKNOWN.name}"
    of = CALLS[line.call].of
    if line.client and line.client not in _nameable_clients(app, of):
        known = ", ".join(map(repr, ("", *_nameable_clients(app, of))))
        return f"{called} is a call of one of {known}, not of {line.client!r}"
    member = drained_member(line)
    if member and member not in app.further_members:
        return f"{called} stages the decisions of {member!r}, which is not in further_members"
    if line.call is Call.FLUSH and app.plain is None:
        return f"{called} is for a producer without a transactional id (plain): commitTransaction() does that for a transaction"
    if line.call in OF_SHARE_CONSUMERS and not app.share:
        return f"{called} is for a member of a share group (share)"
    if line.call in OF_MEMBERS and (app.share or not app.protocol):
        return f"{called} is for a consumer that joins a regular group (protocol)"
    if line.call is Call.COMMIT_SYNC and not (app.share or app.protocol):
        return f"{called} is for a member that joins its group, or shares"
    if line.call is Call.SEEK and (app.share or app.protocol):
        return f"{called} is for a consumer that is in its regular group before the run"
    if (of == databases.NAME or line.call is Call.SEEK) and not app.database:
        return f"{called} takes a database, which {app.name} has not (database)"
    return ""


def _nameable_clients(app: ApplicationSpec, of: str) -> tuple[str, ...]:
    """Return the clients that a line can name, of the kind that has its call."""
    if of == CONSUMER:
        own = tuple(thread.consumer for thread in app.threads if thread.consumer)
        return (*own, *app.further_members)
    if of in (ADMIN, databases.NAME):
        return ()
    bound = () if app.session is None else (SESSION, *app.session.producers)
    return (GIVEN, *bound, *app.tasks)
