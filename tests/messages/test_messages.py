"""The wire vocabulary: keys and versions are Kafka's, and every request has its answer."""

from __future__ import annotations

import re
import warnings

import pytest

from kipviz.messages.cluster import acls, coordinators, metadata
from kipviz.messages.errors import RETRIABLE, Errors
from kipviz.messages.groups import classic_groups, group_admin, groups, membership
from kipviz.messages.logs import producing
from kipviz.messages.message import Message
from kipviz.messages.shares import share_admin, share_groups, share_membership, share_state
from kipviz.messages.shares.share_groups import (
    AcknowledgementBatch,
    AcknowledgeType,
    batches_of,
    batches_of_each,
    offsets_of,
)
from kipviz.messages.transactions import admin, transactions

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python on Python 3.11
    import kafka.errors
    import kafka.protocol.api_key

ALL = [
    cls
    for module in (
        acls,
        admin,
        classic_groups,
        group_admin,
        groups,
        membership,
        share_membership,
        coordinators,
        metadata,
        producing,
        share_admin,
        share_groups,
        share_state,
        transactions,
    )
    for cls in vars(module).values()
    if isinstance(cls, type) and issubclass(cls, Message) and cls is not Message
]
REQUESTS = [cls for cls in ALL if not cls.IS_RESPONSE]

# name -> (api key, version): Kafka 4.4; the last three are a draft's, a release's and ours.
KAFKA_4_4 = {
    "Produce": (0, 13),
    "Fetch": (1, 18),
    "OffsetCommit": (8, 10),
    "OffsetFetch": (9, 10),
    "JoinGroup": (11, 9),
    "Heartbeat": (12, 4),
    "LeaveGroup": (13, 5),
    "SyncGroup": (14, 5),
    "InitProducerId": (22, 5),
    "AddPartitionsToTxn": (24, 5),
    "AddOffsetsToTxn": (25, 4),
    "EndTxn": (26, 5),
    "WriteTxnMarkers": (27, 2),
    "TxnOffsetCommit": (28, 6),
    "ConsumerGroupHeartbeat": (68, 1),
    "Metadata": (3, 13),
    "FindCoordinator": (10, 6),
    "ShareGroupHeartbeat": (76, 1),
    "InitializeShareGroupState": (83, 0),
    "DeleteShareGroupState": (86, 0),
    "ReadShareGroupStateSummary": (87, 1),
    "ShareGroupDescribe": (77, 1),
    "DescribeShareGroupOffsets": (90, 1),
    "AlterShareGroupOffsets": (91, 0),
    "DeleteShareGroupOffsets": (92, 0),
    "DeleteGroups": (42, 3),
    "ListGroups": (16, 5),
    "DescribeGroups": (15, 6),
    "ConsumerGroupDescribe": (69, 1),
    "OffsetDelete": (47, 0),
    "DescribeAcls": (29, 3),
    "CreateAcls": (30, 3),
    "DeleteAcls": (31, 3),
    "ShareFetch": (78, 2),
    "ShareAcknowledge": (79, 2),
    "DescribeProducers": (61, 0),
    "DescribeTransactions": (65, 0),
    "ListTransactions": (66, 2),
    "ReadShareGroupState": (84, 0),
    "WriteShareGroupState": (85, 1),
    "TxnShareAcknowledge": (93, 0),
    "TellShareGroupState": (-1, 0),
    "TxnWriteShareGroupState": (-1, 0),
}


def test_every_request_has_the_key_and_the_version_of_the_modelled_release():
    assert {c.__name__: (c.API_KEY, c.VERSION) for c in REQUESTS} == KAFKA_4_4


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda c: c.__name__)
def test_every_request_has_an_answer_with_the_same_key_version_and_status(request_):
    (answer,) = [c for c in ALL if c.__name__ == f"{request_.__name__}Response"]
    assert answer.IS_RESPONSE
    assert (answer.API_KEY, answer.VERSION, answer.STATUS) == (
        request_.API_KEY,
        request_.VERSION,
        request_.STATUS,
    )


def test_what_no_release_ships_says_so():
    drafts = {c.__name__: c.STATUS for c in REQUESTS if c.STATUS != "shipped"}
    assert drafts == {
        "TxnShareAcknowledge": "draft",
        "TellShareGroupState": "our inference",
        "TxnWriteShareGroupState": "our inference",
    }


def test_the_keys_that_kafka_python_knows_are_the_same():
    known = {key.name.replace("_", "").lower(): key.value for key in kafka.protocol.api_key.ApiKey}
    shared = {c: known[c.__name__.lower()] for c in REQUESTS if c.__name__.lower() in known}
    assert len(shared) >= 8
    assert {c.__name__: c.API_KEY for c in shared} == {c.__name__: k for c, k in shared.items()}


def _name_in_kafka_python(error: Errors) -> str:
    words = "".join(word.capitalize() for word in error.name.split("_"))
    return re.sub("Error$", "", words)


def test_the_error_codes_that_kafka_python_knows_are_the_same():
    known = {
        re.sub("(Error|Exception)$", "", cls.__name__).lower(): cls.errno
        for cls in vars(kafka.errors).values()
        if isinstance(cls, type) and isinstance(getattr(cls, "errno", None), int)
    }
    shared = {
        e: known[_name_in_kafka_python(e).lower()]
        for e in Errors
        if _name_in_kafka_python(e).lower() in known
    }
    assert len(shared) >= 15
    assert {e.name: e.value for e in shared} == {e.name: code for e, code in shared.items()}


def test_the_retriable_errors_are_those_of_kafka_s_exceptions():
    """Errors whose exception is a RetriableException in kafka-clients 4.4.0, of those there are here."""
    shipped = {e.value for e in RETRIABLE - {Errors.PENDING_TRANSACTION}}  # a draft's
    of_all = {3, 6, 7, 13, 14, 15, 16, 19, 20, 51, 56, 74, 88, 100}
    assert shipped == of_all | {78, 122, 123, 133}


def test_runs_of_offsets_become_batches_and_batches_give_back_the_offsets():
    accept, reject = AcknowledgeType.ACCEPT, AcknowledgeType.REJECT
    assert batches_of((3, 1, 2, 5), accept) == (
        AcknowledgementBatch(1, 3, accept),
        AcknowledgementBatch(5, 5, accept),
    )
    mixed = batches_of_each(((1, accept), (2, reject), (3, reject)))
    assert mixed == (AcknowledgementBatch(1, 1, accept), AcknowledgementBatch(2, 3, reject))
    assert offsets_of(mixed) == (1, 2, 3)


def test_the_number_of_a_request_is_told_only_where_its_sender_counts() -> None:
    answer = producing.ProduceResponse((producing.PartitionProduceResponse("out-0", Errors.NONE),))
    assert "correlation_id" not in answer.told
    assert answer.but(correlation_id=7).told == (*answer.told, "correlation_id")
