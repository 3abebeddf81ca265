"""KIP-890 and KIP-360: markers, questions and ends that come when something else is going on."""

from __future__ import annotations

from kipviz.scenarios import programs
from kipviz.scenarios.material import (
    SAW_CLIENT_BUMP,
    SAW_COMPLETE_EVERYWHERE,
    SAW_EARLY_RETURN,
    SAW_ENDED,
    SAW_FENCED,
    SAW_LATE_REQUEST,
    SAW_LSO,
    Watch,
)
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.beats import CALL, FIRST_ROUND, NEXT_ROUND, of
from kipviz.scenarios.stories.kip_890 import GETS_ON_ITS_WAY, GIVES_UP, LATE
from kipviz.scenarios.stories.setting import group_app, group_spec

ONE = group_app(max_records=1)
TWO = group_app(max_records=1, program=programs.COMMIT_THEN_ABORT)
BEGINS_AGAIN = ("app-1 goes on", "app-1 goes on")

LATE_MARKER = Scenario(
    "kip-890-late-marker",
    "A marker that ends the wrong transaction",
    "The coordinator gives a marker up and sends it again. The first copy arrives in the middle of "
    "the next transaction of the same producer.",
    "KIP-890 Motivation; KIP-1228 (strict epochs of markers)",
    group_spec(TWO).but(budget=LATE),
    (
        Beat(
            "The first transaction is committed, its marker is on the way",
            "Broker 1 has answered the client. WriteTxnMarkers is on the wire to Broker 3.",
            (
                *FIRST_ROUND,
                "app-1 goes on",
                "quiet but WriteTxnMarkers arrives at B3",
                "app-1 goes on",
            ),
        ),
        Beat(
            "Broker 1 gives the request up and repeats it",
            "The connection was bad. The second copy is applied, the transaction is complete.",
            ("B1/markers gives up on B3", "quiet"),
        ),
        Beat(
            "The second transaction writes",
            "Below version 2 it has the epoch of the first one. Its output is in output-A-0, undecided.",
            (*BEGINS_AGAIN, "quiet"),
        ),
        Beat(
            "The first copy of the marker arrives",
            "COMMIT, for the producer id and an epoch. Below version 2 they are those of the open "
            "transaction, and readers get what is not decided.",
            ("late WriteTxnMarkers arrives at B3", "quiet"),
        ),
        Beat(
            "abortTransaction()",
            "The application gives its second transaction up. In output-A-0 there may be nothing left "
            "to abort.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
    ),
    ("app-1", "B1", "B3"),
    ("kafka-tv1", "kafka"),
    Question(
        3,
        "A COMMIT marker with the producer's epoch finds an open transaction. What does the log do?",
        (
            Choice(
                "it ends what is open, if the epoch is not lower",
                True,
                "Right below version 2. Under version 2 it has to be higher than the data's.",
            ),
            Choice("it remembers that it has had this marker", False, "No log counts markers."),
        ),
    ),
    watch=(
        Watch(1, "Two copies of one request: the arrow of the first one does not end."),
        Watch(
            3, "Compare the marker's epoch with that of the open transaction, version by version."
        ),
    ),
    checkpoints=(SAW_LATE_REQUEST, SAW_COMPLETE_EVERYWHERE),
)

EMPTY_ABORT = Scenario(
    "kip-890-empty-abort",
    "An abort of nothing, right after a commit",
    "The commit is answered and its markers are not written when the application begins again, sends, "
    "and gives up before anything has left the client.",
    "KIP-890 EndTxn version 5; KAFKA-18464",
    group_spec(TWO).but(budget=LATE),
    (
        Beat(
            "A commit, answered before its markers",
            "The client has epoch 1 from the answer. Broker 1 is still completing the transaction of "
            "epoch 0.",
            (*FIRST_ROUND, "app-1 goes on", "quiet but WriteTxnMarkers*", "app-1 goes on"),
        ),
        Beat(
            "The next one is given up at once",
            "The record is in the accumulator, no broker has heard of this transaction. The abort drops "
            "the batch; EndTxn goes out all the same, because something was begun.",
            (*BEGINS_AGAIN, "app-1 goes on", "app-1/producer sends EndTxn"),
        ),
        Beat(
            "EndTxn(ABORT) arrives too early",
            "The state is PREPARE_COMMIT, and the epoch is the next transaction's. Who looks at the "
            "epoch first sees a stranger; Broker 1 looks first whether a transition is pending.",
            (
                "EndTxn arrives at B1",
                "EndTxnResponse arrives at app-1/producer",
            ),
        ),
        Beat(
            "The markers are written, and the abort succeeds",
            "An empty abort: no partition gets a marker, and the epoch goes up all the same.",
            ("quiet", "app-1 goes on"),
        ),
    ),
    ("app-1", "B1", "B3"),
    ("kafka",),
    Question(
        2,
        "EndTxn(ABORT, epoch 1) finds epoch 1 in PREPARE_COMMIT. What is answered?",
        (
            Choice(
                "PRODUCER_FENCED: in this state only the epoch before is expected",
                False,
                "So it was (KAFKA-18464): a producer was fenced by itself.",
            ),
            Choice("CONCURRENT_TRANSACTIONS: come back", True, "Right, and so it is sent again."),
        ),
    ),
    watch=(
        Watch(1, "Is there a Produce on any wire? And why is there an EndTxn?"),
        Watch(3, "Watch the epoch: 0 in the data, 1 in the marker, 2 after the empty abort."),
    ),
    checkpoints=(SAW_EARLY_RETURN, SAW_COMPLETE_EVERYWHERE),
)

BUMPS = Beat(
    "It aborts, and asks for the next epoch",
    "Nobody knows whether the batch arrived, so its sequences cannot be used again. When the abort is "
    "done the client asks for the next epoch and says who it is: InitProducerId(9, 0) (KIP-360).",
    ("app-1 goes on", "app-1 goes on", "quiet but InitProducerId arrives at B1"),
)
NOBODY_ELSE = Scenario(
    "kip-360-fenced-by-nobody",
    "Fenced, and there is nobody else",
    "A producer asks for the next epoch, the answer is lost, and the coordinator moves. The new one "
    "does not know that the question was answered before.",
    "KIP-360; KAFKA-20357 (lastProducerEpoch is not in the log)",
    group_spec(ONE).but(budget=LATE),
    (
        GETS_ON_ITS_WAY,
        GIVES_UP,
        BUMPS,
        Beat(
            "Answered with epoch 1, and the answer is lost",
            "Broker 1 remembers the epoch before, to recognise this very question. It remembers it in "
            "memory only.",
            ("InitProducerId arrives at B1", "app-1/producer loses B1"),
        ),
        Beat(
            "The coordinator moves",
            "Broker 5 reads the log: epoch 1. That it was 0 before is in no record.",
            ("__transaction_state-45 moves to B5", "quiet"),
        ),
        Beat(
            "PRODUCER_FENCED",
            "The question is repeated with epoch 0, which looks like a zombie's now. This producer is "
            "at its end; a new one goes on.",
            ("app-1 goes on",),
        ),
    ),
    ("app-1", "B1", "B3", "B5"),
    ("kafka-tv1",),
    Question(
        4,
        "The same question comes again, to a coordinator that has read the log. What is answered?",
        (
            Choice("epoch 1, once more", False, "Broker 1 would have said so."),
            Choice(
                "PRODUCER_FENCED", True, "Right: what tells a retry from a zombie was not logged."
            ),
        ),
    ),
    watch=(
        Watch(3, "Look at the card of the coordinator: the epoch before is on it."),
        Watch(4, "Look at the same card on Broker 5."),
    ),
    checkpoints=(SAW_CLIENT_BUMP, SAW_FENCED, SAW_ENDED),
)

STALE_QUESTION = Scenario(
    "kip-360-stale-question",
    "A stale question kills a live transaction",
    "A producer's question for its next epoch is on the way for so long that another process has the "
    "name and a transaction open.",
    "KIP-360; TransactionCoordinator.prepareInitProducerIdTransit",
    group_spec(ONE).but(
        budget=LATE.but(pause=1), applications=(ONE, ONE.but(name="app-2", member_id="C2"))
    ),
    (
        GETS_ON_ITS_WAY,
        GIVES_UP,
        BUMPS,
        Beat(
            "It is given up",
            "The connection times out, and then the process is frozen. The request is on its way.",
            ("app-1/producer gives up on B1", "app-1 stands still"),
        ),
        Beat(
            "app-2 takes the name over",
            "It gets epoch 1 and begins a transaction.",
            of("app-2", FIRST_ROUND),
        ),
        Beat(
            "The question of app-1 arrives",
            "It expects producer id 9, which is right. In ONGOING the epoch that it expects is not "
            "compared: the transaction of app-2 is fenced and aborted.",
            ("late InitProducerId arrives at B1", "quiet"),
        ),
        Beat(
            "Neither of them goes on",
            "app-2 finds out with its next request. The repeated question of app-1 is refused, because "
            "now the epoch is compared. Nothing wrong is ever seen, and work is lost.",
            ("app-2 goes on", "quiet", "app-2 goes on", "app-1 wakes up", "quiet", "app-1 goes on"),
        ),
    ),
    ("app-1", "app-2", "B1", "B3"),
    ("kafka-tv1",),
    Question(
        5,
        "InitProducerId(9, epoch 0) finds a transaction of epoch 1 that is ONGOING. What happens?",
        (
            Choice("PRODUCER_FENCED", False, "In EMPTY and COMPLETE_* it would be."),
            Choice(
                "the transaction is aborted, and the caller told to come back",
                True,
                "Right: only the producer id is compared before that.",
            ),
        ),
    ),
    watch=(
        Watch(4, "Whose epoch is which? Three processes' worth of epochs belong to one name."),
        Watch(6, "Who is fenced in the end? Count the producers that can go on."),
    ),
    checkpoints=(SAW_LATE_REQUEST, SAW_FENCED, SAW_LSO),
)

FAILS = group_app(max_records=1, program=programs.FAIL_THEN_COPY)
ZOMBIE_ABORTS = Scenario(
    "kip-890-zombie-aborts",
    "A zombie's abort succeeds, and proves nothing",
    "A fenced producer aborts, is told NONE with the next epoch, and believes that the name is its "
    "own.",
    "KIP-890 EndTxn version 5, retries",
    group_spec(FAILS).but(
        budget=LATE, applications=(FAILS, ONE.but(name="app-2", group_id="other", member_id="C2"))
    ),
    (
        Beat(
            "app-1 has a transaction open, and wants to abort it",
            "Processing failed. EndTxn(ABORT, epoch 0) has left the client.",
            (*FIRST_ROUND, "app-1 goes on", "app-1/producer sends EndTxn"),
        ),
        Beat(
            "app-2 takes the name over",
            "Its InitProducerId arrives first. Broker 1 aborts with epoch 1, which nobody shall ever have, "
            "and has app-2 told to come back.",
            (
                "app-2 goes on",
                "app-2/producer sends InitProducerId",
                "InitProducerId arrives at B1",
                "WriteTxnMarkers arrives at B3",
                "WriteTxnMarkersResponse from B3 arrives at B1/markers",
            ),
        ),
        Beat(
            "The zombie's EndTxn arrives",
            "COMPLETE_ABORT at epoch 1, and a request to abort epoch 0: that is how a repeated request "
            "looks whose answer was lost. So the answer is NONE, with epoch 1.",
            ("EndTxn arrives at B1", "EndTxnResponse arrives at app-1/producer", "app-1 goes on"),
        ),
        Beat(
            "app-2 comes back",
            "It gets epoch 2. Now two producers are READY under one name, and one of them is a zombie.",
            ("quiet", "app-2 goes on"),
        ),
        Beat(
            "The zombie goes on, and is found out",
            "Its next batch has epoch 1. The coordinator is asked to enlist the partition and says no: "
            "the batch is refused, and commitTransaction() throws.",
            (
                *NEXT_ROUND,
                "app-1 goes on",
            ),
        ),
    ),
    ("app-1", "app-2", "B1", "B3"),
    ("kafka",),
    Question(
        2,
        "app-1 was told NONE with epoch 1. Is the name its own?",
        (
            Choice(
                "yes: it has the newest epoch", False, "At this moment it has. See app-2 come back."
            ),
            Choice(
                "no", True, "Right: a success does not prove ownership, only the next epoch does."
            ),
        ),
    ),
    watch=(
        Watch(2, "Watch who has epoch 1: an epoch that was made to fence with."),
        Watch(4, "Who refuses the batch? The log has nothing against epoch 1."),
    ),
    checkpoints=(SAW_FENCED, SAW_COMPLETE_EVERYWHERE),
)

ZOMBIE_COORDINATOR = Scenario(
    "kip-98-zombie-coordinator",
    "A coordinator that does not know that it is none any more",
    "Broker 1 has sent its markers when another broker takes its office over, reads the log and sends "
    "them again. Then the old ones arrive.",
    "KIP-98 Coordinator failover; WriteTxnMarkersRequest, coordinator epoch",
    group_spec(ONE).but(budget=LATE),
    (
        Beat(
            "PREPARE_COMMIT is logged, the markers have left Broker 1",
            "Both carry coordinator epoch 0: the leader epoch of __transaction_state-45.",
            (
                *FIRST_ROUND,
                *CALL,
                "app-1 goes on",
                "quiet but WriteTxnMarkers arrives at B?",
                "app-1 goes on",
            ),
        ),
        Beat(
            "Broker 5 takes over",
            "The network between Broker 1 and the partitions' leaders fails, and the controller gives the "
            "office away. Broker 5 finds PREPARE_COMMIT in the log.",
            (
                "B1 and B3 are cut apart",
                "B1 and B4 are cut apart",
                "__transaction_state-45 moves to B5",
            ),
        ),
        Beat(
            "The markers of Broker 5",
            "Coordinator epoch 1. They are applied, and the transaction is complete.",
            ("quiet",),
        ),
        Beat(
            "The markers of Broker 1 arrive",
            "Coordinator epoch 0: TRANSACTION_COORDINATOR_FENCED. Without that they would end whatever "
            "the producer has open by now.",
            ("B1 and B3 are joined", "B1 and B4 are joined", "quiet"),
        ),
    ),
    ("app-1", "B1", "B3", "B5"),
    ("kafka",),
    Question(
        3,
        "Markers of the coordinator before reach logs that have those of the new one. What happens?",
        (
            Choice("they are written again", False, "The logs remember the coordinator's epoch."),
            Choice("they are refused", True, "Right: TRANSACTION_COORDINATOR_FENCED."),
        ),
    ),
    watch=(
        Watch(1, "Both brokers have decided nothing new: the decision is in the log."),
        Watch(3, "Compare the coordinator epochs that the two pairs of markers carry."),
    ),
    checkpoints=(SAW_COMPLETE_EVERYWHERE, SAW_EARLY_RETURN),
)

STORIES: tuple[Scenario, ...] = (
    LATE_MARKER,
    EMPTY_ABORT,
    NOBODY_ELSE,
    STALE_QUESTION,
    ZOMBIE_ABORTS,
    ZOMBIE_COORDINATOR,
)
