"""KIP-98: a call of a producer that comes back before its result is there."""

from __future__ import annotations

from kipviz.cluster.spec import Placement
from kipviz.records.placement import TRANSACTION_STATE
from kipviz.scenarios import programs
from kipviz.scenarios.material import SAW_COMPLETE, Checkpoint, Watch
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

GO = "app-1 goes on"
WRITE = (GO, "quiet", GO, GO, "quiet", GO, GO, GO, "quiet")
SPEC = group_spec(group_app(program=programs.COMMIT_AGAIN)).but(
    placements=(Placement(home(TRANSACTION_STATE, TRANSACTIONAL_ID), 1), *GROUP_PLACEMENTS[1:]),
    budget=PLAYGROUND.but(max_block=2),
)
STUCK = Beat(
    "commitTransaction() takes too long",
    "EndTxn is on its way, and app-1 cannot reach Broker 1. After max.block.ms the call comes back with a "
    "TimeoutException. Nothing is cancelled: EndTxn stays where it is.",
    (GO, "app-1/producer sends EndTxn", "B1 and app-1 are cut apart", "a call of app-1 times out"),
)
WRITES = Beat(
    "app-1 writes in a transaction",
    "Two records are in output-A-0, and the transaction is open.",
    WRITE,
)
CLAUSE = (
    "KIP-98, Producer API; max.block.ms, TransactionManager.handleCachedTransactionRequestResult"
)
WATCH = Watch(
    1,
    "Open the producer: it is COMMITTING_TRANSACTION, and it remembers which call has to be made again.",
)

AGAIN = Scenario(
    "kip-98-commit-timed-out",
    "commitTransaction() throws TimeoutException: has it committed?",
    "A time-out of the client decides nothing. The same call, made again, waits for the same result.",
    CLAUSE,
    SPEC,
    (
        WRITES,
        STUCK,
        Beat(
            "app-1 calls it again",
            "No second EndTxn goes out: the call waits for the answer to the first one.",
            (GO,),
        ),
        Beat(
            "The network is back",
            "EndTxn arrives, the coordinator decides, and the second call comes back.",
            ("B1 and app-1 are joined", "quiet", GO),
        ),
    ),
    ("app-1", "B1", "B3"),
    ("kafka",),
    Question(
        2,
        "app-1 calls commitTransaction() again. What does its producer send?",
        (
            Choice("a second EndTxn", False, "The first one is still on its way."),
            Choice(
                "nothing",
                True,
                "Right: it waits for the result of the call that timed out.",
            ),
            Choice("InitProducerId", False, "Its identity is as good as before."),
        ),
    ),
    watch=(
        WATCH,
        Watch(3, "One PREPARE_COMMIT, one COMPLETE_COMMIT: the two calls were one commit."),
    ),
    checkpoints=(
        Checkpoint("saw a call come back without its result", "call timed out"),
        SAW_COMPLETE,
    ),
)

INSTEAD = Scenario(
    "kip-98-commit-timed-out-then-abort",
    "And if it aborts instead?",
    "An application takes the time-out for a failure. Its transaction is committed all the same.",
    CLAUSE,
    SPEC.but(applications=(group_app(program=programs.ABORT_INSTEAD),)),
    (
        WRITES,
        STUCK,
        Beat(
            "app-1 aborts",
            "The producer does not let it: commitTransaction() timed out and must be retried. That is an "
            "IllegalStateException, and the application ends with it.",
            (GO,),
        ),
        Beat(
            "The network is back",
            "EndTxn arrives, and the coordinator commits. app-1 has reported a failure.",
            ("B1 and app-1 are joined", "quiet"),
        ),
    ),
    ("app-1", "B1", "B3"),
    ("kafka",),
    Question(
        2,
        "app-1 calls abortTransaction() after the TimeoutException. What happens?",
        (
            Choice(
                "the transaction is aborted", False, "EndTxn(commit) may be in the log already."
            ),
            Choice(
                "an IllegalStateException",
                True,
                "Right: nobody knows yet what becomes of the commit, so no other call is allowed.",
            ),
            Choice("nothing: it waits", False, "Only the same call would wait."),
        ),
    ),
    watch=(
        WATCH,
        Watch(3, "Compare what app-1 said last with the marker in output-A-0."),
    ),
    checkpoints=(
        Checkpoint("saw a call come back without its result", "call timed out"),
        SAW_COMPLETE,
    ),
)

STORIES: tuple[Scenario, ...] = (AGAIN, INSTEAD)
