"""Payloads for the stepper's tests: the share flow, its repaired twin, and long runs for the bench.

`Responder` answers a chosen event with a suffix-only branch, as a model does.
"""

from __future__ import annotations

from typing import Any

from tests.widgets.recorder import CARDS, CODE, LANES, SHORT, Flow, name, start_state
from tests.widgets.story import ATOMIC, ONCE, as_written, records, repaired_flow

# -- choices ---------------------------------------------------------------------------------------


def add_choices(flow: Flow) -> None:
    """At every step: what the next step took, what else is on the wire, faults, and what cannot be."""
    for k in range(flow.first, flow.now):
        flow.choices.append({"from": k, "to": k + 1, "items": choices_at(flow, k)})


def choices_at(flow: Flow, k: int) -> list[dict[str, Any]]:
    following = flow.steps[k + 1 - flow.first]
    group = "fault" if following["kind"] == "fault" else "next"
    items = [choice(f"take-{k}", following["title"], name(following["actor"]), group, taken=True)]
    on_the_wire = [
        m for m in flow.messages if m["sent"] <= k and (m["arrived"] is None or m["arrived"] > k)
    ]
    for message in on_the_wire:
        arrives = message["arrived"] == k + 1
        if arrives:
            items[0] |= {
                "text": f"Deliver {message['label']}",
                "sub": f"to {name(message['to'])}",
                "message": message["id"],
            }
        else:
            items.append(
                choice(
                    f"deliver-{message['id']}",
                    f"Deliver {message['label']}",
                    f"to {name(message['to'])}",
                    message=message["id"],
                )
            )
        items.append(
            choice(
                f"lose-{message['id']}",
                f"Lose {message['label']}",
                "the connection breaks",
                "fault",
                message=message["id"],
            )
        )
    items.append(choice("crash-src", "Crash Broker 5", "share-partition leader of src-0", "fault"))
    items.append(
        choice("move-out", "Move the leader of output-A-0", "Broker 3 to Broker 4", "fault")
    )
    items += impossible(flow, k)
    return items


def impossible(flow: Flow, k: int) -> list[dict[str, Any]]:
    state = flow.history[k - flow.first]["txn"]["state"]
    items = []
    if state != "ONGOING":
        why = "not after PREPARE_COMMIT" if "COMMIT" in state else "no transaction is ongoing"
        items.append(
            choice("timeout", "Abort by timeout", "transaction coordinator", enabled=False, why=why)
        )
    items.append(
        choice(
            "move-tc",
            "Move the coordinator",
            "Broker 1",
            "fault",
            enabled=False,
            why="one fault is allowed in this scenario",
        )
    )
    return items


def choice(name_: str, text: str, sub: str, group: str = "next", **more: Any) -> dict[str, Any]:
    return {
        "id": name_,
        "text": text,
        "sub": sub,
        "group": group,
        "enabled": more.get("enabled", True),
        "why": more.get("why", ""),
        "taken": more.get("taken", False),
        "message": more.get("message", ""),
    }


# -- whole payloads --------------------------------------------------------------------------------


def payload_of(flow: Flow, **changes: Any) -> dict[str, Any]:
    payload = {
        "format": 1,
        "title": "KIP-1289 · a share group inside a transaction",
        "scenario": "share-commit",
        "spec_line": "Kafka 4.2.0 · transaction version 2",
        "design": {
            "name": "as written: lock expiry",
            "status": "draft",
            "sentence": "The lock timer of a record goes on while the record is TX_PENDING.",
        },
        "lanes": LANES,
        "cards": CARDS,
        "steps": flow.steps,
        "bigs": flow.bigs,
        "messages": flow.messages,
        "notes": flow.notes,
        "downs": flow.downs,
        "rows": flow.rows.rows,
        "verdicts": flow.verdicts,
        "choices": flow.choices,
        "questions": [],
        "branches": [],
    }
    return {**payload, **changes}


def question(flow: Flow) -> dict[str, Any]:
    reveal = next(k for k, step in enumerate(flow.steps) if step["title"] == "acquired again")
    return {
        "id": "again",
        "ask": 0,
        "step": reveal,
        "text": "The commit marker for the share state is late. Is offset 100 delivered again?",
        "options": [
            {
                "text": "yes",
                "right": True,
                "say": "The lock timer does not know that the transaction has committed.",
            },
            {
                "text": "no",
                "right": False,
                "say": "It is TX_PENDING, but the lock timer goes on in this design.",
            },
            {
                "text": "only after a crash",
                "right": False,
                "say": "No fault is needed: 30 seconds are enough.",
            },
        ],
    }


def share_flow() -> Flow:
    """The share flow with the lock timer as written, and what could have happened at each step."""
    flow = as_written()
    add_choices(flow)
    return flow


def share_payload() -> dict[str, Any]:
    flow = share_flow()
    return payload_of(flow, questions=[question(flow)])


class Responder:
    """Answers a chosen event with a suffix-only branch, as the real model will."""

    def __init__(self, flow: Flow) -> None:
        self.lines: dict[int, Flow] = {0: flow}
        self.commands: list[dict[str, Any]] = []

    def __call__(self, command: dict[str, Any]) -> dict[str, Any]:
        self.commands.append(command)
        if command.get("do", "take") != "take":
            raise ValueError(f"There is no command {command['do']!r}; allowed is 'take'.")
        parent, at, what = command["branch"], command["step"], command["choice"]
        line = self.lines[parent]
        if what == "move-out":
            raise ValueError("The leader of output-A-0 cannot move: Broker 4 is not in sync.")
        if what == "boom":
            raise RuntimeError("the model is wrong")
        fork = line.fork(at)
        taken = next(item for item in self.items(line, at) if item["id"] == what)
        number = len(self.lines)
        fork.big(taken["text"], f"{taken['text']}: this did not happen on the line you left.")
        self.tell(fork, taken)
        fork.close()
        fork.choices = [
            {
                "from": at,
                "to": at + 1,
                "items": [{**item, "taken": item["id"] == what} for item in self.items(line, at)],
            }
        ]
        add_choices(fork)
        fork.choices.append(
            {"from": fork.now, "to": None, "items": [choice("go-on", "Go on", "the line goes on")]}
        )
        self.lines[number] = fork
        return {"branch": fork.branch(number, taken["text"], parent)}

    def items(self, line: Flow, at: int) -> list[dict[str, Any]]:
        return next(
            (
                c["items"]
                for c in line.choices
                if c["from"] <= at and (c["to"] is None or at < c["to"])
            ),
            [],
        )

    def tell(self, fork: Flow, taken: dict[str, Any]) -> None:
        if taken["message"] and taken["id"].startswith("lose"):
            fork.lose(
                taken["message"], f"{taken['text']}: the connection breaks and nobody is told."
            )
        elif taken["message"]:
            fork.deliver(
                taken["message"],
                taken["text"],
                f"{taken['text']} now, earlier than on the other line.",
            )
        elif taken["id"].startswith("crash"):
            fork.step(
                "fault",
                "src",
                "Broker 5 crashes",
                "Broker 5 is gone, and with it every record it had staged in memory.",
                tone="broken",
                interesting=True,
            )
            fork.downs.append({"lane": "src", "from": fork.now, "to": None})
            fork.note("src", "crashed", "memory is lost", "gone")
        else:
            fork.step("local", "app", taken["text"], f"{taken['text']}.")
        records(fork, range(100, 102), "AVAILABLE", 1)
        fork.step(
            "local",
            "tc",
            "a new leader is elected",
            "Broker 6 takes over src-0 and reads the share state.",
        )
        for _ in range(3):
            fork.step("timer", "app", "retry", "The producer tries again after 100 ms.")
            fork.call("app", "tc", "FindCoordinator", "Broker 1")


def repaired_payload() -> dict[str, Any]:
    design = {
        "name": "repaired",
        "status": "our inference",
        "sentence": "The lock timer stands still while a record is TX_PENDING.",
    }
    return payload_of(repaired_flow(), design=design)


def long_payload(messages: int, others: int = 0) -> dict[str, Any]:
    """A payload with this many messages (and other steps), all card kinds busy, for the benchmark."""
    flow = Flow(start_state())
    flow.verdict("atomic", ATOMIC, "holds")
    flow.verdict("once", ONCE, "holds")
    flow.step("start", "app", "the start", "A long run begins.")
    lanes = ["app", "tc", "out", "src", "state", "other"]
    total, sent, late = messages + others, 0, []
    for k in range(total):
        if k % 12 == 0:
            flow.big(f"round {k // 12}", f"Round {k // 12} of the long run.")
        source, target = lanes[k % 6], lanes[(k * 5 + 1 + k // 6) % 6]
        target = target if target != source else lanes[(k + 1) % 6]
        long_state(flow, k)
        if sent < messages and (others == 0 or k % max(1, total // messages) == 0):
            sent += 1
            message = flow.send(
                source, target, f"request {k}", kind="response" if k % 2 else "request"
            )
            if k % 17 == 5:
                late.append(message)
                flow.step("local", source, f"sent {k}", f"Request {k} is on the wire.")
            else:
                flow.deliver(message, f"request {k}", f"{name(target)} receives request {k}.")
            if k % 9 == 0:
                flow.note(target, f"STATE {k}", "changed", ("calm", "pending", "done")[k % 3])
        else:
            flow.step("timer", source, f"tick {k}", f"Tick {k} of the clock.")
        if len(late) > 4:
            late_one = late.pop(0)
            flow.find(late_one)["arrived"] = flow.now
    flow.close()
    add_choices_sparsely(flow)
    return payload_of(flow, title=f"{messages} messages")


def long_state(flow: Flow, k: int) -> None:
    kinds = list(SHORT)
    offset = 100 + k % 6
    flow.state["records"][offset] = (kinds[k % 5], k % 4, "")
    flow.state["txn"]["state"] = ("ONGOING", "PREPARE_COMMIT", "COMPLETE_COMMIT")[k // 4 % 3]
    flow.state["client"]["in flight"] = str(k % 5)
    if k % 8 == 0:
        partition = flow.state["out"]
        batch = (partition["LEO"], f"r{k}", f"t-{k // 24}", "C" if k % 24 == 0 else "")
        partition["batches"] = [*partition["batches"][-11:], batch]
        partition["LEO"] += 1
        partition["HW"] = partition["LEO"]
        partition["LSO"] = partition["LEO"] - k % 3
    flow.state["line"] = k // 3 % len(CODE)


def add_choices_sparsely(flow: Flow) -> None:
    """As `add_choices`, with a bounded look at the wire: these payloads have thousands of steps."""
    for k in range(flow.now):
        items = [
            choice(
                f"take-{k}",
                flow.steps[k + 1]["title"],
                name(flow.steps[k + 1]["actor"]),
                taken=True,
            )
        ]
        items += [choice(f"other-{n}", f"Other event {n}", "another order") for n in range(k % 4)]
        items += [choice("crash-src", "Crash Broker 5", "", "fault"), *impossible(flow, k)]
        flow.choices.append({"from": k, "to": k + 1, "items": items})
