"""A window of a log: the batches around a place, with what was open before it, whatever the size of the log."""

import itertools
import json
import struct
from types import SimpleNamespace

import pytest

from kipviz.command.main import main
from kipviz.recordings.files import log_parts, log_window
from kipviz.recordings.files.cluster_folders import cluster_folders
from kipviz.recordings.files.log_parts import log_folders
from kipviz.recordings.files.log_window import end_of, window_at
from kipviz.recordings.recording_error import RecordingError
from kipviz.widgets import rebuilt_logs
from kipviz.widgets.rebuilt_logs import rebuild, run_of_logs, step_of
from tests.recordings.made_logs import START, batch, marker, transaction, write
from tests.recordings.whole_folder import unpack_folder


@pytest.fixture(scope="module")
def long_log(tmp_path_factory):
    """A transaction that hangs since the beginning of a log of two segments, and 3,000 batches behind it."""
    folder = tmp_path_factory.mktemp("long")
    hanging = batch(0, pid=5, epoch=0, sequence=0)
    rows = [batch(k, at=START + k * 10) for k in range(1, 3_000)]
    write(folder, "out-0", hanging, *rows[:1_499])
    write(folder, "out-0", *rows[1_499:], segment=1_500)
    write(
        folder,
        "__transaction_state-0",
        transaction(0, "app", 5, 0, "ONGOING", ("out-0",)),
        *(transaction(k, f"other-{k}", 9, 0, "EMPTY", at=START + k * 10_000) for k in (1, 2, 3)),
    )
    write(folder, "quiet-0", batch(0, at=START + 20_000), batch(1, at=START + 29_000))
    return folder


def test_a_window_has_the_batches_around_a_place_and_what_is_open_before_it(long_log):
    run = run_of_logs(long_log, at=("out-0", 2_000), last=40)
    offsets = [e.batch.base_offset for e in run.model.entries if e.partition == "out-0"]
    assert offsets == [0, *range(1_990, 2_010)]
    assert run.trace.world.logs["out-0"].open == ((0, 5),)
    assert run.trace.world.logs["out-0"].last_stable_offset == 0
    ids = [
        name
        for role in run.trace.world.roles.values()
        for name in getattr(role, "transactions", {})
    ]
    assert sorted(ids) == ["app", "other-1", "other-2"]
    step = step_of(run, "out-0", 2_000)
    entry = run.model.entries[run.model.skipped + step - 1]
    assert (entry.partition, entry.batch.base_offset) == ("out-0", 2_000)


def test_the_stepper_stands_at_the_place(long_log):
    run = run_of_logs(long_log, at=("out-0", 2_000), last=40)
    stepper = rebuild(long_log, at=("out-0", 2_000), last=40)
    assert stepper.step == step_of(run, "out-0", 2_000) < run.trace.depth


def test_every_place_of_a_recorded_folder_has_its_window(tmp_path):
    folder = unpack_folder(tmp_path)[0]
    whole = run_of_logs(folder, torn_tail=True)
    for entry in whole.model.entries[::5]:
        at = (entry.partition, entry.batch.last_offset)
        run = run_of_logs(folder, at=at)
        assert step_of(run, *at) >= 0
        assert entry.batch in [each.batch for each in run.model.entries]


def test_a_transaction_that_ended_before_the_window_is_not_in_it(tmp_path):
    rows = [batch(0, pid=5, epoch=0, sequence=0), marker(1, 5, 0)]
    write(tmp_path, "out-0", *rows, *(batch(k, at=START + k) for k in range(2, 200)))
    found = window_at(cluster_folders([tmp_path]), "out-0", 150, 10)
    assert [b.base_offset for _, s in found.partitions for x in s for b in x.batches] == [
        *range(145, 155)
    ]


@pytest.mark.parametrize(
    ("partition", "offset", "why"),
    [
        (
            "out-1",
            0,
            "there is no log of out-1 here; there are __transaction_state-0, out-0, quiet-0",
        ),
        ("out-0", 3_001, "out-0 has no batch with offset 3001; they end at 2999"),
    ],
)
def test_a_place_that_is_not_there_is_one_sentence(long_log, partition, offset, why):
    with pytest.raises(RecordingError, match=why):
        window_at(cluster_folders([long_log]), partition, offset, 10)


def test_the_command_that_a_finding_names_opens_the_log_there(long_log, tmp_path, capsys):
    page = tmp_path / "page.html"
    window = ["log", str(long_log), "--open", "--at", "out-0:0"]
    assert main(["audit", "--logs", str(long_log), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["findings"]
    assert found["window"] == " ".join(["kipviz", *window])
    assert main([*window, "--to", str(page), "--no-browser", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert page.exists()
    assert 0 < told["step"] <= told["steps"]


@pytest.mark.parametrize("damaged", [0, 20, 39])
@pytest.mark.parametrize("how", ["a wrong checksum", "no header"])
def test_damage_opens_in_the_stepper_where_it_is_told(tmp_path, capsys, damaged, how):
    rows = [batch(k, at=START + k) for k in range(40)]
    file = write(tmp_path / "logs", "out-0", *rows)
    content, size = bytearray(file.read_bytes()), len(rows[0])
    begins = damaged * size
    if how == "no header":
        content[begins : begins + size] = b"\xfe" * size
    else:
        content[begins + 65] ^= 1
    file.write_bytes(content)
    assert main(["audit", "--logs", str(tmp_path / "logs"), "--json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)["findings"]
    assert (found["kind"], found["offset"]) == ("damaged", damaged)
    words = found["window"].split()[1:]
    assert main([*words, "--to", str(tmp_path / "page.html"), "--no-browser", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["step"] == min(damaged + 1, 39)
    # What is not in the page is told.
    (not_read,) = told["not_read"]
    assert not_read.startswith(f"{file}, byte {begins}: ")


def steps_of(run, partition):
    entries = run.model.entries[run.model.skipped :]
    return [e.batch.base_offset for e in entries if e.partition == partition]


def test_a_large_log_is_opened_at_its_end_and_says_so(long_log, monkeypatch):
    whole = run_of_logs(long_log)
    assert (len(whole.model.entries), whole.scenario.window) == (3_006, "")
    monkeypatch.setattr(rebuilt_logs, "WHOLE_BYTES", 100_000)
    run = run_of_logs(long_log, last=40)
    assert steps_of(run, "out-0") == [*range(2_980, 3_000)]
    assert run.trace.world.logs["out-0"].open == ((0, 5),)
    said = "Only batches around offset 2,999 of out-0, where the 0 MB of logs end, are read"
    assert run.scenario.window.startswith(said)
    assert run.scenario.sentence.endswith(run.scenario.window)
    assert run.scenario.title.endswith(", around offset 2,999 of out-0")
    assert run_of_logs(long_log, whole=True).model.entries == whole.model.entries
    at = run_of_logs(long_log, at=("out-0", 5), last=40)
    assert at.scenario.window.startswith("Only batches around offset 5 of out-0 are read, and")


def test_the_end_of_a_large_log_is_that_of_the_chosen_topics(long_log, monkeypatch):
    monkeypatch.setattr(rebuilt_logs, "WHOLE_BYTES", 100)
    run = run_of_logs(long_log, ["quiet"], last=40)
    assert {e.partition for e in run.model.entries} == {"quiet-0", "__transaction_state-0"}
    assert run.scenario.window.startswith("Only batches around offset 1 of quiet-0, where")
    with pytest.raises(RecordingError, match=r"no log of a topic 'loud' here; there are __trans"):
        run_of_logs(long_log, ["loud"], last=40)


def test_logs_end_with_the_last_batch_of_a_user_topic_that_can_be_read(tmp_path):
    coordinator = transaction(0, "app", 5, 0, "EMPTY", at=START + 90_000)
    write(tmp_path, "__transaction_state-0", coordinator)
    folders = cluster_folders([tmp_path])
    assert end_of(folders) == ("__transaction_state-0", 0)
    write(tmp_path, "early-0", *(batch(k, at=START + k) for k in range(9)))
    file = write(tmp_path, "late-0", *(batch(k, at=START + 50 + k) for k in range(9)))
    write(tmp_path, "late-0", segment=9)
    folders = cluster_folders([tmp_path])
    assert end_of(folders) == ("late-0", 8)
    file.write_bytes(file.read_bytes()[:-1] + b"\x00")
    assert end_of(folders) == ("late-0", 8)
    write(tmp_path, "early-0")
    write(tmp_path, "late-0")
    assert end_of(folders) == ("__transaction_state-0", 0)
    write(tmp_path, "__transaction_state-0")
    with pytest.raises(RecordingError, match="no batch can be read in these logs"):
        end_of(folders)


def test_a_window_does_not_claim_what_other_batches_would_show(long_log, tmp_path, capsys):
    """The coordinator's records of a producer may stand in front of the window: then nobody says that it hangs."""
    folder = tmp_path / "logs"
    begun = transaction(0, "app", 5, 0, "ONGOING", ("out-0",), start=START)
    others = (transaction(k, "b", 9, 0, "EMPTY", at=START + k * 10) for k in range(1, 300))
    write(folder, "__transaction_state-0", begun, *others)
    rows = (batch(k, at=START + k * 10) for k in range(1, 300))
    write(folder, "out-0", batch(0, pid=5, epoch=0, sequence=0), *rows)
    words = ["log", str(folder), "--open", "--no-browser", "--to", str(tmp_path / "x.html")]
    assert main([*words, "--at", "out-0:290", "--last", "20"]) == 1
    told = capsys.readouterr().out
    assert "Only batches around offset 290 of out-0 are read" in told
    assert "Earlier transactions, which are not in these batches, may hold back" in told
    assert "out-0: open transaction from offset 0 (perhaps hanging)" in told
    assert "not all of __transaction_state was read." in told
    assert told.splitlines()[-3] == f"The logs as a whole: kipviz audit --logs {folder}"
    write(folder, "out-0", *(batch(k, at=START + k * 10) for k in range(1, 300)))
    assert main([*words, "--at", "out-0:290", "--last", "20"]) == 0
    told = capsys.readouterr().out
    assert "In these batches every last stable offset equals its high watermark." in told


@pytest.mark.parametrize("there", [30, 100])
def test_what_is_shown_of_other_logs_is_shared_out_between_them(tmp_path, there):
    write(tmp_path, "out-0", *(batch(k, at=START + k) for k in range(100)))
    for name in ("a-0", "b-0"):
        write(tmp_path, name, *(batch(k, at=START + 50) for k in range(there)))
    window = window_at(cluster_folders([tmp_path]), "out-0", 50, 40)
    shown = {name: sum(len(s.batches) for s in segments) for name, segments in window.partitions}
    assert shown == {"out-0": 20, "a-0": 10, "b-0": 10}


def test_a_copy_of_a_partition_that_is_not_the_chosen_one_is_not_read_beside_it(tmp_path):
    """Of several brokers' copies the window is of the one that cluster_folders takes."""
    short, long = tmp_path / "one", tmp_path / "two"
    for folder, broker, count in ((short, 1, 3), (long, 2, 6)):
        write(folder, "out-0", *(batch(k) for k in range(count)))
        (folder / "meta.properties").write_text(f"node.id={broker}\ncluster.id=c\n")
    folders = cluster_folders([short, long])
    (chosen,) = folders.partitions
    window = window_at(folders, "out-0", 1, 100)
    ((name, segments),) = window.partitions
    offsets = [each.base_offset for segment in segments for each in segment.batches]
    assert (name, offsets) == ("out-0", list(range({short: 3, long: 6}[chosen.parent])))


@pytest.fixture
def large_segments(monkeypatch):
    """Let a segment of some kB count as a large one."""
    monkeypatch.setattr(log_window, "NEAR_BYTES", 8_000)
    monkeypatch.setattr(log_window, "_OTHERS_BYTES", 8_000)
    monkeypatch.setattr(log_parts, "_NEAR", 500)


def index_files(segment, entries, times):
    """Write what a broker writes beside a segment: (last offset, place) and (latest time, last offset), and room for more."""
    packed = [struct.pack(">ii", *each) for each in entries]
    segment.with_suffix(".index").write_bytes(b"".join(packed) + bytes(80))
    packed = [struct.pack(">qi", *each) for each in times]
    segment.with_suffix(".timeindex").write_bytes(b"".join(packed) + bytes(120))


def two_long_logs(folder):
    """Write two logs of 3,000 batches of one segment each, the second one half as often in time; return their segments."""
    rows = {
        "out-0": [batch(k, at=START + k * 10) for k in range(3_000)],
        "out-1": [batch(k, at=START + k * 20) for k in range(3_000)],
    }
    return {name: write(folder, name, *each) for name, each in rows.items()}


def read_bytes(monkeypatch):
    """Return a list that gets, for each read of a part, how many bytes of it were read."""
    sizes = []
    original = log_parts.read_part

    def read_part(part, **how):
        sizes.append(part.end - part.start)
        return original(part, **how)

    monkeypatch.setattr(log_parts, "read_part", read_part)
    monkeypatch.setattr(log_window, "read_part", read_part)
    return sizes


@pytest.mark.parametrize("beside", ["no index", "an index", "a wrong index", "a short index"])
@pytest.mark.usefixtures("large_segments")
def test_a_window_of_a_large_segment_is_found_without_reading_all_of_it(
    tmp_path, monkeypatch, beside
):
    segments = two_long_logs(tmp_path)
    size = segments["out-0"].stat().st_size // 3_000
    turns = range(50, 3_000, 50)
    for name, step in (("out-0", 10), ("out-1", 20)):
        if beside == "an index":
            places = [(k, k * size) for k in turns]
            index_files(segments[name], places, [(START + k * step, k) for k in turns])
        elif beside == "a wrong index":
            wrong = [(k + 1_500, k * size) for k in turns]
            index_files(segments[name], wrong, [(START + k * step, k) for k in turns])
        elif beside == "a short index":
            segments[name].with_suffix(".index").write_bytes(b"no")
    sizes = read_bytes(monkeypatch)
    run = run_of_logs(tmp_path, at=("out-0", 2_000), last=40)
    offsets = {
        name: [e.batch.base_offset for e in run.model.entries if e.partition == name]
        for name in segments
    }
    assert offsets["out-0"] == list(range(1_990, 2_010))
    if beside != "a wrong index":
        assert offsets["out-1"] == list(range(995, 1_005))
        assert sum(sizes) < 0.5 * sum(each.stat().st_size for each in segments.values())


@pytest.mark.usefixtures("large_segments")
def test_the_first_and_the_last_batch_of_a_large_segment_have_their_windows(tmp_path):
    two_long_logs(tmp_path)
    for offset, there in ((0, range(20)), (2_999, range(2_980, 3_000))):
        run = run_of_logs(tmp_path, at=("out-0", offset), last=40)
        own = [e.batch.base_offset for e in run.model.entries if e.partition == "out-0"]
        assert own == list(there)


@pytest.mark.parametrize(("size", "count"), [(20, 3_000), (30_000, 40), (400_000, 8)])
@pytest.mark.usefixtures("large_segments")
def test_a_place_is_found_without_an_index_whatever_the_size_of_its_batch(
    tmp_path, monkeypatch, size, count
):
    rows = [batch(k, ((None, b"v" * size),), at=START + k) for k in range(count)]
    segment = write(tmp_path, "out-0", *rows)
    places = [0, *itertools.accumulate(map(len, rows))]
    read = read_bytes(monkeypatch)
    wanted = count * 3 // 4
    for field, value in (("base_offset", wanted), ("max_timestamp", START + wanted)):
        parts = log_folders([tmp_path]).parts
        (found,) = log_parts.narrow_parts(parts, field, value, value, 0)
        assert found.start <= places[wanted] < found.end
        # Halving stops where 500 bytes are left, at a whole batch.
        assert found.end - found.start <= 2 * (500 + 2 * len(rows[0]))
    # A look at small batches reads no part of a log.
    assert bool(read) == (size > 300_000)
    assert segment.stat().st_size == places[-1]


def test_an_offset_is_looked_for_in_its_segment_and_the_one_before() -> None:
    """A transaction may have begun in the segment before; LogSegments.floorSegment finds the offset's own."""
    parts = [SimpleNamespace(segment=f"{offset:020d}.log") for offset in (0, 10, 20, 30)]
    found = log_window._find_parts(parts, 25)
    assert [part.segment for part in found] == [f"{offset:020d}.log" for offset in (10, 20)]
