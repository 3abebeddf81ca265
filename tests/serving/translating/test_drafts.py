"""The requests of drafts: brokers announce and take them only on request."""

import os
from random import Random

import pytest

import kipviz
from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.designs.catalogue import design
from kipviz.messages.errors import Errors
from kipviz.messages.transactions.transactions import InitProducerId
from kipviz.messages.wire.codec import decode, decode_head, encode
from kipviz.messages.wire.frame import REQUEST_HEADER, RESPONSE_HEADER, header_version
from kipviz.scenarios.served_scenario import served_scenario
from kipviz.serving.delivery_rules import rule
from kipviz.serving.served_cluster import MISTAKE, ServedCluster
from kipviz.serving.served_spec import cluster_of, to_serve
from kipviz.serving.translating.apis import APIS, DRAFTS, announced_versions, apis_with
from tests.recordings import made_logs

PRODUCE, INIT_PRODUCER_ID, END_TXN = 0, 22, 26
HEARTBEAT, SHARE_FETCH, TXN_SHARE_ACKNOWLEDGE = 76, 78, 93
SPEC = to_serve(cluster_of(["orders"], brokers=1))
TOPIC_ID = dict(SPEC.topic_ids)["orders"]
WHO = {"GroupId": "g", "MemberId": "m"}
ACCEPT = 1


class Wire:
    """A cluster that serves some drafts, and one connection that asks by frames."""

    def __init__(self, *drafts, under="kafka", spec=SPEC):
        chosen = design(under)
        model = served_scenario(spec, under).model(chosen)
        self.cluster = ServedCluster(model, {1: 9001}, drafts=drafts)
        self.caller = self.cluster.connect(1)
        self.apis = apis_with(drafts)

    def frame(self, key, **told):
        api = self.apis[key]
        version = api.highest
        head = {"RequestApiKey": key, "RequestApiVersion": version, "CorrelationId": 1}
        header = encode(
            REQUEST_HEADER, header_version(api.request, version), {**head, "ClientId": "c"}
        )
        return header.data + encode(api.request, version, told).data

    def ask(self, key, **told):
        api = self.apis[key]
        version = api.highest
        self.cluster.feed(self.caller, self.frame(key, **told))
        data = bytes(self.caller.out)[4:]
        if not data:
            assert self.caller.broken
            return None
        del self.caller.out[:]
        _, start = decode_head(RESPONSE_HEADER, header_version(api.response, version), data)
        answered, _ = decode(api.response, version, data, len(start.data))
        return answered

    def init(self, **more):
        return self.ask(
            INIT_PRODUCER_ID,
            TransactionalId="t",
            TransactionTimeoutMs=60_000,
            **more,
        )

    def stage(self, identity, topic_id=TOPIC_ID):
        batches = ({"FirstOffset": 0, "LastOffset": 1, "AcknowledgeTypes": (ACCEPT,)},)
        partition = {"PartitionIndex": 0, "AcknowledgementBatches": batches}
        return self.ask(
            TXN_SHARE_ACKNOWLEDGE,
            **WHO,
            TransactionalId="t",
            ProducerId=identity["ProducerId"],
            ProducerEpoch=identity["ProducerEpoch"],
            MemberEpoch=2,
            Topics=({"TopicId": topic_id, "Partitions": (partition,)},),
        )

    def states(self):
        (leader,) = (r for r in self.cluster.world.roles.values() if isinstance(r, ShareLeader))
        (share,) = leader.shares.values()
        return [record.state.name for record in share.records.values()]


def test_without_being_asked_brokers_announce_what_kafka_has():
    found = {key: (low, high) for key, low, high in announced_versions(apis_with(()))}
    assert found[INIT_PRODUCER_ID][1] == 5
    assert TXN_SHARE_ACKNOWLEDGE not in found
    asked = {key: (low, high) for key, low, high in announced_versions(apis_with(DRAFTS))}
    assert asked[INIT_PRODUCER_ID] == (0, 6)
    assert asked[TXN_SHARE_ACKNOWLEDGE] == (0, 0)
    assert {key: asked[key] for key in found if key != INIT_PRODUCER_ID} == {
        key: found[key] for key in found if key != INIT_PRODUCER_ID
    }
    assert all(api.request.status != "draft" for api in APIS.values())


@pytest.mark.parametrize("key", [INIT_PRODUCER_ID, TXN_SHARE_ACKNOWLEDGE])
def test_a_draft_s_request_that_nobody_asked_for_is_refused(key):
    wire = Wire()
    wire.apis = apis_with(DRAFTS)
    assert wire.ask(key) is None
    assert wire.caller.broken
    assert len(wire.cluster.lines) == 1


def test_a_producer_without_a_time_limit_is_refused_where_the_setting_is_off():
    assert Wire(939).init(Enable2Pc=True)["ErrorCode"] == (
        Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    )


def test_kafka_as_released_takes_version_6_and_keeps_no_transaction():
    assert Wire(939).init(KeepPreparedTxn=True)["ErrorCode"] == Errors.UNSUPPORTED_VERSION


def test_a_prepared_transaction_is_kept_and_its_identity_is_told():
    settings = SPEC.settings.but(two_phase_commit_enable=True)
    wire = Wire(939, under="kip-939", spec=SPEC.but(settings=settings))
    first = wire.init(Enable2Pc=True)
    assert (first["ErrorCode"], first["OngoingTxnProducerId"]) == (0, -1)
    data = made_logs.batch(
        0,
        ((None, b"a"),),
        pid=first["ProducerId"],
        epoch=first["ProducerEpoch"],
        sequence=0,
    )
    produced = wire.ask(
        PRODUCE,
        TransactionalId="t",
        Acks=-1,
        TimeoutMs=1_000,
        TopicData=({"TopicId": TOPIC_ID, "PartitionData": ({"Index": 0, "Records": data},)},),
    )
    assert produced["Responses"][0]["PartitionResponses"][0]["ErrorCode"] == 0
    again = wire.init(Enable2Pc=True, KeepPreparedTxn=True)
    assert again["ErrorCode"] == 0
    assert again["OngoingTxnProducerId"] == first["ProducerId"]
    assert again["ProducerEpoch"] > first["ProducerEpoch"]


@pytest.mark.parametrize("commit", [True, False])
def test_acknowledgements_are_staged_and_decided_with_the_transaction(commit):
    wire = Wire(1289, under="repaired")
    wire.ask(
        PRODUCE,
        Acks=-1,
        TimeoutMs=1_000,
        TopicData=(
            {
                "TopicId": TOPIC_ID,
                "PartitionData": (
                    {"Index": 0, "Records": made_logs.batch(0, ((None, b"a"), (None, b"b")))},
                ),
            },
        ),
    )
    assert wire.ask(HEARTBEAT, **WHO, MemberEpoch=0, SubscribedTopicNames=("orders",))
    partition = {"PartitionIndex": 0, "AcknowledgementBatches": ()}
    wire.ask(
        SHARE_FETCH,
        **WHO,
        ShareSessionEpoch=0,
        MaxWaitMs=0,
        MinBytes=1,
        MaxRecords=500,
        BatchSize=500,
        Topics=({"TopicId": TOPIC_ID, "Partitions": (partition,)},),
    )
    identity = wire.init()
    staged = wire.stage(identity)
    assert staged, wire.cluster.lines
    assert staged["ErrorCode"] == 0, staged
    assert staged["Responses"][0]["Partitions"][0]["ErrorCode"] == 0
    assert wire.states() == ["TX_PENDING", "TX_PENDING"]
    ended = wire.ask(
        END_TXN,
        TransactionalId="t",
        ProducerId=identity["ProducerId"],
        ProducerEpoch=identity["ProducerEpoch"],
        Committed=commit,
    )
    assert ended["ErrorCode"] == 0
    assert wire.states() == ([] if commit else ["AVAILABLE", "AVAILABLE"])
    assert not wire.cluster.lines


def test_a_topic_that_nobody_knows_is_told_in_the_staging_s_answer():
    wire = Wire(1289, under="repaired")
    told = wire.stage(wire.init(), topic_id="AAAAAAAAAAAAAAAAAAAAAg")
    assert told["Responses"][0]["Partitions"][0]["ErrorCode"] == Errors.UNKNOWN_TOPIC_ID


@pytest.mark.parametrize(("key", "kip"), [(INIT_PRODUCER_ID, 939), (TXN_SHARE_ACKNOWLEDGE, 1289)])
def test_mutated_frames_of_drafts_are_handled_or_refused(key, kip):
    wire, dice = Wire(kip, under="repaired"), Random(1289)
    batches = ({"FirstOffset": 0, "LastOffset": 1, "AcknowledgeTypes": (ACCEPT,)},)
    partition = {"PartitionIndex": 0, "AcknowledgementBatches": batches}
    told = {"TransactionalId": "t", "TransactionTimeoutMs": 60_000, "Enable2Pc": True}
    if key == TXN_SHARE_ACKNOWLEDGE:
        topics = ({"TopicId": TOPIC_ID, "Partitions": (partition,)},)
        told = {"TransactionalId": "t", "GroupId": "g", "MemberId": "m", "Topics": topics}
    whole = wire.frame(key, **told)
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(dice.randint(1, 4)):
            data[dice.randrange(4, len(data))] = dice.randrange(256)
        caller = wire.cluster.connect(1)
        wire.cluster.feed(caller, bytes(data[: dice.randint(8, len(data))]))
        assert caller.out or caller.broken
        wire.cluster.disconnect(caller)
    assert not [line for line in wire.cluster.lines if MISTAKE in line]
    assert wire.ask(INIT_PRODUCER_ID, TransactionalId="u", TransactionTimeoutMs=1_000)


@pytest.mark.parametrize("wrong", [1310, 7, "939"])
def test_a_draft_without_a_request_is_refused_in_one_sentence(wrong):
    with pytest.raises(ValueError, match="are KIP-939 and KIP-1289"):
        kipviz.serve(drafts=[wrong])


@pytest.mark.parametrize("wrong", [{"drafts": [7]}, {"by": "nobody"}, {"rules": ["hold nothing"]}])
def test_a_server_that_cannot_be_made_leaves_no_listener_open(wrong):
    before = open_files()
    with pytest.raises(ValueError, match=r".+"):
        kipviz.serve(**wrong)
    assert open_files() == before


def open_files():
    """Count this process's first file descriptors."""
    return sum(_is_open(number) for number in range(512))


def _is_open(number):
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


@pytest.mark.parametrize(
    ("words", "held"),
    [
        ("hold InitProducerId", ["InitProducerId"]),
        ("hold InitProducerIdResponse", ["InitProducerIdResponse"]),
        ("hold InitProducerIdOfGroup", []),
    ],
)
def test_a_rule_about_a_request_is_about_its_unstable_version_too(words, held):
    wire = Wire(939)
    wire.cluster.rules.append(rule(words))
    told = {"TransactionalId": "t", "TransactionTimeoutMs": 60_000, "Enable2Pc": True}
    wire.cluster.feed(wire.caller, wire.frame(INIT_PRODUCER_ID, **told))
    assert [wire.cluster.message_of(each) for each in wire.cluster.held()] == held


def test_a_rule_about_what_a_draft_made_of_a_request_leaves_kafka_s_alone():
    assert not rule("hold InitProducerIdOfGroup").meets(InitProducerId("t", 60_000))
    assert rule("hold InitProducerId").meets(InitProducerId("t", 60_000))


def test_a_rule_with_a_name_that_a_message_had_before_gets_a_sentence_with_its_name_now():
    with pytest.raises(
        ValueError, match="no message is called InitProducerId2Pc any more: it is Init"
    ):
        rule("hold InitProducerId2Pc")
