"""How many batches of logs are read and audited a second: python tests/bench/bench_logs.py [batches] [--spark] [--audits].

The log is made on the spot in a temporary folder, with right checksums: transactions of ten batches in each of four
partitions, of which one in a thousand hangs. What is compared is printed as a ratio to the plain walk over the bytes. On a
busy machine believe the seconds of the processor, in which Spark's JVM and its workers are counted. `--audits` leaves out
the reading of rows.

With `--kafka FOLDER_OF_JARS` the log is one that a broker of Kafka has written, `--mb 5000` megabytes (broker_log.py), in the folder `--at`,
where it stays: the next call takes it as it is. Then an eighth, a quarter, half and all of it are audited on Spark, which shows whether an
audit is linear and what the driver takes, and windows of findings at its start, in its middle and at its end are opened.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from bench_campaign import processor_seconds
from broker_log import SHARES, broker_log

from kipviz.recordings.auditing.log_audit import audit_logs
from kipviz.recordings.files.batch_headers import CONTROL, HEADER, headers_in
from kipviz.recordings.files.checksums import checksums
from kipviz.recordings.files.log_parts import log_folders, read_part
from kipviz.recordings.files.log_rows import rows_of
from kipviz.widgets.rebuilt_logs import run_of_logs

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tests.recordings.made_logs import START, batch, marker

PARTITIONS = 4
A_TRANSACTION = 10
HANGS_EVERY = 1_000
SEGMENT = 250_000
PRODUCERS = 50
RECORDS = 10


def made_log(folder: Path, batches: int) -> int:
    """Write a log of about so many batches; return how many transactions hang."""
    data = batch(0, ((None, b"v" * 20),) * RECORDS, pid=1, epoch=0, sequence=0)
    end = marker(0, 1, 0)
    hanging = 0
    for index in range(PARTITIONS):
        offset, left = 0, batches // PARTITIONS
        begun = 0
        while left > 0:
            count = min(left, SEGMENT) // A_TRANSACTION
            if not count:
                break
            turn = np.arange(begun, begun + count)
            # A transaction that hangs has a producer of its own and no marker.
            hangs = turn % HANGS_EVERY == HANGS_EVERY - 1
            pids = np.where(
                hangs, 1_000_000 * (index + 1) + turn, turn % PRODUCERS + PRODUCERS * index
            )
            lone = np.repeat(hangs, A_TRANSACTION - 1)
            who = np.repeat(pids, A_TRANSACTION - 1)
            within = np.tile(np.arange(A_TRANSACTION - 1), count)
            rounds = np.repeat(turn // PRODUCERS, A_TRANSACTION - 1)
            # Of a producer that does not hang, rounds in which a hanging one took its turn are not counted.
            skipped = _count_skipped(who, rounds, index)
            sequence = (
                np.where(lone, within, (rounds - skipped) * (A_TRANSACTION - 1) + within) * RECORDS
            )
            _write_segment(folder, index, offset, data, end, pids, hangs, sequence, turn)
            offset += count * ((A_TRANSACTION - 1) * RECORDS + 1) - int(hangs.sum())
            hanging += int(hangs.sum())
            left -= count * A_TRANSACTION
            begun += count
    return hanging


def _count_skipped(who, rounds, index):
    """Count the turns of a producer that a hanging transaction had before a round."""
    number = who - PRODUCERS * index
    mine = (number == (HANGS_EVERY - 1) % PRODUCERS) & (number < PRODUCERS)
    every = HANGS_EVERY // PRODUCERS
    return np.where(mine, rounds // every, 0)


def _write_segment(folder, index, offset, data, end, pids, hangs, sequence, turn):
    per, span = A_TRANSACTION - 1, (A_TRANSACTION - 1) * RECORDS + 1
    starts = offset + np.concatenate(([0], np.cumsum(span - hangs)[:-1]))
    base = np.repeat(starts, per) + np.tile(np.arange(per), len(pids)) * RECORDS
    whole = _copies(data, len(base))
    _set(whole, base, np.repeat(pids, per), sequence, START + np.repeat(turn, per))
    ends = _copies(end, len(pids))
    _set(ends, starts + per * RECORDS, pids, -1, START + turn + 1)
    path = folder / f"orders-{index}" / f"{offset:020}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = whole.reshape(len(pids), -1)
    joined = np.concatenate((rows, ends), axis=1)
    if hangs.any():
        path.write_bytes(
            b"".join((rows[k] if hangs[k] else joined[k]).tobytes() for k in range(len(pids)))
        )
    else:
        joined.tofile(path)


def _copies(one: bytes, count: int):
    return np.tile(np.frombuffer(one, np.uint8), (count, 1))


def _set(rows, offsets, pids, sequences, times):
    heads = rows[:, : HEADER.itemsize].copy().view(HEADER)[:, 0]
    heads["base_offset"], heads["producer_id"] = offsets, pids
    heads["base_timestamp"] = heads["max_timestamp"] = times
    heads["base_sequence"] = sequences
    rows[:, : HEADER.itemsize] = heads.view(np.uint8).reshape(len(rows), -1)
    size = rows.shape[1]
    starts = np.arange(len(rows)) * size
    heads["crc"] = checksums(rows.reshape(-1), starts + 21, starts + size)
    rows[:, : HEADER.itemsize] = heads.view(np.uint8).reshape(len(rows), -1)


def time_work(what, work, batches, against=None):
    """Do some work, print how long it took; return its result and the processor's seconds."""
    start, busy = time.perf_counter(), processor_seconds()
    result = work()
    seconds, busy = time.perf_counter() - start, max(processor_seconds() - busy, 0.01)
    ratio = f", {busy / against:.1f} times the walk" if against else ""
    print(
        f"{what}: {seconds:.2f} s, {busy:.2f} s of processor, {batches / busy:,.0f} batches and "
        f"{batches * RECORDS / busy:,.0f} records for each of these{ratio}",
        flush=True,
    )
    return result, busy


def peak_mb(process):
    """Return the largest size of a process so far, 0 where there is no /proc."""
    try:
        words = Path(f"/proc/{process}/status").read_text().split()
    except OSError:
        return 0
    return int(words[words.index("VmHWM:") + 1]) // 1_024


def walk(folder):
    """Go from batch to batch and read every header, without checksums or columns."""
    return sum(
        len(headers_in(path.read_bytes(), check_crc=False).positions)
        for path in sorted(folder.glob("*/*.log"))
    )


def main(batches: int, *, on_spark: bool, only_audits: bool) -> None:
    """Make the log, read and audit it in several ways, and open a window of it."""
    with tempfile.TemporaryDirectory(prefix="kipviz-bench-") as place:
        folder = Path(place)
        hanging, _ = time_work("made", lambda: made_log(folder, batches), batches)
        print(f"{sum(f.stat().st_size for f in folder.glob('*/*.log')) / 1e6:,.0f} MB")
        there, floor = time_work("walk", lambda: walk(folder), batches)
        parts = log_folders([folder]).parts
        for check_crc in () if only_audits else (False, True):
            crc = "with" if check_crc else "without"
            rows, _ = time_work(
                f"rows of batches, {crc} checksums, one process",
                lambda check_crc=check_crc: sum(
                    b.num_rows for p in parts for b in rows_of(p, "batches", check_crc=check_crc)
                ),
                there,
                floor,
            )
            assert rows == there
        found, _ = time_work("audit, one process", lambda: audit_logs([folder]), there, floor)
        kinds = [each.kind for each in found.findings]
        assert kinds == ["hanging"] * hanging, (len(kinds), hanging, found.findings[:3])
        if on_spark:
            spark_too(folder, there, floor, found, only_audits=only_audits)
        places = [(late.partition, late.offset) for late in found.findings[-1:]]
        at = (places or [("orders-0", 0)])[0]
        time_work("window in the stepper", lambda: run_of_logs(folder, at=at), there, floor)


def spark_too(folder, there, floor, found, *, only_audits):
    """Read and audit the same log on Spark, cold and warm, and print what the driver took."""
    from kipviz.spark.kafka_log import register
    from kipviz.spark.log_audit import audit_logs_on
    from kipviz.spark.sessions.session import session, stop

    spark, _ = time_work("Spark starts", session, there)
    register(spark)
    for turn in ("cold", "warm"):
        for checksums_too in () if only_audits else ("false", "true"):
            frame = spark.read.format("kafka-log").option("checksums", checksums_too)
            counted, _ = time_work(
                f"kafka-log on Spark, {turn}, checksums {checksums_too}",
                lambda frame=frame: frame.load(str(folder)).groupBy("partition").count().collect(),
                there,
                floor,
            )
            assert sum(row["count"] for row in counted) == there
        same, _ = time_work(
            f"audit on Spark, {turn}", lambda: audit_logs_on(spark, [folder]), there, floor
        )
        assert same == found
    # In local mode the JVM is the driver and the executor, and the workers are its children.
    jvm = spark.sparkContext._gateway.proc.pid
    print(f"driver: {peak_mb('self')} MB of Python, {peak_mb(jvm)} MB of JVM at most", flush=True)
    stop()


def of_broker(jars: Path, home: Path, megabytes: int) -> None:
    """Audit growing shares of a broker's log on Spark, and open windows of it."""
    from kipviz.spark.log_audit import audit_logs_on
    from kipviz.spark.sessions.session import session, stop

    folder = broker_log(jars, home, megabytes)
    spark = session()
    jvm = spark.sparkContext._gateway.proc.pid
    audit_logs_on(spark, [folder], SHARES["an eighth"])  # so that all that follow are warm
    seconds: dict[str, tuple[float, float]] = {}
    for share, topics in [*SHARES.items(), *SHARES.items()][
        :-3
    ]:  # the least one twice, at both ends
        begun, busy = time.perf_counter(), processor_seconds()
        found = audit_logs_on(spark, [folder], topics)
        took = (time.perf_counter() - begun, max(processor_seconds() - busy, 0.01))
        seconds[share] = min(seconds.get(share, took), took, key=lambda each: each[1])
    driver, workers = peak_mb("self"), max(map(peak_mb, children_of(jvm)), default=0)
    print(f"driver: {driver} MB of Python, {peak_mb(jvm)} MB of JVM; largest worker {workers} MB")
    stop()
    for share, topics in SHARES.items():
        wall, busy = seconds[share]
        batches, records, size = extent_of(folder, topics)
        print(
            f"{share}: {batches:,} batches, {records:,} records, {size / 1e6:,.0f} MB: {wall:.1f} s, {busy:.1f} s of "
            f"processor; {records / wall:,.0f} records a second, {records / busy:,.0f} for each of the processor; "
            f"{busy / size * 1e9:.2f} s of it for each GB",
            flush=True,
        )
    counts = {each.kind: 0 for each in found.findings}
    for each in found.findings:
        counts[each.kind] += 1
    print(f"found: {counts}")
    windows_of(folder, [(each.partition, each.offset) for each in found.findings])


def children_of(process: int) -> list[int]:
    """Return all that descend from a process; none where there is no /proc."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has just ended
    family = {process}
    while more := {each for each, parent in parents.items() if parent in family} - family:
        family |= more
    return sorted(family - {process})


def extent_of(folder: Path, topics: tuple[str, ...]) -> tuple[int, int, int]:
    """Count the batches of some topics (default: all), the records of producers in them, and their bytes."""
    batches = records = size = 0
    for part in log_folders([folder], topics).parts:
        fields = read_part(part, check_crc=False).headers.fields
        batches += len(fields)
        records += int(fields["count"][(fields["attributes"] & CONTROL) == 0].sum())
        size += part.end - part.start
    return batches, records, size


def windows_of(folder: Path, places: list[tuple[str, int]]) -> None:
    """Open windows at the places of findings, from the start of the log to its end, and at the middle of a partition."""
    in_order = sorted(dict.fromkeys(places), key=lambda place: (place[1], place[0]))
    chosen = [in_order[len(in_order) * k // 8] for k in range(8)] + in_order[-1:] if places else []
    for at in dict.fromkeys(chosen):
        begun, busy = time.perf_counter(), time.process_time()
        steps = len(run_of_logs(folder, at=at).trace)
        took, busy = time.perf_counter() - begun, time.process_time() - busy
        print(
            f"window at {at[0]}, {at[1]:,}: {took:.2f} s, {busy:.2f} s of processor, {steps} steps"
        )


def arguments() -> argparse.Namespace:
    """Read what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("batches", type=int, nargs="?", default=1_000_000)
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--audits", action="store_true")
    parser.add_argument("--kafka", type=Path, metavar="FOLDER_OF_JARS")
    parser.add_argument("--mb", type=int, default=5_000)
    parser.add_argument("--at", type=Path, metavar="FOLDER")
    return parser.parse_args()


if __name__ == "__main__":
    asked = arguments()
    if asked.kafka is None:
        main(asked.batches, on_spark=asked.spark, only_audits=asked.audits)
    elif asked.at is None:
        with tempfile.TemporaryDirectory(prefix="kipviz-bench-") as place:
            of_broker(asked.kafka, Path(place), asked.mb)
    else:
        of_broker(asked.kafka, asked.at, asked.mb)
