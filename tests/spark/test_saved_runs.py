"""Whatever ends a campaign, its finished parts are in its folder, and the same campaign goes on from them."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from kipviz.campaigns.cancellation import Cancelled
from kipviz.campaigns.plan import make_plan
from kipviz.core.outside import atomic_write
from kipviz.spark import campaign as campaigns
from kipviz.spark.campaign import Campaign, in_a_loop, stretches
from kipviz.spark.saved.campaign_changes import changes_between
from kipviz.spark.saved.log_digests import LIST, what_is_damaged, write_digests
from kipviz.spark.saved.saved_runs import saved_campaign
from kipviz.spark.sessions import session as sessions
from kipviz.spark.sessions.failures import CampaignFailed
from tests.patience import PATIENCE
from tests.spark.conftest import STAND_IN

ROOT = Path(__file__).parents[2]


def campaign(folder, designs=("right", "twice"), way="loop", **more):
    return Campaign(
        "copy", designs, "rough", 30, way=way, folder=folder, task_module=STAND_IN, **more
    )


def whole(designs=("right", "twice")):
    return in_a_loop(make_plan("copy", designs, "rough", 30, task_module=STAND_IN))


def parts(folder):
    return sorted(folder.glob("*.verdicts"))


@pytest.fixture
def made(monkeypatch):
    """The stretches that were made, not read."""
    seen = []
    make = campaigns.run_places
    monkeypatch.setattr(campaigns, "run_places", lambda *a: (seen.append(a[1:]), make(*a))[1])
    return seen


def test_a_cancelled_campaign_goes_on_from_its_finished_parts(tmp_path, made):
    first = campaign(tmp_path)

    def stop(done, runs):
        if done >= runs // 2:
            first.cancel()

    with pytest.raises(Cancelled):
        first.run(stop)
    kept = len(parts(tmp_path))
    assert 0 < kept == len(made) < len(stretches(60))
    assert campaign(tmp_path).run().table.equals(whole())
    assert len(made) == len(stretches(60))


def test_a_full_disk_ends_a_campaign_in_one_sentence_and_what_was_kept_is_read(
    tmp_path, made, monkeypatch
):
    write, count = atomic_write.write, []

    def fills(path, data, *more):
        count.append(path)
        if len(count) > 5:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        write(path, data, *more)

    monkeypatch.setattr(atomic_write, "write", fills)
    with pytest.raises(
        CampaignFailed, match=r"No space left on device\. The parts that were finished"
    ):
        campaign(tmp_path).run()
    monkeypatch.setattr(atomic_write, "write", write)
    assert len(parts(tmp_path)) == 4  # and the plan
    made.clear()
    assert campaign(tmp_path).run().table.equals(whole())
    assert len(made) == len(stretches(60)) - 4


def test_a_flipped_bit_costs_one_part_and_is_told_with_its_file(tmp_path, made):
    campaign(tmp_path).run()
    size = parts(tmp_path)[0].stat().st_size
    for place in (0, 20, 60, size // 2, size - 1):
        file = parts(tmp_path)[3]
        data = bytearray(file.read_bytes())
        data[place] ^= 4
        file.write_bytes(data)
        made.clear()
        again = campaign(tmp_path)
        assert again.run().table.equals(whole())
        assert again.damaged == (file.name,)
        assert len(made) == 1


def test_a_folder_of_another_campaign_or_of_something_else_is_refused(tmp_path):
    campaign(tmp_path / "one").run()
    with pytest.raises(ValueError, match="keeps another campaign"):
        campaign(tmp_path / "one", designs=("right",)).run()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("dear")
    with pytest.raises(ValueError, match="holds something that is not a campaign"):
        campaign(tmp_path / "other").run()


@pytest.mark.slow
def test_a_process_that_dies_is_replaced_and_its_runs_are_made_again(tmp_path, monkeypatch):
    monkeypatch.setenv("KIPVIZ_TEST_DIED", str(tmp_path / "died"))
    designs = ("right", "dies once")
    found = campaign(tmp_path / "kept", designs, "processes").run().table
    assert (tmp_path / "died").exists()
    assert found.equals(whole(designs))


@pytest.mark.spark
@pytest.mark.thorough
def test_a_worker_of_spark_that_dies_once_costs_nothing(tmp_path, monkeypatch):
    died = tmp_path / "died"
    monkeypatch.setenv("KIPVIZ_TEST_DIED", str(died))
    designs = ("right", "dies once")
    # On a session that is there already: while one starts, the campaign makes runs in its own process.
    code = (
        "from kipviz.spark.sessions.session import session\n"
        "from tests.spark.test_saved_runs import campaign\n"
        f"table = campaign(None, {designs!r}, 'spark', spark=session('local[2]')).run().table\n"
        "print(table.num_rows, set(table['status'].to_pylist()))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert died.exists()
    assert done.stdout == "60 {'holds'}\n", done.stderr


@pytest.mark.spark
@pytest.mark.thorough
def test_a_jvm_that_is_killed_leaves_the_finished_parts(tmp_path):
    code = (
        "import sys\n"
        "from tests.spark.test_saved_runs import campaign\n"
        "from kipviz.spark.sessions.session import session\n"
        "spark = session()\n"
        "jvm = spark.sparkContext._gateway.proc\n"
        "def tell(done, runs):\n"
        "    if done >= 12: jvm.kill()\n"
        "campaign(sys.argv[1], way='spark', spark=spark).run(tell)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path], cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert "CampaignFailed" in done.stderr
    assert 4 <= len(parts(tmp_path)) < len(stretches(60))
    assert campaign(tmp_path).run().table.equals(whole())


def test_the_folders_of_dead_processes_are_removed_and_those_of_the_living_stay(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(sessions.tempfile, "tempdir", str(tmp_path))
    dead = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    left, mine = (
        tmp_path / f"kipviz-spark-{int(dead.stdout)}-abc",
        tmp_path / f"kipviz-spark-{os.getpid()}-abc",
    )
    other = tmp_path / "kipviz-spark-notes"
    for folder in (left, mine, other):
        folder.mkdir()
        (folder / "block").touch()
    sessions._sweep()
    assert [place.exists() for place in (left, mine, other)] == [False, True, True]


@pytest.mark.parametrize(
    ("master", "with_tries"),
    [("local", "local[1,4]"), ("local[2]", "local[2,4]"), ("local[*]", "local[*,4]"),
     ("local[2,1]", "local[2,1]"), ("yarn", "yarn"), ("local-cluster[2,1,1024]", "local-cluster[2,1,1024]")],
)  # fmt: skip
def test_a_local_master_tries_a_task_again(master, with_tries):
    assert sessions.with_retries(master) == with_tries


def test_every_flipped_bit_of_an_event_log_is_told_with_its_file(tmp_path):
    names = ("part-0.parquet", "part-1.parquet")
    for name in names:
        (tmp_path / name).write_bytes(os.urandom(300))
    (tmp_path / "_SUCCESS").touch()
    write_digests(tmp_path)
    assert what_is_damaged(tmp_path) == ""
    for name in names:
        file = tmp_path / name
        good = file.read_bytes()
        for bit in range(0, 8 * len(good), 97):
            bad = bytearray(good)
            bad[bit // 8] ^= 1 << bit % 8
            file.write_bytes(bad)
            assert f"{name} is damaged" in what_is_damaged(tmp_path)
        file.unlink()
        assert f"its part {name} is missing" in what_is_damaged(tmp_path)
        file.write_bytes(good)
    (tmp_path / "part-2.parquet").touch()
    assert "part-2.parquet is not among the files" in what_is_damaged(tmp_path)
    (tmp_path / "part-2.parquet").unlink()
    (tmp_path / LIST).write_text("[")
    assert "is not a list of digests" in what_is_damaged(tmp_path)


# --- ^C ------------------------------------------------------------------------------------------

WORDS = (
    "campaign",
    "--scenario",
    "kip-1289-two-members",
    "--designs",
    "repaired",
    "--runs",
    "4000",
)
COMMANDS = (
    (*WORDS, "--way", "loop"),
    ("explore", "kip-1289-small", "--design", "repaired", "--faults", "rough"),
    ("play", "kip-1289-share-commit"),
    ("outcomes", "kip-1289-small", "--design", "repaired"),
)


# What a process says once kipviz itself is running: before that, Python answers ^C alone.
# A shell starts what is in its background with ^C ignored, and the test with it.
LAUNCH = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from kipviz.__main__ import main; print('up', flush=True); sys.exit(main())"
)


def interrupt(words, seconds, folder):
    """Press ^C so many seconds after a command has begun; give its status, what it said, and if it had ended."""
    started = subprocess.Popen(
        [sys.executable, "-c", LAUNCH, *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert started.stdout.readline() == "up\n"
    time.sleep(seconds)
    ended = started.poll() is not None
    started.send_signal(signal.SIGINT)
    try:
        told, said = started.communicate(timeout=PATIENCE)
    finally:
        started.kill()
    return started.returncode, said, ended or bool(told)


def kept_is_whole(folder):
    plan = make_plan("kip-1289-two-members", "repaired", runs=4000)
    return all(
        campaigns.KeptRuns(folder, plan).read(first, last) is not None
        for first, last in (stretches(plan.jobs) if folder.exists() else ())
        if (folder / f"places-{first}-{last}.verdicts").exists()
    )


@pytest.mark.slow
def test_an_interrupted_campaign_is_130_and_quiet_and_keeps_what_is_whole(tmp_path):
    dice = Random(1)
    folder = tmp_path / "kept"
    for _ in range(4):
        words = (*WORDS, "--way", "loop", "--resume", str(folder))
        status, said, _ = interrupt(words, dice.uniform(0, 2), tmp_path)
        assert status == 130, said
        assert "Traceback" not in said
        assert said.splitlines()[-1] == "kipviz: interrupted"
        assert kept_is_whole(folder)


@pytest.mark.thorough
def test_an_interruption_at_two_hundred_moments_is_130_and_quiet_and_loses_nothing(tmp_path):
    dice = Random(20261123)
    folder = tmp_path / "kept"
    commands = (*COMMANDS, (*WORDS, "--way", "loop", "--resume", str(folder)))
    wrong = []
    for number in range(200):
        words = commands[number % len(commands)]
        seconds = dice.uniform(0, 2.5)
        status, said, ended = interrupt(words, seconds, tmp_path)
        # Who had told the answer already ends with what it says.
        if (status != 130 and not ended) or status not in {0, 1, 130} or "Traceback" in said:
            wrong.append((number, words[0], seconds, status, said[-300:]))
        assert kept_is_whole(folder)
    assert wrong == []


def test_a_saved_campaign_is_read_without_its_words_whole_or_not(tmp_path):
    first = campaign(tmp_path, ("right", "twice"))

    def stop(done, runs):
        if done >= runs // 2:
            first.cancel()

    with pytest.raises(Cancelled):
        first.run(stop)
    saved = saved_campaign(tmp_path)
    assert saved.plan == first.plan.with_plain_names()
    assert 0 < saved.table.num_rows < saved.plan.jobs
    campaign(tmp_path, ("right", "twice")).run()
    assert saved_campaign(tmp_path).table.equals(whole())
    file = parts(tmp_path)[3]
    file.write_bytes(file.read_bytes()[:-1])
    saved = saved_campaign(tmp_path)
    assert (saved.damaged, saved.plan.jobs - saved.table.num_rows) == ((file.name,), 3)


@pytest.mark.parametrize("text", [None, "{}", "no json"])
def test_a_folder_without_a_campaign_is_refused_and_not_written_to(tmp_path, text):
    if text is not None:
        (tmp_path / "campaign.json").write_text(text)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(ValueError, match="keeps no campaign"):
        saved_campaign(tmp_path)
    assert sorted(tmp_path.iterdir()) == before


def test_what_changed_between_two_campaigns_is_counted_run_by_run():
    plan = make_plan("copy", ("right", "twice"), "rough", 30, task_module=STAND_IN)
    before = in_a_loop(plan)
    more = in_a_loop(make_plan("copy", ("right", "forgets"), "rough", 35, task_module=STAND_IN))
    rows = more.to_pylist()
    for row in rows:
        if (row["design"], row["seed"]) in {("right", 4), ("right", 9)}:
            row.update(status="breaks", broken="no_loss", reason="gone")
        if (row["design"], row["seed"]) == ("right", 5):
            row["fingerprint"] = "other"
    found = changes_between(before, pa.Table.from_pylist(rows, more.schema))
    assert (found.same, found.other_steps, found.changed) == (28, 1, 2)
    assert (found.only_before, found.only_after) == (30, 40)
    (change,) = found.changes
    assert (change.design, change.before, change.after) == ("right", "holds", "no_loss")
    assert (change.count, change.seed, change.reason) == (2, 4, "gone")
    assert changes_between(before, before).changes == ()


def test_parts_that_follow_each_other_are_made_together():
    parts_ = [(0, 3), (3, 6), (6, 9), (12, 15), (15, 18)]
    assert list(campaigns.together(parts_, 2)) == [
        [(0, 3), (3, 6)],
        [(6, 9)],
        [(12, 15), (15, 18)],
    ]
    assert list(campaigns.together([], 2)) == []
