"""play, replay, explore and compare: what they say, and what their exit status says."""

import json
import signal

import pytest

from kipviz.checking.single_run.seeded_run import Task, run

BROKEN = "kip-1289-lock-expiry"
SEEDED = ("--scenario", "kip-1289-two-members", "--faults", "rough")


def breaking_seed() -> int:
    for seed in range(40):
        if run(Task("kip-1289-two-members", "finding-D", "rough", seed)).status == "breaks":
            return seed
    raise AssertionError("no seed below 40 breaks finding-D")


# --- play ----------------------------------------------------------------------------------------


def test_a_story_is_told_in_big_steps_with_small_ones_below(kipviz):
    done = kipviz("play", "kip-1289-share-commit")
    assert done.status == 0
    assert done.err == ""
    lines = done.out.splitlines()
    first = lines.index("  1. producer.initTransactions()")
    assert lines[first + 1].split(maxsplit=2)[:2] == ["1", "app-1"]
    assert lines[first + 1].endswith("app-1 calls initTransactions().")
    assert "design repaired (our inference)" in lines[1]
    assert lines[-3] == "✓ atomic holds"
    assert lines[-1].startswith("fingerprint ")


def test_a_property_that_a_story_breaks_is_exit_status_1(kipviz):
    done = kipviz("play", BROKEN, "--design", "finding-D")
    assert done.status == 1
    assert "✗ atomic breaks at step " in done.out
    assert kipviz("play", BROKEN, "--design", "repaired").status == 0


def test_a_record_that_waits_for_ever_breaks_a_property_at_the_end_of_a_story(kipviz):
    done = kipviz("play", "kip-1289-share-commit", "--design", "finding-I", "--json")
    assert done.status == 1
    found = {v["property"]: v for v in done.document["verdicts"]}
    assert found["atomic"]["status"] == "holds"
    waiting = found["no stuck transactions or records"]
    assert waiting["status"] == "broken"
    assert "TX_PENDING" in waiting["reason"]


def test_what_is_only_late_at_the_end_of_a_story_breaks_nothing(kipviz):
    done = kipviz("play", "kip-1289-share-commit", "--design", "as-written", "--json")
    waiting = done.document["verdicts"][1]
    assert waiting["status"] == "holds"
    assert waiting["reason"].endswith("can still be resolved")
    assert done.document["steps"][-1]["verdicts"]["no stuck transactions or records"] == "pending"


def test_the_document_of_a_story_holds_what_the_text_says(kipviz):
    text = kipviz("play", BROKEN, "--text")
    told = kipviz("play", BROKEN, "--json").document
    for step in told["steps"]:
        assert step["sentence"] in text.out
    assert [big["title"] for big in told["bigs"]][:2] == [
        "producer.initTransactions()",
        "consumer.poll()",
    ]
    assert told["steps"][0]["big"] == 0
    assert told["steps"][1]["action"] == "app-1: next statement"
    assert told["fingerprint"] in text.out
    assert told["holds"] is False


def test_a_design_can_be_made_from_another_one_by_name(kipviz):
    made = kipviz("play", BROKEN, "--design", "repaired+lock_expiry=back_to_available", "--json")
    assert made.status == 1
    assert made.document["design"] == "repaired+lock_expiry=back_to_available"


# --- replay --------------------------------------------------------------------------------------


def test_a_seeded_run_is_the_one_that_the_campaign_judged(kipviz):
    seed = breaking_seed()
    verdict = run(Task("kip-1289-two-members", "finding-D", "rough", seed))
    done = kipviz("replay", *SEEDED, "--design", "finding-D", "--seed", seed, "--json")
    assert done.status == 1
    told = done.document
    broken = next(v for v in told["verdicts"] if v["status"] == "broken")
    assert (broken["property"], broken["step"]) == (verdict.broken, verdict.step)
    assert broken["reason"] == verdict.reason
    assert len(told["steps"]) == verdict.steps + 1
    assert told["fingerprint"] == verdict.fingerprint
    assert (told["seed"], told["faults"]) == (seed, "rough")


def test_a_seeded_run_that_holds_is_exit_status_0_and_told_step_by_step(kipviz):
    done = kipviz("replay", *SEEDED, "--design", "repaired", "--seed=-3")
    assert done.status == 0
    assert "app-1 calls initTransactions()." in done.out
    assert done.out.splitlines()[-1].startswith("fingerprint ")


def test_a_run_that_is_cut_early_ends_there(kipviz):
    done = kipviz(
        "replay", *SEEDED, "--design", "repaired", "--seed", 1, "--steps-max", 12, "--json"
    )
    assert len(done.document["steps"]) == 13


def test_a_model_that_fails_in_the_middle_is_told_up_to_there(kipviz, monkeypatch):
    from kipviz.cluster.model import ClusterModel

    real, seen = ClusterModel.step, []

    def step(self, world, action):
        seen.append(action)
        if len(seen) == 21:
            raise KeyError("no such shelf")
        return real(self, world, action)

    monkeypatch.setattr(ClusterModel, "step", step)
    done = kipviz("replay", *SEEDED, "--design", "repaired", "--seed", 1, "--json")
    assert done.status == 1
    assert "KeyError at step" in done.document["error"]
    assert len(done.document["steps"]) > 5


# --- explore -------------------------------------------------------------------------------------


def test_a_search_names_the_shortest_run_that_breaks_a_property(kipviz):
    done = kipviz("explore", "kip-1289-small", "--design", "finding-D", "--faults", "expire_lock=1")
    assert done.status == 1
    lines = done.out.splitlines()
    assert "atomic breaks after" in lines[0]
    assert any(line.endswith("  the lock of src-0@100 expires") for line in lines)


def test_a_search_that_finds_nothing_says_how_much_it_saw(kipviz):
    done = kipviz("explore", "kip-1289-small", "--design", "repaired", "--json")
    assert done.status == 0
    assert done.document["complete"] is True
    assert done.document["counterexamples"] == []
    assert done.document["sentence"].endswith("no property is broken")
    assert not any(done.document["budget"].values())


def test_a_search_that_is_cut_says_that_it_is_not_complete(kipviz):
    done = kipviz("explore", "kip-1289-small", "--design", "repaired", "--states-max", 50, "--json")
    assert done.status == 0
    assert done.document["complete"] is False
    assert "not complete" in done.document["sentence"]


def test_a_search_tries_a_cut_between_sets_of_hosts_that_is_named(kipviz):
    words = ("explore", "kip-1289-small", "--design", "repaired", "--faults", "cut=1")
    words = (*words, "--depth-max", 2, "--json")
    pairs = kipviz(*words).document
    named = kipviz(*words, "--cut", "B1 B3 | B5 app-1", "--cut", "app-1 | *").document
    assert named["settings"] == ["splits=B1 B3 | B5 app-1; app-1 | *"]
    assert named["states"] > pairs["states"]


def test_a_saved_counterexample_breaks_the_same_property_when_it_is_played(kipviz, tmp_path):
    file = tmp_path / "found.trace"
    words = ("explore", "kip-1289-small", "--design", "finding-D", "--faults", "expire_lock=1")
    found = kipviz(*words, "--save", file, "--json").document
    (example,) = found["counterexamples"]
    played = kipviz("play", "--from-trace", file, "--json")
    assert played.status == 1
    told = played.document
    assert [step["action"] for step in told["steps"][1:]] == example["steps"]
    broken = next(v for v in told["verdicts"] if v["status"] == "broken")
    assert (broken["property"], broken["step"]) == (example["property"], len(example["steps"]))
    assert told["budget"] == {"expire_lock": 1}


def test_a_search_without_a_counterexample_saves_nothing(kipviz, tmp_path):
    file = tmp_path / "none.trace"
    done = kipviz("explore", "kip-1289-small", "--design", "repaired", "--save", file, "--json")
    assert done.document["saved"] is None
    assert list(tmp_path.iterdir()) == []


def test_a_search_goes_on_from_the_file_in_which_it_stopped(kipviz, tmp_path):
    words = ("explore", "kip-1289-small", "--design", "repaired", "--resume", tmp_path / "search")
    cut = kipviz(*words, "--states-max", 300, "--json").document
    assert (cut["complete"], cut["stopped"]) == (False, "the bound of 300 states")
    whole = kipviz(*words, "--json").document
    assert (whole["complete"], whole["states"], whole["clock"]) == (True, 686, "untimed")


def test_an_interrupted_search_tells_and_keeps_what_it_found(kipviz, tmp_path, monkeypatch):
    from kipviz.command.output import Progress

    def interrupt(self, states, depth):
        if states > 300:
            signal.raise_signal(signal.SIGINT)
        return True

    monkeypatch.setattr(Progress, "states", interrupt)
    words = ("explore", "kip-1289-small", "--design", "repaired", "--resume", tmp_path / "search")
    cut = kipviz(*words, "--json")
    assert (cut.status, cut.document["stopped"]) == (130, "cancelled")
    monkeypatch.undo()
    assert kipviz(*words, "--json").document["states"] == 686


def test_a_reduced_search_says_so_and_its_counterexample_can_be_shrunk(kipviz):
    words = ("explore", "kip-1289-small", "--design", "finding-D", "--faults", "expire_lock=1")
    full = kipviz(*words, "--full-states", "--json").document
    less = kipviz(*words, "--reduce", "order", "--shrink", "--json").document
    assert (full["reductions"], less["reductions"]) == ([], ["order"])
    assert less["states"] < full["states"]
    assert len(less["counterexamples"][0]["steps"]) == len(full["counterexamples"][0]["steps"])


def test_a_search_to_a_depth_says_that_it_is_not_complete(kipviz):
    words = ("explore", "kip-1289-small", "--design", "repaired", "--depth-max", 5)
    assert "to depth 4, not complete (the bound of depth 5)" in kipviz(*words).out


# --- compare -------------------------------------------------------------------------------------


def test_a_comparison_shows_where_two_designs_part(kipviz):
    words = ("compare", BROKEN, "--left", "repaired", "--right", "finding-D")
    done = kipviz(*words, "--json")
    assert done.status == 0
    told = done.document
    at = told["difference"]["at"]
    for row in told["steps"][:at]:
        assert row["left"]["sentence"] == row["right"]["sentence"]
        assert row["left"]["verdicts"] == row["right"]["verdicts"]
    row = told["steps"][at]
    assert "lock" in row["right"]["sentence"]
    assert row["right"]["verdicts"]["atomic"] == "broken"
    assert told["left"]["holds"] is True
    assert told["right"]["holds"] is False
    text = kipviz(*words).out
    assert f"first difference at {at}: " in text
    assert "right: ✗ atomic breaks at step " in text
    assert "left: ✓ atomic holds" in text


def test_a_design_does_not_differ_from_itself(kipviz):
    words = ("compare", "kip-1289-small", "--left", "repaired", "--right", "repaired")
    assert "no difference" in kipviz(*words).out.splitlines()
    assert kipviz(*words, "--json").document["difference"] is None


# --- list ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["scenarios", "designs", "slots", "faults", "profiles"])
def test_a_catalogue_is_the_same_in_text_and_in_json(kipviz, what):
    (entries,) = kipviz("list", what, "--json").document.values()
    assert entries
    text = kipviz("list", what).out
    for entry in entries:
        assert entry["name"] in text


def test_everything_there_is_comes_in_one_list(kipviz):
    assert list(kipviz("list", "--json").document) == [
        "scenarios",
        "designs",
        "slots",
        "faults",
        "profiles",
    ]
    assert {"SCENARIOS", "DESIGNS", "SLOTS", "FAULTS", "PROFILES"} <= set(
        kipviz("list").out.splitlines()
    )


def test_a_listed_story_can_be_played_under_the_last_design_it_is_listed_for(kipviz):
    """Every twelfth: tests/scenarios plays each under all of them; the last one breaks most."""
    for entry in kipviz("list", "scenarios", "--json").document["scenarios"][::12]:
        done = kipviz("play", entry["name"], "--design", entry["designs"][-1], "--json")
        assert done.status == (0 if json.loads(done.out)["holds"] else 1)


def test_two_stories_of_a_pair_stand_side_by_side_beat_for_beat(kipviz):
    words = ("compare", "kip-1310-share-producer", "--to", "kip-1310-share-session")
    told = kipviz(*words, "--json").document
    assert (told["scenario"], told["to"]) == (words[1], words[3])
    assert len(told["bigs"]) == 8
    # initTransactions() and initialize() are one call under two names; the transactional acknowledgement's client is a difference.
    assert told["difference"]["at"] == 21
    assert told["renamed"][0] == {"at": 1, "left": "initTransactions()", "right": "initialize()"}
    assert told["left"]["holds"] is told["right"]["holds"] is True


def test_three_designs_stand_in_columns_against_the_first_one(kipviz):
    words = ("compare", "kip-1289-lock-expiry", "--designs", "repaired,as-written,finding-D")
    told = kipviz(*words, "--json").document
    assert [each["design"] for each in told["designs"]] == ["repaired", "as-written", "finding-D"]
    firsts = {each["design"]: each["difference"]["at"] for each in told["differences"]}
    assert firsts == {"as-written": 22, "finding-D": 33}
    cells = told["steps"][22]["cells"]
    assert [cell["is"] for cell in cells] == ["same", "differs", "same"]
    done = kipviz(*words)
    assert done.status == 0
    assert "as-written: first difference from repaired at 22: " in done.out


def test_two_designs_are_the_two_sides(kipviz):
    words = ("compare", "kip-1289-lock-expiry")
    named = kipviz(*words, "--designs", "repaired,finding-D", "--json").document
    assert named == kipviz(*words, "--left", "repaired", "--right", "finding-D", "--json").document


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ("--designs", "repaired"),
            "--designs must be two or more designs with commas between them",
        ),
        (
            ("--designs", "repaired,kafka", "--left", "repaired"),
            "--designs names all designs of one story",
        ),
        (("--designs", "repaired,finding-D,repaired"), "the design repaired is named twice"),
        (("--designs", "repaired,finding-D,xx"), "there is no design 'xx'"),
    ],
)
def test_columns_that_cannot_be_are_bad_input(kipviz, words, sentence):
    done = kipviz("compare", "kip-1289-lock-expiry", *words)
    assert done.status == 2
    assert done.err.startswith(f"kipviz: {sentence}")
