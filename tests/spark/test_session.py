"""Settings and refusals of the session, and that a fresh one starts, says nothing and ends."""

import os
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from kipviz.spark.sessions import session as sessions
from kipviz.spark.sessions.java import NoJava
from kipviz.spark.sessions.session import SparkUnavailable, profile
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]


@pytest.fixture
def no_session(monkeypatch):
    monkeypatch.setattr(sessions, "_running_session", lambda: None)
    monkeypatch.delenv(sessions.MASTER_VARIABLE, raising=False)


@pytest.mark.parametrize(
    "master",
    [
        "local",
        "local[2]",
        "local[*]",
        "local[2,4]",
        "local-cluster[2,1,1024]",
        "yarn",
        "spark://host:7077",
        "k8s://https://host:443",
        "sc://host:15002/;token=x",
    ],
)
def test_the_forms_of_a_master_are_accepted(master):
    sessions.check_master(master)


@pytest.mark.parametrize(
    "master", ["", "locl[2]", "local[0]", "local[x]", "http://host", "spark://"]
)
def test_what_is_no_master_is_refused_with_the_forms_there_are(master):
    with pytest.raises(
        ValueError, match=r"is not a Spark master: use local, local\[2\].*sc://host"
    ):
        sessions.check_master(master)


@pytest.mark.parametrize("memory", ["", "768", "300m", "0g", "2t", "-1g"])
def test_a_memory_size_that_spark_would_refuse_is_refused_before(memory):
    with pytest.raises(ValueError, match="memory must be at least 450m, such as '768m' or '4g'"):
        sessions.check_memory(memory)


def test_the_embedded_profile_fits_binder():
    settings = profile("local[2]")
    assert settings["spark.driver.memory"] == "768m"
    assert settings["spark.sql.shuffle.partitions"] == "4"
    assert settings["spark.driver.bindAddress"] == "127.0.0.1"
    assert settings["spark.ui.enabled"] == "false"
    for option in ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xss512k"):
        assert option in settings["spark.driver.extraJavaOptions"]


def test_a_cluster_keeps_its_own_sizes_and_addresses():
    settings = profile("spark://host:7077")
    assert "spark.driver.memory" not in settings
    assert "spark.driver.bindAddress" not in settings
    assert settings["spark.sql.session.timeZone"] == "UTC"


def test_worker_sockets_go_to_the_session_folder_unless_its_name_is_too_long(tmp_path):
    short = sessions.folder_settings(Path("/tmp/kipviz-spark-x"))
    assert short["spark.python.unix.domain.socket.dir"] == "/tmp/kipviz-spark-x"
    long = sessions.folder_settings(tmp_path / ("x" * 90))
    assert "spark.python.unix.domain.socket.dir" not in long


def closed_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@pytest.mark.parametrize(("scheme", "what"), [("spark", "Spark master"), ("sc", "Spark Connect")])
def test_a_master_that_does_not_answer_is_told_at_once(no_session, scheme, what):
    address = f"127.0.0.1:{closed_port()}"
    with pytest.raises(SparkUnavailable, match=rf"^no {what}.* answers at {address}: start it, or"):
        sessions.session(f"{scheme}://{address}")


def test_an_address_without_a_port_number_is_refused(no_session):
    with pytest.raises(ValueError, match=r"^'host:x' has no port number: use spark://host:port"):
        sessions.session("spark://host:x")


def test_the_master_is_read_from_the_environment(no_session, monkeypatch):
    monkeypatch.setenv(sessions.MASTER_VARIABLE, "nonsense")
    with pytest.raises(ValueError, match="'nonsense' is not a Spark master"):
        sessions.session()


def test_without_java_the_sentence_says_what_to_install(no_session, monkeypatch):
    def nothing(environment=None):
        raise NoJava("Spark needs Java 17 or 21 and none was found: install it.")

    monkeypatch.setattr("kipviz.spark.sessions.java.find_java", nothing)
    with pytest.raises(SparkUnavailable, match=r"^Spark needs Java 17 or 21 and none was found"):
        sessions.session("local[2]")


@pytest.mark.spark
def test_a_second_call_gives_the_same_session_and_another_master_is_refused(spark):
    assert sessions.session() is spark
    assert sessions.session("local[2]") is spark
    with pytest.raises(SparkUnavailable, match=r"^a Spark session on local\[2,4\] is running, so"):
        sessions.session("local[1]")


@pytest.mark.spark
def test_a_session_runs_says_nothing_on_the_terminal_ends_its_java_and_starts_again():
    program = """
        from pyspark import SparkContext
        from kipviz.spark.sessions import session as s
        spark = s.session()
        java, folder = SparkContext._gateway.proc, s._folder
        assert spark.sparkContext.master == "local[1,4]", spark.sparkContext.master
        print(spark.range(10).mapInArrow(lambda batches: batches, "id bigint").count())
        try:
            spark.sql("SELEC 1")
        except Exception as error:
            print(type(error).__name__)
        s.stop()
        print(java.poll() is not None, folder.exists())
        print(s.session("local[2]").range(7).count())
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, sessions.MASTER_VARIABLE: "local[1]", "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.stdout.split() == ["10", "ParseException", "True", "False", "7"]
    assert done.stderr == ""


@pytest.mark.spark
def test_a_start_that_fails_gives_the_reason_that_java_gave():
    program = """
        from kipviz.spark.sessions import session as s
        s.profile = lambda master, memory: {
            "spark.master": "local[1]",
            "spark.app.name": "x",
            "spark.driver.extraJavaOptions": "-Xss1k",
        }
        try:
            s.session()
        except s.SparkUnavailable as error:
            print(error)
        print(s._folder)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    sentence, folder = done.stdout.splitlines()
    assert sentence.startswith("Spark did not start on local[2]: ")
    assert "stack size specified is too small" in sentence
    assert folder == "None"
    assert done.stderr == ""
