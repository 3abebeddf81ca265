"""Where a response has an error, a check of the step names it; where designs respond differently, their checks differ."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest

from kipviz.brokers import kafka_apis
from kipviz.brokers.checks import (
    Check,
    Checked,
    add_translation,
    compare,
    error_of,
    in_order,
    possible_errors,
)
from kipviz.checking.single_run import runs
from kipviz.checking.single_run.seeded_run import Task
from kipviz.cluster import dispatch
from kipviz.cluster.dispatch import HANDLERS
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.turn import Turn
from kipviz.core.model import Event
from kipviz.core.traces.trace import Node
from kipviz.designs.catalogue import design
from kipviz.driving.desk import Desk
from kipviz.messages.apis.api import Role
from kipviz.messages.apis.catalogue import API_OF
from kipviz.messages.cluster.coordinators import FindCoordinator
from kipviz.messages.errors import Errors
from kipviz.messages.events import MessageDelivered, MessageSent
from kipviz.messages.groups.several_groups import GroupsResponse
from kipviz.messages.logs.producing import ProduceResponse
from kipviz.messages.message import Message
from kipviz.messages.shares.share_groups import (
    ShareFetchResponse,
)
from kipviz.messages.transactions.transactions import (
    EndTxn,
    WriteTxnMarkersResponse,
)
from kipviz.scenarios.library import LIBRARY, scenario
from kipviz.views.explanations import checks
from tests.scenarios.story import nodes, play_once, under_one_design_each

STORIES = [(s.name, d) for s in LIBRARY for d in s.designs]
AS_STORY = pytest.mark.parametrize(("name", "under"), under_one_design_each())
# Designs whose brokers refuse what others take.
STRANGERS = ("finding-L", "finding-X6", "finding-X8", "finding-X13")
WILD = [
    ("kip-98-zombie", "kafka", 5),
    ("kip-1289-group-commit", "kafka", 5),
    ("kip-98-stuck-lso", "kafka", 7),
    ("kip-447-zombie", "kafka", 3),
    ("kip-1289-share-commit", "repaired", 11),
    ("kip-1289-two-members", "as-written", 3),
    ("kip-932-members", "kafka", 2),
    ("kip-932-reset-fences", "kafka", 6),
    ("kip-932-several-partitions", "kafka", 9),
]
# Every story under every design, each with its own seeds, for the thorough sweep.
WILD_ALL = [
    (name, under, 100 * seed + at) for at, (name, under) in enumerate(STORIES) for seed in range(3)
]
# Seeds at which a hostile run has an error that no story has: a partition that is not there beside one that is, a
# list of which one coordinator is loading, a topic without a right beside one with it, a marker in two logs.
RARE = [
    ("kip-1319-by-id", "kafka", 211),
    ("kip-664-fence", "kafka", 211),
    ("kip-98-two-partitions-forbidden", "kafka", 206),
    ("kip-98-topic-deleted-tv1", "kafka", 209),
    ("kip-1289-several-partitions", "repaired", 203),
    ("kip-1289-streams-topology", "repaired", 202),
    ("kip-140-filter", "kafka", 200),
]
# What a share-partition compares for each fetch that waits.
OF_FETCHES = (
    "below the high watermark",
    "below the last stable offset",
    "room for records",
    "records to deliver",
)


def errors_of(message: Any) -> list[Errors]:
    """All errors in a response, wherever they are in it: of the whole, of partitions, of members."""
    if isinstance(message, Errors):
        return [] if message is Errors.NONE else [message]
    if isinstance(message, tuple):
        return [error for each in message for error in errors_of(each)]
    if isinstance(message, msgspec.Struct):
        names = message.__struct_fields__
        return [error for name in names for error in errors_of(getattr(message, name))]
    return []


def find_unexplained(model: ClusterModel, path: list[Node]) -> list[tuple[int, str]]:
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
            if isinstance(event, MessageSent) and event.way == "response"
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


@AS_STORY
def test_every_error_of_a_story_is_decided_by_a_check(name, under):
    trace, _ = play_once(name, under)
    assert find_unexplained(trace.model, nodes(trace)) == []


@cache
def wild(name: str, under: str, seed: int) -> tuple[ClusterModel, list[Node]]:
    run = runs.replay(Task(name, under, "hostile", seed, 250))
    return run.model, [run.trace.node(node) for node in run.trace.line]


@pytest.mark.parametrize(("name", "under", "seed"), WILD + RARE)
def test_every_error_of_a_hostile_run_is_decided_by_a_check(name, under, seed):
    assert find_unexplained(*wild(name, under, seed)) == []


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "under", "seed"), WILD_ALL)
def test_every_error_of_every_hostile_run_is_decided_by_its_last_check(name, under, seed):
    run = runs.replay(Task(name, under, "hostile", seed, 250))
    path = [run.trace.node(node) for node in run.trace.line]
    assert find_unexplained(run.model, path) == []
    assert decided_before_the_end(run.model, path) == []


def has_parts(message: Any) -> bool:
    """Whether a response has errors of several partitions, groups or entries: each of them is decided by itself."""
    fields = [getattr(message, name) for name in message.__struct_fields__]
    arrays = [each for each in fields if isinstance(each, tuple) and errors_of(each)]
    return any(len(each) > 1 or not isinstance(message, GroupsResponse) for each in arrays)


def without_waiting_fetches(made: tuple[Check, ...]) -> tuple[Check, ...]:
    """Leave out the checks at the end that are of fetches which wait: records that come free are offered to them."""
    end = len(made)
    while end and (made[end - 1].name in OF_FETCHES and made[end - 1].error is Errors.NONE):
        end -= 1
    return made[:end]


def decided_before_the_end(model: ClusterModel, path: list[Node]) -> list[tuple[int, str]]:
    """The responses with one error, alone in their step, whose error is not that of the last check there."""
    found: list[tuple[int, str]] = []
    for step, (before, node) in enumerate(pairwise(path), 1):
        sent = [e for e in node.events if isinstance(e, MessageSent) and e.way == "response"]
        errors = [error for event in sent for error in errors_of(event.message)]
        if len(sent) != 1 or len(errors) != 1 or has_parts(sent[0].message):
            continue
        each = checks.checks_of(model, before.world, node.action)
        made = without_waiting_fetches(tuple(c for one in each for c in one.checks))
        if not made or made[-1].error is not errors[0]:
            found.append((step, f"{type(sent[0].message).__name__} {errors[0].name}"))
    return found


@AS_STORY
def test_the_last_check_is_the_one_that_decides(name, under):
    trace, _ = play_once(name, under)
    assert decided_before_the_end(trace.model, nodes(trace)) == []


@pytest.mark.parametrize(("name", "under", "seed"), WILD + RARE)
def test_the_last_check_decides_in_hostile_runs_as_well(name, under, seed):
    assert decided_before_the_end(*wild(name, under, seed)) == []


def count_handled(monkeypatch) -> tuple[dict[str, int], dict[str, str]]:
    """Count what each request's own handler reports from now on, without what a broker checks before any handler.

    Returned are how often each handler ran, and where one reported nothing: filled while stories are played.
    """
    ran: dict[str, int] = {}
    silent: dict[str, str] = {}
    request, carry_out = dispatch.request, Turn.carry_out
    begun: list[str] = []

    def note_request(role: Any, message: Any, reply_to: Any, on: Any) -> Any:
        begun.append(type(message).__name__)
        return request(role, message, reply_to, on)

    def count_checks(turn: Turn, key: Any, effects: Any) -> None:
        names, before = tuple(begun), len(turn.checks)
        begun.clear()
        carry_out(turn, key, effects)
        for name in names:
            ran[name] = ran.get(name, 0) + 1
            if len(turn.checks) == before:
                silent[name] = f"{name} on {key[1]}"

    monkeypatch.setattr(dispatch, "request", note_request)
    monkeypatch.setattr(Turn, "carry_out", count_checks)
    return ran, silent


def test_the_handler_of_every_request_there_is_reports_what_it_compared(monkeypatch):
    ran, silent = count_handled(monkeypatch)
    for story in LIBRARY:
        story.play(design(story.designs[0]))
    assert silent == {}
    unasked = [kind for kind in HANDLERS if kind.__name__ not in ran]
    # No story sends it, so it is asked of a broker itself; a role that leads something needs a story.
    silent_alone = [kind.__name__ for kind in unasked if not reports_alone(kind)]
    assert silent_alone == [], "no story plays it, and a broker that is asked reports no check"


def reports_alone(kind: type[Message]) -> bool:
    """Whether KafkaApis serves a request, and reports a check and responds when it is asked without a story."""
    if API_OF[kind].role is not Role.KAFKA_APIS:
        return False
    desk = Desk(kafka_apis, kafka_apis.KafkaApis(), leaders={"out-0": 1})
    answer = desk.ask(HANDLERS[kind], make_blank(kind))
    return bool(desk.checks) and answer is not None


def make_blank(kind: Any) -> Any:
    """A value of a message's field: an array has one element, and everything else is empty."""
    origin, inside = get_origin(kind), get_args(kind)
    if origin is tuple and inside:
        return (make_blank(inside[0]),)
    if hasattr(kind, "__struct_fields__"):
        hints = get_type_hints(kind)
        return kind(*(make_blank(hints[name]) for name in kind.__struct_fields__))
    if origin in (Union, UnionType):
        return None if NoneType in inside else make_blank(inside[0])
    return (origin or kind)()


def test_a_request_that_no_story_sends_is_asked_of_a_broker_itself():
    assert reports_alone(FindCoordinator)
    assert not reports_alone(EndTxn)


def test_checks_end_with_the_first_one_that_fails():
    @in_order
    def make_checks():
        yield compare("one", 1, 1, True, Errors.INVALID_REQUEST)
        yield compare("two", 1, 2, False, Errors.PRODUCER_FENCED)
        raise AssertionError("nobody looks any further")

    fenced, otherwise = Errors.PRODUCER_FENCED, (Errors.INVALID_REQUEST,)
    assert make_checks() == (
        Check("one", 1, 1, otherwise=otherwise),
        Check("two", 1, 2, fenced, (fenced,)),
    )
    assert possible_errors(make_checks()) == (Errors.INVALID_REQUEST, fenced)
    assert error_of(make_checks()) is Errors.PRODUCER_FENCED
    assert error_of(()) is Errors.NONE


def test_an_error_that_becomes_another_one_is_one_more_check():
    fenced = (Check("producer epoch", 0, 1, Errors.PRODUCER_FENCED),)
    older = add_translation(fenced, "request version", 1, Errors.INVALID_PRODUCER_EPOCH)
    assert error_of(older) is Errors.INVALID_PRODUCER_EPOCH
    assert older[-1].found is Errors.PRODUCER_FENCED
    assert add_translation(fenced, "request version", 2, Errors.PRODUCER_FENCED) == fenced


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
    trace, _ = play_once(name, under)
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
    found = rows_at("kip-1319-stale", "kafka", 63)
    assert found[-1] == ("member epoch", "request 2 · group 3 → STALE_MEMBER_EPOCH")


def told_in(node: Node) -> tuple[Any, ...]:
    sent = (event for event in node.events if isinstance(event, MessageSent))
    return tuple(e.message for e in sent if e.way == "response")


SEVERAL = [(s.name, s.designs) for s in LIBRARY if len(s.designs) > 1]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "designs"), SEVERAL)
def test_where_designs_respond_differently_from_one_state_their_checks_differ(name, designs):
    first, *others = [(play_once(name, under)[0]) for under in designs]
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


def divergences(name: str, designs: tuple[str, ...]) -> list[tuple[int, bool]]:
    """The steps of a story at which another design responds with other errors, and whether its checks differ.

    Each design takes every step of the others' stories that is possible for it, from the same world.
    """
    found = []
    for own in designs:
        trace, _ = play_once(name, own)
        for other in dict.fromkeys((*designs, *STRANGERS)):
            model = scenario(name).model(design(other))
            for step, (before, node) in enumerate(pairwise(nodes(trace)), 1):
                if other == own or model.why_not(before.world, node.action) is not None:
                    continue
                outcome = model.step(before.world, node.action)
                answers = [list_errors(events) for events in (node.events, outcome.events)]
                if answers[0] != answers[1]:
                    made = checks.checks_of(trace.model, before.world, node.action)
                    found.append((step, made != outcome.checks))
    return found


def list_errors(events: tuple[Event, ...]) -> list[Errors]:
    sent = (event.message for event in events if isinstance(event, MessageSent))
    return [e for m in sent for e in errors_of(m)]


@pytest.mark.parametrize(
    ("name", "designs"),
    [
        pytest.param(name, designs, marks=pytest.mark.thorough if at % 3 else ())
        for at, (name, designs) in enumerate(SEVERAL)
    ],
)
def test_where_any_request_gets_another_error_under_a_design_its_checks_differ(name, designs):
    assert all(differ for _, differ in divergences(name, designs))


def test_the_member_s_epoch_is_compared_in_every_design_and_held_against_it_in_one():
    stale = ("member epoch", "request 3 · group 4 → STALE_MEMBER_EPOCH")
    assert rows_at("kip-1289-corner-8-snapshot", "finding-L", 40)[-1] == stale
    assert ("member epoch", "request 3 · group 4") in rows_at(
        "kip-1289-corner-8-snapshot", "repaired", 40
    )
    assert divergences("kip-1289-corner-8-snapshot", ("repaired", "finding-L"))


def test_an_operator_s_reset_while_a_transactional_acknowledgement_is_pending_shows_whose_acknowledgement_stands_against_it():
    found = rows_at("kip-1289-small-reset", "repaired", 48)
    assert found[-1] == ("acknowledgements of producer ids", "9 → CONCURRENT_TRANSACTIONS")


def test_a_refused_write_is_shown_with_the_record_the_answer_and_the_error_that_the_client_gets():
    assert rows_at("kip-932-reset-fences", "kafka", 30) == (
        ("records", "100-101"),
        ("record state", "ACKNOWLEDGED"),
        ("held by", "M1"),
        ("delivery count", "1"),
        (
            "answer of the coordinator",
            "request about acknowledge · response: FENCED_STATE_EPOCH → FENCED_STATE_EPOCH",
        ),
        ("error to a client", "FENCED_STATE_EPOCH → NOT_LEADER_OR_FOLLOWER"),
    )


def test_an_acl_that_is_created_is_shown_with_its_name_and_whether_it_exists():
    trace, _ = play_once("kip-140-filter", "kafka")
    path = nodes(trace)
    (rows,) = (
        checks.rows(checks.checks_of(trace.model, before.world, node.action))
        for before, node in pairwise(path)
        if any(
            type(e.message).__name__ == "CreateAclsResponse"
            for e in node.events
            if isinstance(e, MessageSent)
        )
    )
    assert rows[1:] == (
        ("authorizer configured", "yes"),
        ("resource name", "of TOPIC out · allowed: yes"),
        ("ACL exists", "of TOPIC out · exists: no"),
    )


def test_where_all_parts_are_refused_with_one_the_page_says_which_was_well_by_itself():
    trace, _ = play_once("kip-1289-corner-11-one-leader", "as-written")
    refused = ("staged with the others", "of src-0 · valid on its own: yes → INVALID_RECORD_STATE")
    assert any(
        refused in checks.rows(checks.checks_of(trace.model, before.world, node.action))
        for before, node in pairwise(nodes(trace))
    )


def test_the_answer_of_a_session_repeats_what_was_decided_of_a_partition_when_it_arrived():
    trace, _ = play_once("kip-932-one-answer", "kafka")
    (rows,) = (
        checks.rows(checks.checks_of(trace.model, before.world, node.action))
        for before, node in pairwise(nodes(trace))
        for message in told_in(node)
        if isinstance(message, ShareFetchResponse) and errors_of(message)
    )
    unknown, moved = "UNKNOWN_TOPIC_OR_PARTITION", "NOT_LEADER_OR_FOLLOWER"
    assert rows[-2:] == (
        ("acknowledged", f"of src-0 · result: {unknown} → {unknown}"),
        ("fetched", f"of src-0 · result: {moved} → {moved}"),
    )
