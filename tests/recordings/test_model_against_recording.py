"""The model makes the calls of a recorded run and writes what Kafka 4.4.0 wrote.

What is compared is what the roles decide: coordinator states with identities and partitions,
markers, staged offsets, share-group state, answers and exceptions. What is not, and why, is said
where it is left out; it is always something that a role's NOT MODELLED names.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kipviz.brokers.settings import BrokerSettings
from kipviz.clients.application import Call, Line
from kipviz.cluster.actions import (
    CrashBroker,
    ExpireLock,
    LoseConnection,
    StartBroker,
    Step,
    TimeOutTransaction,
)
from kipviz.cluster.specs.abstraction import SMALL
from kipviz.cluster.specs.spec import ApplicationSpec, ClusterSpec, FaultBudget, Placement
from kipviz.driving.cluster import Cluster
from kipviz.messages.events import CallReturned, MessageDelivered
from kipviz.messages.groups.groups import TxnOffsetCommit, TxnOffsetCommitResponse
from kipviz.messages.shares.share_groups import AcknowledgeType, ShareAcknowledge, ShareFetch
from kipviz.messages.shares.share_state import ReadShareGroupState, WriteShareGroupState
from kipviz.messages.transactions.transactions import (
    AddPartitionsToTxn,
    AddPartitionsToTxnResponse,
    EndTxn,
    EndTxnResponse,
    WriteTxnMarkers,
    WriteTxnMarkersResponse,
)
from kipviz.recordings.decoded.internal_topics import (
    LoggedOffset,
    LoggedShareUpdate,
    LoggedTransaction,
    markers,
)
from kipviz.recordings.recorded import load_recording
from kipviz.records.batches import COMMIT
from kipviz.records.consumer_offsets import OffsetCommitRecord
from kipviz.records.share_group_state import ShareSnapshotRecord, ShareUpdateRecord

C = Call
ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT
BY_ITSELF = ("replicate", "load", "deliver", "sender")
HERE = Path(__file__).parent
RECORDS = ("in-0", "in-1", "in-2", "in-3")
FAULTS = FaultBudget(expire_lock=9, time_out=9, lose_connection=9, crash_broker=1)


@pytest.fixture(scope="module")
def recording(request):
    return load_recording(HERE / "kafka-4.4.0" / request.param)


def scenario(name: str) -> pytest.MarkDecorator:
    """Run a test on one recording."""
    return pytest.mark.parametrize("recording", [name], indirect=True, ids=[name])


class Run(Cluster):
    """The model at the calls of a recording: one broker, and clients that go on when told."""

    def __init__(self, recording, *applications: ApplicationSpec, **settings: int) -> None:
        spec = SMALL.of_brokers(
            ClusterSpec(
                (1,),
                (Placement("src-0", 1), Placement("output-A-0", 1)),
                applications,
                (("src-0", 0, RECORDS),),
                tuple((t, recording.topic_ids[t]) for t in ("src", "output-A")),
                FAULTS,
                first_producer_id=0,
                settings=BrokerSettings(**settings),
            )
        ).but(replication="stepwise")
        super().__init__(spec, "repaired")

    def quiet(self) -> None:
        """Let messages, senders and replicas run until nothing of theirs is left."""
        kind = self.model.kind
        while actions := [a for a in self.model.enabled(self.world) if kind(a) in BY_ITSELF]:
            self.take(min(actions, key=lambda a: BY_ITSELF.index(kind(a))))

    def call(self, application: str) -> str:
        """Let an application make its next call; give the exception it ends with, or nothing."""
        seen = len(self.events)
        while True:
            self.take(Step(application))
            for event in self.events[seen:]:
                if isinstance(event, CallReturned):
                    self.quiet()
                    return str(event.raised)
            self.quiet()

    def calls(self, application: str, count: int) -> list[str]:
        return [self.call(application) for _ in range(count)]

    def time_out(self) -> None:
        (due,) = [a for a in self.model.enabled(self.world) if isinstance(a, TimeOutTransaction)]
        self.take(due)
        self.quiet()

    def expire_lock(self) -> None:
        (due,) = [a for a in self.model.enabled(self.world) if isinstance(a, ExpireLock)]
        self.take(due)
        self.quiet()

    def records(self, topic: str) -> list:
        """(offset, batch, record) of every record of an internal topic."""
        (partition,) = self.partitions(topic)
        return [
            (batch.base_offset + i, batch, record)
            for batch in self.world.logs[partition].batches
            for i, record in enumerate(batch.records)
        ]

    def partitions(self, topic: str) -> tuple[str, ...]:
        """The partitions of a topic that hold something."""
        logs = self.world.logs.items()
        return tuple(n for n, log in logs if n.rpartition("-")[0] == topic and len(log.batches))

    def list_delivered(self, *kinds: type) -> list:
        return [
            e.message
            for e in self.events
            if isinstance(e, MessageDelivered) and isinstance(e.message, kinds)
        ]


# -- what both sides wrote, in the same words ---------------------------------------------------


def recorded_states(recording):
    """Times are not modelled; EMPTY has null partitions and COMPLETE_* an empty array."""
    return [
        (
            r.offset,
            r.state,
            r.producer_id,
            r.previous_producer_id,
            r.next_producer_id,
            r.producer_epoch,
            sorted(f"{t}-{p}" for t, ps in r.partitions or () for p in ps),
            r.timeout_ms,
            r.client_transaction_version,
        )
        for r in recording.decode_topic("__transaction_state")
        if isinstance(r, LoggedTransaction)
    ]


def modelled_states(run):
    return [
        (
            offset,
            r.state,
            r.producer_id,
            r.previous_producer_id,
            r.next_producer_id,
            r.producer_epoch,
            sorted(r.partitions),
            r.timeout_ms,
            r.client_transaction_version,
        )
        for offset, _, r in run.records("__transaction_state")
    ]


def recorded_output(recording):
    """Per offset: producer epoch and sequence of data, the outcome of a marker."""
    found = {}
    for segment in recording.segments["output-A-0"]:
        for batch in segment.batches:
            for i, record in enumerate(batch.records):
                if not batch.control:
                    sequence = batch.base_sequence + i
                    found[record.offset] = (batch.producer_id, batch.producer_epoch, sequence)
        for m in markers(segment):
            outcome = "COMMIT" if m.committed else "ABORT"
            found[m.offset] = (m.producer_id, m.producer_epoch, outcome, m.coordinator_epoch)
    return found


def modelled_output(run):
    """What one send() brings is one batch here: sequences and offsets are the same."""
    found = {}
    for batch in run.world.logs["output-A-0"].batches:
        identity = (batch.producer_id, batch.producer_epoch)
        if batch.control:
            found[batch.base_offset] = (*identity, batch.control, batch.coordinator_epoch)
        for i in range(len(batch.records)):
            found[batch.base_offset + i] = (*identity, batch.base_sequence + i)
    return found


def recorded_aborted(recording):
    return [
        (a.producer_id, a.first_offset, a.last_offset, a.last_stable_offset)
        for a in recording.aborted["output-A-0"]
    ]


def modelled_aborted(run):
    return [
        (a.producer_id, a.first_offset, a.last_offset, a.last_stable_offset)
        for a in run.world.logs["output-A-0"].aborted
    ]


def recorded_share_state(recording):
    found = []
    for r in recording.decode_topic("__share_group_state"):
        state_epoch = -1 if isinstance(r, LoggedShareUpdate) else r.state_epoch
        found.append(
            (
                r.offset,
                type(r).__name__.removeprefix("Logged"),
                r.snapshot_epoch,
                state_epoch,
                r.leader_epoch,
                r.start_offset,
                r.delivery_complete_count,
                tuple((b.first, b.last, b.state, b.delivery_count) for b in r.batches),
            )
        )
    return found


def modelled_share_state(run):
    found = []
    for offset, _, r in run.records("__share_group_state"):
        assert isinstance(r, ShareSnapshotRecord | ShareUpdateRecord)
        found.append(
            (
                offset,
                type(r).__name__.removesuffix("Record"),
                r.snapshot_epoch,
                r.state_epoch if isinstance(r, ShareSnapshotRecord) else -1,
                r.leader_epoch,
                r.start_offset,
                r.delivery_complete_count,
                tuple((b.first, b.last, b.state, b.delivery_count) for b in r.batches),
            )
        )
    return found


# -- commit and abort with a regular group ------------------------------------------------------

LOOP = (
    Line("initTransactions", C.INIT_TRANSACTIONS),
    Line("poll", C.POLL),
    Line("beginTransaction", C.BEGIN_TRANSACTION),
    Line("send", C.SEND),
    Line("sendOffsetsToTransaction", C.SEND_OFFSETS),
    Line("commitTransaction", C.COMMIT_TRANSACTION),
    Line("poll", C.POLL),
    Line("beginTransaction", C.BEGIN_TRANSACTION),
    Line("send", C.SEND),
    Line("sendOffsetsToTransaction", C.SEND_OFFSETS),
    Line("abortTransaction, seek to the committed offset", C.ABORT_TRANSACTION, then=1),
)


@pytest.fixture
def looped(recording):
    """Commit 0 and 1, abort 2 and 3, commit 2 and 3, as the recorded application did."""
    app = SMALL.of_application(
        ApplicationSpec(
            "app", "my-txn", LOOP, "my-group-4", "m", False, "src-0", "output-A-0", max_records=2
        )
    )
    run = Run(recording, app)
    assert run.calls("app", 16) == [""] * 16
    return run


@scenario("commit-and-abort")
def test_the_coordinator_logs_the_recorded_states(recording, looped):
    assert modelled_states(looped) == recorded_states(recording)


@scenario("commit-and-abort")
def test_every_key_hashes_to_the_recorded_partition(recording, looped):
    for topic in ("__transaction_state", "__consumer_offsets"):
        assert looped.partitions(topic) == recording.partitions(topic)


@scenario("commit-and-abort")
def test_the_output_has_the_recorded_epochs_sequences_and_markers(recording, looped):
    assert modelled_output(looped) == recorded_output(recording)
    assert modelled_aborted(looped) == recorded_aborted(recording)


@scenario("commit-and-abort")
def test_the_group_has_the_recorded_offsets_and_markers_in_the_recorded_partition(
    recording, looped
):
    """The membership records before and after them are not modelled, so offsets are relative."""
    modelled = []
    for batch in looped.world.logs["__consumer_offsets-7"].batches:
        identity = (batch.producer_id, batch.producer_epoch)
        if batch.control:
            modelled.append((*identity, batch.control == COMMIT, batch.coordinator_epoch))
        modelled += [
            (*identity, batch.base_sequence, record.offset)
            for record in batch.records
            if isinstance(record, OffsetCommitRecord)
        ]
    recorded = []
    for segment in recording.segments["__consumer_offsets-7"]:
        sequences = {b.base_offset: b.base_sequence for b in segment.batches}
        ends = {m.offset: m for m in markers(segment)}
        for r in recording.decode_topic("__consumer_offsets"):
            identity = (getattr(r, "producer_id", -1), getattr(r, "producer_epoch", -1))
            if r.offset in ends:
                recorded.append((*identity, ends[r.offset].committed, r.coordinator_epoch))
            elif isinstance(r, LoggedOffset):
                recorded.append((*identity, sequences[r.offset], r.committed_offset))
    assert modelled == recorded


@scenario("commit-and-abort")
def test_the_brokers_ask_and_answer_what_was_recorded(recording, looped):
    """Produce is left out: the recorded client sent its two records in two batches."""
    modelled = [
        _summarize(message)
        for message in looped.list_delivered(
            AddPartitionsToTxn,
            AddPartitionsToTxnResponse,
            TxnOffsetCommit,
            TxnOffsetCommitResponse,
            EndTxn,
            EndTxnResponse,
            WriteTxnMarkers,
            WriteTxnMarkersResponse,
        )
    ]
    recorded = []
    for e in sorted(recording.wire, key=lambda e: e.received_ms):
        recorded += _exchange(e)
    assert sorted(modelled) == sorted(recorded)


def _summarize(message) -> tuple:
    match message:
        case AddPartitionsToTxn():
            (asked,) = message.transactions
            return ("add", str(asked.partitions), asked.producer_id, asked.producer_epoch)
        case AddPartitionsToTxnResponse():
            (told,) = message.results
            return ("added", str(told.partitions), int(told.error), 0)
        case TxnOffsetCommit():
            place = f"{message.group_id} {message.offsets[0].offset}"
            return ("offsets", place, message.member_epoch, message.producer_epoch)
        case TxnOffsetCommitResponse() | EndTxnResponse():
            identity = (getattr(message, "producer_id", 0), getattr(message, "producer_epoch", 0))
            return (type(message).__name__, str(int(message.error)), *identity)
        case EndTxn():
            return ("end", str(message.committed), message.producer_id, message.producer_epoch)
        case WriteTxnMarkers():
            (marker,) = message.markers
            to = f"{sorted(marker.partitions)} {marker.committed} {marker.transaction_version}"
            return ("mark", to, marker.coordinator_epoch, marker.producer_epoch)
        case WriteTxnMarkersResponse():
            results = sorted((r.partition, int(r.error)) for r in message.results)
            return ("marked", str(results), message.markers[0].producer_id, 0)
    raise AssertionError(message)


def _exchange(e) -> list[tuple]:
    ask, answer = e.request, e.response
    match e.api:
        case "ADD_PARTITIONS_TO_TXN":
            (t,), (r,) = ask["transactions"], answer["resultsByTransaction"]
            names = tuple(f"{p['name']}-{i}" for p in t["topics"] for i in p["partitions"])
            (error,) = [
                q["partitionErrorCode"] for p in r["topicResults"] for q in p["resultsByPartition"]
            ]
            return [
                ("add", str(names), t["producerId"], t["producerEpoch"]),
                ("added", str(names), error, 0),
            ]
        case "TXN_OFFSET_COMMIT":
            ((partition,),) = [t["partitions"] for t in ask["topics"]]
            ((result,),) = [t["partitions"] for t in answer["topics"]]
            place = f"{ask['groupId']} {partition['committedOffset']}"
            epoch = ask["generationIdOrMemberEpoch"]
            return [
                ("offsets", place, epoch, ask["producerEpoch"]),
                ("TxnOffsetCommitResponse", str(result["errorCode"]), 0, 0),
            ]
        case "END_TXN":
            identity = (answer["producerId"], answer["producerEpoch"])
            return [
                ("end", str(ask["committed"]), ask["producerId"], ask["producerEpoch"]),
                ("EndTxnResponse", str(answer["errorCode"]), *identity),
            ]
        case "WRITE_TXN_MARKERS":
            (m,), (r,) = ask["markers"], answer["markers"]
            names = sorted(f"{t['name']}-{i}" for t in m["topics"] for i in t["partitionIndexes"])
            to = f"{names} {m['transactionResult']} {m['transactionVersion']}"
            results = sorted(
                (f"{t['name']}-{p['partitionIndex']}", p["errorCode"])
                for t in r["topics"]
                for p in t["partitions"]
            )
            return [
                ("mark", to, m["coordinatorEpoch"], m["producerEpoch"]),
                ("marked", str(results), r["producerId"], 0),
            ]
    return []


# -- fencing and transaction timeouts -----------------------------------------------------------


def _producer(name: str, *calls: Call, timeout_ms: int = 60_000, caught: int = -1):
    """An application with the recorded name; it polls a record only to have one to send."""
    lines = tuple(
        Line(c.value, c, on_error=caught if c is C.COMMIT_TRANSACTION else -1) for c in calls
    )
    return SMALL.of_application(
        ApplicationSpec(
            name,
            "my-txn",
            lines,
            f"group of {name}",
            "m",
            False,
            "src-0",
            "output-A-0",
            transaction_timeout_ms=timeout_ms,
        )
    )


@scenario("fenced-and-timed-out")
def test_a_fenced_and_two_timed_out_producers_leave_the_recorded_logs(recording):
    init, poll, begin, send = C.INIT_TRANSACTIONS, C.POLL, C.BEGIN_TRANSACTION, C.SEND
    commit, abort = C.COMMIT_TRANSACTION, C.ABORT_TRANSACTION
    run = Run(
        recording,
        _producer("producer-1", init, poll, begin, send, send, commit, abort, caught=6),
        _producer("producer-2", init, poll, begin, send, commit, begin, commit, begin, abort),
        _producer("producer-3", init, poll, begin, send, commit, timeout_ms=1000),
        _producer(
            "producer-4", init, poll, begin, send, abort, begin, send, commit, timeout_ms=1000
        ),
    )
    assert run.calls("producer-1", 4) == ["", "", "", ""]
    assert run.calls("producer-2", 1) == [""]
    assert run.calls("producer-1", 3) == [
        "",  # send() returns a Future; the recorded one failed with InvalidProducerEpochException
        "Produce: INVALID_PRODUCER_EPOCH",
        "EndTxn: PRODUCER_FENCED",
    ]
    assert run.calls("producer-2", 8) == [""] * 8
    assert run.calls("producer-3", 4) == ["", "", "", ""]
    run.time_out()
    assert run.calls("producer-3", 1) == ["EndTxn: INVALID_TXN_STATE"]
    assert run.calls("producer-4", 4) == ["", "", "", ""]
    run.time_out()
    assert run.calls("producer-4", 4) == ["", "", "", ""]
    assert modelled_states(run) == recorded_states(recording)
    assert modelled_output(run) == recorded_output(recording)
    assert modelled_aborted(run) == recorded_aborted(recording)


# -- share groups -------------------------------------------------------------------------------


def _share(name: str, *lines: Line, member: str = "m", max_records: int = 500) -> ApplicationSpec:
    return SMALL.of_application(
        ApplicationSpec(
            name,
            "no-transactions",
            lines,
            "g1",
            member,
            True,
            "src-0",
            "output-A-0",
            explicit=True,
        )
    ).but(max_records=max_records)


# Accept, release and reject by hand; what was released comes again and is accepted.
ONE_BY_ONE = (
    Line("poll", C.POLL),
    Line(
        "acknowledge",
        C.ACKNOWLEDGE,
        verdicts=((0, ACCEPT), (1, RELEASE), (2, REJECT), (3, ACCEPT)),
    ),
    Line("commitSync", C.COMMIT_SYNC),
    Line("poll", C.POLL),
    Line("acknowledge", C.ACKNOWLEDGE, verdicts=((1, ACCEPT),)),
    Line("commitSync", C.COMMIT_SYNC),
)


@scenario("share-acknowledge")
def test_accept_release_and_reject_leave_the_recorded_share_state(recording):
    run = Run(recording, _share("share-1", *ONE_BY_ONE))
    polled = []
    for _ in range(2):
        assert run.calls("share-1", 3) == ["", "", ""]
        app = run.world.applications["share-1"]
        polled.append([(r.offset, r.delivery_count) for r in app.records])
        assert app.consumer.acknowledging.error.name == "NONE"
    recorded = [
        [(r["offset"], r["delivery_count"]) for r in call.result]
        for call in recording.calls
        if call.name == "poll"
    ]
    assert polled == recorded
    state = "__share_group_state"
    assert run.partitions(state) == recording.partitions(state)
    assert modelled_share_state(run) == recorded_share_state(recording)


@scenario("share-acknowledge")
def test_the_share_partition_leader_reads_and_writes_what_was_recorded(recording):
    """A run of offsets with several types is one batch of the request there, one per type here."""
    run = Run(recording, _share("share-1", *ONE_BY_ONE))
    run.calls("share-1", 6)
    modelled = []
    for m in run.list_delivered(
        ReadShareGroupState, WriteShareGroupState, ShareFetch, ShareAcknowledge
    ):
        if isinstance(m, ReadShareGroupState):
            modelled.append(("read", m.only.leader_epoch))
        elif isinstance(m, WriteShareGroupState):
            w = m.only
            batches = tuple((b.first, b.last, b.state, b.delivery_count) for b in w.batches)
            epochs = (w.state_epoch, w.leader_epoch)
            modelled.append(("write", *epochs, w.start_offset, w.delivery_complete_count, batches))
        elif isinstance(m, ShareFetch):
            modelled.append(("fetch", m.session_epoch, m.first.acknowledgements))
        else:
            batches = m.partitions[0].acknowledgements
            said_now = [int(b.type) for b in batches for _ in range(b.first, b.last + 1)]
            modelled.append(("acknowledge", m.session_epoch, said_now))
    recorded = []
    for e in sorted(recording.wire, key=lambda e: e.received_ms):
        topics = e.request.get("topics") or ()
        partitions = [p for t in topics for p in t["partitions"]] if topics else []
        if e.api == "READ_SHARE_GROUP_STATE":
            recorded += [("read", p["leaderEpoch"]) for p in partitions]
        elif e.api == "WRITE_SHARE_GROUP_STATE":
            recorded += [_write(p) for p in partitions]
        elif e.api == "SHARE_FETCH":
            recorded.append(("fetch", e.request["shareSessionEpoch"], ()))
        elif e.api == "SHARE_ACKNOWLEDGE" and partitions:  # the last one only closes the session
            (batch,) = partitions[0]["acknowledgementBatches"]
            said_then = list(batch["acknowledgeTypes"])
            recorded.append(("acknowledge", e.request["shareSessionEpoch"], said_then))
    assert sorted(modelled, key=str) == sorted(recorded, key=str)


def _write(p) -> tuple:
    batches = tuple(
        (b["firstOffset"], b["lastOffset"], b["deliveryState"], b["deliveryCount"])
        for b in p["stateBatches"]
    )
    epochs = (p["stateEpoch"], p["leaderEpoch"])
    return ("write", *epochs, p["startOffset"], p["deliveryCompleteCount"], batches)


@scenario("share-locks")
def test_locks_limits_and_snapshots_leave_the_recorded_share_state(recording):
    """One record a poll from the limit on: that a last attempt travels alone is not modelled."""
    one = [Line("poll", C.POLL), Line("acknowledge", C.ACKNOWLEDGE, verdicts=((-1, RELEASE),))]
    one.append(Line("commitSync", C.COMMIT_SYNC))
    run = Run(
        recording,
        _share(
            "share-1",
            Line("poll", C.POLL),
            Line("acknowledge", C.ACKNOWLEDGE, verdicts=((0, ACCEPT),)),
            Line("commitSync, in place of close()", C.COMMIT_SYNC),
            member="m1",
        ),
        _share(
            "share-2",
            Line("poll", C.POLL),
            Line("ack", C.ACKNOWLEDGE),
            Line("c", C.COMMIT_SYNC),
            member="m2",
        ),
        _share("share-3", *one, *one, *one, member="m3", max_records=1),
        delivery_count_limit=3,
        updates_per_snapshot=3,
    )
    assert run.calls("share-1", 3) == ["", "", ""]
    run.take(LoseConnection("share-1/consumer", 1))
    run.quiet()
    assert run.calls("share-2", 1) == [""]
    run.expire_lock()
    assert run.calls("share-2", 2) == ["", ""]
    late = run.world.applications["share-2"].consumer.acknowledging.error
    assert late.name == "INVALID_RECORD_STATE"
    for _ in range(3):
        assert run.calls("share-3", 3) == ["", "", ""]
    assert modelled_share_state(run) == recorded_share_state(recording)


# -- a restart ----------------------------------------------------------------------------------


@scenario("restart")
def test_a_restarted_broker_goes_on_from_its_logs_as_the_recorded_one_did(recording):
    """An open transaction goes on, an acquisition that was never acknowledged left no trace."""
    said = ((1, ACCEPT), (0, RELEASE), (2, RELEASE), (3, RELEASE))
    polls = [Line("poll", C.POLL), Line("acknowledge", C.ACKNOWLEDGE, verdicts=said)]
    init, poll, begin, send = C.INIT_TRANSACTIONS, C.POLL, C.BEGIN_TRANSACTION, C.SEND
    run = Run(
        recording,
        _share("share-1", *polls, Line("c", C.COMMIT_SYNC), Line("poll", C.POLL), member="m1"),
        _share("share-2", Line("poll", C.POLL), Line("a", C.ACKNOWLEDGE), Line("c", C.COMMIT_SYNC)),
        _producer("app-producer", init, poll, begin, send, send, C.COMMIT_TRANSACTION),
    )
    assert run.calls("share-1", 4) == [""] * 4
    assert run.calls("app-producer", 4) == [""] * 4
    asked = len(run.list_delivered(AddPartitionsToTxn))
    run.take(CrashBroker(1))
    run.take(StartBroker(1))
    run.quiet()
    assert run.calls("app-producer", 2) == ["", ""]
    assert (
        len(run.list_delivered(AddPartitionsToTxn)) == asked
    )  # the log knows that the transaction is open
    assert run.calls("share-2", 3) == ["", "", ""]
    redelivered = [(r.offset, r.delivery_count) for r in run.world.applications["share-2"].records]
    (polled,) = [
        call.result for call in recording.calls if call.actor == "share-2" and call.name == "poll"
    ]
    assert redelivered == [(r["offset"], r["delivery_count"]) for r in polled]
    assert modelled_states(run) == recorded_states(recording)
    assert modelled_output(run) == recorded_output(recording)
    assert modelled_share_state(run) == recorded_share_state(recording)
