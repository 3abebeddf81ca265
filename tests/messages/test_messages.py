"""The wire vocabulary: keys and versions are Kafka's, and every request has its answer."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path

import pytest

from kipviz.messages.apis.catalogue import API_OF, APIS
from kipviz.messages.cluster.metadata import Metadata
from kipviz.messages.cluster.topic_creation import CreateTopics
from kipviz.messages.errors import RETRIABLE, Errors
from kipviz.messages.logs.list_offsets import ListOffsets
from kipviz.messages.shares.share_groups import (
    AcknowledgementBatch,
    AcknowledgeType,
    batches_of,
    batches_of_each,
    offsets_of,
)
from tests.messages.found import messages

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python on Python 3.11
    import kafka.errors
    import kafka.protocol.api_key

RECORDED = Path(__file__).parent / "kafka-4.4.0" / "schemas.json"
ALL = messages()
REQUESTS = [cls for cls in ALL if not cls.IS_RESPONSE]
DRAFTS = {
    "InitProducerIdOfGroup": "draft",
    "TxnHeartbeat": "draft",
    "TxnShareAcknowledge": "draft",
    "TellShareGroupState": "our inference",
    "TxnWriteShareGroupState": "our inference",
}


@pytest.mark.parametrize(
    "api", [each for each in APIS if each.status == "shipped"], ids=lambda api: api.name
)
def test_a_request_has_the_key_and_the_last_version_of_kafkas_recorded_schema(api):
    newest = api.version if api.unstable is None else api.unstable.version
    assert (api.key, newest) == recorded_key_and_version(api.request_bytes.schema.name)


def recorded_key_and_version(name):
    schemas = json.loads(RECORDED.read_text(encoding="utf-8"))["messages"]
    (schema,) = [each for each in schemas if each["name"] == name]
    return schema["key"], int(schema["versions"].rpartition("-")[2])


def test_the_messages_are_found_without_a_list():
    assert {kind.__name__ for kind in (Metadata, CreateTopics, ListOffsets)} <= {
        kind.__name__ for kind in ALL
    }
    assert {api.request for api in APIS} | {api.response for api in APIS} == set(ALL)


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda c: c.__name__)
def test_every_request_has_an_answer_with_the_same_key_version_and_status(request_):
    answer = API_OF[request_].response
    assert answer.IS_RESPONSE
    assert answer.API_KEY == request_.API_KEY
    if API_OF[answer].request is not request_:
        return  # it shares the response of an earlier row
    assert (answer.API_KEY, answer.VERSION, answer.STATUS) == (
        request_.API_KEY,
        request_.VERSION,
        request_.STATUS,
    )


def test_what_no_release_ships_says_so():
    assert {c.__name__: c.STATUS for c in REQUESTS if c.STATUS != "shipped"} == DRAFTS


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
