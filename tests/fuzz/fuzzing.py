"""The one rule of every fuzz target, and the loop that holds inputs against it.

An input ends in a value, or in an error of our own with one sentence, within a time and a memory bound.
Input `n` of a target under a seed is always the same bytes, whatever was made before it.
"""

from __future__ import annotations

import json
import random
import resource
import signal
import tempfile
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

SECONDS_MAX = 10  # of this process; what only waits has WAITING times as long
WAITING = 6
MEMORY_MAX = 1 << 30
SENTENCE_MAX = 20_000
FIRST_PIECE = 1 << 20


class Target(NamedTuple):
    """Something of ours that reads what others wrote.

    `make` gives a mutated input, `read` reads one with a folder of its own to write into. `refusals` are
    our own errors. `quick` is how many inputs `make test` tries: as many as take two or three seconds.
    """

    name: str
    about: str
    make: Callable[[random.Random], bytes]
    read: Callable[[bytes, Path], object]
    refusals: tuple[type[Exception], ...]
    quick: int


class Failure(NamedTuple):
    """An input that broke the rule, in a few words that are the same for the same mistake."""

    kind: str
    told: str


class TooSlow(BaseException):
    """An input took longer than it may. No reader catches this one."""


def input_of(target: Target, seed: int, number: int) -> bytes:
    """Give one input of a target."""
    return target.make(random.Random(f"{target.name}/{seed}/{number}"))


def judge(target: Target, data: bytes) -> Failure | None:
    """Read one input; say how it broke the rule, or nothing."""
    try:
        with tempfile.TemporaryDirectory() as folder, _within(SECONDS_MAX):
            target.read(data, Path(folder))
    except target.refusals as refusal:
        return _no_sentence(refusal)
    except TooSlow as slow:
        return Failure(f"slower than {SECONDS_MAX} s {_place(slow)}", traceback.format_exc())
    except MemoryError as full:
        return Failure(f"more than {MEMORY_MAX:,} bytes {_place(full)}", traceback.format_exc())
    except (Exception, SystemExit) as escaped:  # noqa: BLE001  it is what is looked for
        return Failure(f"{type(escaped).__name__} {_place(escaped)}", traceback.format_exc())
    return None


def failures(
    target: Target, seed: int, numbers: Iterable[int]
) -> Iterator[tuple[int, Failure | None, bytes]]:
    """Judge input after input of a target, each within the memory bound; `numbers` says which.

    The bound is of addresses, and begins anew with each input: an allocator keeps those that it once had.
    """
    for number in numbers:
        data = input_of(target, seed, number)
        with bounded_memory(MEMORY_MAX):
            failure = judge(target, data)
        yield number, failure, data


@contextmanager
def bounded_memory(size: int) -> Iterator[None]:
    """Let this process take no more than so many bytes beyond those that it has.

    pyarrow's allocator reserves a gigabyte of addresses with its first allocation: that is made before.
    """
    pa.allocate_buffer(FIRST_PIECE)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    bound = pages * resource.getpagesize() + size
    if soft != resource.RLIM_INFINITY:
        bound = min(bound, soft)
    resource.setrlimit(resource.RLIMIT_AS, (bound, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    def ring(*_: object) -> None:
        raise TooSlow

    # By the processor's time: beside other work an input that ends in a second may take ten.
    timers = (
        (signal.ITIMER_PROF, signal.SIGPROF, 1),
        (signal.ITIMER_REAL, signal.SIGALRM, WAITING),
    )
    before = [(number, signal.signal(number, ring)) for _, number, _ in timers]
    for timer, _, times in timers:
        signal.setitimer(timer, times * seconds)
    try:
        yield
    finally:
        for timer, _, _ in timers:
            signal.setitimer(timer, 0)
        for number, handler in before:
            signal.signal(number, handler)


def _no_sentence(refusal: Exception) -> Failure | None:
    said = str(refusal)
    if said.strip() and "\n" not in said and len(said) <= SENTENCE_MAX:
        return None
    what = f"{type(refusal).__name__} in no sentence {_place(refusal)}"
    return Failure(what, f"{json.dumps(said)}\n{traceback.format_exc()}")


def _place(error: BaseException) -> str:
    """Say in which function of ours it happened."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if "/kipviz/" in f.filename] or frames
    return f"in {Path(ours[-1].filename).name}:{ours[-1].name}"
