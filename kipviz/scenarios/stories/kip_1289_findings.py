"""KIP-1289: the smallest clusters in which a single finding of our review shows."""

from __future__ import annotations

from kipviz.brokers.settings import BrokerSettings
from kipviz.cluster.spec import Placement
from kipviz.scenarios import programs
from kipviz.scenarios.material import SAW_STAGED, TOOK_CRASH, Checkpoint, Watch
from kipviz.scenarios.scenario import Scenario
from kipviz.scenarios.stories.beats import BEGIN, COMMIT, SHARE_MARKERS, STAGE
from kipviz.scenarios.stories.kip_1289 import SHARE_ABORT, SMALL, SMALL_WATCH
from kipviz.scenarios.stories.setting import (
    SHARE_PLACEMENTS,
    STATE_BY_KEY,
    share_app,
    share_spec,
)

DELIVERED_TWICE = Checkpoint("saw a record delivered for the second time", "delivered twice")

# The one placement in which a vote in memory can work at all: a marker comes to the very broker
# that leads the source. Findings about such votes show here what else is wrong with them.
TOGETHER = (
    *(p for p in SHARE_PLACEMENTS if p.partition != STATE_BY_KEY),
    Placement(STATE_BY_KEY, 5, (7,)),
)

SMALL_TOGETHER = Scenario(
    "kip-1289-small-together",
    "One record, its source and its state on one broker",
    "The broker that leads the source leads the state as well, as in the KIP's drawing: even a "
    "vote in memory is found by the marker.",
    "KIP-1289, Flow - Share Group (THIS KIP), 'Broker 5'",
    SMALL.spec.but(placements=TOGETHER),
    (*BEGIN, *STAGE, *COMMIT, *SHARE_MARKERS),
    ("app-1", "B1", "B3", "B5"),
    ("repaired", "finding-E", "finding-X4", "finding-X5"),
    watch=(
        *SMALL_WATCH,
        Watch(
            9,
            "Broker 5 gets the marker because it leads the state partition, and finds the vote "
            "because it leads the source. How likely is that in a cluster of a hundred brokers?",
        ),
    ),
    checkpoints=(SAW_STAGED, TOOK_CRASH),
)

SMALL_ABORT = SHARE_ABORT.but(
    name="kip-1289-small-abort",
    title="One record, an abort, and the next poll()",
    sentence="Processing fails after the record was staged; the next poll() should bring it again.",
    clause="KIP-1289, Pseudo code, 'Records will be re-delivered on next poll()'",
    spec=share_spec(share_app(max_records=1, program=programs.SHARE_ABORT), values=("a",)),
    designs=("repaired", "finding-F", "finding-X1"),
    question=None,
)

LAST_DELIVERY = SMALL_ABORT.but(
    name="kip-1289-small-last-delivery",
    title="An abort on the last delivery that a record has",
    sentence="The delivery count limit is reached when the transaction aborts: the record may be "
    "given up although nobody failed to process it.",
    clause="KIP-932, group.share.delivery.count.limit; KIP-1289, Test Plan",
    spec=SMALL_ABORT.spec.but(settings=BrokerSettings(delivery_count_limit=1)),
    designs=("repaired", "finding-M"),
    checkpoints=(SAW_STAGED, DELIVERED_TWICE),
)

STORIES: tuple[Scenario, ...] = (SMALL_TOGETHER, SMALL_ABORT, LAST_DELIVERY)
