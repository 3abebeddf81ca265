"""Words for everything that can happen: nothing is left without, and nothing new can be."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from kipviz.brokers.authorizer import Acl
from kipviz.brokers.timers import InitialRebalanceDelay, MemberSession
from kipviz.clients.throwing.client_errors import CallTimedOut
from kipviz.clients.timers import RetryBackOff
from kipviz.cluster.actions import (
    ClientTimer,
    ClusterAction,
    CrashBroker,
    CrashClient,
    CreateAcls,
    CreateTopic,
    Cut,
    DelayOver,
    DeleteAcls,
    DeleteRecords,
    DeleteTopic,
    Deliver,
    DeliverLate,
    ExpireBatch,
    ExpireLock,
    GiveUp,
    Heal,
    InstallRelease,
    Load,
    LoseConnection,
    MissPoll,
    MoveLeader,
    Pause,
    ReadLog,
    Refresh,
    RemakeTopic,
    Replicate,
    Resume,
    RunOut,
    Send,
    StartBroker,
    StartClient,
    Step,
    Tick,
    TimeOutCall,
    TimeOutTransaction,
    UpgradeFeature,
)
from kipviz.cluster.behaviour.catalogue import clause_of, lane_of, script_name
from kipviz.cluster.real.external_clients import receive
from kipviz.core.model import Event
from kipviz.designs.options.options import STATUSES
from kipviz.messages import events
from kipviz.messages.apis.catalogue import API_OF
from kipviz.messages.apis.rights import Operation, Resource
from kipviz.messages.cluster import metadata
from kipviz.messages.cluster.metadata import Metadata, MetadataResponse, TopicId
from kipviz.messages.errors import Errors
from kipviz.messages.groups import groups
from kipviz.messages.logs import producing
from kipviz.messages.message import Message
from kipviz.messages.shares import share_groups, share_state
from kipviz.messages.transactions import transactions
from kipviz.messages.transactions.transactions import (
    AddPartitionsToTxn,
    EndTxn,
    EndTxnResponse,
    InitProducerIdResponse,
    PartitionResult,
    TxnMarker,
    TxnMarkerResult,
    TxnPartitions,
    WriteTxnMarkers,
    WriteTxnMarkersResponse,
)
from kipviz.records.batches import DataRecord
from kipviz.records.share_group_state import RecordState
from kipviz.records.transaction_state import TransactionState
from kipviz.views.choices import FAULTS
from kipviz.views.explanations.sentences import detail, summary, tell, tone_of
from tests.scenarios.story import nodes, play_once

KEY = "g1:AAAAAAAAAAAAAAAAAAAAAg:0"
READS = Acl("app-1", Operation.READ, Resource.TOPIC, "src")
# One action of every class, and the beginning of the sentence that tells it.
TESTS = Path(__file__).parents[2]
ACTIONS: dict[ClusterAction, str] = {
    Step("app-1"): "app-1 calls ",
    Send("app-1/producer"): "The network thread of app-1/producer sends ",
    receive("app-9/1", 1, Metadata(("src",))): "app-9/1, a real client, sends Metadata.",
    Deliver("app-1/producer", 1, "request"): "Broker 1 receives ",
    Replicate("src-0"): "Every in-sync replica has all of src-0",
    Load(
        1, "transaction_coordinator", "__transaction_state-45"
    ): "Broker 1 has loaded __transaction",
    ExpireLock(5, KEY, 100): "The acquisition lock of src-0@100 expires on Broker 5.",
    TimeOutTransaction(1, "__transaction_state-45", "my-txn"): "my-txn took longer than ",
    RunOut(
        5, "group_coordinator", "__consumer_offsets-7", MemberSession("M1", "g1")
    ): "The session of M1 in g1 expires on Broker 5.",
    DeleteTopic("src"): "An operator deletes src.",
    CreateTopic("src"): "An operator creates src.",
    RemakeTopic("src"): "An operator deletes src and creates a topic of the same name.",
    ClientTimer("app-1/consumer", RetryBackOff()): (
        "The retry back-off of the consumer of app-1 ends."
    ),
    DelayOver(5, "group_coordinator", "__consumer_offsets-7", InitialRebalanceDelay("g")): (
        "The initial delay of g ends on Broker 5."
    ),
    Refresh(5, KEY): "Broker 5 looks up the outcome of acknowledgements for src-0.",
    CrashBroker(5): "Broker 5 crashes. ",
    StartBroker(5): "Broker 5 restarts.",
    MoveLeader("src-0", 3): "The controller makes Broker 3 the leader of src-0.",
    LoseConnection("app-1/producer", 1): "The connection from the producer of app-1 to Broker 1 ",
    GiveUp("app-1/producer", 1): "request.timeout.ms expires: the producer of app-1 closes ",
    DeliverLate("app-1/producer #0", 1): "Broker 1 receives nothing from a connection that the ",
    DeleteRecords("src-0"): "Retention, or an operator, deletes the oldest batch of src-0.",
    TimeOutCall(
        "app-1"
    ): "max.block.ms expires for a call of app-1. The operation itself continues.",
    MissPoll(
        "app-1/consumer"
    ): "max.poll.interval.ms expires: the consumer of app-1 leaves its group",
    ExpireBatch(
        "app-1/producer"
    ): "delivery.timeout.ms expires for a batch of the producer of app-1",
    UpgradeFeature("transaction_version", 1): "An operator finalizes transaction.version 1.",
    Cut("B1", "B3"): "B1 and B3 are partitioned",
    Heal("B1", "B3"): "The network partition of B1 and B3 heals.",
    Pause("B3"): "B3 is paused: nothing runs on it",
    Resume("B3"): "B3 resumes",
    InstallRelease(5, "4.4"): "An operator stops Broker 5 and installs 4.4 on it.",
    CreateAcls(READS): "An operator creates an ACL: app-1 may READ TOPIC src.",
    DeleteAcls(READS): "An operator deletes the ACL 'app-1 may READ TOPIC src'.",
    CrashClient("app-1"): "app-1 crashes, ",
    StartClient("app-1"): "app-1 restarts ",
    ReadLog(
        "src-0", 4, "2026-11-03 10:00:00.000"
    ): "src-0 has a batch at offset 4, written 2026-11-03 10:00:00.000.",
    Tick(): "Time passes. Nothing else happens.",
}


def world() -> object:
    return nodes(play_once("kip-1289-share-commit", "repaired")[0])[12].world


def test_a_class_of_action_is_in_the_table_above_or_in_a_test_of_its_own() -> None:
    lost = {kind.__name__ for kind in get_args(ClusterAction)} - {type(a).__name__ for a in ACTIONS}
    own = [path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py")] if lost else []
    own = [text for text in own if "sentence_of(" in text]
    untold = [name for name in sorted(lost) if not any(f"{name}(" in text for text in own)]
    assert not untold, (
        f"no test of sentence_of({untold[0]}(...)); it may stand with that action's other tests"
    )


@pytest.mark.parametrize(
    ("action", "opening"), ACTIONS.items(), ids=[type(a).__name__ for a in ACTIONS]
)
def test_every_action_has_a_label_a_sentence_and_a_lane(
    action: ClusterAction, opening: str
) -> None:
    here = world()
    told = tell(here, action, ())  # type: ignore[arg-type]
    assert told.sentence.startswith(opening)
    assert told.sentence.endswith(".")
    assert told.title
    assert told.tone in ("calm", "warning", "gone")
    assert script_name(here, action)  # type: ignore[arg-type]
    assert lane_of(here, action) in ("app-1", "app-9", "B1", "B3", "B5", "")


def test_a_send_that_finds_no_room_leaves_nothing_that_goes_on() -> None:
    trace = nodes(play_once("kip-98-buffer-full", "kafka")[0])
    at = next(n for n, node in enumerate(trace) if node.action == TimeOutCall("app-1"))
    said = tell(trace[at - 1].world, TimeOutCall("app-1"), ())
    assert (
        said.sentence
        == "max.block.ms expires: send() returns to app-1, and its records are in no buffer."
    )


def test_every_accident_and_every_repair_has_a_clause_and_a_kafka_class_of_its_own() -> None:
    accidents = [action for action in ACTIONS if action.KIND in FAULTS]
    rules = [
        action.timer.CLAUSE.rule if isinstance(action, RunOut) else clause_of(action).rule
        for action in accidents
    ]
    assert len(rules) == len(set(rules)) == 25


# -- events ------------------------------------------------------------------------------------

R, T = RecordState, TransactionState
# One event of every class that a sentence tells, and the sentence.
SPOKEN: list[tuple[Event, str]] = [
    (events.TimePassed(2_500), "2.5 s pass."),
    (
        events.TransactionMoved("my-txn", 9, 1, T.ONGOING, T.PREPARE_COMMIT, ("output-A-0",)),
        "my-txn is PREPARE_COMMIT, producer id 9, epoch 1. From here it can only commit.",
    ),
    (
        events.TransactionMoved("my-txn", 9, 0, T.EMPTY, T.ONGOING, ("output-A-0", "x-1")),
        "my-txn is ONGOING with output-A-0 and x-1.",
    ),
    (
        events.TransactionMoved("my-txn", 9, 0, T.ONGOING, T.ONGOING, ("output-A-0",), "9:1"),
        "my-txn is kept: it stays ONGOING with producer id 9, epoch 0, and only 9:1 can end it.",
    ),
    (
        events.DatabaseChanged("app-1", "committed", ("src-0@0", "src-0@1"), "9:0"),
        "In the database src-0@0 and src-0@1 is committed, with the state 9:0 of Kafka's transaction.",
    ),
    (
        events.DatabaseChanged("app-1", "rolled back", ("src-0@0",), ""),
        "In the database src-0@0 is rolled back.",
    ),
    (
        events.BatchAppended("output-A-0", 2, (), 9, 1, "COMMIT"),
        "A COMMIT marker is appended to output-A-0 at offset 2.",
    ),
    (
        events.BatchAppended("output-A-0", 0, ("a", "b"), 9, 0, ""),
        "2 records are appended to output-A-0 at offsets 0-1.",
    ),  # type: ignore[arg-type]
    (
        events.RecordsMoved(
            "src-0", "g1", 100, 100, R.AVAILABLE, R.ACQUIRED, 1, "M1", "it was asked"
        ),
        "src-0@100 goes from AVAILABLE to ACQUIRED: it was asked.",
    ),
    (
        events.RecordsMoved("src-0", "g1", 100, 102, R.ACQUIRED, R.AVAILABLE, 1, "M1", "it left"),
        "src-0@100-102 go from ACQUIRED to AVAILABLE: it left.",
    ),
    (
        events.AcknowledgementsCompleted("app-1", "src-0", 0, 2, "NONE"),
        "The callback of app-1 is called for src-0@0-2: durable.",
    ),
    (
        events.LockRenewed("src-0", "g1", 0, 2, "M1", 3),
        "M1 keeps src-0@0-2: its lock restarts.",
    ),
    (
        events.ShareStartFollowed("src-0", "g1", 100, 102),
        "src-0 now starts at 102 in its log: the start offset of g1 moves there from 100.",
    ),
    (
        events.SessionGiven("app-1", "app-1/producer", "app-1/session"),
        "The session of the producer of app-1 is the session of app-1.",
    ),
    (
        events.SessionGiven("app-1", "app-1/producer", ""),
        "The session of the producer of app-1 is null: it is not transactional.",
    ),
    (
        events.SharePartitionDropped("src-0", "g1", "its broker crashed"),
        "src-0 is dropped from memory: its broker crashed.",
    ),
    (
        events.SharePartitionLoaded("src-0", "g1", 100, ()),
        "src-0 is loaded for g1; its start offset is 100.",
    ),
    (events.OffsetStaged("cg", "src-0", 102, 9), "Offset 102 of cg for src-0 is pending."),
    (
        events.OffsetResolved("cg", "src-0", 102, 9, True),
        "The pending offset 102 of cg for src-0 is committed.",
    ),
    (
        events.OffsetResolved("cg", "src-0", 102, 9, False),
        "The pending offset 102 of cg for src-0 is dropped.",
    ),
    (
        events.OffsetCommitted("cg", "src-0", 102),
        "Offset 102 of cg for src-0 is committed.",
    ),
    (
        events.TopicRemade("src", "A", "B"),
        "src now has the id B instead of A, and different records.",
    ),
    (
        events.TopicDeleted("src", "A"),
        "src is deleted with its records, its id and everything known about it.",
    ),
    (
        events.ConfigsChanged("src", (("min.insync.replicas", "2"),)),
        "The configs of its own that topic src has now: min.insync.replicas=2.",
    ),
    (events.TopicCreated("src", "A"), "Topic src now exists, with the id A."),
    (events.PartitionsAdded("src", 1), "Topic src has one more partition."),
    (events.PartitionsAdded("src", 2), "Topic src has 2 more partitions."),
    (
        events.AssignmentMoved("cg", "C1", 2, 3, ("src-0", "src-1"), ("src-0",), "it let go"),
        "C1 of cg is at epoch 3 and may own src-0: it let go.",
    ),
    (
        events.AssignmentMoved("cg", "C1", 3, 0, ("src-0",), (), "it left"),
        "C1 of cg is no longer a member: it left.",
    ),
    (
        events.AssignmentMoved("cg", "C1.1", 1, 2, (), ("src-0",), "it was told", "generation"),
        "C1.1 of cg is at generation 2 and may own src-0: it was told.",
    ),
    (
        events.OffsetsExpired("cg", ("src-0", "src-1"), True),
        "The offsets of cg for src-0 and src-1 are deleted. The group cg is deleted.",
    ),
    (
        events.ClassicGroupMoved("cg", "STABLE", "PREPARING_REBALANCE", 2, ("C1.1", "C2.2")),
        "cg goes from STABLE to PREPARING_REBALANCE: generation 2, with C1.1 and C2.2.",
    ),
    (
        events.GenerationSeen("cg", 3),
        "Generation 3 of cg is current here: older ones are fenced.",
    ),
    (events.LeaderMoved("src-0", 5, 3, 1), "Broker 3 leads src-0 now, in epoch 1."),
    (events.LeaderMoved("src-0", 5, -1, 1), "src-0 has no leader now."),
    (
        events.TransactionForgotten("my-txn"),
        "my-txn expires: its next producer gets a new producer id.",
    ),
    (
        events.ProducerForgotten("out-0", 9),
        "The log of out-0 has expired its state for producer 9.",
    ),
    (
        events.LeftOnItsWay("app-1/producer", 1, "app-1/producer #0", (EndTxn("t", 9, 0, True),)),
        "EndTxn may still arrive.",
    ),
    (
        events.FeatureFinalized("transaction_version", 1),
        "Brokers apply it at once. A client learns it when it opens a connection.",
    ),
    (events.ReleaseInstalled(7, "4.4"), "Broker 7 runs it after its restart."),
    (
        events.NotSent("app-1/producer", 1, EndTxn("t", 9, 0, True)),
        "Broker 1 does not know EndTxn: nothing is sent.",
    ),
    (
        events.NoResponse("app-1/1", 1, producing.ProduceResponse(())),
        "The request has acks=0, so no response is sent.",
    ),
    (
        events.AclsChanged("app-1 may READ TOPIC src", False),
        "Every request that arrives from now on is checked without it. No client is notified.",
    ),
    (
        events.ShareStateReset("g1:AAAAAAAAAAAAAAAAAAAAAg:0", 4, 100),
        "g1 restarts in partition 0 from offset 100, at state epoch 4.",
    ),
    (
        events.ShareStateReset("g1:AAAAAAAAAAAAAAAAAAAAAg:0", 4, -1),
        "g1 restarts in partition 0 from the position chosen by its reset policy, at state epoch 4.",
    ),
    (
        events.ShareStateReset("g1:AAAAAAAAAAAAAAAAAAAAAg:0", -1, -1),
        "The state of g1 for partition 0 is deleted.",
    ),
    (
        events.LogPruned("__share_group_state-16", 0, 3),
        "__share_group_state-16 now starts at offset 3 instead of 0.",
    ),
    (
        events.CallReturned("app-1", 5, "commitTransaction", CallTimedOut("commitTransaction")),
        "It throws: TimeoutException: commitTransaction() took longer than max.block.ms.",
    ),
]
# What a sentence says by other means, and by which.
SILENT: dict[type[Event], str] = {
    events.MessageSent: "the arrow that begins",
    events.MessageDelivered: "the opening of the sentence",
    events.ConnectionLost: "the opening of the sentence, and the arrows that end",
    events.TransactionDecided: "TransactionMoved to PREPARE_COMMIT or PREPARE_ABORT",
    events.CallStarted: "the opening of the sentence",
}


def test_every_class_of_event_is_spoken_of_or_told_by_other_means() -> None:
    known = {
        kind
        for kind in vars(events).values()
        if isinstance(kind, type) and issubclass(kind, Event) and kind is not Event
    }
    spoken = {type(event) for event, _ in SPOKEN}
    assert spoken | set(SILENT) == known
    assert spoken.isdisjoint(SILENT)


@pytest.mark.parametrize(("event", "sentence"), SPOKEN, ids=[s for _, s in SPOKEN])
def test_an_event_is_told_in_a_sentence_after_what_was_done(event: Event, sentence: str) -> None:
    told = tell(world(), CrashBroker(5), (event,))  # type: ignore[arg-type]
    assert told.sentence.endswith(f" {sentence}")
    assert told.interesting


def test_records_that_move_alike_are_told_in_one_sentence() -> None:
    moves = tuple(
        events.RecordsMoved("src-0", "g1", o, o, R.AVAILABLE, R.ACQUIRED, 1, "M1", "it was asked")
        for o in (100, 101, 103)
    )
    told = tell(world(), CrashBroker(5), moves)  # type: ignore[arg-type]
    assert "src-0@100-101 go from AVAILABLE to ACQUIRED: it was asked." in told.sentence
    assert "src-0@103 goes from AVAILABLE to ACQUIRED: it was asked." in told.sentence


# -- messages ----------------------------------------------------------------------------------


def all_messages() -> list[type[Message]]:
    """Every class of message, requests and responses."""
    modules = (groups, metadata, producing, share_groups, share_state, transactions)
    found = {
        kind
        for module in modules
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, Message) and kind is not Message
    }
    return sorted(found, key=lambda kind: kind.__name__)


def seen_messages() -> dict[str, Message]:
    """One message of each class that goes over the wire in the stories."""
    seen: dict[str, Message] = {}
    for name in ("kip-1289-share-abort", "kip-1289-group-commit", "kip-1289-lock-expiry"):
        for under in ("repaired", "finding-D") if name == "kip-1289-lock-expiry" else ("repaired",):
            for node in nodes(play_once(name, under)[0]):
                for event in node.events:
                    if isinstance(event, events.MessageSent):
                        seen.setdefault(type(event.message).__name__, event.message)
    return seen


def test_every_message_of_the_stories_fits_on_an_arrow_and_has_its_key_and_version() -> None:
    seen = seen_messages()
    assert set(seen) <= {kind.__name__ for kind in all_messages()}
    assert len(seen) >= 24
    for name, one in seen.items():
        assert 0 < len(summary(one)) <= 40
        line = detail(one)
        assert line.startswith(f"{name} (")
        assert one.STATUS in STATUSES
        assert one.STATUS in line
        assert "\n" not in line


def test_the_fields_of_what_stands_in_an_array_of_a_message_are_named() -> None:
    line = detail(WriteTxnMarkers((TxnMarker(9, 1, True, ("out-0", "out-1"), 0),)))
    said = "producer_id=9, producer_epoch=1, committed=True, partitions=[out-0, out-1], coordinator_epoch=0, "
    assert line.endswith(f": markers=[({said}transaction_version=2)]")
    answer = WriteTxnMarkersResponse(
        (TxnMarkerResult(9, (PartitionResult("out-0", Errors.NONE),)),)
    )
    assert detail(answer).endswith(": markers=[(producer_id=9, results=[(out-0, NONE)])]")
    # What is empty as by default is left out.
    asked = AddPartitionsToTxn((TxnPartitions("t", 9, 0, ("out-0",)),))
    said = "transactional_id=t, producer_id=9, producer_epoch=0, partitions=[out-0]"
    assert detail(asked).endswith(f": transactions=[({said})], version=5")
    verified = asked.but(transactions=(asked.transactions[0].but(verify_only=True),))
    assert f"{said}, verify_only=True)" in detail(verified)


def test_the_fields_of_a_result_with_an_error_are_named_and_those_of_a_pair_are_not() -> None:
    topics = (TopicId("src", "A"), TopicId("gone", "", Errors.UNKNOWN_TOPIC_OR_PARTITION))
    said = "(topic=src, topic_id=A), (topic=gone, topic_id=, error=UNKNOWN_TOPIC_OR_PARTITION)"
    assert detail(MetadataResponse(Errors.NONE, topics)).endswith(f": error=NONE, topics=[{said}]")
    committed = groups.OffsetCommit("g", "m", 1, (groups.GroupOffset("src-0", 3),))
    assert "offsets=[(src-0, 3)]" in detail(committed)


def test_a_produce_request_and_its_response_name_the_fields_of_each_partition() -> None:
    batch = producing.PartitionProduceData("out-0", 9, 0, 0, (DataRecord("a"),))
    said = "partition=out-0, producer_id=9, producer_epoch=0, base_sequence=0, records=[(value=a)]"
    asked = producing.Produce("t", (batch, batch.but(partition="out-1", records=())))
    others = said.replace("out-0", "out-1").replace(", records=[(value=a)]", ", records=[]")
    assert detail(asked).endswith(
        f": transactional_id=t, partition_data=[({said}), ({others})], version=13"
    )
    results = (
        producing.PartitionProduceResponse("out-0", Errors.NONE, 7),
        producing.PartitionProduceResponse("out-1", Errors.NOT_ENOUGH_REPLICAS),
    )
    said = "(partition=out-0, error=NONE, base_offset=7), "
    said += "(partition=out-1, error=NOT_ENOUGH_REPLICAS, base_offset=-1)"
    assert detail(producing.ProduceResponse(results)).endswith(f": partition_responses=[{said}]")


@pytest.mark.parametrize("kind", all_messages(), ids=lambda kind: kind.__name__)
def test_every_request_has_a_clause_of_its_own(kind: type[Message]) -> None:
    assert API_OF[kind].clause
    assert kind.__name__.endswith("Response") == kind.IS_RESPONSE


def test_an_answer_with_an_error_stands_out_and_says_which() -> None:
    refused = InitProducerIdResponse(Errors.NOT_COORDINATOR)
    assert (summary(refused), tone_of(refused)) == ("NOT_COORDINATOR", "warning")
    assert tone_of(EndTxnResponse(Errors.NONE)) == "calm"


def test_a_decision_says_on_its_arrow_which_it_is() -> None:
    assert summary(EndTxn("my-txn", 9, 0, True)) == "EndTxn COMMIT"
    assert summary(EndTxn("my-txn", 9, 0, False)) == "EndTxn ABORT"
