"""Frames without sockets: every request in every version, and bytes that are none."""

import sys
from random import Random

import pytest

from kipviz.brokers.membership import patterns
from kipviz.serving.served_cluster import MISTAKE, ServedCluster
from tests.serving.frames import CASES, MODEL, frame, lives, make_cluster


@pytest.mark.parametrize(("key", "version"), CASES)
def test_every_request_in_every_version_has_an_answer_or_a_reason(key, version):
    cluster = make_cluster()
    caller = cluster.connect(1)
    cluster.feed(caller, frame(key, version))
    assert not any(MISTAKE in line for line in cluster.lines), cluster.lines
    waits_for_others = caller.current is not None
    assert caller.out or caller.broken or waits_for_others
    if caller.out:
        assert int.from_bytes(caller.out[:4], "big") == len(caller.out) - 4
        assert caller.out[4:8] == (5).to_bytes(4, "big")
    assert lives(cluster)


def test_frames_with_wrong_bytes_end_their_connection_or_are_answered_and_nothing_else_is_disturbed():
    dice, cluster = Random(20), make_cluster()
    for _ in range(1_500):
        key, version = dice.choice(CASES)
        data = bytearray(frame(key, version))
        for _ in range(dice.randint(1, 4)):
            data[dice.randrange(4, len(data))] = dice.randrange(256)
        caller = cluster.connect(dice.choice((1, 2)))
        cluster.feed(
            caller, bytes(data[: dice.randint(8, len(data))] if dice.random() < 0.2 else data)
        )
        cluster.disconnect(caller)
    mistakes = [line for line in cluster.lines if MISTAKE in line]
    assert not mistakes, mistakes[:5]
    assert list(cluster.callers) == []
    assert lives(cluster)


def test_a_mistake_of_kipviz_costs_one_connection_and_no_other():
    cluster = ServedCluster(MODEL, {1: 9001})  # nobody knows the port of broker 2
    caller, other = cluster.connect(1), cluster.connect(1)
    cluster.feed(caller, frame(3, 12))
    assert caller.broken
    assert any(MISTAKE in line for line in cluster.lines)
    cluster.feed(other, frame(22, 4))
    assert other.out
    assert not other.broken


def test_by_hand_every_delivery_waits_and_long_runs_keep_only_so_many_steps(monkeypatch):
    monkeypatch.setattr("kipviz.serving.served_cluster.STEPS_MAX", 3)
    cluster = ServedCluster(MODEL, {1: 9001, 2: 9002}, "hand")
    caller = cluster.connect(1)
    cluster.feed(caller, frame(3, 12))
    (request,) = cluster.held()
    assert (request.way, cluster.message_of(request)) == ("request", "Metadata")
    assert not caller.out
    cluster.take(request)
    (answer,) = cluster.held()
    assert (answer.way, cluster.message_of(answer)) == ("response", "MetadataResponse")
    cluster.take(answer)
    assert caller.out
    assert cluster.steps == cluster.trace.depth == 3
    cluster.feed(caller, frame(3, 12))
    assert (cluster.steps, cluster.trace.depth) == (4, 3)
    assert any("steps are kept" in line for line in cluster.lines)


def test_an_expression_where_re2_is_not_installed_costs_its_connection_with_the_sentence(
    monkeypatch,
):
    """Nothing stands in for it, and it is no mistake of kipviz: the line says what to install."""
    monkeypatch.setitem(sys.modules, "re2", None)
    patterns.compile_pattern.cache_clear()
    cluster = make_cluster()
    caller, other = cluster.connect(1), cluster.connect(1)
    cluster.feed(caller, frame(66, 2, TransactionalIdPattern="my-.*"))
    assert caller.broken
    (line,) = [line for line in cluster.lines if "regular expression" in line]
    assert line.endswith("which is not installed; install it with: pip install 'kipviz[regex]'")
    assert MISTAKE not in line
    cluster.feed(other, frame(66, 2))
    assert other.out
    assert lives(cluster)
