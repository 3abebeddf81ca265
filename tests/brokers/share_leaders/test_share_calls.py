"""A staging of several partitions at one leader: the answers to its parts, and what is given back."""

from __future__ import annotations

from kipviz.brokers.context import Effects, Reply, ReplyTo
from kipviz.brokers.share_leaders import share_partition
from kipviz.brokers.share_leaders.share_partition import ShareLeader, StagingCall
from kipviz.brokers.share_transactions import staging_requests
from kipviz.messages.errors import Errors
from kipviz.messages.shares.share_groups import (
    AcknowledgementBatch,
    TxnPartitionAcknowledgements,
    TxnShareAcknowledgeResponse,
)
from kipviz.messages.transactions.transactions import PartitionResult
from tests.brokers.share_leaders.share_place import ACCEPT, ACQ, KEY, TXP, SharePlace
from tests.messages.shares import fetch_response, stages, staging_response

ONE = (AcknowledgementBatch(0, 0, ACCEPT),)
CALL = stages("t", "g1", 9, 0, "M1", 2, "src-0", ONE, ("src-1", ONE))
TO = ReplyTo("p", 1, 0)


def collect_results(place: SharePlace, *replies: Reply) -> Effects:
    return staging_requests.collect_results(Effects(place.role, replies=replies), place.on)


def part(partition: str, error: Errors = Errors.NONE, to: ReplyTo = TO) -> Reply:
    return Reply(to, staging_response(error, partition))


def calling(**settings: str) -> SharePlace:
    place = SharePlace(**settings).load()
    place.fetch("M1", 3)
    place.stage("M1", *ONE)
    place.coordinator()
    place.role = place.role.but(calls=(StagingCall(TO, CALL),))
    return place


def test_the_answers_of_others_are_not_kept_back_while_a_call_waits_for_its_parts() -> None:
    other = Reply(ReplyTo("q", 1, 0), fetch_response(Errors.NONE, "src-0"))
    done = collect_results(calling(), other, part("src-0"))
    assert done.replies == (other,)
    role = done.state
    assert isinstance(role, ShareLeader)
    assert role.calls[0].results == (PartitionResult("src-0", Errors.NONE),)


def test_the_last_part_is_the_answer_of_the_call() -> None:
    place = calling()
    place.role = collect_results(place, part("src-0")).state
    (reply,) = collect_results(place, part("src-1", Errors.NOT_LEADER_OR_FOLLOWER)).replies
    message = reply.message
    assert message == staging_response(
        Errors.NOT_LEADER_OR_FOLLOWER, "src-1", ("src-0", Errors.NONE)
    )


def test_all_or_none_gives_back_what_was_staged_where_the_share_partition_is_still_there() -> None:
    place = calling(rules="repaired+stage_parts=all_or_none")
    assert place.share.records[0].state is TXP
    replies = (part("src-0"), part("src-1", Errors.INVALID_RECORD_STATE))
    role = collect_results(place, *replies).state
    assert role.shares[KEY].records[0].state is ACQ
    gone = place.role.but(shares=place.role.shares.without(KEY))
    place.role = gone
    done = collect_results(place, *replies)
    assert done.state.shares == gone.shares
    message = done.replies[0].message
    assert isinstance(message, TxnShareAcknowledgeResponse)
    assert {result.error for result in message.responses} == {Errors.INVALID_RECORD_STATE}


def test_only_what_this_producer_has_staged_is_given_back() -> None:
    share = calling().share
    both = (AcknowledgementBatch(0, 1, ACCEPT),)
    more = CALL.but(partitions=(TxnPartitionAcknowledgements("src-0", both),))
    left, events = share_partition.unstage(share, more.but(producer_epoch=5))
    assert (left.records, events) == (share.records, ())
    back, events = share_partition.unstage(share, more)
    assert back.records[0].state is ACQ
    assert back.records[1] == share.records[1]
    assert len(events) == 1


def test_who_is_gone_waits_for_no_answer_and_everybody_else_does() -> None:
    role = calling().role
    other = StagingCall(ReplyTo("q", 1, 0), CALL)
    both = role.but(calls=(*role.calls, other))
    assert staging_requests.on_disconnected(both, "p").calls == (other,)
    assert staging_requests.on_disconnected(both, "nobody") is both


def test_all_or_none_tells_each_part_its_own_error_before_that_of_the_others() -> None:
    place = calling(rules="repaired+stage_parts=all_or_none")
    three = CALL.but(partitions=(*CALL.partitions, TxnPartitionAcknowledgements("src-2", ONE)))
    place.role = place.role.but(calls=(StagingCall(TO, three),))
    errors = {"src-1": Errors.NOT_LEADER_OR_FOLLOWER, "src-2": Errors.INVALID_RECORD_STATE}
    done = collect_results(place, part("src-0"), *(part(p, e) for p, e in errors.items()))
    message = done.replies[0].message
    assert isinstance(message, TxnShareAcknowledgeResponse)
    found = {result.partition: result.error for result in message.responses}
    assert found == {"src-0": Errors.NOT_LEADER_OR_FOLLOWER, **errors}


def test_only_a_staging_of_several_partitions_waits_for_its_parts() -> None:
    """KIP-1289 "TxnShareAcknowledgeRequest", Topics and Partitions (draft)."""
    place = calling()
    place.role = place.role.but(calls=())
    second, third = (AcknowledgementBatch(1, 1, ACCEPT),), (AcknowledgementBatch(2, 2, ACCEPT),)
    single = CALL.but(partitions=(TxnPartitionAcknowledgements("src-0", second),))
    place.ask(staging_requests.on_txn_share_acknowledge, single, "p")
    assert place.role.calls == ()
    assert "partition" not in [check.name for check in place.checks]
    first = TxnPartitionAcknowledgements("src-0", third)
    several = CALL.but(partitions=(first, CALL.partitions[1]))
    place.ask(staging_requests.on_txn_share_acknowledge, several, "q")
    assert [(c.reply_to.source, c.request) for c in place.role.calls] == [("q", several)]
    assert [c.found for c in place.checks if c.name == "partition"] == ["src-0", "src-1"]


def test_each_call_gets_the_answers_to_its_own_parts_and_the_others_go_on_waiting() -> None:
    place = calling()
    other = StagingCall(ReplyTo("q", 1, 0), CALL)
    place.role = place.role.but(calls=(other, *place.role.calls))
    done = collect_results(place, part("src-0"))
    assert {c.reply_to.source: c.results for c in done.state.calls} == {
        "q": (),
        "p": (PartitionResult("src-0", Errors.NONE),),
    }
    place.role = done.state
    done = collect_results(place, part("src-1"))
    assert [reply.to for reply in done.replies] == [TO]
    assert done.state.calls == (other,)


def test_an_answer_of_another_kind_is_no_part_of_a_call() -> None:
    """One connection carries fetches, too."""
    other = Reply(TO, fetch_response(Errors.NONE, "src-0"))
    single = part("src-0", to=ReplyTo("nobody", 1, 0))
    done = collect_results(calling(), other, single)
    assert done.replies == (other, single)
    assert done.state.calls[0].results == ()


def test_the_checks_tell_whose_error_a_part_gets() -> None:
    place = calling(rules="repaired+stage_parts=all_or_none")
    done = collect_results(place, part("src-0"), part("src-1", Errors.INVALID_RECORD_STATE))
    wrong = Errors.INVALID_RECORD_STATE
    assert [(c.name, c.asked, c.found, c.error) for c in done.checks] == [
        ("staged with the others", "src-0", True, wrong),
        ("staged", "src-1", wrong, wrong),
    ]
    assert collect_results(calling(), part("src-0"), part("src-1")).checks == ()
