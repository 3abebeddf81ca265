"""OffsetFetch as an operator sends it: of several groups, with or without what is pending (KIP-709)."""

from __future__ import annotations

from typing import Any

import pytest

from kipviz.brokers import kafka_apis
from kipviz.brokers.authorizer import Acl
from kipviz.brokers.context import Reply, ReplyTo
from kipviz.brokers.groups import group_coordinator as group
from kipviz.brokers.groups import several_groups as several
from kipviz.brokers.groups.group_state import CommittedOffset, GroupCoordinator, PendingOffset
from kipviz.brokers.groups.offset_fetches import on_offset_fetch
from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.brokers.logs.partition_log import append
from kipviz.clients.operators import admin
from kipviz.clients.operators.admin import Admin
from kipviz.clients.operators.group_calls import groups_of
from kipviz.cluster.topic_authorization import narrow_to_broker
from kipviz.core.table import Table
from kipviz.driving.desk import Desk
from kipviz.messages.apis.rights import Operation, Resource
from kipviz.messages.cluster.releases import release, takes_several
from kipviz.messages.errors import Errors
from kipviz.messages.events import MessageDelivered
from kipviz.messages.groups.groups import (
    FetchedGroup,
    FetchedOffset,
    OffsetFetch,
    OffsetFetchResponse,
    TxnOffsetCommit,
)
from kipviz.messages.groups.several_groups import groups_of as groups_in
from kipviz.messages.groups.several_groups import narrow_to_groups
from kipviz.messages.wire.codec import decode, encode
from kipviz.messages.wire.frame import KINDS
from kipviz.messages.wire.kind import Around
from kipviz.records.batches import Batch
from kipviz.records.consumer_offsets import OffsetCommitRecord
from kipviz.records.placement import partition_for
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.setting import GROUP
from kipviz.views.explanations.operators import list_learned
from tests.messages.offset_fetches import fetch_all
from tests.scenarios.story import nodes, play_once

BILLING, MISSPELT = "billing", "my-gruop-4"

E = Errors
HERE = "__consumer_offsets-0"
ALL = fetch_all(GROUP, BILLING, MISSPELT)
COMMITTED = {
    "offsets": Table.of(
        ((("g", "src-0"), CommittedOffset(7, 1)), (("other", "src-0"), CommittedOffset(9, 2)))
    ),
    "pending": Table.of(
        ((9, (PendingOffset("g", "src-0", 8, 3), PendingOffset("g", "src-1", 5, 4))),)
    ),
}


def desk_of(**state: Any) -> Desk:
    return Desk(group, GroupCoordinator(HERE, **state), leaders={HERE: 1, "src-0": 5})


def ask_group(desk: Desk, request: OffsetFetch) -> Any:
    """What the only group of the response says; None if there is no response yet."""
    answer: Any = desk.ask(on_offset_fetch, request)
    return None if answer is None else answer.groups[0]


def test_an_operator_is_told_what_is_committed_and_a_group_that_is_not_there_has_nothing() -> None:
    """What was never committed is in no list, and no offset is no error."""
    desk = desk_of(**COMMITTED)
    answer = ask_group(desk, fetch_all("g"))
    assert answer.offsets == (FetchedOffset("src-0", 7),)
    answer = ask_group(desk, fetch_all("nobody"))
    assert (answer.error, answer.group_id, answer.offsets) == (E.NONE, "nobody", ())


def test_one_response_has_the_offsets_and_the_error_of_each_group() -> None:
    """A group with offsets, one that may not be described, and one that is not there."""
    places = {
        name: f"__consumer_offsets-{partition_for(name, 50)}" for name in ("g", "other", "nobody")
    }
    here = Desk(kafka_apis, KafkaApis(), leaders=dict.fromkeys(places.values(), 1))
    request = fetch_all("g", "other", "nobody")
    to = ReplyTo("op/admin", 1, 0)
    here.do(several.on_several_groups(here.role, request, to, here.on))
    asked_of = [groups_in(call.message.request) for call in here.local]
    assert asked_of == [("g",), ("other",), ("nobody",)]
    for answer in (
        ask_group(desk_of(**COMMITTED), fetch_all("g")),
        FetchedGroup(E.GROUP_AUTHORIZATION_FAILED, "other"),
        ask_group(desk_of(**COMMITTED), fetch_all("nobody")),
    ):
        assert not here.replies
        whole_answer = OffsetFetchResponse((answer,))
        here.do(several.on_answered(here.role, Reply(to, whole_answer)))
    ((_, whole),) = here.replies
    assert [(each.group_id, each.error, each.offsets) for each in whole.groups] == [
        ("g", E.NONE, (FetchedOffset("src-0", 7),)),
        ("other", E.GROUP_AUTHORIZATION_FAILED, ()),
        ("nobody", E.NONE, ()),
    ]


def test_whoever_wants_stable_offsets_is_told_which_is_not() -> None:
    answer = ask_group(desk_of(**COMMITTED), fetch_all("g", require_stable=True))
    assert answer.offsets == (FetchedOffset("src-0", -1, E.UNSTABLE_OFFSET_COMMIT),)


def test_a_coordinator_that_still_loads_says_so() -> None:
    answer = ask_group(desk_of(loading=True), fetch_all("g"))
    assert (answer.error, answer.group_id) == (E.COORDINATOR_LOAD_IN_PROGRESS, "g")


def test_topics_that_may_not_be_described_are_left_out() -> None:
    desk = desk_of(**COMMITTED)
    desk.image = {"acls": (Acl("op", Operation.DESCRIBE, Resource.GROUP, "g"),)}
    assert ask_group(desk, fetch_all("g")).offsets == ()


def test_what_is_not_replicated_is_told_to_nobody_but_to_who_waits_for_it() -> None:
    desk = desk_of(offsets=COMMITTED["offsets"])
    record = OffsetCommitRecord("g", "src-0", 7)
    desk.logs[HERE] = append(desk.logs[HERE], Batch(0, (record,)))
    assert ask_group(desk, fetch_all("g")).offsets == ()
    assert ask_group(desk, fetch_all("g", require_stable=True)) is None
    assert len(desk.role.waiting) == 1


# -- the admin client ---------------------------------------------------------------------------------


def test_what_is_not_stable_is_in_no_list_and_in_no_error() -> None:
    me = admin.list_consumer_group_offsets(Admin("op/admin", (1,)), "g h g requireStable=true")
    request: Any = admin.next_request(me)
    assert request == fetch_all("g", "h", require_stable=True)
    me, _ = admin.note_sent(me, request, 1)
    unstable = FetchedOffset("src-0", -1, E.UNSTABLE_OFFSET_COMMIT)
    answer = OffsetFetchResponse(
        (FetchedGroup(E.NONE, "g", (unstable,)), FetchedGroup(E.NOT_COORDINATOR, "h"))
    )
    me = admin.on_response(me, answer)
    assert (admin.next_request(me), me.error) == (narrow_to_groups(request, ("h",)), "")
    assert [each.group_id for each in me.described] == ["g"]


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("g requireStable=yes", "'requireStable=yes' is not an option"),
        ("requireStable=true", "'' names no group"),
    ],
)
def test_a_target_that_says_nothing_is_refused(target: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        admin.list_consumer_group_offsets(Admin("op/admin", (1,)), target)


def test_a_line_is_about_its_groups_and_not_about_its_option() -> None:
    operator = searched_scenario("kip-709-offsets-of-three").spec.applications[-1]
    assert groups_of(operator.program[1]) == (GROUP, BILLING, MISSPELT)


# -- whom it asks together, and in which version ------------------------------------------------------------


def test_the_groups_of_one_coordinator_go_together() -> None:
    trace, _ = play_once("kip-709-offsets-of-three", "kafka")
    assert narrow_to_broker(ALL, trace.world.image) == fetch_all(GROUP, BILLING)


def test_an_old_coordinator_is_asked_for_one_group_at_a_time() -> None:
    assert not takes_several(release("2.4"), ALL)
    assert takes_several(release("3.5"), ALL)
    trace, _ = play_once("kip-709-old-coordinator", "kafka")
    requests = [m for m, way in list_delivered(trace) if way == "request"]
    alone = [fetch_all(each, version=6) for each in (GROUP, BILLING, MISSPELT)]
    assert requests == alone
    first = next(m for m, way in list_delivered(trace) if way == "response")
    assert dict(list_learned(first)) == {f"{GROUP} src-0": "101"}


def test_the_same_line_leaves_out_what_a_newer_coordinator_does_not_vouch_for() -> None:
    """The story: 101, then nothing, then 102; and of the other two groups nothing, whether they are there or not."""
    trace, _ = play_once("kip-709-offsets-of-three", "kafka")
    answers = [m for m, way in list_delivered(trace) if way == "response"]
    assert [dict(list_learned(m)) for m in answers[::2]] == [
        {f"{GROUP} src-0": offset, BILLING: "no offset"}
        for offset in ("101", "UNSTABLE_OFFSET_COMMIT", "102")
    ]
    assert [dict(list_learned(m)) for m in answers[1::2]] == [{MISSPELT: "no offset"}] * 3


def list_delivered(trace: Any) -> list[tuple[Any, str]]:
    """What came of the operator's requests and their answers, in order."""
    return [
        (event.message, event.way)
        for node in nodes(trace)
        for event in node.events
        if isinstance(event, MessageDelivered)
        and event.source == "operator/admin"
        and isinstance(event.message, OffsetFetch | OffsetFetchResponse)
    ]


# -- on the wire -------------------------------------------------------------------------------------------


def bytes_of(message: Any, version: int, request: Any = None) -> dict[str, Any]:
    kind = KINDS[type(message)]
    filled = kind.fill(message, Around((), request, "op/admin"))
    values, _ = decode(kind.schema, version, encode(kind.schema, version, filled, {}).data)
    return values


def test_the_request_has_groups_and_null_for_their_topics() -> None:
    said = bytes_of(ALL, 9)
    assert [(g["GroupId"], g["Topics"]) for g in said["Groups"]] == [
        (GROUP, None),
        (BILLING, None),
        (MISSPELT, None),
    ]
    old = bytes_of(fetch_all("g", version=6), 6)
    assert (old["GroupId"], old["Topics"]) == ("g", None)


def test_the_answer_has_offsets_by_group_and_below_version_8_those_of_one() -> None:
    offsets = (FetchedOffset("src-0", 7), FetchedOffset("src-1", -1, E.UNSTABLE_OFFSET_COMMIT))
    refused = FetchedGroup(E.GROUP_AUTHORIZATION_FAILED, "h")
    answer = OffsetFetchResponse((FetchedGroup(E.NONE, "g", offsets), refused))
    first, second = bytes_of(answer, 9, ALL)["Groups"]
    (topic,) = first["Topics"]
    assert [(p["CommittedOffset"], p["ErrorCode"]) for p in topic["Partitions"]] == [
        (7, 0),
        (-1, 88),
    ]
    assert (second["Topics"], second["ErrorCode"]) == ((), 30)
    alone = answer.but(groups=answer.groups[:1])
    old = bytes_of(alone, 6, fetch_all("g", version=6))
    assert ([t["Name"] for t in old["Topics"]], old["ErrorCode"]) == (["src"], 0)
    assert [each.group_id for each in answer.groups] == ["g", "h"]


def test_an_offset_of_version_2_names_no_member() -> None:
    old = TxnOffsetCommit("t", "g", 9, 0, "", -1, (), version=2)
    assert "MemberId" not in bytes_of(old, 2)
