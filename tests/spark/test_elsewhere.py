"""Workers that do not see this Python's folders: a cluster's executor, a Connect server."""

import importlib.util
import os
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import pytest

from kipviz.spark.workers.package_archive import package_zip

ROOT = Path(__file__).parents[2]
STAND_IN = ROOT / "tests" / "spark" / "stand_in_task.py"
RECORDING = ROOT / "tests" / "recordings" / "kafka-4.4.0" / "commit-and-abort"
# Whoever takes longer hangs. With the settings of kipviz's own sessions a Connect server takes half the processor's time.
HANGS_S = 1_800

PROGRAM = """
    import sys, threading
    from pathlib import Path
    sys.path[:0] = {paths!r}
    from kipviz.spark.sessions import session as sessions
    from kipviz.spark.campaign import in_a_loop, on_spark
    from kipviz.spark.saved.event_log import event_frame, write_events
    from functools import partial
    from kipviz.recordings.request_context.evidence import of_recording
    from kipviz.recordings.judging.report import of_evidence
    from kipviz.spark.audit import audit, audit_log
    from kipviz.spark.conformance import judged_on
    from kipviz.recordings.auditing.log_audit import audit_logs
    from kipviz.spark import log_audit
    from kipviz.campaigns.plan import make_plan
    from kipviz.campaigns.cancellation import Cancelled, CancelSwitch
    {start}
    spark.addArtifacts({stand_in!r}, pyfile=True)
    plan = make_plan("copy", ("right", "twice", "crashes"), runs=6, task_module="stand_in_task")
    seen = []
    print(on_spark(spark, plan, 3, lambda *now: seen.append(now)).equals(in_a_loop(plan)))
    print(seen[-1] == (18, 18))
    print(audit(event_frame(spark, plan, partitions=2)).count() > 0)
    write_events(spark, plan, "events")
    found = audit_log(spark, "events")
    print((found.runs, found.count("duplicate") > 0) == (18, True))
    evidence = of_recording(Path({recording!r}))
    print(of_evidence(evidence, partial(judged_on, spark)) == of_evidence(evidence))
    log_audit.STRETCH_LEAST = log_audit.STRETCH_MOST = 500
    print(log_audit.audit_logs_on(spark, [{recording!r}]) == audit_logs([{recording!r}]))
    switch = CancelSwitch()
    threading.Timer(1, switch.cancel).start()
    try:
        on_spark(spark, make_plan("copy", "slow", runs=400, task_module="stand_in_task"), None, None, switch)
    except Cancelled:
        print("cancelled")
    print(on_spark(spark, plan, 2).num_rows)
    spark.stop()
"""


def run_elsewhere(tmp_path, start, variables):
    program = PROGRAM.format(
        paths=[str(ROOT)], stand_in=str(STAND_IN), start=start, recording=str(RECORDING)
    )
    program = textwrap.dedent(program)
    environment = {**os.environ, **variables}
    sys_path = os.pathsep.join([str(STAND_IN.parent), environment.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**environment, "PYTHONPATH": sys_path},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )
    assert done.stdout.split() == [*["True"] * 6, "cancelled", "18"], done.stderr[-2000:]


def test_the_package_that_is_shipped_has_what_a_worker_imports_and_no_pages(tmp_path):
    names = zipfile.ZipFile(package_zip(tmp_path)).namelist()
    assert "kipviz/__init__.py" in names
    assert "kipviz/spark/workers/worker_runs.py" in names
    assert "kipviz/checking/single_run/seeded_run.py" in names
    assert not [name for name in names if "widgets" in name or "__pycache__" in name]


def test_the_shipped_package_can_be_imported_from_its_zip(tmp_path):
    program = "import kipviz.checking.single_run.seeded_run as t, kipviz.spark.workers.worker_runs; print(t.__file__)"
    done = subprocess.run(
        [
            sys.executable,
            "-I",
            "-c",
            f"import sys; sys.path.insert(0, sys.argv[1]); {program}",
            str(package_zip(tmp_path)),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "kipviz.zip" in done.stdout


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.thorough
def test_an_executor_of_a_cluster_gives_the_same_verdicts_and_can_be_cancelled(tmp_path):
    run_elsewhere(tmp_path, "spark = sessions.session('local-cluster[1,2,1024]')", {})


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("grpc") is None, reason="Spark Connect's package grpcio is not here"
)
def test_a_connect_server_gives_the_same_verdicts_and_can_be_cancelled(tmp_path):
    start = (
        "from pyspark.sql import SparkSession; "
        "own = sessions.profile('local[2]'); "
        "quick = {name: own[name] for name in ('spark.driver.extraJavaOptions', 'spark.sql.shuffle.partitions', 'spark.ui.enabled')}; "
        "on_loopback = {**quick, 'spark.connect.grpc.binding.address': '127.0.0.1'}; "
        "spark = SparkSession.builder.config(map=on_loopback).remote('local[2]').getOrCreate(); "
        "assert sessions.is_connect(spark)"
    )
    variables = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    run_elsewhere(tmp_path, start, variables)
