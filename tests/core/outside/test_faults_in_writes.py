"""A disk that fails, or a process that is killed, at any call of a write: what was there before is whole."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import pytest

from kipviz.core.outside import atomic_write

ROOT = Path(__file__).parents[3]
CALLS_MAX = 40


class Disk:
    """The calls of a write to the file system, of which one does what it should not."""

    def __init__(self, patch: pytest.MonkeyPatch, act: Callable[[], None], at: int) -> None:
        self.calls: list[str] = []
        self._act, self._at = act, at
        for module, name in ((os, "fsync"), (os, "link"), (os, "replace"), (os, "unlink")):
            patch.setattr(module, name, self._wrap_function(name, getattr(module, name)))
        opened = Path.open

        def opens(path: Path, mode: str = "r", *how: object, **named: object) -> object:
            file = opened(path, mode, *how, **named)
            return File(file, self) if mode == "wb" else file

        patch.setattr(Path, "open", opens)

    def call(self, name: str) -> None:
        """Count a call, and fail if it is the one."""
        self.calls.append(name)
        if len(self.calls) == self._at:
            self._act()

    def _wrap_function(self, name: str, function: Callable[..., object]) -> Callable[..., object]:
        def call(*given: object, **named: object) -> object:
            self.call(name)
            return function(*given, **named)

        return call


class File:
    """A file of which half of what is written arrives before a write fails."""

    def __init__(self, file: object, disk: Disk) -> None:
        self._file, self._disk = file, disk

    def write(self, data: bytes) -> None:
        self._file.write(data[: len(data) // 2])
        self._file.flush()
        self._disk.call("write")
        self._file.write(data[len(data) // 2 :])

    def flush(self) -> None:
        self._disk.call("flush")
        self._file.flush()

    def fileno(self) -> int:
        return self._file.fileno()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


@contextmanager
def fails_at(number: int, error: int) -> Iterator[Disk]:
    """Let one call of the file system fail."""

    def fail() -> None:
        raise OSError(error, os.strerror(error))

    with pytest.MonkeyPatch.context() as patch:
        yield Disk(patch, fail, number)


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("before", [False, True])
def test_at_whichever_call_a_disk_fails_what_was_there_is_whole(tmp_path, error, before):
    place, copy = tmp_path / "run.trace", tmp_path / ".run.trace.before"
    atomic_write.write(place, b"the first", copy)
    seen = set()
    for number in range(1, CALLS_MAX):
        place.write_bytes(b"what was there")
        with fails_at(number, error) as disk:
            try:
                atomic_write.write(place, b"what is new", copy if before else None)
            except OSError as wrong:
                failed = disk.calls[number - 1]
                seen.add(failed)
                assert wrong.errno == error  # noqa: PT017  not every call that fails is told
                # Only the removal of a draft comes after the new file is in its place.
                replaced = disk.calls[:number].count("replace") == 1 + before
                new = failed == "unlink" and replaced
                assert place.read_bytes() == (b"what is new" if new else b"what was there")
            else:
                assert place.read_bytes() == b"what is new"
                if len(disk.calls) < number:
                    break
                # Where a file system has no second names, the copy is written out.
                failed = disk.calls[number - 1]
                assert failed == "link"
        for left in tmp_path.glob(".*.draft"):  # only where its very removal has failed
            assert failed in {"unlink", "link"}
            left.unlink()
    assert {"write", "flush", "fsync", "replace"} <= seen
    assert place.read_bytes() == b"what is new"


KILLED = """
import os, sys
from pathlib import Path
from kipviz.core.outside import atomic_write
from tests.core.outside.test_faults_in_writes import Disk
import pytest

place, copy = Path(sys.argv[1]), Path(sys.argv[2])
for number in range(1, 40):
    place.write_bytes(b"what was there")
    child = os.fork()
    if not child:
        with pytest.MonkeyPatch.context() as patch:
            disk = Disk(patch, lambda: os._exit(9), number)
            atomic_write.write(place, b"what is new", copy)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    print(number, os.waitstatus_to_exitcode(status), place.read_bytes().decode(), len(list(place.parent.glob(".*.draft"))), sep="|")
    if status == 0:
        break
atomic_write.write(place, b"the next start", copy)
print(*sorted(each.name for each in place.parent.iterdir()))
"""


def test_at_whichever_call_a_process_is_killed_one_of_both_is_whole_and_its_drafts_go_at_the_next_start(
    tmp_path,
):
    told = subprocess.run(
        [sys.executable, "-c", KILLED, tmp_path / "run.trace", tmp_path / ".run.trace.before"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ).stdout.splitlines()
    *rows, names = told
    statuses = [row.split("|") for row in rows]
    assert [status for _, status, *_ in statuses] == ["9"] * (len(rows) - 1) + ["0"]
    assert len(rows) > 5
    contents = [content for _, _, content, _ in statuses]
    assert set(contents) == {"what was there", "what is new"}
    assert contents == sorted(contents, key=["what was there", "what is new"].index)
    # Each of them leaves its own draft at most, because the next one has removed what the last one left.
    assert {int(drafts) for *_, drafts in statuses} <= {0, 1, 2}
    assert statuses[0][-1] == "1"
    assert names == ".run.trace.before run.trace"
