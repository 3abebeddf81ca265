"""KIP-98: several batches of a transaction on the way at once."""

from __future__ import annotations

from kipviz.cluster.spec import Placement
from kipviz.records.placement import TRANSACTION_STATE
from kipviz.scenarios import programs
from kipviz.scenarios.material import (
    SAW_COMPLETE,
    SAW_IN_FLIGHT,
    SAW_NEW_BEGINNING,
    SAW_OUT_OF_ORDER,
    Watch,
)
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.setting import (
    GROUP_PLACEMENTS,
    PLAYGROUND,
    TRANSACTIONAL_ID,
    group_app,
    group_spec,
    home,
)

APP = group_app(program=programs.MANY_IN_A_TRANSACTION, max_records=1, max_in_flight=5)
SPEC = group_spec(APP).but(
    # Broker 1 has nothing but the other replica of the output.
    placements=(
        Placement(home(TRANSACTION_STATE, TRANSACTIONAL_ID), 4, (5,)),
        *GROUP_PLACEMENTS[1:],
    ),
    records=(("src-0", 100, ("a", "b", "c")),),
    min_insync_replicas=(("output-A", 2),),
    budget=PLAYGROUND.but(delivery_timeout=3),
)
GO = "app-1 goes on"
POLLS = (
    GO,
    "app-1/consumer sends Fetch",
    "Fetch arrives at B5",
    "FetchResponse arrives at app-1/consumer",
    GO,
)
BEGINS = (GO, "quiet", GO, GO, "quiet", GO, GO, GO)
ENLISTS = ("AddPartitionsToTxn arrives at B4", "AddPartitionsToTxnResponse from B4 arrives at *")
OUT = ("app-1/producer sends Produce",) * 3
REFUSED = "ProduceResponse arrives at app-1/producer"
THREE = Beat(
    "Three batches of one transaction are on the way",
    "app-1 sends a, b and c, one batch each, and waits for no answer: "
    "max.in.flight.requests.per.connection is 5. They get the sequences 0, 1 and 2 when they go out.",
    (*BEGINS, *POLLS, GO, *POLLS, GO, *OUT),
)
CLAUSE = "KIP-98; max.in.flight.requests.per.connection (KAFKA-5494), TransactionManager, Sender"

IN_ORDER = Scenario(
    "kip-98-in-flight-transaction",
    "Three batches of a transaction, one is refused: what does commitTransaction() wait for?",
    "A transaction has one order in each partition, however many batches are on the way.",
    CLAUSE,
    SPEC,
    (
        THREE,
        Beat(
            "The first one is refused: a replica is missing",
            "Broker 1 has the only other replica of output-A-0, and crashes. Broker 3 enlists its "
            "partition in the transaction, wants two replicas for a, and says NOT_ENOUGH_REPLICAS. Then "
            "Broker 1 is back.",
            ("B1 crashes", "Produce arrives at B3", *ENLISTS, "B1 starts"),
        ),
        Beat(
            "The other two do not fit",
            "b has sequence 1, and a transaction of version 2 begins at 0 in each partition: "
            "OUT_OF_ORDER_SEQUENCE_NUMBER, and the same for c. The producer knows that a is not through, so "
            "nothing is lost: it keeps all three, with the sequences that they have.",
            ("quiet but app-1/producer sends *",),
        ),
        Beat(
            "commitTransaction() is called",
            "The offsets are staged first: while a transactional request is on the wire, no batch is. Then "
            "EndTxn is in the queue, behind three batches.",
            (GO, "until TxnOffsetCommitResponse arrives at app-1/producer", GO, GO),
        ),
        Beat(
            "One after the other, in order",
            "What has to be sent again goes alone: a until it is through, then b, then c.",
            (
                "app-1/producer sends Produce",
                "until ProduceResponse arrives at app-1/producer",
                "app-1/producer sends Produce",
                "until ProduceResponse arrives at app-1/producer",
            ),
        ),
        Beat(
            "EndTxn goes out when nothing is left",
            "c is acknowledged, too. Now the coordinator decides, and the log says a, b, c, COMMIT.",
            ("quiet", GO),
        ),
    ),
    ("app-1", "B1", "B3", "B4"),
    ("kafka",),
    Question(
        4,
        "app-1 has called commitTransaction(), and all three batches were refused. What does its producer send?",
        (
            Choice(
                "EndTxn", False, "EndTxn waits until no batch is left: a commit is a flush, too."
            ),
            Choice(
                "all three batches again",
                False,
                "They would be out of order once more if a fails again.",
            ),
            Choice(
                "a, alone", True, "Right: what is sent again goes one by one, the oldest first."
            ),
        ),
    ),
    watch=(
        Watch(
            0,
            "Open the producer: each batch on the way has the sequence at which the one before it ends.",
        ),
        Watch(
            2,
            "The state of the producer is IN_TRANSACTION all the time: a gap is an error of the "
            "transaction only if the refused batch is the next one.",
        ),
        Watch(5, "One order in the log, and one commit for all three: the markers come last."),
    ),
    checkpoints=(
        SAW_IN_FLIGHT,
        SAW_OUT_OF_ORDER,
        SAW_COMPLETE,
    ),
)

GIVEN_UP = Scenario(
    "kip-98-in-flight-given-up",
    "Batches are given up while they are on the wire: can they come after the abort?",
    "delivery.timeout.ms ends the waiting, not the request. What is in the network may still arrive.",
    "KIP-98, KIP-91, KIP-890; Sender.getExpiredInflightBatches, TransactionManager.handleFailedBatch",
    SPEC.but(min_insync_replicas=()),
    (
        THREE,
        Beat(
            "Broker 3 is slow, and delivery.timeout.ms is over",
            "The producer gives a, b and c up: their Futures fail with a TimeoutException, and the "
            "transaction can only be aborted. The three requests are on their way all the same.",
            ("a batch of app-1/producer expires",) * 3,
        ),
        Beat(
            "app-1 aborts",
            "sendOffsetsToTransaction() throws, and the catch block calls abortTransaction(). No batch is "
            "left to wait for, so EndTxn goes out at once. The coordinator has not heard of this "
            "transaction; it gives the next epoch.",
            (GO, GO, "quiet but Produce arrives at B3", GO),
        ),
        Beat(
            "The batches arrive",
            "Broker 3 knows nothing of an abort. It asks the coordinator to enlist output-A-0 in the "
            "transaction of epoch 0, and that epoch is over: INVALID_PRODUCER_EPOCH. The producer does not "
            "wait for the answers any more.",
            ("quiet but app-1/consumer sends *",),
        ),
        Beat(
            "app-1 begins anew",
            "It reads a, b and c once more, writes them with epoch 1, and commits.",
            (GO, "quiet", GO, GO, GO, *(GO, "quiet", GO, GO) * 2, GO, "quiet", GO, GO, "quiet", GO),
        ),
    ),
    ("app-1", "B3", "B4"),
    ("kafka",),
    Question(
        3,
        "abortTransaction() has come back, and a arrives at Broker 3 now. What becomes of it?",
        (
            Choice(
                "it is appended, and hangs until somebody aborts it",
                False,
                "That was so before KIP-890: no coordinator would ever have sent a marker for it.",
            ),
            Choice(
                "it is refused: the coordinator is an epoch further",
                True,
                "Right: no partition gets into a transaction past its coordinator.",
            ),
            Choice("it becomes part of the next transaction", False, "It carries the old epoch."),
        ),
    ),
    watch=(
        Watch(
            1, "Open the producer: ABORTABLE_ERROR, and no batch. Then look at what is on the wire."
        ),
        Watch(
            2,
            "The abort bumps the epoch though nothing was ever written: that is what stops the batches "
            "that are still in the network.",
        ),
        Watch(4, "output-A-0 begins with epoch 1: nothing of the first attempt is in it."),
    ),
    checkpoints=(
        SAW_IN_FLIGHT,
        SAW_COMPLETE,
    ),
)
NO_ROOM = Scenario(
    "kip-98-buffer-full",
    "send() finds no room in buffer.memory: what becomes of the transaction?",
    "The call that takes too long throws nothing. The next one does.",
    "KIP-98, Producer API; max.block.ms, buffer.memory; KafkaProducer.doSend, BufferPool.allocate",
    SPEC.but(
        applications=(APP.but(buffer=2),),
        min_insync_replicas=(),
        budget=PLAYGROUND.but(max_block=2, delivery_timeout=1),
    ),
    (
        Beat(
            "The buffer is full",
            "buffer.memory has room for two batches here. a and b are on their way, and Broker 3 is slow.",
            (*BEGINS, *POLLS, GO, *OUT[:2]),
        ),
        Beat(
            "send() waits",
            "app-1 has read c. Its send() would have returned at once; now it waits for room.",
            (*POLLS, GO),
        ),
        Beat(
            "max.block.ms is over",
            "send() returns, and throws nothing: the TimeoutException is in its Future, at which app-1 does "
            "not look. c will never be sent, so the producer does not let the transaction commit.",
            ("a call of app-1 times out",),
        ),
        Beat(
            "Broker 3 answers",
            "a and b are in the log. That does not help: the transaction would lack c.",
            ("quiet but app-1/consumer sends *",),
        ),
        Beat(
            "The next call throws",
            "sendOffsetsToTransaction() throws what send() did not, and the catch block aborts.",
            (GO, GO, "quiet", GO),
        ),
        Beat(
            "app-1 begins anew",
            "It reads a, b and c again. Broker 3 is well, there is room, and the transaction commits.",
            (
                GO,
                "quiet",
                GO,
                GO,
                GO,
                *(GO, "quiet", GO, GO) * 2,
                "quiet",
                GO,
                "quiet",
                GO,
                GO,
                "quiet",
                GO,
            ),
        ),
    ),
    ("app-1", "B3", "B4"),
    ("kafka",),
    Question(
        3,
        "send() has returned without an exception. Can app-1 still commit?",
        (
            Choice(
                "yes, when a and b are through",
                False,
                "Then c would be missing, and its offset committed.",
            ),
            Choice(
                "yes, and c is sent as soon as there is room",
                False,
                "Nobody keeps c: it never got into the buffer.",
            ),
            Choice(
                "no: the transaction can only be aborted",
                True,
                "Right: its producer is in ABORTABLE_ERROR, whether app-1 looks at the Future or not.",
            ),
        ),
    ),
    watch=(
        Watch(
            1, "The thread stands in send(), a call that most people take for one that never waits."
        ),
        Watch(2, "Open the producer: ABORTABLE_ERROR, while two of its batches are on the wire."),
        Watch(
            4,
            "a and b are in the log, and behind them an ABORT marker: read_committed never shows them.",
        ),
    ),
    checkpoints=(
        SAW_NEW_BEGINNING,
        SAW_COMPLETE,
    ),
)
STORIES: tuple[Scenario, ...] = (IN_ORDER, GIVEN_UP, NO_ROOM)
