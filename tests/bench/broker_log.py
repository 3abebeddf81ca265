"""A log of a real broker at any size, for the benches: one broker of Kafka, and Kafka's own producers that fill it.

Thirty-two topics have two partitions each, so that what `SHARES` names is an eighth, a quarter, half and all of one log: whoever
measures whether something is linear reads the same transactions each time.
"""

import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from kipviz.conforming.programs import PARTITIONS
from kipviz.conforming.real_cluster import LOGS, RealCluster
from kipviz.records.placement import CONSUMER_OFFSETS, TRANSACTION_STATE

TOPICS = tuple(f"fill-{at:02}" for at in range(32))
INTERNAL = (TRANSACTION_STATE, CONSUMER_OFFSETS)
SHARES = {
    "an eighth": (*TOPICS[:4], *INTERNAL),
    "a quarter": (*TOPICS[:8], *INTERNAL),
    "half": (*TOPICS[:16], *INTERNAL),
    "all": (),
}
PRODUCERS, SEED = 4, 18


def broker_log(jars: Path, home: Path, megabytes: int, producers: int = PRODUCERS) -> Path:
    """Let a broker write so many MB, and return its folder of logs; one that is there already is taken.

    Args:
        jars: the libs folder of a Kafka release.
        home: an empty or new folder, or one that this function filled before.
        megabytes: so much is in segment files at the end, a few transactions more: batches of 2 kB, markers and internal topics.
        producers: how many transactional ids write at once.
    """
    logs, whole = home / LOGS, home / "whole"
    if whole.exists():
        return logs
    if home.exists() and any(home.iterdir()):
        raise SystemExit(f"{home} is not empty, and no whole log of this bench is in it")
    home.mkdir(parents=True, exist_ok=True)
    # Requests by the million would be a log of their own; a transaction of 15 minutes is the longest that is allowed.
    with RealCluster(jars, home, log_requests=False) as cluster:
        cluster.create(TOPICS)
        java, source = shutil.which("java"), Path(__file__).with_name("FillLogs.java")
        words = [cluster.bootstrap_servers, str(logs.resolve()), str(megabytes)]
        words += [str(producers), str(SEED)]
        command = [java, "-Xmx512m", "-cp", f"{jars.resolve()}/*", str(source), *words]
        command += [f"{topic}:{PARTITIONS}" for topic in TOPICS]
        begun = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        print(f"written in {time.perf_counter() - begun:,.0f} s", flush=True)
    whole.touch()
    return logs
