"""The program that tests the tests: one change at a time, put where it works, and judged by what touches it."""

from __future__ import annotations

import ast
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kipviz.properties.facts import outputs
from tests.mutants import __main__ as program
from tests.mutants import operators, probes
from tests.mutants.live import Functions, NotLive
from tests.mutants.operators import FLOORS, Mutant, change_tree, modules, mutants
from tests.mutants.touched import digest, list_imported
from tests.mutants.trial import Child, run
from tests.tidy.source import ROOT

OUTPUTS = ROOT / "kipviz/properties/facts/outputs.py"
ATOMIC = ROOT / "kipviz/properties/atomic.py"


def of(path: Any, line: str, after: str) -> Mutant:
    """The change of a line, found by a part of its text, that puts `after` there."""
    text = path.read_text(encoding="utf-8").splitlines()
    return next(m for m in mutants(path) if line in text[m.line - 1] and m.after == after)


def test_every_change_is_another_program_and_keeps_the_other_lines() -> None:
    for path in (OUTPUTS, ROOT / "kipviz/properties/commit_requested.py"):
        known = ast.parse(path.read_text(encoding="utf-8"))
        for mutant in mutants(path):
            tree = change_tree(mutant)
            assert ast.dump(tree) != ast.dump(known), mutant
            compile(tree, str(path), "exec")


def test_operators_constants_guards_states_and_fields_are_changed_on_every_floor() -> None:
    for floor in FLOORS:
        largest = sorted(modules(floor), key=lambda path: -path.stat().st_size)[:4]
        kinds = {m.kind for path in largest for m in mutants(path)}
        assert kinds == {"operator", "constant", "guard", "state", "field", "statement"}, floor


def test_a_guard_is_negated_made_true_and_dropped() -> None:
    line = "if not found or event.producer_id < 0 or event.plain:"
    number = OUTPUTS.read_text(encoding="utf-8").splitlines().index(f"    {line}") + 1
    guards = {m.after for m in mutants(OUTPUTS) if m.line == number and m.kind == "guard"}
    assert guards == {
        "not (not found or event.producer_id < 0 or event.plain)",
        "True",
        "False",
        "event.producer_id < 0 or event.plain",
        "not found or event.plain",
        "not found or event.producer_id < 0",
    }


def test_sentences_annotations_and_what_may_not_happen_are_left_as_they_are() -> None:
    for path in modules("properties"):
        lines = path.read_text(encoding="utf-8").splitlines()
        for mutant in mutants(path):
            assert not lines[mutant.line - 1].lstrip().startswith(('"""', "assert ", "raise "))
            assert mutant.kind != "constant" or " " not in mutant.before, mutant


def test_a_change_is_in_the_functions_that_are_in_memory_and_in_the_child_alone() -> None:
    functions = Functions()
    mutant = of(OUTPUTS, "event.committed else ()", "()")
    ended = SimpleNamespace(producer_id=9, producer_epoch=0, committed=True)
    waiting = outputs.Table.of({(9, 0): (("src-0@1", "out-0"),)})

    def work(say: Any) -> None:
        functions.put(mutant)
        say({"ended": outputs.end_transaction(waiting, ended)[1]})  # type: ignore[arg-type]

    (said,) = Child(work).wait().said
    assert said == {"ended": []}
    assert outputs.end_transaction(waiting, ended)[1] == (("src-0@1", "out-0"),)  # type: ignore[arg-type]


WATCHED = """
def longer(words, least):
    if len(words) > least:
        return "yes"
    for word in words:
        match word:
            case "":
                continue
    return "no" if words else "never"
"""


@pytest.fixture
def seen(tmp_path, monkeypatch):
    """Give what changes a call of `longer` would show."""
    file = tmp_path / "longer.py"
    file.write_text(WATCHED, encoding="utf-8")
    for module in (probes, operators):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(operators, "name_of", lambda path: path.name)
    for module in (probes, operators):
        monkeypatch.setattr(module, "states", lambda _: {})
    every = mutants(file)
    known: dict[str, Any] = {}
    exec(compile(probes.watch_file("longer.py", every), str(file), "exec"), known)

    def call(*words: Any) -> set[tuple[str, str]]:
        probes.hits.clear()
        known["longer"](*words)
        found = {m for m in every if probes.key(m) in probes.hits}
        return {(m.before, m.after) for m in found}

    yield call
    probes.hits.clear()


def test_a_run_sees_only_the_changes_that_give_something_else_in_it(seen) -> None:
    longer = seen(("a", "b"), 1)
    assert ("len(words) > least", "False") in longer
    assert ("len(words) > least", "True") not in longer
    assert ("len(words) > least", "len(words) >= least") not in longer
    assert not any(before in ("'never'", "continue") for before, _ in longer)
    same = seen(("a",), 1)
    assert ("len(words) > least", "len(words) >= least") in same
    assert ("len(words) > least", "False") not in same


def test_a_statement_and_a_pattern_are_seen_where_they_are_reached(seen) -> None:
    assert ("continue", "break") in seen(("",), 1)
    assert ("continue", "break") not in seen(("a",), 1)
    assert not any(before == "continue" for before, _ in seen((), 1))


def test_every_module_can_be_watched_whole_and_put_into_the_functions_in_memory() -> None:
    functions = Functions()
    waiting = outputs.Table.of({(9, 0): (("src-0@1", "out-0"),)})
    ended = SimpleNamespace(producer_id=9, producer_epoch=0, committed=False)

    def work(say: Any) -> None:
        for path in (OUTPUTS, ATOMIC):
            functions.watch(path.relative_to(ROOT).as_posix(), mutants(path))
        probes.hits.clear()
        say({"ended": outputs.end_transaction(waiting, ended)[1], "hits": len(probes.hits)})  # type: ignore[arg-type]

    (said,) = Child(work).wait().said
    assert said["ended"] == []
    assert said["hits"] > 1


def test_a_change_of_what_an_import_runs_needs_a_new_python() -> None:
    table = of(ATOMIC, "FREE = (RecordState.AVAILABLE", "RecordState.ACQUIRED")
    with pytest.raises(NotLive):
        Functions().put(table)
    default = of(ATOMIC, 'name = "atomic"', "'atomic-'")
    with pytest.raises(NotLive):
        Functions().put(default)


def test_a_child_that_runs_on_is_ended_by_its_cpu_time_and_one_that_dies_is_red() -> None:
    def work(say: Any) -> None:
        say({"running": "endless"})
        signal.setitimer(signal.ITIMER_PROF, 0.05)
        while True:
            time.process_time()

    ended = Child(work).wait()
    assert (ended.killer, ended.how) == ("endless", "time")

    def dying(say: Any) -> None:
        say({"running": "dying"})
        raise MemoryError

    ended = Child(dying).wait()
    assert (ended.killer, ended.how) == ("dying", "red")
    assert Child(lambda say: run((), {}, say)).wait().how == "green"


def test_a_change_that_outlives_its_cpu_time_is_not_put_to_the_next_test() -> None:
    ended = Child(lambda say: run([None], {}, say, budget=-1.0)).wait()  # type: ignore[list-item]
    assert (ended.how, ended.said) == ("green", [{"spent": 0}])


def test_a_child_is_ended_where_its_parent_is_interrupted_while_it_waits() -> None:
    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    def work(say: Any) -> None:
        say("x" * (1 << 20))  # more than a pipe holds: when it is said, the parent is reading
        os.kill(os.getppid(), signal.SIGUSR1)
        while True:
            signal.pause()

    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        child = Child(work)
        with pytest.raises(KeyboardInterrupt):
            child.wait()
        child.end()
        with pytest.raises(ChildProcessError):
            os.waitpid(child.process, 0)
        child.end()
    finally:
        signal.signal(signal.SIGUSR1, before)


LONG_AND_SHORT = """
import pytest

@pytest.fixture(scope="module")
def shared():
    return [1]

def test_long(shared):
    while True:
        sum(shared)

def test_short(shared):
    assert shared == [1]
"""
LOOKING = """
import json, sys
import pytest
from tests.mutants.touched import Touched

class Looking:
    def pytest_runtestloop(self, session):
        rows = Touched((), 0.1)._watch_tests(session.items)
        print(json.dumps({name.partition("::")[2]: (row["cut"], row["red"]) for name, row in rows.items()}))
        return True

pytest.main(["-q", "-s", "-p", "no:cacheprovider", sys.argv[1]], plugins=[Looking()])
"""


def test_a_test_that_takes_too_long_is_cut_off_and_those_behind_it_are_looked_at(
    tmp_path: Path,
) -> None:
    file = tmp_path / "test_two.py"
    file.write_text(LONG_AND_SHORT, encoding="utf-8")
    words = [sys.executable, "-c", LOOKING, str(file)]
    ended = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    (line,) = (line for line in ended.stdout.splitlines() if line.startswith("{"))
    assert json.loads(line) == {"test_long": [True, False], "test_short": [False, False]}


def test_where_too_many_tests_are_red_by_themselves_nothing_is_said_to_have_died(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuses(options: Any, plugins: list[Any]) -> None:
        plugins[0].refused = "3 of 9 tests of properties are red without any change"

    monkeypatch.setattr(pytest, "main", refuses)
    assert program.main(["--floor", "properties", "--count", "1"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "3 of 9 tests of properties are red without any change: no result is told" in said.err


DIGESTED = '''"""What it is for."""

# Why.
LEAST = 1

class Longer:
    """Words."""

    def than(self, least):
        """Compare."""
        return "one sentence" if least else "another"
'''


@pytest.mark.parametrize(
    ("old", "new", "is_same"),
    [
        ("# Why.", "# A longer reason,\n# in two lines.", True),
        ("What it is for.", "What it is for, in other words.", True),
        ('    """Words."""\n\n', "", True),
        ("Compare.", "Compare.\n\n        Shapes and units.", True),
        ("one sentence", "one word", False),
        ("LEAST = 1", "LEAST = 2", False),
        ("if least", "if not least", False),
    ],
)
def test_what_was_tried_is_thrown_away_when_a_file_does_something_else_and_not_when_it_is_reworded(
    tmp_path: Path, old: str, new: str, is_same: bool
) -> None:
    before, after = tmp_path / "before.py", tmp_path / "after.py"
    assert old in DIGESTED
    before.write_text(DIGESTED, encoding="utf-8")
    after.write_text(DIGESTED.replace(old, new), encoding="utf-8")
    assert (digest(str(before)) == digest(str(after))) is is_same
    assert digest(str(tmp_path / "gone.py")) == ""


def test_what_was_tried_before_its_line_moved_is_told_with_the_line_of_today(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "KEPT", tmp_path)
    today = mutants(OUTPUTS)[0]
    kept = asdict(replace(today, line=today.line + 7)) | {"how": "red", "killer": "", "tests": 1}
    trials = program.Trials([today], program._arguments(["--resume"]))
    for row in (kept | {"digest": "of another tree"}, kept | {"digest": digest(today.file)}):
        trials._kept.write_text(json.dumps(row) + "\n", encoding="utf-8")
        trials._read()
        found = [each["line"] for each in trials._ended.values()]
        assert found == ([today.line] if row["digest"] == digest(today.file) else [])


def test_a_trial_s_time_is_told_as_the_mean_of_those_that_were_timed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(program, "KEPT", tmp_path)
    drawn = list(mutants(OUTPUTS)[:3])
    trials = program.Trials(drawn, program._arguments(["--resume"]))
    for mutant, more in zip(drawn, ({"seconds": 0.1}, {"seconds": 0.3}, {}), strict=True):
        row = asdict(mutant) | {"how": "red", "tests": 1} | more
        trials._ended[mutant.file, mutant.number] = row
    assert trials.report() == 0
    assert "0.2 s of CPU time for a trial" in capsys.readouterr().out


def test_changes_are_drawn_from_the_files_of_a_folder() -> None:
    words = ["--floor", "brokers", "--file", "brokers/transactions/,group_state.py"]
    files = {m.file for m in program._draw_mutants(program._arguments([*words, "--count", "all"]))}
    rooms = {file.removeprefix("kipviz/brokers/").rpartition("/")[0] for file in files}
    assert rooms == {"transactions", "groups"}
    assert [file for file in files if "/groups/" in file] == [
        "kipviz/brokers/groups/group_state.py"
    ]


def test_a_run_of_many_files_is_kept_under_a_name_that_a_folder_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[Any] = []
    monkeypatch.setattr(pytest, "main", lambda _, plugins: made.append(plugins[0]._kept.name))
    for first in ("atomic.py", "pending.py"):
        files = ",".join((first, *(f"properties/{number}.py" for number in range(40))))
        assert program.main(["--file", files, "--count", "1"]) == 0
    assert len(set(made)) == 2
    assert max(map(len, made)) < 200


def test_a_run_that_ends_in_an_error_of_its_own_tells_no_result(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pytest, "main", lambda *_, **__: pytest.ExitCode.INTERNAL_ERROR)
    assert program.main(["--floor", "properties", "--count", "1"]) == 2
    said = capsys.readouterr()
    assert (said.out, "no result is told" in said.err) == ("", True)


def test_a_loud_child_of_a_child_has_no_more_memory_than_its_parent() -> None:
    def work(say: Any) -> None:
        held = bytearray(64 << 20)
        ended = Child(lambda tell: tell({"size": len(held)})).wait()
        say({"how": ended.how})

    assert Child(work).wait().said == [{"how": "green"}]


def test_a_test_that_only_looks_at_a_table_is_known_by_what_its_file_imports() -> None:
    assert "kipviz/properties/facts/outputs.py" in list_imported("tests/mutants/test_mutants.py")
    assert "tests/mutants/operators.py" in list_imported("tests/mutants/test_mutants.py")
    assert "kipviz/properties/atomic.py" not in list_imported("tests/mutants/test_mutants.py")


@pytest.mark.parametrize(("seconds", "passed"), [("0", "1 passed"), ("1000", "2 passed")])
def test_a_new_python_begins_no_test_when_its_cpu_time_is_spent(
    tmp_path: Path, seconds: str, passed: str
) -> None:
    file = "tests/core/test_table.py"
    text = (ROOT / file).read_text(encoding="utf-8")
    names = re.findall(r"^def (test_\w+)\(\)", text, re.MULTILINE)[:2]
    order = tmp_path / "order"
    order.write_text("\n".join(f"{file}::{name}" for name in names), encoding="utf-8")
    same = "kipviz/properties/facts/outputs.py"
    words = [sys.executable, "-m", "tests.mutants.fresh", str(ROOT / same), same, str(order)]
    ended = subprocess.run([*words, seconds], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ended.returncode, passed in ended.stdout) == (0, True), ended.stdout


def test_every_survivor_that_is_called_equivalent_is_a_change_that_there_is() -> None:
    rows = json.loads((ROOT / "tests/mutants/equivalent.json").read_text(encoding="utf-8"))
    for row in rows:
        found = [
            m
            for m in mutants(ROOT / row["file"])
            if all(
                getattr(m, name) == row[name] for name in ("function", "kind", "before", "after")
            )
        ]
        assert found, row
        assert len(row["reason"]) > 20, row


def test_every_run_on_record_adds_up_and_says_of_each_survivor_why() -> None:
    runs = json.loads((ROOT / "tests/mutants/record.json").read_text(encoding="utf-8"))
    assert len(
        {(r["floor"], r["file"], r.get("kind"), r["seed"], r["count"]) for r in runs}
    ) == len(runs)
    for row in runs:
        lived = row["equivalent"] + row["survived"]
        assert row["died"] + lived == row["tried"] <= row["drawn"], row["seed"]
        assert row["survived"] <= row["survived when first tried"] <= row["tried"]
        assert len(row["survivors"]) == lived
        assert row["commit"]
        for each in row["survivors"]:
            assert len(each["reason"]) > 20, each
            assert (ROOT / each["file"]).exists(), each


def test_of_500_changes_drawn_from_all_floors_95_in_100_die() -> None:
    runs = json.loads((ROOT / "tests/mutants/record.json").read_text(encoding="utf-8"))
    (row,) = (r for r in runs if (r["floor"], r["file"], r["count"]) == (None, None, "500"))
    assert row["died"] >= 0.95 * (row["tried"] - row["equivalent"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--count", "many"), "a number or `all`"),
        (("--line", "atomic.py"), "FILE:LINE"),
        (("--floor", "cellar"), "invalid choice"),
        (("--file", "no_such.py"), "nothing can be changed there"),
    ],
)
def test_a_wrong_wish_ends_in_a_sentence(words: tuple[str, ...], said: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tests.mutants", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr
