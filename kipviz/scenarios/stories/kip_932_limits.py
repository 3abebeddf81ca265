"""KIP-932: what a group may have in flight, where it begins, how much a fetch takes."""

from __future__ import annotations

from kipviz.brokers.settings import GroupConfig
from kipviz.cluster.spec import ApplicationSpec, ClusterSpec, Placement, PlainSpec
from kipviz.messages.reset_policy import LATEST
from kipviz.messages.share_groups import RECORD_LIMIT, AcknowledgeType
from kipviz.records.placement import CONSUMER_OFFSETS
from kipviz.scenarios import programs
from kipviz.scenarios.material import LET_BOTH_HOLD, SAW_ACQUISITION_LOCK_END, TOOK_CRASH, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.kip_932 import KAFKA, MOVED_ON, commits, polls, worker
from kipviz.scenarios.stories.setting import (
    GROUP,
    PLAYGROUND,
    SHARE_GROUP,
    SHARE_PLACEMENTS,
    TOPIC_IDS,
    group_app,
    home,
    share_spec,
)

ACCEPT = AcknowledgeType.ACCEPT
WRITES = ("app-3 goes on", "quiet", "app-3 goes on", "app-3 goes on", "quiet")

WINDOW = Scenario(
    "kip-932-in-flight-limit",
    "A slow member closes the window for all",
    "group.share.partition.max.record.locks is 2 here. It limits the span from the start offset to the last "
    "record that was ever acquired, not the number of records that somebody holds.",
    "KIP-932, In-flight records",
    share_spec(
        worker(
            "app-1",
            program=programs.worker(
                ((101, ACCEPT),), "acknowledge(second, ACCEPT); // 100 goes on"
            ),
        ),
        worker("app-2"),
        values=("a", "b", "c", "d"),
    ).but(group_configs=(GroupConfig(SHARE_GROUP, record_locks_max=2),)),
    (
        Beat(
            "app-1 polls", "M1 holds 100 and 101. The span is as long as it may be.", polls("app-1")
        ),
        Beat(
            "app-2 polls: nothing comes",
            "102 and 103 are in the log, and nobody holds them. Broker 5 may not acquire them.",
            ("app-2 goes on", "quiet"),
        ),
        Beat(
            "app-1 is done with 101",
            "One record less is held, and app-2 still waits: 100 is at the front, so the start offset stays, "
            "and the span with it.",
            commits("app-1")[:3],
        ),
        Beat(
            "The lock of 100 runs out",
            "What is inside the window can always be delivered again: app-2 gets 100.",
            ("the lock of src-0@100 runs out", "quiet"),
        ),
        Beat(
            "app-2 accepts it, and the window moves",
            "The start offset goes over 100 and 101 at once, to 102.",
            ("app-2 goes on", *commits("app-2")),
        ),
        Beat("app-2 polls again", "Now 102 and 103 are delivered.", polls("app-2")),
    ),
    ("app-1", "app-2", "B5", "B7"),
    KAFKA,
    Question(
        2,
        "M1 accepts 101 and goes on working at 100. May M2 get 102?",
        (
            Choice("yes, one record less is held", False, "Held records are not what is counted."),
            Choice(
                "no",
                True,
                "Right: from 100 to 101 it is two offsets still. One record at the front that does not end "
                "holds up the whole share-partition.",
            ),
            Choice(
                "yes, M2 holds none", False, "The limit is the share-partition's, not a member's."
            ),
        ),
    ),
    watch=(
        Watch(1, "What in the log could app-2 be given?"),
        Watch(3, "Why 100, and not 102, which has waited longer?"),
    ),
    checkpoints=(MOVED_ON, SAW_ACQUISITION_LOCK_END),
)

_source = ClusterSpec(
    (1, 3, 4, 5, 7),
    (
        *SHARE_PLACEMENTS,
        Placement("in-0", 4, (3,)),
        Placement(home(CONSUMER_OFFSETS, GROUP), 4, (3,)),
    ),
    (),
    (("in-0", 10, ("c", "d", "e", "f", "g", "h")), ("src-0", 100, ("a", "b"))),
    (*TOPIC_IDS, ("in", "AAAAAAAAAAAAAAAAAAAABA")),
    PLAYGROUND,
)


def _writer(size: int) -> ApplicationSpec:
    """Give a producer without a name that writes batches of so many records into src-0."""
    return group_app(
        name="app-3",
        transactional_id="",
        program=programs.SEND_THREE,
        plain=PlainSpec(idempotence=False),
        source="in-0",
        output="src-0",
        max_records=size,
    )


LATEST_SKIPS = Scenario(
    "kip-932-latest-skips",
    "A new group, latest, and a record that nobody ever says anything of",
    "Kafka's default of share.auto.offset.reset is latest: the group begins at the end. Where that was is in "
    "the leader's memory only, until something is acknowledged.",
    "KIP-932, share.auto.offset.reset",
    _source.but(
        applications=(worker("app-1"), _writer(1)),
        group_configs=(GroupConfig(SHARE_GROUP, auto_offset_reset=LATEST),),
    ),
    (
        Beat(
            "app-1 polls: nothing comes",
            "There is no durable start offset. latest says: the end, 102. a and b are in front of it.",
            ("app-1 goes on", "quiet"),
        ),
        Beat("app-3 writes c", "Broker 5 delivers 102 to app-1.", (*WRITES, "app-1 goes on")),
        Beat(
            "Broker 5 crashes",
            "app-1 works on c. It has not said anything of it, so nothing was written.",
            ("B5 crashes", "quiet"),
        ),
        Beat(
            "app-1 accepts 102",
            "Its session is gone with the connection: the acknowledgement cannot be sent. To app-1 this is an "
            "error like others: it expects to see c again.",
            commits("app-1"),
        ),
        Beat(
            "app-1 polls at Broker 3",
            "The durable state has no start offset, and latest says once more: the end. By now that is 103. "
            "c is not delivered again.",
            ("app-1 goes on", "quiet"),
        ),
        Beat("app-3 writes d", "It is delivered. c stays behind.", (*WRITES, "app-1 goes on")),
    ),
    ("app-1", "app-3", "B3", "B5"),
    KAFKA,
    Question(
        4,
        "102 was delivered, and not acknowledged, when its leader crashed. Where does the next leader begin?",
        (
            Choice("at 102", False, "Nothing durable says that the group ever was there."),
            Choice("at 100", False, "That would be earliest."),
            Choice(
                "at 103",
                True,
                "Right: the question where to begin is answered again by each leader, until the first "
                "acknowledgement, release or timed-out lock is durable.",
            ),
        ),
    ),
    watch=(
        Watch(0, "Which start offset has Broker 5, and which one has Broker 7?"),
        Watch(4, "Run it with earliest instead: change the group's reset, and look for c."),
    ),
    checkpoints=(TOOK_CRASH, MOVED_ON),
)

TAKES = Scenario(
    "kip-932-acquire-mode",
    "Asked for one record, given three",
    "A producer writes three records in one batch. share.acquire.mode says whether max.poll.records is "
    "taken at its word: app-1 asks with batch_optimized, the default, and app-2 with record_limit.",
    "KIP-1206, share.acquire.mode",
    _source.but(
        applications=(
            worker("app-1", max_records=1),
            worker("app-2", max_records=1, acquire_mode=RECORD_LIMIT),
            _writer(3),
        ),
        records=(_source.records[0], ("src-0", 100, ())),
    ),
    (
        Beat("app-3 writes three records", "They are one batch of the log, 100 to 102.", WRITES),
        Beat(
            "app-1 polls: three records",
            "batch_optimized takes the log's batch as it is, so that it need not be taken apart. M1 holds all "
            "three, under one lock.",
            polls("app-1"),
        ),
        Beat("app-3 writes three more", "The next batch, 103 to 105.", WRITES),
        Beat(
            "app-2 polls: one record",
            "record_limit acquires 103 only. 104 and 105 are free, and in flight: the next fetch may have "
            "them.",
            polls("app-2"),
        ),
        Beat(
            "app-2 is done, and polls again",
            "It gets 104: one record at a time, in three answers what one answer could have brought.",
            (*commits("app-2"), *polls("app-2")),
        ),
    ),
    ("app-1", "app-2", "app-3", "B5"),
    KAFKA,
    Question(
        3,
        "max.poll.records is 1, and the log's next batch has three records. What does record_limit take?",
        (
            Choice("the batch", False, "That is batch_optimized."),
            Choice(
                "103, and leaves the rest free",
                True,
                "Right: the answer still has the bytes of the whole batch, and the client is told what of it "
                "it has acquired.",
            ),
            Choice("nothing", False, "A batch can be acquired in part."),
        ),
    ),
    watch=(
        Watch(1, "Compare max_records of the request with the acquired records of the answer."),
        Watch(3, "Which state have 104 and 105, and how often were they delivered?"),
    ),
    checkpoints=(LET_BOTH_HOLD, SAW_ACQUISITION_LOCK_END),
)

STORIES: tuple[Scenario, ...] = (WINDOW, LATEST_SKIPS, TAKES)
