"""KIP-1310: the use cases of its page, each as today's producer does it and with a TransactionSession.

The two stories of a pair have the same cluster and the same beats, so that they can be held side by
side: `kipviz compare kip-1310-share-producer --to kip-1310-share-session`.
"""

from __future__ import annotations

from kipviz.clients.application import Line
from kipviz.cluster.spec import ApplicationSpec, SessionSpec
from kipviz.scenarios import session_programs
from kipviz.scenarios.material import SAW_LSO, SAW_STAGED, TOOK_CRASH, Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.setting import share_app, share_spec

TODAY, DRAFT = "producer", "session"
BOUND = SessionSpec()


def with_session(
    app: ApplicationSpec, program: tuple[Line, ...], **changes: object
) -> ApplicationSpec:
    """Give an application whose transactions are those of a session."""
    return app.but(session=BOUND, program=program, **changes)


# -- 4.2, a share consumer and a producer in one transaction ---------------------------------------


def _share_beats(who: str) -> tuple[Beat, ...]:
    mine = who == TODAY
    first = "producer.initTransactions()" if mine else "session.initialize()"
    vote = (
        "producer.sendShareAcknowledgementsToTransaction()"
        if mine
        else "shareConsumer.acknowledgeTransactionally(session)"
    )
    voter = "producer" if mine else "consumer"
    return (
        Beat(
            first,
            f"The {who} asks Broker 1, the coordinator of my-txn, for an identity: who had the name "
            "before is fenced.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "shareConsumer.poll()",
            "Broker 5 delivers offsets 100 and 101 and locks them for member M1.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(f"{who}.beginTransaction()", "Purely local.", ("app-1 goes on",)),
        Beat(
            "producer.send(outputRecord)",
            "The records go out on the producer's connection, with the identity of the "
            f"{who}. Broker 3 enlists output-A-0 before it appends them.",
            ("app-1 goes on", "quiet"),
        ),
        Beat(
            vote,
            f"TxnShareAcknowledge goes to Broker 5, the leader of the share-partition, from the "
            f"{voter}. The vote is kept, and the two records are TX_PENDING.",
            ("app-1 goes on", "until TxnShareAcknowledge arrives at B5", "quiet"),
        ),
        Beat(
            f"{who}.commitTransaction(): PREPARE_COMMIT",
            "Broker 1 logs the decision with the next epoch.",
            ("app-1 goes on", "until EndTxn arrives at B1"),
        ),
        Beat(
            "commitTransaction() returns",
            f"The answer carries the next epoch to the {who}. No marker is written yet.",
            (f"EndTxnResponse arrives at app-1/{who}", "app-1 goes on"),
        ),
        Beat(
            "The markers",
            "Every participant gets its marker: the output is visible, the two records are "
            "acknowledged.",
            ("quiet", "maybe B5 refreshes src-0", "quiet"),
        ),
    )


SHARE_QUESTION = Question(
    4,
    "Two objects take part in this transaction, a producer and a share consumer. How many "
    "identities does the coordinator know?",
    (
        Choice("one", True, "Right: one producer id and one epoch, whoever uses them."),
        Choice("two", False, "A transactional id has one producer id and one epoch."),
    ),
)
SHARE_CHECKPOINTS = (
    SAW_LSO,
    SAW_STAGED,
    Checkpoint("saw commit return before any marker was written", "answered before markers"),
)

SHARE_TODAY = Scenario(
    "kip-1310-share-producer",
    "KIP-1310 4.2 today: the producer votes for the share consumer",
    "One transaction for a producer and a share consumer, as KIP-1289 has it: the producer sends "
    "the consumer's acknowledgements.",
    "KIP-1310 4.2 against KIP-1289 Pseudo code",
    share_spec(share_app()),
    _share_beats(TODAY),
    ("app-1", "B1", "B3", "B5"),
    ("repaired",),
    SHARE_QUESTION,
    watch=(
        Watch(
            4,
            "The acknowledgement leaves on the producer's connection: watch a second arrow from "
            "app-1/producer go to Broker 5.",
        ),
        Watch(5, "EndTxn waits until nothing of the producer is unsent: one object knows it all."),
    ),
    checkpoints=SHARE_CHECKPOINTS,
)
SHARE_SESSION = Scenario(
    "kip-1310-share-session",
    "KIP-1310 4.2: a producer and a share consumer in one session",
    "A TransactionSession has the identity; a producer and a share consumer are bound to it, and "
    "each sends its own part of the transaction.",
    "KIP-1310 4.2",
    share_spec(with_session(share_app(), session_programs.SHARE_CONSUMER)),
    _share_beats(DRAFT),
    ("app-1", "B1", "B3", "B5"),
    ("repaired", "kip-1310"),
    SHARE_QUESTION,
    watch=(
        Watch(
            0,
            "A third object, with a connection of its own to Broker 1: watch who owns what in the "
            "card of objects and connections.",
        ),
        Watch(
            5,
            "EndTxn is on another connection than the records and the votes. What makes it come "
            "last? Under the page as written: nothing.",
        ),
    ),
    checkpoints=(*SHARE_CHECKPOINTS[1:], TOOK_CRASH),
)

STORIES: tuple[Scenario, ...] = (SHARE_TODAY, SHARE_SESSION)
