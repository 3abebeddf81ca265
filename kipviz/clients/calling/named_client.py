"""The client that a line of a program names, or the usual client for such a call."""

from __future__ import annotations

from kipviz.clients.application import Application, Line
from kipviz.clients.kinds import Client
from kipviz.clients.sessions import session_calls


def named_client(me: Application, line: Line, usual: Client) -> Client:
    """Return the client whose method a line calls: the usual one, unless the line names another."""
    if line.client == session_calls.GIVEN:
        return session_calls.find_session(me) or me.producer
    return me.client_named(line.client) if line.client else usual
