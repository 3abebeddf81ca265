"""Record at three real brokers what each client does with each program: `tests/serving/clients/recorded/`.

    python -m tests.serving.record_programs LIBS [CLIENT ...]

LIBS is the folder of jars of a Kafka release; `mvn dependency:copy-dependencies` in `tests/recordings/recorder` makes
one. The brokers and the proxy listen on loopback, and end with the command. A program that is stored already, with these
versions, is not run again; without the files it takes about eight minutes.
"""

from __future__ import annotations

import json
import signal
import sys
import tempfile
import time
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

from kipviz.conforming.real_cluster import release_of
from tests.serving import kafka_jars
from tests.serving.client_programs import Clients
from tests.serving.program_runs import Seen, run_calls, see
from tests.serving.program_table import CLIENTS, JAVA, PYTHON, C, Program, programs_of
from tests.serving.real_brokers import RealBrokers

FOLDER = Path(__file__).parent / "clients" / "recorded"
HOW = "python -m tests.serving.record_programs LIBS"
# What a client sends by itself after its last call has returned comes within this time.
QUIET_S = 1.0


def version_of(client: str) -> str:
    """Return the version of a client that is installed here."""
    if client == PYTHON:
        return f"kafka-python {metadata.version('kafka-python')}"
    if client == C:
        return f"confluent-kafka {metadata.version('confluent-kafka')}"
    assert client == JAVA
    return next(name.removesuffix(".jar") for name in kafka_jars.SHA256 if "clients" in name)


def file_of(client: str) -> Path:
    """Return the file with what a client did."""
    return FOLDER / f"{client}.json"


def read_runs(client: str) -> dict[str, Any]:
    """Return what is stored of a client."""
    return dict(json.loads(file_of(client).read_text(encoding="utf-8")))


def record(program: Program, clients: Clients, brokers: RealBrokers) -> Seen:
    """Run a program at the real brokers."""
    brokers.begin()
    calls = run_calls(program, clients, brokers, lambda: time.sleep(QUIET_S))
    exchanges = brokers.proxy.take()
    time.sleep(QUIET_S)  # the last transaction's markers
    return see(program, calls, exchanges, brokers)


def keep_runs(client: str, made: dict[str, str]) -> dict[str, Any]:
    """Return the stored runs of programs that have not changed since; none if a version has."""
    if not file_of(client).exists():
        return {}
    stored = read_runs(client)
    steps = {program.name: program.steps for program in programs_of(client)}
    same = all(stored[name] == value for name, value in made.items())
    runs = stored["programs"].items() if same else ()
    return {name: run for name, run in runs if run["steps"] == steps.get(name)}


def record_client(client: str, made: dict[str, str], brokers: RealBrokers) -> None:
    """Record the programs of a client that are not stored, and write its file."""
    found = keep_runs(client, made)
    clients = Clients(client)
    for program in programs_of(client):
        if program.name not in found:
            print(client, program.name, flush=True)
            seen = record(program, clients, brokers)
            found[program.name] = {"steps": program.steps, **asdict(seen)}
    clients.end()
    in_order = {program.name: found[program.name] for program in programs_of(client)}
    text = json.dumps({**made, "programs": in_order}, indent=1, ensure_ascii=False)
    FOLDER.mkdir(exist_ok=True)
    file_of(client).write_text(text + "\n", encoding="utf-8")


def main(jars: str, *wanted: str) -> None:
    """Record and write the files; however the command is ended, it ends its brokers."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(1))
    libraries = Path(jars)
    kafka = release_of(libraries)
    with tempfile.TemporaryDirectory() as home:
        brokers = RealBrokers(libraries, Path(home))
        try:
            for client in wanted or CLIENTS:
                made = {"made by": HOW, "brokers": f"Kafka {kafka}", "client": version_of(client)}
                record_client(client, made, brokers)
        finally:
            brokers.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
