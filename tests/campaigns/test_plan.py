"""Which runs a campaign has."""

import re

import pytest

from kipviz.campaigns.plan import TASK_MODULE, known_names, make_plan
from kipviz.scenarios import library

STAND_IN = "tests.spark.stand_in_task"


def small(**changes):
    words = {"scenarios": "copy", "designs": "right", "task_module": STAND_IN} | changes
    return make_plan(**words)


def test_job_numbers_run_through_scenarios_then_designs_then_faults_then_seeds():
    plan = small(designs=("right", "twice"), faults=("calm", "rough"), runs=3, seed=40)
    tasks = [plan.task(job) for job in range(plan.jobs)]
    assert [(t.design, t.faults, t.seed) for t in tasks] == [
        (design, faults, seed)
        for design in ("right", "twice")
        for faults in ("calm", "rough")
        for seed in (40, 41, 42)
    ]


@pytest.mark.parametrize("runs", [1, 2, 3, 7, 40, 100, 377, 1000])
def test_every_job_has_exactly_one_place(runs):
    plan = small(runs=runs)
    assert sorted(plan.job_at(place) for place in range(plan.jobs)) == list(range(plan.jobs))


def test_neighbouring_jobs_are_spread_evenly_over_the_partitions():
    plan = small(designs=("right", "slow"), runs=1000)
    partitions, size = 40, plan.jobs // 40
    slow = [
        sum(plan.job_at(place) >= 1000 for place in range(k * size, (k + 1) * size))
        for k in range(partitions)
    ]
    assert min(slow) >= size // 2 - 2
    assert max(slow) <= size // 2 + 2


def test_a_plan_says_itself_in_one_line():
    plan = small(designs=("right", "twice"), runs=5, seed=7)
    assert str(plan) == ("10 runs: scenario copy x 2 designs x fault profile calm x seeds 7..11")


def test_the_catalogues_are_what_may_be_named():
    known = known_names(TASK_MODULE)
    plan = make_plan("kip-1289-small", ["repaired", "finding-D"], known["faults"], runs=2)
    assert plan.jobs == 2 * 2 * len(known["faults"])
    assert plan.task(0).design == "repaired"
    for scenario in known["scenarios"]:
        assert make_plan(scenario, library.scenario(scenario).designs, "calm", runs=1).jobs


def test_a_design_made_from_a_named_one_is_run_like_any_other():
    made = "repaired+next_poll=accept_the_unstaged"
    plan = make_plan("kip-1289-small", ["repaired", made], runs=2)
    assert [plan.task(job).design for job in range(plan.jobs)] == ["repaired"] * 2 + [made] * 2


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        ("perfect+eviction=allowed", "there is no design 'perfect.eviction=allowed'"),
        ("repaired+nothing=x", "there is no slot 'nothing'"),
        ("repaired+eviction=maybe", "slot eviction has no option 'maybe'"),
        ("repaired+eviction", "'eviction' is not of the form slot=option"),
    ],
)
def test_a_design_that_cannot_be_made_is_refused_before_anything_runs(made, sentence):
    with pytest.raises(ValueError, match=sentence):
        make_plan("kip-1289-small", made)


def test_a_scenario_that_a_design_cannot_play_is_refused_before_anything_runs():
    with pytest.raises(
        ValueError, match=r"^kip-1289-share-commit stages .* which design kafka does"
    ):
        make_plan(("kip-1289-group-commit", "kip-1289-share-commit"), ("repaired", "kafka"))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"designs": "wrong"}, "there is no design 'wrong': choose from right, twice, forgets"),
        (
            {"scenarios": ["copy", "no"]},
            "there is no scenario 'no': choose from copy, copy_slowly",
        ),
        ({"faults": "windy"}, "there is no fault profile 'windy': choose from calm, rough"),
        ({"designs": ()}, "no design was named: choose from right"),
        ({"designs": ("right", "right")}, "the design 'right' is named twice: name each one once"),
        ({"runs": 0}, "runs must be a whole number of at least 1, not 0"),
        ({"runs": -3}, "runs must be a whole number of at least 1, not -3"),
        ({"runs": 2.5}, "runs must be a whole number of at least 1, not 2.5"),
        ({"runs": True}, "runs must be a whole number of at least 1, not True"),
        ({"runs": "10"}, "runs must be a whole number of at least 1, not '10'"),
        ({"steps_max": 0}, "steps_max must be a whole number of at least 1, not 0"),
        ({"seed": "x"}, "seed must be a whole number, not 'x'"),
        ({"seed": 1.0}, "seed must be a whole number, not 1.0"),
        ({"seed": None}, "seed must be a whole number, not None"),
        ({"seed": 2**63}, "seed must fit 64 bits, and 9223372036854775808 with 100 runs does not"),
        ({"runs": 10**9}, "a campaign has at most 5000000 runs, not 1000000000: split it by seed"),
    ],
)
def test_a_bad_word_or_number_is_refused_in_one_sentence(changes, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)) as refusal:
        small(**changes)
    assert str(refusal.value).startswith(sentence)
    assert not str(refusal.value).endswith(".")
    assert "\n" not in str(refusal.value)
