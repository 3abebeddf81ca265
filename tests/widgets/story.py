"""The KIP-1289 share flow, told by hand: once with the lock timer as written, once repaired."""

from __future__ import annotations

from tests.widgets.recorder import Flow, start_state

ATOMIC = "output and acknowledgement commit or abort together"
ONCE = "no source record has two committed outputs"
STUCK = "no record stays TX_PENDING for ever"


def as_written() -> Flow:
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
    flow.big("The late marker arrives", "Broker 7 resolves the transactional acknowledgements.")
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
