"""KIP-1289: its rollout in four phases, the mixed cluster of corner case 9, and the downgrade.

A level of share.version stands for what the brokers advertise: below it a broker has the code and
does not use it, or has no such code; a client sees no difference. KIP-1289 calls the level 2, which
dead-letter queues have; here it is 3.
"""

from __future__ import annotations

from kipviz.scenarios import programs
from kipviz.scenarios.material import (
    BROUGHT_TO_END,
    SAW_DELIVERED_TWICE,
    SAW_LSO,
    SAW_STAGED,
    Watch,
)
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.beats import BEGIN, COMMIT, NEXT_ROUND, STAGE
from kipviz.scenarios.stories.kip_1289_findings import SMALL_TOGETHER
from kipviz.scenarios.stories.setting import PLAYGROUND, share_app, share_spec

# An application that meets a cluster without the level has to live on, so its loop has the one catch
# block of corner case 9: the pseudo code's first one would end it.
OF_CASE_9 = share_app(max_records=1, program=programs.SHARE_LOOP_OF_CASE_9)
ROLLOUT_SPEC = share_spec(OF_CASE_9, values=("a",)).but(
    share_rollout=2, budget=PLAYGROUND.but(upgrade=2)
)
# The loop of the pseudo code, with both catch blocks.
OF_THE_TEXT = ROLLOUT_SPEC.but(applications=(share_app(max_records=1),))
LEVEL_3, LEVEL_2 = "share.version 3 is finalized", "share.version 2 is finalized"

THROWS = Beat(
    "sendShareAcknowledgementsToTransaction() throws",
    "No connection has told the producer of the level. The call throws UnsupportedVersionException "
    "and sends nothing. This loop has the one catch block of corner case 9, which aborts.",
    ("app-1 goes on",),
)
ABORTS = Beat(
    "producer.abortTransaction()",
    "The output was sent and has to be aborted: its partition is in a transaction.",
    ("app-1 goes on", "quiet", "app-1 goes on", "quiet"),
)
AGAIN = NEXT_ROUND

ROLLOUT = Scenario(
    "kip-1289-rollout",
    "A rollout in four phases, and a client that was there before",
    "The brokers have the code, the level is finalized while a client is connected, and that client "
    "hears of it with its next connection only.",
    "KIP-1289, Enablement and Rollout Plan, phases 1 to 4",
    ROLLOUT_SPEC,
    (
        *BEGIN,
        THROWS.but(title="Phases 1 and 2: the code is dormant"),
        ABORTS,
        Beat(
            "Phase 3: share.version 3 is finalized",
            "kafka-features.sh upgrade: no restart, no rebalance, no connection is broken.",
            (LEVEL_3,),
        ),
        Beat(
            "The same client tries again, and is refused again",
            "Nothing has told it: ApiVersions is asked when a connection opens, and its own are open.",
            (*AGAIN, "app-1 goes on", "app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "Phase 4: a new connection",
            "A client that starts now, or reconnects, learns the level.",
            ("app-1/producer loses B3", *AGAIN, "app-1 goes on", "quiet"),
        ),
        Beat(
            "producer.commitTransaction()",
            "Now the acknowledgement is staged, and commits with the output.",
            ("app-1 goes on", "quiet", "app-1 goes on", "maybe B5 refreshes src-0", "quiet"),
        ),
    ),
    ("app-1", "B1", "B3", "B5"),
    ("repaired",),
    Question(
        7,
        "share.version 3 is finalized. Does the client's next attempt succeed?",
        (
            Choice(
                "yes, no restart is needed",
                False,
                "The brokers need none; the client needs to hear of it.",
            ),
            Choice("no, not before it opens a connection", True, "Right: that is finding X19."),
        ),
    ),
    watch=(
        Watch(4, "The call throws at once. Is there a message, and what is left in output-A-0?"),
        Watch(7, "Who has told the producer of the new level? Look for a message that did."),
    ),
    checkpoints=(SAW_LSO, SAW_DELIVERED_TWICE, BROUGHT_TO_END),
)

MIXED = Scenario(
    "kip-1289-corner-9",
    "Corner case 9: a cluster whose brokers do not all have it",
    "The level is not finalized while some brokers lack the request. The call throws, the pseudo code "
    "ends the process, and the transaction of its output stays open.",
    "KIP-1289, Corner cases, 9; Pseudo code, 'throw fatal'",
    OF_THE_TEXT,
    (
        *BEGIN,
        Beat(
            "sendShareAcknowledgementsToTransaction() throws",
            "No connection has told the producer of the level. The call throws "
            "UnsupportedVersionException and sends nothing. The first catch block throws it again.",
            ("app-1 goes on",),
        ),
        Beat(
            "transaction.timeout.ms is over",
            "Corner case 9 says that the user must abort. The loop of the same text does not, so the output "
            "holds the last stable offset until Broker 1 aborts the transaction.",
            ("my-txn times out", "quiet"),
        ),
    ),
    ("app-1", "B1", "B3", "B5"),
    ("as-written", "repaired"),
    watch=(
        Watch(
            4, "Is a byte of the staging on any wire? And what of the output that went before it?"
        ),
        Watch(
            5,
            "The program has ended. Which of its lines would have aborted, and what holds the LSO now?",
        ),
    ),
    checkpoints=(SAW_LSO, BROUGHT_TO_END),
)

# The same with the loop that the corner case has in mind.
MIXED_ABORTS = Scenario(
    "kip-1289-corner-9-abort",
    "Corner case 9, with a loop that aborts",
    "The loop has one catch block for every KafkaException, as corner case 9 wants it and the pseudo "
    "code does not. The application aborts what it has sent.",
    "KIP-1289, Corner cases, 9, Recovery",
    ROLLOUT_SPEC,
    (*BEGIN, THROWS, ABORTS),
    ("app-1", "B1", "B3", "B5"),
    ("as-written", "repaired"),
    watch=(
        Watch(
            4, "Is a byte of the staging on any wire? And what of the output that went before it?"
        ),
        Watch(5, "Which catch block of the pseudo code would have ended the process here?"),
    ),
    checkpoints=(SAW_LSO, BROUGHT_TO_END),
)

DOWNGRADE = Scenario(
    "kip-1289-small-downgrade",
    "A downgrade while a record is TX_PENDING",
    "The level is lowered between the staging and the marker. The KIP has the brokers refuse that; "
    "the controller, which decides, has no share-partition to look at.",
    "KIP-1289, Downgrade",
    OF_THE_TEXT.but(share_rollout=3, placements=SMALL_TOGETHER.spec.placements),
    (
        *BEGIN,
        *STAGE,
        Beat(
            "share.version 2 is finalized",
            "An operator has looked at one broker, found nothing pending, and gone on.",
            (LEVEL_2,),
        ),
        *COMMIT,
        Beat(
            "The markers",
            "The output is visible; the vote is resolved if its marker still means something.",
            ("quiet", "maybe B5 refreshes src-0", "quiet"),
        ),
        Beat(
            "The loop again",
            "The next staging is refused one way or another: the feature is gone.",
            ("app-1 goes on", "quiet"),
        ),
    ),
    ("app-1", "B1", "B3", "B5"),
    ("repaired", "finding-S"),
    watch=(
        Watch(6, "Who could have refused this? Look for a broker that knows of the vote."),
        Watch(9, "Is there anything left that will ever resolve the vote?"),
    ),
    checkpoints=(SAW_STAGED, BROUGHT_TO_END),
)

STORIES: tuple[Scenario, ...] = (ROLLOUT, MIXED, MIXED_ABORTS, DOWNGRADE)
