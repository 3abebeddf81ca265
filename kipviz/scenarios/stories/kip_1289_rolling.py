"""KIP-1289: the rollout with brokers of different binaries, and the way back."""

from __future__ import annotations

from kipviz.cluster.spec import Placement
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
from kipviz.scenarios.stories.beats import BEGIN, COMMIT, STAGE
from kipviz.scenarios.stories.kip_1289_rollout import (
    ABORTS,
    AGAIN,
    LEVEL_2,
    LEVEL_3,
    ROLLOUT_SPEC,
    THROWS,
)
from kipviz.scenarios.stories.rolling import BROKERS_DIFFER, ONE_BINARY, restarted
from kipviz.scenarios.stories.setting import SHARE_PLACEMENTS, STATE_BY_KEY, share_app

OLD, NEW = "4.4", "kip-1289"
BROKERS = (1, 3, 5, 7)
ROLLING_SPEC = ROLLOUT_SPEC.but(
    releases=tuple((broker, OLD) for broker in BROKERS),
    binaries=(OLD, NEW),
    budget=ROLLOUT_SPEC.budget.but(restart=8),
)

ROLLING = Scenario(
    "kip-1289-rolling",
    "A rolling upgrade, broker by broker",
    "Four brokers of 4.4 get the binary with KIP-1289 one after the other. As long as one of them has "
    "the old one, nobody can finalize the level.",
    "KIP-1289, Rolling Upgrade, phases 1 to 4; KIP-584",
    ROLLING_SPEC,
    (
        *BEGIN,
        THROWS.but(title="Before: no broker has the code"),
        ABORTS,
        Beat(
            "Phase 1: Brokers 7 and 3",
            "Each is stopped in good order, others lead meanwhile, and it starts again. Clients lose "
            "their connections to it and open new ones.",
            restarted((7, 3), NEW),
        ),
        Beat(
            "Phase 1: Brokers 1 and 5",
            "Until now share.version 3 was refused: the controller asks what every registered broker "
            "supports. The last restart makes it possible, and it is not done.",
            restarted((1, 5), NEW),
        ),
        Beat(
            "Phase 3: share.version 3 is finalized",
            "Phase 2 was to wait and look. Now no broker of 4.4 could come back: the controller would "
            "not register it.",
            (LEVEL_3,),
        ),
        Beat(
            "Phase 4: the client's next attempt",
            "The restarts have broken its connections; those that it opens now tell it the level.",
            (*AGAIN, "app-1 goes on", "quiet"),
        ),
        Beat(
            "producer.commitTransaction()",
            "The acknowledgement is staged, and commits with the output.",
            ("app-1 goes on", "quiet", "app-1 goes on", "maybe B? refreshes src-0", "quiet"),
        ),
    ),
    ("app-1", "B1", "B3", "B5"),
    ("repaired",),
    Question(
        7,
        "Brokers 7 and 3 have the new binary. An operator wants share.version 3. What happens?",
        (
            Choice(
                "it is finalized, and the others learn it with their restart",
                False,
                "Then a broker of 4.4 would lead a share-partition that it does not understand.",
            ),
            Choice(
                "the controller refuses",
                True,
                "Right: it looks at what every registered broker says it supports.",
            ),
        ),
    ),
    watch=(
        Watch(6, "Among what is not possible: share.version 3, and whose binary is in the way."),
        Watch(8, "Stop a broker for 4.4 on a branch. Can it start again?"),
    ),
    checkpoints=(BROKERS_DIFFER, ONE_BINARY, BROUGHT_TO_END),
)

BINARY_DOWNGRADE = Scenario(
    "kip-1289-binary-downgrade",
    "A downgrade of the binary while a vote is in the log",
    "The level is lowered and a broker gets the old binary back before the transaction ends. It leads "
    "the partition that has the vote, and cannot read it.",
    "KIP-1289, Downgrade: 'Software downgrade (binary): must follow feature downgrade'",
    ROLLING_SPEC.but(share_rollout=3, releases=tuple((broker, NEW) for broker in BROKERS)),
    (
        *BEGIN,
        *STAGE,
        Beat(
            "share.version 2 is finalized",
            "The rule is kept: first the level, then the binary. The vote is not drained, because the "
            "controller knows of none.",
            (LEVEL_2,),
        ),
        Beat(
            "Broker 7 gets 4.4",
            "Meanwhile Broker 3 leads the state and finds the vote in its log.",
            restarted((7,), OLD),
        ),
        Beat(
            "Broker 3 is stopped for 4.4",
            "Broker 7 takes the state over. Its binary does not know the record of the vote, and goes "
            "over it as over any record of a type that it does not know.",
            ("B3 is stopped for 4.4", "quiet"),
        ),
        *COMMIT,
        Beat(
            "The markers",
            "The output is committed. The marker on the share side finds no vote at Broker 7, and Broker "
            "5, which asks what became of the vote, is told of none: the record stays TX_PENDING.",
            ("quiet", "maybe B5 refreshes src-0", "quiet"),
        ),
        Beat(
            "Broker 5 is the last one",
            "With it goes the memory of the staging. Broker 3 leads src-0 now, and knows what is durable.",
            ("B3 starts", "quiet", "B5 is stopped for 4.4", "quiet"),
        ),
        Beat(
            "The loop again",
            "The record is delivered for the second time, although its output is committed.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
    ),
    ("app-1", "B1", "B3", "B7"),
    ("repaired",),
    Question(
        8,
        "Broker 7 has 4.4 and leads the partition in which the vote is. What becomes of the vote?",
        (
            Choice("it cannot load its log", False, "A record of an unknown type is ignored."),
            Choice(
                "it is not seen, and the commit does not count for it",
                True,
                "Right. With the new binary back in office it would be found again.",
            ),
        ),
    ),
    watch=(
        Watch(
            6, "Who could have refused the lower level? Look for a broker that knows of the vote."
        ),
        Watch(8, "Compare the state that Broker 7 loads with the log that it loads it from."),
    ),
    checkpoints=(SAW_LSO, SAW_STAGED, BROKERS_DIFFER, SAW_DELIVERED_TWICE),
)

# Corner case 9: who is told that it is not supported aborts what was sent; here it gives up after that.
GIVES_UP = (*programs.SHARE_LOOP[:-1], programs.ABORT_OF_CASE_9)
LEVEL_TAKEN = Scenario(
    "kip-1289-small-level-taken",
    "A rolling upgrade to a level that is finalized already",
    "The cluster is at share.version 2, for its dead-letter queues. By the text that is the level which "
    "turns KIP-1289 on: the brokers that have its code use it while others do not have it.",
    "KIP-1289, Feature Gating and Rolling Upgrade, phase 1 (finding X9); KIP-1191, share.version 2",
    ROLLING_SPEC.but(
        applications=(share_app(max_records=1, program=GIVES_UP),),
        releases=((1, NEW), (3, NEW), (5, NEW), (7, OLD)),
        placements=(
            *(p for p in SHARE_PLACEMENTS if p.partition not in ("src-0", STATE_BY_KEY)),
            Placement("src-0", 5, (7,)),
            Placement(STATE_BY_KEY, 5, (7,)),
        ),
    ),
    (
        *BEGIN,
        Beat(
            "sendShareAcknowledgementsToTransaction(acks, meta)",
            "Phase 1 is under way: Brokers 1, 3 and 5 have the new binary, Broker 7 has 4.4. 'The code is "
            "dormant' as long as its level is not finalized; level 2 is, since the dead-letter queues came.",
            ("app-1 goes on", "quiet"),
        ),
        Beat(
            "Broker 5 crashes",
            "One ordinary failure. Broker 7 has copies of src-0 and of the log with the vote, and leads "
            "both. Its binary reads no votes.",
            ("B5 crashes", "quiet"),
        ),
        Beat(
            "producer.commitTransaction()",
            "Under the level of its own the call has thrown, and this is an abort. Under level 2 the output "
            "is committed; the marker on the share side finds no vote at Broker 7.",
            ("app-1 goes on", "quiet", "maybe app-1 goes on", "quiet"),
        ),
        Beat(
            "The loop again",
            "Record 100 is delivered by Broker 7. Look whether its output is committed already.",
            ("maybe app-1 goes on", "quiet", "maybe app-1 goes on"),
        ),
    ),
    ("app-1", "B3", "B5", "B7"),
    ("finding-X9", "repaired"),
    Question(
        4,
        "Three of four brokers have the new binary, share.version is 2. May the producer stage?",
        (
            Choice(
                "no: the level that adds it is 3, and not finalized",
                True,
                "Right, in the repaired design: nobody can finalize 3 before the last broker knows it.",
            ),
            Choice(
                "yes: every broker that it talks to has the request",
                False,
                "Then the vote lies in a log that a broker of 4.4 may lead next.",
            ),
        ),
    ),
    watch=(
        Watch(4, "Who was to finalize what, before this call could succeed?"),
        Watch(5, "The vote is durable and replicated. Is it of any use to Broker 7?"),
    ),
    checkpoints=(SAW_LSO, SAW_DELIVERED_TWICE),
)

STORIES: tuple[Scenario, ...] = (ROLLING, BINARY_DOWNGRADE, LEVEL_TAKEN)
