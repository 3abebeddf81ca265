"""KIP-664: the metric of late transactions, and what it does not say."""

from __future__ import annotations

from kipviz.brokers.settings import BrokerSettings
from kipviz.cluster.clock import TIMED, Clock
from kipviz.scenarios import programs
from kipviz.scenarios.material import SAW_LSO, Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.beats import CALL, FIRST_ROUND, of
from kipviz.scenarios.stories.kip_664 import operator
from kipviz.scenarios.stories.kip_939 import SPEC
from kipviz.scenarios.stories.kip_939_kept import ASKS, OF_THE_SECOND, PLAIN
from kipviz.scenarios.stories.setting import TRANSACTIONAL_ID

OPERATES = of("operator", CALL)
LATE = Scenario(
    "kip-664-late",
    "PartitionsWithLateTransactionsCount is 1, and nothing hangs",
    "A writer without a time limit dies in its transaction. A broker counts what is open for longer than any "
    "transaction may be, and five minutes more; it does not ask whether anybody will end it.",
    "KIP-664, partition-level metric of late transactions; with KIP-939, a transaction without a time limit",
    SPEC.but(
        placements=(*SPEC.placements, OF_THE_SECOND),
        applications=(ASKS, PLAIN, operator(programs.terminate(TRANSACTIONAL_ID))),
        settings=BrokerSettings(two_phase_commit_enable=True, transactional_ids_expire=True),
        clock=Clock(TIMED, tick="next"),
    ),
    (
        Beat(
            "app-1 writes, and dies",
            "Its transaction has no time limit. The metric is 0: nothing is late yet.",
            (*FIRST_ROUND, "app-1 crashes"),
        ),
        Beat(
            "app-2 only introduces itself",
            "Its coordinator looks once an hour for names that nobody uses. Nothing else is due in this cluster.",
            of("app-2", CALL),
        ),
        Beat(
            "An hour passes",
            "transaction.max.timeout.ms is 15 minutes, and 5 more are allowed. output-A-0 has a transaction that is "
            "older: the metric is 1.",
            ("time passes",),
        ),
        Beat(
            "find-hanging",
            "Nothing: the coordinator has output-A-0 on its list, and would end the transaction if it were told to.",
            OPERATES,
        ),
        Beat("list", "my-txn is Ongoing.", OPERATES),
        Beat(
            "forceTerminateTransaction(my-txn)",
            "The ABORT marker frees the readers, and the metric is 0 again.",
            (*OPERATES, "quiet"),
        ),
    ),
    ("app-1", "operator", "B1", "B3"),
    ("kafka",),
    Question(
        3,
        "The metric of output-A-0 is 1. What will find-hanging find?",
        (
            Choice("the late transaction", False, "Late is not hanging: its coordinator knows it."),
            Choice(
                "nothing",
                True,
                "Right: the metric looks at age alone, the tool at who could end it.",
            ),
        ),
    ),
    watch=(
        Watch(2, "The card of metrics: one number goes from 0 to 1. Nobody has done anything."),
        Watch(
            4, "Before you end what is late: whose is it, and has another store decided already?"
        ),
    ),
    checkpoints=(SAW_LSO, Checkpoint("saw the last stable offset set free", "lso set free")),
)

STORIES: tuple[Scenario, ...] = (LATE,)
