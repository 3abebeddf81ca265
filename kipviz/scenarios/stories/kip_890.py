"""KIP-890: what arrives late, and what the transaction versions make of it."""

from __future__ import annotations

from kipviz.cluster.spec import ClusterSpec
from kipviz.scenarios import programs
from kipviz.scenarios.material import (
    SAW_HANGING,
    SAW_LATE_REQUEST,
    SAW_OUTPUT_TWICE,
    Checkpoint,
    Watch,
)
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.beats import FIRST_ROUND, NEXT_ROUND
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
        SAW_LATE_REQUEST,
        SAW_HANGING,
        Checkpoint("saw a late batch refused", "late one refused"),
    ),
)

AGAIN = Beat(
    "The next transaction",
    "app-1 reads the same record again, puts its output out once more, and commits. The COMMIT marker "
    "of this producer id ends whatever is open before it in output-A-0.",
    (
        *NEXT_ROUND,
        "app-1 goes on",
        "quiet",
        "app-1 goes on",
        "app-1 goes on",
        "quiet",
        "app-1 goes on",
    ),
)
LATE_RECORD = Scenario(
    "kip-890-late-record",
    "An aborted record that is committed after all",
    "The batch that came too late is not lost: the next transaction of the same producer commits it, "
    "with the record that replaces it.",
    "KIP-890 Motivation, late messages and the next transaction",
    _spec(),
    (GETS_ON_ITS_WAY, GIVES_UP, ABORTS, ARRIVES, AGAIN),
    ("app-1", "B1", "B3"),
    EVERY_VERSION,
    Question(
        4,
        "The application processes the record again and commits. How many outputs of it do readers of "
        "committed data get?",
        (
            Choice(
                "one: the first one was aborted",
                False,
                "So it is where the late batch was refused (versions 1 and 2).",
            ),
            Choice(
                "two, where the late batch is in the log",
                True,
                "Right: a marker ends all that its producer id has open before it in the partition.",
            ),
            Choice(
                "none: the partition hangs", False, "This marker comes from the same producer id."
            ),
        ),
    ),
    watch=(
        Watch(
            3,
            "Under version 0 the late batch opens a transaction of (producer id, epoch 0). Watch which "
            "marker ends it.",
        ),
        Watch(
            4,
            "Two outputs of one record are committed under version 0, although the application did "
            "everything right: watch the property 'atomic'.",
        ),
    ),
    checkpoints=(
        SAW_LATE_REQUEST,
        SAW_OUTPUT_TWICE,
        Checkpoint("saw a late batch refused", "late one refused"),
    ),
)

# -- an EndTxn that nobody waits for any more ----------------------------------------------------

LATE_COMMIT = Scenario(
    "kip-890-late-commit",
    "A commit that ends the wrong transaction",
    "EndTxn is given up and asked again; the first copy arrives in the middle of the next "
    "transaction and ends it.",
    "KIP-890 Motivation, one epoch for each transaction",
    _spec(),
    (
        Beat(
            "The first transaction",
            "app-1 reads a record, puts its output and its offset into a transaction and commits. "
            "EndTxn is on its way to Broker 1.",
            (
                *FIRST_ROUND,
                "app-1 goes on",
                "quiet",
                "app-1 goes on",
                "app-1 goes on",
                "quiet but EndTxn arrives at B1",
            ),
        ),
        Beat(
            "EndTxn is given up and asked again",
            "request.timeout.ms is over before Broker 1 has read it. The client closes the connection, "
            "opens another one and repeats the request, as it should. That copy commits.",
            ("app-1/producer gives up on B1", "quiet", "app-1 goes on"),
        ),
        Beat(
            "The second transaction begins",
            "app-1 reads the next record and sends its output. It has not committed anything yet.",
            NEXT_ROUND,
        ),
        Beat(
            "The first copy of EndTxn arrives",
            "It says COMMIT, for a producer id and an epoch. Below version 2 they are those of the "
            "transaction that is open now.",
            ("late EndTxn arrives at B1", "quiet"),
        ),
        Beat(
            "app-1 dies and starts again",
            "In the middle of its second transaction, before it has staged the offset. The next process "
            "reads from the committed offset on.",
            (
                "app-1 crashes",
                "app-1 starts",
                *FIRST_ROUND,
                "app-1 goes on",
                "quiet",
                "app-1 goes on",
                "app-1 goes on",
                "quiet",
            ),
        ),
    ),
    ("app-1", "B1", "B3", "B4"),
    ("kafka-tv1", "kafka"),
    Question(
        3,
        "The late EndTxn asks for COMMIT while the second transaction is open. What does Broker 1 do?",
        (
            Choice(
                "it commits the second transaction, where both have one epoch",
                True,
                "Right: nothing in the request says which transaction it means.",
            ),
            Choice(
                "it answers that this was committed already",
                False,
                "It could, if the epoch were another one: version 2.",
            ),
            Choice(
                "it asks the producer",
                False,
                "A broker never asks a client, and this connection is closed.",
            ),
        ),
    ),
    watch=(
        Watch(1, "Two EndTxn are under way now. Watch the one whose arrow does not end yet."),
        Watch(
            3,
            "Compare the epoch that the request carries with the coordinator's: equal under version 1, "
            "one behind under version 2, and then it is PRODUCER_FENCED.",
        ),
        Watch(
            4,
            "The output was committed, the offset was not: the next process puts the same record out "
            "again.",
        ),
    ),
    checkpoints=(
        SAW_LATE_REQUEST,
        Checkpoint("saw a transaction end that nobody asked to end", "ended by a late one"),
        SAW_OUTPUT_TWICE,
    ),
)

SMALL = Scenario(
    "kip-890-small",
    "One record, two transactions: small enough to search",
    "A producer commits one transaction and gives the next one up; made for exhaustive search with late "
    "requests.",
    "KIP-890 Motivation, late messages",
    group_spec(group_app(max_records=1, program=programs.COMMIT_THEN_ABORT)).but(
        budget=LATE, records=(("src-0", 100, ("a",)),)
    ),
    (),
    ("app-1", "B1", "B3"),
    EVERY_VERSION,
    watch=(
        Watch(0, "Give a request up while the broker has not read it: its arrow does not end."),
        Watch(0, "Let it arrive in the second transaction, and behind it."),
    ),
    checkpoints=(
        SAW_LATE_REQUEST,
        Checkpoint("saw a transaction end that nobody asked to end", "ended by a late one"),
        SAW_HANGING,
    ),
)

STORIES: tuple[Scenario, ...] = (HANGING, LATE_RECORD, LATE_COMMIT, SMALL)
