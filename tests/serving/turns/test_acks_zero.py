"""A Produce with acks=0 has no response in Kafka, so the run has none, and no rule counts or loses one."""

from kipviz.cluster.actions import CrashBroker
from kipviz.messages.errors import Errors
from kipviz.messages.events import ConnectionLost, MessageSent, NoResponse
from kipviz.messages.logs.producing import Produce
from kipviz.serving.delivery_rules import rule
from kipviz.serving.served_spec import cluster_of
from tests.recordings import made_logs
from tests.serving.cleaning.test_log_cleaning import (
    KAFKA,
    TOPIC_ID,
    Producer,
    to_serve,
)
from tests.soaking import raw_client as raw
from tests.soaking.raw_client import encode_frame


def produce(acks, sequence=-1):
    pid, epoch = (-1, -1) if sequence < 0 else (7, 0)
    data = made_logs.batch(
        0, ((None, b"once"),), pid=pid, epoch=epoch, sequence=sequence, transactional=False
    )
    partitions = ({"Index": 0, "Records": data},)
    return encode_frame(
        raw.PRODUCE,
        13,
        Acks=acks,
        TimeoutMs=1_000,
        TransactionalId=None,
        TopicData=({"TopicId": TOPIC_ID, "PartitionData": partitions},),
    )[4:]


def connect(cluster):
    return cluster.connect(cluster.world.image.leader_of("orders-0"))


def events_of(cluster):
    trace = cluster.trace
    return [event for node in trace.line for event in trace.jump(node).events]


def test_a_rule_about_produce_responses_passes_over_acks_0():
    cluster = Producer().cluster
    lost = rule("lose the 1st ProduceResponse")
    cluster.rules.append(lost)
    silent = connect(cluster)
    cluster.feed(silent, produce(acks=0))
    assert (lost.seen, silent.broken, bytes(silent.out)) == (0, False, b"")
    assert cluster.world.logs["orders-0"].end_offset == 1
    told = connect(cluster)
    cluster.feed(told, produce(acks=-1))
    assert (lost.seen, told.broken) == (1, True)


def test_a_run_has_no_response_to_acks_0_and_the_next_request_is_served():
    cluster = Producer().cluster
    silent = connect(cluster)
    cluster.feed(silent, produce(acks=0))
    cluster.feed(silent, produce(acks=0))
    events = events_of(cluster)
    sent = [e for e in events if isinstance(e, MessageSent) and e.source == silent.source]
    assert [type(each.message) for each in sent] == [Produce, Produce]
    assert sum(isinstance(event, NoResponse) for event in events) == 2
    assert cluster.world.logs["orders-0"].end_offset == 2
    cluster.feed(silent, produce(acks=1))
    assert silent.out


def test_a_rejected_batch_with_acks_0_closes_the_connection_in_the_run_too():
    cluster = Producer().cluster
    silent = connect(cluster)
    cluster.feed(silent, produce(acks=0, sequence=0))
    cluster.feed(silent, produce(acks=0, sequence=5))
    code = int(Errors.OUT_OF_ORDER_SEQUENCE_NUMBER)
    assert silent.broken
    assert f"a batch with acks=0 is rejected with error code {code}" in cluster.lines[-1]
    assert sum(isinstance(event, ConnectionLost) for event in events_of(cluster)) == 1


def test_only_acks_all_needs_the_in_sync_replicas():
    spec = to_serve(cluster_of({"orders": 1}).but(min_insync_replicas=(("orders", 3),)))
    cluster = Producer(KAFKA.model(spec)).cluster
    leader = cluster.world.image.leader_of("orders-0")
    cluster.take(CrashBroker(next(b for b in cluster.world.up if b != leader)))
    cluster.run()
    one = connect(cluster)
    cluster.feed(one, produce(acks=-1))
    assert cluster.world.logs["orders-0"].end_offset == 0
    for acks in (1, 0):
        cluster.feed(one, produce(acks=acks))
    assert cluster.world.logs["orders-0"].end_offset == 2
    assert not one.broken
