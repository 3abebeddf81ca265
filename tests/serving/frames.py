"""Frames without sockets: a request in any version, the answer to it, and a cluster without listeners."""

from kipviz.cluster.model import ClusterModel
from kipviz.designs.catalogue import design
from kipviz.messages.wire.codec import decode, decode_head, encode
from kipviz.messages.wire.frame import REQUEST_HEADER, RESPONSE_HEADER, header_version
from kipviz.messages.wire.schema import fields_in
from kipviz.serving.served_cluster import ServedCluster
from kipviz.serving.served_spec import cluster_of, to_serve
from kipviz.serving.translating.apis import APIS

KAFKA = design("kafka")
MODEL = ClusterModel(
    to_serve(cluster_of(["orders"], brokers=2), auto_create_topics=False),
    KAFKA.broker_rules(),
    KAFKA.client_rules(),
)
CASES = [(key, v) for key, api in sorted(APIS.items()) for v in range(api.lowest, api.highest + 1)]
# What a request has where its schema's defaults would be refused before the model sees them.
TOLD = {
    0: {"Acks": -1},
    1: {"MaxWaitMs": 0},
    11: {
        "GroupId": "g",
        "SessionTimeoutMs": 10_000,
        "ProtocolType": "consumer",
        "Protocols": ({"Name": "range", "Metadata": b"\0\0\0\0\0\1\0\6orders\xff\xff\xff\xff"},),
    },
    10: {"Key": "g"},
    22: {"TransactionalId": "t", "TransactionTimeoutMs": 1_000},
}


def frame(key, version, **said):
    api = APIS[key]
    told = {**TOLD.get(key, {}), **said}
    told = {n: v for n, v in told.items() if _has(api.request, n, version)}
    head = {"RequestApiKey": key, "RequestApiVersion": version, "CorrelationId": 5}
    header = encode(REQUEST_HEADER, header_version(api.request, version), {**head, "ClientId": "c"})
    return header.data + encode(api.request, version, told).data


def _has(schema, name, version):
    return any(field.name == name for field in fields_in(schema.fields, version))


def make_cluster():
    return ServedCluster(MODEL, {1: 9001, 2: 9002})


def lives(cluster):
    caller = cluster.connect(1)
    cluster.feed(caller, frame(3, 12))
    return bool(caller.out) and not caller.broken


def answer(caller, response, version, *, old_header=False):
    data = bytes(caller.out)[4:]
    del caller.out[:]
    header = 0 if old_header else header_version(response, version)
    _, start = decode_head(RESPONSE_HEADER, header, data)
    return decode(response, version, data, len(start.data))[0]
