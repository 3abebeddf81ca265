"""KIP-890, part 1: what a leader remembers of a batch that was verified in vain."""

from __future__ import annotations

from kipviz.scenarios.material import SAW_COMPLETE, SAW_IN_FLIGHT, SAW_OUT_OF_ORDER, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.kip_98_in_flight import BEGINS, GO, POLLS, SPEC

IN_VAIN = Scenario(
    "kip-890-in-vain",
    "The first batch could not be verified, the second one can",
    "Below transaction version 2 a leader takes any first sequence of a producer that it does not know. The question "
    "about the first batch is lost. If the leader forgot that batch, the second one would go before it.",
    "KIP-890, part 1; VerificationStateEntry, ProducerAppendInfo.checkSequence (KAFKA-14920)",
    SPEC.but(min_insync_replicas=()),
    (
        Beat(
            "Three batches, two of them on the way",
            "The client has added output-A-0 itself. a has sequence 0, b has 1.",
            (
                *BEGINS,
                *POLLS,
                GO,
                *POLLS,
                GO,
                "app-1/producer sends AddPartitionsToTxn",
                "AddPartitionsToTxn arrives at B4",
                "AddPartitionsToTxnResponse arrives at app-1/producer",
                "app-1/producer sends Produce",
                "app-1/producer sends Produce",
            ),
        ),
        Beat(
            "a: Broker 3 asks whether its partition was added, and the connection breaks",
            "Nobody has said yes, so a is not appended: its producer is to send it again. That its sequence was 0 is "
            "remembered.",
            (
                "Produce arrives at B3",
                "B3/add-partitions loses B4",
            ),
        ),
        Beat(
            "b: this time the coordinator says yes",
            "The log still knows nothing of this producer. b begins with 1, and 0 was seen before: "
            "OUT_OF_ORDER_SEQUENCE_NUMBER.",
            ("until AddPartitionsToTxnResponse from B4 arrives at B3/add-partitions",),
        ),
        Beat(
            "a comes again, and then b and c",
            "a is taken, and nothing has to be remembered any more. c went out behind it and does not fit before b; what "
            "was refused is sent again, in order.",
            ("quiet",),
        ),
        Beat(
            "commitTransaction()",
            "a, b, c, COMMIT.",
            (GO, "quiet", GO, GO, "quiet", GO),
        ),
    ),
    ("app-1", "B3", "B4"),
    ("kafka-tv1",),
    Question(
        2,
        "Broker 3 has nothing of producer id 9 in its log, and b with sequence 1 is verified. Is it appended?",
        (
            Choice(
                "yes: any first sequence is taken of a producer that a log does not know",
                False,
                "Unless a lower one was seen while it was verified.",
            ),
            Choice(
                "no: sequence 0 was seen, though it was not appended",
                True,
                "Right: else a would be refused for good afterwards, or stand behind b.",
            ),
            Choice("no: the question about a is still open", False, "That connection is gone."),
        ),
    ),
    watch=(
        Watch(1, "Open Broker 3's partition: no batch, and one number that is remembered."),
        Watch(
            3,
            "The order in the log is that of send(), although the network and a broker were not in order.",
        ),
    ),
    checkpoints=(
        SAW_IN_FLIGHT,
        SAW_OUT_OF_ORDER,
        SAW_COMPLETE,
    ),
)

STORIES: tuple[Scenario, ...] = (IN_VAIN,)
