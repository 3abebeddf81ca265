"""One look at a served cluster: what is open, what hangs and how surely, and what is not claimed."""

import pytest

import kipviz
from kipviz.clients.operators.operator_commands import HANGING, MAY_HANG, transactions_tool
from kipviz.messages.errors import Errors
from kipviz.serving.served_spec import cluster_of
from kipviz.watching import admin_queries
from kipviz.watching.cluster_query import HIDDEN, UNHEARD, look
from kipviz.watching.report import document, lines
from tests.watching.wire import (
    COMMIT_OFFSETS,
    GROUP,
    SHARE_ACKNOWLEDGE,
    SHARE_FETCH,
    SHARE_HEARTBEAT,
    WRITE_MARKERS,
    attach,
    busy,
)

# kafka-python leaves a socket to the collector where a broker went away.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.usefixtures("kafka_python_is_swept"),
]
NOW = 1_800_000_000_000
STRANGER = (4711, 0)


def now():
    return NOW


def cluster_without_checks(**more):
    """Return a cluster whose leaders do not ask the coordinator, as before KIP-890."""
    spec = cluster_of(["orders", "audit"], brokers=3)
    return spec.but(settings=spec.settings.but(partition_verification=False), **more)


@pytest.fixture
def server():
    with kipviz.serve(cluster_without_checks(), design="kafka-tv1") as served:
        yield served


@pytest.fixture
def hands(server):
    with attach(server) as both:
        yield both


def meeting(ask, question, what):
    """Return an `ask` that calls `what` once, before it sends the first request of a kind."""
    met = []

    def ask_other(broker, this, values):
        if this is question and not met:
            met.append(this)
            what()
        return ask(broker, this, values)

    return ask_other


def answering(ask, question, answer, brokers=(1, 2, 3)):
    """Return an `ask` in which brokers give another answer to a kind of request."""

    def ask_other(broker, this, values):
        if this is question and broker in brokers:
            return answer()
        return ask(broker, this, values)

    return ask_other


def silence():
    raise admin_queries.NoAnswer("no answer within 10 s")


def test_an_idle_cluster_has_nothing_open(hands):
    ask, _ = hands
    found = look(ask, now)
    assert (found.owned, found.rows, found.pending, found.not_seen) == ((), (), (), ())
    assert not found.is_wrong
    said = tuple(lines(found))
    assert said[0].startswith("kipviz-simulated-cluster: 3 brokers, 12 partitions, ")
    assert "No open transactions." in said
    assert "1 broker, 1 partition, " in next(lines(found.but(brokers=1, partitions=1)))


def test_an_open_transaction_is_told_with_owner_and_age_and_who_holds_the_last_stable_offset(hands):
    ask, wire = hands
    first, second = wire.begin("app-1"), wire.begin("app-2")
    found = look(ask, lambda: began + 12_000) if (began := _begin_of_first(ask)) else None
    assert [(each.transactional_id, each.state) for each in found.owned] == [
        ("app-1", "ONGOING"),
        ("app-2", "ONGOING"),
    ]
    assert [(row.partition, row.first_offset, row.blocks, row.hanging) for row in found.rows] == [
        ("orders-0", 0, True, ""),
        ("orders-0", 1, False, ""),
    ]
    assert [row.producer_id for row in found.rows] == [first[0], second[0]]
    assert (found.rows[0].last_stable_offset, found.rows[0].high_watermark) == (0, 2)
    text = "\n".join(lines(found))
    assert "app-1: ONGOING for 12 s, transaction.timeout.ms 60 s" in text
    assert "the last stable offset stays at 0, the high watermark is 2" in text
    assert document(found)["owned"][0]["age_ms"] == 12_000


def _begin_of_first(ask):
    """Return when the first open transaction began, by the broker's clock."""
    return look(ask, now).owned[0].began_ms


def test_each_way_out_has_its_arguments(hands):
    ask, wire = hands
    wire.begin("my app")
    (row,) = look(ask, now_of(ask), "localhost:9092").rows
    assert row.frees == (
        "its producer commits or aborts it, if it still runs",
        "a producer starts with transactional.id=my app: its initTransactions() aborts it",
        "its coordinator aborts it when transaction.timeout.ms (60 s) is over",
        f"{transactions_tool('localhost:9092')} forceTerminateTransaction --transactionalId 'my app'",
    )


def now_of(ask):
    """Return a clock that stands at the moment in which the first transaction began."""
    began = _begin_of_first(ask)
    return lambda: began


def test_a_producer_that_starts_again_with_the_same_id_ends_it(hands):
    ask, wire = hands
    wire.begin("app-1")
    assert look(ask, now).rows
    wire.init("app-1")
    assert look(ask, now).rows == ()


def test_a_transaction_beyond_its_timeout_is_overdue_and_not_hanging(hands):
    ask, wire = hands
    wire.begin("app-1", timeout_ms=30_000)
    began = _begin_of_first(ask)
    late = look(ask, lambda: began + 40_001)
    assert late.is_wrong
    assert late.rows[0].hanging == ""
    assert late.rows[0].frees[0].endswith("describe --transactional-id app-1")
    assert "app-1: ONGOING for 40 s (overdue)" in "\n".join(lines(late))
    # The coordinator looks every 10 s, so until then it is not late.
    assert not look(ask, lambda: began + 40_000).is_wrong


def test_a_producer_id_that_no_coordinator_knows_hangs_and_the_abort_ends_it(hands):
    ask, wire = hands
    assert wire.produce("ghost", STRANGER) == 0
    found = look(ask, now, "b:9092")
    (row,) = found.rows
    assert found.is_wrong
    assert (row.hanging, row.why) == (HANGING, "No coordinator knows the producer id.")
    assert row.frees == (
        "kafka-transactions.sh --bootstrap-server b:9092 abort --topic orders --partition 0 --start-offset 0",
    )
    # What that command sends (Admin.abortTransaction): a marker with coordinator epoch -1.
    marker = {
        "ProducerId": row.producer_id,
        "ProducerEpoch": row.producer_epoch,
        "TransactionResult": False,
        "Topics": ({"Name": "orders", "PartitionIndexes": (0,)},),
        "CoordinatorEpoch": -1,
    }
    told = ask(1, WRITE_MARKERS, {"Markers": (marker,)})
    assert told["Markers"][0]["Topics"][0]["Partitions"][0]["ErrorCode"] == 0
    assert look(ask, now).rows == ()


def test_a_late_batch_of_a_committed_transaction_hangs(hands):
    ask, wire = hands
    who = wire.begin("app-1")
    wire.end("app-1", who)
    assert wire.produce("app-1", who, sequence=1) == 0
    (row,) = look(ask, now).rows
    assert (row.hanging, row.transactional_id) == (HANGING, "app-1")
    assert row.why == "app-1 is COMPLETE_COMMIT with epoch 0 and does not count this partition."
    assert row.first_offset == 2


def test_nothing_hangs_for_sure_while_a_coordinator_does_not_answer(hands):
    ask, wire = hands
    assert wire.produce("ghost", STRANGER) == 0
    (row,) = look(answering(ask, admin_queries.LIST, silence, (2,)), now).rows
    assert (row.hanging, row.why) == (MAY_HANG, UNHEARD)
    assert row.frees[0].endswith(
        "find-hanging --topic orders --partition 0, which asks all coordinators"
    )
    assert row.frees[1].endswith("--start-offset 0, if it hangs")


def test_a_coordinator_that_loads_is_one_that_does_not_answer(hands):
    ask, wire = hands
    assert wire.produce("ghost", STRANGER) == 0
    loading = {"ErrorCode": Errors.COORDINATOR_LOAD_IN_PROGRESS, "TransactionStates": ()}
    found = look(answering(ask, admin_queries.LIST, lambda: loading, (3,)), now)
    assert found.rows[0].hanging == MAY_HANG
    assert found.not_seen == ("transactional ids of broker 3: COORDINATOR_LOAD_IN_PROGRESS",)


def test_nothing_hangs_for_sure_if_a_coordinator_moved_meanwhile(server, hands):
    ask, wire = hands
    assert wire.produce("ghost", STRANGER) == 0
    moving = meeting(ask, admin_queries.OFFSETS, lambda: None)
    assert look(moving, now).rows[0].hanging == HANGING
    moving = meeting(ask, admin_queries.LIST, lambda: server.move("__transaction_state-0", 2))
    assert look(moving, now).rows[0].hanging == MAY_HANG


def test_a_transaction_that_ends_while_the_coordinators_are_asked_is_not_told(hands):
    ask, wire = hands
    who = wire.begin("app-1")
    ending = meeting(ask, admin_queries.LIST, lambda: wire.end("app-1", who))
    found = look(ending, now)
    assert (found.rows, found.owned) == ((), ())
    assert not found.is_wrong


def test_a_next_transaction_of_the_same_producer_is_not_the_one_that_was_seen(hands):
    ask, wire = hands
    who = wire.begin("app-1")

    def next_one():
        wire.end("app-1", who)
        wire.add("app-1", who, "orders-0")
        assert wire.produce("app-1", who, sequence=1) == 0

    assert look(meeting(ask, admin_queries.DESCRIBE, next_one), now).rows == ()


def test_pending_offsets_of_a_group_are_told_with_their_transaction(hands):
    ask, wire = hands
    who = wire.begin("app-1")
    assert _stage(wire, "app-1", who, "readers") == 0
    (row,) = look(ask, now).pending
    assert (row.group_id, row.producer_id, row.transactional_id) == ("readers", who[0], "app-1")
    assert row.offsets == (("orders-0", -1),)
    assert row.one_of == 1
    text = "\n".join(lines(look(ask, now)))
    assert "OffsetFetch with requireStable returns UNSTABLE_OFFSET_COMMIT" in text
    wire.end("app-1", who)
    assert look(ask, now).pending == ()


def test_of_two_transactions_in_a_groups_log_neither_is_said_to_have_its_offsets(hands):
    ask, wire = hands
    for name in ("app-1", "app-2"):
        assert _stage(wire, name, wire.begin(name), "readers") == 0
    rows = look(ask, now).pending
    assert [row.one_of for row in rows] == [2, 2]
    assert "2 transactions are open in" in "\n".join(lines(look(ask, now)))


def _stage(wire, name, who, group):
    """Write an offset of a group in a transaction; return the error code."""
    size = 5
    home = f"__consumer_offsets-{asking_home(group, size)}"
    wire.add(name, who, home)
    topics = ({"Name": "orders", "Partitions": ({"PartitionIndex": 0, "CommittedOffset": 1},)},)
    asked = {
        "TransactionalId": name,
        "GroupId": group,
        "ProducerId": who[0],
        "ProducerEpoch": who[1],
        "Topics": topics,
    }
    told = wire.ask(wire.coordinator(group, GROUP), COMMIT_OFFSETS, asked)
    return told["Topics"][0]["Partitions"][0]["ErrorCode"]


def asking_home(group, size):
    from kipviz.records.placement import partition_for

    return partition_for(group, size)


def test_a_share_groups_backlog_is_its_lag(server, hands):
    ask, wire = hands
    topic_id = dict(server._spec.topic_ids)["orders"]
    errors = [wire.produce(None, (-1, -1), sequence=-1) for _ in range(3)]
    assert errors == [0, 0, 0]
    who = {"GroupId": "workers", "MemberId": "m"}
    at = wire.coordinator("workers", GROUP)
    ask(at, SHARE_HEARTBEAT, who | {"MemberEpoch": 0, "SubscribedTopicNames": ("orders",)})
    part = {"PartitionIndex": 0, "AcknowledgementBatches": ()}
    fetch = {"ShareSessionEpoch": 0, "MaxWaitMs": 0, "MaxRecords": 500, "BatchSize": 500}
    ask(1, SHARE_FETCH, who | fetch | {"Topics": ({"TopicId": topic_id, "Partitions": (part,)},)})
    (group,) = look(ask, now).shares
    assert (group.group_id, group.state, group.members) == ("workers", "Stable", 1)
    # Until the share coordinator has written something of the records, it has nothing to count (KIP-1226).
    assert [(b.partition, b.lag) for b in group.backlog] == [("orders-0", -1)]
    said = tuple(lines(look(ask, now)))
    assert "share group workers: Stable, 1 member, backlog not known" in said
    accepted = {"FirstOffset": 0, "LastOffset": 0, "AcknowledgeTypes": (1,)}
    part = {"PartitionIndex": 0, "AcknowledgementBatches": (accepted,)}
    topics = ({"TopicId": topic_id, "Partitions": (part,)},)
    told = ask(1, SHARE_ACKNOWLEDGE, who | {"ShareSessionEpoch": 1, "Topics": topics})
    assert told["ErrorCode"] == 0
    assert [(b.start_offset, b.lag) for b in look(ask, now).shares[0].backlog] == [(0, 2)]
    said = tuple(lines(look(ask, now)))
    assert "share group workers: Stable, 1 member, backlog 2 records" in said


def changing(ask, question, change):
    """Return an `ask` in which every answer to a kind of request is changed."""

    def ask_other(broker, this, values):
        told = ask(broker, this, values)
        return change(told) if this is question else told

    return ask_other


def test_an_answer_about_what_was_not_asked_is_named_and_not_used(server, hands):
    ask, wire = hands
    busy(server, ask, wire)

    def other_topic(told):
        return told | {"Topics": tuple(each | {"Name": "ghost"} for each in told["Topics"])}

    def other_group(told):
        return told | {"Groups": tuple(each | {"GroupId": "ghost"} for each in told["Groups"])}

    found = look(changing(ask, admin_queries.PRODUCERS, other_topic), now)
    assert found.rows == ()
    (said,) = (each for each in found.not_seen if "ghost" in each)
    assert said.endswith(": a broker returned it without being asked")
    found = look(changing(ask, admin_queries.SHARE_OFFSETS, other_group), now)
    assert found.shares == ()
    assert "share group ghost: a broker returned it without being asked" in found.not_seen
    found = look(changing(ask, admin_queries.COMMITTED, other_group), now)
    assert found.pending == ()
    assert "offsets of group readers: the answer does not name it" in found.not_seen


def test_an_answer_without_any_group_says_nothing_of_the_one_that_was_asked_for(server, hands):
    ask, wire = hands
    busy(server, ask, wire)
    nothing = changing(ask, admin_queries.COMMITTED, lambda told: told | {"Groups": ()})
    assert "offsets of group readers: the answer does not name it" in look(nothing, now).not_seen


def test_what_this_user_may_not_ask_is_named_and_nothing_is_concluded_from_it():
    with (
        kipviz.serve(cluster_without_checks(acls=()), design="kafka-tv1") as served,
        attach(served) as (ask, _),
    ):
        found = look(ask, now)
        assert found.rows == ()
        said = "\n".join(found.not_seen)
        assert "TOPIC_AUTHORIZATION_FAILED" in said
        assert "Nothing shows that the cluster has no authorizer" in said


def test_with_an_authorizer_an_unknown_producer_id_only_may_hang(hands):
    ask, wire = hands
    assert wire.produce("ghost", STRANGER) == 0
    refused = {"ErrorCode": Errors.CLUSTER_AUTHORIZATION_FAILED, "Resources": ()}
    (row,) = look(answering(ask, admin_queries.ACLS, lambda: refused, (-1,)), now).rows
    assert (row.hanging, row.why) == (MAY_HANG, HIDDEN)


def test_a_broker_that_is_gone_is_one_sentence_and_the_rest_is_shown(server, hands):
    ask, wire = hands
    wire.begin("app-1")
    assert look(ask, now).rows
    found = look(answering(ask, admin_queries.GROUPS, silence, (2,)), now)
    assert len(found.rows) == 1
    assert found.not_seen == ("broker 2: no answer within 10 s",)


def test_a_look_only_reads(server, hands):
    ask, wire = hands
    wire.begin("app-1")
    before = len(server.requests())
    steps = server.records("orders-0")
    look(ask, now)
    asked = {name for _, name in server.requests()[before:]}
    assert asked <= {
        "Metadata",
        "DescribeAcls",
        "DescribeProducers",
        "ListTransactions",
        "DescribeTransactions",
        "ListGroups",
        "OffsetFetch",
        "ListOffsets",
        "ShareGroupDescribe",
        "DescribeShareGroupOffsets",
    }
    assert server.records("orders-0") == steps
