"""Where a response has an error, a check of the step names it; where designs respond differently, their checks differ."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from kipviz.brokers.checks import (
    Check,
    Checked,
    compare,
    error_of,
    in_order,
    possible_errors,
    translated,
)
from kipviz.checking import runs
from kipviz.checking.task import Task
from kipviz.cluster.model import ClusterModel
from kipviz.core.trace import Node
from kipviz.messages.coordinators import FindCoordinatorResponse
from kipviz.messages.errors import Errors
from kipviz.messages.events import MessageDelivered, MessageSent
from kipviz.messages.groups import (
    OffsetCommitResponse,
    OffsetFetchResponse,
    TxnOffsetCommitResponse,
)
from kipviz.messages.membership import ConsumerGroupHeartbeatResponse
from kipviz.messages.producing import FetchResponse, ProduceResponse
from kipviz.messages.share_groups import (
    ShareAcknowledgeResponse,
    ShareFetchResponse,
    TxnShareAcknowledgeResponse,
)
from kipviz.messages.share_state import (
    DeleteShareGroupStateResponse,
    InitializeShareGroupStateResponse,
    ReadShareGroupStateResponse,
    ReadShareGroupStateSummaryResponse,
    TxnWriteShareGroupStateResponse,
    WriteShareGroupStateResponse,
)
from kipviz.messages.topic_creation import CreateTopicsResponse
from kipviz.messages.transactions import (
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnResponse,
    EndTxnResponse,
    InitProducerIdResponse,
    WriteTxnMarkersResponse,
)
from kipviz.scenarios.library import LIBRARY
from kipviz.views import checks
from tests.scenarios.story import nodes, played

# The responses whose errors are explained by checks, and how each partition or transaction has its own.
EXPLAINED = (
    InitProducerIdResponse,
    AddPartitionsToTxnResponse,
    AddOffsetsToTxnResponse,
    EndTxnResponse,
    ProduceResponse,
    WriteTxnMarkersResponse,
    FetchResponse,
    TxnOffsetCommitResponse,
    OffsetCommitResponse,
    OffsetFetchResponse,
    FindCoordinatorResponse,
    CreateTopicsResponse,
    ConsumerGroupHeartbeatResponse,
    ShareFetchResponse,
    ShareAcknowledgeResponse,
    TxnShareAcknowledgeResponse,
    InitializeShareGroupStateResponse,
    ReadShareGroupStateResponse,
    ReadShareGroupStateSummaryResponse,
    WriteShareGroupStateResponse,
    TxnWriteShareGroupStateResponse,
    DeleteShareGroupStateResponse,
)
STORIES = [(s.name, d) for s in LIBRARY for d in s.designs]
# Every seventh in the order of the library; all of them are among the slow tests.
SAMPLE = STORIES[::7]
WILD = [
    ("kip-98-zombie", "kafka", 5),
    ("kip-1289-group-commit", "kafka", 5),
    ("kip-98-stuck-lso", "kafka", 7),
    ("kip-447-zombie", "kafka", 3),
    ("kip-1289-share-commit", "repaired", 11),
]


def errors_of(message: Any) -> list[Errors]:
    """The errors in a response: of the whole, or of each partition or transaction."""
    if isinstance(message, WriteTxnMarkersResponse):
        found = [result.error for each in message.of_transactions for result in each.results]
    elif isinstance(message, ProduceResponse):
        found = [part.error for part in message.parts]
    elif isinstance(message, ShareFetchResponse):
        each = message.fetched
        found = [message.error, *(e for p in each for e in (p.error, p.acknowledge_error))]
    elif isinstance(message, ShareAcknowledgeResponse | TxnShareAcknowledgeResponse):
        found = [error for _, error in message.of_each]
    else:
        found = [each.error for each in (message, *getattr(message, "further", ()))]
    return [error for error in found if error is not Errors.NONE]


def unexplained(model: ClusterModel, path: list[Node]) -> list[tuple[int, str]]:
    """The responses with an error that no check names as the one that decided.

    A response with results of several parts goes out with the last of them: there the steps since the
    request arrived count.
    """
    found: list[tuple[int, str]] = []
    since: dict[tuple[str, int], set[Errors]] = {}
    for step, (before, node) in enumerate(pairwise(path), 1):
        for event in node.events:
            if isinstance(event, MessageDelivered) and event.way == "request":
                since[event.source, event.broker] = set()
        told = [
            (event, error)
            for event in node.events
            if isinstance(event, MessageSent)
            and event.way == "response"
            and isinstance(event.message, EXPLAINED)
            for error in errors_of(event.message)
        ]
        made = checks.checks_of(model, before.world, node.action)
        decided = {check.error for each in made for check in each.checks}
        for errors in since.values():
            errors.update(decided)
        for event, error in told:
            parted = isinstance(event.message, ProduceResponse | WriteTxnMarkersResponse)
            known = since.get((event.source, event.broker), decided) if parted else decided
            if error not in known:
                found.append((step, f"{type(event.message).__name__} {error.name}"))
    return found


@pytest.mark.parametrize(("name", "under"), SAMPLE)
def test_every_error_of_a_story_is_decided_by_a_check(name, under):
    trace, _ = played(name, under)
    assert unexplained(trace.model, nodes(trace)) == []


@pytest.mark.slow
@pytest.mark.parametrize(("name", "under"), STORIES)
def test_every_error_of_every_story_is_decided_by_a_check(name, under):
    trace, _ = played(name, under)
    assert unexplained(trace.model, nodes(trace)) == []


@pytest.mark.parametrize(("name", "under", "seed"), WILD)
def test_every_error_of_a_hostile_run_is_decided_by_a_check(name, under, seed):
    run = runs.replay(Task(name, under, "hostile", seed, 250))
    assert unexplained(run.model, [run.trace.node(node) for node in run.trace.line]) == []


def test_checks_end_with_the_first_one_that_fails():
    @in_order
    def made():
        yield compare("one", 1, 1, True, Errors.INVALID_REQUEST)
        yield compare("two", 1, 2, False, Errors.PRODUCER_FENCED)
        raise AssertionError("nobody looks any further")

    fenced, otherwise = Errors.PRODUCER_FENCED, (Errors.INVALID_REQUEST,)
    assert made() == (
        Check("one", 1, 1, otherwise=otherwise),
        Check("two", 1, 2, fenced, (fenced,)),
    )
    assert possible_errors(made()) == (Errors.INVALID_REQUEST, fenced)
    assert error_of(made()) is Errors.PRODUCER_FENCED
    assert error_of(()) is Errors.NONE


def test_an_error_that_becomes_another_one_is_one_more_check():
    fenced = (Check("producer epoch", 0, 1, Errors.PRODUCER_FENCED),)
    older = translated(fenced, "request version", 1, Errors.INVALID_PRODUCER_EPOCH)
    assert error_of(older) is Errors.INVALID_PRODUCER_EPOCH
    assert older[-1].found is Errors.PRODUCER_FENCED
    assert translated(fenced, "request version", 2, Errors.PRODUCER_FENCED) == fenced


def test_a_row_says_what_was_asked_what_was_there_and_the_error_that_follows():
    fenced = Check("producer epoch", 0, 1, Errors.PRODUCER_FENCED)
    made = (Checked(1, "transaction_coordinator", "__transaction_state-45", (fenced,)),)
    assert checks.rows(made) == (("producer epoch", "request 0 · coordinator 1 → PRODUCER_FENCED"),)


def test_rows_of_several_partitions_say_which():
    found = Check("enough replicas", None, True)
    made = tuple(Checked(1, "partition_leader", f"out-{n}", (found,)) for n in (0, 1))
    assert checks.rows(made) == (
        ("enough replicas, out-0", "yes"),
        ("enough replicas, out-1", "yes"),
    )


def rows_at(name: str, under: str, step: int) -> tuple[tuple[str, str], ...]:
    trace, _ = played(name, under)
    path = nodes(trace)
    return checks.rows(checks.checks_of(trace.model, path[step - 1].world, path[step].action))


def test_a_member_that_is_gone_decides_under_kafka_and_is_not_held_against_the_commit_before_kip_447():
    member = ("member id", "request C1 · group none → UNKNOWN_MEMBER_ID")
    assert rows_at("kip-447-zombie", "kafka", 80)[-1] == member
    before = rows_at("kip-447-zombie", "before-447", 80)
    at = before.index(member)
    assert before[at + 1] == ("fencing by the group", "UNKNOWN_MEMBER_ID → no error")
    assert all("→" not in words for _, words in before[at + 2 :])


def test_a_stale_member_epoch_is_the_last_check_and_has_both_epochs():
    found = rows_at("kip-1319-stale", "kafka", 66)
    assert found[-1] == ("member epoch", "request 2 · group 3 → STALE_MEMBER_EPOCH")


def told_in(node: Node) -> tuple[Any, ...]:
    sent = (event for event in node.events if isinstance(event, MessageSent))
    return tuple(
        e.message for e in sent if e.way == "response" and isinstance(e.message, EXPLAINED)
    )


SEVERAL = [(s.name, s.designs) for s in LIBRARY if len(s.designs) > 1]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "designs"), SEVERAL)
def test_where_designs_respond_differently_from_one_state_their_checks_differ(name, designs):
    first, *others = [(played(name, under)[0]) for under in designs]
    for other in others:
        both = zip(pairwise(nodes(first)), pairwise(nodes(other)), strict=False)
        for (before, node), (same, its) in both:
            if before.world != same.world or node.action != its.action:
                break
            errors = [[e for m in told_in(n) for e in errors_of(m)] for n in (node, its)]
            if errors[0] == errors[1]:
                continue
            made = [checks.checks_of(t.model, before.world, node.action) for t in (first, other)]
            assert made[0] != made[1], (name, node.action)
