"""KIP-98: what is asked once more, after which while, and what goes on although nobody waits for it."""

from __future__ import annotations

from kipviz.clients.application import Call, Line
from kipviz.cluster.clock import TIMED, Clock
from kipviz.cluster.spec import Placement
from kipviz.records.placement import CONSUMER_OFFSETS
from kipviz.scenarios import programs
from kipviz.scenarios.material import (
    SAW_APPEND_REFUSED,
    SAW_COMPLETE,
    SAW_EARLY_RETURN,
    SAW_LSO,
    Checkpoint,
    Watch,
)
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.beats import CALL, FIRST_ROUND
from kipviz.scenarios.stories.setting import (
    GROUP,
    GROUP_PLACEMENTS,
    PLAYGROUND,
    group_app,
    group_spec,
    home,
)

GO = "app-1 goes on"
STAGED = Checkpoint("saw an offset staged in a transaction", "offset pending")
OFFSETS = home(CONSUMER_OFFSETS, GROUP)

# -- a group coordinator without replicas ----------------------------------------------------------

BEGUN = Beat(
    "app-1 writes in a transaction",
    "One output is in output-A-0. The offset that belongs to it is not staged yet.",
    FIRST_ROUND,
)
WITHOUT_REPLICAS = Scenario(
    "kip-98-offsets-without-replicas",
    "The group coordinator has too few replicas: an offset waits, and then a marker",
    "min.insync.replicas holds for __consumer_offsets, too. A follower is gone when an offset is to be staged, and "
    "again when the marker comes.",
    "KIP-98, TxnOffsetCommitRequest, WriteTxnMarkerRequest; min.insync.replicas of __consumer_offsets",
    group_spec(group_app(max_records=1)).but(
        brokers=(1, 3, 4, 5, 6),
        placements=tuple(
            Placement(OFFSETS, 4, (6,)) if p.partition == OFFSETS else p for p in GROUP_PLACEMENTS
        ),
        min_insync_replicas=((CONSUMER_OFFSETS, 2),),
    ),
    (
        BEGUN,
        Beat(
            "Broker 6 crashes, and the offset is refused",
            "Broker 4 has the partition of the group enlisted, and cannot append to it: "
            "COORDINATOR_NOT_AVAILABLE. The client asks again by itself.",
            (
                "B6 crashes",
                GO,
                "until TxnOffsetCommitResponse arrives at app-1/producer",
                "until TxnOffsetCommit arrives at B4",
                "until TxnOffsetCommitResponse arrives at app-1/producer",
            ),
        ),
        Beat(
            "Broker 6 is back",
            "The next TxnOffsetCommit is taken, and the call returns.",
            ("B6 starts", "quiet", GO),
        ),
        Beat(
            "commitTransaction(), and Broker 6 crashes again",
            "The decision is logged and answered: the call is through. The marker of output-A-0 is written, that "
            "of the group is refused with NOT_ENOUGH_REPLICAS, and sent again.",
            (
                GO,
                "until EndTxn arrives at B1",
                "B6 crashes",
                "EndTxnResponse arrives at app-1/producer",
                GO,
                "WriteTxnMarkers arrives at B3",
                "WriteTxnMarkersResponse from B3 arrives at B1/markers",
                "WriteTxnMarkers arrives at B4",
                "WriteTxnMarkersResponse from B4 arrives at B1/markers",
            ),
        ),
        Beat(
            "The output is there, the offset is not",
            "A reader of output-A-0 has the record. The group's offset is pending: whoever asks for it is told to come "
            "back. The marker is sent again, and refused again.",
            (
                "WriteTxnMarkers arrives at B4",
                "WriteTxnMarkersResponse from B4 arrives at B1/markers",
            ),
        ),
        Beat(
            "Broker 6 is back for good",
            "The marker gets through, and the transaction is complete: it was decided long ago.",
            ("B6 starts", "quiet"),
        ),
    ),
    ("app-1", "B1", "B4", "B6"),
    ("kafka",),
    Question(
        3,
        "The decision is logged and answered, and one of two markers cannot be written. What does the coordinator do?",
        (
            Choice("it aborts after all", False, "PREPARE_COMMIT cannot be taken back."),
            Choice(
                "it sends that marker again until it is written",
                True,
                "Right: of the answers to a marker, this is one after which it is sent again.",
            ),
            Choice("it gives that partition up", False, "Only one that is gone needs no marker."),
        ),
    ),
    watch=(
        Watch(
            1,
            "Enlisted and refused: the coordinator of the transaction has a partition more already.",
        ),
        Watch(3, "Two answers to two markers, one of them NONE. Which of them does app-1 hear of?"),
    ),
    checkpoints=(
        SAW_APPEND_REFUSED,
        SAW_EARLY_RETURN,
        SAW_COMPLETE,
    ),
)

# -- a batch that backs off ------------------------------------------------------------------------

BATCHES = group_app(program=programs.COPY, max_records=1, max_in_flight=5)
RESTS = ("time passes", "the retry back-off of batch 1 of app-1/producer is over", "quiet")
BACKS_OFF = Scenario(
    "kip-98-batch-backs-off",
    "A batch that is refused waits longer each time",
    "The leader has too few replicas for some time. The batch comes again after 100 ms, 200 ms, 400 ms: the waiting "
    "doubles, up to retry.backoff.max.ms.",
    "KIP-98 retries; KIP-580 exponential back-off, ProducerBatch.reenqueued, RecordAccumulator.shouldBackoff",
    group_spec(BATCHES).but(
        brokers=(1, 3, 4, 5, 6),
        placements=tuple(
            Placement("output-A-0", 3, (6,)) if p.partition == "output-A-0" else p
            for p in GROUP_PLACEMENTS
        ),
        min_insync_replicas=(("output-A", 2),),
        clock=Clock(TIMED, tick="next"),
    ),
    (
        Beat(
            "app-1 is in a transaction, and a follower crashes",
            "output-A-0 is on Broker 3 and Broker 6, and min.insync.replicas of it is 2.",
            (*CALL, *CALL, GO, "B6 crashes"),
        ),
        Beat(
            "NOT_ENOUGH_REPLICAS",
            "The batch goes out, Broker 3 wants two replicas, and the batch is back in the accumulator. The Future of "
            "send() stays open.",
            (GO, "quiet"),
        ),
        Beat(
            "100 ms: refused again",
            "retry.backoff.ms. The sender does not sleep: only this batch waits.",
            RESTS,
        ),
        Beat("200 ms: and again", "Twice as long.", RESTS),
        Beat(
            "Broker 6 is back, and nothing happens",
            "Nobody tells the producer. The batch waits for its 400 ms to be over.",
            ("B6 starts", "quiet"),
        ),
        Beat(
            "400 ms: appended",
            "Two replicas have it, and the Future of send() is done. app-1 never heard of any of it.",
            RESTS,
        ),
        Beat(
            "commitTransaction()",
            "The transaction took 700 ms longer than it had to.",
            (*CALL, "quiet"),
        ),
    ),
    ("app-1", "B3", "B6"),
    ("kafka",),
    Question(
        4,
        "The batch was refused three times and waits. The follower is back now. When does the batch go out?",
        (
            Choice("at once", False, "No broker tells a producer that it may come."),
            Choice("after 100 ms, as the first time", False, "The waiting doubles each time."),
            Choice(
                "when its 400 ms are over",
                True,
                "Right: an exponential back-off spares a broker in trouble, and costs its end some time.",
            ),
        ),
    ),
    watch=(
        Watch(2, "On the card of what is due: 100 ms, and then 200, and then 400."),
        Watch(5, "The same batch with the same sequence: nothing is in the log twice."),
    ),
    checkpoints=(
        Checkpoint("saw a batch refused for want of replicas", "append refused"),
        SAW_LSO,
        SAW_COMPLETE,
    ),
)

# -- offsets of a call that came back too early ------------------------------------------------------

GOES_ON: tuple[Line, ...] = (
    *programs.GROUP_LOOP[:4],
    programs.GROUP_LOOP[4].but(on_error=5),
    Line(
        "} catch (TimeoutException e) { } producer.commitTransaction();",
        Call.COMMIT_TRANSACTION,
    ),
)
TIMED_OUT = Scenario(
    "kip-98-offsets-timed-out",
    "sendOffsetsToTransaction() throws a TimeoutException, and the offsets are committed",
    "The group coordinator is slow, and max.block.ms is over. The program takes the offsets for lost and commits "
    "what it has.",
    "KIP-98; max.block.ms (KAFKA-6446), KafkaProducer.sendOffsetsToTransaction",
    group_spec(group_app(max_records=1, program=GOES_ON)).but(budget=PLAYGROUND.but(max_block=1)),
    (
        BEGUN,
        Beat(
            "sendOffsetsToTransaction()",
            "TxnOffsetCommit is on the wire, and Broker 4 is slow.",
            (GO, "app-1/producer sends TxnOffsetCommit"),
        ),
        Beat(
            "max.block.ms is over",
            "The call comes back with a TimeoutException. Unlike a commit it is not remembered: any other call may "
            "follow, and the producer is IN_TRANSACTION as before.",
            ("a call of app-1 times out",),
        ),
        Beat(
            "commitTransaction()",
            "EndTxn waits behind the request that is on the wire, which nobody waits for.",
            (GO, "until TxnOffsetCommit arrives at B4"),
        ),
        Beat(
            "Output and offset are committed",
            "The offset was staged before the decision, so it is part of the transaction.",
            ("quiet", GO),
        ),
    ),
    ("app-1", "B1", "B3", "B4"),
    ("kafka",),
    Question(
        3,
        "sendOffsetsToTransaction() has thrown a TimeoutException, and the program commits. Where does its group stand "
        "afterwards?",
        (
            Choice(
                "before the record: the call failed", False, "The waiting ended, not the request."
            ),
            Choice(
                "behind the record",
                True,
                "Right: what ends the transaction goes out behind the offsets.",
            ),
            Choice("that depends on who is faster", False, "The sender has one order of requests."),
        ),
    ),
    watch=(
        Watch(2, "Look at the producer: what is on the wire, what is in the queue, and who waits."),
        Watch(
            3, "A program that aborts here is right, too: the offsets are aborted with the rest."
        ),
    ),
    checkpoints=(
        Checkpoint("saw a call come back after max.block.ms", "call timed out"),
        STAGED,
        SAW_COMPLETE,
    ),
)

STORIES: tuple[Scenario, ...] = (WITHOUT_REPLICAS, TIMED_OUT, BACKS_OFF)
