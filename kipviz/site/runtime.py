"""The runtime of the model in a browser: Pyodide from npm, msgspec from PyPI, and kipviz as a zip file.

The versions and the hashes are in `runtime.json`. Nothing that is fetched is part of the project.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parents[1]
LOCK = Path(__file__).with_name("runtime.json")
# The files that Pyodide reads when a module worker loads it.
FILES = (
    "pyodide.mjs",
    "pyodide.asm.mjs",
    "pyodide.asm.wasm",
    "python_stdlib.zip",
    "pyodide-lock.json",
)
# Floors that need Spark, a shell, sockets or real logs are left out in a browser.
LEFT_OUT = ("command", "recordings", "serving", "spark")
# Without the time of creation a zip file has the same bytes everywhere.
EPOCH = (1980, 1, 1, 0, 0, 0)


class FetchError(RuntimeError):
    """A package could not be fetched, or differs from the lock; the message is one sentence."""


def fetch(into: Path) -> Path:
    """Return the folder with Pyodide's files and msgspec's wheel; fetch missing files.

    Raises:
        FetchError: if a registry cannot be reached, or a file has another hash.
    """
    lock = json.loads(LOCK.read_text(encoding="utf-8"))
    done = into / hashlib.sha256(LOCK.read_bytes()).hexdigest()[:16]
    if done.is_dir():
        return done
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=into) as folder:
        made, there = Path(folder, "made"), Path(folder, "fetched")
        made.mkdir()
        there.mkdir()
        for asked in lock["npm"]:
            _run(["npm", "pack", "--silent", "--pack-destination", str(there), asked["package"]])
            (archive,) = there.glob("*.tgz")
            _check(archive, asked)
            with tarfile.open(archive) as files:
                for name in FILES:
                    member = files.extractfile(f"package/{name}")
                    if member is None:
                        raise FetchError(f"{asked['package']} has no file {name}")
                    (made / name).write_bytes(member.read())
        wheel = lock["wheel"]
        words = [
            "--no-deps",
            "--only-binary=:all:",
            f"--platform={wheel['platform']}",
            f"--python-version={wheel['python']}",
            "--implementation=cp",
            f"--abi={wheel['abi']}",
            f"--dest={made}",
        ]
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet"]
        _run([*pip, *words, wheel["package"]])
        (file,) = made.glob("*.whl")
        _check(file, wheel)
        _put(made, done)
    return done


def fetch_wheels(listed: Path, into: Path) -> Path:
    """Return the folder with the wheels that a file lists; fetch missing wheels.

    Raises:
        FetchError: if the registry cannot be reached, or a file has another hash.
    """
    done = into / hashlib.sha256(listed.read_bytes()).hexdigest()[:16]
    if done.is_dir():
        return done
    asked = {each["package"]: each for each in json.loads(listed.read_text(encoding="utf-8"))}
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=into) as folder:
        made = Path(folder, "made")
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet"]
        where = ["--no-deps", "--only-binary=:all:", "--platform=any", "--python-version=3.14"]
        _run([*pip, *where, f"--dest={made}", *asked])
        for file in made.iterdir():
            name, version = file.name.split("-")[:2]
            _check(file, asked[f"{name.replace('_', '-')}=={version}"], listed)
        _put(made, done)
    return done


def _put(made: Path, done: Path) -> None:
    """Move a finished folder to its place; an existing one stays, because its files have the same hashes."""
    try:
        made.rename(done)
    except OSError:
        if not done.is_dir():
            raise


def _run(words: list[str]) -> None:
    try:
        subprocess.run(words, check=True, capture_output=True, text=True)
    except FileNotFoundError:
        raise FetchError(f"{words[0]} is not installed; `make site` installs it") from None
    except subprocess.CalledProcessError as wrong:
        last = (wrong.stderr.strip().splitlines() or ["no reason was given"])[-1]
        raise FetchError(f"{words[-1]} could not be fetched: {last}") from None


def _check(file: Path, asked: dict[str, Any], listed: Path = LOCK) -> None:
    found = hashlib.sha256(file.read_bytes()).hexdigest()
    if found != asked["sha256"]:
        raise FetchError(
            f"{asked['package']} has the SHA-256 {found}, and {listed.name} says {asked['sha256']}"
        )


def sources(left_out: Sequence[str] = LEFT_OUT) -> Iterator[Path]:
    """Yield the files of the package that a browser needs, without some of its folders."""
    for folder, folders, names in os.walk(PACKAGE):
        at = Path(folder)
        folders.sort()
        if at == PACKAGE:
            folders[:] = [name for name in folders if name not in left_out]
        folders[:] = [
            n for n in folders if n not in ("__pycache__", "front", "assets", "node_modules")
        ]
        yield from (at / name for name in sorted(names) if not name.endswith((".pyc", ".typed")))


def package(into: Path) -> None:
    """Write kipviz as a zip file, the same bytes on every machine."""
    with zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for file in sources():
            name = file.relative_to(PACKAGE.parent).as_posix()
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, file.read_bytes())


def lay_out(fetched: Path, into: Path) -> None:
    """Copy the fetched files and the package into the site."""
    into.mkdir(parents=True, exist_ok=True)
    for file in sorted(fetched.iterdir()):
        shutil.copyfile(file, into / file.name)
    (wheel,) = into.glob("*.whl")
    package(into / "kipviz.zip")
    # Pyodide looks packages up in this list; the site has no others.
    lock = json.loads((into / "pyodide-lock.json").read_text(encoding="utf-8"))
    (into / "pyodide-lock.json").write_text(json.dumps({**lock, "packages": {}}), encoding="utf-8")
    (into / "names.json").write_text(json.dumps({"wheel": wheel.name}), encoding="utf-8")
