"""Recorded requests taken apart: what each asks of which member or key, and which are not put to the model."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kipviz.core.table import Table
from kipviz.messages.errors import Errors
from kipviz.messages.shares.share_state import ReadShareGroupState, ReadStateData
from kipviz.recordings.decoded.producer_id_blocks import gives_another
from kipviz.recordings.followed_members import join_answer_text, share_answer_text
from kipviz.recordings.judging import inconclusive, not_judged, questions
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.replayed_roles import answer_text, coordinator_lookup, operators

HOMES = SimpleNamespace(home_of=lambda topic, key: f"{topic}({key})")


def exchange(api: str, version: int, request: Any, response: Any, **changes: Any) -> Exchange:
    return Exchange(api, version, "c", 10, 11, table(request), table(response)).but(**changes)


def table(value: Any) -> Any:
    """Give dicts as recordings have them."""
    if isinstance(value, dict):
        return Table.of({name: table(each) for name, each in value.items()})
    return tuple(map(table, value)) if isinstance(value, list) else value


# -- FindCoordinator ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "home"),
    [
        (None, "__consumer_offsets(k)"),
        (0, "__consumer_offsets(k)"),
        (1, "__transaction_state(k)"),
        (2, "__share_group_state(k)"),
    ],
)
def test_a_key_is_looked_for_in_the_internal_topic_of_its_type(kind, home) -> None:
    """FindCoordinatorRequest.CoordinatorType; without a type it is a group."""
    said = {"key": "k"} | ({} if kind is None else {"keyType": kind})
    asks = exchange("FIND_COORDINATOR", 3, said, {"errorCode": 0, "nodeId": 5})
    (found,) = coordinator_lookup.sought_keys(asks, HOMES)
    assert (found.key, found.home, found.kind) == ("k", home, kind or 0)
    assert found.recorded == (("error", "NONE"), ("node", 5))


def test_from_version_4_on_each_key_has_an_answer_of_its_own() -> None:
    """KIP-699."""
    answers = [
        {"key": "b", "errorCode": 15, "nodeId": -1},
        {"key": "a", "errorCode": 0, "nodeId": 5},
    ]
    asks = exchange(
        "FIND_COORDINATOR",
        4,
        {"keyType": 1, "coordinatorKeys": ["a", "b"]},
        {"coordinators": answers},
    )
    found = [(each.key, each.recorded) for each in coordinator_lookup.sought_keys(asks, HOMES)]
    assert found == [
        ("a", (("error", "NONE"), ("node", 5))),
        ("b", (("error", "COORDINATOR_NOT_AVAILABLE"), ("node", -1))),
    ]


def test_a_leader_is_told_and_nobody_as_long_as_it_has_written_nothing() -> None:
    five = (("error", "NONE"), ("node", 5))
    assert coordinator_lookup.NOBODY == (("error", "COORDINATOR_NOT_AVAILABLE"), ("node", -1))
    assert coordinator_lookup.possible_answers(5, settled=True) == (five,)
    assert coordinator_lookup.possible_answers(5, settled=False) == (
        five,
        coordinator_lookup.NOBODY,
    )


def test_who_may_not_know_a_coordinator_is_told_the_error_and_no_node() -> None:
    refused = (("error", "GROUP_AUTHORIZATION_FAILED"), ("node", -1))
    assert coordinator_lookup.refusal_to(Errors.GROUP_AUTHORIZATION_FAILED) == refused


# -- members of classic groups ----------------------------------------------------------------------------


def split_request(
    api: str, version: int, request: Any, response: Any = None
) -> list[tuple[str, str, str]]:
    found = join_answer_text.parts_of_request(exchange(api, version, request, response or {}))
    return [(each.group_id, each.member_id, each.instance_id) for each in found]


def test_several_members_may_leave_together_from_version_3_on() -> None:
    """KIP-345."""
    members = [
        {"memberId": "C1.1", "groupInstanceId": None},
        {"memberId": "", "groupInstanceId": "i2"},
    ]
    assert split_request("LEAVE_GROUP", 3, {"groupId": "g", "members": members}) == [
        ("g", "C1.1", ""),
        ("g", "", "i2"),
    ]
    assert split_request("LEAVE_GROUP", 2, {"groupId": "g", "memberId": "C1.1"}) == [
        ("g", "C1.1", "")
    ]


@pytest.mark.parametrize(
    ("version", "response", "told"),
    [
        (2, {"errorCode": 25}, ("NONE", "UNKNOWN_MEMBER_ID")),
        (
            3,
            {
                "errorCode": 0,
                "members": [
                    {"memberId": "x", "groupInstanceId": None, "errorCode": 0},
                    {"memberId": "C1.1", "groupInstanceId": None, "errorCode": 25},
                ],
            },
            ("NONE", "UNKNOWN_MEMBER_ID"),
        ),
        (3, {"errorCode": 16, "members": []}, ("NOT_COORDINATOR", "NONE")),
        (3, {"errorCode": 0, "members": []}, ("NONE", "no answer")),
    ],
)
def test_who_leaves_is_told_of_itself_or_refused_with_all_the_others(
    version, response, told
) -> None:
    who = {"memberId": "C1.1", "groupInstanceId": None}
    said = {"groupId": "g", "members": [who], **who}
    leaves = exchange("LEAVE_GROUP", version, said, response)
    (asking,) = join_answer_text.parts_of_request(leaves)
    error, member = told
    assert join_answer_text.recorded_answer(leaves, asking) == (
        ("error", error),
        ("member", member),
    )


def test_a_heartbeat_speaks_of_its_generation_and_hears_one_error() -> None:
    said = {"groupId": "g", "memberId": "C1.1", "generationId": 4}
    beats = exchange("HEARTBEAT", 3, said, {"errorCode": 27})
    (asking,) = join_answer_text.parts_of_request(beats)
    assert asking.generation == 4
    assert join_answer_text.recorded_answer(beats, asking) == (("error", "REBALANCE_IN_PROGRESS"),)


@pytest.mark.parametrize(
    "said", [{"protocolType": "connect", "protocols": [{}]}, {"protocols": []}]
)
def test_what_is_no_consumer_or_names_no_assignor_subscribes_to_nothing(said) -> None:
    request = {"groupId": "g", "memberId": "", "protocolType": "consumer", **said}
    (asking,) = join_answer_text.parts_of_request(
        exchange("JOIN_GROUP", 5, request, {"memberId": "C1.1"}, client="C1")
    )
    assert (asking.subscription.topics, asking.client_id, asking.named) == ((), "C1", "C1.1")


# -- which are not put to the model -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "removed"),
    [
        ({"topicData": [{"name": "old"}]}, True),
        ({"topics": [{"topicId": "old"}]}, True),
        ({"topics": [{"name": "new"}, {"topic": "old"}]}, True),
        ({"topics": [{"name": "new"}]}, False),
        ({"topics": None}, False),
        ({"topics": ["old"]}, False),
        ({}, False),
    ],
)
def test_a_request_that_names_a_deleted_topic_is_not_asked(request_, removed) -> None:
    about = exchange("PRODUCE", 13, request_, {"responses": []})
    said = not_judged.why_not(0, (about,), {}, None, frozenset({"old"}))
    assert (said == not_judged.REMOVED) is removed


@pytest.mark.parametrize(
    ("api", "why"),
    [
        ("METADATA", not_judged.NOT_ASKED["METADATA"]),
        ("DESCRIBE_CLUSTER", not_judged.NO_DECISION),
        ("FIND_COORDINATOR", not_judged.LEADERS_UNKNOWN),
        ("PRODUCE", not_judged.ELSEWHERE),
    ],
)
def test_what_is_not_asked_has_a_reason(api, why) -> None:
    assert not_judged.why_not(0, (exchange(api, 4, {}, {}),), {}, None, frozenset()) == why


@pytest.mark.parametrize(
    ("changes", "begun"),
    [
        ({}, True),
        ({"member": "M2"}, False),
        ({"group": "g2"}, False),
        ({"broker": 3}, False),
        ({"epoch": 1}, False),
    ],
)
def test_a_share_session_that_another_request_began_has_lost_its_partitions(changes, begun) -> None:
    def fetch(epoch: int, group: str = "g1", member: str = "M1", broker: int = 5) -> Exchange:
        said = {"groupId": group, "memberId": member, "shareSessionEpoch": epoch}
        return exchange("SHARE_FETCH", 2, said, {"errorCode": 0}, broker=broker)

    both = (fetch(**{"epoch": 0, **changes}), fetch(1))
    why = not_judged.why_not(1, both, {}, None, frozenset())
    assert why == (not_judged.NO_PARTITIONS if begun else not_judged.UNKNOWN_SESSION)


def test_a_name_that_was_given_again_is_not_that_of_a_deleted_topic() -> None:
    evidence = SimpleNamespace(
        topics=(("out", "id-2"),), removed=(("out", "id-1"), ("old", "id-0"))
    )
    assert not_judged.words_of_removed(evidence) == {"id-1", "id-0", "old"}


@pytest.mark.parametrize(
    ("api", "response", "another"),
    [
        ("END_TXN", {"errorCode": 0, "producerId": 7}, True),
        ("END_TXN", {"errorCode": 0, "producerId": 0}, False),
        ("END_TXN", {"errorCode": 0}, False),
        ("END_TXN", {"errorCode": 51, "producerId": -1}, False),
        ("INIT_PRODUCER_ID", {"errorCode": 0, "producerId": 7}, False),
    ],
)
def test_the_end_of_a_transaction_may_give_another_producer_id(api, response, another) -> None:
    """KIP-890: the epochs of the one before were used up."""
    assert gives_another(exchange(api, 5, {"producerId": 0}, response)) is another


def test_a_topic_is_named_by_its_name_or_its_id_under_either_word() -> None:
    names = {"id-1": "src"}
    topics = table([{"name": "out", "partitions": [0, 2]}, {"topicId": "id-1", "partitions": [1]}])
    assert answer_text.partitions_of(topics, names) == ("out-0", "out-2", "src-1")
    assert answer_text.topic_name(table({"topic": "id-9"}), names) == "id-9"
    assert answer_text.sayings((("error", "NONE"), ("node", None), ("ids", (1, (2,))))) == (
        "NONE, node none, ids (1; (2))"
    )


def test_a_request_to_leave_that_failed_as_a_whole_says_nothing_of_a_member() -> None:
    """LeaveGroupResponse: members are empty where there is a top-level error."""
    request = {"groupId": "g", "members": [{"memberId": "m", "groupInstanceId": None}]}
    for code, member in ((16, "NONE"), (0, "no answer")):
        leaves = exchange("LEAVE_GROUP", 4, request, {"errorCode": code, "members": []})
        (asking,) = join_answer_text.parts_of_request(leaves)
        assert dict(join_answer_text.recorded_answer(leaves, asking))["member"] == member


def test_a_read_of_a_state_names_the_leader_s_epoch() -> None:
    """ReadShareGroupStateRequest.json: leaderEpoch."""
    part = {"partition": 0, "leaderEpoch": 7}
    told = {"partition": 0, "errorCode": 0, "stateEpoch": 3, "startOffset": 5, "stateBatches": []}
    reads = exchange(
        "READ_SHARE_GROUP_STATE",
        0,
        {"groupId": "g", "topics": [{"topicId": "T", "partitions": [part]}]},
        {"results": [{"topicId": "T", "partitions": [told]}]},
    )
    (found,) = share_answer_text.coordinator_requests((reads,))["g:T:0"]
    assert found.message == ReadShareGroupState((ReadStateData("g:T:0", 7),))


def test_each_partition_whose_start_is_altered_has_a_result_of_its_own() -> None:
    """AlterShareGroupOffsetsResponse.json."""
    request = {"topicName": "src", "partitions": [{"partitionIndex": 0, "startOffset": 5}]}
    result = {"topicName": "src", "partitions": [{"partitionIndex": 0, "errorCode": 3}]}
    alters = exchange(
        "ALTER_SHARE_GROUP_OFFSETS",
        0,
        {"groupId": "g", "topics": [request]},
        {"errorCode": 0, "responses": [result]},
    )
    ((group, message, said),) = operators._alter_offsets(alters, {})
    assert (group, message.starts) == ("g", (("src-0", 5),))
    assert dict(said)["results"] == (("src-0", "UNKNOWN_TOPIC_OR_PARTITION"),)


def test_a_share_heartbeat_is_asked_with_the_topics_that_it_names() -> None:
    request = {"groupId": "g", "memberId": "m", "memberEpoch": 0}
    answer = {"errorCode": 0, "memberEpoch": 2, "assignment": None}
    for topics, named in (["src", "old"], ("src", "old")), ([], ()), (None, None):
        beats = exchange(
            "SHARE_GROUP_HEARTBEAT", 1, request | {"subscribedTopicNames": topics}, answer
        )
        ((_, message, _),) = questions._share_heartbeat(beats, {})
        assert message.subscribed_topic_names == named


def test_a_fetch_that_starts_a_share_partition_while_its_state_is_read_is_in_doubt() -> None:
    """SharePartition.maybeInitialize reads the state first, and then the end offset of its source."""
    part = {"partition": 0, "errorCode": 0, "startOffset": -1}
    reads = exchange(
        "READ_SHARE_GROUP_STATE",
        0,
        {"groupId": "g"},
        {"results": [{"partitions": [part]}]},
        client="broker-2",
    )
    fetches = exchange("SHARE_FETCH", 1, {"groupId": "g"}, {}, broker=2)
    read = inconclusive._states_read((reads, reads.but(problem="damaged"), fetches))
    assert read == {"g": [(11, 2, False, True)]}
    assert inconclusive._why_of_start(fetches, (reads, fetches), read) == inconclusive.COPYING
    elsewhere = fetches.but(broker=3)
    assert inconclusive._why_of_start(elsewhere, (reads, elsewhere), read) == ""
