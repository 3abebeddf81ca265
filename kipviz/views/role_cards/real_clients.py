"""Real clients in the stepper: lanes with name and version, their connections, and their log lines.

A client outside the model has no state in the world except its connections. So its cards show which are open, what is
in flight, and the lines of its log at each step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kipviz.cluster.model import ClusterModel
from kipviz.cluster.real.served_run import (
    ClientPoll,
    RealClient,
    clients_of,
    lines_of,
    polls_of,
)
from kipviz.cluster.world import Connection, host_of
from kipviz.core.outside.printable import sentence
from kipviz.core.table import Table
from kipviz.views.page_parts import NotePart
from kipviz.views.role_cards.card_rows import Card, facts

LINES_SHOWN = 12
NO_SOFTWARE = "software not announced"


def lanes(model: ClusterModel) -> list[tuple[str, str, str]]:
    """Return the lane of every real client: its id, its title, and its software with its version."""
    return [(c.name, c.name, _software(c)) for c in clients_of(model)]


def _software(client: RealClient) -> str:
    return sentence(client.software) or NO_SOFTWARE


def connections(
    name: str,
    known: Table[tuple[str, int], Connection],
    polls: Mapping[tuple[str, int], ClientPoll],
) -> Card:
    """Return the card of a client's connections: whether each is open, what is in flight, and what waits at a broker."""
    rows = []
    unknown = {place: poll for place, poll in polls.items() if host_of(place[0]) == name}
    for (source, broker), connection in zip(known.keys(), known.values(), strict=True):
        if host_of(source) != name:
            continue
        label = f"B{broker}, connection {source.partition('/')[2]}"
        flight = [type(e.message).__name__ for e in (*connection.responses, *connection.requests)]
        if connection.serving is not None:
            flight.append(f"{type(connection.serving.message).__name__} (being handled)")
        poll = unknown.pop((source, broker), None)
        if not connection.open:
            rows.append((label, "closed", "gone"))
        elif poll is not None and not flight:
            rows.append((label, _waits(poll), "pending"))
        elif flight:
            rows.append((label, f"open, in flight: {', '.join(flight)}", "pending"))
        else:
            rows.append((label, "open, nothing in flight", "calm"))
    for (source, broker), poll in unknown.items():
        rows.append((f"B{broker}, connection {source.partition('/')[2]}", _waits(poll), "pending"))
    return facts(rows)


def _waits(poll: ClientPoll) -> str:
    return f"open, {poll.request} waits at B{poll.broker} for records"


class OpenPolls:
    """The long polls of real clients that wait at a step, along one branch of a run."""

    def __init__(self, model: ClusterModel) -> None:
        """Group them by the nodes at which they begin and end."""
        self._begun: dict[int, list[ClientPoll]] = {}
        self._ended: dict[int, list[ClientPoll]] = {}
        for poll in polls_of(model):
            self._begun.setdefault(poll.node, []).append(poll)
            if poll.until >= 0:
                self._ended.setdefault(poll.until, []).append(poll)
        self.now: Mapping[tuple[str, int], ClientPoll] = {}

    def observe(self, node: int) -> None:
        """Advance to the next node; `now` is another object if it has changed."""
        begun, ended = self._begun.get(node, ()), self._ended.get(node, ())
        if begun or ended:
            gone = {(poll.source, poll.broker) for poll in ended}
            left = {place: poll for place, poll in self.now.items() if place not in gone}
            self.now = left | {(poll.source, poll.broker): poll for poll in begun}


class ClientLogs:
    """The log lines of real clients along one branch of a run: a card for each client, and notes on its lane."""

    def __init__(self, model: ClusterModel) -> None:
        """Group the lines by their nodes."""
        self._at: dict[str, list[tuple[str, str]]] = {}
        for line in lines_of(model):
            self._at.setdefault(str(line.node), []).append((line.client, sentence(line.text)))
        names = {line.client for line in lines_of(model)}
        self.names = tuple(c.name for c in clients_of(model) if c.name in names)
        self._newest: dict[str, list[tuple[str, str, str]]] = {name: [] for name in self.names}

    def observe(self, k: int, node: str) -> None:
        """Advance to step `k` of the branch."""
        for number, (client, text) in enumerate(self._at.get(node, ()), 1):
            rows = [*self._newest.get(client, []), (f"step {k}, line {number}", text, "calm")]
            self._newest[client] = rows[-LINES_SHOWN:]

    def notes(self, k: int, node: str) -> Iterator[NotePart]:
        """Yield a note for each client that logged something at a step; it shows the last line."""
        last: dict[str, list[str]] = {}
        for client, text in self._at.get(node, ()):
            if client in self._newest:
                last.setdefault(client, []).append(text)
        for client, texts in last.items():
            more = f", {len(texts)} lines" if len(texts) > 1 else ""
            yield {
                "lane": client,
                "step": k,
                "text": texts[-1],
                "sub": f"its log{more}",
                "tone": "calm",
            }

    def snapshot(self) -> dict[str, Card]:
        """Return the card of every client that logs, at the step that was observed last."""
        return {f"lines:{name}": facts(rows) for name, rows in self._newest.items()}
