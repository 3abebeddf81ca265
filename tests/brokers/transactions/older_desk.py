"""A desk where transaction.version is below 2, and a leader there that verifies what it is told to append."""

from __future__ import annotations

from kipviz.brokers.context import Context, ReplyTo
from kipviz.brokers.local_calls import WriteMarker
from kipviz.brokers.logs import partition_leader as pl
from kipviz.brokers.logs.partition_leader import PartitionLeader
from kipviz.driving.desk import Desk
from kipviz.messages.cluster.features import Features
from kipviz.messages.errors import Errors
from kipviz.messages.logs.producing import PartitionProduceData, Produce, ProduceResponse
from kipviz.messages.message_errors import error_in
from kipviz.messages.transactions.transactions import AddPartitionsToTxn
from kipviz.records.batches import DataRecord
from tests.brokers.coordinator_answers import enlisted, with_tag

RECORD = (DataRecord("r", "src-0@100"),)
PRODUCE = Produce("t", (PartitionProduceData("out-0", 9, 0, 0, RECORD),), 11)


class OlderDesk(Desk):
    """A desk in a cluster whose transaction.version is not 2."""

    level = 1

    @property
    def on(self) -> Context:
        on = super().on
        return on.but(image=on.image.but(features=Features(self.level)))


def leader_desk() -> OlderDesk:
    """The leader of out-0, which asks the coordinators of another broker."""
    leaders = {"out-0": 1, **{f"__transaction_state-{i}": 5 for i in range(50)}}
    return OlderDesk(pl, PartitionLeader("out-0", 0), leaders=leaders)


def produce(leader, sequence=0, version=11):
    request = Produce("t", (PartitionProduceData("out-0", 9, 0, sequence, RECORD),), version)
    return leader.ask(pl.on_produce, request)


def verify(leader, error):
    (asked,) = leader.sent(AddPartitionsToTxn)
    answer = enlisted(error, "t", 9, 0, ("out-0",))
    leader.do(pl.on_enlisted(leader.role, answer, leader.on))
    return asked


def answer_question(leader, number):
    """Let the coordinator's yes to one of the leader's questions arrive."""
    answer = enlisted(Errors.NONE, "t", 9, 0, ("out-0",))
    leader.do(pl.on_enlisted(leader.role, with_tag(answer, leader.requests[number].tag), leader.on))


def end_transaction(leader, *, committed=False, epoch=0):
    marker = WriteMarker(ReplyTo("B5/markers", 1, 0), "out-0", 9, epoch, committed, 3, 0)
    leader.do(pl.on_write_marker(leader.role, marker, leader.on))


def list_errors(leader):
    return [error_in(m) for _, m in leader.replies if isinstance(m, ProduceResponse)]
