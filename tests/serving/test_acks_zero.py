"""A Produce with acks=0 has no response in Kafka, so no rule counts or loses the one of the model."""

from kipviz.serving.delivery_rules import rule
from tests.recordings import made_logs
from tests.serving.test_log_cleaning import TOPIC_ID, Producer
from tests.soaking import raw_client as raw
from tests.soaking.raw_client import encode_frame


def produce(acks):
    data = made_logs.batch(0, ((None, b"once"),))
    partitions = ({"Index": 0, "Records": data},)
    return encode_frame(
        raw.PRODUCE,
        13,
        Acks=acks,
        TimeoutMs=1_000,
        TransactionalId=None,
        TopicData=({"TopicId": TOPIC_ID, "PartitionData": partitions},),
    )[4:]


def test_a_rule_about_produce_responses_passes_over_acks_0():
    cluster = Producer().cluster
    leader = cluster.world.image.leader_of("orders-0")
    lost = rule("lose the 1st ProduceResponse")
    cluster.rules.append(lost)
    silent = cluster.connect(leader)
    cluster.feed(silent, produce(acks=0))
    assert (lost.seen, silent.broken, bytes(silent.out)) == (0, False, b"")
    assert cluster.world.logs["orders-0"].end_offset == 1
    told = cluster.connect(leader)
    cluster.feed(told, produce(acks=-1))
    assert (lost.seen, told.broken) == (1, True)
