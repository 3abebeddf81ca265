"""One member of a share group that reads several partitions on several brokers."""

from __future__ import annotations

import pytest

from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.clients.application import Call, Line
from kipviz.cluster.spec_checks.spec_check import check
from kipviz.cluster.specs.abstraction import SMALL
from kipviz.cluster.specs.spec import BadSpec, ClusterSpec, Placement
from kipviz.driving.cluster import Cluster
from kipviz.messages.errors import Errors
from kipviz.scenarios.applications import programs
from kipviz.scenarios.bases import process
from kipviz.scenarios.setting import PLAYGROUND, SHARE_PLACEMENTS, TOPIC_IDS, group_app

WAIT = "the fetch wait of app-1/consumer is over"
RECORDS = (("src-0", 100, ("a", "b", "c")), ("src-1", 200, ("d", "e")), ("src-2", 300, ("f",)))
MORE = (Placement("src-1", 3, (5,)), Placement("src-2", 5, (3,)))


def cluster(records=RECORDS, **changes):
    app = process("share-reader", "app-1", further_sources=("src-1", "src-2"), **changes)
    return SMALL.of_brokers(
        ClusterSpec(
            (1, 3, 5, 7), (*SHARE_PLACEMENTS, *MORE), (app,), records, TOPIC_IDS, PLAYGROUND
        )
    )


class Run(Cluster):
    """A run in which whatever can happen by itself does."""

    def __init__(self, spec):
        super().__init__(spec, "kafka")
        self.seen = []

    @property
    def app(self):
        return self.world.applications["app-1"]

    def on(self, *kinds):
        """Go on until nothing of these kinds can happen; note every batch that a poll brings."""
        for _ in range(200):
            actions = self.model.enabled(self.world)
            ordered = [a for kind in kinds for a in actions if kind == a.KIND]
            if not ordered:
                return self
            before = self.app.records
            self.take(ordered[0])
            if self.app.records and self.app.records != before:
                self.seen += [(r.partition, r.offset) for r in self.app.records]
        raise AssertionError("it is not quiet")


def quietly(spec):
    return Run(spec).on("deliver", "sender", "application")


def leaders(world):
    return {key[0]: role for key, role in world.roles.items() if isinstance(role, ShareLeader)}


def test_every_record_of_every_partition_is_delivered_once():
    run = quietly(cluster())
    expected = [(p, first + i) for p, first, values in RECORDS for i in range(len(values))]
    assert sorted(run.seen) == expected
    roles = leaders(run.world)
    starts = {s.partition: s.start_offset for r in roles.values() for s in r.shares.values()}
    assert starts == {"src-0": 103, "src-1": 202, "src-2": 301}


def test_there_is_one_session_for_each_broker_and_each_has_its_own_epoch():
    run = quietly(cluster())
    roles, consumer = leaders(run.world), run.app.consumer
    told = {broker: role.sessions.get(("g1", "M1")) for broker, role in roles.items()}
    mine = {consumer.sessions.broker: consumer.sessions.epoch}
    mine |= {broker: epoch for broker, epoch, _ in consumer.sessions.others}
    assert mine == {broker: session.epoch for broker, session in told.items() if session}
    assert set(mine) == {3, 5}


def test_partitions_take_turns():
    run = quietly(cluster())
    order = list(dict.fromkeys(p for p, _ in run.seen))
    assert order == ["src-0", "src-1", "src-2"]
    assert run.seen.index(("src-0", 102)) > run.seen.index(("src-2", 300))


def test_a_poll_that_finds_nothing_anywhere_rests_and_asks_again():
    run = quietly(cluster())
    assert run.app.consumer.resting
    assert "no application" not in str(run.app.ended)
    run.take(WAIT)
    assert not run.app.consumer.resting
    run.on("deliver", "sender")
    assert run.app.consumer.resting


def test_close_closes_every_session():
    lines = (*programs.WORK[:2], programs.WORK[2].but(then=-1)) * 4
    close = Line("close", Call.CLOSE_CONSUMER)
    run = quietly(cluster(program=(*lines, close)))
    assert run.app.ended == "it ran to its last line"
    assert not any(len(role.sessions) for role in leaders(run.world).values())


def test_a_broker_that_dies_takes_only_its_own_session_along():
    run = Run(cluster())
    run.on("deliver", "sender", "application")
    run.take("B3 crashes")
    consumer = run.app.consumer
    assert (consumer.sessions.broker, consumer.sessions.others) == (5, ())
    run.take(WAIT)
    run.on("load", "deliver", "sender", "application")
    assert run.app.consumer.resting  # Broker 5 leads all three now


def test_what_was_not_sent_to_a_broker_that_died_is_in_doubt():
    run = Run(cluster())
    run.take("app-1 goes on")
    run.on("deliver", "sender")
    for _ in range(3):
        run.take("app-1 goes on")
    run.take("B5 crashes")
    assert run.app.consumer.done
    assert run.app.consumer.acknowledging.error is Errors.NETWORK_EXCEPTION


def test_only_a_member_of_a_share_group_reads_further_partitions():
    spec = cluster().but(applications=(group_app(further_sources=("src-1",)),))
    with pytest.raises(BadSpec, match="only a member of a share group"):
        check(spec)
    unknown = cluster().but(
        applications=(process("share-reader", "app-1", further_sources=("src-9",)),)
    )
    with pytest.raises(BadSpec, match="src-9"):
        check(unknown)
