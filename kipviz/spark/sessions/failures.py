"""Turn Spark's exceptions, up to 12,000 characters of two stacks, into one sentence."""

from __future__ import annotations

import re

from kipviz.spark.sessions.session import SparkUnavailable, first_line


class CampaignFailed(RuntimeError):
    """The whole job failed, not one run of it; the sentence says why and what would help."""


_WORKER_DIED = r"Python worker exited unexpectedly|Python worker process terminated|EOFException"
_SENTENCES = (
    (
        _WORKER_DIED,
        (
            "a worker process died in the middle, most often because the machine ran out of memory: "
            "no run of this job was kept; use fewer cores or shorter runs, or run the same in a loop to see where"
        ),
    ),
    (
        r"No module named '?([\w.]+)",
        "the workers cannot import {0}: install it where the workers run",
    ),
    (
        r"PYTHON_VERSION_MISMATCH|Python in worker has different version",
        "the workers run another Python version than this one: set PYSPARK_PYTHON to an equal one",
    ),
    (
        r"OutOfMemoryError|Java heap space|GC overhead limit",
        (
            "Spark's JVM ran out of memory: stop() the session and start one with more, for example "
            "session(memory='2g')"
        ),
    ),
    (
        r"No space left on device",
        "the disk is full, so Spark could not go on: free some room in the temporary folder",
    ),
    (
        r"Py4JNetworkError|Connection refused|Answer from Java side is empty|UNAVAILABLE",
        (
            "the connection to Spark is gone, most often because its process was killed for memory: "
            "call stop() and start again"
        ),
    ),
)


def explain_error(error: Exception) -> Exception:
    """Return the same error as one sentence; an error of kipviz stays as it is."""
    if not _is_sparks(error):
        return error
    text = f"{type(error).__name__}: {error}"
    for pattern, sentence in _SENTENCES:
        found = re.search(pattern, text)
        if found:
            return CampaignFailed(sentence.format(*found.groups()))
    return CampaignFailed(f"Spark could not do it: {_telling_line(error)}")


def worker_died(error: Exception) -> bool:
    """Whether Spark reports that a worker process has died, so that a retry may help."""
    return _is_sparks(error) and re.search(_WORKER_DIED, str(error)) is not None


def _is_sparks(error: Exception) -> bool:
    module = type(error).__module__
    ours = isinstance(error, (CampaignFailed, SparkUnavailable))
    return not ours and (
        module.startswith(("pyspark", "py4j", "grpc"))
        or isinstance(error, (ConnectionError, EOFError))
    )


def _telling_line(error: Exception) -> str:
    causes = re.findall(r"^Caused by: (.+)$", str(error), flags=re.MULTILINE)
    return causes[-1][:300] if causes else first_line(error)
