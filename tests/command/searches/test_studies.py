"""study, ledger and review: what they print and write, and what nonsense is told."""

from __future__ import annotations

import pytest

from kipviz.checking.single_run import runs
from kipviz.studies.draft_implementation import draft_ledger
from kipviz.studies.draft_implementation.saved_ledger import KeptLedger


def test_without_a_name_the_questions_are_listed(kipviz):
    done = kipviz("study")
    assert done.status == 0
    assert done.out.splitlines()[0].startswith("B1 ")
    assert {s["name"] for s in kipviz("study", "--json").document["studies"]} >= {"B1", "B8"}
    assert "B12        Does a resumed session fence" in done.out
    assert "B21        Is one timeout enough" in done.out


def test_a_study_prints_its_table_and_the_story_of_a_break(kipviz):
    done = kipviz("study", "b1")
    assert done.status == 0
    assert (
        "| the same epoch (the text) | repaired+marker_epoch=equal | holds | breaks after 20 |"
        in done.out
    )
    assert "1. app-1: next statement" in done.out
    assert "no continuation without a new fault resolves it" in done.out


def test_a_study_of_costs_takes_stated_times_and_prints_them(kipviz):
    done = kipviz("study", "cost", "--round-trip", "10", "--fsync", "5", "--json")
    assert done.status == 0
    assert done.document["assumptions"].startswith("round trip client to broker 10 ms")
    (row,) = (
        r for r in done.document["rows"] if r[:2] == ["share group, KIP-1289 repaired", "repaired"]
    )
    # 6 client hops of 5 ms, 6 broker hops of 0.5 ms, 5 appends of 11 ms, 6 requests of 0.1 ms.
    assert row[2] == "88.6 ms"


def test_a_study_with_verdicts_has_its_times_beside_them(kipviz):
    done = kipviz("study", "B33", "--json")
    assert done.document["times"]["rows"][1][2] == "0 ms"
    assert len(done.document["rows"]) == 2


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("cost", "--fsync", "-1"), "fsync_ms must be a number of ms from 0 to 3600000, not -1.0"),
        (
            ("cost", "--fsync", "five"),
            "argument --fsync: it must be a number of ms, such as 0.5, not 'five'",
        ),
        (("B1", "--fsync", "5"), "the study B1 has no table of times, so --fsync changes nothing"),
        (
            ("findings", "--look-up", "5"),
            "--look-up is for a study with a table of times, such as cost",
        ),
    ],
)
def test_stated_times_that_cannot_be_are_bad_input(kipviz, words, sentence):
    done = kipviz("study", *words)
    assert done.status == 2
    assert done.err.startswith(f"kipviz: {sentence}")


def test_an_unknown_study_is_bad_input(kipviz):
    done = kipviz("study", "B99")
    assert done.status == 2
    assert done.err.startswith(
        "kipviz: there is no study 'B99'; the nearest is B9, and the studies are B1, "
    )


def test_a_review_writes_a_page_diagrams_and_traces_that_open(kipviz, tmp_path):
    folder = tmp_path / "review"
    done = kipviz(
        "review",
        "kip-1289-small",
        "--designs",
        "repaired,finding-I",
        "--into",
        str(folder),
        "--json",
    )
    assert done.status == 1
    files = done.document["files"]
    assert files[0] == "review.md"
    assert sorted(files) == sorted(path.name for path in folder.iterdir())
    assert (
        "| finding-I (our inference) | holds | breaks after 20 |"
        in (folder / "review.md").read_text()
    )
    (trace,) = folder.glob("*.trace")
    opened = runs.load(trace)
    assert (opened.design.name, len(opened.trace.line) - 1) == ("finding-I", 20)
    assert (
        (folder / "finding-I--no-stuck-transactions-or-records.mmd")
        .read_text()
        .startswith("sequenceDiagram")
    )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--designs", "repaired,no-such"), "there is no design 'no-such'"),
        (("--designs", ","), "name at least one design"),
        (("--designs", "kafka"), "which design kafka does not have"),
        (("--faults", "expire_lock=-1"), "expire_lock must be a whole number of at least 0"),
    ],
)
def test_a_review_of_nonsense_is_refused_before_anything_is_written(
    kipviz, tmp_path, words, sentence
):
    folder = tmp_path / "review"
    done = kipviz("review", "kip-1289-small", *words, "--into", str(folder))
    assert done.status == 2
    assert sentence in done.err
    assert not folder.exists()


def test_a_folder_that_cannot_be_made_is_bad_input(kipviz, tmp_path):
    (tmp_path / "file").write_text("")
    done = kipviz(
        "review", "kip-1289-small", "--designs", "repaired", "--into", str(tmp_path / "file")
    )
    assert done.status == 2
    assert "cannot make the folder" in done.err


def test_explore_says_which_single_decision_saves_a_counterexample(kipviz):
    words = ("kip-1289-small", "--design", "finding-I", "--saves", "--states-max", "5000")
    done = kipviz("explore", *words, "--json")
    assert done.status == 1
    (found,) = done.document["counterexamples"]
    assert found["saving_step"] == 20
    saved = {f"{d['slot']}={d['option']}": d for d in found["decisions"]}
    assert saved["marker_epoch=greater"]["on_this_course"] == "holds"
    assert saved["marker_epoch=greater"]["every_interleaving"] == "holds, 686 states"
    assert saved["next_poll=accept_all"]["every_interleaving"] == "not searched"


@pytest.fixture
def few_findings(monkeypatch):
    """Let each review have its first finding alone, and that of KIP-1289 three that are quick."""
    from kipviz.studies.review_findings import reviews

    first = [review.but(findings=review.findings[:1]) for review in reviews.REVIEWS]
    first[0] = first[0].but(findings=tuple(map(reviews.finding, ("A", "N", "X1"))))
    monkeypatch.setattr(reviews, "REVIEWS", tuple(first))


def test_the_findings_of_every_review_are_written_as_a_page(kipviz, tmp_path, few_findings):
    page = tmp_path / "FINDINGS.md"
    done = kipviz("study", "findings", "--into", str(page), "--json")
    assert done.status == 0
    told = {each["finding"]: each for each in done.document["findings"]}
    assert list(told) == ["A", "N", "X1", "1310-A", "1319-A", "447-A"]
    assert [each["kip"] for each in told.values()] == [1289, 1289, 1289, 1310, 1319, 447]
    assert (told["A"]["slots"], told["A"]["verdict"]) == ("participant=nowhere", "breaks")
    assert told["N"]["verdict"] == "counted"
    text = page.read_text()
    assert text.startswith("# The findings of our reviews, each shown alone")
    heads = [line for line in text.splitlines() if line.startswith("## ")]
    assert heads == [
        "## KIP-1289: 3 findings",
        "## KIP-1310: 1 finding",
        "## KIP-1319: 1 finding",
        "## KIP-447: 1 finding",
    ]
    assert told["X1"]["link"] in text


def test_the_findings_of_one_kip_are_shown_with_a_hint_at_the_others(kipviz, few_findings):
    of_1289 = kipviz("study", "findings").out
    assert "## KIP-1289: 3 findings" in of_1289
    assert of_1289.endswith("Other reviews: --kip 1310, --kip 1319, --kip 447, or --kip all.\n")
    of_1310 = kipviz("study", "findings", "--kip", "KIP-1310").out
    assert "## KIP-1310: 1 finding" in of_1310
    assert "KIP-1289:" not in of_1310
    of_all = kipviz("study", "findings", "--kip", "all").out
    assert of_all.count("\n## KIP-") == 3
    assert "Other reviews" not in of_all


def test_a_kip_without_a_review_is_answered_with_those_that_have_one(kipviz):
    done = kipviz("study", "findings", "--kip", "1390")
    assert done.status == 2
    assert done.err == (
        "kipviz: there is no review of KIP '1390'; allowed are 1289, 1310, 1319, 447 and all\n"
    )
    assert "--kip belongs to `kipviz study findings`" in kipviz("study", "B1", "--kip", "447").err


def test_no_other_study_is_written_as_a_page(kipviz, tmp_path):
    done = kipviz("study", "B1", "--into", str(tmp_path / "page.md"))
    assert done.status == 2
    assert "--into writes the page of `kipviz study findings`" in done.err


def test_the_ledger_of_the_drafts_prints_its_rows_and_keeps_them(kipviz, tmp_path, monkeypatch):
    first = draft_ledger.every_case()[:1]
    monkeypatch.setattr(draft_ledger, "every_case", lambda: first)
    kept, page = tmp_path / "kept.json", tmp_path / "DRAFTS.md"
    done = kipviz("ledger", "--drafts", "--keep", str(kept), "--into", str(page), "--json")
    assert done.status == 0
    assert [row["verdict"] for row in done.document["rows"]] == ["holds", "holds"]
    assert page.read_text(encoding="utf-8").startswith("# KIP-1289's draft implementation")
    assert len(KeptLedger(kept).cases) == 1


def test_what_the_ledger_of_the_drafts_cannot_do_is_told_in_a_sentence(refused, tmp_path):
    assert "--keep belongs to --drafts" in refused("ledger", "--keep", str(tmp_path / "kept"))
    wrong = tmp_path / "wrong"
    wrong.write_text("no rows", encoding="utf-8")
    assert "keeps no rows of a ledger" in refused("ledger", "--drafts", "--keep", str(wrong))
    assert "it is a folder" in refused("ledger", "--drafts", "--keep", str(tmp_path))
