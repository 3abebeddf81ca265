"""Runs as ITF, and traces that TLC, Apalache or Quint found, opened as runs of ours."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kipviz
from kipviz.checking.single_run import runs
from kipviz.checking.single_run.runs import Run
from kipviz.checking.single_run.seeded_run import Task
from kipviz.checking.tla import foreign_trace as foreign
from kipviz.checking.tla.foreign_trace import read_foreign
from kipviz.checking.tla.itf import itf_of
from kipviz.checking.tla.names import name_of_action
from kipviz.checking.tla.trace_replay import load
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.core.traces.tracefile import TraceFileError
from kipviz.designs.catalogue import design
from kipviz.scenarios.library import scenario

SMALL = "kip-1289-small"
LOCK = FaultBudget(expire_lock=1)


@cache
def breaking() -> Run:
    """The shortest run that breaks finding-D, as a search finds it."""
    (example,) = kipviz.explore(SMALL, "finding-D", "expire_lock=1").explored.counterexamples
    return runs.follow_found(scenario(SMALL), design("finding-D"), LOCK, example.actions)


def actions(run: Run) -> list[Any]:
    return [run.trace.node(node).action for node in run.trace.line][1:]


def print_trace(run: Run) -> str:
    """The trace as TLC prints it."""
    lines = [
        "TLC2 Version 2.15",
        "Error: Invariant Atomic is violated.",
        "State 1: <Initial predicate>",
    ]
    for number, action in enumerate(actions(run), 2):
        where = f"line {number}, col 3 to line {number + 9}, col 53 of module small"
        lines += [
            "/\\ app_1 = [id |-> 1]",
            "",
            f"State {number}: <{name_of_action(action)} {where}>",
        ]
    return "\n".join([*lines, "/\\ app_1 = [id |-> 1]", "", "9647 states generated"])


def dump_trace(run: Run) -> dict[str, Any]:
    """The trace as -dumpTrace json writes it."""
    names = [name_of_action(action) for action in actions(run)]
    states = [[number, {"app_1": number}] for number in range(1, len(names) + 2)]
    return {
        "state": states,
        "action": [
            [states[at], {"name": name, "location": {"module": "small"}}, states[at + 1]]
            for at, name in enumerate(names)
        ],
    }


def quint(names: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """A trace as quint run --mbt --out-itf writes it."""
    none = {"tag": "None", "value": {"#tup": []}}
    fields = ("source", "broker", "way")
    states = [{"#meta": {"index": 0}, "mbt::actionTaken": "init", "mbt::nondetPicks": {}}]
    for at, (name, picks) in enumerate(names, 1):
        chosen = {f: {"tag": "Some", "value": picks[f]} if f in picks else none for f in fields}
        states.append(
            {"#meta": {"index": at}, "mbt::actionTaken": name, "mbt::nondetPicks": chosen}
        )
    return {"#meta": {"format": "ITF"}, "vars": ["mbt::actionTaken"], "states": states}


FOUND = [
    ("app_1_goes_on", {}),
    ("Send", {"source": "app-1/producer"}),
    ("Deliver", {"source": "app-1/producer", "broker": {"#bigint": "1"}, "way": "request"}),
    ("Deliver", {"way": "response"}),
    ("app-1 goes on", {}),
]


@pytest.fixture
def kept(tmp_path):
    def keep(document: Any, name: str = "trace.json") -> str:
        text = document if isinstance(document, str) else json.dumps(document)
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return keep


# -- ITF -----------------------------------------------------------------------------------------------


def check_itf(value: Any) -> None:
    """Hold a value against ADR 15."""
    if isinstance(value, bool | str):
        return
    assert isinstance(value, dict), value
    match value:
        case {"#bigint": str() as digits}:
            assert int(digits) is not None
        case {"#tup": list() as parts}:
            for part in parts:
                check_itf(part)
        case {"#map": list() as pairs}:
            for key, part in pairs:
                check_itf(key)
                check_itf(part)
        case _:
            for name, part in value.items():
                assert name.isidentifier()
                check_itf(part)


@pytest.mark.parametrize(
    "make",
    [
        breaking,
        lambda: runs.play("kip-1289-lock-expiry", "finding-D"),
        lambda: runs.replay(Task("kip-1289-two-members", "repaired", "rough", 7, 60)),
        lambda: runs.again(runs.play("kip-447-two-copies"), ("clock=timed",)),
    ],
)
def test_a_run_in_itf_keeps_to_its_rules_and_opens_as_the_same_run(make, kept):
    run = make()
    document = json.loads(itf_of(run))
    assert document["#meta"]["format"] == "ITF"
    for at, state in enumerate(document["states"]):
        assert set(state) == {"#meta", *document["vars"]}
        assert state["#meta"] == {"index": at}
        for name in document["vars"]:
            check_itf(state[name])
    again = load(kept(document))
    assert actions(again) == actions(run)
    assert again.trace.world == run.trace.last().world
    assert again.changes == ()
    assert itf_of(again) == itf_of(run)


def test_a_state_that_is_not_the_models_is_told_when_a_document_is_opened(kept):
    document = json.loads(itf_of(breaking()))
    name = document["vars"][2]
    document["states"][4][name] = "something else"
    with pytest.warns(UserWarning, match=f"step 4 came out differently: {name} has another value"):
        kipviz.open_trace(kept(document))


# -- TLC and Quint ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "form", [print_trace, dump_trace, lambda run: {"counterexample": dump_trace(run)}]
)
def test_a_trace_of_tlc_opens_as_the_run_that_it_names(form, kept):
    of = {"scenario": SMALL, "design": "finding-D"}
    run = load(kept(form(breaking())), budget=LOCK, **of)
    assert actions(run) == actions(breaking())
    stepper = kipviz.open_trace(kept(form(breaking())), faults="expire_lock=1", **of)
    assert stepper.step == 31


def test_a_trace_of_quint_names_what_was_done_by_words_or_by_kind_and_arguments(kept):
    run = load(kept(quint(FOUND)), scenario=SMALL)
    assert [name_of_action(action) for action in actions(run)] == [
        "Step_app_1",
        "Send_app_1_producer",
        "Deliver_app_1_producer_1_request",
        "Deliver_app_1_producer_1_response",
        "Step_app_1",
    ]
    assert run.design.name == "repaired"


def test_arguments_in_brackets_are_those_of_the_action(kept):
    text = 'State 1: <Initial predicate>\nState 2: <Step("app-1")>\nState 3: <Send("app-1/producer") line 1, col 1 to line 2, col 2 of module m>\n'
    assert len(actions(load(kept(text), scenario=SMALL))) == 2
    with pytest.raises(TraceFileError, match=r"step 2 \(line 3\), Send, is not possible there"):
        load(kept(text.replace("app-1/producer", "app-1/consumer")), scenario=SMALL)


def test_the_first_step_that_the_model_refuses_is_named_with_its_place_and_what_is_possible(kept):
    with pytest.raises(TraceFileError) as told:
        load(kept(print_trace(breaking())), scenario=SMALL, design="finding-D")
    step, _, possible = str(told.value).partition("step ")[2].partition(". Possible are ")
    assert step == (
        "31 (line 96), ExpireLock_5_g1_AAAAAAAAAAAAAAAAAAAAAg_0_100, is not possible there: "
        "lock expiries: this run allows 0, and they are used up (setting expire_lock)"
    )
    assert possible.startswith(
        "Deliver_B1_markers_3_request (WriteTxnMarkers arrives at B3); Deliver_B1_"
    )
    with pytest.raises(
        TraceFileError, match=r"the nearest name is Send_app_1_producer\. Possible are"
    ):
        load(kept(quint([FOUND[0], ("Sent", {})])), scenario=SMALL)
    with pytest.raises(
        TraceFileError, match=r"step 1 \(states\[1\]\), Send, is not possible there"
    ):
        load(kept(quint([("Send", {})])), scenario=SMALL)


def test_a_name_that_fits_several_actions_asks_for_arguments(kept):
    names = [name_of_action(action) for action in actions(breaking())]
    several = [(name, {}) for name in names[:30]] + [("Deliver", {"way": "request"})]
    with pytest.raises(TraceFileError, match=r"may be any of .*: give its arguments"):
        load(kept(quint(several)), scenario=SMALL, design="finding-D", budget=LOCK)


def test_a_module_says_what_its_traces_are_about(tmp_path, kept):
    kipviz.explore(SMALL, "finding-I").tla(tmp_path / "small.tla", "repaired")
    trace = kept(quint(FOUND))
    assert load(trace, module=tmp_path / "small.tla").design.name == "finding-I"
    assert load(trace, module=tmp_path / "small.tla", design="repaired").design.name == "repaired"
    with pytest.raises(TraceFileError, match="has the designs finding-I, repaired, not finding-D"):
        load(trace, module=tmp_path / "small.tla", design="finding-D")
    with pytest.raises(TraceFileError, match="is not a module that kipviz wrote"):
        load(trace, module=trace)
    with pytest.raises(TraceFileError, match="cannot read"):
        load(trace, module=tmp_path / "none.tla")
    with pytest.raises(TraceFileError, match="does not name its scenario"):
        load(trace)


# -- what is hostile -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"states": 5, "states": [', "is not JSON"),
        ('{"states": []}', "its states are not a list of objects"),
        ('{"states": [1, 2]}', "its states are not a list of objects"),
        ('{"states": [{}, {}]}', "states[1] names no action"),
        ('{"states": [{}, {"action": {"name": 7}}]}', "names no action"),
        ('{"states": [{}, {"action": {"#bigint": 7}}]}', "a value that cannot be an argument"),
        ('{"states": [{}, {"action": 1.5}]}', "a float, which is not a value of ITF"),
        ('{"state": [], "action": [7]}', "action[0] is not a state, an action and a state"),
        ('{"state": {}, "action": 7, "x": "states"}', "is not a trace"),
        ('{"states": ' + "[" * 100_000 + "]" * 100_000 + "}", "is not JSON"),
        ('{"states": [{}, {"action": ' + '{"a":' * 900 + "1" + "}" * 900 + "}]}", "names"),
        ("State 1: <\nState 2: <>", "is neither a trace file of kipviz"),
    ],
)
def test_what_is_no_trace_is_refused_in_one_sentence(text, said, kept):
    with pytest.raises(TraceFileError) as told:
        load(kept(text), scenario=SMALL)
    assert said in str(told.value)
    assert "\n" not in str(told.value)


def test_a_trace_with_too_many_steps_or_bytes_is_refused(kept, monkeypatch):
    many = {"states": [{}] * (foreign.STEPS_MAX + 2)}
    with pytest.raises(TraceFileError, match="a trace that is opened has at most 20,000"):
        load(kept(many), scenario=SMALL)
    monkeypatch.setattr(foreign, "BYTES_MAX", 10)
    with pytest.raises(TraceFileError, match="more than any trace needs"):
        load(kept(quint(FOUND)), scenario=SMALL)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data):
    with suppress(TraceFileError):
        assert read_foreign("some file", b"State 1: <a>\nState 2: <" + data).tool == "TLC"
