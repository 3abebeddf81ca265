"""The commands of the Makefile and of CI."""

import os
import re
import shutil
import socket
import subprocess
import sys
import textwrap
import time
import urllib.request
from pathlib import Path

import pytest

from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]
CLEAN = {
    k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS", "JUPYTER", "JPY_"))
}


@pytest.fixture
def checkout(tmp_path):
    """A copy of the commands whose environment only repeats what it is asked."""
    for name in (".ci", "notebooks"):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tmp_path / name)
    (tmp_path / "tests/serving").mkdir(parents=True)
    for name in ("Makefile", "pyproject.toml", "tests/serving/kafka_jars.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    script(tmp_path / ".venv/bin/python", 'for each do echo "$each"; done')
    front = tmp_path / "kipviz/widgets/front"
    front.mkdir(parents=True)
    (front / "package-lock.json").touch()
    for name in ("ruff", "mypy", "lint-imports", "npm"):
        script(tmp_path / ".venv/bin" / name, f'echo "{name} $*"')
    state = subprocess.run(
        ["sh", "-c", 'echo "$(cat pyproject.toml tests/serving/kafka_jars.py | cksum) $(pwd)"'],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for purpose in ("run", "test"):
        (tmp_path / f".venv/kipviz-{purpose}.stamp").write_text(state)
    return tmp_path


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + textwrap.dedent(text) + "\n")
    path.chmod(0o755)


def run(checkout, *command, path=None, **variables):
    search = {"PATH": f"{path}{os.pathsep}{os.environ['PATH']}"} if path else {}
    return subprocess.run(
        command,
        cwd=checkout,
        env=CLEAN | search | variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def test_make_alone_names_every_command(checkout):
    done = run(checkout, "make")
    named = set(re.findall(r"^make (\w+)", done.stdout, re.MULTILINE))
    assert named == {
        "lab",
        "test",
        "check",
        "coverage",
        "lock",
        "mutants",
        "thorough",
        "fuzz",
        "interrupt",
        "soak",
        "site",
        "format",
        "notebooks",
        "front",
        "bench",
    }


def test_an_unknown_command_is_one_sentence(checkout):
    done = run(checkout, "make", "testing")
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == (
        "kipviz: there is no target 'testing'; 'make help' names those there are."
    )


def test_make_test_runs_every_check_and_pytest_last(checkout):
    done = run(checkout, "make", "test")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:4] == ["ruff format --check .", "ruff check .", "mypy ", "lint-imports "]
    assert lines[4:6] == ["npm ci --silent", "npm run --silent check"]
    assert lines[6:9] == ["-m", "pytest", "--numprocesses=2"]
    assert "tests" in lines


def test_make_test_compares_every_notebook(checkout):
    (checkout / "notebooks").mkdir(exist_ok=True)
    (checkout / "notebooks" / "99-last.ipynb").touch()
    assert "notebooks/99-last.ipynb" in run(checkout, "make", "test").stdout.splitlines()


def test_a_failing_check_stops_make_test(checkout):
    script(checkout / ".venv/bin/mypy", "echo wrong; exit 1")
    done = run(checkout, "make", "test")
    assert done.returncode == 2
    assert done.stdout.splitlines()[-1] == "wrong"


def test_make_check_leaves_out_what_is_slow(checkout):
    lines = run(checkout, "make", "check").stdout.splitlines()
    assert "not spark and not browser and not slow" in lines
    assert "--nbval" not in lines


def test_make_lab_stays_on_this_machine_and_opens_the_first_notebook(checkout):
    (checkout / "notebooks").mkdir(exist_ok=True)
    (checkout / "notebooks" / "00-start-here.ipynb").touch()
    lines = run(checkout, "make", "lab").stdout.splitlines()
    assert "--ServerApp.ip=127.0.0.1" in lines
    assert "--LabApp.default_url=/lab/tree/notebooks/00-start-here.ipynb" in lines


@pytest.mark.parametrize(("user", "allowed"), [(0, True), (1000, False)])
def test_only_root_is_allowed_to_be_root(checkout, user, allowed):
    script(checkout / "tools/id", f"echo {user}")
    lines = run(checkout, "make", "lab", path=checkout / "tools").stdout.splitlines()
    assert ("--allow-root" in lines) is allowed


def test_without_a_screen_the_address_is_printed_instead(checkout):
    script(checkout / "tools/uname", "echo Linux")
    dark = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "WSL_DISTRO_NAME": "", "BROWSER": ""}
    done = run(checkout, "make", "lab", path=checkout / "tools", **dark)
    assert "--no-browser" in done.stdout.splitlines()
    assert "open the address below" in done.stderr
    lit = run(checkout, "make", "lab", path=checkout / "tools", **(dark | {"DISPLAY": ":0"}))
    assert "--no-browser" not in lit.stdout.splitlines()


def test_make_notebooks_without_notebooks_is_no_failure(checkout):
    shutil.rmtree(checkout / "notebooks", ignore_errors=True)
    assert run(checkout, "make", "notebooks").stdout.splitlines() == [
        "tests/notebooks/canonical.py"
    ]


def test_make_notebooks_formats_and_runs_them_all(checkout):
    (checkout / "notebooks").mkdir(exist_ok=True)
    (checkout / "notebooks" / "99-last.ipynb").touch()
    lines = run(checkout, "make", "notebooks").stdout.splitlines()
    assert lines[0].startswith("ruff format --quiet notebooks/")
    assert lines[1] == "tests/notebooks/canonical.py"
    assert "notebooks/99-last.ipynb" in lines


def test_make_bench_runs_each_bench(checkout):
    assert "nothing to measure" in run(checkout, "make", "bench").stdout
    script(checkout / "tests/bench/b.py", "")
    script(checkout / "tests/bench/a.py", "")
    lines = run(checkout, "make", "bench").stdout.splitlines()
    assert [line for line in lines if not line.startswith("==")] == [
        "tests/bench/a.py",
        "tests/bench/b.py",
    ]


def only(tools, *names):
    """A PATH on which only these of the machine's programs are found."""
    tools.mkdir(exist_ok=True)
    for name in names:
        (tools / name).symlink_to(shutil.which(name))
    return str(tools)


@pytest.mark.parametrize("present", [True, False])
def test_ci_installs_chromium_where_it_is_missing_and_then_tests(checkout, present):
    tools = only(checkout / "tools", "bash", "dirname")
    script(checkout / "tools/apt-get", f'echo "apt-get $*" >>"{checkout}/calls"')
    script(checkout / "tools/make", f'echo "make $* CI=$CI" >>"{checkout}/calls"')
    if present:
        script(checkout / "tools/chromium", "")
    done = run(checkout, shutil.which("bash"), ".ci/run", PATH=tools)
    assert done.returncode == 0, done.stderr
    calls = (checkout / "calls").read_text().splitlines()
    assert calls[-1] == "make test CI=true"
    assert any("apt-get install" in call and "chromium" in call for call in calls) is not present


def test_ci_fails_when_the_tests_fail(checkout):
    tools = only(checkout / "tools", "bash", "dirname")
    script(checkout / "tools/chromium", "")
    script(checkout / "tools/make", "exit 2")
    assert run(checkout, shutil.which("bash"), ".ci/run", PATH=tools).returncode == 2


@pytest.mark.slow
def test_only_ci_insists_on_a_browser(tmp_path):
    (tmp_path / "tests").mkdir()
    shutil.copytree(ROOT / "tests/browser", tmp_path / "tests/browser")
    for name in ("tests/conftest.py", "tests/patience.py", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "tests/browser/test_harness.py",
    ]
    bare = {k: v for k, v in CLEAN.items() if k not in {"CI", "KIPVIZ_CHROMIUM"}} | {
        "PATH": "/nowhere"
    }
    at_home = subprocess.run(
        command, cwd=tmp_path, env=bare, capture_output=True, text=True, check=False
    )
    assert at_home.returncode == 0, at_home.stdout
    assert " skipped" in at_home.stdout
    assert " passed" not in at_home.stdout
    assert "no Chromium here: install Debian's chromium" in at_home.stdout
    on_ci = subprocess.run(
        [*command, "-k", "opened_as_a_file"],
        cwd=tmp_path,
        env=bare | {"CI": "true"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert on_ci.returncode == 1
    assert "the browser tests need Chromium" in on_ci.stdout


@pytest.mark.slow
def test_jupyterlab_answers_on_this_machine_only(checkout):
    script(checkout / ".venv/bin/python", f"exec '{sys.executable}' \"$@\"")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = ["make", "lab", f"ARGS=--no-browser --ServerApp.port={port}"]
    own = CLEAN | {
        "JUPYTER_RUNTIME_DIR": str(checkout / "runtime"),
        "IPYTHONDIR": str(checkout / "i"),
    }
    with (checkout / "log").open("w+") as log:
        server = subprocess.Popen(
            command, cwd=checkout, env=own, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True,
        )  # fmt: skip
        try:
            address = wait_for_address(checkout / "log", server)
            wait_for_answer(address.replace("/lab", "/api/status", 1))
            listening = listeners(port)
        finally:
            os.killpg(server.pid, 15)
            server.wait(PATIENCE)
    assert address.startswith(f"http://127.0.0.1:{port}/lab")
    assert listening == {"0100007F"}


def wait_for_address(log, server):
    """The address as a person finds it: printed, with its token."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and server.poll() is None:
        found = re.search(r"http://127\.0\.0\.1:\d+/lab\S*\?token=\w+", log.read_text())
        if found:
            return found[0].replace("/lab/tree/notebooks/00-start-here.ipynb", "/lab")
        time.sleep(0.05)
    raise AssertionError(f"no address was printed:\n{log.read_text()}")


def wait_for_answer(address):
    """The server prints its address a moment before it listens."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            with urllib.request.urlopen(address, timeout=5) as answer:
                assert answer.status == 200
                return
        except OSError:
            assert time.monotonic() < deadline, "nothing answers at the printed address"
            time.sleep(0.05)


def listeners(port):
    """The addresses, as Linux writes them, on which something listens at this port."""
    rows = [
        line.split()
        for table in ("tcp", "tcp6")
        for line in Path("/proc/net", table).read_text().splitlines()[1:]
    ]
    return {
        row[1].split(":")[0]
        for row in rows
        if row[3] == "0A" and int(row[1].split(":")[1], 16) == port
    }
