"""A cluster that loses an executor in the middle of a job comes to the same campaign table and the same findings."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STAND_IN = ROOT / "tests" / "spark" / "stand_in_task.py"

PROGRAM = """
    import os, signal, sys
    from pathlib import Path
    sys.path[:0] = {paths!r}
    from tests.recordings.made_logs import batch, marker, write
    from kipviz.campaigns.plan import make_plan
    from kipviz.recordings.auditing.log_audit import audit_logs
    from kipviz.spark import log_audit
    from kipviz.spark.campaign import in_a_loop, on_spark
    from kipviz.spark.sessions.session import session, stop

    def children():
        parents = {{}}
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
        family = {{os.getpid()}}
        while more := {{pid for pid, parent in parents.items() if parent in family}} - family:
            family |= more
        return sorted(family - {{os.getpid()}})

    def executors():
        commands = ((pid, Path(f"/proc/{{pid}}/cmdline").read_bytes()) for pid in children())
        return [pid for pid, words in commands if b"CoarseGrainedExecutorBackend" in words]

    killed = []

    def kill_one(done, known):
        if not killed and 0 < done < known:
            killed.append(executors()[0])
            os.kill(killed[0], signal.SIGKILL)

    spark = session("local-cluster[2,1,1024]")
    spark.addArtifacts({stand_in!r}, pyfile=True)
    plan = make_plan("copy", ("right", "twice", "slow"), runs=40, task_module="stand_in_task")
    print(on_spark(spark, plan, 30, kill_one).equals(in_a_loop(plan)), len(killed), flush=True)
    killed.clear()

    for partition in ("large-0", "large-1"):
        rows = []
        for k in range(0, 4_200, 3):
            pid = k // 3 % 40
            rows += [batch(k, pid=pid, epoch=0, sequence=k % 7), batch(k + 1, pid=pid, epoch=0, sequence=3)]
            rows += [marker(k + 2, pid, 0, commit=k % 5 > 0)] if k % 11 else [batch(k + 2)]
        write("logs", partition, *rows)
    log_audit.STRETCH_LEAST = log_audit.STRETCH_MOST = 80_000
    there = audit_logs(["logs"])
    found = log_audit.audit_logs_on(spark, ["logs"], on_progress=kill_one)
    print(found == there, len(killed), len(there.findings) > 100, flush=True)
    stop()
"""


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="executors are found in /proc")
def test_an_executor_that_is_killed_changes_neither_a_campaign_s_table_nor_an_audit_s_findings(
    tmp_path,
):
    program = textwrap.dedent(PROGRAM.format(paths=[str(ROOT)], stand_in=str(STAND_IN)))
    sys_path = os.pathsep.join([str(STAND_IN.parent), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": sys_path},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.stdout.splitlines() == ["True 1", "True 1 True"], done.stderr[-3000:]
