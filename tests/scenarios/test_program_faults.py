"""What a story's own program breaks is read off the program, and is so: the same story with a correct one holds."""

from __future__ import annotations

import pytest

from kipviz.checking.single_run.seeded_run import Task, model_of, moments, run
from kipviz.clients.application import Call, Line
from kipviz.cluster.model import ClusterModel
from kipviz.designs.catalogue import design
from kipviz.properties.atomic import Atomic
from kipviz.properties.harm import Harm
from kipviz.properties.verdict import BROKEN
from kipviz.scenarios.applications.program_faults import blame_for_harm, program_faults
from kipviz.scenarios.applications.programs import GROUP_LOOP, READ, SHARE_LOOP
from kipviz.scenarios.library import LIBRARY, scenario

STAGED, SHARED = GROUP_LOOP, SHARE_LOOP
# A fault, a run in which it shows, and the applications' programs that do not have it.
CORRECTED = [
    ("kip-98-two-partitions", "kafka", "calm", 0, Harm.DUPLICATE, {"app-1": STAGED}),
    ("kip-98-stuck-lso", "kafka", "rough", 0, Harm.DUPLICATE, {"app-1": STAGED, "app-2": READ}),
    ("kip-1289-small-members", "repaired", "calm", 0, Harm.LOSS, {"app-2": SHARED}),
    ("kip-1289-corner-8-snapshot", "repaired", "calm", 0, Harm.LOSS, {"app-2": SHARED}),
    (
        "kip-994-who-takes-long",
        "kafka",
        "calm",
        0,
        Harm.DUPLICATE,
        {"app-1": STAGED, "app-2": READ, "app-3": READ},
    ),
]


def with_programs(task: Task, programs: dict[str, tuple[Line, ...]]) -> ClusterModel:
    spec, rules = model_of(task).spec, design(task.design)
    applications = tuple(
        a.but(program=programs[a.name]) if a.name in programs else a for a in spec.applications
    )
    return rules.model(spec.but(applications=applications))


def harms(task: Task, model: ClusterModel) -> set[Harm | None]:
    atomic = Atomic()
    found = [atomic.finding(moment.observations[0]) for moment in moments(task, model)]
    return {each.harm for each in found if each.status == BROKEN}


@pytest.mark.parametrize(("story", "name", "faults", "seed", "kind", "programs"), CORRECTED)
def test_what_a_program_is_blamed_for_is_gone_with_a_correct_program(
    story, name, faults, seed, kind, programs
):
    task = Task(story, name, faults, seed, 300)
    verdict = run(task)
    assert (verdict.status, verdict.broken) == ("program", "atomic")
    assert "the program, not the design: app-" in verdict.reason
    assert harms(task, model_of(task)) == {kind}
    corrected = with_programs(task, programs)
    assert not blame_for_harm(corrected.spec, kind)
    for other in range(6):
        assert harms(task.but(seed=other), corrected) == set()


def test_a_program_that_recovers_its_database_leaves_nothing_in_doubt():
    spec = scenario("kip-1310-two-phase-session").spec
    assert "no line that looks for what is in doubt" in blame_for_harm(spec, Harm.IN_DOUBT)
    (app,) = spec.applications
    look = Line("database.rollback(dbTxnId);", Call.DATABASE_ROLLBACK)
    at = next(k for k, line in enumerate(app.program) if line.call is Call.POLL)
    program = (*app.program[:at], look, *app.program[at:])
    assert not blame_for_harm(spec.but(applications=(app.but(program=program),)), Harm.IN_DOUBT)


def test_a_database_in_doubt_after_a_crash_is_the_program_s_under_both_designs():
    for name in ("repaired", "kip-1310"):
        found = {
            run(Task("kip-1310-unlisted-setting", name, "rough", seed)).status for seed in range(3)
        }
        assert found == {"program"}, name


def test_offsets_with_nothing_but_the_group_s_id_are_the_program_s():
    bare = [
        s
        for s in LIBRARY
        if any(not line.metadata for a in s.spec.applications for line in a.program)
    ]
    assert bare
    for story in bare:
        assert blame_for_harm(story.spec, Harm.DUPLICATE), story.name
        assert not blame_for_harm(story.spec, Harm.LOSS), story.name


def test_a_program_is_not_blamed_for_what_it_cannot_do():
    spec = scenario("kip-1289-small-members").spec
    assert not blame_for_harm(spec, Harm.DUPLICATE)
    assert not blame_for_harm(spec, None)
    assert not blame_for_harm(scenario("kip-1289-small").spec, Harm.LOSS)
    # KIP-1319's own subject: the programs stage what they read, and Kafka takes one topic for another.
    remade = scenario("kip-1319-remade").spec
    assert program_faults(remade) == ()


def test_the_loop_of_each_kip_is_at_fault_for_nothing():
    for name in (
        "kip-1289-share-commit",
        "kip-1289-share-abort",
        "kip-447-zombie",
        "kip-939-dual-write",
    ):
        assert program_faults(scenario(name).spec) == (), name


def test_a_design_that_breaks_more_than_the_program_is_not_excused():
    """In this story app-2 acknowledges for nothing, so records get lost; other breaks are the design's."""
    story = "kip-1289-small-members"
    assert run(Task(story, "as-written", "rough", 0)).status == "program"
    task = Task(story, "as-written", "rough", 1)
    verdict = run(task)
    assert (verdict.status, verdict.broken) == ("breaks", "atomic")
    assert Harm.LOSS not in harms(task, model_of(task))


def test_outputs_in_one_transaction_and_their_acknowledgements_in_another_are_the_programs_fault():
    for story in ("kip-1289-flink-acks-first", "kip-1289-flink-outputs-first"):
        spec = scenario(story).spec
        (fault,) = program_faults(spec)
        assert "stages their acknowledgements in another" in fault.sentence
        assert blame_for_harm(spec, Harm.LOSS)
        assert blame_for_harm(spec, Harm.AGAIN)
        assert not blame_for_harm(spec, Harm.STUCK)
    assert program_faults(scenario("kip-1289-flink-one-transaction").spec) == ()


def test_a_prepared_transaction_that_no_line_ends_is_the_programs_fault():
    spec = scenario("kip-1289-flink-late-element").spec
    assert blame_for_harm(spec, Harm.STUCK)
    assert not blame_for_harm(scenario("kip-1289-flink-never-returns").spec, Harm.STUCK)


def test_a_member_that_acknowledges_outside_the_transaction_leaves_its_record_free_for_a_while():
    spec = scenario("kip-1289-ingress-at-least-once").spec
    assert blame_for_harm(spec, Harm.AGAIN)


@pytest.mark.thorough
def test_kafka_and_the_repaired_design_break_nothing_on_their_own_stories_but_remade_topics():
    unexplained = set()
    for story in LIBRARY:
        for name in {"kafka", "repaired"} & set(story.designs):
            for faults, seeds in (("calm", 2), ("rough", 6), ("hostile", 6)):
                for seed in range(seeds):
                    verdict = run(Task(story.name, name, faults, seed, 400))
                    if verdict.status in {"breaks", "error"}:
                        unexplained.add(story.name)
    assert {name for name in unexplained if not name.startswith("kip-1319-")} == set()
