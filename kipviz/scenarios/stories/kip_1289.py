"""KIP-1289: share groups inside a transaction, and the regular groups that it compares them with."""

from __future__ import annotations

from kipviz.cluster.spec import Placement
from kipviz.scenarios import programs
from kipviz.scenarios.material import (
    BROUGHT_TO_END,
    CRASHED_AFTER_DECISION,
    LET_BOTH_HOLD,
    SAW_DELIVERED_TWICE,
    SAW_EARLY_RETURN,
    SAW_LSO,
    SAW_OFFSET_STAGED,
    SAW_STAGED,
    TOOK_CLIENT_CRASH,
    TOOK_CRASH,
    TOOK_TIME_OUT,
    Checkpoint,
    Watch,
)
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.beats import ABORT, BEGIN, COMMIT, GROUP_BEGIN, SHARE_MARKERS, STAGE
from kipviz.scenarios.stories.setting import (
    SHARE_PLACEMENTS,
    STATE_BY_GROUP,
    TRANSACTIONAL_ID,
    group_app,
    group_spec,
    share_app,
    share_spec,
)

SHARE_BEGIN = (
    Watch(
        1,
        "The records do not leave src-0. They are only locked: watch the strip go from AV to AQ, "
        "and the delivery count to 1.",
    ),
    Watch(
        3,
        "The output is in the log, but nobody who reads committed data sees it: watch the LSO of "
        "output-A-0 stay behind the high watermark.",
    ),
)
SHARE_COMMIT_WATCH = (
    *SHARE_BEGIN,
    Watch(
        7,
        "commitTransaction() has returned, and no marker is written yet. What does the "
        "application believe, and what do the logs say?",
    ),
)
SHARE_COMMIT_CHECKPOINTS = (
    SAW_LSO,
    SAW_EARLY_RETURN,
    CRASHED_AFTER_DECISION,
)

SHARE_ABORT_WATCH = (
    *SHARE_BEGIN,
    Watch(6, "PREPARE_ABORT is durable: from here on nobody can commit, not even the producer."),
    Watch(
        10,
        "The delivery count goes to 2: an abort uses up an attempt, as a lock that runs out does.",
    ),
)
SHARE_ABORT_CHECKPOINTS = (
    SAW_STAGED,
    SAW_DELIVERED_TWICE,
    TOOK_CRASH,
)

LOCK_EXPIRY_WATCH = (
    *SHARE_BEGIN,
    Watch(
        8,
        "The transaction is decided. Look at the state of offset 100 before and after the timer: "
        "may a promise to acknowledge it be taken back?",
    ),
    Watch(
        10, "Now the marker comes. Is there still something for it to resolve in the share group?"
    ),
)
LOCK_EXPIRY_CHECKPOINTS = (
    SAW_STAGED,
    Checkpoint("saw a record given away after the decision to commit", "record given away"),
    SAW_DELIVERED_TWICE,
)

GROUP_WATCH = (
    Watch(
        3,
        "The output is in the log, but nobody who reads committed data sees it: watch the LSO of "
        "output-A-0 stay behind the high watermark.",
    ),
    Watch(
        4,
        "The offset goes into __consumer_offsets as pending: watch the group coordinator keep the "
        "old one as committed.",
    ),
)
GROUP_COMMIT_CHECKPOINTS = (
    SAW_LSO,
    SAW_OFFSET_STAGED,
    TOOK_TIME_OUT,
)
GROUP_ABORT_WATCH = (
    *GROUP_WATCH,
    Watch(
        7,
        "The marker says ABORT, yet the records stay in the log: readers of committed data skip "
        "them by the list of aborted transactions.",
    ),
)
GROUP_ABORT_CHECKPOINTS = (
    SAW_OFFSET_STAGED,
    Checkpoint("saw the consumer go back to the committed offset", "read again"),
    TOOK_CRASH,
)

SMALL_WATCH = (
    Watch(
        5,
        "One record, one vote. Watch who writes the vote down before the producer is told that it "
        "counts.",
    ),
    Watch(7, "The answer comes before the markers. Everything that can go wrong goes wrong here."),
)
SMALL_CHECKPOINTS = (
    SAW_EARLY_RETURN,
    CRASHED_AFTER_DECISION,
)

TWO_MEMBERS_WATCH = (
    Watch(
        0, "Both members are served from one partition: watch whose name stands at which offset."
    ),
    Watch(
        0,
        "Nobody tells this story: choose what happens next, by number key, and try to let both "
        "members hold records at once.",
    ),
)
TWO_MEMBERS_CHECKPOINTS = (
    LET_BOTH_HOLD,
    TOOK_CLIENT_CRASH,
    BROUGHT_TO_END,
)

SMALL_TWO_WATCH = (
    Watch(0, "Both members want the one record: watch whose name stands at it."),
    Watch(
        0,
        "Nobody tells this story: choose what happens next, by number key, and try to let the "
        "record go from one member to the other.",
    ),
)
SMALL_TWO_CHECKPOINTS = (
    TOOK_CLIENT_CRASH,
    BROUGHT_TO_END,
)

SHARE_COMMIT = Scenario(
    "kip-1289-share-commit",
    "A share group inside a transaction: commit",
    "The flow of KIP-1289 for share groups, bullet by bullet, with two records.",
    "KIP-1289, Flow - Share Group (THIS KIP)",
    share_spec(share_app()),
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
    watch=SHARE_COMMIT_WATCH,
    checkpoints=SHARE_COMMIT_CHECKPOINTS,
)

SHARE_ABORT = Scenario(
    "kip-1289-share-abort",
    "A share group inside a transaction: abort, then commit",
    "Processing fails after everything was staged; the records come again with delivery count 2.",
    "KIP-1289, Flow - Share Group and Test Plan",
    share_spec(share_app(program=programs.SHARE_ABORT)),
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
    watch=SHARE_ABORT_WATCH,
    checkpoints=SHARE_ABORT_CHECKPOINTS,
)

LOCK_EXPIRY = Scenario(
    "kip-1289-lock-expiry",
    "The acquisition lock runs out after the decision",
    "The transaction is decided, its markers are late, and the lock of the staged records runs out.",
    "KIP-1289, corner case 6 (finding D)",
    share_spec(share_app(), values=("a",)),
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
    watch=LOCK_EXPIRY_WATCH,
    checkpoints=LOCK_EXPIRY_CHECKPOINTS,
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
    group_spec(group_app()),
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
    watch=GROUP_WATCH,
    checkpoints=GROUP_COMMIT_CHECKPOINTS,
)

GROUP_ABORT = Scenario(
    "kip-1289-group-abort",
    "A regular consumer group inside a transaction: abort",
    "Processing fails after the offsets were staged; the group reads the same records again.",
    "KIP-1289, Flow - Regular Consumer Group; KIP-447",
    group_spec(group_app(program=programs.GROUP_ABORT)),
    (*GROUP_BEGIN, *OFFSETS, *ABORT, *GROUP_MARKERS),
    ("app-1", "B1", "B3", "B4"),
    ("kafka",),
    watch=GROUP_ABORT_WATCH,
    checkpoints=GROUP_ABORT_CHECKPOINTS,
)

SMALL = Scenario(
    "kip-1289-small",
    "One record, one member: small enough to search",
    "The smallest cluster in which the share flow can go wrong, for exhaustive search.",
    "KIP-1289, Flow - Share Group (THIS KIP)",
    share_spec(share_app(max_records=1), values=("a",)),
    (*BEGIN, *STAGE, *COMMIT, *SHARE_MARKERS),
    ("app-1", "B1", "B3", "B5"),
    ("repaired", "finding-I", "finding-D"),
    watch=SMALL_WATCH,
    checkpoints=SMALL_CHECKPOINTS,
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
    share_spec(
        share_app("app-1", max_records=2),
        share_app("app-2", max_records=2),
        values=("a", "b", "c", "d", "e", "f"),
    ),
    (),
    ("app-1", "app-2", "B1", "B5"),
    ("repaired", "finding-I", "finding-D", "as-written"),
    watch=TWO_MEMBERS_WATCH,
    checkpoints=TWO_MEMBERS_CHECKPOINTS,
)

# Both transactional ids have one home, so that the two members differ in nothing but names.
SMALL_TWO = Scenario(
    "kip-1289-small-two",
    "One record, two members: interchangeable, small enough to search",
    "Two members want the one record; made for exhaustive search with both reductions.",
    "KIP-1289, Motivation",
    share_spec(
        share_app("app-1", max_records=1),
        share_app("app-2", max_records=1, transactional_id=f"{TRANSACTIONAL_ID}-5"),
        values=("a",),
    ),
    (),
    ("app-1", "app-2", "B1", "B5"),
    ("repaired", "finding-D"),
    watch=SMALL_TWO_WATCH,
    checkpoints=SMALL_TWO_CHECKPOINTS,
)

STORIES: tuple[Scenario, ...] = (
    GROUP_COMMIT,
    GROUP_ABORT,
    SHARE_COMMIT,
    SHARE_ABORT,
    LOCK_EXPIRY,
    SMALL,
    SMALL_APART,
    TWO_MEMBERS,
    SMALL_TWO,
)
