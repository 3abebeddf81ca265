"""KIP-890, KIP-360 and KIP-98: who a producer is, and what becomes of one that is somebody else."""

from __future__ import annotations

from kipviz.records.transaction_state import TransactionRecord, TransactionState
from kipviz.scenarios.material import (
    CRASHED_AFTER_DECISION,
    SAW_CLIENT_BUMP,
    SAW_EARLY_RETURN,
    SAW_ENDED,
    SAW_FENCED,
    SAW_LSO,
    Checkpoint,
    Watch,
)
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.beats import CALL, FIRST_ROUND, NEXT_ROUND
from kipviz.scenarios.stories.setting import PLAYGROUND, TRANSACTIONAL_ID, group_app, group_spec

OPERATED = PLAYGROUND.but(request_timeout=3, delivery_timeout=3, upgrade=2)
ONE = group_app(max_records=1)

# -- a time-out and a commit at the same moment --------------------------------------------------

TOO_LATE = Scenario(
    "kip-890-too-late",
    "A commit that comes after the time-out",
    "The coordinator aborts a transaction that took too long while its EndTxn is on the way; the "
    "commit must not look like a success.",
    "KIP-98 transaction.timeout.ms; KIP-890 EndTxn version 5, retries",
    group_spec(ONE).but(budget=OPERATED),
    (
        Beat(
            "commitTransaction() is on its way",
            "Everything is in the transaction: the output in output-A-0, the offset in "
            "__consumer_offsets. EndTxn has left the client.",
            (*FIRST_ROUND, *CALL, "app-1 goes on", "quiet but EndTxn arrives at B1"),
        ),
        Beat(
            "transaction.timeout.ms is over",
            "Broker 1 does not know that the request is coming. It logs PREPARE_ABORT with the next "
            "epoch, so that the producer is fenced, and writes the markers.",
            ("my-txn times out", "quiet but EndTxn arrives at B1"),
        ),
        Beat(
            "EndTxn(COMMIT) arrives",
            "The epoch in it is one behind the coordinator's. That is also what a repeated request "
            "looks like whose answer was lost: only the stored outcome tells the two apart.",
            ("EndTxn arrives at B1", "quiet", "app-1 goes on"),
        ),
        Beat(
            "The process starts again",
            "The error is fatal: this producer can only be closed. The next process reads from the "
            "committed offset on, and the record is put out once.",
            (
                "app-1 crashes",
                "app-1 starts",
                *FIRST_ROUND,
                *CALL,
                "app-1 goes on",
                "quiet",
            ),
        ),
    ),
    ("app-1", "B1", "B3", "B4"),
    ("kafka", "kafka-tv1"),
    Question(
        2,
        "The transaction is aborted, and EndTxn(COMMIT) carries the epoch before. What is answered?",
        (
            Choice(
                "success: it is the retry of a decision that is made",
                False,
                "A model that takes any epoch one behind for a retry would report a commit here.",
            ),
            Choice(
                "an error that ends the producer",
                True,
                "Right: INVALID_TXN_STATE under version 2 in 4.4.0, PRODUCER_FENCED under version 1.",
            ),
            Choice("CONCURRENT_TRANSACTIONS: try again", False, "Nothing is in progress any more."),
        ),
    ),
    watch=(
        Watch(
            1,
            "The markers of a time-out carry a higher epoch in every version: that is how the logs "
            "fence the producer.",
        ),
        Watch(
            2,
            "Had the application asked for an abort, version 2 would have answered success with the "
            "next epoch. Try it: take the other choice from here.",
        ),
    ),
    checkpoints=(
        SAW_ENDED,
        CRASHED_AFTER_DECISION,
    ),
)

# -- two producers with one name -----------------------------------------------------------------

ZOMBIE = Scenario(
    "kip-98-zombie",
    "A producer that wakes up when another one has its name",
    "A process is paused in its transaction, another one starts with the same transactional.id; then "
    "the first one goes on.",
    "KIP-98 Producer fencing; KIP-360; KIP-890",
    group_spec(ONE).but(budget=OPERATED, applications=(ONE, ONE.but(name="app-2", member_id="C2"))),
    (
        Beat(
            "app-1 writes in a transaction",
            "Its output is in output-A-0, not committed. Then the process is paused: a long garbage "
            "collection, a frozen machine.",
            FIRST_ROUND,
        ),
        Beat(
            "app-2 starts with the same transactional.id",
            "InitProducerId finds an open transaction: Broker 1 aborts it with the next epoch, answers "
            "CONCURRENT_TRANSACTIONS meanwhile, and gives app-2 the epoch after that.",
            ("app-2 goes on", "quiet", "app-2 goes on"),
        ),
        Beat(
            "app-1 wakes up",
            "It knows nothing of this and goes on: it stages its offset in the transaction that it "
            "believes to be open.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "app-2 does the work",
            "It reads the record, puts it out and commits. There is one output.",
            (
                "app-2 goes on",
                "quiet",
                "app-2 goes on",
                "app-2 goes on",
                "app-2 goes on",
                "quiet",
                "app-2 goes on",
                "quiet",
                "app-2 goes on",
                "app-2 goes on",
                "quiet",
                "app-2 goes on",
            ),
        ),
    ),
    ("app-1", "app-2", "B1", "B3"),
    ("kafka", "kafka-tv1", "kafka-tv0"),
    Question(
        2,
        "app-1 goes on with its old epoch. Who stops it?",
        (
            Choice("nobody: it finds out when it commits", False, "It has to be stopped before."),
            Choice(
                "the first broker that compares its epoch with a newer one",
                True,
                "Right: a log that has the marker, or the coordinator that it asks.",
            ),
            Choice(
                "app-2, when it starts", False, "Processes do not know of each other; brokers do."
            ),
        ),
    ),
    watch=(
        Watch(
            1,
            "Three epochs: app-1's, the one of the ABORT marker, which nobody ever has, and app-2's.",
        ),
        Watch(
            2,
            "The request of app-1 is refused by a broker that app-2 has never talked to. Where did that "
            "broker hear of the new epoch?",
        ),
    ),
    checkpoints=(
        SAW_LSO,
        SAW_FENCED,
        SAW_ENDED,
    ),
)

# -- the last epoch ------------------------------------------------------------------------------

USED_UP = TransactionRecord(
    TRANSACTIONAL_ID, 5, 32765, TransactionState.COMPLETE_COMMIT, client_transaction_version=2
)
OVERFLOW = Scenario(
    "kip-890-overflow",
    "The last epoch of a producer id",
    "After 32,766 transactions the epochs of a producer id are used up, and a commit has to change "
    "the producer id as well.",
    "KIP-890 Epoch overflow; KIP-360",
    group_spec(ONE).but(budget=OPERATED, transactions=(USED_UP,)),
    (
        Beat(
            "producer.initTransactions()",
            "The coordinator has producer id 5 with epoch 32765 in its log, and gives out 32766: the "
            "last one that a client may have.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "A transaction at the last epoch",
            "It is like any other.",
            (
                *NEXT_ROUND,
                *CALL,
            ),
        ),
        Beat(
            "commitTransaction()",
            "The record of the decision has producer id 5 with 32767, which is kept for this, and the "
            "fresh producer id beside it. The client is told the fresh one, epoch 0.",
            (
                "app-1 goes on",
                "until EndTxn arrives at B1",
                "quiet but WriteTxnMarkers*",
                "app-1 goes on",
            ),
        ),
        Beat(
            "The next transaction begins before the markers",
            "Broker 3 asks the coordinator to enlist output-A-0 for the fresh producer id. The old "
            "transaction is not complete yet, and only with it the fresh id becomes valid.",
            (
                "app-1 goes on",
                "quiet but WriteTxnMarkers*",
                "app-1 goes on",
                "app-1 goes on",
                "app-1 goes on",
                "app-1/producer sends Produce",
                "Produce arrives at B3",
                "AddPartitionsToTxn arrives at B1",
                "AddPartitionsToTxnResponse from B1 arrives at B3/add-partitions",
            ),
        ),
        Beat(
            "The markers are written",
            "They carry producer id 5 and 32767. With COMPLETE_COMMIT the fresh producer id is stored, "
            "and the waiting batch gets in.",
            ("quiet", *CALL, "app-1 goes on", "quiet"),
        ),
    ),
    ("app-1", "B1", "B3"),
    ("kafka",),
    Question(
        3,
        "The client has producer id 9, epoch 0; the coordinator still has 5. What does it answer to "
        "the enlistment?",
        (
            Choice(
                "INVALID_PRODUCER_ID_MAPPING: it does not know 9",
                False,
                "It would, if the producer id were compared first.",
            ),
            Choice(
                "CONCURRENT_TRANSACTIONS: come back",
                True,
                "Right: a transition in progress is looked at before the producer id, for this very "
                "case.",
            ),
            Choice(
                "success", False, "The transaction of 9 cannot begin before that of 5 is complete."
            ),
        ),
    ),
    watch=(
        Watch(0, "32766 is the last epoch of a client; 32767 is what the coordinator fences with."),
        Watch(
            2,
            "Two identities at once: what the record has, and what the client was told. Compare the "
            "card of the coordinator with what app-1 believes.",
        ),
    ),
    checkpoints=(
        Checkpoint("saw a fresh producer id that is not valid yet", "rotating"),
        CRASHED_AFTER_DECISION,
        SAW_EARLY_RETURN,
    ),
)

# -- another level in a running cluster ----------------------------------------------------------

UPGRADE = Scenario(
    "kip-890-upgrade",
    "transaction.version 2 is finalized in the middle of a transaction",
    "An operator raises the level while a client of version 1 has a transaction open.",
    "KIP-890 Upgrade; KIP-584",
    group_spec(ONE).but(budget=OPERATED),
    (
        Beat(
            "A transaction of version 1",
            "The client adds output-A-0 by itself and sends its output.",
            FIRST_ROUND,
        ),
        Beat(
            "The level is raised",
            "Brokers act on the new level at once. The client hears of it when it opens a connection: "
            "here it loses the one to its coordinator.",
            ("transaction.version 2 is finalized", "app-1/producer loses B1"),
        ),
        Beat(
            "The transaction ends as it began",
            "The client has heard of version 2 by now, but EndTxn goes out in version 4, and the epoch "
            "stays: a transaction does not change its version.",
            (*CALL, "app-1 goes on", "until EndTxn arrives at B1"),
        ),
        Beat(
            "The client bumps its epoch",
            "Partitions may still remember the old epoch as one of an open transaction. So before its "
            "first transaction of version 2 the client asks for the next epoch, and commitTransaction() "
            "waits for that.",
            ("quiet", "app-1 goes on"),
        ),
        Beat(
            "A transaction of version 2",
            "Nobody adds partitions for the broker any more, and the commit brings the next epoch.",
            (
                *NEXT_ROUND,
                *CALL,
                "app-1 goes on",
                "quiet",
                "app-1 goes on",
            ),
        ),
    ),
    ("app-1", "B1", "B3", "B4"),
    ("kafka-tv1",),
    Question(
        2,
        "The client has learned that version 2 is finalized. How does it end its open transaction?",
        (
            Choice(
                "with EndTxn version 5: the epoch goes up",
                False,
                "It began without enlistment by the brokers; it has to end in the way it began.",
            ),
            Choice(
                "with EndTxn version 4: the epoch stays, this time",
                True,
                "Right, and the bump comes in a request of its own before the next transaction.",
            ),
            Choice("it has to abort", False, "Nothing is lost by a change of the level."),
        ),
    ),
    watch=(
        Watch(1, "Nothing moves in the client when the level is raised: it has not been told."),
        Watch(
            3,
            "InitProducerId with a producer id and an epoch: the client's own bump (KIP-360), in a "
            "cluster where nothing has gone wrong.",
        ),
    ),
    checkpoints=(
        SAW_CLIENT_BUMP,
        Checkpoint("saw a level finalized in a running cluster", "level changed"),
    ),
)

STORIES: tuple[Scenario, ...] = (ZOMBIE, TOO_LATE, OVERFLOW, UPGRADE)
