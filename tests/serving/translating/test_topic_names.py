"""Topics whose names no topic can have: an error of Kafka's in every request that names one."""

import pytest

from kipviz.messages.wire.schema import fields_in
from kipviz.serving.translating.apis import APIS
from tests.serving.frames import CASES, TOLD, answer, frame, make_cluster

NAMES = ("Name", "Topic", "TopicName")
UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION = 3, 17
# The other requests that name topics: a broker that leads no such partition looks no further.
ERROR = dict.fromkeys((3, 19, 61), INVALID_TOPIC_EXCEPTION) | {9: 0}


def naming(fields, version, name):
    """Values for a request in which each topic has one name; its other fields have their defaults."""
    found = {}
    for field in fields_in(fields, version):
        if field.name in NAMES and field.type == "string":
            found[field.name] = name
        elif field.fields and field.is_array:
            found[field.name] = (naming(field.fields, version, name),)
        elif field.type == "[]int32":
            found[field.name] = (0,)
    return found


def names_of(fields, version):
    for field in fields_in(fields, version):
        if field.name in NAMES and field.type == "string":
            yield field.name
        yield from names_of(field.fields, version)


NAMING = [
    (key, version)
    for key, version in CASES
    if key not in (11, 44, 90, 91, 92)  # names of a protocol or a config; groups come before topics
    and not (key == 24 and version > 3)  # for brokers
    and any(names_of(APIS[key].request.fields, version))
    and "TopicId" not in str(APIS[key].request.fields if version >= 13 or key == 3 else "")
]


def errors_in(told):
    for name, value in told.items():
        if name.endswith("ErrorCode"):
            yield value
        for each in value if isinstance(value, tuple) else ():
            if isinstance(each, dict):
                yield from errors_in(each)


@pytest.mark.parametrize(("key", "version"), NAMING)
def test_a_topic_without_a_name_is_an_error_and_the_connection_stays(key, version):
    cluster = make_cluster()
    caller = cluster.connect(1)
    told = naming(APIS[key].request.fields, version, "")
    if key == 0:
        from tests.recordings import made_logs

        told["TopicData"][0]["PartitionData"][0]["Records"] = made_logs.batch(0)
    cluster.feed(caller, frame(key, version, **{**TOLD.get(key, {}), **told}))
    assert not cluster.lines
    # A response has an error of its own beside those of its topics, in some versions.
    errors = set(errors_in(answer(caller, APIS[key].response, version)))
    expected = ERROR.get(key, UNKNOWN_TOPIC_OR_PARTITION)
    assert expected in errors <= {0, expected}


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "ä", "x" * 250])
def test_metadata_of_a_topic_that_cannot_exist_is_an_invalid_name(name):
    """Topic.validate."""
    cluster = make_cluster()
    caller = cluster.connect(1)
    cluster.feed(caller, frame(3, 9, Topics=({"Name": name}, {"Name": "orders"}, {"Name": "none"})))
    told = answer(caller, APIS[3].response, 9)["Topics"]
    assert [(each["Name"], each["ErrorCode"]) for each in told] == [
        (name, INVALID_TOPIC_EXCEPTION),
        ("orders", 0),
        ("none", UNKNOWN_TOPIC_OR_PARTITION),
    ]
