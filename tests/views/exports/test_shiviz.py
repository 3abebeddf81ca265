"""A run as a log for ShiViz: its form, and vector clocks that say exactly what could cause what."""

from __future__ import annotations

import json
import re

import pytest

from kipviz.checking.single_run import runs
from kipviz.checking.single_run.seeded_run import Task
from kipviz.command import run_report
from kipviz.views.exports.shiviz import EXPRESSION, events, shiviz
from tests.views.told import payload_of

STORIES = ["kip-1289-share-commit", "kip-1289-small-stepwise", "kip-1289-draft-failover-abort"]


def payload_of_any(name):
    if isinstance(name, Task):
        return run_report.payload_of(runs.replay(name))
    return payload_of(name)


def before(one, other):
    """Say whether one clock is before another one."""
    return one != other and all(count <= other.get(host, 0) for host, count in one.items())


@pytest.mark.parametrize(
    "name",
    [
        *STORIES,
        Task("kip-1289-two-members", "repaired", "rough", 7, 150),
        Task("kip-1289-two-members", "finding-D", "rough", 11, 150),
    ],
)
def test_one_clock_is_before_another_if_and_only_if_the_event_could_cause_the_other(name):
    payload = payload_of_any(name)
    found = list(events(payload))
    numbers = [int(text.partition(".")[0]) for _, _, text in found]
    # Worked out again, without clocks: what an event is right behind.
    behind = [set() for _ in found]
    last, at_step = {}, {}
    for at, (host, _, _) in enumerate(found):
        at_step.setdefault(numbers[at], at)
        if host in last:
            behind[at].add(last[host])
        if at_step[numbers[at]] != at:
            behind[at].add(at_step[numbers[at]])
        last[host] = at
    place = {(numbers[at], host): at for at, (host, _, _) in enumerate(found)}
    for message in payload["messages"]:
        if message["arrived"] is not None:
            sent = place[message["sent"], message["from"]]
            behind[place[message["arrived"], message["to"]]].add(sent)
    causes = []
    for at in range(len(found)):
        causes.append(set().union(behind[at], *(causes[earlier] for earlier in behind[at])))
    for at, (_, clock, _) in enumerate(found):
        for earlier, (_, other, _) in enumerate(found[:at]):
            assert before(other, clock) == (earlier in causes[at])
            assert not before(clock, other)


@pytest.mark.parametrize("name", STORIES)
def test_a_log_is_what_its_own_expression_reads(name):
    payload = payload_of(name)
    first, empty, *rest = shiviz(payload).splitlines()
    assert (first, empty) == (EXPRESSION, "")
    expression = first.replace("(?<", "(?P<")
    matches = list(re.finditer(expression, "\n".join(rest)))
    assert 2 * len(matches) == len(rest)
    assert len(matches) >= len(payload["steps"]) - 1
    counts: dict[str, int] = {}
    for match in matches:
        clock = json.loads(match["clock"])
        counts[match["host"]] = counts.get(match["host"], 0) + 1
        assert clock[match["host"]] == counts[match["host"]]


def test_what_happens_to_no_host_is_an_event_of_the_cluster():
    hosts = [
        host
        for host, _, text in events(payload_of("kip-1289-draft-failover-abort"))
        if "moves to" in text
    ]
    assert set(hosts) == {"cluster"}
