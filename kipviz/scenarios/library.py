"""The scenarios, by name."""

from __future__ import annotations

from kipviz.cluster.spec import ApplicationSpec, ClusterSpec, FaultBudget, Placement
from kipviz.records.placement import (
    CONSUMER_OFFSETS,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
    partition_for,
    share_partition_key,
)
from kipviz.scenarios import material, programs
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat

SOURCE_ID = "AAAAAAAAAAAAAAAAAAAAAg"
OUTPUT_ID = "AAAAAAAAAAAAAAAAAAAAAw"
TOPIC_IDS = (("src", SOURCE_ID), ("output-A", OUTPUT_ID))
TRANSACTIONAL_ID = "my-txn"
SHARE_GROUP = "g1"

# KIP-1289 lets "my-group" hash to 7; Kafka's hash gives 12 of 50 for it, and 7 for this one.
GROUP = "my-group-4"

PLAYGROUND = FaultBudget(
    crash_broker=3,
    move_leader=3,
    lose_connection=3,
    cut=2,
    crash_client=2,
    expire_lock=4,
    time_out=3,
)


class UnknownScenario(ValueError):
    """A scenario of a name that there is not."""


def _home(topic: str, key: str) -> str:
    return f"{topic}-{partition_for(key, 50)}"


STATE_BY_KEY = _home(SHARE_GROUP_STATE, share_partition_key(SHARE_GROUP, SOURCE_ID, 0))
STATE_BY_GROUP = _home(SHARE_GROUP_STATE, SHARE_GROUP)

SHARE_PLACEMENTS = (
    Placement(_home(TRANSACTION_STATE, TRANSACTIONAL_ID), 1, (7,)),
    Placement("output-A-0", 3, (1,)),
    Placement("src-0", 5, (3,)),
    Placement(STATE_BY_KEY, 7, (3,)),
    # The KIP's drawing puts the state partition of the group on the broker that leads the source.
    Placement(STATE_BY_GROUP, 5, (7,)),
)
GROUP_PLACEMENTS = (
    Placement(_home(TRANSACTION_STATE, TRANSACTIONAL_ID), 1, (5,)),
    Placement("output-A-0", 3, (1,)),
    Placement(_home(CONSUMER_OFFSETS, GROUP), 4, (3,)),
    Placement("src-0", 5, (4,)),
)


def _share_app(name: str = "app-1", **changes: object) -> ApplicationSpec:
    number = name.rpartition("-")[2]
    tid = TRANSACTIONAL_ID if number == "1" else f"{TRANSACTIONAL_ID}-{number}"
    app = ApplicationSpec(
        name, tid, programs.SHARE_LOOP, SHARE_GROUP, f"M{number}", True, "src-0", "output-A-0", 2
    )
    return app.but(**changes)


def _group_app(**changes: object) -> ApplicationSpec:
    app = ApplicationSpec(
        "app-1",
        TRANSACTIONAL_ID,
        programs.GROUP_LOOP,
        GROUP,
        "C1",
        False,
        "src-0",
        "output-A-0",
        2,
    )
    return app.but(**changes)


def _share_spec(*apps: ApplicationSpec, values: tuple[str, ...] = ("a", "b")) -> ClusterSpec:
    return ClusterSpec(
        (1, 3, 5, 7), SHARE_PLACEMENTS, apps, (("src-0", 100, values),), TOPIC_IDS, PLAYGROUND
    )


def _group_spec(app: ApplicationSpec) -> ClusterSpec:
    return ClusterSpec(
        (1, 3, 4, 5),
        GROUP_PLACEMENTS,
        (app,),
        (("src-0", 100, ("a", "b")),),
        TOPIC_IDS,
        PLAYGROUND,
    )


BEGIN = (
    Beat(
        "producer.initTransactions()",
        "The coordinator of my-txn, Broker 1, gives the producer its id and epoch and fences "
        "whoever had the name before.",
        ("app-1 goes on", "quiet", "app-1 goes on"),
    ),
    Beat(
        "consumer.poll()",
        "Broker 5 leads src-0. It loads what is durable, delivers offsets 100 and 101, and locks "
        "them for member M1.",
        ("app-1 goes on", "quiet", "app-1 goes on"),
    ),
    Beat(
        "producer.beginTransaction()",
        "Purely local: no broker hears of it.",
        ("app-1 goes on",),
    ),
    Beat(
        'producer.send("output-A", record)',
        "Under transaction version 2 nobody sends AddPartitionsToTxn for the client: Broker 3 "
        "enlists output-A-0 itself before it appends the first batch. The records are in the log, "
        "but the last stable offset stays before them.",
        ("app-1 goes on", "quiet"),
    ),
)

GROUP_BEGIN = (
    BEGIN[0],
    Beat(
        "consumer.poll()",
        "The consumer asks Broker 4 where its group left off, and then Broker 5 for the records "
        "from there on.",
        ("app-1 goes on", "quiet", "app-1 goes on"),
    ),
    *BEGIN[2:],
)

STAGE = (
    Beat(
        "sendShareAcknowledgementsToTransaction(acks, meta)",
        "The call returns at once. The sender takes TxnShareAcknowledge to Broker 5, the leader of "
        "the share-partition, not to a coordinator.",
        ("app-1 goes on", "until TxnShareAcknowledge arrives at B5"),
    ),
    Beat(
        "TX_PENDING",
        "The vote is kept as the design says, a partition of __share_group_state becomes a "
        "participant of the transaction, and the producer is told that the records are staged.",
        ("quiet",),
    ),
)

COMMIT = (
    Beat(
        "producer.commitTransaction(): PREPARE_COMMIT",
        "Broker 1 logs PREPARE_COMMIT with the next epoch. From here the transaction can only "
        "commit.",
        ("app-1 goes on", "until EndTxn arrives at B1"),
    ),
    Beat(
        "commitTransaction() returns",
        "The coordinator answers as soon as the decision is durable: no marker is written yet.",
        ("EndTxnResponse arrives at app-1/producer", "app-1 goes on"),
    ),
)

SHARE_MARKERS = (
    Beat(
        "COMMIT marker in output-A-0",
        "Broker 3 appends a control batch: the output becomes visible to read_committed consumers.",
        ("WriteTxnMarkers arrives at B3",),
    ),
    Beat(
        "COMMIT marker on the share side",
        "The leader of the enlisted partition of __share_group_state appends its control batch.",
        ("maybe WriteTxnMarkers arrives at B[57]",),
    ),
    Beat(
        "COMPLETE_COMMIT",
        "Every participant has answered: Broker 1 closes the transaction.",
        ("quiet",),
    ),
    Beat(
        "ACKNOWLEDGED",
        "The share-partition leader learns the outcome, and the start offset moves on.",
        ("maybe B5 refreshes src-0", "quiet"),
    ),
    Beat(
        "consumer.poll() again",
        "If all went well there is nothing left to deliver.",
        ("app-1 goes on", "quiet"),
    ),
)

SHARE_COMMIT = Scenario(
    "kip-1289-share-commit",
    "A share group inside a transaction: commit",
    "The flow of KIP-1289 for share groups, bullet by bullet, with two records.",
    "KIP-1289, Flow - Share Group (THIS KIP)",
    _share_spec(_share_app()),
    (*BEGIN, *STAGE, *COMMIT, *SHARE_MARKERS),
    ("app-1", "B1", "B3", "B5"),
    ("repaired", "finding-I", "as-written"),
    Question(
        7,
        "Broker 5 crashes right after PREPARE_COMMIT. Is offset 100 delivered again?",
        (
            Choice(
                "yes, always",
                False,
                "Only if the vote was in Broker 5's memory alone (as written).",
            ),
            Choice(
                "no, never",
                False,
                "Only if the vote was durable before it was promised (repaired).",
            ),
            Choice(
                "it depends on where the vote is kept",
                True,
                "Right: crash Broker 5 here and compare the designs.",
            ),
        ),
    ),
    watch=material.SHARE_COMMIT_WATCH,
    checkpoints=material.SHARE_COMMIT_CHECKPOINTS,
)

ABORT = (
    Beat(
        "producer.abortTransaction(): PREPARE_ABORT",
        "Processing failed. Broker 1 logs PREPARE_ABORT with the next epoch.",
        ("app-1 goes on", "until EndTxn arrives at B1"),
    ),
    Beat(
        "abortTransaction() returns",
        "The decision is durable; the markers are on their way.",
        ("EndTxnResponse arrives at app-1/producer", "app-1 goes on"),
    ),
)

SHARE_ABORT = Scenario(
    "kip-1289-share-abort",
    "A share group inside a transaction: abort, then commit",
    "Processing fails after everything was staged; the records come again with delivery count 2.",
    "KIP-1289, Flow - Share Group and Test Plan",
    _share_spec(_share_app(program=programs.SHARE_ABORT)),
    (
        *BEGIN,
        *STAGE,
        *ABORT,
        Beat(
            "ABORT markers",
            "The output becomes invisible for good, and the votes are void.",
            ("quiet",),
        ),
        Beat(
            "The records are free again",
            "The share-partition leader learns the outcome; what a record becomes is the design's "
            "choice.",
            ("maybe B5 refreshes src-0", "quiet"),
        ),
        Beat(
            "consumer.poll(): delivered again",
            "The same records with delivery count 2, if they are free.",
            ("app-1 goes on", "quiet"),
        ),
    ),
    ("app-1", "B1", "B3", "B5"),
    ("repaired", "as-written", "as-written-available"),
    Question(
        7,
        "What will the next poll() do with offsets 100 and 101?",
        (
            Choice("deliver them again", True, "Right under the repaired design."),
            Choice("nothing, they are lost", False, "No promise to acknowledge them was kept."),
            Choice(
                "accept them silently",
                False,
                "That happens as written: the implicit mode acknowledges what the consumer still "
                "counts as its own.",
            ),
        ),
    ),
    watch=material.SHARE_ABORT_WATCH,
    checkpoints=material.SHARE_ABORT_CHECKPOINTS,
)

LOCK_EXPIRY = Scenario(
    "kip-1289-lock-expiry",
    "The acquisition lock runs out after the decision",
    "The transaction is decided, its markers are late, and the lock of the staged records runs out.",
    "KIP-1289, corner case 6 (finding D)",
    _share_spec(_share_app(), values=("a",)),
    (
        *BEGIN,
        *STAGE,
        *COMMIT,
        Beat(
            "The lock runs out",
            "The markers are still on the wire. The timer of the acquisition lock fires, if the "
            "design lets it run.",
            ("maybe the lock of src-0@100 runs out",),
        ),
        Beat(
            "consumer.poll()",
            "A record that is free is delivered again.",
            (
                "app-1 goes on",
                "app-1/consumer sends ShareFetch",
                "ShareFetch arrives at B5",
                "maybe ShareFetchResponse arrives at app-1/consumer",
            ),
        ),
        Beat(
            "The markers arrive",
            "Too late for a record that was given away; in time for one that was kept.",
            ("quiet", "maybe B5 refreshes src-0", "quiet", "maybe app-1 goes on"),
        ),
        Beat(
            "A second transaction",
            "What was delivered again is processed again.",
            (
                "maybe app-1 goes on",
                "maybe app-1 goes on",
                "quiet",
                "maybe app-1 goes on",
                "quiet",
                "maybe app-1 goes on",
                "quiet",
            ),
        ),
    ),
    ("app-1", "B1", "B3", "B5"),
    ("finding-D", "repaired", "as-written"),
    Question(
        8,
        "The transaction is decided and the lock runs out. May Broker 5 deliver offset 100 again?",
        (
            Choice("yes, the lock is over", False, "Then two outputs of one record are committed."),
            Choice(
                "no, only the marker may free it",
                True,
                "Right: a participant that voted yes must be able to commit.",
            ),
        ),
    ),
    watch=material.LOCK_EXPIRY_WATCH,
    checkpoints=material.LOCK_EXPIRY_CHECKPOINTS,
)

OFFSETS = (
    Beat(
        "producer.sendOffsetsToTransaction(offsets, metadata)",
        "my-group-4 hashes to partition 7 of 50 (my-group, the KIP's name, to 12). Broker 4 "
        "coordinates it; under version 2 it enlists __consumer_offsets-7 itself.",
        ("app-1 goes on", "until TxnOffsetCommit arrives at B4", "quiet", "app-1 goes on"),
    ),
)

GROUP_MARKERS = (
    Beat(
        "marker in output-A-0",
        "Broker 3 appends a control batch, and its last stable offset moves on.",
        ("WriteTxnMarkers arrives at B3",),
    ),
    Beat(
        "marker in __consumer_offsets-7",
        "Broker 4 appends a control batch: the staged offset is resolved.",
        ("WriteTxnMarkers arrives at B4",),
    ),
    Beat("COMPLETE", "Every participant has answered.", ("quiet",)),
    Beat(
        "consumer.poll() again",
        "The application goes on from the group's position.",
        ("app-1 goes on", "quiet"),
    ),
)

GROUP_COMMIT = Scenario(
    "kip-1289-group-commit",
    "A regular consumer group inside a transaction: commit",
    "The flow of KIP-1289 for regular groups: output, offsets, markers, completion.",
    "KIP-1289, Flow - Regular Consumer Group",
    _group_spec(_group_app()),
    (*GROUP_BEGIN, *OFFSETS, *COMMIT, *GROUP_MARKERS),
    ("app-1", "B1", "B3", "B4"),
    ("kafka",),
    Question(
        6,
        "commitTransaction() has returned. Is a marker in output-A-0?",
        (
            Choice("yes, it waits for the markers", False, "It waits for PREPARE_COMMIT only."),
            Choice("not necessarily", True, "Right: the markers are sent after the answer."),
        ),
    ),
    watch=material.GROUP_WATCH,
    checkpoints=material.GROUP_COMMIT_CHECKPOINTS,
)

GROUP_ABORT = Scenario(
    "kip-1289-group-abort",
    "A regular consumer group inside a transaction: abort",
    "Processing fails after the offsets were staged; the group reads the same records again.",
    "KIP-1289, Flow - Regular Consumer Group; KIP-447",
    _group_spec(_group_app(program=programs.GROUP_ABORT)),
    (*GROUP_BEGIN, *OFFSETS, *ABORT, *GROUP_MARKERS),
    ("app-1", "B1", "B3", "B4"),
    ("kafka",),
    watch=material.GROUP_ABORT_WATCH,
    checkpoints=material.GROUP_ABORT_CHECKPOINTS,
)

WRITER = _group_app(name="app-1", program=programs.COPY)
STUCK_LSO = Scenario(
    "kip-98-stuck-lso",
    "A consumer that gets nothing: why does the LSO stand still?",
    "A producer dies in the middle of its transaction. Another one commits behind it, and a "
    "read_committed consumer gets nothing at all.",
    "KIP-98, Read Committed and transaction.timeout.ms; KIP-664",
    ClusterSpec(
        (1, 3, 4, 5),
        (
            *GROUP_PLACEMENTS,
            Placement("output-B-0", 4, (3,)),
            Placement(_home(TRANSACTION_STATE, "my-txn-2"), 4, (1,)),
        ),
        (
            WRITER,
            WRITER.but(name="app-2", transactional_id="my-txn-2", group_id="other", member_id="C2"),
            WRITER.but(
                name="reader",
                transactional_id="my-txn-3",
                program=programs.READ,
                group_id="readers",
                member_id="R1",
                source="output-A-0",
                output="output-B-0",
                max_records=10,
            ),
        ),
        (("src-0", 100, ("a", "b")),),
        (*TOPIC_IDS, ("output-B", "AAAAAAAAAAAAAAAAAAAABA")),
        PLAYGROUND,
    ),
    (
        Beat(
            "app-1 writes in a transaction",
            "It gets its producer id from Broker 1, polls two records and sends their outputs to "
            "output-A-0. They are in the log at offsets 0 and 1, and nothing is decided.",
            (
                "app-1 goes on",
                "quiet",
                "app-1 goes on",
                "app-1 goes on",
                "quiet",
                "app-1 goes on",
                "app-1 goes on",
                "app-1 goes on",
                "quiet",
            ),
        ),
        Beat(
            "app-1 dies",
            "Before it could call commitTransaction() or abortTransaction(). Its transaction stays "
            "open: no broker is told.",
            ("app-1 crashes",),
        ),
        Beat(
            "app-2 writes behind it, and commits",
            "Another producer, another transaction: offsets 2 and 3, and a COMMIT marker at 4.",
            (
                "app-2 goes on",
                "quiet",
                "app-2 goes on",
                "app-2 goes on",
                "quiet",
                "app-2 goes on",
                "app-2 goes on",
                "app-2 goes on",
                "quiet",
                "app-2 goes on",
                "quiet",
                "app-2 goes on",
            ),
        ),
        Beat(
            "reader polls: nothing comes",
            "It reads committed records of output-A-0 from offset 0 on. Its fetch waits at Broker 3. "
            "What holds it back? Press e.",
            ("reader goes on", "quiet"),
        ),
    ),
    ("app-1", "reader", "B1", "B3"),
    ("kafka",),
    Question(
        3,
        "app-2 has committed offsets 2 and 3. What does the reader get?",
        (
            Choice("offsets 2 and 3: they are committed", False, "They lie behind the LSO."),
            Choice(
                "nothing",
                True,
                "Right: the LSO stands at offset 0, the first record of app-1's open transaction.",
            ),
            Choice("all four records", False, "Offsets 0 and 1 are not decided."),
        ),
    ),
    watch=material.STUCK_WATCH,
    checkpoints=material.STUCK_CHECKPOINTS,
)

SMALL = Scenario(
    "kip-1289-small",
    "One record, one member: small enough to search",
    "The smallest cluster in which the share flow can go wrong, for exhaustive search.",
    "KIP-1289, Flow - Share Group (THIS KIP)",
    _share_spec(_share_app(max_records=1), values=("a",)),
    (*BEGIN, *STAGE, *COMMIT, *SHARE_MARKERS),
    ("app-1", "B1", "B3", "B5"),
    ("repaired", "finding-I", "finding-D"),
    watch=material.SMALL_WATCH,
    checkpoints=material.SMALL_CHECKPOINTS,
)

# What a marker reaches by the group id is not where the record is held.
SMALL_APART = SMALL.but(
    name="kip-1289-small-apart",
    title="One record, its source and its group's state apart",
    sentence="The small cluster with the group's partition of __share_group_state on another broker.",
    spec=SMALL.spec.but(placements=(*SHARE_PLACEMENTS[:-1], Placement(STATE_BY_GROUP, 3, (7,)))),
)

TWO_MEMBERS = Scenario(
    "kip-1289-two-members",
    "Two members, six records",
    "Two applications share one partition; made for seeded campaigns with faults.",
    "KIP-1289, Motivation",
    _share_spec(
        _share_app("app-1", max_records=2),
        _share_app("app-2", max_records=2),
        values=("a", "b", "c", "d", "e", "f"),
    ),
    (),
    ("app-1", "app-2", "B1", "B5"),
    ("repaired", "finding-I", "finding-D", "as-written"),
    watch=material.TWO_MEMBERS_WATCH,
    checkpoints=material.TWO_MEMBERS_CHECKPOINTS,
)

# Both transactional ids have one home, so that the two members differ in nothing but names.
SMALL_TWO = Scenario(
    "kip-1289-small-two",
    "One record, two members: interchangeable, small enough to search",
    "Two members want the one record; made for exhaustive search with both reductions.",
    "KIP-1289, Motivation",
    _share_spec(
        _share_app("app-1", max_records=1),
        _share_app("app-2", max_records=1, transactional_id=f"{TRANSACTIONAL_ID}-5"),
        values=("a",),
    ),
    (),
    ("app-1", "app-2", "B1", "B5"),
    ("repaired", "finding-D"),
    watch=material.SMALL_TWO_WATCH,
    checkpoints=material.SMALL_TWO_CHECKPOINTS,
)

LIBRARY: tuple[Scenario, ...] = (
    GROUP_COMMIT,
    GROUP_ABORT,
    SHARE_COMMIT,
    SHARE_ABORT,
    LOCK_EXPIRY,
    STUCK_LSO,
    SMALL,
    SMALL_APART,
    TWO_MEMBERS,
    SMALL_TWO,
)


def scenario(name: str) -> Scenario:
    """Give a scenario by name.

    Raises:
        UnknownScenario: if there is none; the message lists what there is.
    """
    for known in LIBRARY:
        if known.name == name:
            return known
    allowed = ", ".join(s.name for s in LIBRARY)
    raise UnknownScenario(f"there is no scenario {name!r}; the scenarios are {allowed}")
