"""KIP-890: a rolling upgrade from brokers that verify nothing; what protects from when on."""

from __future__ import annotations

from kipviz.scenarios.material import (
    SAW_CLIENT_BUMP,
    SAW_HANGING,
    SAW_LATE_REQUEST,
    Watch,
)
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.beats import FIRST_ROUND, NEXT_ROUND
from kipviz.scenarios.stories.kip_890 import (
    ABORTS,
    AGAIN,
    ARRIVES,
    GETS_ON_ITS_WAY,
    GIVES_UP,
    LATE,
)
from kipviz.scenarios.stories.rolling import BROKERS_DIFFER, restarted
from kipviz.scenarios.stories.setting import group_app, group_spec

OLD, VERIFIES, NEW = "3.5", "3.6", "4.4"
BROKERS = (1, 3, 4, 5)
SPEC = group_spec(group_app(max_records=1)).but(
    transaction_version=0,
    releases=tuple((broker, OLD) for broker in BROKERS),
    binaries=(OLD, VERIFIES, NEW),
    budget=LATE.but(restart=12),
)
LEADS_AGAIN = "output-A-0 moves to B3"

ROLLING = Scenario(
    "kip-890-rolling",
    "A rolling upgrade that protects from its last broker on",
    "The leader of the output verifies since 3.6, the coordinator is of 3.5 and cannot be asked. A "
    "late batch is appended after its abort, as ever.",
    "KIP-890, part 1, Compatibility; KIP-584",
    SPEC,
    (
        Beat(
            "Broker 3 gets 3.6",
            "It leads output-A-0, and from now on it wants to know from the coordinator whether a "
            "partition was added.",
            (*restarted((3,), VERIFIES), LEADS_AGAIN),
        ),
        GETS_ON_ITS_WAY,
        GIVES_UP,
        ABORTS,
        ARRIVES.but(
            say="Broker 3 asks Broker 1, whose 3.5 does not know the question: UNSUPPORTED_VERSION. So "
            "the batch goes on unverified, into a transaction that nobody will end.",
        ),
        Beat(
            "Brokers 1, 4 and 5 get 3.6",
            "Now every broker verifies. What hangs already goes on hanging: verification keeps batches "
            "out and takes none away.",
            restarted((1, 4, 5), VERIFIES),
        ),
        AGAIN.but(
            title="The next transaction of this producer",
            say="It is in the coordinator's hands and passes verification; its marker ends what hung, "
            "and commits a record that was aborted.",
        ),
    ),
    ("app-1", "B1", "B3", "B5"),
    ("kafka",),
    Question(
        4,
        "The leader verifies, the coordinator is of 3.5. What becomes of the late batch?",
        (
            Choice(
                "it is refused, to be on the safe side", False, "Then no batch would go through."
            ),
            Choice(
                "it is appended without an answer to the question",
                True,
                "Right: a coordinator that cannot be asked is not an error.",
            ),
        ),
    ),
    watch=(
        Watch(4, "Watch the question of Broker 3, and the answer of a broker that lacks it."),
        Watch(
            5, "Among what is not possible: transaction.version 2, and whose binary is in the way."
        ),
    ),
    checkpoints=(
        BROKERS_DIFFER,
        SAW_LATE_REQUEST,
        SAW_HANGING,
    ),
)

TO_VERSION_2 = Scenario(
    "kip-890-rolling-to-2",
    "From 3.6 to transaction version 2, broker by broker",
    "As long as one broker has 3.6 the level cannot be finalized; when it is, a broker of 3.6 cannot "
    "come back, and a client hears of it with its next connection.",
    "KIP-890, part 2, Upgrade; KIP-584",
    SPEC.but(releases=tuple((broker, VERIFIES) for broker in BROKERS)),
    (
        Beat(
            "A transaction of version 0",
            "The client adds output-A-0 by itself and sends its output.",
            FIRST_ROUND,
        ),
        Beat(
            "Brokers 3, 4 and 5 get 4.4",
            "The transaction stays open: it is in the logs, and nobody's memory is asked.",
            restarted((3, 4, 5), NEW),
        ),
        Beat(
            "Broker 1 is the last one",
            "Its transactions are loaded by Broker 5. Only now can transaction.version 2 be finalized.",
            (*restarted((1,), NEW), "transaction.version 2 is finalized"),
        ),
        Beat(
            "The transaction ends as it began",
            "The restarts broke the client's connections. Whatever the new ones tell it, a transaction "
            "does not change its version: EndTxn goes out in version 4 or below.",
            (
                "app-1 goes on",
                "quiet",
                "app-1 goes on",
                "app-1 goes on",
                "quiet",
                "app-1 goes on",
            ),
        ),
        Beat(
            "A transaction of version 2",
            "The client has bumped its epoch before. Brokers enlist, and the commit brings the next "
            "epoch.",
            (
                *NEXT_ROUND,
                "app-1 goes on",
                "quiet",
                "app-1 goes on",
                "app-1 goes on",
                "quiet",
                "app-1 goes on",
            ),
        ),
    ),
    ("app-1", "B1", "B3", "B4"),
    ("kafka",),
    watch=(
        Watch(
            1, "Watch the versions of the requests: each connection speaks what its broker knows."
        ),
        Watch(2, "Stop a broker for 3.6 on a branch after the level is finalized. Can it start?"),
    ),
    checkpoints=(
        BROKERS_DIFFER,
        SAW_CLIENT_BUMP,
    ),
)

STORIES: tuple[Scenario, ...] = (ROLLING, TO_VERSION_2)
