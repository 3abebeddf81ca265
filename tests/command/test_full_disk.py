"""Everything that kipviz writes for a person stays whole when the disk is full, and one sentence says so."""

from __future__ import annotations

import ast
import errno

import pytest

import kipviz as package
from kipviz.widgets.stepping.autosave import copy_of
from tests.command.conftest import last_sentence
from tests.core.outside.test_faults_in_writes import fails_at
from tests.tidy.source import PACKAGE, files, tree

SEEDED = ("replay", "--scenario", "kip-1289-small", "--design", "repaired", "--seed", "3")
WRITES = {
    "a saved story": ("play", "pain-vanished", "--save", "a.trace"),
    "a saved run": (*SEEDED, "--save", "a.trace"),
    "a page": ("open", "pain-vanished", "--no-browser", "--to", "a.html"),
    "a picture": ("export", "pain-vanished", "--to", "a.svg"),
    "a table": ("export", "pain-vanished", "--to", "a.md"),
    "a test": ("export", "pain-vanished", "--to", "a.py"),
    "data": ("export", "pain-vanished", "--to", "a.json"),
    "a paper": ("study", "findings", "--kip", "1319", "--into", "a.md"),
}


@pytest.mark.parametrize("what", list(WRITES))
def test_what_was_there_before_is_whole_when_the_disk_is_full(kipviz, tmp_path, monkeypatch, what):
    monkeypatch.chdir(tmp_path)
    place = tmp_path / next(word for word in WRITES[what] if word.startswith("a."))
    place.write_text("what was there")
    for number in (1, 2, 3, 4):  # write, flush, fsync, replace
        with fails_at(number, errno.ENOSPC) as disk:
            done = kipviz(*WRITES[what])
        assert len(disk.calls) >= number
        assert "No space left on device" in last_sentence(done)
        assert place.read_text() == "what was there"
        assert list(tmp_path.iterdir()) == [place]
    assert kipviz(*WRITES[what]).status in {0, 1}
    assert place.read_text() != "what was there"


def test_a_kept_run_stays_whole_on_a_full_disk_and_the_page_says_so(tmp_path):
    keep = tmp_path / "my-run.kipviz"
    stepper = package.open("pain-vanished", keep=keep)
    before = keep.read_bytes()
    copy_of(keep).unlink(missing_ok=True)
    for number in range(1, 4):
        with fails_at(number, errno.ENOSPC):
            stepper.step = 3 + number
        assert keep.read_bytes() == before
        assert stepper.notice == f"Cannot write {keep}: No space left on device."
        assert list(tmp_path.iterdir()) == [keep]
    stepper.step = 10
    assert package.open_trace(keep).step == 10


# A log of Spark and a script that starts Java: neither is anybody's work. Kept parts are made in memory, and
# whole_file puts them down.
# The site is made anew by a command, into a folder of its own; the page's declarations and INTERFACE.md are files of the
# repository. A real broker's settings and what it says stand in a folder that does not stay.
OTHER_WRITERS = {
    "core/outside/atomic_write.py",
    "spark/sessions/session.py",
    "spark/sessions/java.py",
    "spark/saved/saved_runs.py",
    "conforming/real_cluster.py",
    "site/interface.py",
    "site/runtime.py",
    "site/build.py",
    "site/lite.py",
    "site/desk_types.py",
    "widgets/pages/page_types.py",
}


def test_nothing_else_in_kipviz_opens_a_file_to_write_into_it():
    found = set()
    for path in files():
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Call) and writes(node):
                found.add(path.relative_to(PACKAGE).as_posix())
    assert found <= OTHER_WRITERS
    assert "core/outside/atomic_write.py" in found


def writes(call: ast.Call) -> bool:
    """Say whether a call opens a file with a mode that writes, or writes one at once."""
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if name in {"write_text", "write_bytes", "write_table"}:
        return True
    modes = [
        each.value for each in (*call.args, *(k.value for k in call.keywords)) if is_text(each)
    ]
    return name == "open" and any(
        set(mode) <= set("rwaxbt+") and set(mode) & set("wax+") for mode in modes
    )


def is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(node.value)
