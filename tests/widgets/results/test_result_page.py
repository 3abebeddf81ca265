"""Results in a notebook: what the page is sent, what a notebook stores, and the runs that open below."""

from __future__ import annotations

import pytest

import kipviz
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.designs.catalogue import design
from kipviz.properties.verdict import TITLES
from kipviz.scenarios.library import scenario
from kipviz.widgets.results.result_page import ResultPanel
from kipviz.widgets.results.search import Search

SMALL = "kip-1289-small"


@pytest.fixture(scope="module")
def judged():
    return kipviz.verdicts(SMALL, ["finding-I"])


@pytest.fixture
def panel(judged):
    """The page of a verdict table, with what it was told."""
    made = ResultPanel(judged)
    made.told = []
    made.view.send = made.told.append
    return made


def test_a_notebook_stores_the_tables_the_pictures_and_the_widget(judged):
    bundle = judged._repr_mimebundle_()
    bundle = bundle[0] if isinstance(bundle, tuple) else bundle
    assert set(bundle) == {
        "application/vnd.jupyter.widget-view+json",
        "text/html",
        "text/plain",
    }
    assert bundle["text/plain"] == judged.page()
    assert "✗ breaks after 20" in bundle["text/html"]
    assert bundle["text/html"].count("<img ") == judged.page().count("\n### ") == 1


def test_the_page_is_sent_each_verdict_with_its_run_and_each_counterexample_with_its_picture(
    judged,
):
    told = judged.payload()
    (table,) = [block for block in told["blocks"] if block["kind"] == "table"]
    cells = [cell for row in table["rows"] for cell in row if cell.get("run")]
    (broken,) = [block for block in told["blocks"] if block["kind"] == "broken"]
    assert [(cell["text"], cell["tone"]) for cell in cells] == [("breaks after 20", "breaks")]
    assert cells[0]["run"] == broken["run"]
    assert told["pictures"][broken["run"]].startswith("<svg ")
    assert broken["saved"] in judged.page().replace("\\", "")


def test_a_cell_opens_its_run_below_where_it_breaks_and_the_page_is_told(judged, panel):
    (run,) = judged.payload()["pictures"]
    panel._on_message(panel.view, {"run": run}, [])
    assert panel.stepper.step == judged.open("finding-I").step == 20
    assert panel.children[1].children == (panel.stepper,)
    assert panel.told == [{"run": run, "say": "The run is open below, at message 20."}]


def test_a_run_is_found_by_the_title_of_its_property(judged, monkeypatch):
    monkeypatch.setitem(TITLES, "no stuck transactions or records", "nothing stays stuck")
    assert judged.open("finding-I", "nothing stays stuck").step == 20
    assert judged.open("finding-I", "no stuck transactions or records").step == 20
    with pytest.raises(LookupError, match="no story breaks nothing stays"):
        judged.open("finding-I", "nothing stays")


@pytest.mark.parametrize("said", [{"run": "9 9"}, {"run": 7}, {}, "open", None, {"run": "x y"}])
def test_what_opens_nothing_is_refused_in_one_sentence_and_nothing_changes(panel, said):
    panel._on_message(panel.view, said, [])
    ((answer),) = panel.told
    assert answer["error"].endswith(".")
    assert panel.stepper is None


def test_a_model_that_fails_is_told_on_the_page_and_in_the_log(judged, panel, monkeypatch):
    (run,) = judged.payload()["pictures"]
    monkeypatch.setattr(panel._result, "open_run", lambda _: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        panel._on_message(panel.view, {"run": run}, [])
    assert "ZeroDivisionError" in panel.told[0]["error"]


def test_a_search_shows_its_counterexample_as_a_picture_with_one_sentence_above(judged):
    made_from = (scenario(SMALL), design("finding-I"), FaultBudget())
    found = Search(*made_from, judged.judged[0].explored)  # the same search, not once more
    (broken,) = [block for block in found.payload()["blocks"] if block["kind"] == "broken"]
    assert broken["run"] == "no stuck transactions or records"
    page = found.html()
    assert page.index("Without step") < page.index("<img ") < page.index("<ol>")
    assert found.open_run(broken["run"]).step == 20


@pytest.mark.parametrize("name", ["scenarios", "designs", "slots", "faults"])
def test_a_catalogue_is_a_table_with_a_row_for_each_entry_and_goes_over_its_names(name: str):
    shown = getattr(kipviz, f"list_{name}")()
    ((table),) = shown.payload()["blocks"]
    first = dict.fromkeys(row[0]["text"] for row in table["rows"])
    assert list(first) == list(shown)
    assert len(shown) == len(shown.entries) == len(first)
    assert repr(shown).splitlines()[0].startswith(next(iter(shown)))


def test_a_story_of_the_catalogue_opens_under_its_own_design():
    shown = kipviz.list_scenarios()
    assert shown.open_run("kip-1289-group-commit").payload["scenario"] == "kip-1289-group-commit"
    assert ResultPanel(shown)._keys == set(shown)


def test_outcomes_are_a_page_whose_rows_open():
    outcomes = kipviz.outcomes("kip-1289-two-members", "repaired", "calm", seeds=2)
    assert outcomes.open_run("1").step == outcomes.open(1).step
