"""The jars of Kafka's Java client in .venv, and the program of the tests compiled against them.

`python -m tests.serving.kafka_jars` fetches the jars with Maven; `.ci/set-up test` does it. Where Maven or a JDK is
missing, a developer's machine goes without this client, and CI does not.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent / "clients"
FOLDER = Path(sys.prefix) / "share" / "kipviz-kafka-clients"
NAMED = "KIPVIZ_KAFKA_JARS"
SHA256 = {
    "kafka-clients-4.4.0.jar": "1ab07317eb6633241392449d329dbdc5d9251e6ffc4926860f42dd966e88bdf9",
    "slf4j-api-1.7.36.jar": "d3ef575e3e4979678dc01bf1dcce51021493b4d11fb7f1be8ad982877c16a1c0",
}
FETCH = "python -m tests.serving.kafka_jars"
MINUTES = 5


class NoClient(RuntimeError):
    """Kafka's Java client is not here; the message is one sentence."""


def wrong_jars(folder: Path) -> list[str]:
    """Return the names of those jars that a folder lacks, or has with another SHA-256."""
    return [name for name, known in SHA256.items() if _sum_of(folder / name) != known]


def _sum_of(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""


def jars() -> Path:
    """Return the folder of jars: the one that KIPVIZ_KAFKA_JARS names, or the one that was fetched.

    Raises:
        NoClient: if there is none, or what was fetched has changed.
    """
    if named := os.environ.get(NAMED):
        return Path(named)
    if wrong := wrong_jars(FOLDER):
        raise NoClient(
            f"Kafka's Java client is not here ({', '.join(wrong)}): '{FETCH}' fetches it with Maven; "
            f"or name a folder with the jars in {NAMED}"
        )
    return FOLDER


def command(source: Path = HERE / "KafkaClient.java") -> list[str]:
    """Return how a program of the Java client is started; it is compiled once for each of its versions.

    Raises:
        NoClient: if the jars are not here, or no JDK 17.
    """
    libraries = jars()
    for program in ("java", "javac"):
        if shutil.which(program) is None:
            raise NoClient(f"Kafka's Java client needs a JDK 17, and there is no {program} here")
    names = sorted(each.name for each in libraries.glob("*.jar"))
    version = hashlib.sha256(source.read_bytes() + "\n".join(names).encode()).hexdigest()[:16]
    classes = FOLDER / f"classes-{source.stem}-{version}"
    if not classes.is_dir():
        _compile(source, libraries, classes)
    # It starts once for some dozens of calls: what a long run would win by optimizing, it never gets back.
    quick = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m")
    return ["java", *quick, "-cp", f"{classes}{os.pathsep}{libraries}/*", source.stem]


def _compile(source: Path, libraries: Path, classes: Path) -> None:
    """Compile aside and move, so that two processes of tests do not read half of it.

    Raises:
        NoClient: if javac does not take it.
    """
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER) as aside:
        made = Path(aside, "classes")
        asked = [
            "javac",
            "--release=17",
            "-proc:none",
            "-Xlint:-removal",
            "-cp",
            f"{libraries}/*",
            "-d",
            str(made),
            str(source),
        ]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        if done.returncode:
            why = next(iter(done.stderr.splitlines()), "it says nothing")
            raise NoClient(f"javac does not compile the program of Kafka's Java client: {why}")
        for old in FOLDER.glob(f"classes-{source.stem}-*"):
            shutil.rmtree(old, ignore_errors=True)
        if not classes.is_dir():
            made.rename(classes)


def fetch() -> None:
    """Put the jars into .venv, unless they are there.

    Raises:
        NoClient: if Maven is not here, cannot reach an index of artifacts, or brings other files.
    """
    if not wrong_jars(FOLDER):
        return
    maven = shutil.which("mvn")
    if maven is None:
        raise NoClient("there is no mvn here, which fetches the jars of Kafka's Java client")
    asked = ["-q", "-B", "-f", str(HERE / "pom.xml"), "dependency:copy-dependencies"]
    with tempfile.TemporaryDirectory() as aside:
        done = subprocess.run(
            [maven, *asked, f"-DoutputDirectory={aside}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60 * MINUTES,
            check=False,
        )
        if done.returncode:
            why = next((x for x in done.stdout.splitlines() if "[ERROR]" in x), "it says nothing")
            raise NoClient(f"Maven brings no jars of Kafka's Java client: {why}")
        if wrong := wrong_jars(Path(aside)):
            raise NoClient(f"Maven brings another {' and another '.join(wrong)} than was tested")
        FOLDER.mkdir(parents=True, exist_ok=True)
        for name in SHA256:
            shutil.copy(Path(aside, name), FOLDER)


def main() -> int:
    """Fetch the jars; only CI, or a Maven that fails, makes it an error that they are not here."""
    try:
        fetch()
    except (NoClient, subprocess.TimeoutExpired) as why:
        without = shutil.which("mvn") is None and not os.environ.get("CI")
        then = "; the tests with this client are skipped" if without else ""
        print(f"kipviz: {why}{then}.", file=sys.stderr)
        return 0 if without else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
