"""DescribeTransactions and DescribeProducers of several elements: each has its own result, in the request's order."""

from __future__ import annotations

from kipviz.brokers import kafka_apis as apis
from kipviz.brokers.authorizer import Acl
from kipviz.brokers.context import ReplyTo
from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.brokers.local_calls import AskedOfOne
from kipviz.brokers.transactions import administration
from kipviz.cluster import admission
from kipviz.cluster.dispatch import role_for
from kipviz.cluster.topic_authorization import add_topic_errors, collect_part, without
from kipviz.cluster.world import Envelope, ServedInParts
from kipviz.driving.desk import Desk
from kipviz.messages.apis.api import Role
from kipviz.messages.apis.rights import Operation, Resource
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.messages.transactions.admin import (
    ActiveProducer,
    DescribeProducers,
    DescribeProducersResponse,
    DescribeTransactions,
    DescribeTransactionsResponse,
    PartitionProducers,
    TransactionDescription,
)
from kipviz.records.placement import TRANSACTION_STATE, partition_for
from kipviz.records.transaction_state import TransactionState
from kipviz.views.explanations.operators import list_learned

NAMES = ("my-a", "my-b", "my-c")
HOMES = tuple(f"{TRANSACTION_STATE}-{partition_for(name, 50)}" for name in NAMES)
TO = ReplyTo("operator/admin", 1, 0)
DESCRIBE = DescribeTransactions(NAMES)
PRODUCERS = DescribeProducers(("out-0", "gone-0", "out-1", "in-0"))


def described(name: str, error: Errors = Errors.NONE) -> DescribeTransactionsResponse:
    state = None if error else TransactionState.ONGOING
    return DescribeTransactionsResponse((TransactionDescription(name, error, state),))


def of_partition(partition: str, *active: ActiveProducer) -> DescribeProducersResponse:
    return DescribeProducersResponse((PartitionProducers(partition, Errors.NONE, active),))


def collected(request: Message, answers: list[Message], *refused: str) -> list[Message | None]:
    """The response after each of the answers to the parts of a request."""
    serving = ServedInParts(request, Role.KAFKA_APIS, "", "", refused)
    found = []
    for answer in answers:
        served, whole = collect_part(serving, answer)
        assert isinstance(served, ServedInParts)
        serving = served
        found.append(whole)
    return found


def test_each_transactional_id_is_for_its_own_coordinator_and_may_be_refused() -> None:
    desk = Desk(apis, KafkaApis(), leaders=dict(zip(HOMES, (1, 3, 1), strict=True)))
    assert role_for(DESCRIBE, 1, desk.on.image) == (1, Role.KAFKA_APIS, "")
    desk.do(administration.on_describe_transactions(desk.role, DESCRIBE, TO, desk.on))
    assert [(call.role, call.shard, call.message) for call in desk.local] == [
        (
            Role.TRANSACTION_COORDINATOR,
            HOMES[n],
            AskedOfOne(TO, DescribeTransactions((NAMES[n],))),
        )
        for n in (0, 2)
    ]
    assert desk.replies == [(TO, described("my-b", Errors.NOT_COORDINATOR))]
    one = DescribeTransactions(NAMES[:1])
    assert role_for(one, 1, desk.on.image) == (1, Role.TRANSACTION_COORDINATOR, HOMES[0])


def test_a_transactional_id_without_a_right_or_without_a_name_has_its_own_error() -> None:
    """KafkaApis.handleDescribeTransactionsRequest authorizes each id; an empty one is INVALID_REQUEST."""
    desk = Desk(apis, KafkaApis(), leaders=dict.fromkeys((*HOMES, f"{TRANSACTION_STATE}-0"), 1))
    acls = tuple(
        Acl("*", Operation.DESCRIBE, Resource.TRANSACTIONAL_ID, name) for name in ("my-a", "")
    )
    desk.image = {"acls": acls}
    request = DescribeTransactions(("my-a", "", "my-b"))
    entry = admission.admit(
        request, TO.source, 1, desk.on.image, desk.rules, desk.on.simplified, privileged=False
    )
    assert (entry.refusal, entry.message) == (None, request)
    desk.do(administration.on_describe_transactions(desk.role, request, TO, desk.on))
    assert [call.shard for call in desk.local] == [HOMES[0]]
    told = [answer for _, answer in desk.replies]
    assert told == [
        described("", Errors.INVALID_REQUEST),
        described("my-b", Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
    ]


def test_descriptions_come_together_in_the_requests_order_also_of_an_id_that_is_named_twice() -> (
    None
):
    twice = DescribeTransactions(("my-b", "my-a", "my-b"))
    answers = [described(name) for name in ("my-a", "my-b", "my-b")]
    *before, whole = collected(twice, answers)
    assert before == [None, None]
    assert isinstance(whole, DescribeTransactionsResponse)
    names = [each.transactional_id for each in whole.transaction_states]
    assert names == ["my-b", "my-a", "my-b"]


def test_each_partition_is_for_its_own_leader_and_may_be_refused() -> None:
    desk = Desk(apis, KafkaApis(), leaders={"out-0": 1, "out-1": 1, "in-0": 3})
    assert role_for(PRODUCERS, 1, desk.on.image) == (1, Role.KAFKA_APIS, "")
    desk.do(administration.on_describe_producers(desk.role, PRODUCERS, TO, desk.on))
    assert [(call.role, call.shard) for call in desk.local] == [
        (Role.PARTITION_LEADER, "out-0"),
        (Role.PARTITION_LEADER, "out-1"),
    ]
    unknown = PartitionProducers("gone-0", Errors.UNKNOWN_TOPIC_OR_PARTITION)
    elsewhere = PartitionProducers("in-0", Errors.NOT_LEADER_OR_FOLLOWER)
    told = [answer for _, answer in desk.replies]
    assert told == [DescribeProducersResponse((each,)) for each in (unknown, elsewhere)]


def test_a_topic_without_a_right_has_its_own_error_and_the_others_have_producers() -> None:
    left = without(PRODUCERS, ("in",))
    assert left == DescribeProducers(("out-0", "gone-0", "out-1"))
    answers = [of_partition(name) for name in ("gone-0", "out-1", "out-0")]
    whole = collected(PRODUCERS, answers, "in")[-1]
    assert isinstance(whole, DescribeProducersResponse)
    told = add_topic_errors(whole, PRODUCERS, ("in",))
    assert isinstance(told, DescribeProducersResponse)
    assert [(each.partition, each.error) for each in told.responses] == [
        ("out-0", Errors.NONE),
        ("gone-0", Errors.NONE),
        ("out-1", Errors.NONE),
        ("in-0", Errors.TOPIC_AUTHORIZATION_FAILED),
    ]


def test_what_a_response_about_several_says_names_each_of_them() -> None:
    states = (
        *described("my-a").transaction_states,
        *described("my-b", Errors(105)).transaction_states,
    )
    assert dict(list_learned(DescribeTransactionsResponse(states))) == {
        "my-a": "producer id 0, ONGOING",
        "my-b": "TRANSACTIONAL_ID_NOT_FOUND",
    }
    found = PartitionProducers("out-0", Errors.NONE, (ActiveProducer(4, 1, 0, -1, 7),))
    gone = PartitionProducers("gone-0", Errors.UNKNOWN_TOPIC_OR_PARTITION)
    assert dict(list_learned(DescribeProducersResponse((found, gone)))) == {
        "out-0, producer id 4": "epoch 1, open since offset 7",
        "gone-0": "UNKNOWN_TOPIC_OR_PARTITION",
    }


def test_one_answer_to_one_element_is_the_response() -> None:
    serving = Envelope(DescribeTransactions(NAMES[:1]), Role.TRANSACTION_COORDINATOR, "", "")
    assert collect_part(serving, described("my-a")) == (serving, described("my-a"))
