"""KIP-939 as an operator meets it: a transaction without a time limit, and nobody who comes back."""

from __future__ import annotations

from kipviz.scenarios import programs
from kipviz.scenarios.material import SAW_DATABASE_AHEAD, SAW_LSO, Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.kip_664 import operator
from kipviz.scenarios.stories.kip_939 import DUAL_WRITE, SPEC
from kipviz.scenarios.stories.setting import TRANSACTIONAL_ID

TERMINATED = Scenario(
    "kip-939-force-terminate",
    "Nobody comes back: an operator ends what has no time limit",
    "An application dies after its database has committed and is not started again. Readers wait; an "
    "operator sets them free, and tears the two stores apart.",
    "KIP-939, Admin.forceTerminateTransaction",
    SPEC.but(applications=(*SPEC.applications, operator(programs.terminate(TRANSACTIONAL_ID)))),
    (
        Beat(
            "Prepared, and decided in the database",
            "app-1 writes the output, prepares, and commits row and state 9:0 in its database.",
            tuple(step for beat in DUAL_WRITE.beats[:7] for step in beat.steps),
        ),
        Beat(
            "app-1 dies, and nobody starts it again",
            "No time-out is among the choices: the last stable offset of output-A-0 waits.",
            ("app-1 crashes", "quiet"),
        ),
        Beat(
            "find-hanging: nothing is",
            "The coordinator has the transaction on its list. Hanging is what no coordinator would "
            "ever end; this one waits for its owner.",
            ("operator goes on", "quiet", "operator goes on"),
        ),
        Beat(
            "list: my-txn is Ongoing",
            "Not a word of prepared: no broker knows it. A transaction that an operator may end "
            "without harm looks the same.",
            ("operator goes on", "quiet", "operator goes on"),
        ),
        Beat(
            "admin.forceTerminateTransaction(my-txn)",
            "An InitProducerId that keeps nothing. The coordinator aborts what is open.",
            ("operator goes on", "until InitProducerId arrives at B1"),
        ),
        Beat(
            "Readers go on, the row stays",
            "The ABORT marker frees the last stable offset. The database still has the row, and "
            "its state 9:0 names a transaction that was aborted.",
            ("quiet", "operator goes on"),
        ),
    ),
    ("app-1", "operator", "B1", "B3"),
    ("kip-939",),
    Question(
        4,
        "The transaction is Ongoing and its application is dead. May the operator end it?",
        (
            Choice("yes: it is not hanging", False, "That says who could end it, not how."),
            Choice("yes: an abort is always safe", False, "Not if the database has committed."),
            Choice(
                "only after a look into the database",
                True,
                "Right: if it has the state 9:0, an abort loses the output.",
            ),
        ),
    ),
    watch=(
        Watch(1, "Compare with kip-98-stuck-lso: there a time-out would end this by itself."),
        Watch(4, "The verdict breaks with the PREPARE_ABORT: the way out has a price."),
    ),
    checkpoints=(
        SAW_LSO,
        SAW_DATABASE_AHEAD,
        Checkpoint("started app-1 again instead, and saw the transaction kept", "transaction kept"),
    ),
)

STORIES: tuple[Scenario, ...] = (TERMINATED,)
