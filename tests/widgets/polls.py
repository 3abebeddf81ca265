"""A long run of a consumer that polls: mostly nothing comes, now and then a transaction, rarely a crash."""

from __future__ import annotations

from typing import Any

LANES = [
    {"id": "app", "title": "app-1", "sub": "my-txn", "first": True},
    {"id": "tc", "title": "Broker 1", "sub": "coordinator", "first": True},
    {"id": "out", "title": "Broker 3", "sub": "output-A-0", "first": True},
    {"id": "src", "title": "Broker 5", "sub": "src-0", "first": True},
]
CARDS = [
    {"id": "txn", "title": "transaction my-txn", "kind": "facts", "lane": "tc", "order": 1},
    {"id": "client", "title": "app-1", "kind": "facts", "lane": "app", "order": 0},
    {"id": "log", "title": "output-A-0", "kind": "log", "lane": "out", "order": 2},
]
STATES = ("ONGOING", "PREPARE_COMMIT", "COMPLETE_COMMIT")
POLLS = 7  # empty polls between two transactions
CRASH_EVERY = 40  # rounds


class Run:
    """The parts of a payload, told step by step."""

    def __init__(self) -> None:
        self.steps: list[dict[str, Any]] = []
        self.messages: list[dict[str, Any]] = []
        self.notes: list[dict[str, Any]] = []
        self.rows: list[dict[str, Any]] = []
        self.open: dict[tuple[str, str], dict[str, Any]] = {}
        self.step("start", "app", "the start", "A long run begins.")

    @property
    def now(self) -> int:
        return len(self.steps) - 1

    def step(self, kind: str, actor: str, title: str, sentence: str, **more: Any) -> None:
        interesting = bool(more.pop("interesting", False))
        why = {"rule": kind, "guards": [], "clause": "KIP-932", "status": "shipped", "kafka": ""}
        self.steps.append(
            {
                "node": self.now + 1,
                "kind": kind,
                "actor": actor,
                "title": title,
                "sentence": sentence,
                "why": why,
                "tone": more.pop("tone", "calm"),
                "chapter": more.pop("chapter", ""),
                "interesting": interesting,
            }
        )

    def call(self, source: str, target: str, label: str, answer: str, **more: Any) -> None:
        """A request that arrives at once, and its answer."""
        self.step("sender", source, f"sends {label}", f"{source} sends {label}.")
        for a, b, what, kind in (
            (source, target, label, "request"),
            (target, source, answer, "response"),
        ):
            sent = self.now
            self.step("deliver", b, f"{what} arrives", f"{what} arrives at {b}.", **more)
            more = {}
            self.messages.append(
                {
                    "id": f"m{len(self.messages)}",
                    "from": a,
                    "to": b,
                    "label": what,
                    "detail": f"{what} from {a} to {b}",
                    "kind": kind,
                    "sent": sent,
                    "arrived": self.now,
                    "lost": None,
                    "tone": "calm",
                }
            )

    def row(self, card: str, name: str, **cells: Any) -> None:
        old = self.open.get((card, name))
        if old is not None:
            old["to"] = self.now
        row = {"card": card, "id": name, "from": self.now, "to": None, "cells": cells}
        self.open[card, name] = row
        self.rows.append(row)

    def transaction(self, number: int) -> None:
        for place, state in enumerate(STATES):
            self.call("app", "tc", f"EndTxn {number}" if place else f"AddPartitions {number}", "ok")
            self.steps[-2]["interesting"] = True
            self.row("txn", "state", label="state", value=state)
            tone = ("calm", "pending", "done")[place]
            note = {"lane": "tc", "step": self.now - 1, "text": state, "sub": "my-txn"}
            self.notes.append({**note, "tone": tone})
        offset = number
        self.row("log", f"offset {offset}", offset=offset, text=f"r{number}", batch=f"t-{number}")
        for mark in ("LEO", "HW", "LSO"):
            self.row("log", mark, at=offset + 1)


def payload(steps: int, **changes: Any) -> dict[str, Any]:
    """A payload of at least this many steps, without big steps, as a campaign's run has."""
    run, number = Run(), 0
    while run.now < steps:
        number += 1
        for _ in range(POLLS):
            run.call("app", "src", "ShareFetch", "nothing")
        run.transaction(number)
        if number % CRASH_EVERY == 0:
            words = f"Broker 5 crashes for the {number // CRASH_EVERY}. time."
            run.step("fault", "src", "Broker 5 crashes", words, chapter="Broker 5 crashes")
    verdict = {"property": "once", "sentence": "No record twice.", "reason": "", "to": None}
    return {
        "format": 1,
        "title": f"{run.now} steps",
        "scenario": "polls",
        "spec_line": "Kafka 4.2.0",
        "design": {"name": "repaired", "status": "our inference", "sentence": ""},
        "lanes": LANES,
        "cards": [{**card, "where": ""} for card in CARDS],
        "rows": run.rows,
        "bigs": [],
        "questions": [],
        "branches": [],
        "steps": run.steps,
        "messages": run.messages,
        "notes": run.notes,
        "downs": [],
        "verdicts": [{**verdict, "from": 0, "state": "holds"}],
        "choices": [],
        **changes,
    }
