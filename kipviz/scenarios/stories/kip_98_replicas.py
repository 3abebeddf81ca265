"""KIP-98: a coordinator whose log has not enough replicas, and what its errors mean."""

from __future__ import annotations

from kipviz.cluster.spec import Placement
from kipviz.records.placement import TRANSACTION_STATE
from kipviz.scenarios import programs
from kipviz.scenarios.material import SAW_APPEND_REFUSED, SAW_LSO, Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.setting import (
    GROUP_PLACEMENTS,
    TRANSACTIONAL_ID,
    group_app,
    group_spec,
    home,
)

LOG = home(TRANSACTION_STATE, TRANSACTIONAL_ID)
SPEC = group_spec(group_app(program=programs.COPY)).but(
    brokers=(1, 3, 4, 5, 6),
    placements=(Placement(LOG, 1, (6,)), *GROUP_PLACEMENTS[1:]),
    min_insync_replicas=((TRANSACTION_STATE, 2),),
)
STEPWISE = SPEC.but(replication="stepwise")

GO = ("app-1 goes on",)
WRITES = Beat(
    "app-1 writes in a transaction",
    f"It polls two records and sends their outputs. The log of its coordinator, {LOG}, is on Broker 1 "
    "and Broker 6, and min.insync.replicas of that topic is 2, as Kafka sets it.",
    ("app-1 goes on", "quiet", *GO * 2, "quiet", *GO * 3, "quiet"),
)

TOO_FEW = Scenario(
    "kip-98-too-few-replicas",
    "commitTransaction() without replicas: what is COORDINATOR_NOT_AVAILABLE?",
    "The coordinator runs and answers, but a follower of its log is gone, and it may not log a decision "
    "on one broker alone.",
    "KIP-98, transaction log; min.insync.replicas, TransactionStateManager.appendTransactionToLog",
    SPEC,
    (
        WRITES,
        Beat(
            "Broker 6 crashes",
            "It leads nothing. One of the two replicas of the transaction log is gone, and nobody is "
            "told of it.",
            ("B6 crashes",),
        ),
        Beat(
            "app-1 commits, and is told to come again",
            "Broker 1 takes the step back before anything is in its log: the transaction stays ONGOING, "
            "and EndTxn is answered with COORDINATOR_NOT_AVAILABLE. The producer asks again by itself; "
            "commitTransaction() does not return.",
            (
                "app-1 goes on",
                "until EndTxn arrives at B1",
                "until EndTxnResponse arrives at app-1/producer",
                "until EndTxn arrives at B1",
                "until EndTxnResponse arrives at app-1/producer",
            ),
        ),
        Beat(
            "Broker 6 comes back",
            "Two replicas are in sync again. The next EndTxn is logged on both, and answered; the "
            "markers go out.",
            ("B6 starts", "quiet", "app-1 goes on"),
        ),
    ),
    ("app-1", "B1", "B6", "B3"),
    ("kafka",),
    Question(
        2,
        "What has become of the transaction when EndTxn was answered with COORDINATOR_NOT_AVAILABLE?",
        (
            Choice("it is aborted", False, "Nobody decided anything: no record was written."),
            Choice(
                "it is open as before",
                True,
                "Right: the coordinator took its step back, and the LSO still waits.",
            ),
            Choice(
                "it is committed, only the answer failed",
                False,
                "That is possible with other errors; this append was refused before the log took it.",
            ),
        ),
    ),
    watch=(
        Watch(
            2,
            "Watch the log of the coordinator on Broker 1: it gets no PREPARE_COMMIT. And watch the LSO "
            "of output-A-0: every read_committed reader waits as long as the replica is missing.",
        ),
        Watch(
            2,
            "The same request goes round and round. It costs nobody anything but time: until "
            "transaction.timeout.ms is over, which cannot be logged either.",
        ),
        Watch(3, "Nothing had to be repaired: the first EndTxn that finds two replicas decides."),
    ),
    checkpoints=(
        SAW_APPEND_REFUSED,
        SAW_LSO,
        Checkpoint("set the LSO free", "lso set free"),
    ),
)

GIVEN_UP = Scenario(
    "kip-98-given-up-decision",
    "A commit that failed, and was committed: what does a timeout tell?",
    "A decision is in the log of one broker when a follower gets lost. The coordinator gives it up and "
    "says so. The record is still there.",
    "KIP-98, transaction log; TransactionStateManager.appendTransactionToLog, REQUEST_TIMED_OUT",
    STEPWISE,
    (
        WRITES,
        Beat(
            "app-1 commits",
            "Broker 1 has PREPARE_COMMIT in its log, above the high watermark: Broker 6 does not have it "
            "yet. Nobody is answered.",
            ("app-1 goes on", "until EndTxn arrives at B1"),
        ),
        Beat(
            "Broker 6 crashes, and Broker 1 gives up",
            "The high watermark cannot move on one replica. After the transaction's timeout the "
            "coordinator takes its step back: ONGOING, and COORDINATOR_NOT_AVAILABLE for app-1. What is "
            "in a log cannot be taken back.",
            (
                "B6 crashes",
                "the append at * runs out at B1",
                "EndTxnResponse arrives at app-1/producer",
            ),
        ),
        Beat(
            "Broker 6 comes back, and copies the log",
            "It fetches from Broker 1, as a follower does: PREPARE_COMMIT is on both now. The coordinator "
            "in Broker 1's memory still says ONGOING.",
            ("B6 starts", f"{LOG} is replicated"),
        ),
        Beat(
            "The leadership moves to Broker 6, which takes office",
            "An operator moves it, or Broker 1 is restarted. Broker 6 knows nothing but the log, and there the last record says PREPARE_COMMIT. So that is what "
            "it does: it sends the markers.",
            (f"{LOG} moves to B6", f"{LOG} takes office on B6"),
        ),
        Beat(
            "app-1 asks again, and has committed",
            "Its EndTxn has the epoch from before the decision: the new coordinator knows it as the same "
            "commit, and answers NONE.",
            ("quiet", "app-1 goes on"),
        ),
    ),
    ("app-1", "B1", "B6", "B3"),
    ("kafka",),
    Question(
        4,
        "app-1 was told COORDINATOR_NOT_AVAILABLE for its commit. What becomes of the transaction on "
        "Broker 6?",
        (
            Choice(
                "it is ONGOING, as Broker 1 said last",
                False,
                "That was in the memory of Broker 1, and nowhere else.",
            ),
            Choice(
                "it is committed",
                True,
                "Right: a record that is replicated counts, whatever was answered. The error said that "
                "nothing is known, not that nothing has happened.",
            ),
            Choice("it is aborted", False, "No PREPARE_ABORT was ever written."),
        ),
    ),
    watch=(
        Watch(
            2,
            "Compare two places on Broker 1: the transaction is ONGOING in its memory, and its log ends "
            "with PREPARE_COMMIT.",
        ),
        Watch(
            4,
            "The decision becomes a fact in the step in which Broker 6 takes office: from there on no "
            "other outcome is possible.",
        ),
        Watch(
            5,
            "The client never gave up: an error that may be tried again has to be tried again with the "
            "same request. Had it called abortTransaction() instead, its request would be refused.",
        ),
    ),
    checkpoints=(
        Checkpoint("saw a record whose writer had given it up", "record given up"),
        Checkpoint("saw a coordinator take office and decide", "decided by the next coordinator"),
        Checkpoint("set the LSO free", "lso set free"),
    ),
)

STORIES: tuple[Scenario, ...] = (TOO_FEW, GIVEN_UP)
