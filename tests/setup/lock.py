"""`make lock`: every package that Binder and conda install, with the hashes of its files, and its licence.

The direct dependencies stand in pyproject.toml; what they need is resolved by uv for every system and every
Python from 3.11.9 on, in the versions that this environment has, which are those that the tests ran with. Python, Java
and pip themselves are conda's: environment.yml says why they have no hashes.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from email.message import Message
from email.parser import Parser
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[2]
LOCK, LICENCES = ROOT / "binder/lock.txt", ROOT / "docs/LICENCES.md"
HEAD = (
    "# Every package that Binder and conda install, with the hashes of its files. Made by `make lock`.\n"
    "# made {day} for the dependencies with SHA-256 {digest}\n"
)
PAPER = """# Licences of the packages that kipviz runs on

kipviz itself is under Apache-2.0 (`LICENSE`). These packages are installed beside it and are not part of it. The
versions are those of `binder/lock.txt`; each licence is what the package's own metadata says. `make lock` makes
both files.

| package | version | licence |
|---|---|---|
"""
_PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", re.MULTILINE)
_MADE = re.compile(r"^# made (\S+) for the dependencies with SHA-256 ([0-9a-f]{64})$", re.MULTILINE)


def list_pinned(text: str) -> dict[str, str]:
    """Return the version of each package of a lock."""
    return dict(_PINNED.findall(text))


def read_day(text: str) -> tuple[dt.date, str]:
    """Return the day on which a lock was made, and for which dependencies."""
    found = _MADE.search(text)
    assert found is not None, "the lock does not say when it was made"
    return dt.date.fromisoformat(found[1]), found[2]


# The parts of the package that Binder and conda install beside its core.
PARTS = ("notebook", "spark")


def direct() -> list[str]:
    """Return the requirements of the core and of the parts that Binder and conda install."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project.get("optional-dependencies", {})
    found = dict.fromkeys(project["dependencies"])
    for part in PARTS:
        found.update(dict.fromkeys(_of_part(part, extras)))
    return list(found)


def _of_part(part: str, extras: Mapping[str, list[str]]) -> Iterator[str]:
    """Return the requirements of a part; a part that it names stands for that one's."""
    for one in extras.get(part, []):
        if named := re.fullmatch(r"kipviz\[(\w+)\]", one):
            yield from _of_part(named[1], extras)
        else:
            yield one


def digest() -> str:
    """Return the digest of the direct dependencies."""
    wanted = direct()
    return hashlib.sha256("\n".join(sorted(wanted)).encode()).hexdigest()


def licence(about: Message) -> str:
    """Return what a package's metadata say of its licence, in a few words."""
    classifiers = [c for c in about.get_all("Classifier", []) if c.startswith("License ::")]
    said = about.get("License-Expression") or ", ".join(c.split(" :: ")[-1] for c in classifiers)
    words = said or (about.get("License") or "not said").strip().splitlines()[0]
    return words.replace("|", "/")


def licences(versions: dict[str, str], abouts: dict[str, Message]) -> str:
    """Return the paper of the licences of the packages of a lock."""
    rows = (
        f"| {name} | {versions[name]} | {licence(abouts[name])} |\n" for name in sorted(versions)
    )
    return PAPER + "".join(rows)


def list_installed(versions: dict[str, str]) -> dict[str, Message]:
    """Return the metadata of those packages that this environment has in the version of the lock."""
    found = {}
    for name, version in versions.items():
        try:
            about = metadata.metadata(name)
        except metadata.PackageNotFoundError:
            continue
        if about["Version"] == version:
            found[name] = about
    return found


def fetch_metadata(name: str, version: str) -> Message:
    """Return the metadata of a package of another system, from its wheel."""
    with tempfile.TemporaryDirectory() as folder:
        asked = [
            "--no-deps",
            "--only-binary=:all:",
            "--platform=win_amd64",
            "--python-version=3.11",
        ]
        _pip("download", "--quiet", *asked, f"--dest={folder}", f"{name}=={version}")
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as files:
            (place,) = (n for n in files.namelist() if n.endswith(".dist-info/METADATA"))
            return Parser().parsestr(files.read(place).decode())


def resolve_lock() -> str:
    """Return the lock as uv resolves it, without the name of any registry."""
    with tempfile.TemporaryDirectory() as folder:
        here, there = Path(folder, "here.txt"), Path(folder, "lock.txt")
        lines = _pip("freeze", "--exclude-editable").splitlines()
        here.write_text("\n".join(line for line in lines if "==" in line))
        asked = ["--universal", "--generate-hashes", "--python-version=3.11.9", "--quiet"]
        plain = ["--no-header", "--no-annotate", "--no-emit-index-url"]
        words = [*asked, *plain, f"--constraint={here}", f"--output-file={there}"]
        words += [*(f"--extra={part}" for part in PARTS), "pyproject.toml"]
        uv = [sys.executable, "-m", "uv", "pip", "compile", *words]
        subprocess.run(uv, cwd=ROOT, check=True)
        return there.read_text()


def _pip(*words: str) -> str:
    told = [sys.executable, "-m", "pip", "--disable-pip-version-check", *words]
    return subprocess.run(told, check=True, capture_output=True, text=True).stdout


def main() -> None:
    """Make the lock and the paper of the licences."""
    text = resolve_lock()
    versions = list_pinned(text)
    abouts = list_installed(versions)
    for name in versions.keys() - abouts.keys():
        abouts[name] = fetch_metadata(name, versions[name])
    day = dt.datetime.now(tz=dt.UTC).date()
    LOCK.write_text(HEAD.format(day=day, digest=digest()) + text)
    LICENCES.write_text(licences(versions, abouts))
    print(f"binder/lock.txt: {len(versions)} packages")


if __name__ == "__main__":
    main()
