"""KIP-360: a client that bumps its own epoch, and one that forgets to ask for it.

Status of what goes wrong: our reading of the client of 4.4.0 and of trunk; no issue is known to us.
"""

from __future__ import annotations

from kipviz.scenarios import programs
from kipviz.scenarios.material import SAW_CLIENT_BUMP, Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.setting import PLAYGROUND, group_app, group_spec

GO = "app-1 goes on"
READS = (GO, "quiet", GO)

NOBODY_ASKS = Scenario(
    "kip-360-nobody-asks",
    "The abort succeeds, and the producer is of no use any more",
    "Below transaction version 2 a client bumps its epoch when a batch is lost. It decides that when it begins to "
    "abort; this batch is lost a little later.",
    "KIP-360; TransactionManager.maybeResolveSequences, beginCompletingTransaction, resetTransactionState",
    group_spec(group_app(program=programs.COPY_ABORT)).but(
        budget=PLAYGROUND.but(delivery_timeout=2)
    ),
    (
        Beat(
            "A batch that does not get through",
            "output-A-0 is in the transaction, the batch is on the wire, and then app-1 cannot reach Broker 3 any "
            "more. The batch is to be sent again: a leader may have it or not.",
            (
                *READS,
                *READS,
                GO,
                GO,
                "until AddPartitionsToTxnResponse arrives at app-1/producer",
                "app-1/producer sends Produce",
                "app-1/producer loses B3",
                "B3 and app-1 are cut apart",
            ),
        ),
        Beat(
            "The application aborts",
            "For a reason of its own. EndTxn waits until nothing is known to be on its way. An epoch to bump is not "
            "in sight: no batch has failed.",
            (GO, "quiet but app-1/producer sends Produce"),
        ),
        Beat(
            "delivery.timeout.ms is over",
            "The batch is given up, and whether its sequences are used nobody knows: the epoch has to be "
            "bumped after all. EndTxn goes out, the coordinator aborts, abortTransaction() comes back.",
            ("a batch of app-1/producer expires", "quiet", GO),
        ),
        Beat(
            "The next transaction",
            "The producer waits for an identity for which no request is in its queue. "
            "beginTransaction() throws IllegalStateException, and so would every other call.",
            (*READS, GO),
        ),
    ),
    ("app-1", "B1", "B3"),
    ("kafka-tv1",),
    Question(
        3,
        "abortTransaction() has come back without an exception. What does beginTransaction() do?",
        (
            Choice(
                "it begins the next transaction with epoch 0",
                False,
                "The lost batch may have used its sequences.",
            ),
            Choice(
                "it begins the next transaction with epoch 1",
                False,
                "So it would, if the batch had been given up before the abort began.",
            ),
            Choice(
                "it throws IllegalStateException",
                True,
                "Right: the producer is INITIALIZING, and nobody asks the coordinator.",
            ),
        ),
    ),
    watch=(
        Watch(
            1,
            "Open the producer: ABORTING_TRANSACTION, and behind EndTxn there is no InitProducerId.",
        ),
        Watch(
            2,
            "After the abort it is INITIALIZING, with nothing in its queue. Take the branch in which the "
            "batch expires first: then InitProducerId is behind EndTxn, and all goes well.",
        ),
        Watch(
            3,
            "What helps: close it and make a new one. Or transaction.version 2, where EndTxn bumps the epoch.",
        ),
    ),
    checkpoints=(
        Checkpoint("saw a producer wait for what nobody asks for", "nobody asks"),
        Checkpoint("saw the transaction complete everywhere", "complete"),
        SAW_CLIENT_BUMP,
    ),
)

STORIES: tuple[Scenario, ...] = (NOBODY_ASKS,)
