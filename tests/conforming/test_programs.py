"""Programs are drawn from a seed, and any steps of one are a program, too."""

import pytest

from kipviz.conforming.programs import (
    DISTURBANCES,
    KINDS,
    ClientStep,
    encode_program,
    program,
    read,
)


def test_a_seed_gives_the_same_program_everywhere():
    assert program(7) == program(7)
    assert program(7) != program(8)
    assert [str(step) for step in program(7, 4).steps] == FIRST_OF_SEVEN


FIRST_OF_SEVEN = ["a init new", "b init new", "s share-join", "m join"]


def test_every_kind_of_step_is_drawn_with_every_word_that_it_may_be_told():
    drawn = {step for seed in range(120) for step in program(seed).steps}
    assert {step.does for step in drawn} == {kind[0] for kind in KINDS}
    assert {step.at_once for step in drawn} == {False, True}
    drawn |= {step for seed in range(400) for step in program(seed, 24, brokers=3).steps}
    kinds = (*KINDS, *DISTURBANCES)
    assert {step.does for step in drawn} == {kind[0] for kind in kinds}
    for does, _, who, choices in kinds:
        own = [step for step in drawn if step.does == does]
        assert {step.client for step in own} == set(who)
        for at, words in enumerate(choices):
            assert {step.told[at] for step in own} == set(words)


@pytest.mark.parametrize("brokers", [1, 3])
def test_a_program_is_written_and_read(brokers):
    assert read(encode_program(program(3, brokers=brokers))) == program(3, brokers=brokers)


def test_no_program_kills_more_than_one_broker_and_few_kill_one():
    kills = [
        sum(step.does == "kill" for step in program(seed, brokers=3).steps) for seed in range(200)
    ]
    assert set(kills) == {0, 1}
    assert 5 < sum(kills) < 30


def test_only_a_cluster_of_several_brokers_is_disturbed():
    with pytest.raises(ValueError, match="this is not a step of a program: o move 0"):
        read(encode_program(program(1).but(steps=(ClientStep("o", "move", ("0",)),))))
    with pytest.raises(ValueError, match="a program is for 1 or 3 brokers"):
        read(encode_program(program(1).but(brokers=2)))


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ((ClientStep("a", "fly"),), "this is not a step of a program: a fly"),
        ((ClientStep("r", "init", ("new",)),), "this is not a step of a program: r init new"),
        ((ClientStep("a", "end", ("now",)),), "this is not a step of a program: a end now"),
        ((ClientStep("a", "end", ("now", "maybe")),), "not 'maybe'"),
    ],
)
def test_what_is_no_step_is_refused_in_one_sentence(steps, said):
    with pytest.raises(ValueError, match=r"^[^\n]*$") as refused:
        read(encode_program(program(1).but(steps=steps)))
    assert said in str(refused.value)


def test_what_is_no_program_is_refused_in_one_sentence():
    with pytest.raises(ValueError, match=r"^this is not a program: [^\n]*$"):
        read(b'{"seed": "x"}')
