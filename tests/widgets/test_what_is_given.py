"""What is no path, no text and no list of names is refused in one sentence, wherever a notebook gives it."""

import pytest

import kipviz

SMALL = "kip-1289-small"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: kipviz.open(SMALL, keep=3.5), "keep must be a path, such as 'run.trace', not 3.5"),
        (lambda: kipviz.open_trace(None), "a trace file must be a path"),
        (lambda: kipviz.save(None, "x"), "a stepper must be the result of kipviz.open"),
        (lambda: kipviz.rebuild(None), "the folder of logs must be a path"),
        (lambda: kipviz.accept([]), "name at least one broker's folder of logs"),
        (lambda: kipviz.accept(".", 4), "the request log must be a path"),
        (lambda: kipviz.saves("x"), "a run must be a stepper, a task or a verdict, not 'x'"),
        (
            lambda: kipviz.corners("repaired"),
            "designs must be a list of names, such as ['repaired']",
        ),
        (lambda: kipviz.corners(3), "designs must be a list of names"),
        (lambda: kipviz.verdicts(SMALL, None), "designs must be a list of names"),
        (
            lambda: kipviz.verdicts(SMALL, [], 7),
            "faults must be a text, such as 'expire_lock=1', not 7",
        ),
        (lambda: kipviz.explore(SMALL, "repaired", 3), "faults must be a text"),
        (lambda: kipviz.explore(SMALL, "repaired", reduce=3), "reduce must be a text"),
        (lambda: kipviz.campaign(SMALL, 3, way="loop"), "a design must be a list of names"),
        (
            lambda: kipviz.campaign([3], "repaired", way="loop"),
            "a scenario must be a list of names",
        ),
        (
            lambda: kipviz.landscape(3),
            "designs must be a list of names, such as ['repaired'], not 3",
        ),
        (lambda: kipviz.landscape(down=3), "an axis must be a setting and its values, not 3"),
    ],
)
def test_a_call_with_what_it_cannot_take_says_what_it_takes(call, said):
    with pytest.raises(ValueError, match=r"^") as refusal:
        call()
    assert said in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.fixture(scope="module")
def stepper():
    return kipviz.open(SMALL)


@pytest.mark.parametrize("wrong", [None, 3, b"B1 crashes", ["B1 crashes"]])
def test_a_fault_and_a_choice_are_named_by_words(stepper, wrong):
    for ask in (stepper.points, stepper.fault_at):
        with pytest.raises(
            ValueError, match=r"^a fault must be a text, such as 'B1 crashes', not "
        ):
            ask(wrong)
    with pytest.raises(ValueError, match=r"^there is no choice "):
        stepper.take(wrong)
    with pytest.raises(
        ValueError, match=r"^what may go wrong must be a text, such as 'calm', not "
    ):
        stepper.run_on(1, 5, wrong)


def test_half_a_character_is_no_name_of_a_branch(stepper):
    with pytest.raises(ValueError, match=r"^a name has whole characters, not halves of one as "):
        stepper.name("\ud800")
