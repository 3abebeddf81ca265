"""KIP-890: what arrives late, and what the transaction versions make of it."""

from __future__ import annotations

from kipviz.cluster.spec import ClusterSpec
from kipviz.scenarios.material import Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.setting import PLAYGROUND, group_app, group_spec

LATE = PLAYGROUND.but(request_timeout=3, delivery_timeout=3, upgrade=2)
EVERY_VERSION = ("kafka-tv0", "kafka-tv1", "kafka")


def _spec(**changes: object) -> ClusterSpec:
    """Give the cluster of a regular group, where requests may be late; one record a poll."""
    return group_spec(group_app(max_records=1, **changes)).but(budget=LATE)


# -- a batch that nobody waits for any more ------------------------------------------------------

GETS_ON_ITS_WAY = Beat(
    "A batch is on its way",
    "app-1 has an identity, has read one record and sends its output. Broker 3 has not read the "
    "request yet.",
    (
        "app-1 goes on",
        "quiet",
        "app-1 goes on",
        "app-1 goes on",
        "quiet",
        "app-1 goes on",
        "app-1 goes on",
        "app-1 goes on",
        "quiet but Produce arrives at B3",
    ),
)
GIVES_UP = Beat(
    "The producer gives up",
    "request.timeout.ms: the client closes the connection. What it has written to the socket is not "
    "gone. delivery.timeout.ms: the batch expires, the transaction can only be aborted.",
    ("app-1/producer gives up on B3", "a batch of app-1/producer expires"),
)
ABORTS = Beat(
    "producer.abortTransaction()",
    "The next call throws, and the catch block aborts. The coordinator completes: for everybody the "
    "transaction is over. If the client had added output-A-0, as below version 2, an ABORT marker "
    "stands in it now.",
    ("app-1 goes on", "app-1 goes on", "quiet", "app-1 goes on"),
)
ARRIVES = Beat(
    "The batch arrives",
    "Now Broker 3 reads the request from the old connection. Nobody waits for its answer; what "
    "counts is whether the record goes into the log.",
    ("late Produce arrives at B3", "quiet"),
)
HANGING = Scenario(
    "kip-890-hanging",
    "A batch that arrives after its abort",
    "A producer gives a batch up and aborts. Then the batch arrives, when everything is over, and "
    "perhaps nobody ends what it begins.",
    "KIP-890 Motivation, hanging transactions",
    _spec(),
    (GETS_ON_ITS_WAY, GIVES_UP, ABORTS, ARRIVES),
    ("app-1", "B1", "B3"),
    EVERY_VERSION,
    Question(
        3,
        "The transaction is aborted and complete. What becomes of the late batch?",
        (
            Choice(
                "it is dropped: the transaction is over",
                False,
                "Somebody has to know that. The log alone, without KIP-890, does not.",
            ),
            Choice(
                "it depends on what the leader compares or asks",
                True,
                "Right: nothing (version 0), or the coordinator, which has the next epoch by now.",
            ),
            Choice(
                "it is appended and aborted by the marker before it",
                False,
                "A marker ends what stands before it in the log, never what comes behind it.",
            ),
        ),
    ),
    watch=(
        Watch(
            1,
            "The arrow of Produce does not end: the request stays on its way when its connection "
            "is given up.",
        ),
        Watch(
            2,
            "Below version 2 the marker has the epoch of the late batch, so the log sees nothing wrong "
            "with it. Under version 2 the coordinator has never heard of output-A-0: there is no "
            "marker, but the epoch has moved on.",
        ),
        Watch(
            3,
            "Where the batch is appended the last stable offset stops before it, and the coordinator "
            "knows of no transaction that could end.",
        ),
    ),
    checkpoints=(
        Checkpoint("saw a request arrive after its client had given it up", "arrived late"),
        Checkpoint("saw a transaction that nobody will end", "hangs"),
        Checkpoint("saw a late batch refused", "late one refused"),
    ),
)

STORIES: tuple[Scenario, ...] = (HANGING,)
