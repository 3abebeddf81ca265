"""KIP-98: what a log forgets of a producer that is silent (producer.id.expiration.ms)."""

from __future__ import annotations

from kipviz.scenarios.material import Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.kip_98_idempotence import ASKS, FIRST, LOST_ANSWER, SENDS

SPEC = LOST_ANSWER.spec
DAY = "producer id 9 of output-A-0 runs out at B3"

SILENT = Scenario(
    "kip-98-silent-for-a-day",
    "A producer that was silent for a day",
    "A leader recognises a batch by what its log knows of the producer. It forgets that after a day "
    "without a batch, and no one is told.",
    "KIP-98, idempotent producer; KIP-854, producer.id.expiration.ms",
    SPEC.but(settings=SPEC.settings.but(producer_ids_expire=True)),
    (
        Beat(
            "app-1 sends a record",
            "A broker gives it producer id 9 with epoch 0. Its first batch has sequence 0, and the log of "
            "output-A-0 remembers that.",
            (*FIRST, *ASKS, "quiet"),
        ),
        Beat(
            "A day without a batch",
            "producer.id.expiration.ms is over. Broker 3 takes producer 9 out of what it knows: the epoch, "
            "the sequences, everything. The record stays. Nobody tells app-1.",
            (DAY,),
        ),
        Beat(
            "It sends the next one: sequence 1",
            "To Broker 3 this is a producer that it has never heard of, in the middle of its count. It takes "
            "the batch. Years ago it said UNKNOWN_PRODUCER_ID, and the producer lost its work.",
            (*SENDS, "app-1/producer sends Produce", "Produce arrives at B3"),
        ),
        Beat(
            "The answer gets lost, and the silence is too long",
            "The batch is at offset 1. The connection breaks before app-1 hears of it, and producer 9 is "
            "forgotten again before it can ask. With Kafka's defaults it has 2 minutes "
            "(delivery.timeout.ms) and Broker 3 remembers for a day: here somebody made the memory shorter.",
            ("app-1/producer loses B3", DAY),
        ),
        Beat(
            "The same batch once more",
            "Sequence 1 of producer 9: what would have been recognised as a duplicate is the first batch of "
            "a stranger. It goes to offset 2. Idempotence is the leader's memory.",
            ("app-1/producer sends Produce", "Produce arrives at B3", "quiet"),
        ),
    ),
    ("app-1", "B3"),
    ("kafka",),
    Question(
        2,
        "Broker 3 knows nothing of producer 9. Its next batch has epoch 0 and sequence 1. What does it say?",
        (
            Choice(
                "OUT_OF_ORDER_SEQUENCE_NUMBER: a new producer begins at 0",
                False,
                "That holds for transactions under transaction version 2 alone.",
            ),
            Choice(
                "UNKNOWN_PRODUCER_ID",
                False,
                "No broker of today says it: the producers could do nothing with it.",
            ),
            Choice(
                "nothing special: it takes the batch",
                True,
                "Right: without a memory there is nothing that the sequence could contradict.",
            ),
        ),
    ),
    watch=(
        Watch(
            1, "Open the log of output-A-0 before and after: the record stays, its producer goes."
        ),
        Watch(
            4,
            "What helps, and Kafka's advice: producer.id.expiration.ms at least as long as "
            "delivery.timeout.ms, so that who may still send a batch again is still known.",
        ),
        Watch(
            4,
            "A transaction that is open keeps its producer from being forgotten, and a transactional one is "
            "known to its coordinator, too: a late batch of it would be asked about and refused.",
        ),
    ),
    checkpoints=(
        Checkpoint("saw a log forget a producer", "producer forgotten"),
        Checkpoint(
            "saw a forgotten producer taken in the middle of its count", "forgotten producer taken"
        ),
        Checkpoint("saw an output in the log twice", "record twice"),
    ),
)

STORIES: tuple[Scenario, ...] = (SILENT,)
