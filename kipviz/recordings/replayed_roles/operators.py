"""The requests of an operator to a broker, and the answers, in the model's form.

Transactions (KIP-664), and share groups (KIP-932, KIP-1226; DeleteGroups is KIP-229).
"""

from __future__ import annotations

from kipviz.messages.errors import Errors
from kipviz.messages.shares.share_admin import (
    AlterShareGroupOffsets,
    AlterShareGroupOffsetsResponse,
    DeleteGroups,
    DeleteGroupsResponse,
    DeleteShareGroupOffsets,
    DeleteShareGroupOffsetsResponse,
    DescribeShareGroupOffsets,
    DescribeShareGroupOffsetsResponse,
    ShareGroupDescribe,
    ShareGroupDescribeResponse,
)
from kipviz.messages.transactions.admin import (
    DescribeProducers,
    DescribeProducersResponse,
    DescribeTransactions,
    DescribeTransactionsResponse,
    ListTransactions,
    ListTransactionsResponse,
)
from kipviz.recordings.recorded import Exchange, Plain
from kipviz.recordings.replayed_roles.answer_text import (
    Compared,
    Names,
    Said,
    Taken,
    error_name,
    partitions_of,
    with_more,
)
from kipviz.recordings.replayed_roles.request_fields import decode_request
from kipviz.records.transaction_state import TransactionState

# -- transactions ------------------------------------------------------------------------------


def _describe_transactions(x: Exchange, names: Names) -> Taken:
    for told in x.response["transactionStates"]:
        name = told["transactionalId"]
        partitions = tuple(f"{t['topic']}-{p}" for t in told["topics"] for p in t["partitions"])
        yield (
            name,
            DescribeTransactions((name,)),
            with_more(
                told["errorCode"],
                ("state", told["transactionState"]),
                ("producer id", told["producerId"]),
                ("epoch", told["producerEpoch"]),
                ("partitions", tuple(sorted(partitions))),
            ),
        )


def _describe_answer(message: DescribeTransactions, reply: DescribeTransactionsResponse) -> Said:
    (told,) = reply.transaction_states
    state = "" if told.transaction_state is None else _word(told.transaction_state)
    return with_more(
        told.error,
        ("state", state),
        ("producer id", told.producer_id),
        ("epoch", told.producer_epoch),
        ("partitions", tuple(sorted(told.partitions))),
    )


def _word(state: TransactionState) -> str:
    return "".join(part.capitalize() for part in state.value.split("_"))


def _list_transactions(x: Exchange, names: Names) -> Taken:
    (message,) = decode_request(x, names)
    answer = x.response
    assert isinstance(message, ListTransactions)
    # A duration is not compared: a request log does not show when a transaction began.
    message = message.but(duration_ms=-1)
    listed = tuple(
        sorted(
            (t["transactionalId"], t["producerId"], t["transactionState"])
            for t in answer["transactionStates"]
        )
    )
    told = (("unknown states", tuple(answer["unknownStateFilters"])), ("listed", listed))
    yield "the broker", message, with_more(answer["errorCode"], *told)


def _list_answer(message: ListTransactions, reply: ListTransactionsResponse) -> Said:
    found = sorted((t.transactional_id, t.producer_id, _word(t.state)) for t in reply.transactions)
    unknown = ("unknown states", tuple(reply.unknown_states))
    return with_more(reply.error, unknown, ("listed", tuple(found)))


def _describe_producers(x: Exchange, names: Names) -> Taken:
    answers = {
        f"{t['name']}-{p['partitionIndex']}": p
        for t in x.response["topics"]
        for p in t["partitions"]
    }
    for message in decode_request(x, names):
        assert isinstance(message, DescribeProducers)
        for partition in message.partitions:
            told = answers.get(partition)
            said = (("error", "no answer"),) if told is None else _active(told)
            yield partition, message.but(partitions=(partition,)), said


def _active(told: Plain) -> Said:
    found = sorted(
        (
            p["producerId"],
            p["producerEpoch"],
            p["lastSequence"],
            p["coordinatorEpoch"],
            p["currentTxnStartOffset"],
        )
        for p in told["activeProducers"]
    )
    return with_more(told["errorCode"], ("producers", tuple(found)))


def _producers(message: DescribeProducers, reply: DescribeProducersResponse) -> Said:
    (told,) = reply.responses
    found = sorted(
        (
            p.producer_id,
            p.producer_epoch,
            p.last_sequence,
            p.coordinator_epoch,
            p.current_txn_start_offset,
        )
        for p in told.active_producers
    )
    return with_more(told.error, ("producers", tuple(found)))


# -- share groups ------------------------------------------------------------------------------


def _describe_group(x: Exchange, names: Names) -> Taken:
    for told in x.response["groups"]:
        members = sorted(
            (
                m["memberId"],
                m["memberEpoch"],
                tuple(sorted(set(m["subscribedTopicNames"]))),
                tuple(sorted(partitions_of(m["assignment"]["topicPartitions"], names))),
            )
            for m in told["members"]
        )
        said = with_more(
            told["errorCode"],
            ("state", told["groupState"]),
            ("epoch", told["groupEpoch"]),
            ("target epoch", told["assignmentEpoch"]),
            ("members", tuple(members)),
        )
        yield told["groupId"], ShareGroupDescribe((told["groupId"],)), said


def _group_described(message: ShareGroupDescribe, reply: ShareGroupDescribeResponse) -> Said:
    (group,) = reply.groups
    members = tuple(
        sorted(
            (m.member_id, m.member_epoch, m.subscribed_topic_names, m.partitions)
            for m in group.members
        )
    )
    # An answer with only an error describes the group as dead.
    state = group.state or UNKNOWN_STATE
    return with_more(
        group.error,
        ("state", state),
        ("epoch", group.epoch),
        ("target epoch", group.assignment_epoch),
        ("members", members),
    )


def _describe_offsets(x: Exchange, names: Names) -> Taken:
    answers = {told["groupId"]: told for told in x.response["groups"]}
    (message,) = decode_request(x, names)
    assert isinstance(message, DescribeShareGroupOffsets)
    for group in message.groups:
        told = answers[group.group_id]
        offsets = sorted(
            (
                f"{topic['topicName']}-{p['partitionIndex']}",
                error_name(p["errorCode"]),
                p["startOffset"],
                p["leaderEpoch"],
                p.get("lag", -1),
            )
            for topic in told["topics"]
            for p in topic["partitions"]
        )
        said = with_more(told["errorCode"], ("offsets", tuple(offsets)))
        yield group.group_id, message.but(groups=(group,)), said


def _offsets_described(
    message: DescribeShareGroupOffsets, reply: DescribeShareGroupOffsetsResponse
) -> Said:
    (group,) = reply.groups
    offsets = sorted(
        (o.partition, o.error.name, o.start_offset, o.leader_epoch, o.lag) for o in group.offsets
    )
    return with_more(group.error, ("offsets", tuple(offsets)))


def _alter_offsets(x: Exchange, names: Names) -> Taken:
    (message,) = decode_request(x, names)
    answer = x.response
    assert isinstance(message, AlterShareGroupOffsets)
    results = sorted(
        (f"{t['topicName']}-{p['partitionIndex']}", error_name(p["errorCode"]))
        for t in answer["responses"]
        for p in t["partitions"]
    )
    told = with_more(answer["errorCode"], ("results", tuple(results)))
    yield message.group_id, message, told


def _offsets_altered(
    message: AlterShareGroupOffsets, reply: AlterShareGroupOffsetsResponse
) -> Said:
    results = sorted((r.partition, r.error.name) for r in reply.results)
    return with_more(reply.error, ("results", tuple(results)))


def _delete_offsets(x: Exchange, names: Names) -> Taken:
    """Yield one topic at a time; an error of the whole group applies to every topic."""
    answer = x.response
    answers = {t["topicName"]: t["errorCode"] for t in answer["responses"]}
    (message,) = decode_request(x, names)
    assert isinstance(message, DeleteShareGroupOffsets)
    for topic in message.topics:
        said = with_more(answer["errorCode"], ("topic", error_name(answers.get(topic, 0))))
        yield message.group_id, message.but(topics=(topic,)), said


def _offsets_deleted(
    message: DeleteShareGroupOffsets, reply: DeleteShareGroupOffsetsResponse
) -> Said:
    topic = next((each.error for each in reply.responses), Errors.NONE)
    return with_more(reply.error, ("topic", topic.name))


def _delete_groups(x: Exchange, names: Names) -> Taken:
    answers = {r["groupId"]: r["errorCode"] for r in x.response["results"]}
    (message,) = decode_request(x, names)
    assert isinstance(message, DeleteGroups)
    for group in message.groups_names:
        yield group, message.but(groups_names=(group,)), with_more(answers[group])


def _groups_deleted(message: DeleteGroups, reply: DeleteGroupsResponse) -> Said:
    return with_more(reply.results[0].error)


# The state of a group of which nothing is known.
UNKNOWN_STATE = ""

# For each API: the parts of an exchange, and which part of (the model's message, its reply) is compared.
OF_OPERATORS: dict[str, Compared] = {
    "DESCRIBE_TRANSACTIONS": (_describe_transactions, _describe_answer),
    "LIST_TRANSACTIONS": (_list_transactions, _list_answer),
    "DESCRIBE_PRODUCERS": (_describe_producers, _producers),
    "SHARE_GROUP_DESCRIBE": (_describe_group, _group_described),
    "DESCRIBE_SHARE_GROUP_OFFSETS": (_describe_offsets, _offsets_described),
    "ALTER_SHARE_GROUP_OFFSETS": (_alter_offsets, _offsets_altered),
    "DELETE_SHARE_GROUP_OFFSETS": (_delete_offsets, _offsets_deleted),
    "DELETE_GROUPS": (_delete_groups, _groups_deleted),
}
