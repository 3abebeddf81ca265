"""KIP-98: one Produce request for the batches of several partitions."""

from __future__ import annotations

from kipviz.brokers.authorizer import Acl, Operation, Resource
from kipviz.cluster.spec import Placement
from kipviz.records.placement import TRANSACTION_STATE
from kipviz.scenarios.material import Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.kip_98_topics import SECOND_ID, TWO_OUTPUTS
from kipviz.scenarios.stories.setting import (
    GROUP_PLACEMENTS,
    TOPIC_IDS,
    TRANSACTIONAL_ID,
    group_app,
    group_spec,
    home,
)

SPEC = group_spec(group_app(program=TWO_OUTPUTS)).but(
    # Broker 1 has nothing but the other replica of the second output.
    placements=(
        Placement(home(TRANSACTION_STATE, TRANSACTIONAL_ID), 4, (5,)),
        Placement("output-A-0", 3, (5,)),
        Placement("output-B-0", 3, (1,)),
        *GROUP_PLACEMENTS[2:],
    ),
    topic_ids=(*TOPIC_IDS, ("output-B", SECOND_ID)),
    min_insync_replicas=(("output-B", 2),),
)
GO = "app-1 goes on"
OUT, IN = "app-1/producer sends Produce", "Produce arrives at B3"
SENDS = Beat(
    "Two sends, one request",
    "app-1 reads a and b, and sends to output-A and to output-B. Broker 3 leads both partitions, so the "
    "sender puts both batches into one Produce request.",
    (GO, "quiet", GO, GO, "quiet", GO, GO, GO, GO, GO, OUT),
)
TOGETHER = Checkpoint("saw batches of two partitions in one request", "one request")
DIVIDED = Checkpoint("saw one answer with two results", "answers of two kinds")
IN_PART = Scenario(
    "kip-98-two-partitions",
    "One Produce request, two partitions, one of them is refused: what is sent again?",
    "A request is for a broker; what comes of it is a matter of each partition.",
    "KIP-98 Produce; KIP-890; RecordAccumulator.drain, ReplicaManager.handleProduceAppend",
    SPEC,
    (
        SENDS,
        Beat(
            "A replica of output-B-0 is missing, and the request arrives",
            "Broker 1 has the only other replica of output-B-0, and crashes. Both partitions are new in this "
            "transaction, so Broker 3 asks the coordinator: one question about both.",
            ("B1 crashes", IN),
        ),
        Beat(
            "Enlisted both, appended one",
            "The coordinator puts both partitions into the transaction. Then each is on its own: output-A-0 "
            "takes its batch, output-B-0 wants two replicas and says NOT_ENOUGH_REPLICAS. One answer has "
            "both results.",
            (
                "AddPartitionsToTxn arrives at B4",
                "AddPartitionsToTxnResponse from B4 arrives at *",
            ),
        ),
        Beat(
            "Only the refused batch goes out again",
            "NOT_ENOUGH_REPLICAS may pass, so the producer keeps that batch and its sequence. What was "
            "appended is not sent twice. Broker 1 is back.",
            ("ProduceResponse arrives at app-1/producer", "B1 starts", OUT, IN),
        ),
        Beat(
            "It is asked about once more",
            "Broker 3 has no record of the transaction in output-B-0, so it does not remember that it asked. "
            "The coordinator has the partition already, logs nothing, and says yes.",
            (
                "AddPartitionsToTxn arrives at B4",
                "AddPartitionsToTxnResponse from B4 arrives at *",
                "ProduceResponse arrives at app-1/producer",
            ),
        ),
        Beat(
            "commitTransaction()",
            "No batch is left, so EndTxn goes out. One WriteTxnMarkers brings the marker to both partitions.",
            ("quiet", GO),
        ),
    ),
    ("app-1", "B1", "B3", "B4"),
    ("kafka",),
    Question(
        3,
        "The answer says: output-A-0 appended, output-B-0 NOT_ENOUGH_REPLICAS. What does the producer send?",
        (
            Choice(
                "the same request again",
                False,
                "Then output-A-0 would have to recognise a repeat, and nothing would be gained.",
            ),
            Choice(
                "the batch of output-B-0 alone",
                True,
                "Right: each batch has its own way through retries, whatever it travelled with.",
            ),
            Choice(
                "nothing: the transaction can only be aborted",
                False,
                "That is so for an error that does not pass, such as a missing right.",
            ),
        ),
    ),
    watch=(
        Watch(0, "Open the arrow of Produce: one header, and a batch for each of two topics."),
        Watch(2, "Look into both logs after one answer: one has the batch, the other has not."),
        Watch(4, "Compare the question with the one before: one partition now, two then."),
    ),
    checkpoints=(
        TOGETHER,
        DIVIDED,
        Checkpoint("saw the transaction complete", "complete"),
    ),
)


def _may(operation: Operation, resource: Resource, name: str) -> Acl:
    return Acl("app-1", operation, resource, name)


NOT_ALLOWED = Scenario(
    "kip-98-two-partitions-forbidden",
    "One of two topics is forbidden: what becomes of the other one's batch?",
    "What is refused for good ends the transaction, not the request.",
    "KIP-98, KIP-11; KafkaApis.handleProduceRequest, Sender.handleProduceResponse",
    SPEC.but(
        min_insync_replicas=(),
        acls=(
            _may(Operation.WRITE, Resource.TRANSACTIONAL_ID, TRANSACTIONAL_ID),
            _may(Operation.WRITE, Resource.TOPIC, "output-A"),
            _may(Operation.READ, Resource.TOPIC, "src"),
            _may(Operation.READ, Resource.GROUP, "*"),
        ),
    ),
    (
        SENDS,
        Beat(
            "Broker 3 takes one topic out of the request",
            "app-1 has no right to write to output-B. Broker 3 puts that batch aside and hands the other one "
            "to its leader, which asks about output-A-0 alone.",
            (IN,),
        ),
        Beat(
            "One is appended, one is not allowed",
            "output-A-0 has its batch, and the answer says TOPIC_AUTHORIZATION_FAILED for output-B-0. No right "
            "comes back by itself: the producer is in ABORTABLE_ERROR.",
            (
                "AddPartitionsToTxn arrives at B4",
                "AddPartitionsToTxnResponse from B4 arrives at *",
                "ProduceResponse arrives at app-1/producer",
            ),
        ),
        Beat(
            "commitTransaction() throws",
            "The next call of app-1 throws what the batch was refused with, and the catch block aborts.",
            (GO, GO, "until EndTxn arrives at B4"),
        ),
        Beat(
            "An ABORT marker ends what was appended",
            "The coordinator knows of output-A-0 only, and that is where the marker goes: nobody who reads "
            "committed records ever sees the batch.",
            ("quiet", GO),
        ),
    ),
    ("app-1", "B3", "B4"),
    ("kafka",),
    Question(
        2,
        "app-1 may write to output-A and not to output-B, and one request has a batch for each. What does "
        "Broker 3 do?",
        (
            Choice("it refuses the request", False, "Each topic is asked for by itself."),
            Choice(
                "it appends the one, and refuses the other",
                True,
                "Right: that the two belong together is known to the producer alone.",
            ),
            Choice(
                "it appends neither, because they are one transaction",
                False,
                "A leader knows its partition; that a transaction is all or nothing is the markers' work.",
            ),
        ),
    ),
    watch=(
        Watch(
            1, "AddPartitionsToTxn names output-A-0 alone, though the request has two partitions."
        ),
        Watch(2, "Open the producer: ABORTABLE_ERROR, and no batch."),
        Watch(4, "output-B-0 is empty: no batch, and no marker either."),
    ),
    checkpoints=(
        TOGETHER,
        DIVIDED,
        Checkpoint("saw a request refused for want of a right", "refused"),
    ),
)
STORIES: tuple[Scenario, ...] = (IN_PART, NOT_ALLOWED)
