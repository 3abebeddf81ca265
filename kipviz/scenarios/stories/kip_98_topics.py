"""KIP-98: topics that go while a transaction is open, and topics that a send() waits for."""

from __future__ import annotations

from kipviz.cluster.spec import ClusterSpec, Placement
from kipviz.scenarios import programs
from kipviz.scenarios.material import SAW_COMPLETE, Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.setting import (
    GROUP_PLACEMENTS,
    PLAYGROUND,
    TOPIC_IDS,
    group_app,
    group_spec,
)

GO = "app-1 goes on"
POLLS = (GO, "quiet", GO)
SENDS = (GO, "quiet but app-1/producer sends AddPartitionsToTxn", GO)
ABORTS = (GO, "quiet", GO)
LANES = ("app-1", "B1", "B3", "B4")
BUDGET = PLAYGROUND.but(max_block=2, delivery_timeout=2)
SIX = (("src-0", 0, ("a", "b", "c", "d", "e", "f")),)
SECOND_ID = "AAAAAAAAAAAAAAAAAAAAEA"


def _spec(**changes: object) -> ClusterSpec:
    return group_spec(group_app()).but(records=SIX, budget=BUDGET, **changes)


DELETED = Scenario(
    "kip-98-topic-deleted",
    "The topic of an open transaction is deleted: what does commitTransaction() say?",
    "An operator deletes the output topic between send() and commitTransaction(). The producer has its "
    "answer already, and the coordinator needs no marker where nothing is.",
    "KIP-98, WriteTxnMarkerRequest; TransactionMarkerChannelManager.addTxnMarkersToBrokerQueue",
    _spec(deletable_topics=("output-A",)),
    (
        Beat(
            "app-1 has read a and b, and sent their outputs",
            "The outputs are in output-A-0, acknowledged, and the partition is in the transaction.",
            (*POLLS, *POLLS, GO, GO, "quiet", GO, "quiet"),
        ),
        Beat(
            "An operator deletes output-A",
            "Its partition has no leader and no log any more. Nobody tells the producer, and the "
            "coordinator's record still names output-A-0.",
            ("output-A is deleted for good",),
        ),
        Beat(
            "The transaction goes on",
            "The offsets are staged as if nothing had happened.",
            (GO, "quiet", GO),
        ),
        Beat(
            "commitTransaction() returns without an error",
            "The decision is logged and answered. For output-A-0 no marker is sent, because there is no "
            "such partition. The group has read a and b; what was made of them is nowhere.",
            (GO, "quiet", GO),
        ),
        Beat(
            "The next batch has nowhere to go",
            "The producer still believes that there is an output-A, takes c and d, and finds no leader. "
            "After delivery.timeout.ms they expire, which ends the transaction.",
            (*POLLS, GO, GO, "a batch of app-1/producer expires", GO, *ABORTS),
        ),
        Beat(
            "The next send() waits for the topic",
            "By now the producer has learned that nobody knows output-A. It asks, hears "
            "UNKNOWN_TOPIC_OR_PARTITION, and asks again after a back-off.",
            (*POLLS, GO, GO, "quiet", "the retry back-off of app-1/producer is over", "quiet"),
        ),
        Beat(
            "max.block.ms",
            "send() returns, and its Future has a TimeoutException: Topic output-A not present in metadata. "
            "The next call throws it, and the transaction is aborted.",
            ("a call of app-1 times out", GO, *ABORTS),
        ),
    ),
    LANES,
    ("kafka",),
    Question(
        3,
        "output-A is gone, with the outputs in it. What does commitTransaction() do?",
        (
            Choice(
                "it throws UnknownTopicOrPartitionException",
                False,
                "Who deleted the topic did not ask the coordinator, and nobody asks for the records.",
            ),
            Choice(
                "it commits",
                True,
                "Right: a decision is about the transaction, and a partition that is gone needs no marker.",
            ),
            Choice(
                "it waits until the topic is back",
                False,
                "That is so for a partition without a leader; this one is not there at all.",
            ),
        ),
    ),
    watch=(
        Watch(3, "PREPARE_COMMIT names output-A-0; look for whom a marker is on the wire."),
        Watch(5, "Why the batch cannot be sent: nobody leads output-A-0."),
        Watch(6, "Metadata goes out for a producer that has written to this topic before."),
    ),
    checkpoints=(
        Checkpoint("saw a topic deleted for good", "topic deleted"),
        SAW_COMPLETE,
        Checkpoint("saw a send() wait for its topic", "topic awaited"),
    ),
)

TWO_OUTPUTS = (
    programs.INIT,
    programs.GROUP_LOOP[1],
    programs.GROUP_LOOP[2].but(on_error=6),
    programs.GROUP_LOOP[3].but(text='producer.send("output-A", …);', on_error=6),
    programs.GROUP_LOOP[3].but(
        text='producer.send("output-B", …);', on_error=6, target="output-B-0"
    ),
    programs.GROUP_LOOP[5].but(on_error=6),
    programs.GROUP_LOOP[6],
)

NOT_ATTEMPTED = Scenario(
    "kip-98-topic-deleted-tv1",
    "Two topics in one AddPartitionsToTxn, and one of them is gone",
    "Below transaction version 2 the client adds its partitions itself. One that is not there keeps the "
    "other one out.",
    "KIP-98, AddPartitionsToTxnRequest; KafkaApis.handleAddPartitionsToTxnRequest",
    _spec(
        transaction_version=1,
        placements=(*GROUP_PLACEMENTS, Placement("output-B-0", 5, (1,))),
        topic_ids=(*TOPIC_IDS, ("output-B", SECOND_ID)),
        deletable_topics=("output-B",),
    ).but(applications=(group_app(program=TWO_OUTPUTS),)),
    (
        Beat(
            "app-1 sends to output-A and to output-B",
            "Both sends return: the topics are there. Nothing is on the wire yet.",
            (*POLLS, *POLLS, GO, *SENDS, *SENDS),
        ),
        Beat(
            "An operator deletes output-B",
            "The producer has both partitions on its list.",
            ("output-B is deleted for good", "app-1/producer sends AddPartitionsToTxn"),
        ),
        Beat(
            "Broker 1 adds none of them",
            "UNKNOWN_TOPIC_OR_PARTITION for output-B-0, and OPERATION_NOT_ATTEMPTED for output-A-0, which "
            "is there. The coordinator is not even asked.",
            ("until AddPartitionsToTxnResponse arrives at app-1/producer",),
        ),
        Beat(
            "The client asks for the same again",
            "The error is one that may pass, so the whole request goes out again, and again.",
            (
                "app-1/producer sends AddPartitionsToTxn",
                "until AddPartitionsToTxnResponse arrives at app-1/producer",
            ),
        ),
        Beat(
            "delivery.timeout.ms",
            "The batch for output-A-0 waits for a partition that could be added at once, and expires with "
            "the other one. That ends the transaction.",
            ("a batch of app-1/producer expires",),
        ),
        Beat(
            "app-1 aborts",
            "Nothing was ever added, so there is nothing to end at the coordinator. The client asks for its "
            "next epoch, as it does below transaction version 2 after a batch has failed.",
            (GO, *ABORTS),
        ),
    ),
    LANES,
    ("kafka",),
    Question(
        2,
        "output-B-0 is gone, output-A-0 is there. What does Broker 1 do with output-A-0?",
        (
            Choice("it adds it", False, "A request of a client is carried out as a whole."),
            Choice(
                "it does not try",
                True,
                "Right: OPERATION_NOT_ATTEMPTED, and no record is written.",
            ),
            Choice(
                "it says UNKNOWN_TOPIC_OR_PARTITION",
                False,
                "That is for what is not there.",
            ),
        ),
    ),
    watch=(
        Watch(3, "Open the answer: each partition has an error of its own."),
        Watch(4, "No back-off and no end: only delivery.timeout.ms gets the producer out of it."),
    ),
    checkpoints=(
        Checkpoint("saw a topic deleted for good", "topic deleted"),
        Checkpoint("saw a partition that was not attempted", "not attempted"),
    ),
)

AWAITED = Scenario(
    "kip-98-topic-awaited",
    "send() waits: the topic is made after the producer",
    "A producer starts before somebody has made its topic. send() is the call that waits for that.",
    "KIP-98, Producer API; max.block.ms, KafkaProducer.waitOnMetadata",
    _spec(later_topics=("output-A",)),
    (
        Beat(
            "app-1 has read a and b, and calls send()",
            "The producer knows nothing of output-A. It asks a broker, and hears "
            "UNKNOWN_TOPIC_OR_PARTITION.",
            (*POLLS, *POLLS, GO, GO, "quiet"),
        ),
        Beat(
            "max.block.ms is over",
            "send() returns and throws nothing: the TimeoutException is in its Future. A transaction in which "
            "a send has failed cannot commit; the next call says so.",
            ("a call of app-1 times out", GO),
        ),
        Beat(
            "app-1 aborts and tries again",
            "Nothing was enlisted: the abort stays in the client. The next send() waits as the first one did.",
            (*ABORTS, *POLLS, GO, GO, "quiet"),
        ),
        Beat(
            "An operator makes output-A",
            "Nobody tells the producer: it finds out with its next look.",
            ("output-A is made",),
        ),
        Beat(
            "The back-off is over",
            "The answer has the topic now, and send() goes on where it stood.",
            ("the retry back-off of app-1/producer is over", "quiet", GO, "quiet"),
        ),
        Beat(
            "The transaction commits",
            "What was sent while the topic was missing is in it.",
            (GO, "quiet", GO, GO, "quiet", GO),
        ),
    ),
    LANES,
    ("kafka",),
    Question(
        1,
        "send() has waited for max.block.ms. What does the application see?",
        (
            Choice(
                "send() throws TimeoutException", False, "It throws nothing: doSend catches it."
            ),
            Choice(
                "send() returns, the next call throws",
                True,
                "Right: the exception is in the Future, and the transaction is in its abortable error.",
            ),
            Choice(
                "send() returns, the record is sent later",
                False,
                "The record was never in the accumulator.",
            ),
        ),
    ),
    watch=(
        Watch(1, "Metadata goes through the same connection as everything else."),
        Watch(2, "Open the producer: ABORTABLE_ERROR, although no request was refused."),
        Watch(5, "The call returns in the step in which the application thread wakes up."),
    ),
    checkpoints=(
        Checkpoint("saw a send() wait for its topic", "topic awaited"),
        Checkpoint("saw a topic made", "topic created"),
        SAW_COMPLETE,
    ),
)

STORIES: tuple[Scenario, ...] = (DELETED, NOT_ATTEMPTED, AWAITED)
