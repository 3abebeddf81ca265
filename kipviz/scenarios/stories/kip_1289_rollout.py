"""KIP-1289: its rollout in four phases, the mixed cluster of corner case 9, and the downgrade.

A level of share.version stands for what the brokers advertise: below it a broker has the code and
does not use it, or has no such code; a client sees no difference. KIP-1289 calls the level 2, which
dead-letter queues have; here it is 3.
"""

from __future__ import annotations

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

ROLLOUT_SPEC = share_spec(share_app(max_records=1), values=("a",)).but(
    share_rollout=2, budget=PLAYGROUND.but(upgrade=2)
)
LEVEL_3, LEVEL_2 = "share.version 3 is finalized", "share.version 2 is finalized"

THROWS = Beat(
    "sendShareAcknowledgementsToTransaction() throws",
    "No connection has told the producer of the level, so UnsupportedVersionException comes at once "
    "and nothing is sent. The KIP's pseudo code ends the process here, its case 9 aborts.",
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
    "The level is not finalized while some brokers lack the request: the call throws, and the "
    "application aborts what it has sent.",
    "KIP-1289, Corner cases, 9",
    ROLLOUT_SPEC,
    (*BEGIN, THROWS, ABORTS),
    ("app-1", "B1", "B3", "B5"),
    ("as-written", "repaired"),
    watch=(
        Watch(
            4, "Is a byte of the staging on any wire? And what of the output that went before it?"
        ),
        Watch(5, "The pseudo code of the KIP would end the process here. What holds the LSO then?"),
    ),
    checkpoints=(SAW_LSO, BROUGHT_TO_END),
)

DOWNGRADE = Scenario(
    "kip-1289-small-downgrade",
    "A downgrade while a record is TX_PENDING",
    "The level is lowered between the staging and the marker. The KIP has the brokers refuse that; "
    "the controller, which decides, has no share-partition to look at.",
    "KIP-1289, Downgrade",
    ROLLOUT_SPEC.but(share_rollout=3, placements=SMALL_TOGETHER.spec.placements),
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

STORIES: tuple[Scenario, ...] = (ROLLOUT, MIXED, DOWNGRADE)
