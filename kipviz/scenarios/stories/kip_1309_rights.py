"""KIP-1309: what a heartbeat needs, and what becomes of an owner who may not send it any more."""

from __future__ import annotations

from kipviz.scenarios.material import SAW_FATAL, SAW_LSO, SAW_REFUSED, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.beats import CALL, FIRST_ROUND
from kipviz.scenarios.stories.kip_11 import OF_THE_NAME, RIGHTS, taken
from kipviz.scenarios.stories.kip_939 import LANES
from kipviz.scenarios.stories.kip_1309 import CLAUSE, HEARTBEAT, PLAIN

RIGHT_LOST = Scenario(
    "kip-1309-right-lost",
    "A heartbeat is refused for want of a right",
    "TxnHeartbeat needs WRITE on the transactional id, like everything else of a transaction. The right is taken "
    "away while a transaction is open.",
    f"{CLAUSE}; Access Control",
    PLAIN.but(acls=RIGHTS, budget=PLAIN.budget.but(acls=1)),
    (
        Beat(
            "A transaction is open",
            "app-1 has promised heartbeats, and has written.",
            FIRST_ROUND,
        ),
        HEARTBEAT,
        Beat(
            "An operator takes the right of the name away",
            "Nobody is told, and the transaction goes on.",
            (taken(OF_THE_NAME),),
        ),
        Beat(
            "The next heartbeat is refused",
            "TRANSACTIONAL_ID_AUTHORIZATION_FAILED. app-1 learns of it without having called anything: its producer "
            "is in FATAL_ERROR.",
            HEARTBEAT.steps,
        ),
        Beat(
            "Three intervals without a heartbeat that counts",
            "For the coordinator a heartbeat that was refused was none: it aborts, and the readers go on. That needs "
            "nobody's right.",
            ("the liveness of my-txn runs out at B1", "quiet"),
        ),
        Beat(
            "commitTransaction() throws",
            "What was wrong is told at the next call.",
            CALL[:1],
        ),
    ),
    LANES,
    ("kip-1309",),
    Question(
        3,
        "The right is gone, the transaction is open, and its owner lives. How long do readers wait?",
        (
            Choice("for transaction.timeout.ms", False, "That is 15 minutes here."),
            Choice(
                "for three intervals",
                True,
                "Right: who may not say that it lives is as good as dead.",
            ),
            Choice(
                "until the right is given back", False, "The coordinator does not wait for that."
            ),
        ),
    ),
    watch=(
        Watch(3, "Compare with kip-11-name-lost: there the owner learns of it with its next call."),
        Watch(4, "Who aborts, and in whose name?"),
    ),
    checkpoints=(SAW_REFUSED, SAW_FATAL, SAW_LSO),
)

STORIES: tuple[Scenario, ...] = (RIGHT_LOST,)
