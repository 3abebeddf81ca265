"""`pip install .`: msgspec is all that the core asks for, and stories, searches and links run on it."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def core(tmp_path_factory) -> Path:
    """A new environment with kipviz's wheel and msgspec, and nothing besides; no registry is asked."""
    folder = tmp_path_factory.mktemp("core")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("kipviz-*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    python = folder / "venv/bin/python"
    asked = ["--no-deps", "--no-index", "--disable-pip-version-check", "--quiet", str(wheel)]
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(python), "install", *asked], check=True
    )
    (packages,) = (folder / "venv/lib").glob("python*/site-packages")
    for file in metadata.distribution("msgspec").files or []:
        place = packages / file
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(Path(file.locate()).read_bytes())
    return folder


def run(core: Path, *words: str, status: int = 0) -> str:
    """Run a program of the new environment, away from the project's folder; return what it prints."""
    program = core / "venv/bin" / words[0]
    done = subprocess.run(
        [program, *words[1:]], cwd=core, capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stderr
    return done.stdout + done.stderr


def test_msgspec_is_all_that_the_core_asks_for(core):
    asked = [sys.executable, "-m", "pip", "--python", str(core / "venv/bin/python"), "check"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "No broken requirements found.", done.stdout
    (wheel,) = core.glob("kipviz-*.whl")
    with zipfile.ZipFile(wheel) as files:
        (about,) = (name for name in files.namelist() if name.endswith(".dist-info/METADATA"))
        lines = files.read(about).decode().splitlines()
    needs = [line for line in lines if line.startswith("Requires-Dist:")]
    always = [line for line in needs if "extra ==" not in line]
    assert [line.split()[1].partition("<")[0] for line in always] == ["msgspec"]
    # A notebook and Spark have the regular expressions with them.
    for part in ("notebook", "spark"):
        of_part = [line for line in needs if line.endswith(f"extra == '{part}'")]
        assert any(line.startswith("Requires-Dist: google-re2<") for line in of_part), part


def test_a_story_a_search_and_a_link_run_on_the_core(core):
    assert "✓ atomic holds" in run(core, "kipviz", "play", "kip-1289-group-commit")
    searched = run(core, "kipviz", "explore", "kip-1289-small", "--design", "as-written", status=1)
    assert "atomic" in searched
    page = core / "page.html"
    run(core, "kipviz", "open", "kip-1289-group-commit", "--to", str(page), "--no-browser")
    assert page.stat().st_size > 100_000
    link = run(
        core,
        "python",
        "-c",
        "from kipviz.checking.single_run import runs\n"
        "from kipviz.checking.single_run.permalink import permalink\n"
        "print(permalink(runs.play('kip-98-zombie')))",
    ).strip()
    assert run(core, "kipviz", "play", link) == run(core, "kipviz", "play", "kip-98-zombie")


def test_only_a_clients_regular_expression_asks_for_more_and_says_what(core):
    assert run(core, "kipviz", "play", "kip-848-regex", status=2) == (
        "kipviz: a client's regular expression needs the package google-re2, which is not installed; "
        "install it with: pip install 'kipviz[regex]'\n"
    )
