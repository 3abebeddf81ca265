"""KIP-1310 2.1 addPartitionsToTransaction(), where clients add partitions: below transaction version 2.

The page has its signature; 3.3 and 6.1 list AddPartitionsToTxn of the session.
"""

from __future__ import annotations

from kipviz.scenarios import session_programs
from kipviz.scenarios.material import BROUGHT_TO_END, SAW_LSO, SAW_OFFSET_STAGED, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.kip_1310_beats import with_session
from kipviz.scenarios.stories.kip_1310_open import REFUSED, TURN, group_cluster
from kipviz.scenarios.stories.setting import group_app

LANES = ("app-1", "B1", "B3", "B4")
START = (
    Beat("session.initialize()", "One identity; the cluster has transaction version 1.", TURN),
    Beat("poll(), session.beginTransaction()", "Two records, a and b.", (*TURN, "app-1 goes on")),
)
END = (
    Beat(
        "session.sendOffsetsToTransaction()",
        "AddOffsetsToTxn to Broker 1 first, then TxnOffsetCommit to Broker 4: both from the session.",
        ("maybe app-1 goes on", "quiet", "maybe app-1 goes on"),
    ),
    Beat(
        "session.commitTransaction()",
        "EndTxn of version 4: the epoch stays.",
        ("maybe app-1 goes on", "quiet", "maybe app-1 goes on"),
    ),
)
NAMED = Scenario(
    "kip-1310-add-partitions",
    "addPartitionsToTransaction() where clients add partitions",
    "Under transaction version 1 a partition has to be added before a record of the transaction is "
    "written to it. The session sends AddPartitionsToTxn for what the application names.",
    "KIP-1310 2.1 addPartitionsToTransaction, 3.3; KIP-890",
    group_cluster(("a", "b"), with_session(group_app(), session_programs.NAMED)).but(
        transaction_version=1
    ),
    (
        *START,
        Beat(
            "session.addPartitionsToTransaction(output-A-0)",
            "AddPartitionsToTxn, version 3, on the session's connection: Broker 1 logs ONGOING with "
            "output-A-0 before anything is written there. Under version 2 no client sends it.",
            ("app-1 goes on", "quiet"),
        ),
        Beat(
            "producer.send(f(a), f(b))",
            "Broker 3 asks Broker 1 whether the partition is in the transaction: it is.",
            ("app-1 goes on", "quiet"),
        ),
        *END,
    ),
    LANES,
    ("repaired", "kip-1310"),
    Question(
        2,
        "The application names output-A-0, and the cluster has transaction version 2. Who enlists it?",
        (
            Choice(
                "the leader of output-A-0, with the first batch",
                True,
                "Right: what the call is for then is a question of design (session_adds).",
            ),
            Choice(
                "the session, as below version 2", False, "That is the page's table, literally."
            ),
        ),
    ),
    watch=(
        Watch(2, "AddPartitionsToTxn leaves from the session: today it is the producer's."),
        Watch(3, "The batch waits for nothing: its partition is in the transaction already."),
    ),
    checkpoints=(SAW_LSO, SAW_OFFSET_STAGED, BROUGHT_TO_END),
)
UNNAMED = NAMED.but(
    name="kip-1310-unnamed-partition",
    title="Nobody has told the session of the partition",
    sentence="The application sends and names no partition, as in every use case of the page. Until now one "
    "object told itself; here a producer would have to tell its session.",
    spec=group_cluster(("a", "b"), with_session(group_app(), session_programs.UNNAMED)).but(
        transaction_version=1
    ),
    beats=(
        *START,
        Beat(
            "producer.send(f(a), f(b))",
            "In the repaired design the session hears of it, adds output-A-0, and the batch waits. In the "
            "draft the batch goes out: Broker 3 asks Broker 1, and Broker 1 does not know the partition.",
            ("app-1 goes on", "quiet"),
        ),
        END[0].but(
            say="The session has not heard that the batch was refused: the group's offset is staged."
        ),
        END[1],
    ),
    designs=("kip-1310", "repaired"),
    question=Question(
        2,
        "The page as written: the batch arrives at Broker 3, and nobody has added its partition. What "
        "does Broker 3 answer?",
        (
            Choice(
                "TRANSACTION_ABORTABLE", True, "Right: it asks the coordinator first (KIP-890)."
            ),
            Choice("NONE", False, "Under version 0 without verification, and then it hangs."),
            Choice("it adds the partition itself", False, "From transaction version 2 on."),
        ),
    ),
    watch=(
        Watch(2, "Which of the two objects knows that output-A-0 is about to be written?"),
        Watch(4, "What is committed in the draft: an offset, and no output of it."),
    ),
    checkpoints=(REFUSED, SAW_OFFSET_STAGED),
)
STORIES: tuple[Scenario, ...] = (NAMED, UNNAMED)
