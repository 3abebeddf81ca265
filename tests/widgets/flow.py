"""A hand-made flow for the stepper's tests: a small recorder, and the KIP-1289 share flow told with it.

The recorder keeps what a trace's views keep: steps, messages with the steps at which they were sent
and arrived, notes, and the cards of every step, which become rows with lifetimes. It can be forked
at any step, so the tests' `respond` answers with real suffix-only branches.
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

ATOMIC = "output and acknowledgement commit or abort together"
ONCE = "no source record has two committed outputs"
STUCK = "no record stays TX_PENDING for ever"


# -- the story -------------------------------------------------------------------------------------


def share_flow() -> Flow:
    """The KIP-1289 share flow with the lock timer as written: ~120 small steps, 14 big ones."""
    flow = Flow(start_state())
    flow.verdict("atomic", ATOMIC, "holds")
    flow.verdict("once", ONCE, "holds")
    flow.verdict("nothing stuck", STUCK, "holds")
    flow.step(
        "start", "app", "the start", "Two records wait in src-0; the application is about to poll."
    )
    poll(flow)
    begin(flow)
    produce(flow)
    stage(flow)
    commit(flow)
    expire(flow)
    late_markers(flow)
    flow.close()
    add_choices(flow)
    return flow


def records(flow: Flow, offsets: range, kind: str, count: int, note: str = "") -> None:
    for offset in offsets:
        flow.state["records"][offset] = (kind, count, note)


def persist(flow: Flow, text: str) -> None:
    """Broker 5 writes its share state at Broker 7, which replicates it."""
    write = flow.send("src", "state", f"WriteShareGroupState {text}")
    offset = flow.state["sgs"]["LEO"]
    flow.state["sgs"]["batches"] = [*flow.state["sgs"]["batches"], (offset, text, "", "")]
    flow.state["sgs"]["LEO"] = offset + 1
    flow.deliver(write, "share state appended", f"Broker 7 appends the share state {text}.")
    flow.state["sgs"]["HW"] = flow.state["sgs"]["LSO"] = offset + 1
    flow.step(
        "replicate", "state", "share state replicated", "The followers have the share state too."
    )
    back = flow.send("state", "src", "ok", kind="response")
    flow.deliver(back, "share state is durable", "Broker 5 knows that its share state is durable.")


def heartbeats(flow: Flow, rounds: int) -> None:
    for _ in range(rounds):
        flow.step(
            "timer", "other", "heartbeat is due", "It is time for member m2 to say that it lives."
        )
        flow.call("other", "tc", "ShareGroupHeartbeat", "epoch 3")


def replicate(flow: Flow, leader: str, log_name: str, topic: str) -> None:
    partition = flow.state[log_name]
    flow.step(
        "replicate",
        leader,
        "a follower fetches",
        f"A follower of {topic} asks for what it has not.",
    )
    partition["HW"] = partition["LEO"]
    flow.step(
        "replicate",
        leader,
        f"{topic} replicated",
        f"Every in-sync follower has {topic} up to {partition['LEO'] - 1}.",
    )


def poll(flow: Flow) -> None:
    flow.big(
        "The consumer polls",
        "The consumer fetches records 100 to 103; Broker 5 locks them for it for 30 seconds.",
    )
    flow.state["line"], flow.state["waiting"] = 0, True
    flow.step(
        "application",
        "app",
        "poll()",
        "The application asks for records.",
        why={"rule": "application_calls", "kafka": "KafkaShareConsumer.poll"},
    )
    fetch = flow.send("app", "src", "ShareFetch g1, src-0")
    records(flow, range(100, 104), "ACQUIRED", 1)
    flow.state["share"]["lock"] = "30 s, member m1"
    flow.deliver(
        fetch,
        "records acquired",
        "Broker 5 acquires offsets 100 to 103 for member m1 and starts their lock timers.",
        interesting=True,
        why={
            "rule": "acquire",
            "guards": [["state", "AVAILABLE"], ["delivery count", "0 < 5"]],
            "clause": "KIP-932, In-flight records",
            "kafka": "SharePartition.acquire",
        },
    )
    flow.note("src", "100-103 ACQUIRED", "lock 30 s")
    persist(flow, "100-103 AQ")
    answer = flow.send("src", "app", "records 100-103", kind="response")
    flow.state["waiting"] = False
    flow.deliver(answer, "records arrive", "The application has records 100 to 103.")
    heartbeats(flow, 3)


def begin(flow: Flow) -> None:
    flow.big("A transaction begins", "The producer begins a transaction; nothing is sent for that.")
    flow.state["line"] = 1
    flow.step(
        "application",
        "app",
        "begin_transaction()",
        "The application begins a transaction: only the client knows it yet.",
        why={"rule": "application_calls", "kafka": "KafkaProducer.beginTransaction"},
    )
    flow.step(
        "application",
        "app",
        "records are worked on",
        "The application computes the output of records 100 and 101.",
    )
    heartbeats(flow, 2)


def produce(flow: Flow) -> None:
    flow.step(
        "sender", "app", "metadata is fresh", "The sender knows who leads output-A-0 and src-0."
    )
    flow.big(
        "Output is produced",
        "The batch goes to Broker 3, which first registers output-A-0 at the coordinator.",
    )
    flow.state["line"], flow.state["waiting"] = 2, False
    flow.step(
        "application",
        "app",
        'send("output-A")',
        "The application hands two output records to the producer.",
    )
    flow.step("sender", "app", "batch is drained", "The sender thread drains the batch.")
    flow.state["client"]["in flight"] = "1"
    produce_request = flow.send("app", "out", "Produce A, B")
    flow.deliver(
        produce_request,
        "Produce arrives",
        "Broker 3 has the batch and does not know this transaction yet.",
    )
    flow.state["txn"].update({"state": "ONGOING", "participants": "output-A-0"})
    flow.call(
        "out",
        "tc",
        "AddPartitionsToTxn output-A-0",
        "added",
        sentence="The coordinator adds output-A-0: the transaction is ongoing.",
        interesting=True,
        note=("ONGOING", "participants: output-A-0"),
        why={
            "rule": "add_partition",
            "guards": [["state", "EMPTY"], ["epoch", "4 = 4"]],
            "clause": "KIP-890, implicit add",
            "kafka": "TransactionCoordinator.handleAddPartitionsToTransaction",
        },
    )
    for text in ("A", "B"):
        offset = flow.state["out"]["LEO"]
        flow.state["out"]["batches"] = [*flow.state["out"]["batches"], (offset, text, "t-1", "")]
        flow.state["out"]["LEO"] = offset + 1
    flow.step(
        "append",
        "out",
        "batch appended",
        "Broker 3 appends A and B; a read_committed reader does not see them.",
        interesting=True,
    )
    replicate(flow, "out", "out", "output-A-0")
    back = flow.send("out", "app", "offsets 42, 43", kind="response")
    flow.state["client"]["in flight"] = "0"
    flow.deliver(back, "produce acknowledged", "The producer knows that its batch is in the log.")
    heartbeats(flow, 1)


def stage(flow: Flow) -> None:
    flow.big(
        "The acknowledgements are handed over",
        "The application hands its acknowledgements to the transaction instead of the group.",
    )
    flow.state["line"], flow.state["waiting"] = 3, True
    flow.step(
        "application",
        "app",
        "send_share_acks()",
        "The application hands over the acknowledgements of 100 and 101.",
    )
    flow.step("sender", "app", "request is built", "The sender thread builds TxnShareAcknowledge.")
    request = flow.send("app", "src", "TxnShareAcknowledge 100-101 ACCEPT")
    flow.deliver(
        request,
        "TxnShareAcknowledge arrives",
        "Broker 5 receives the acknowledgements inside the transaction.",
    )
    flow.big(
        "The state partition joins the transaction",
        "Broker 5 registers the partition of the share state as a participant.",
    )
    flow.step(
        "local",
        "src",
        "partition 16 chosen",
        "Broker 5 finds that share state 16 belongs to g1 and src-0.",
    )
    flow.state["txn"]["participants"] = "output-A-0, share state 16"
    flow.call(
        "src",
        "tc",
        "AddPartitionsToTxn share state 16",
        "added",
        sentence="The coordinator adds share state 16 to the transaction.",
        note=("ONGOING", "+ share state 16"),
        why={
            "rule": "add_partition",
            "guards": [["state", "ONGOING"], ["epoch", "4 = 4"]],
            "clause": "KIP-1289, step 4",
            "status": "draft",
            "kafka": "TransactionCoordinator.handleAddPartitionsToTransaction",
        },
    )
    flow.big(
        "The member is checked", "Broker 5 compares the member epoch with the owner of the records."
    )
    flow.step(
        "local",
        "src",
        "member epoch is current",
        "Member m1 still owns both records.",
        why={
            "rule": "validate_member",
            "guards": [["owner", "m1"], ["epoch", "7 = 7"]],
            "clause": "KIP-1289, step 5",
            "status": "draft",
            "kafka": "SharePartition.validate",
        },
    )
    flow.big(
        "The records are staged",
        "Offsets 100 and 101 become TX_PENDING: neither delivered again nor done.",
    )
    records(flow, range(100, 102), "TX_PENDING", 1, "pid 9, epoch 4")
    flow.state["share"]["staged by"] = "pid 9, epoch 4"
    flow.verdict("nothing stuck", STUCK, "pending", "offsets 100 and 101 wait for a marker")
    flow.step(
        "local",
        "src",
        "100, 101 staged",
        "Offsets 100 and 101 are TX_PENDING: they wait for the outcome of the transaction.",
        interesting=True,
        tone="pending",
        why={
            "rule": "stage",
            "guards": [["state", "ACQUIRED"], ["owner", "m1"], ["type", "ACCEPT"]],
            "clause": "KIP-1289, step 6",
            "status": "draft",
            "kafka": "SharePartitionManager.stage",
        },
    )
    flow.note("src", "100, 101 TX_PENDING", "staged by pid 9, epoch 4", "pending")
    back = flow.send("src", "app", "ok: TX_PENDING", kind="response", tone="pending")
    flow.state["waiting"] = False
    flow.deliver(
        back, "staging acknowledged", "The producer knows that the acknowledgements are staged."
    )
    flow.call(
        "app",
        "src",
        "ShareFetch g1, src-0",
        "nothing new",
        sentence="The consumer fetches on; only 102 and 103 are locked for it, 104 is behind the limit.",
    )
    heartbeats(flow, 4)


def commit(flow: Flow) -> None:
    flow.big("Commit is asked for", "The producer sends EndTxn with COMMIT.")
    flow.state["line"], flow.state["waiting"] = 4, True
    flow.step("application", "app", "commit_transaction()", "The application commits and waits.")
    flow.step("sender", "app", "EndTxn is built", "The sender thread has nothing else in flight.")
    request = flow.send("app", "tc", "EndTxn COMMIT")
    flow.big(
        "The decision is durable",
        "Broker 1 writes PREPARE_COMMIT. From here the transaction can only commit: the markers may be late, but they will come.",
    )
    flow.state["txn"].update({"state": "PREPARE_COMMIT", "producer epoch": "5"})
    flow.deliver(
        request,
        "PREPARE_COMMIT",
        "Broker 1 writes PREPARE_COMMIT: from here the transaction can only commit.",
        interesting=True,
        tone="pending",
        why={
            "rule": "end_transaction",
            "guards": [["state", "ONGOING"], ["epoch", "4 = 4"], ["timeout", "not reached"]],
            "clause": "KIP-98, EndTxn; KIP-890, epoch bump",
            "kafka": "TransactionCoordinator.endTransaction",
        },
    )
    flow.note("tc", "PREPARE_COMMIT", "durable · epoch 4 → 5", "pending")
    flow.step(
        "replicate",
        "tc",
        "decision replicated",
        "The decision is on every in-sync replica of __transaction_state.",
    )
    flow.big("The producer is told", "EndTxn is answered before any marker is written.")
    back = flow.send("tc", "app", "EndTxn ok, epoch 5", kind="response")
    flow.send("tc", "out", "marker COMMIT · epoch 5", mark="-marker-out", tone="pending")
    flow.send("tc", "state", "marker COMMIT · epoch 5", mark="-marker-state", tone="pending")
    flow.state["waiting"] = False
    flow.state["client"]["epoch"] = "5"
    flow.deliver(
        back,
        "commit returns",
        "commit_transaction() returns: to the application everything is done.",
        interesting=True,
    )
    flow.state["line"] = -1
    flow.step("application", "app", "next round", "The application goes on to its next round.")
    flow.big(
        "The output becomes visible",
        "Broker 3 appends the marker: a read_committed reader now sees A and B.",
    )
    offset = flow.state["out"]["LEO"]
    flow.state["out"]["batches"] = [*flow.state["out"]["batches"], (offset, "", "t-1", "C")]
    flow.state["out"].update({"LEO": offset + 1, "HW": offset + 1, "LSO": offset + 1})
    marker = marker_to(flow, "out")
    flow.deliver(marker, "marker appended", "Broker 3 appends the COMMIT marker: A and B are visible.", interesting=True, tone="done",
                 why={"rule": "append_marker", "guards": [["epoch", "5 ≥ 4"]], "clause": "KIP-98, WriteTxnMarkers", "kafka": "ReplicaManager.appendRecords"})  # fmt: skip
    flow.note("out", "A, B visible", "LSO 42 → 45", "done")
    back = flow.send("out", "tc", "marker written", kind="response")
    flow.deliver(
        back,
        "first marker done",
        "One of two markers is written; the coordinator waits for the other.",
    )
    for attempt in (1, 2):
        flow.step(
            "timer",
            "tc",
            f"retry {attempt} of the marker",
            "The marker for share state 16 is still unanswered; the coordinator waits on.",
        )
        heartbeats(flow, 1)


def marker_to(flow: Flow, lane: str) -> str:
    return next(
        m["id"] for m in flow.messages if m["to"] == lane and m["label"].startswith("marker")
    )


def expire(flow: Flow) -> None:
    flow.big(
        "The lock expires",
        "The marker for the share state is late; after 30 seconds the lock timer gives 100 and 101 away.",
    )
    records(flow, range(100, 102), "AVAILABLE", 1)
    flow.state["share"].update({"staged by": "nobody", "lock": "expired"})
    flow.step(
        "fault",
        "src",
        "lock of 100, 101 expires",
        "The lock timer releases 100 and 101, although their transaction has already committed.",
        interesting=True,
        tone="warning",
        chapter="lock expiry",
        why={
            "rule": "lock_expires",
            "guards": [
                ["state", "TX_PENDING"],
                ["lock", "30 s ≤ 30 s"],
                ["slot lock expiry", "as written: the timer goes on"],
            ],
            "clause": "KIP-1289, corner cases 6 and 13",
            "status": "draft",
            "kafka": "SharePartition.releaseAcquisitionLockOnTimeout",
        },
    )
    flow.note("src", "100, 101 AVAILABLE", "lock expired while TX_PENDING", "warning")
    persist(flow, "100-101 AV")
    flow.big(
        "Delivered again", "The second consumer fetches 100 and 101 and works on them once more."
    )
    flow.step("application", "other", "poll()", "The second consumer asks for records.")
    fetch = flow.send("other", "src", "ShareFetch g1, src-0")
    records(flow, range(100, 102), "ACQUIRED", 2, "member m2")
    flow.state["member2"]["holds"] = "100, 101"
    flow.deliver(
        fetch,
        "acquired again",
        "Broker 5 acquires 100 and 101 a second time, now for member m2.",
        tone="warning",
        interesting=True,
    )
    flow.note("src", "100, 101 ACQUIRED", "delivery count 2", "warning")
    back = flow.send("src", "other", "records 100, 101", kind="response")
    flow.deliver(back, "records arrive again", "The second consumer has the same records.")
    offset = flow.state["out"]["LEO"]
    again = flow.send("other", "out", "Produce A′, B′")
    flow.state["out"]["batches"] = [
        *flow.state["out"]["batches"],
        (offset, "A′", "t-2", ""),
        (offset + 1, "B′", "t-2", ""),
    ]
    flow.state["out"].update({"LEO": offset + 2, "HW": offset + 2})
    flow.deliver(
        again,
        "second output appended",
        "Broker 3 appends the same work a second time.",
        tone="warning",
    )
    back = flow.send("out", "other", "offsets 45, 46", kind="response")
    flow.deliver(
        back,
        "second output acknowledged",
        "The second consumer knows that its output is in the log.",
    )
    commit_second(flow, offset + 2)


def commit_second(flow: Flow, offset: int) -> None:
    flow.call(
        "other",
        "tc",
        "EndTxn COMMIT (t-2)",
        "ok",
        sentence="The second transaction commits as well.",
    )
    marker = flow.send("tc", "out", "marker COMMIT · t-2")
    flow.state["out"]["batches"] = [*flow.state["out"]["batches"], (offset, "", "t-2", "C")]
    flow.state["out"].update({"LEO": offset + 1, "HW": offset + 1, "LSO": offset + 1})
    flow.verdict("once", ONCE, "broken", "src-0 offset 100 has two committed outputs: 42 and 45")
    flow.deliver(
        marker,
        "two outputs of one record",
        "Offsets 42 and 45 are both committed outputs of record 100: a duplicate.",
        interesting=True,
        tone="broken",
        chapter="violation",
        why={
            "rule": "append_marker",
            "guards": [["epoch", "1 ≥ 1"]],
            "clause": "KIP-1289, Goals",
            "status": "our inference",
            "kafka": "ReplicaManager.appendRecords",
        },
    )
    flow.note("out", "duplicate of 100", "42 and 45 both committed", "broken")


def late_markers(flow: Flow) -> None:
    flow.big(
        "The late marker arrives",
        "Broker 7 appends the marker; Broker 5 has nothing left to resolve.",
    )
    marker = marker_to(flow, "state")
    offset = flow.state["sgs"]["LEO"]
    flow.state["sgs"]["batches"] = [*flow.state["sgs"]["batches"], (offset, "", "t-1", "C")]
    flow.state["sgs"].update({"LEO": offset + 1, "HW": offset + 1, "LSO": offset + 1})
    flow.verdict("nothing stuck", STUCK, "holds")
    flow.deliver(
        marker, "late marker appended", "Broker 7 appends the COMMIT marker to share state 16."
    )
    back = flow.send("state", "tc", "marker written", kind="response")
    flow.state["txn"]["state"] = "COMPLETE_COMMIT"
    flow.deliver(
        back,
        "COMPLETE_COMMIT",
        "Both markers are written: the transaction is complete.",
        interesting=True,
        tone="done",
    )
    flow.note("tc", "COMPLETE_COMMIT", "both markers written", "done")
    flow.call("app", "src", "ShareFetch g1, src-0", "nothing new")
    flow.step(
        "local",
        "src",
        "100, 101 stay with m2",
        "The first acknowledgement never took effect: the records belong to member m2.",
        tone="warning",
    )
    heartbeats(flow, 4)


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
        return fork.branch(number, taken["text"], parent)

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


def repaired_flow() -> Flow:
    """The same flow in the repaired design: the lock is pinned, so nothing is delivered again."""
    flow = Flow(start_state())
    flow.verdict("atomic", ATOMIC, "holds")
    flow.verdict("once", ONCE, "holds")
    flow.verdict("nothing stuck", STUCK, "holds")
    flow.step(
        "start", "app", "the start", "Two records wait in src-0; the application is about to poll."
    )
    for part in (poll, begin, produce, stage, commit):
        part(flow)
    flow.big(
        "The lock is pinned", "The marker is late; the lock of a TX_PENDING record does not run."
    )
    flow.step(
        "timer",
        "src",
        "30 seconds pass",
        "The lock timer of 100 and 101 is pinned by the transaction.",
    )
    flow.big("The late marker arrives", "Broker 7 resolves the staged acknowledgements.")
    marker = marker_to(flow, "state")
    records(flow, range(100, 102), "ACKNOWLEDGED", 1)
    flow.state["share"].update({"SPSO": "102", "staged by": "nobody", "lock": "none"})
    flow.verdict("nothing stuck", STUCK, "holds")
    flow.deliver(
        marker,
        "late marker appended",
        "Broker 7 appends the COMMIT marker and 100, 101 are acknowledged.",
        interesting=True,
        tone="done",
    )
    flow.note("src", "100, 101 ACKNOWLEDGED", "SPSO 100 → 102", "done")
    flow.close()
    return flow


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
