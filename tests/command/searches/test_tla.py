"""explore --tla and --from-trace of other tools' traces: what is written, told and refused."""

from __future__ import annotations

import json

import pytest

SMALL = "kip-1289-small"
STEPS = ("app-1 goes on", "Send_app_1_producer")


def test_a_search_writes_a_module_and_tells_the_counts_that_tlc_has_to_find(kipviz, tmp_path):
    module = tmp_path / "small.tla"
    done = kipviz("explore", SMALL, "--design", "repaired", "--tla", str(module))
    assert done.status == 0
    assert (
        "small.cfg: repaired; TLC has to find 686 distinct states and to generate 1906" in done.out
    )
    assert (
        "run it with: java -cp tla2tools.jar tlc2.TLC -deadlock -config small.cfg small" in done.out
    )
    assert module.read_text().splitlines()[0].strip("- ") == "MODULE small"
    states = [{}, *({"action": name} for name in STEPS)]
    (tmp_path / "found.json").write_text(json.dumps({"states": states}))
    words = ("--from-trace", str(tmp_path / "found.json"), "--module", str(module))
    played = kipviz("play", *words)
    assert played.status == 0
    assert "InitProducerId" in played.out
    kept = kipviz("export", *words, "--to", str(tmp_path / "again.itf.json"))
    assert kept.status == 0
    assert kipviz("play", "--from-trace", str(tmp_path / "again.itf.json")).out == played.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--tla", "no-module.tla"), "a module's file must have the name of the module"),
        (("--tla", "small.tla", "--reduce", "order"), "--tla writes a complete search"),
        (("--tla-with", "repaired"), "--tla-with is for --tla"),
        (("--tla", "small.tla", "--tla-with", "nobody"), "there is no design 'nobody'"),
        (("--tla", "small.tla", "--tla-with", "repaired"), "each design of a module is named once"),
        (("--tla", "small.tla", "--states-max", "9"), "stopped at"),
        (("--tla", "nowhere/small.tla"), "there is no folder"),
    ],
)
def test_a_module_that_cannot_be_is_refused_in_one_sentence(kipviz, words, said):
    done = kipviz("explore", SMALL, "--design", "repaired", *words)
    assert done.status == 2
    assert said in done.err.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("play", SMALL, "--module", "x.tla"), "--module and --trace-faults are for --from-trace"),
        (("export", SMALL, "--to", "x.tla"), "a TLA+ module is written from a search"),
        (("export", SMALL, "--to", "x.log"), ".shiviz.log"),
        (("export", SMALL, "--format", "itf", "--to", "x.json"), "writes .itf.json"),
    ],
)
def test_what_is_no_export_is_refused_in_one_sentence(kipviz, words, said):
    done = kipviz(*words)
    assert done.status == 2
    assert said in done.err
