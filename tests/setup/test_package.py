"""The project file: its floors, its lint, what the package holds, what Binder gets."""

import datetime as dt
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.patience import PATIENCE
from tests.setup import lock

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
ENVIRONMENT = yaml.safe_load((ROOT / "environment.yml").read_text())
FLOORS = [
    "core", "clauses", "messages", "records", "brokers", "clients", "cluster", "designs",
    "properties", "scenarios", "checking", "views", "recordings", "widgets", "spark", "command",
]  # fmt: skip


def program(name):
    return str(Path(sys.executable).parent / name)


def requirements(lines):
    return {canonicalize_name(each.name): each for each in map(Requirement, lines)}


# --- Binder and conda ---------------------------------------------------------------------------


def test_conda_and_binder_install_the_same_lock():
    for place, name in (
        ("environment.yml", "binder/lock.txt"),
        ("binder/environment.yml", "lock.txt"),
    ):
        said = yaml.safe_load((ROOT / place).read_text())
        assert said["dependencies"][:-1] == ENVIRONMENT["dependencies"][:-1]
        # pip is started in the folder of the file, so the name is seen from there.
        assert said["dependencies"][-1] == {"pip": [f"--requirement {name}"]}
        assert ((ROOT / place).parent / name).samefile(lock.LOCK)


def test_binder_has_no_other_files_that_it_would_obey():
    assert sorted(path.name for path in (ROOT / "binder").iterdir()) == [
        "environment.yml",
        "lock.txt",
        "postBuild",
    ]


def test_conda_brings_python_and_java_only():
    conda = {
        name: version
        for name, _, version in (
            each.partition("=") for each in ENVIRONMENT["dependencies"] if isinstance(each, str)
        )
    }
    assert set(conda) == {"python", "openjdk", "pip"}
    assert conda["openjdk"] in {"17", "21"}
    assert Requirement(f"python{PROJECT['project']['requires-python']}").specifier.contains(
        conda["python"]
    )


def test_the_lock_has_every_dependency_and_all_that_they_need_in_one_exact_version_with_hashes():
    text = lock.LOCK.read_text()
    versions = lock.list_pinned(text)
    wanted = requirements(lock.direct())
    for name, requirement in wanted.items():
        assert requirement.specifier.contains(versions[name]), name
    # All that an installed package needs on this system is locked, too.
    for name, about in lock.list_installed(versions).items():
        for need in map(Requirement, about.get_all("Requires-Dist", [])):
            if need.marker is None or need.marker.evaluate({"extra": ""}):
                assert canonicalize_name(need.name) in versions, f"{name} needs {need}"
    pins = re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE)[1:]
    assert len(pins) == len(versions) > 90
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}", pin) for pin in pins)
    assert "://" not in text


def test_the_lock_is_of_these_dependencies_and_not_old():
    day, digest = lock.read_day(lock.LOCK.read_text())
    assert digest == lock.digest(), "pyproject.toml has changed since: run `make lock`"
    age = dt.datetime.now(tz=dt.UTC).date() - day
    assert age.days <= 365, "the lock is older than a year: run `make lock`"


def test_a_part_that_another_one_names_is_locked_once():
    extras = PROJECT["project"]["optional-dependencies"]
    assert "kipviz[regex]" in extras["notebook"]
    assert "kipviz[regex]" in extras["spark"]
    lines = lock.direct()
    assert [line for line in lines if line.startswith("google-re2")] == extras["regex"]
    assert len(lines) == len(set(lines))
    assert not [line for line in lines if line.startswith("kipviz")]


def test_a_lock_of_other_dependencies_is_noticed(monkeypatch):
    before = lock.digest()
    monkeypatch.setattr(lock.tomllib, "loads", lambda _: {"project": {"dependencies": ["a"]}})
    assert lock.digest() != before


def test_the_licence_of_every_package_of_the_lock_is_listed():
    versions = lock.list_pinned(lock.LOCK.read_text())
    paper = lock.LICENCES.read_text()
    rows = [line.strip("| ").split(" | ") for line in paper.splitlines() if line.startswith("| ")]
    listed = {name: (version, licence) for name, version, licence in rows[1:]}
    assert {name: version for name, (version, _) in listed.items()} == versions
    for name, about in lock.list_installed(versions).items():
        assert listed[name][1] == lock.licence(about), f"{name}: run `make lock`"
    assert all(licence not in {"", "not said", "UNKNOWN"} for _, licence in listed.values())


def test_binder_installs_the_package_without_its_dependencies():
    script = (ROOT / "binder/postBuild").read_text()
    assert script.startswith("#!/bin/bash\n")
    assert re.search(r"^python -m pip install .*--no-deps .*--editable \.$", script, re.MULTILINE)
    assert (ROOT / "binder/postBuild").stat().st_mode & 0o111


def test_binder_would_build_an_image_from_this_folder(tmp_path):
    # Everything but the build itself, which needs Docker: the Dockerfile that would be built.
    for name in ("binder", "environment.yml", "pyproject.toml"):
        (tmp_path / name).symlink_to(ROOT / name)
    done = subprocess.run(
        [program("jupyter-repo2docker"), "--no-build", "--debug", "."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    dockerfile = done.stdout + done.stderr
    assert 'env update -p ${NB_PYTHON_PREFIX} --file "binder/environment.yml"' in dockerfile
    assert "RUN ./binder/postBuild" in dockerfile
    assert "environment-2epy-2d3-2e11" in dockerfile  # Python 3.11, not repo2docker's own default


# --- the package --------------------------------------------------------------------------------


def test_every_dependency_says_why_it_is_there():
    text = (ROOT / "pyproject.toml").read_text()
    listed = re.findall(r'^  "[A-Za-z][^"]*[<>=\]][^"]*",(.*)$', text, re.MULTILINE)
    extras = PROJECT["project"]["optional-dependencies"]
    assert len(listed) == len(PROJECT["project"]["dependencies"]) + sum(map(len, extras.values()))
    assert all(re.match(r" +# \S+ \S+", reason) for reason in listed)


@pytest.mark.skipif(
    not (ROOT / ".git").exists(), reason="only git knows what belongs to the project"
)
def test_the_built_package_holds_every_file_of_the_project(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("kipviz-*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    listing = subprocess.run(
        ["git", "ls-files", "kipviz"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    tracked = {name for name in listing.stdout.splitlines() if (ROOT / name).exists()}
    assert "kipviz/spark/sessions/java.py" in tracked
    assert tracked - held == set()


# --- lint ---------------------------------------------------------------------------------------


def test_every_ignored_rule_has_a_reason():
    text = (ROOT / "pyproject.toml").read_text()
    lint = text[text.index("[tool.ruff.lint]") : text.index("[tool.ruff.lint.pydocstyle]")]
    rules = [line for line in lint.splitlines() if re.match(r'\s+"[A-Z]+\d*",', line)]
    assert len(rules) > 30
    assert [line for line in rules if not re.search(r'", +# \w', line)] == []


@pytest.mark.parametrize(
    ("place", "refused"),
    [("core/x.py", True), ("brokers/x.py", True), ("spark/x.py", False), ("widgets/x.py", False)],
)
@pytest.mark.parametrize(
    "code",
    [
        "import time\n\nx = time.time()\n",
        "import datetime\n\nx = datetime.datetime.now(tz=datetime.UTC)\n",
        "import uuid\n\nx = uuid.uuid4()\n",
    ],
)
def test_time_is_in_the_world(place, refused, code):
    done = subprocess.run(
        [program("ruff"), "check", "--select=TID251", f"--stdin-filename=kipviz/{place}", "-"],
        cwd=ROOT,
        input=code,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ("time is in the world" in done.stdout) is refused


# --- floors -------------------------------------------------------------------------------------


@pytest.fixture
def floors(tmp_path):
    """A house with all floors and nothing in them, under the project's own contracts."""
    config = (ROOT / "pyproject.toml").read_text()
    (tmp_path / "pyproject.toml").write_text(config[config.index("[tool.importlinter]") :])
    for floor in ("", *FLOORS):
        folder = tmp_path / "kipviz" / floor
        folder.mkdir()
        (folder / "__init__.py").touch()
    return tmp_path


def find_broken(floors):
    done = subprocess.run(
        [program("lint-imports"), "--no-cache", "--no-logo"],
        cwd=floors,
        env={"PYTHONPATH": str(floors), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Contracts" in done.stdout, done.stdout + done.stderr
    return re.findall(r"^(.+) BROKEN$", done.stdout, re.MULTILINE)


ORDER = "A floor imports only what lies below it"


@pytest.mark.parametrize(
    ("where", "statement", "contract"),
    [
        ("core", "import kipviz.messages", ORDER),
        ("messages", "import kipviz.brokers", ORDER),
        ("brokers", "import kipviz.clients", ORDER),
        ("clients", "import kipviz.brokers", ORDER),
        ("checking", "import kipviz.views", ORDER),
        ("widgets", "import kipviz.spark", ORDER),
        ("views", "import ipywidgets", "Only widgets draw"),
        ("spark", "import plotly.graph_objects", "Only widgets draw"),
        ("command", "import anywidget", "Only widgets draw"),
        ("checking", "import pyspark.sql", "Only spark knows Spark"),
        ("widgets", "import pandas", "Only spark knows Spark"),
        ("cluster", "import time", "Clock, dice, network and threads are at the top only"),
        ("core", "import random", "Clock, dice, network and threads are at the top only"),
        ("views", "import threading", "Clock, dice, network and threads are at the top only"),
        ("recordings", "import socket", "Clock, dice, network and threads are at the top only"),
    ],
)
def test_a_floor_that_reaches_for_what_is_not_its_own_is_named(floors, where, statement, contract):
    (floors / "kipviz" / where / "new.py").write_text(statement + "\n")
    assert find_broken(floors) == [contract]


def test_each_floor_may_use_what_is_its_own(floors):
    own = {
        "widgets": "import ipywidgets, anywidget, plotly, time\nimport kipviz.views, kipviz.checking",
        "spark": "import pyspark, pandas, time, threading\nimport kipviz.checking",
        "command": "import time\nimport kipviz.widgets, kipviz.spark, kipviz.core",
        "properties": "import kipviz.designs",
        "brokers": "import kipviz.messages, kipviz.records, kipviz.clauses, kipviz.core",
    }
    for where, statements in own.items():
        module = floors / "kipviz" / where / "new" / "inner.py"
        module.parent.mkdir()
        (module.parent / "__init__.py").touch()
        module.write_text(statements + "\n")
    assert find_broken(floors) == []


def test_a_floor_may_still_be_missing_but_none_may_come_without_a_place(floors):
    (floors / "kipviz" / "recordings" / "__init__.py").unlink()
    (floors / "kipviz" / "recordings").rmdir()
    assert find_broken(floors) == []
    (floors / "kipviz" / "utils.py").touch()
    assert find_broken(floors) == [ORDER]
