"""The calls of an admin client. Each call is about the object that its line names."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from kipviz.clients.application import Application, Line
from kipviz.clients.calling.named_client import named_client
from kipviz.clients.operators import admin as administering
from kipviz.clients.operators.admin import Admin
from kipviz.clients.rules import ClientRules

Enter: TypeAlias = Callable[[Application, Line, ClientRules], Application]


def _admin_of(me: Application, line: Line) -> Admin:
    client = named_client(me, line, me.client_named(administering.NAME))
    assert isinstance(client, Admin), f"{line.call.value}() is a call of an admin client"
    return client


def asking(ask: Callable[[Admin, str], Admin]) -> Enter:
    """Return the function that enters a call about one object: the line's target."""

    def enter(me: Application, line: Line, rules: ClientRules) -> Application:
        return me.with_client(ask(_admin_of(me, line), line.target))

    return enter


def list_transactions(me: Application, line: Line, rules: ClientRules) -> Application:
    """Ask every broker for the transactions that it coordinates."""
    filters = administering.filters_of(line.target)
    return me.with_client(administering.list_transactions(_admin_of(me, line), filters))
