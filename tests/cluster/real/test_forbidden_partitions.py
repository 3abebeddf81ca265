"""A client below transaction version 2 that may not write to one of the partitions that it adds."""

from __future__ import annotations

from kipviz.brokers.authorizer import Acl
from kipviz.clients.application import Call, Line
from kipviz.cluster.actions import Step
from kipviz.cluster.specs.spec import Placement
from kipviz.messages.apis.rights import Operation, Resource
from kipviz.messages.errors import Errors
from kipviz.messages.events import MessageSent
from kipviz.messages.transactions.transactions import AddPartitionsToTxnResponse
from kipviz.scenarios.applications.programs import COPY
from kipviz.scenarios.script import next_by_itself
from tests.cluster.small_clusters import model_of, small_spec

Op, R = Operation, Resource
ALL = tuple(
    Acl("*", operation, resource, "*")
    for operation, resource in (
        (Op.WRITE, R.TRANSACTIONAL_ID),
        (Op.READ, R.GROUP),
        (Op.READ, R.TOPIC),
        (Op.WRITE, R.TOPIC),
    )
)
BOTH = (
    *COPY[:4],
    Line("producer.send(other);", Call.SEND, target="output-B-0"),
    Line("producer.commitTransaction();", Call.COMMIT_TRANSACTION),
)


def test_nothing_is_added_and_the_transaction_has_to_be_aborted():
    spec = small_spec("group", program=BOTH)
    spec = spec.but(
        transaction_version=1,
        placements=(*spec.placements, Placement("output-B-0", 3)),
        acls=(*ALL, Acl("app-1", Op.WRITE, R.TOPIC, "output-B", allow=False)),
    )
    model = model_of(spec, "kafka-tv1")
    world, events = model.initial(), []
    for _ in range(60):
        step = Step("app-1")
        action = step if model.why_not(world, step) is None else next_by_itself(model, world)
        if action is None:
            break
        outcome = model.step(world, action)
        world, events = outcome.world, [*events, *outcome.events]
    answers = [e.message for e in events if isinstance(e, MessageSent)]
    added = [m for m in answers if isinstance(m, AddPartitionsToTxnResponse)]
    (told,) = (result for message in added for result in message.results)
    assert {p: told.error_of(p) for p in told.partitions} == {
        "output-A-0": Errors.OPERATION_NOT_ATTEMPTED,
        "output-B-0": Errors.TOPIC_AUTHORIZATION_FAILED,
    }
    assert world.applications["app-1"].producer.state_name == "ABORTABLE_ERROR"
    assert not world.logs["output-A-0"].batches
