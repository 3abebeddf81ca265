"""`kipviz runs`: a saved campaign is opened, drilled into and compared with another one."""

import json

import pytest

from kipviz.command.main import main
from kipviz.spark.saved.saved_runs import KeptRuns, saved_campaign

WORDS = ["--scenario", "kip-1289-share-commit", "--designs", "repaired,finding-I", "--runs", "4"]
WORDS += ["--steps-max", "120", "--way", "loop"]
STUCK = "no stuck transactions or records"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved") / "today"
    assert main(["campaign", *WORDS, "--resume", str(folder)]) == 1
    return folder


def runs(capsys, *words):
    capsys.readouterr()
    status = main(["runs", *map(str, words), "--json"])
    return status, json.loads(capsys.readouterr().out)


def test_its_table_and_its_broken_runs_are_those_of_the_campaign(saved, capsys):
    status, told = runs(capsys, saved)
    assert (status, told["made"], told["runs"], told["damaged"]) == (1, 8, 8, [])
    assert main(["campaign", *WORDS, "--resume", str(saved), "--json"]) == 1
    whole = json.loads(capsys.readouterr().out)
    assert [row["command"] for row in told["listed"]] == whole["broken"]
    assert told["summary"] == whole["summary"]


def test_runs_are_chosen_by_design_and_by_what_they_break(saved, capsys):
    _, of_stuck = runs(capsys, saved, "--design", "finding-I", "--broken", STUCK, "--limit", "1")
    assert of_stuck["broken"] > len(of_stuck["listed"]) == 1
    assert of_stuck["listed"][0]["design"] == "finding-I"
    assert runs(capsys, saved, "--design", "repaired")[1]["broken"] == 0
    assert main(["runs", str(saved), "--design", "none"]) == 2
    assert "this campaign has the designs repaired, finding-I" in capsys.readouterr().err
    assert main(["runs", str(saved), "--broken", "nonsense"]) == 2
    assert "there is no property 'nonsense'; the properties are" in capsys.readouterr().err
    assert runs(capsys, saved, "--broken", "atomic")[1]["broken"] == 0


def test_what_changed_since_another_campaign_is_listed_with_a_command_for_it(
    saved, capsys, tmp_path
):
    assert runs(capsys, saved, "--against", saved)[0] == 0
    known = saved_campaign(saved)
    kept = KeptRuns(tmp_path / "yesterday", known.plan)
    rows = known.table.to_pylist()
    rows[0].update(status="breaks", broken="no loss")
    kept.keep(0, 8, known.table.from_pylist(rows, known.table.schema))
    status, told = runs(capsys, saved, "--against", tmp_path / "yesterday")
    assert (status, told["changes"]["changed"], told["changes"]["same"]) == (1, 1, 7)
    assert main(["runs", str(saved), "--against", str(tmp_path / "yesterday")]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert any("1 runs have another verdict, 7 the same one" in line for line in lines)
    assert "repaired: 1 from no loss to holds" in lines[-2]
    assert "--design repaired --faults calm --seed=0" in lines[-1]


def test_a_campaign_that_was_stopped_says_how_many_runs_are_missing(saved, capsys, tmp_path):
    known = saved_campaign(saved)
    KeptRuns(tmp_path / "begun", known.plan).keep(0, 3, known.table.slice(0, 3))
    main(["runs", str(tmp_path / "begun")])
    assert "5 runs are still to be made" in capsys.readouterr().out


def test_a_folder_that_keeps_no_campaign_is_refused(tmp_path, capsys):
    assert main(["runs", str(tmp_path)]) == 2
    assert "keeps no campaign" in capsys.readouterr().err
