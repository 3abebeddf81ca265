"""KIP-98: how long a producer waits before it asks once more."""

from __future__ import annotations

from kipviz.cluster.clock import TICKS, TIMED, Clock
from kipviz.scenarios import programs
from kipviz.scenarios.material import SAW_COMPLETE, SAW_EARLY_RETURN, Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.beats import FIRST_ROUND
from kipviz.scenarios.stories.setting import group_app, group_spec

APP = group_app(program=programs.COPY, max_records=1)
GO = "app-1 goes on"
BUT_MARKERS = "quiet but WriteTxnMarkers arrives at B3"
REFUSED = (
    "app-1/producer sends AddPartitionsToTxn",
    "AddPartitionsToTxn arrives at B1",
    "AddPartitionsToTxnResponse arrives at app-1/producer",
)
RESTED = ("time passes*", "the short retry back-off of the sender*")

NEXT_WAITS = Scenario(
    "kip-98-next-transaction-waits",
    "The first send() of the next transaction waits for the markers of the last one",
    "commitTransaction() comes back when the decision is logged. Whoever begins again at once meets a "
    "coordinator that is not done, and waits for it in steps of 20 ms.",
    "KIP-98; TransactionManager.ADD_PARTITIONS_RETRY_BACKOFF_MS (KAFKA-5482), Sender.runOnce",
    group_spec(APP).but(clock=Clock(TIMED, tick=TICKS[1], backs_off=True)),
    (
        Beat(
            "A transaction is committed, its marker is on the way",
            "Broker 1 has logged PREPARE_COMMIT and answered: commitTransaction() comes back. The marker for "
            "output-A-0 has not reached Broker 3.",
            (*FIRST_ROUND, GO, BUT_MARKERS, GO),
        ),
        Beat(
            "app-1 begins the next one",
            "poll(), beginTransaction(), send(): nothing of that waits. The record is in the accumulator, and "
            "below transaction version 2 its partition has to be added before it goes out.",
            (GO, BUT_MARKERS, GO, GO, GO),
        ),
        Beat(
            "AddPartitionsToTxn: CONCURRENT_TRANSACTIONS",
            "The transaction before is not complete, so Broker 1 lets nothing new in. No exception: the sender "
            "sleeps, and neither the request nor the batch goes out.",
            REFUSED,
        ),
        Beat(
            "20 ms later, refused again",
            "retry.backoff.ms is 100, but for the first partitions of a transaction it is 20: what they wait "
            "for is short. The rest does not grow, as that of a batch does.",
            (*RESTED, *REFUSED),
        ),
        Beat(
            "The marker arrives",
            "Broker 3 writes COMMIT, and Broker 1 logs COMPLETE_COMMIT. The producer does not hear of it: it "
            "sleeps until its 20 ms are over.",
            ("WriteTxnMarkers arrives at B3", "quiet"),
        ),
        Beat(
            "The third time output-A-0 is added",
            "Now the batch goes out. Every short transaction pays for this; since transaction version 2 it is "
            "the batch itself that is refused and comes again.",
            (*RESTED, "quiet"),
        ),
    ),
    ("app-1", "B1", "B3"),
    ("kafka-tv1",),
    Question(
        2,
        "Broker 1 has said CONCURRENT_TRANSACTIONS. What does the producer do?",
        (
            Choice(
                "it throws, and app-1 has to abort",
                False,
                "The error is retriable: the application never sees it.",
            ),
            Choice(
                "it sends the batch, and adds the partition later",
                False,
                "A batch waits for its partition, and nothing goes out while the sender sleeps.",
            ),
            Choice(
                "it sleeps for 20 ms and asks again",
                True,
                "Right: the markers of the last transaction take about as long as a round trip.",
            ),
        ),
    ),
    watch=(
        Watch(0, "Look at Broker 1: PREPARE_COMMIT, and a producer that may begin again already."),
        Watch(2, "Open the producer: its request is back in the queue, the batch behind it."),
        Watch(5, "Count the messages: three times AddPartitionsToTxn for one partition."),
    ),
    checkpoints=(
        SAW_EARLY_RETURN,
        Checkpoint("saw a sender rest before it asks once more", "sender rests"),
        SAW_COMPLETE,
    ),
)

STORIES = (NEXT_WAITS,)
