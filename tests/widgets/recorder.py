"""Records a hand-told flow for the stepper's tests, as a trace's views would.

It keeps the steps, messages with the steps at which they were sent and arrived, notes, and the cards
of every step, which become rows with lifetimes. It can be forked at any step.
"""

from __future__ import annotations

import copy
from typing import Any

from kipviz.views.lifetimes import Lifetimes

State = dict[str, Any]


class Flow:
    """Records one line of steps; every verb below is one small step unless it says otherwise."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.steps: list[dict[str, Any]] = []
        self.bigs: list[dict[str, Any]] = []
        self.messages: list[dict[str, Any]] = []
        self.notes: list[dict[str, Any]] = []
        self.downs: list[dict[str, Any]] = []
        self.verdicts: list[dict[str, Any]] = []
        self.choices: list[dict[str, Any]] = []
        self.rows = Lifetimes()
        self.history: list[State] = []
        self.first = 0
        self.branches = 0

    @property
    def now(self) -> int:
        return self.first + len(self.steps) - 1

    # -- steps ----------------------------------------------------------------------------------

    def step(self, kind: str, actor: str, title: str, sentence: str, **more: Any) -> int:
        """Take one small step: what changed in `state` before this call is seen from it on."""
        why = {"rule": "", "guards": [], "clause": "", "status": "shipped", "kafka": ""}
        self.steps.append(
            {
                "node": f"n{self.first + len(self.steps)}",
                "kind": kind,
                "actor": actor,
                "title": title,
                "sentence": sentence,
                "why": {**why, **more.get("why", {})},
                "tone": more.get("tone", "calm"),
                "chapter": more.get("chapter", ""),
                "interesting": more.get("interesting", False),
            }
        )
        self.rows.add(cards(self.state))
        self.history.append(copy.deepcopy(self.state))
        return self.now

    def big(self, title: str, say: str) -> None:
        """Begin a big step with the next small one (no step of its own)."""
        begin = self.first + len(self.steps)
        if self.bigs and self.bigs[-1]["to"] is None:
            self.bigs[-1]["to"] = begin
        self.bigs.append({"from": begin, "to": None, "title": title, "say": say})

    def send(self, source: str, target: str, label: str, **more: Any) -> str:
        """Put a message on the wire in the last step (no step of its own)."""
        name = f"m{len(self.messages)}{more.get('mark', '')}"
        self.messages.append(
            {
                "id": name,
                "from": source,
                "to": target,
                "label": label,
                "detail": more.get("detail", label),
                "kind": more.get("kind", "request"),
                "sent": self.now,
                "arrived": None,
                "lost": None,
                "tone": more.get("tone", "calm"),
            }
        )
        return name

    def deliver(self, name: str, title: str, sentence: str, **more: Any) -> int:
        message = self.find(name)
        actor = message["to"]
        at = self.step(more.pop("kind", "deliver"), actor, title, sentence, **more)
        message["arrived"] = at
        return at

    def lose(self, name: str, sentence: str) -> int:
        message = self.find(name)
        at = self.step("fault", message["from"], f"lost: {message['label']}", sentence, tone="gone")
        message["lost"] = at
        return at

    def find(self, name: str) -> dict[str, Any]:
        for message in self.messages:
            if message["id"] == name:
                return message
        raise KeyError(name)

    def call(self, source: str, target: str, label: str, answer: str, **more: Any) -> None:
        """A request and its answer: two small steps, and the answer is sent by the first."""
        request = self.send(source, target, label, tone=more.get("tone", "calm"))
        self.deliver(
            request,
            f"{label} arrives",
            more.get("sentence", f"{name(target)} receives {label}."),
            why=more.get("why", {}),
            interesting=more.get("interesting", False),
        )
        back = self.send(target, source, answer, kind="response")
        if more.get("note"):
            self.note(target, *more["note"])
        self.deliver(back, f"{answer} arrives", f"{name(source)} is told: {answer}.")

    def note(self, lane: str, text: str, sub: str = "", tone: str = "calm") -> None:
        note = {"lane": lane, "step": self.now, "text": text, "sub": sub, "tone": tone}
        self.notes.append(note)

    def verdict(self, prop: str, sentence: str, state: str, reason: str = "") -> None:
        """From the next step on the property is in this state."""
        begin = self.first + len(self.steps)
        for verdict in self.verdicts:
            if verdict["property"] == prop and verdict["to"] is None:
                verdict["to"] = begin
        self.verdicts.append(
            {
                "property": prop,
                "sentence": sentence,
                "from": begin,
                "to": None,
                "state": state,
                "reason": reason,
            }
        )

    # -- the payload ----------------------------------------------------------------------------

    def close(self) -> None:
        for big in self.bigs:
            if big["to"] is None:
                big["to"] = self.now + 1
        self.verdicts = [verdict for verdict in self.verdicts if verdict["from"] <= self.now]

    def fork(self, at: int) -> Flow:
        """A recorder that goes on after step `at`, knowing only what it inherits."""
        other = Flow(copy.deepcopy(self.history[at - self.first]))
        other.rows = self.rows.fork(at)
        other.first = at + 1
        other.messages = [
            {**m, "arrived": None, "lost": None}
            for m in self.messages
            if m["sent"] <= at and (m["arrived"] is None or m["arrived"] > at)
        ]
        return other

    def branch(self, number: int, title: str, parent: int) -> dict[str, Any]:
        self.close()
        at = self.first - 1
        return {
            "id": number,
            "name": title,
            "parent": parent,
            "at": at,
            "closes": self.rows.closes,
            "rows": self.rows.rows,
            "steps": self.steps,
            "messages": self.messages,
            "notes": self.notes,
            "downs": self.downs,
            "verdicts": self.verdicts,
            "choices": self.choices,
            "bigs": self.bigs,
        }


NAMES = {
    "app": "The producer",
    "tc": "Broker 1",
    "out": "Broker 3",
    "src": "Broker 5",
    "state": "Broker 7",
    "other": "The second consumer",
}


def name(lane: str) -> str:
    return NAMES.get(lane, lane)


# -- cards -----------------------------------------------------------------------------------------

SHORT = {
    "AVAILABLE": "AV",
    "ACQUIRED": "AQ",
    "TX_PENDING": "PEND",
    "ACKNOWLEDGED": "ACK",
    "ARCHIVED": "ARCH",
}
TONE = {"TX_PENDING": "pending", "ACKNOWLEDGED": "done", "ARCHIVED": "gone"}
CODE = (
    "records = consumer.poll()",
    "producer.begin_transaction()",
    'producer.send("output-A", work(records))',
    "producer.send_share_acks(records, group)",
    "producer.commit_transaction()",
)


def start_state() -> State:
    return {
        "records": {
            offset: ("ACKNOWLEDGED" if offset < 100 else "AVAILABLE", int(offset < 100), "")
            for offset in range(98, 106)
        },
        "share": {"SPSO": "100", "staged by": "nobody", "lock": "none"},
        "out": {
            "batches": [(40, "x", "t-0", ""), (41, "", "t-0", "C")],
            "HW": 42,
            "LSO": 42,
            "LEO": 42,
        },
        "txn": {"state": "EMPTY", "producer epoch": "4", "participants": "none", "timeout": "60 s"},
        "client": {"producer id": "9", "epoch": "4", "in flight": "0"},
        "sgs": {"batches": [(7, "98-99 ACK", "", "")], "HW": 8, "LSO": 8, "LEO": 8},
        "member2": {"member epoch": "3", "holds": "nothing"},
        "line": -1,
        "waiting": False,
    }


def cards(state: State) -> dict[str, dict[str, dict[str, Any]]]:
    return {
        "records": {
            str(offset): {
                "offset": offset,
                "state": kind,
                "short": SHORT[kind],
                "delivery_count": count,
                "note": note,
                "tone": TONE.get(kind, "calm"),
            }
            for offset, (kind, count, note) in state["records"].items()
        },
        "share": facts(state["share"]),
        "out": log(state["out"]),
        "txn": facts(state["txn"]),
        "app": {
            str(line): {
                "line": line,
                "text": text,
                "current": line == state["line"],
                "waiting": line == state["line"] and state["waiting"],
            }
            for line, text in enumerate(CODE)
        },
        "client": facts(state["client"]),
        "sgs": log(state["sgs"]),
        "member2": facts(state["member2"]),
    }


def facts(values: dict[str, str]) -> dict[str, dict[str, Any]]:
    return {label: {"label": label, "value": value} for label, value in values.items()}


def log(partition: dict[str, Any]) -> dict[str, dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {
        f"b{offset}": {"offset": offset, "text": text, "batch": batch, "control": control}
        for offset, text, batch, control in partition["batches"]
    }
    return rows | {mark: {"at": partition[mark]} for mark in ("HW", "LSO", "LEO")}


LANES = [
    {"id": "app", "title": "app + producer", "sub": "pid 9 · epoch 4", "first": True},
    {"id": "tc", "title": "Broker 1", "sub": "transaction coordinator", "first": True},
    {"id": "out", "title": "Broker 3", "sub": "leads output-A-0", "first": True},
    {"id": "src", "title": "Broker 5", "sub": "leads src-0", "first": True},
    {"id": "state", "title": "Broker 7", "sub": "leads share state 16", "first": False},
    {"id": "other", "title": "consumer 2", "sub": "member m2", "first": False},
]
CARDS = [
    {"id": "records", "title": "src-0 for share group g1", "where": "Broker 5", "kind": "records", "lane": "src", "order": 0},
    {"id": "share", "title": "share partition src-0", "where": "Broker 5", "kind": "facts", "lane": "src", "order": 1},
    {"id": "out", "title": "output-A-0", "where": "Broker 3", "kind": "log", "lane": "out", "order": 2},
    {"id": "txn", "title": "transaction t-1", "where": "Broker 1", "kind": "facts", "lane": "tc", "order": 3},
    {"id": "app", "title": "the application", "where": "client", "kind": "application", "lane": "app", "order": 4},
    {"id": "client", "title": "producer", "where": "client", "kind": "facts", "lane": "app", "order": 5},
    {"id": "sgs", "title": "__share_group_state-16", "where": "Broker 7", "kind": "log", "lane": "state", "order": 6},
    {"id": "member2", "title": "member m2", "where": "consumer 2", "kind": "facts", "lane": "other", "order": 7},
]  # fmt: skip
