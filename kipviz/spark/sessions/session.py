"""The one place that starts, finds and stops Spark.

The default is an embedded session of two cores that fits a Binder pod: measured at 0.95 GB for the whole process tree
(JVM, driver and Python workers). The master is a setting: the argument ``master``, else the variable
``KIPVIZ_SPARK_MASTER``, else ``local[2]``. An address that begins with ``sc://`` is a Spark Connect server, which needs
no Java here.

Spark writes to stderr even before it reads any setting (launcher, JVM, log4j). So kipviz starts the JVM, with its
output in a file of the session's own folder; the last lines of that file explain a failed start. Python's own Spark
logger, which prints an error a second time as JSON, is turned off: the exception has the same text.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import logging
import os
import re
import shutil
import socket
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

MASTER_VARIABLE = "KIPVIZ_SPARK_MASTER"
DEFAULT_MASTER = "local[2]"
DEFAULT_MEMORY = "768m"
ANSWER_SECONDS = 5.0
TASK_TRIES = 4

_MASTERS_ALLOWED = (
    "local, local[2], local[*], local-cluster[2,1,1024], spark://host:port, yarn, k8s://address "
    "or sc://host:port"
)
_LOCAL = re.compile(r"local(\[(\*|[1-9]\d*)(,[1-9]\d*)?\])?")
_LOCAL_CLUSTER = re.compile(r"local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]")
_MEMORY = re.compile(r"([1-9]\d*)([mg])")
_MEMORY_LEAST_MB = 450  # Spark refuses to start a driver with less
_SOCKET_FOLDER_LONGEST = 60
_PREFIX = "kipviz-spark-"
_ADDRESSED = {"spark": 7077, "sc": 15002}
# Frames of a stack, and the general messages of a JVM that could not start.
_NOT_TELLING = ("at ", "...", "Error: Could not create the Java", "Error: A fatal exception has")
_PYTHON_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")

_lock = threading.RLock()
_folder: Path | None = None


class SparkUnavailable(RuntimeError):
    """Spark is not available; the sentence says why and what would help."""


def session(master: str | None = None, memory: str = DEFAULT_MEMORY) -> SparkSession:
    """Return the Spark session of this process, and start one if there is none.

    An existing session (in a managed cluster's notebook) is used as it is, unless a different master is requested by
    name.

    Args:
        master: Spark's master; None takes ``KIPVIZ_SPARK_MASTER``, else ``local[2]``.
        memory: heap of the driver's JVM, such as "768m" or "4g".

    Raises:
        ValueError: for a master or a memory size that is not one.
        SparkUnavailable: no Java, a master that does not answer, another session in the way.
    """
    asked = master if master is not None else os.environ.get(MASTER_VARIABLE)
    if asked is not None:
        check_master(asked)
    check_memory(memory)
    with _lock:
        running = _running_session()
        if running is not None:
            return _same_master(running, asked)
        chosen = asked or DEFAULT_MASTER
        _check_that_it_answers(chosen)
        quiet_python_side()
        if chosen.startswith("sc://"):
            return _connect(chosen)
        return _start_classic(chosen, memory)


def stop() -> None:
    """End the session and the JVM it started; the next ``session()`` starts a new one."""
    with _lock:
        running = _running_session()
        if running is not None:
            running.stop()
        _end_gateway()
        _remove_folder()


def is_connect(spark: SparkSession) -> bool:
    """Whether the session is a Spark Connect client, which has no SparkContext."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def is_local(spark: SparkSession) -> bool:
    """Whether workers are processes of this machine that see this Python's own folders."""
    return not is_connect(spark) and _LOCAL.fullmatch(spark.sparkContext.master) is not None


def is_on_this_machine(spark: SparkSession) -> bool:
    """Whether all workers see this machine's files, although perhaps not this Python's folders."""
    return is_local(spark) or (
        not is_connect(spark) and _LOCAL_CLUSTER.fullmatch(spark.sparkContext.master) is not None
    )


def cores(spark: SparkSession) -> int:
    """How many tasks can run at once, as far as the session shows (2 if it does not)."""
    return 2 if is_connect(spark) else int(spark.sparkContext.defaultParallelism)


def profile(master: str, memory: str = DEFAULT_MEMORY) -> dict[str, str]:
    """The settings a session is started with; those of an embedded one fit a Binder pod.

    SerialGC, the C1 compiler and small thread stacks take the JVM from 1,000 MB to 630 MB at the
    same heap (measured); they slow down long JVM jobs a little, and the pod's limit is 2 GB.
    """
    settings = {
        "spark.app.name": "kipviz",
        "spark.master": with_retries(master),
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.speculation": "false",
    }
    if _LOCAL.fullmatch(master) or _LOCAL_CLUSTER.fullmatch(master):
        settings |= {
            "spark.driver.memory": memory,
            "spark.driver.extraJavaOptions": ("-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xss512k"),
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.sql.shuffle.partitions": "4",
            "spark.executorEnv.PYTHONPATH": os.pathsep.join(_import_folders()),
        }
    return settings


def folder_settings(folder: Path) -> dict[str, str]:
    """The settings that keep Spark's files in one folder, which is deleted when the session ends.

    Python workers talk to the JVM through sockets in that folder instead of TCP: a task then costs 14 ms instead of 42
    (measured), because nothing waits for TCP's delayed acknowledgement. The name of such a socket may have 107
    characters, 42 of which Spark needs.
    """
    settings = {
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    if os.name == "posix" and len(os.fsencode(folder)) <= _SOCKET_FOLDER_LONGEST:
        settings["spark.python.unix.domain.socket.enabled"] = "true"
        settings["spark.python.unix.domain.socket.dir"] = str(folder)
    return settings


def check_master(master: str) -> None:
    """Reject a text that is not a Spark master, with the valid forms."""
    known = (
        _LOCAL.fullmatch(master)
        or _LOCAL_CLUSTER.fullmatch(master)
        or master == "yarn"
        or re.fullmatch(r"(spark|sc|k8s)://\S+", master)
    )
    if not known:
        raise ValueError(f"{master!r} is not a Spark master: use {_MASTERS_ALLOWED}")


def with_retries(master: str) -> str:
    """Return a local master that tries a task again when its worker process dies, as a cluster does.

    `local[2]` fails a job with its first failed task; `local[2,4]` tries each one four times.
    """
    found = _LOCAL.fullmatch(master)
    if found is None or found[3] is not None:
        return master
    return f"local[{found[2] or 1},{TASK_TRIES}]"


def check_memory(memory: str) -> None:
    """Reject a heap size that Spark would reject later and with a longer message."""
    match = _MEMORY.fullmatch(memory)
    if match is None or int(match[1]) * (1024 if match[2] == "g" else 1) < _MEMORY_LEAST_MB:
        raise ValueError(
            f"memory must be at least {_MEMORY_LEAST_MB}m, such as '768m' or '4g', not {memory!r}"
        )


def quiet_python_side() -> None:
    """Turn off the loggers that print each Spark error a second time, as JSON."""
    for name in _PYTHON_LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def _running_session() -> SparkSession | None:
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None and not is_connect(running) and running.sparkContext._jsc is None:  # noqa: SLF001 - no public way to ask
        return None  # stopped outside of kipviz
    return running or getattr(SparkSession, "_instantiatedSession", None)


def _same_master(running: SparkSession, asked: str | None) -> SparkSession:
    has = "a Spark Connect server" if is_connect(running) else running.sparkContext.master
    differs = asked is not None and (
        not asked.startswith("sc://")
        if is_connect(running)
        else with_retries(asked) != with_retries(has)
    )
    if differs:
        raise SparkUnavailable(
            f"a Spark session on {has} is running, so {asked} cannot be used: call stop() first"
        )
    return running


def _check_that_it_answers(master: str) -> None:
    """Try the address first: Spark itself would keep trying for a minute and then say little."""
    scheme, _, rest = master.partition("://")
    if scheme not in _ADDRESSED:
        return
    addresses = [_host_and_port(a, scheme) for a in rest.split("/")[0].split(",")]
    for host, port in addresses:
        with contextlib.suppress(OSError), socket.create_connection((host, port), ANSWER_SECONDS):
            return
    tried = " or ".join(f"{host}:{port}" for host, port in addresses)
    what = "Spark Connect server" if scheme == "sc" else "Spark master"
    raise SparkUnavailable(
        f"no {what} answers at {tried}: start it, or unset {MASTER_VARIABLE} to use this machine "
        f"({DEFAULT_MASTER})"
    )


def _host_and_port(address: str, scheme: str) -> tuple[str, int]:
    host, _, port = address.split(";", maxsplit=1)[0].rpartition(":")
    if not host:
        return port, _ADDRESSED[scheme]
    if not port.isdecimal():
        raise ValueError(f"{address!r} has no port number: use {scheme}://host:port")
    return host.strip("[]"), int(port)


def _connect(address: str) -> SparkSession:
    from pyspark.sql import SparkSession

    if importlib.util.find_spec("grpc") is None:
        raise SparkUnavailable(
            f"Spark Connect ({address}) needs the package grpcio: install it with "
            "python -m pip install 'pyspark[connect]'"
        )
    try:
        spark: SparkSession = SparkSession.builder.remote(address).getOrCreate()
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    except Exception as error:
        raise SparkUnavailable(
            f"the Spark Connect server {address} could not be used: {first_line(error)}"
        ) from error
    return spark


def _start_classic(master: str, memory: str) -> SparkSession:
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    java_home = _java_home()
    folder = _make_folder()
    settings = profile(master, memory) | folder_settings(folder)
    conf = SparkConf(loadDefaults=False)
    for key in sorted(settings):
        conf.set(key, settings[key])
    python = os.environ.get("PYSPARK_PYTHON") if not master.startswith("local") else None
    log = folder / "spark.log"
    with _environment(JAVA_HOME=java_home, PYSPARK_PYTHON=python or sys.executable):
        try:
            with log.open("ab") as words:
                gateway = launch_gateway(conf, popen_kwargs={"stdout": words, "stderr": words})
            SparkContext(conf=conf, gateway=gateway)
        except Exception as error:
            msg = f"Spark did not start on {master}: {_last_words(log) or first_line(error)}"
            _end_gateway()
            _remove_folder()
            raise SparkUnavailable(msg) from error
    return SparkSession.builder.getOrCreate()


def _java_home() -> str | None:
    from kipviz.spark.sessions.java import NoJava, find_java

    try:
        return str(find_java().home)
    except NoJava as error:
        raise SparkUnavailable(first_line(error)) from error


@contextlib.contextmanager
def _environment(**variables: str | None) -> Iterator[None]:
    """Set variables only while Spark starts and reads them."""
    before = {name: os.environ.get(name) for name in variables}
    _set_environment(variables)
    try:
        yield
    finally:
        _set_environment(before)


def _set_environment(variables: dict[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _import_folders() -> list[str]:
    """The folders in which this Python finds modules, so that its local workers find the same ones."""
    return [str(Path(place).resolve()) for place in sys.path if Path(place or ".").is_dir()]


def _make_folder() -> Path:
    global _folder  # noqa: PLW0603  one session per process, hence one folder
    _remove_folder()
    _sweep()
    _folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
    return _folder


def _sweep() -> None:
    """Remove the folders of processes that were killed and cannot do it themselves."""
    for old in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        number = old.name.removeprefix(_PREFIX).partition("-")[0]
        with contextlib.suppress(OSError):  # another user's, or gone meanwhile
            mine = not hasattr(os, "getuid") or old.lstat().st_uid == os.getuid()
            if number.isdecimal() and mine and not old.is_symlink() and not _lives(int(number)):
                shutil.rmtree(old, ignore_errors=True)


def _lives(process: int) -> bool:
    """Return whether a process runs; if the system cannot tell, it counts as running."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _remove_folder() -> None:
    global _folder  # noqa: PLW0603
    if _folder is not None:
        shutil.rmtree(_folder, ignore_errors=True)
        _folder = None


def _end_gateway() -> None:
    """End the JVM: stopping a session alone keeps its half a gigabyte until Python ends."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway  # noqa: SLF001 - we launched it, so we end it
    if gateway is None or _folder is None:  # none, or not started by us
        return
    SparkContext._gateway = None  # noqa: SLF001 - the next session launches another
    SparkContext._jvm = None  # noqa: SLF001 - it went with the gateway
    process = getattr(gateway, "proc", None)
    with contextlib.suppress(Exception):
        gateway.shutdown()
    if process is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()  # the JVM ends when this pipe breaks
        with contextlib.suppress(Exception):
            process.wait(timeout=10)


def _last_words(log: Path) -> str:
    """The last line of the JVM about what went wrong, with the line that follows it."""
    if not log.exists():
        return ""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines()]
    lines = [line for line in lines if line and not line.startswith(_NOT_TELLING)]
    telling = [k for k, line in enumerate(lines) if re.search(r"Exception|[Ee]rror|denied", line)]
    first = telling[-1] if telling else len(lines) - 1
    return " ".join(lines[max(0, first) : first + 2])[:300]


def first_line(error: BaseException) -> str:
    """The first line of an error's text that is not empty, otherwise the error's name."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:300] if lines else type(error).__name__


@atexit.register
def _at_exit() -> None:
    with contextlib.suppress(Exception):
        stop()
