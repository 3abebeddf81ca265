"""KIP-98: the markers of several transactions in one WriteTxnMarkers request."""

from __future__ import annotations

from kipviz.cluster.spec import Placement
from kipviz.scenarios import programs
from kipviz.scenarios.material import Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.setting import GROUP_PLACEMENTS, group_app, group_spec

# A name that hashes to the same partition of __transaction_state as the other one's.
NEIGHBOUR = "my-txn-5"
ONE = group_app(program=programs.COPY)
OTHER = ONE.but(name="app-2", transactional_id=NEIGHBOUR, member_id="C2", source="src-1")
SPEC = group_spec(ONE).but(
    applications=(ONE, OTHER),
    placements=(*GROUP_PLACEMENTS, Placement("src-1", 4, (5,))),
    records=(("src-0", 100, ("a", "b")), ("src-1", 0, ("x", "y"))),
)


def _writes(name: str) -> tuple[str, ...]:
    go = f"{name} goes on"
    return (go, "quiet", go, go, "quiet", go, go, go, "quiet")


def _decides(name: str) -> tuple[str, ...]:
    return (
        f"{name} goes on",
        f"{name}/producer sends EndTxn",
        "EndTxn arrives at B1",
        f"EndTxnResponse arrives at {name}/producer",
    )


TOGETHER = Scenario(
    "kip-98-markers-together",
    "Two transactions are decided, and their coordinator is gone: how many requests bring the markers?",
    "Markers are for a broker, not for a transaction: what is to be ended there goes together.",
    "KIP-98 WriteTxnMarkerRequest; TransactionMarkerChannelManager.generateRequests",
    SPEC,
    (
        Beat(
            "Two producers, one output, one coordinator",
            "app-1 and app-2 have each written to output-A-0. Their names hash to the same partition of "
            "__transaction_state, so Broker 1 coordinates both.",
            (*_writes("app-1"), *_writes("app-2")),
        ),
        Beat(
            "Both commit",
            "PREPARE_COMMIT is in the log twice, and both calls return. The transactions were decided in two "
            "steps, so a marker for each of them is on its way to Broker 3, in two requests. Broker 3 is slow.",
            (*_decides("app-1"), *_decides("app-2")),
        ),
        Beat(
            "The coordinator crashes",
            "The requests are lost with their connection. Nothing is undone: the decisions are in the log.",
            ("B1 crashes",),
        ),
        Beat(
            "Broker 5 reads the log",
            "It finds two transactions that are decided and not complete. Both need a marker in output-A-0, so "
            "one WriteTxnMarkers has both, each with its producer id and its epoch.",
            ("__transaction_state-45 takes office on B5",),
        ),
        Beat(
            "Two markers, one answer",
            "Broker 3 appends both, and answers when it has a result for each transaction. The coordinator takes "
            "the results one by one, and completes both.",
            ("WriteTxnMarkers arrives at B3", "WriteTxnMarkersResponse from B3 arrives at *"),
        ),
    ),
    ("app-1", "app-2", "B3", "B5"),
    ("kafka",),
    Question(
        3,
        "Broker 5 takes office and finds two decided transactions with a marker missing in output-A-0. What "
        "does it send to Broker 3?",
        (
            Choice(
                "one request with two markers",
                True,
                "Right: a queue for each broker is emptied into one request.",
            ),
            Choice(
                "two requests, one after the other",
                False,
                "So it was when they were decided one after the other.",
            ),
            Choice(
                "nothing: app-1 and app-2 have to commit again",
                False,
                "They have their answers; what is decided is nobody's business but the coordinator's.",
            ),
        ),
    ),
    watch=(
        Watch(1, "commitTransaction() has returned twice, and output-A-0 has no marker."),
        Watch(3, "Open the arrow of the markers: two producer ids, and one partition twice."),
        Watch(4, "The LSO of output-A-0 moves over both transactions."),
    ),
    checkpoints=(
        Checkpoint("saw markers of several transactions in one request", "markers together"),
        Checkpoint("saw the transaction complete", "complete"),
    ),
)
STORIES: tuple[Scenario, ...] = (TOGETHER,)
