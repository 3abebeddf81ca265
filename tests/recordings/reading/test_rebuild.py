"""A real broker's logs as a run: every batch is a step, read by the roles' own replay."""

from __future__ import annotations

import pickle
from itertools import pairwise
from pathlib import Path

import pytest

import kipviz
from kipviz.clients.operators.operator_commands import transactions_tool
from kipviz.cluster.actions import CrashBroker, ReadLog
from kipviz.cluster.real.rebuilt_cluster import BROKER, RebuiltBatch, RebuiltModel
from kipviz.cluster.world import role_key
from kipviz.core.model import NotEnabled
from kipviz.messages.events import LeaderMoved
from kipviz.recordings import rebuild
from kipviz.recordings.decoded.elections import LeaderDecision, elections_of
from kipviz.recordings.decoded.internal_topics import LoggedShareUpdate, LoggedTransaction
from kipviz.recordings.files.broker_folder import partitions_in
from kipviz.recordings.files.segments import LoggedBatch, LoggedRecord, Segment, read_partition
from kipviz.recordings.rebuild import entries_of, internal_partitions_of
from kipviz.recordings.recorded import load_recording
from kipviz.recordings.recording_error import RecordingError
from kipviz.records.batches import Batch, DataRecord
from kipviz.records.crc32c import crc32c
from kipviz.records.share_group_members import ShareGroupRecord
from kipviz.records.transaction_state import TransactionRecord, TransactionState
from kipviz.views.choices import choices
from kipviz.views.reasons.blocked_logs import find_blocked, pending_offsets
from kipviz.views.reasons.blockers import findings
from kipviz.widgets.rebuilt_logs import run_of_logs
from tests.recordings.made_logs import batch, write

HERE = Path(__file__).parents[1]
RELEASE = HERE / "kafka-4.4.0"
SCENARIOS = sorted(folder.name for folder in RELEASE.iterdir() if folder.is_dir())
RECORDED = sorted(place.parent for place in HERE.glob("kafka-*/*/recording.json"))
WITH_TRANSACTIONS = ("commit-and-abort", "fenced-and-timed-out", "restart")


def rebuilt(folder: Path, **settings: int) -> tuple[RebuiltModel, list]:
    """The model of some logs, and the worlds of its run."""
    run = run_of_logs(folder, **settings)
    assert isinstance(run.model, RebuiltModel)
    return run.model, [run.trace.node(node) for node in run.trace.line]


def cut(folder: Path, into: Path, **kept: int) -> Path:
    """A copy of a recording in which some partitions end after so many batches."""
    for partition in partitions_in(folder):
        (segment,) = read_partition(partition)
        count = kept.get(partition.name.replace("-", "_"), len(segment.batches))
        data = (partition / "00000000000000000000.log").read_bytes()
        end = len(data) if count == len(segment.batches) else segment.batches[count].position
        (into / partition.name).mkdir(parents=True)
        (into / partition.name / "00000000000000000000.log").write_bytes(data[:end])
    return into


def test_a_time_that_no_calendar_has_is_told_as_its_number(tmp_path: Path) -> None:
    """Some producers write microseconds into a field of milliseconds."""
    name = "00000000000000000000.log"
    data = bytearray((RELEASE / "commit-and-abort" / "output-A-0" / name).read_bytes())
    end = 12 + int.from_bytes(data[8:12], "big")
    data[35:43] = (1_790_000_000_000_000).to_bytes(8, "big")  # maxTimestamp
    data[17:21] = crc32c(bytes(data[21:end])).to_bytes(4, "big")
    folder = tmp_path / "logs" / "output-A-0"
    folder.mkdir(parents=True)
    (folder / name).write_bytes(data[:end])
    _, nodes = rebuilt(tmp_path / "logs")
    first = nodes[1].action
    assert isinstance(first, ReadLog)
    assert first.at == "1790000000000000 ms after 1970, which is past the year 9999"


def test_a_batch_that_compaction_has_parted_keeps_its_sequences_behind_the_last_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """DefaultRecordBatch: the sequence of a record is the batch's, incremented with a wrap."""
    records = tuple(LoggedRecord(at, 0, b"k", b"v", (), 0) for at in (10, 11, 14, 15))
    header = (0, 100, 10, 15, 0, False, False, "none", False, 0, 0, 7, 0, 2_147_483_646)
    logged = Segment("x.log", (LoggedBatch(*header, records),))
    monkeypatch.setattr(rebuild, "read_partition", lambda *_, **__: (logged,))
    entries = entries_of([Path("src-0")])
    assert [(e.batch.base_offset, e.batch.base_sequence) for e in entries] == [
        (10, 2_147_483_646),
        (14, 2),
    ]


def test_rebuilt_logs_travel_with_all_that_is_to_be_read() -> None:
    model, nodes = rebuilt(RELEASE / "commit-and-abort")
    away = pickle.loads(pickle.dumps(model))
    world = away.initial()
    for node in nodes[1:]:
        (action,) = away.enabled(world)
        world = away.step(world, action).world
        assert world == node.world


def test_a_rebuilt_run_offers_the_next_batch_and_no_fault_that_cannot_happen() -> None:
    model, path = rebuilt(RELEASE / "commit-and-abort")
    offered = [choices(model, node.world, None) for node in path]
    assert [len(items) for items in offered] == [1] * (len(path) - 1) + [0]
    assert all(item["enabled"] and item["group"] == "next" for items in offered for item in items)


def test_of_several_brokers_each_batch_is_read_by_who_led_its_partition() -> None:
    run = run_of_logs(RELEASE / "coordinator-move")
    assert run.scenario.lanes == ("B1", "B2", "B3")
    assert "as 3 brokers wrote them" in run.scenario.sentence
    model = run.model
    away = pickle.loads(pickle.dumps(model))
    world, read, moved = away.initial(), [], []
    while possible := away.enabled(world):
        (action,) = possible
        outcome = away.step(world, action)
        moved += [e for e in outcome.events if isinstance(e, LeaderMoved)]
        read.append((action.partition, action.leader))
        world = outcome.world
    assert world == run.trace.world
    of_transactions = [leader for name, leader in read if name == "__transaction_state-1"]
    assert of_transactions == [2, 2, 2, 3, 3, 3, 3, 3, 2]
    home = [(e.before, e.after, e.epoch) for e in moved if e.partition == "__transaction_state-1"]
    assert home == [(2, 3, 1), (3, 2, 2)]
    coordinator = world.roles[role_key(2, "__transaction_state-1")]
    assert coordinator.coordinator_epoch == 2
    assert role_key(3, "__transaction_state-1") not in world.roles


def test_what_was_read_before_the_first_step_has_its_leaders_too() -> None:
    whole, last = (
        run_of_logs(RELEASE / "coordinator-move"),
        run_of_logs(RELEASE / "coordinator-move", last=3),
    )
    assert last.trace.depth == 3
    assert last.trace.world == whole.trace.world


def test_a_leader_that_wrote_before_it_knew_of_its_successor_is_read_first() -> None:
    def at(place: int, epoch: int, at_ms: int) -> RebuiltBatch:
        return RebuiltBatch(
            "src-0", Batch(place, (DataRecord("v"),)), at_ms, "then", leader_epoch=epoch
        )

    made, moved = (LeaderDecision("src-0", b, b - 1, (1, 2), (1, 2), 50 * b) for b in (1, 2))
    entries = (at(0, 0, 60), at(1, 0, 103), at(2, 1, 110))
    assert [e.after for e in elections_of((made, moved), entries)] == [2]
    assert [e.after for e in elections_of((made, moved), entries[:1])] == [1]
    assert elections_of((made, made), entries) == ()


# -- what the logs say is what the world is ------------------------------------------------------


@pytest.mark.parametrize("folder", RECORDED, ids=lambda f: f"{f.parent.name}-{f.name}")
def test_the_marks_of_every_log_are_those_that_an_observer_of_the_broker_saw(folder: Path) -> None:
    recording = load_recording(folder)
    model, nodes = rebuilt(folder)
    logs = nodes[-1].world.logs
    seen = dict(recording.calls[-1].ends.items())
    for partition, (high_watermark, last_stable) in seen.items():
        if partition in logs and not partition.startswith("__"):
            marks = (logs[partition].high_watermark, logs[partition].last_stable_offset)
            assert marks == (high_watermark, last_stable), partition
    assert len(nodes) == len(model.entries) + 1


@pytest.mark.parametrize("name", WITH_TRANSACTIONS)
def test_a_coordinator_has_what_its_log_says_last(recorded, name: str, release: Path) -> None:
    last = [
        r
        for r in recorded(name).decode_topic("__transaction_state")
        if isinstance(r, LoggedTransaction)
    ][-1]
    _, nodes = rebuilt(release / name)
    world = nodes[-1].world
    home = world.image.home_of("__transaction_state", last.transactional_id)
    known = world.roles[role_key(BROKER, home)].transactions[last.transactional_id]
    assert (known.state, known.producer_id, known.producer_epoch, known.timeout_ms) == (
        last.state,
        last.producer_id,
        last.producer_epoch,
        last.timeout_ms,
    )


def test_the_aborted_transactions_are_those_of_the_brokers_own_index(
    recorded, release: Path
) -> None:
    recording = recorded("commit-and-abort")
    _, nodes = rebuilt(release / "commit-and-abort")
    for partition, index in recording.aborted.items():
        found = nodes[-1].world.logs[partition].aborted
        assert [(a.producer_id, a.first_offset, a.last_offset) for a in found] == [
            (a.producer_id, a.first_offset, a.last_offset) for a in index
        ]


def test_a_share_partition_has_its_snapshot_and_every_update_since(recorded, release: Path) -> None:
    recording = recorded("share-acknowledge")
    _, nodes = rebuilt(release / "share-acknowledge")
    logged = recording.decode_topic("__share_group_state")
    assert isinstance(logged[-1], LoggedShareUpdate)
    (state,) = (
        state
        for role in nodes[-1].world.roles.values()
        for state in getattr(role, "states", {}).values()
    )
    assert state.start_offset == max(r.start_offset for r in logged)
    assert state.updates == sum(isinstance(r, LoggedShareUpdate) for r in logged)


# -- who holds readers back ----------------------------------------------------------------------


def test_a_log_that_ends_within_a_transaction_names_the_producer_that_blocks_it(
    tmp_path: Path,
) -> None:
    folder = cut(RELEASE / "commit-and-abort", tmp_path, output_A_0=1, __transaction_state_45=2)
    model, nodes = rebuilt(folder)
    (row,) = find_blocked(model, nodes[-1].world)
    assert (row.partition, row.last_stable_offset, row.high_watermark) == ("output-A-0", 0, 1)
    assert (row.transactional_id, row.producer_id, row.producer_epoch) == ("my-txn", 0, 0)
    assert row.state == "ONGOING"
    assert row.since == next(e.at for e in model.entries if e.partition == "output-A-0")
    assert (
        "Its producer has not ended it; these logs do not show whether it is still running."
        in row.why
    )
    assert (row.blocks, row.hanging) == (True, "")
    assert row.frees == (
        "its producer commits or aborts it, if it still runs",
        "a producer starts with transactional.id=my-txn: its initTransactions() aborts it",
        "its coordinator aborts it when transaction.timeout.ms (60 s) is over",
        f"{transactions_tool()} forceTerminateTransaction --transactionalId my-txn",
    )


def test_a_decided_transaction_waits_for_the_marker_that_is_missing(tmp_path: Path) -> None:
    folder = cut(RELEASE / "commit-and-abort", tmp_path, output_A_0=2, __transaction_state_45=4)
    model, nodes = rebuilt(folder)
    (row,) = find_blocked(model, nodes[-1].world)
    assert row.state == "PREPARE_COMMIT"
    holds = {hold.card: hold.text for hold in findings(model, nodes[-1].world)}
    assert "missing: output-A-0" in holds["transaction:my-txn"]


def test_a_transaction_that_its_coordinator_does_not_know_is_a_hanging_one(tmp_path: Path) -> None:
    folder = cut(RELEASE / "commit-and-abort", tmp_path, output_A_0=1, __transaction_state_45=1)
    model, nodes = rebuilt(folder)
    (row,) = find_blocked(model, nodes[-1].world, coordinators_complete=True)
    assert row.hanging == "hanging"
    assert "This is a hanging transaction." in row.why
    abort = (
        "kafka-transactions.sh --bootstrap-server HOST:PORT abort --topic output-A --partition 0 "
        "--start-offset 0"
    )
    assert row.frees == (abort,)


def test_every_open_transaction_of_a_log_has_a_row_and_the_hanging_one_behind_is_marked(
    tmp_path: Path,
) -> None:
    """Two producers write to one log, and only the older one's coordinator has its transaction."""
    folder = cut(RELEASE / "commit-and-abort", tmp_path, output_A_0=1, __transaction_state_45=2)
    model, nodes = rebuilt(folder)
    world = nodes[-1].world
    log = world.logs["output-A-0"]
    behind = log.producers[0].but(transaction_first_offset=1)
    both = log.but(open=(*log.open, (1, 77)), producers=log.producers.set(77, behind))
    entry = next(e for e in model.entries if e.partition == "output-A-0")
    model.entries += (entry.but(batch=entry.batch.but(base_offset=1, producer_id=77)),)
    after = world.but(logs=world.logs.set("output-A-0", both))
    older, hanging = find_blocked(model, after, coordinators_complete=True)
    assert (older.transactional_id, older.blocks, older.hanging) == ("my-txn", True, "")
    assert (hanging.producer_id, hanging.blocks, hanging.hanging) == (77, False, "hanging")
    abort = f"{transactions_tool()} abort --topic output-A --partition 0 --start-offset 1"
    assert hanging.frees == (abort,)
    _, perhaps = find_blocked(model, after)
    assert perhaps.hanging == "perhaps hanging"
    assert "It hangs if none in the cluster does" in perhaps.why
    assert perhaps.frees[-1] == f"{abort}, if it hangs"


def test_offsets_that_are_pending_in_a_transaction_are_named_for_their_group(
    tmp_path: Path,
) -> None:
    """The group's log ends behind the offset that the transaction has written, before its marker."""
    source = RELEASE / "commit-and-abort"
    (offsets,) = (f.name for f in source.glob("__consumer_offsets-*") if any(f.glob("*.log")))
    for batches in range(1, 40):
        name = offsets.replace("-", "_")
        folder = cut(source, tmp_path / str(batches), **{name: batches}, __transaction_state_45=3)
        model, nodes = rebuilt(folder)
        if rows := pending_offsets(model, nodes[-1].world):
            break
    (row,) = rows
    assert (row.log, row.transactional_id, row.hanging) == (offsets, "my-txn", "")
    assert [partition for partition, _ in row.offsets] == ["src-0"]
    assert any(
        way.endswith("forceTerminateTransaction --transactionalId my-txn") for way in row.frees
    )


def test_without_the_coordinators_log_nobody_says_what_it_knows(tmp_path: Path) -> None:
    folder = cut(RELEASE / "commit-and-abort", tmp_path, output_A_0=1)
    model, nodes = rebuilt(folder / "output-A-0")
    (row,) = find_blocked(model, nodes[-1].world)
    assert row.transactional_id == ""
    assert "No log of __transaction_state is here" in row.why


# -- steps ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WITH_TRANSACTIONS)
def test_data_is_read_after_its_partition_has_joined_the_transaction(name: str) -> None:
    enlisted: set[tuple[int, int, str]] = set()
    for entry in entries_of(partitions_in(RELEASE / name)):
        for record in entry.batch.records:
            if isinstance(record, TransactionRecord):
                who = (record.producer_id, record.producer_epoch)
                enlisted |= {(*who, partition) for partition in record.partitions}
        batch = entry.batch
        if batch.transactional and not batch.control and not entry.partition.startswith("__"):
            assert (batch.producer_id, batch.producer_epoch, entry.partition) in enlisted


def test_what_was_written_before_the_last_batches_is_read_and_has_no_steps() -> None:
    _, whole = rebuilt(RELEASE / "restart")
    _, short = rebuilt(RELEASE / "restart", last=5)
    assert len(short) == 6
    assert short[-1].world.digest == whole[-1].world.digest
    assert short[0].world.digest == whole[-6].world.digest


def test_nothing_else_can_happen_than_what_was_written() -> None:
    model, nodes = rebuilt(RELEASE / "restart")
    first = nodes[0].world
    (next_one,) = model.enabled(first)
    assert isinstance(next_one, ReadLog)
    other = next_one.but(offset=99)
    assert "the batch that was written next is the one at 0 of src-0" in str(
        model.why_not(first, other)
    )
    assert "only what they hold can happen" in str(model.why_not(first, CrashBroker(1)))
    with pytest.raises(NotEnabled, match="the logs have been read to their end"):
        model.step(nodes[-1].world, next_one)


def test_the_number_of_internal_partitions_is_found_by_where_the_ids_lie() -> None:
    entries = entries_of(partitions_in(RELEASE / "restart"))
    assert internal_partitions_of(entries) == 50
    moved = tuple(
        e.but(partition="__transaction_state-0") if e.partition.startswith("__tr") else e
        for e in entries
    )
    assert internal_partitions_of(moved) == 1


def test_the_members_of_groups_are_read_and_every_record_keeps_its_place() -> None:
    entries = entries_of(partitions_in(RELEASE / "restart"))
    groups = [e for e in entries if e.partition.startswith("__consumer_offsets")]
    assert all(isinstance(e, RebuiltBatch) for e in groups)
    assert all(isinstance(r, ShareGroupRecord) for e in groups for r in e.batch.records)
    ends = [(e.batch.base_offset, e.batch.last_offset) for e in groups]
    assert all(one[1] + 1 == other[0] for one, other in pairwise(ends))


# -- in the stepper, and bad input ---------------------------------------------------------------


def test_logs_open_in_the_stepper_at_their_end() -> None:
    stepper = kipviz.rebuild(RELEASE / "commit-and-abort", ["output-A"])
    assert "message 30 of 30" in repr(stepper)
    assert "written 2026-" in repr(stepper)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"last": 0}, "last must be a whole number of at least 1, not 0"),
        (
            {"internal_partitions": -1},
            "internal_partitions must be a whole number of at least 0, not -1",
        ),
    ],
)
def test_a_number_that_is_none_is_refused(settings: dict[str, int], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        kipviz.rebuild(RELEASE / "restart", **settings)


def test_a_place_without_logs_is_refused_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="no folder here holds a segment"):
        kipviz.rebuild(tmp_path)
    with pytest.raises(RecordingError, match="this is not a folder"):
        kipviz.rebuild(tmp_path / "none")
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "00000000000000000000.log").write_bytes(b"")
    with pytest.raises(RecordingError, match="named topic-number"):
        kipviz.rebuild(tmp_path / "odd")


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_command_says_who_blocks_and_writes_a_page(name: str, tmp_path: Path, capsys) -> None:
    from kipviz.command.main import main

    page = tmp_path / "log.html"
    words = ["log", str(RELEASE / name), "--open", "--no-browser", "--to", str(page)]
    assert main(words) == 0
    assert "Every last stable offset equals its high watermark." in capsys.readouterr().out
    assert "<script" in page.read_text(encoding="utf-8")
    if name == "commit-and-abort":
        folder = cut(RELEASE / name, tmp_path / "cut", output_A_0=1, __transaction_state_45=2)
        assert main(["log", str(folder), *words[2:]]) == 1
        assert "has my-txn ONGOING" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("at_ms", "said"),
    [
        (-1, "1970-01-01 00:00:00.000"),  # a record without a timestamp
        (0, "1970-01-01 00:00:00.000"),
        (1_790_000_000_007, "2026-09-21 14:13:20.007"),
    ],
)
def test_a_batch_says_when_it_was_written_to_the_ms(tmp_path: Path, at_ms: int, said: str) -> None:
    write(tmp_path, "out-0", batch(0, at=at_ms))
    (entry,) = run_of_logs(tmp_path).model.entries
    assert entry.at == said


def test_of_a_record_in_a_dead_letter_queue_the_broker_s_headers_are_told() -> None:
    """KIP-1191: __dlq.errors.topic and so on; the others are the application's own."""
    headers = (("__dlq.errors.topic", b"src"), ("__dlq.error", b"x"), ("mine", b"y"))
    record = LoggedRecord(0, 0, None, None, headers, 0)
    assert [name for name, _ in rebuild._of_dead_letter(record)] == ["__dlq.errors.topic"]


def test_a_partition_is_in_a_transaction_since_the_first_record_that_names_it_as_ongoing() -> None:
    """TransactionLogValue: the partitions of a decision were added before it."""

    def entry(at_ms: int, state: TransactionState, *partitions: str) -> RebuiltBatch:
        record = TransactionRecord("t", 9, 0, state, partitions)
        return RebuiltBatch("__transaction_state-0", Batch(0, (record,)), at_ms, "")

    ongoing, decided = TransactionState.ONGOING, TransactionState.PREPARE_COMMIT
    found = rebuild._find_additions(
        [entry(1, ongoing, "a-0"), entry(2, ongoing, "a-0", "b-0"), entry(3, decided, "c-0")]
    )
    assert found == {(9, 0, "a-0"): 1, (9, 0, "b-0"): 2}
