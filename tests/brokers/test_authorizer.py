"""ACLs: what each request needs, who is refused what, and what is only left out of an answer."""

from __future__ import annotations

import pytest

from kipviz.brokers import authorizer as a
from kipviz.brokers import kafka_apis
from kipviz.brokers.authorizer import Acl
from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.brokers.local_calls import ListedHere
from kipviz.brokers.transactions import administration
from kipviz.brokers.transactions.transaction_metadata import TransactionMetadata
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.clients.groups import kafka_consumer
from kipviz.clients.sending import producer
from kipviz.clients.shares import share_consumer
from kipviz.clients.shares.share_memory import ShareConsumer
from kipviz.clients.throwing.client_errors import REQUESTS as NAMED
from kipviz.clients.throwing.exceptions import exception_for
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.cluster import rejections
from kipviz.cluster.dispatch import HANDLERS
from kipviz.core.table import Table
from kipviz.designs.options.options import STATUSES
from kipviz.driving.desk import Desk
from kipviz.messages.apis import catalogue
from kipviz.messages.apis.cluster.coordinators import OF_GROUPS, OF_SHARE_PARTITIONS
from kipviz.messages.apis.groups.offset_fetch import OF_ALL_TOPICS
from kipviz.messages.apis.logs.produce import OF_A_PLAIN_ONE
from kipviz.messages.apis.rights import Operation, Resource
from kipviz.messages.apis.transactions.added_partitions import OF_A_CLIENT
from kipviz.messages.apis.transactions.producer_ids import NAMELESS, OF_TWO_PHASE_COMMIT
from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import FetchedOffset
from kipviz.messages.groups.membership import ConsumerGroupHeartbeat
from kipviz.messages.logs.producing import FetchResponse, PartitionData
from kipviz.messages.message_errors import error_in, error_of_response
from kipviz.messages.shares.share_membership import ShareGroupHeartbeat
from kipviz.messages.transactions.admin import (
    DescribeTransactions,
    ListTransactions,
    ListTransactionsResponse,
    TransactionListing,
)
from kipviz.messages.transactions.transactions import (
    TWO_PHASE,
    AddPartitionsToTxn,
    EndTxn,
    InitProducerId,
    InitProducerIdResponse,
    TxnPartitions,
)
from kipviz.records.transaction_state import TransactionState
from tests.brokers.rights_table import NEEDS, REQUESTS, request
from tests.clients.parts import assigned_consumer_of, init_transactions, producer_of
from tests.messages.offset_fetches import response_of, response_with
from tests.messages.shares import fetch_response

Op, R = Operation, Resource
EACH_NEED = [(name, at) for name, needs in NEEDS.items() for at in range(len(needs))]
NAME = {R.TOPIC: "out", R.GROUP: "g", R.TRANSACTIONAL_ID: "t", R.CLUSTER: a.CLUSTER_NAME}


def acl(need, name="", *, allow=True, principal="app-1"):
    return Acl(principal, need.operation, need.resource, name or NAME[need.resource], allow)


def refusal_of(name, *acls, source="app-1/producer"):
    return a.refusal(acls, source, request(name))


def test_every_request_that_a_broker_handles_is_in_the_table():
    versions = {OF_A_CLIENT, OF_A_PLAIN_ONE, OF_ALL_TOPICS, NAMELESS, OF_TWO_PHASE_COMMIT}
    versions |= {OF_GROUPS, OF_SHARE_PARTITIONS}
    assert set(NEEDS) == {*versions, *(cls.__name__ for cls in HANDLERS)}


@pytest.mark.parametrize(("name", "at"), EACH_NEED)
def test_what_a_request_needs_can_be_given_and_says_where_it_is_written(name, at):
    need = NEEDS[name][at]
    assert need.operation in a.SUPPORTED[need.resource]
    assert need.status in STATUSES
    assert need.source


@pytest.mark.parametrize(("name", "at"), EACH_NEED)
def test_a_request_without_one_of_its_needs_gets_the_error_of_that_resource(name, at):
    """KafkaApis: the first thing that is missing decides."""
    needs = NEEDS[name]
    if needs[at].hides:
        assert refusal_of(name, *(acl(need) for need in needs[:at])) is Errors.NONE
        return
    given = [acl(need) for need in needs[:at]]
    if needs[at].operation is Op.DESCRIBE:
        given = [each for each in given if each.resource is not needs[at].resource]
    assert refusal_of(name, *given) is a.ERROR_OF[needs[at].resource]


@pytest.mark.parametrize("name", NEEDS)
def test_a_request_with_all_its_needs_goes_through_and_a_denial_stops_it(name):
    needs = [need for need in NEEDS[name] if not need.hides]
    given = [acl(need) for need in needs]
    assert refusal_of(name, *given) is Errors.NONE
    assert refusal_of(name, *[acl(need, principal="*") for need in needs]) is Errors.NONE
    for need in needs:
        if need.alternative is None:
            error = refusal_of(name, *given, acl(need, allow=False))
            assert error is a.ERROR_OF[need.resource]
        assert refusal_of(name, *given, acl(need, allow=False, principal="app-2")) is Errors.NONE


@pytest.mark.parametrize("name", NEEDS)
def test_without_acls_everything_is_allowed(name):
    assert a.refusal(None, "app-1/producer", request(name)) is Errors.NONE


def test_only_a_transaction_without_a_time_limit_needs_a_right_of_its_own():
    """KIP-939: enable2Pc takes TWO_PHASE_COMMIT; the same request without it does not."""
    newest = InitProducerId("t", version=TWO_PHASE)
    assert a.needs_of(newest) == NEEDS["InitProducerId"]
    more = set(a.needs_of(newest.but(enable_2pc=True))) - set(NEEDS["InitProducerId"])
    assert {(need.resource, need.operation) for need in more} == {
        (a.Resource.TRANSACTIONAL_ID, Op.TWO_PHASE_COMMIT)
    }


@pytest.mark.parametrize(
    ("name", "besides"),
    [
        ("InitProducerId", set()),
        (OF_A_CLIENT, {(a.Resource.TOPIC, Op.WRITE)}),
        ("AddOffsetsToTxn", {(a.Resource.GROUP, Op.READ)}),
        ("TxnOffsetCommit", {(a.Resource.GROUP, Op.READ), (a.Resource.TOPIC, Op.READ)}),
        ("Produce", {(a.Resource.TOPIC, Op.WRITE)}),
        ("EndTxn", set()),
    ],
)
def test_a_transactional_request_needs_write_on_its_id_and_what_its_topics_and_group_need(
    name, besides
):
    """KIP-98, Authorization; KafkaApis of 4.4.0."""
    needs = {(need.resource, need.operation) for need in NEEDS[name] if not need.hides}
    assert needs == {(a.Resource.TRANSACTIONAL_ID, Op.WRITE), *besides}


def test_without_acls_no_topic_is_left_out():
    assert a.denied_topics(None, "app-1/consumer", REQUESTS["Metadata"]) == ()
    assert a.denied_topics((), "app-1/consumer", REQUESTS["Metadata"]) == ("out",)


@pytest.mark.parametrize("name", [n for n in REQUESTS if n != "ListTransactions"])
def test_a_broker_that_leads_nothing_of_it_answers_a_request_or_every_broker_serves_it(name):
    everywhere = {"WriteTxnMarkers", "ListGroups", "DescribeAcls", "CreateAcls", "DeleteAcls"}
    everywhere |= {"CreateTopics", "CreatePartitions", "DeleteTopics", "DeleteRecords"}
    everywhere |= {"Metadata", "FindCoordinator", "DescribeConfigs", "IncrementalAlterConfigs"}
    everywhere |= {OF_GROUPS, OF_SHARE_PARTITIONS}
    if name in everywhere | {"ShareFetch", "ShareAcknowledge", "TxnShareAcknowledge"}:
        with pytest.raises(AssertionError, match="is for every broker"):
            rejections.reject_not_leader(request(name))
        return
    answer = rejections.reject_not_leader(request(name))
    assert type(answer).__name__ == f"{name.partition(',')[0].removesuffix('OfGroup')}Response"
    assert error_in(answer) in {Errors.NOT_COORDINATOR, Errors.NOT_LEADER_OR_FOLLOWER}


@pytest.mark.parametrize("name", [n for n in REQUESTS if n != "ListTransactions"])
def test_every_request_of_a_client_has_an_answer_that_refuses_it(name):
    error = Errors.CLUSTER_AUTHORIZATION_FAILED
    answer = catalogue.reject_request(request(name), error)
    assert type(answer).__name__ == f"{name.partition(',')[0].removesuffix('OfGroup')}Response"
    several = (getattr(answer, name, None) for name in ("results", "topics", "responses"))
    results = next(filter(None, several), None)
    assert {r.error for r in results} == {error} if results else error_in(answer) is error


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [
        ("txn-*", "txn-1", True),
        ("txn-*", "transaction-1", False),
        ("txn-1", "txn-1", True),
        ("txn-1", "txn-10", False),
        ("*", "anything", True),
        ("txn", "txn-1", False),
    ],
)
def test_a_name_is_meant_literally_unless_it_ends_in_a_star(pattern, name, fits):
    """KIP-290: prefixed patterns; the wildcard alone is every name."""
    acls = (Acl("app-1", Op.WRITE, R.TRANSACTIONAL_ID, pattern),)
    assert a.may(acls, "app-1", Op.WRITE, R.TRANSACTIONAL_ID, name) is fits


def test_who_may_read_may_describe_and_a_denial_goes_before_every_permission():
    """StandardAuthorizerData: READ, WRITE, DELETE and ALTER imply DESCRIBE."""
    read = Acl("app-1", Op.READ, R.GROUP, "g")
    assert a.may((read,), "app-1", Op.DESCRIBE, R.GROUP, "g")
    assert not a.may((read.but(allow=False),), "app-1", Op.DESCRIBE, R.GROUP, "g")
    denied = Acl("app-1", Op.DESCRIBE, R.GROUP, "g", allow=False)
    assert not a.may((read, denied), "app-1", Op.DESCRIBE, R.GROUP, "g")
    assert a.may((read, denied), "app-1", Op.READ, R.GROUP, "g")


def test_either_of_two_operations_lets_an_operator_write_a_marker():
    for operation in (Op.ALTER, Op.CLUSTER_ACTION):
        assert refusal_of("WriteTxnMarkers", Acl("app-1", operation, R.CLUSTER)) is Errors.NONE


def test_what_the_drafts_pages_say_is_kept_as_it_stands():
    """Finding X21: KIP-1289 asks for WRITE of a group, and no ACL of a group has it."""
    (group,) = [d for d in a.DRAFTS if d.source == "KIP-1289, javadoc"]
    assert (group.request, group.operation) == ("TxnShareAcknowledge", "WRITE")
    assert Op.WRITE not in a.SUPPORTED[R.GROUP]
    asked = [need.resource for need in NEEDS["TxnShareAcknowledge"]]
    assert [d.resource for d in a.DRAFTS if d.request == "TxnShareAcknowledge"] == asked
    page = [d for d in a.DRAFTS if d.source.startswith("KIP-1310")]
    assert len({d.request for d in page}) == 5


def test_an_operator_sees_of_a_transaction_the_topics_that_it_may_describe():
    known = TransactionMetadata("t", 4, 1, TransactionState.ONGOING, partitions=("out-0",))
    role = TransactionCoordinator("home-0", 2, transactions=Table.of({"t": known}))
    desk = Desk(administration, role, leaders={"home-0": 1})

    def list_visible(*acls):
        desk.image = {"acls": acls}
        asked = DescribeTransactions(("t",))
        (told,) = desk.ask(administration.on_describe_transactions, asked).transaction_states
        return told.partitions

    assert list_visible() == ()
    assert list_visible(Acl("*", Op.READ, R.TOPIC, "out")) == ("out-0",)


def test_an_operator_is_told_of_the_names_that_it_may_describe():
    desk = Desk(kafka_apis, KafkaApis(), leaders={"__transaction_state-0": 1})
    desk.image = {"acls": (Acl("operator", Op.DESCRIBE, R.TRANSACTIONAL_ID, "my-*"),)}
    desk.ask(kafka_apis.on_list_transactions, ListTransactions(), "operator/admin")
    names = ("my-a", "your-b")
    found = tuple(TransactionListing(name, 1, TransactionState.EMPTY) for name in names)
    told = ListedHere(
        desk.local[-1].message.ticket, ListTransactionsResponse(Errors.NONE, (), found)
    )
    desk.do(kafka_apis.on_listed(desk.role, told, desk.on))
    assert [t.transactional_id for t in desk.last.transactions] == ["my-a"]


# -- what a client makes of it ------------------------------------------------------------------

ID, CLUSTER = (
    Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    Errors.CLUSTER_AUTHORIZATION_FAILED,
)
GROUP, TOPIC = Errors.GROUP_AUTHORIZATION_FAILED, Errors.TOPIC_AUTHORIZATION_FAILED
ABORTABLE, FATAL = "abortable", "fatal"


@pytest.mark.parametrize(
    ("request_name", "error", "kind"),
    [
        ("InitProducerId", ID, ABORTABLE),
        ("InitProducerId", CLUSTER, ABORTABLE),
        ("InitProducerId", GROUP, FATAL),
        ("InitProducerId", TOPIC, FATAL),
        ("TxnOffsetCommit", ID, FATAL),
        ("TxnOffsetCommit", CLUSTER, FATAL),
        ("TxnOffsetCommit", GROUP, ABORTABLE),
        ("TxnOffsetCommit", TOPIC, FATAL),
        ("AddPartitionsToTxn", ID, FATAL),
        ("AddPartitionsToTxn", CLUSTER, ABORTABLE),
        ("AddPartitionsToTxn", TOPIC, ABORTABLE),
        ("AddOffsetsToTxn", ID, FATAL),
        ("AddOffsetsToTxn", GROUP, ABORTABLE),
        ("AddOffsetsToTxn", TOPIC, FATAL),
        ("EndTxn", ID, FATAL),
        ("EndTxn", CLUSTER, FATAL),
        ("Produce", ID, FATAL),
        ("Produce", CLUSTER, FATAL),
        ("Produce", TOPIC, ABORTABLE),
    ],
)
def test_a_refusal_ends_the_transaction_or_the_producer_as_kafkas_handlers_have_it(
    request_name, error, kind
):
    """TransactionManager's handlers, by request and code."""
    assert exception_for(NAMED[request_name], error).kind == kind


@pytest.mark.parametrize("error", [ID, CLUSTER])
def test_a_producer_that_may_not_have_its_name_can_ask_again_later(error):
    """Sender.maybeSendAndPollTransactionalRequest: back to UNINITIALIZED."""
    me = init_transactions(producer_of("app-1/producer", "t"))
    me, _ = producer.note_sent(me, producer.next_request(me), 1)
    me = producer.on_response(me, InitProducerIdResponse(error))
    assert (me.manager.state, me.done) == (ProducerState.UNINITIALIZED, True)
    assert str(me.error) == f"InitProducerId: {error.name}"
    again = init_transactions(me)
    assert (again.manager.state, again.error) == (ProducerState.INITIALIZING, "")


@pytest.mark.parametrize(
    "answers",
    [
        [response_of(GROUP, "p-0")],
        [response_with(FetchedOffset("p-0", 3)), FetchResponse((PartitionData("p-0", TOPIC),))],
    ],
)
def test_poll_throws_what_a_consumer_is_refused(answers):
    me = kafka_consumer.poll(assigned_consumer_of("r/consumer", "g", "m", "p-0", 5))
    for answer in answers:
        me, _ = kafka_consumer.note_sent(me, kafka_consumer.next_request(me), 1)
        me = kafka_consumer.on_response(me, answer)
    assert me.done
    assert str(me.error).endswith(error_of_response(answers[-1]).name)
    assert kafka_consumer.poll(me).error == ""


@pytest.mark.parametrize("error", [GROUP, TOPIC])
def test_poll_throws_what_a_share_consumer_is_refused(error):
    me = ShareConsumer("r/consumer", "g", "m", 2, "p-0", 5)
    me = share_consumer.poll(me, lambda *_: ())
    me, _ = share_consumer.note_sent(me, share_consumer.next_request(me), 1)
    me = share_consumer.on_response(me, fetch_response(error, "p-0"))
    assert (me.done, str(me.error)) == (True, f"ShareFetch: {error.name}")


def test_whoever_may_write_to_some_topic_may_have_an_identity_without_a_name():
    """KIP-679: IDEMPOTENT_WRITE is not asked for where a write is allowed anyway."""
    some = Acl("app-1", Op.WRITE, R.TOPIC, "out*")
    assert refusal_of(NAMELESS, some) is Errors.NONE
    one_less = Acl("*", Op.WRITE, R.TOPIC, "out-x", allow=False)
    assert refusal_of(NAMELESS, some, one_less) is Errors.NONE
    all_less = Acl("app-1", Op.WRITE, R.TOPIC, "ou*", allow=False)
    assert refusal_of(NAMELESS, some, all_less) is Errors.CLUSTER_AUTHORIZATION_FAILED
    others = Acl("app-2", Op.WRITE, R.TOPIC, "out")
    assert refusal_of(NAMELESS, others) is Errors.CLUSTER_AUTHORIZATION_FAILED


def test_one_forbidden_topic_keeps_the_other_partitions_of_a_transaction_out():
    """KafkaApis.handleAddPartitionsToTxnRequest: OPERATION_NOT_ATTEMPTED beside the good ones."""
    may = (
        Acl("app-1", Op.WRITE, R.TRANSACTIONAL_ID, "t"),
        Acl("app-1", Op.WRITE, R.TOPIC, "good"),
    )
    asked = TxnPartitions("t", 9, 0, ("good-0", "bad-0", "good-1"))
    message = AddPartitionsToTxn((asked,), version=3)
    assert a.refusal(may, "app-1/producer", message) is Errors.TOPIC_AUTHORIZATION_FAILED
    assert a.not_attempted(may, "app-1/producer", message) == ("good-0", "good-1")


def test_only_add_partitions_to_txn_has_partitions_that_were_not_attempted():
    """KafkaApis.handleAddPartitionsToTxnRequest; every other request is refused or served part by part."""
    add = AddPartitionsToTxn((TxnPartitions("t", 9, 0, ("out-0", "other-0")),))
    may_write = (Acl("app-1", Op.WRITE, R.TOPIC, "out"),)
    assert a.not_attempted(may_write, "app-1/producer", add) == ("out-0",)
    assert a.not_attempted(None, "app-1/producer", add) == ()
    assert a.not_attempted(may_write, "app-1/producer", EndTxn("t", 9, 0, True)) == ()


def test_the_table_of_kip_1310_asks_for_write_where_it_names_an_operation():
    assert {d.operation for d in a.DRAFTS} == {"WRITE", ""}
    named = [(d.request, d.resource) for d in a.DRAFTS if not d.operation]
    assert named == [
        ("AddPartitionsToTxn", R.TOPIC),
        ("AddShareAcksToTxn", R.GROUP),
        ("TxnShareAcknowledge", R.TRANSACTIONAL_ID),
        ("TxnShareAcknowledge", R.TOPIC),
    ]


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        (ConsumerGroupHeartbeat("g", "m", 0, ("a", "b", "c")), ("a", "b", "c")),
        (ConsumerGroupHeartbeat("g", "m", 0, ("b",), regex="a.*"), ("b",)),
        (ConsumerGroupHeartbeat("g", "m", 1), ()),
        (ShareGroupHeartbeat("g", "m", 0, ("a",)), ("a",)),
        (ShareGroupHeartbeat("g", "m", 1), ()),
    ],
)
def test_a_heartbeat_needs_the_right_to_every_topic_that_it_names(asked, named):
    assert a.named_resources(asked, a.R.TOPIC) == named


def _needs_of(api: catalogue.AnyApi) -> tuple[a.Need, ...]:
    return (*api.needs, *(need for case in api.cases for need in case.needs))
