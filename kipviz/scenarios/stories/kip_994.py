"""KIP-994: which transactions take long? A list that looks at the time."""

from __future__ import annotations

from kipviz.cluster.clock import TICKS, TIMED, Clock
from kipviz.cluster.spec import ClusterSpec, Placement
from kipviz.records.placement import TRANSACTION_STATE
from kipviz.scenarios import programs
from kipviz.scenarios.material import SAW_LSO, Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.kip_664 import operator
from kipviz.scenarios.stories.setting import (
    GROUP_PLACEMENTS,
    PLAYGROUND,
    TOPIC_IDS,
    TRANSACTIONAL_ID,
    group_app,
    home,
)

LONG_MS = 30_000
WRITER = group_app(name="app-1", program=programs.COPY)
SPEC = ClusterSpec(
    (1, 3, 4, 5),
    (
        *GROUP_PLACEMENTS,
        Placement(home(TRANSACTION_STATE, "my-txn-2"), 1, (4,)),
        Placement(home(TRANSACTION_STATE, "my-txn-3"), 1, (4,)),
    ),
    (
        WRITER,
        WRITER.but(name="app-2", transactional_id="my-txn-2", group_id="other", member_id="C2"),
        WRITER.but(name="app-3", transactional_id="my-txn-3", group_id="idle", member_id="C3"),
        operator(programs.who_takes_long(TRANSACTIONAL_ID, LONG_MS)),
    ),
    (("src-0", 100, ("a", "b")),),
    TOPIC_IDS,
    PLAYGROUND,
    clock=Clock(TIMED, tick=TICKS[1]),
)
WRITES = (
    "goes on",
    "quiet",
    "goes on",
    "goes on",
    "quiet",
    "goes on",
    "goes on",
    "goes on",
    "quiet",
)


def _by(name: str, steps: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{name} {step}" if step == "goes on" else step for step in steps)


WHO_TAKES_LONG = Scenario(
    "kip-994-who-takes-long",
    "Which transactions take long? A list, and what else is on it",
    "One transaction is open for 30 s, another one has just begun, and a third application has never "
    "begun any. An operator asks for those that take 30 s or longer, on a clock that counts.",
    "KIP-994, --duration-filter; TransactionStateManager.listTransactionStates",
    SPEC,
    (
        Beat(
            "app-1 begins, and is in no hurry",
            "Its outputs are in output-A-0. From now on Broker 1 counts: this transaction may take "
            "60 s, and a scan looks every 10 s.",
            _by("app-1", WRITES),
        ),
        Beat(
            "app-3 only introduces itself",
            "initTransactions(): Broker 1 knows my-txn-3 now. It is EMPTY, and nothing of it is open.",
            ("app-3 goes on", "quiet", "app-3 goes on"),
        ),
        Beat(
            "30 s pass",
            "The clock of this story is timed: nothing runs out before it is due. Look at the card "
            "with the time left.",
            ("time passes",),
        ),
        Beat(
            "app-2 begins",
            "A second open transaction, 0 s old, behind the first one in output-A-0.",
            _by("app-2", WRITES),
        ),
        Beat(
            "list --duration-filter 30000",
            "Every broker is asked. my-txn is there, as it should be, and my-txn-2 is not. But my-txn-3 "
            "is there, too: Kafka takes the time since a beginning that there never was.",
            ("operator goes on", "quiet", "operator goes on"),
        ),
        Beat(
            "... --state-filter Ongoing",
            "With a second filter only what is open is left: my-txn.",
            ("operator goes on", "quiet", "operator goes on"),
        ),
        Beat(
            "describe my-txn",
            "Its coordinator says when it began: 30 s ago. It has 30 to 40 s left.",
            ("operator goes on", "quiet"),
        ),
    ),
    ("app-1", "app-2", "operator", "B1"),
    ("kafka",),
    Question(
        4,
        "Which transactional ids does the list with --duration-filter 30000 have?",
        (
            Choice("my-txn alone: it is open for 30 s", False, "One more has no beginning at all."),
            Choice(
                "my-txn and my-txn-3",
                True,
                "Right: a transactional id without a transaction has the start time -1, and now less "
                "-1 is longer than any filter.",
            ),
            Choice("all three", False, "my-txn-2 has just begun."),
        ),
    ),
    watch=(
        Watch(
            2,
            "Watch the time left: the transaction of app-1 has 30 s less, and nothing ran out. my-txn-3 "
            "is not on the card: nothing of it is counted.",
        ),
        Watch(
            4,
            "Open the answer of Broker 1: two ids. Which of them would you abort?",
        ),
    ),
    checkpoints=(
        SAW_LSO,
        Checkpoint("let the time go on until the first transaction times out", "timed out"),
    ),
)

STORIES: tuple[Scenario, ...] = (WHO_TAKES_LONG,)
