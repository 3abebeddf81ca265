"""KIP-98: the network splits, the decision is on one side and the partitions are on the other."""

from __future__ import annotations

from kipviz.scenarios.material import Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.setting import group_app, group_spec

GO = "app-1 goes on"

SPLIT = Scenario(
    "kip-98-split-network",
    "The network splits: the decision on one side, the partitions on the other",
    "A switch between two racks fails. The producer, its coordinator and the source stay together; the "
    "leaders of what the transaction has written to are in the other rack. It is one fault, with one repair.",
    "KIP-98, Data Flow: 5.2 Write markers; a coordinator sends WriteTxnMarkers until it is answered",
    group_spec(group_app(max_records=1)),
    (
        Beat(
            "A record and an offset in one transaction",
            "output-A-0 is led by Broker 3, the group's offsets by Broker 4. The coordinator is Broker 1, and "
            "Broker 5 has a copy of its log.",
            (GO, "quiet", GO, GO, "quiet", GO, GO, GO, "quiet", GO, "quiet", GO),
        ),
        Beat(
            "The network splits",
            "app-1 and Brokers 1 and 5 are on one side, Brokers 3 and 4 on the other. Nobody has crashed, no "
            "connection is closed, nobody is told.",
            ("B1 B5 app-1 | B3 B4 are cut apart",),
        ),
        Beat(
            "commitTransaction() returns",
            "PREPARE_COMMIT is in the log of the coordinator, and nothing else is needed: the transaction is "
            "committed. Its markers are on the wire to both partitions, and stay there.",
            (GO, "quiet", GO),
        ),
        Beat(
            "app-1 writes in the next transaction",
            "It reads from Broker 5 and sends to Broker 3. The batch waits, too: app-1 sees a slow send(), "
            "and whoever reads committed records of output-A-0 sees nothing of either transaction.",
            (GO, "quiet", GO, GO, GO, "quiet"),
        ),
        Beat(
            "The coordinator crashes as well",
            "Broker 5 reads PREPARE_COMMIT in the log and begins again with the markers, under coordinator "
            "epoch 1. What is decided outlives whoever decided it; the cut is still there.",
            ("B1 crashes", "quiet"),
        ),
        Beat(
            "The switch is replaced",
            "One repair joins the two sides: the markers arrive, the transaction is complete, and the batch "
            "of the next one is appended behind it.",
            ("B1 B5 app-1 | B3 B4 are joined", "quiet"),
        ),
    ),
    ("app-1", "B1", "B3", "B5"),
    ("kafka",),
    Question(
        2,
        "app-1 can reach its coordinator, and neither of the two can reach the partitions. It calls "
        "commitTransaction(). What happens?",
        (
            Choice(
                "it throws a TimeoutException", False, "EndTxn and its answer stay on one side."
            ),
            Choice("it waits for the markers", False, "The answer goes out before them."),
            Choice("it returns", True, "Right: the decision is durable, and the markers are late."),
            Choice("the coordinator aborts", False, "After PREPARE_COMMIT nothing can undo it."),
        ),
    ),
    watch=(
        Watch(1, "The two sides: on each lane stands whom it cannot reach any more."),
        Watch(
            2, "The LSO of output-A-0: the commit has returned, and its record is still held back."
        ),
        Watch(5, "The coordinator epoch that the markers carry, and what is first in output-A-0."),
    ),
    checkpoints=(
        Checkpoint("saw a commit answered before its markers", "answered before markers"),
        Checkpoint("saw the last stable offset set free", "marker in the output"),
        Checkpoint("saw the transaction complete", "complete"),
    ),
)

STORIES: tuple[Scenario, ...] = (SPLIT,)
