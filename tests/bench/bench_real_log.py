"""How an audit of a log that a real broker wrote grows with it: python tests/bench/bench_real_log.py JARS [records].

JARS is the libs folder of a Kafka release. One broker on loopback takes the records of Kafka's own ProducerPerformance, 100
bytes each, in transactions of a tenth of a second and batches of 2 kB to two partitions; the last producer is killed within
its transaction. That is done twice, with a quarter of the records and with all of them, each in a folder of its own that does
not stay. Each log is audited in this process and on Spark, and a window is opened at the finding. Linear in bytes means that
both take as long for a megabyte. On a busy machine believe the seconds of the processor, in which Spark's JVM and its workers
are counted, and compare what stands in one run.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench_campaign import processor_seconds
from bench_logs import peak_mb

from kipviz.conforming.real_cluster import RealCluster
from kipviz.recordings.auditing.log_audit import audit_logs
from kipviz.widgets.rebuilt_logs import run_of_logs

RECORDS, SIZE = 20_000_000, 100
PRODUCERS = 4
SETTINGS = {"log.segment.bytes": str(256 << 20)}
OF_PRODUCERS = ("batch.size=2048", "linger.ms=5", "acks=all")
TOPIC = "orders"


def produce(jars: Path, servers: str, records: int, name: str, milliseconds: int):
    """Start a producer of one transactional id."""
    command = ("java", "-Xmx256m", "-cp", f"{jars}/*", "org.apache.kafka.tools.ProducerPerformance")
    told = ("--topic", TOPIC, "--num-records", str(records), "--record-size", str(SIZE))
    more = ("--transactional-id", name, "--transaction-duration-ms", str(milliseconds))
    where = ("--throughput", "-1", "--bootstrap-server", servers)
    properties = ("--command-property", *OF_PRODUCERS)
    whole = [*command, *told, *more, *where, *properties]
    return subprocess.Popen(whole, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def made_log(jars: Path, home: Path, records: int) -> Path:
    """Let a broker write so many records, and those of a producer that is killed; return its folder of logs."""
    with RealCluster(jars, home, further=SETTINGS) as cluster:
        cluster.create([TOPIC])
        for number in range(PRODUCERS):
            share = records // PRODUCERS
            if produce(jars, cluster.bootstrap_servers, share, f"app-{number}", 100).wait():
                raise SystemExit("a producer has failed")
        log = cluster.files[0].logs
        before = sum(each.stat().st_size for each in log.glob(f"{TOPIC}-*/*.log"))
        lone = produce(jars, cluster.bootstrap_servers, records, "killed", 3_600_000)
        while sum(each.stat().st_size for each in log.glob(f"{TOPIC}-*/*.log")) == before:
            time.sleep(0.05)
        lone.kill()
        lone.wait()
    return log


def timed(what, work, size, records):
    """Do some work, print what it took; return its result and the processor's seconds."""
    start, busy = time.perf_counter(), processor_seconds()
    result = work()
    seconds, busy = time.perf_counter() - start, max(processor_seconds() - busy, 0.01)
    print(
        f"  {what}: {seconds:.1f} s, {busy:.1f} s of processor, for each of these {size / 1e6 / busy:,.0f} MB and "
        f"{records / busy:,.0f} records",
        flush=True,
    )
    return result, busy


def measured(logs: Path, records: int, spark) -> dict[str, float]:
    """Audit a log in each way; return the processor's seconds for a gigabyte."""
    from kipviz.spark.log_audit import audit_logs_on

    size = sum(each.stat().st_size for each in logs.glob("*/*.log"))
    ways = {
        "audit, one process": lambda: audit_logs([logs]),
        "audit on Spark": lambda: audit_logs_on(spark, [logs]),
    }
    found, took = [], {}
    for way, work in ways.items():
        audit, busy = timed(way, work, size, records)
        found.append(audit)
        took[way] = busy / (size / 1e9)
    first, *others = found
    assert all(each == first for each in others)
    print(f"  {size / 1e6:,.0f} MB, {first.batches:,} batches, {len(first.findings)} findings")
    (killed,) = (each for each in first.findings if each.partition == f"{TOPIC}-0")
    place = (killed.partition, killed.offset)
    timed("window in the stepper", lambda: run_of_logs(logs, at=place), size, records)
    return took


def main(jars: Path, records: int) -> None:
    """Make and measure a quarter, then the whole, and print how the two compare."""
    from kipviz.spark.session import session, stop

    took = []
    for count in (records // 4, records):
        with tempfile.TemporaryDirectory(prefix="kipviz-bench-") as place:
            start = time.perf_counter()
            logs = made_log(jars, Path(place), count)
            print(f"{count:,} records, written in {time.perf_counter() - start:.0f} s", flush=True)
            spark = session()
            took.append(measured(logs, count, spark))
    jvm = spark.sparkContext._gateway.proc.pid
    print(f"driver: {peak_mb('self')} MB of Python, {peak_mb(jvm)} MB of JVM at most")
    stop()
    for way, small in took[0].items():
        print(f"{way}: a gigabyte of the whole takes {took[1][way] / small:.2f} times as long")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else RECORDS)
