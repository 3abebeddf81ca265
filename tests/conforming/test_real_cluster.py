"""A real broker from jars, if there are some: KIPVIZ_KAFKA_JARS names the libs folder of a Kafka release."""

import json
import os
import shutil
import signal
from pathlib import Path

import pytest

from kipviz.command import conform
from kipviz.command.main import main
from kipviz.conforming.clients import Names, topic_of
from kipviz.conforming.playing import Playing
from kipviz.conforming.programs import Program, Step
from kipviz.conforming.real_cluster import CannotStart, RealCluster, release_of

JARS = Path(os.environ.get("KIPVIZ_KAFKA_JARS", "/no/such/folder"))


@pytest.fixture
def release():
    if shutil.which("java") is None:
        pytest.skip("there is no java")
    try:
        return release_of(JARS)
    except CannotStart as why:
        pytest.skip(f"{why}: set KIPVIZ_KAFKA_JARS")


def test_a_program_is_played_at_a_real_broker_and_every_answer_is_accepted(release, capsys):
    status = main(["conform", "--kafka", str(JARS), "--programs", "3", "--mutants", "50", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert (status, found["kafka"], found["programs"]) == (0, release, 3)
    assert found["refused"] == 0
    assert found["answers"] > 100
    assert found["mutants"]["asked"] == 50


def test_a_real_broker_is_watched(release, tmp_path, capsys):
    told = ("a init new", "a add now 0", "a produce now 0 next", "a stage now 0")
    made = (Step(*words[:2], tuple(words[2:])) for words in map(str.split, told))
    topic = topic_of("p0")
    with RealCluster(JARS, tmp_path) as cluster:
        names = Names("p0", cluster.create([topic])[topic])
        Playing(Program(0, tuple(made), ("a",)), names, cluster).play()
        servers = cluster.bootstrap_servers
        status = main(["watch", "--bootstrap-server", servers, "--once", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert (status, found["not_seen"], found["brokers"]) == (0, [], 1)
    assert [row["partition"] for row in found["rows"]] == [f"{topic}-0"]
    assert found["rows"][0]["blocks"]
    assert [row["group_id"] for row in found["pending"]] == ["p0-readers"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "--kafka"),
        (["--kafka", "/no/such/folder"], "there is no folder /no/such/folder"),
        (["--kafka", ".", "--mutants", "-1"], "it takes a whole number from 0"),
        (["--kafka", ".", "--program", "/no/such"], "cannot read /no/such"),
        (["--kafka", "."], "name the libs folder of a Kafka release"),
    ],
)
def test_bad_input_is_one_sentence(arguments, said, capsys):
    assert main(["conform", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line


def test_a_folder_to_keep_in_has_to_be_empty(tmp_path, capsys):
    for name in ("kafka-clients-4.4.0", "kafka_2.13-4.4.0", "log4j-core-2.25.4"):
        (tmp_path / f"{name}.jar").touch()
    assert main(["conform", "--kafka", str(tmp_path), "--keep", str(tmp_path)]) == 2
    assert "--keep takes a folder that is empty" in capsys.readouterr().err


def test_a_kill_ends_the_work_as_an_exception_does_so_that_no_broker_stays():
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as ended, conform._stopped_in_order():
        os.kill(os.getpid(), signal.SIGTERM)
    assert ended.value.code == 128 + signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) == before
