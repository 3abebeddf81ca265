"""KIP-447's drafts on a cluster that is being upgraded: brokers first, and a gate that says so."""

from __future__ import annotations

from kipviz.scenarios.material import Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.group_setting import APP_1_READS, commits, member, spec_of, up_to_send
from kipviz.scenarios.stories.setting import PLAYGROUND

GATE = Scenario(
    "kip-447-gate",
    "The gate of the drafts: brokers first, then the applications",
    "Both drafts of KIP-447 want inter.broker.protocol.version raised before anybody names a member of a "
    "group in a transaction. An application that is too early is refused, for good.",
    "KIP-447, both drafts: Compatibility, Deprecation, and Migration Plan (draft)",
    spec_of(member("app-1"), member("app-2")).but(
        inter_broker_protocol=0, budget=PLAYGROUND.but(upgrade=1)
    ),
    (
        APP_1_READS,
        Beat(
            "app-1 names its member: UNSUPPORTED_VERSION",
            "inter.broker.protocol.version is below the release that knows members in TxnOffsetCommit. "
            "Broker 4 refuses the newer request, although it could read it: another broker might not.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "The producer is lost, and its transaction hangs",
            "No back-off helps against a version that is not there: the error is fatal. What it has sent "
            "holds the last stable offset back until somebody takes its name over, or it times out.",
            ("app-1 crashes",),
        ),
        Beat(
            "An operator raises inter.broker.protocol.version",
            "All brokers have the new binary. From here on the newer request is served.",
            ("inter.broker.protocol 1 is finalized",),
        ),
        Beat(
            "app-1 is started again",
            "initTransactions() under the same name aborts what was left. The next member takes over once the "
            "session of the one before has run out.",
            ("app-1 starts", "the session of C1 in * runs out at B4", *up_to_send("app-1")),
        ),
        Beat(
            "The same request is taken now",
            "a and b are committed, once.",
            commits("app-1"),
        ),
    ),
    ("app-1", "B4", "B3", "B1"),
    ("kip-447-init-consumer", "kafka"),
    Question(
        1,
        "Broker 4 has the binary that knows the request. Why does it refuse it, in the drafts?",
        (
            Choice(
                "not all brokers may know it yet",
                True,
                "Right: after a move of the partition another one would have to read what it wrote.",
            ),
            Choice("the client is too old", False, "It is the newest thing in the cluster."),
            Choice("the group is rebalancing", False, "app-1 is alone and stable."),
        ),
    ),
    watch=(
        Watch(
            1,
            "Look at what the answer makes of the producer: FATAL_ERROR. A draft recommends to unset a "
            "config of the application instead, and to go on with a producer for every task.",
        ),
        Watch(
            2,
            "Played under 'kafka' beat 2 is no error: what was shipped has no such gate. Each broker says by "
            "ApiVersions what it knows, and a client whose coordinator is too old stops by itself.",
        ),
    ),
    checkpoints=(
        Checkpoint("saw the last stable offset held back", "lso held back"),
        Checkpoint("saw a process die", "client crashed"),
        Checkpoint("saw an offset pending", "offset pending"),
    ),
)

STORIES: tuple[Scenario, ...] = (GATE,)
