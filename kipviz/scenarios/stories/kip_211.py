"""KIP-211: what a group has read is forgotten a week after its last member has gone."""

from __future__ import annotations

from kipviz.brokers.settings import BrokerSettings
from kipviz.cluster.clock import TICKS, TIMED, Clock
from kipviz.cluster.spec import ApplicationSpec, ClusterSpec, Durations
from kipviz.scenarios import programs
from kipviz.scenarios.material import SAW_GONE, SAW_LSO, SAW_PENDING, Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.group_setting import commits, member, spec_of, two_topics
from kipviz.scenarios.stories.kip_62 import FIRST_GENERATION, begins, classic

FORGOTTEN = Scenario(
    "kip-211-forgotten",
    "A week's holiday: the group's offsets are forgotten, and everything is processed again",
    "An application commits in transactions, exactly once, and is switched off for longer than "
    "offsets.retention.minutes. When it comes back there is no group and no offset.",
    "KIP-211 Revise Expiration Semantics of Consumer Group Offsets; offsets.retention.minutes",
    spec_of(classic("app-1")).but(settings=BrokerSettings(offsets_expire=True)),
    (
        Beat(
            "app-1 processes a and b, and commits",
            "Outputs and offset in one transaction: offset 102 of src-0 is the group's.",
            (*begins("app-1"), *commits("app-1")),
        ),
        Beat(
            "app-1 is switched off",
            "Its session runs out, and the group is empty: generation 2, nobody in it. From now on the "
            "retention of its offsets runs; as long as it had members it did not.",
            ("app-1 crashes", "the session of C1.1 in * runs out at B4"),
        ),
        Beat(
            "A week later",
            "Broker 4 writes a tombstone for the offset, and one for the group: nothing is pending and "
            "nobody is there.",
            ("the retention of the offsets of * runs out at B4",),
        ),
        Beat(
            "app-1 comes back, and begins at a",
            "JoinGroup makes a new group, generation 1. It asks where the group left off and is told: "
            "nowhere. auto.offset.reset says earliest.",
            (
                "app-1 starts",
                *begins("app-1"),
            ),
        ),
        Beat(
            "The outputs of a and b are committed once more",
            "Every transaction was atomic, no zombie was there, and no error was seen.",
            commits("app-1"),
        ),
    ),
    ("app-1", "B4", "B3", "B5"),
    ("kafka",),
    Question(
        3,
        "app-1 asks Broker 4 for the committed offset of src-0. What is the answer?",
        (
            Choice("102", False, "That was forgotten with the group."),
            Choice("an error", False, "A group that has committed nothing is no error."),
            Choice(
                "no error, and no offset",
                True,
                "Right: it looks the same as for a group that is new, so nobody notices.",
            ),
        ),
    ),
    watch=(
        Watch(
            2,
            "Until Kafka 2.1 it was worse: the week was counted from each commit, so a partition without "
            "new records lost its offset while the group was at work.",
        ),
        Watch(
            3,
            "With auto.offset.reset=latest nothing would be done twice: what was written in the meantime "
            "would be skipped. Only 'none' makes the application stop and ask.",
        ),
    ),
    checkpoints=(
        SAW_GONE,
        SAW_PENDING,
        SAW_LSO,
    ),
)

# A week that is a minute: what is compared is from when it counts, not how long it is.
MINUTE = Durations(
    consumer_heartbeat_interval_ms=30_000,
    heartbeat_interval_ms=30_000,
    offsets_retention_minutes=1,
    offsets_retention_check_ms=10_000,
)
WORKS = programs.GROUP_LOOP_AND_UNSUBSCRIBE
GOES = "app-1 goes on"
BEATS = "the heartbeat interval of app-1/consumer is over"
LANES = ("app-1", "B4", "B5")


def _timed(app: ApplicationSpec) -> ClusterSpec:
    """Give the cluster of a week that is a minute long, with one member."""
    return spec_of(app).but(
        settings=BrokerSettings(offsets_expire=True),
        clock=Clock(TIMED, tick=TICKS[1]),
        durations=MINUTE,
    )


def _works(*joins: str) -> Beat:
    """Give the beat in which the only member processes a and b."""
    return Beat(
        "app-1 processes a and b, and commits",
        "It is the only member. Outputs and offset are one transaction: offset 102 of src-0 is the group's, and "
        "Broker 4 keeps the time of the commit.",
        (GOES, "quiet", GOES, *_reads(*joins), *commits("app-1")),
    )


def _reads(*joins: str) -> tuple[str, ...]:
    """Give the instructions by which app-1 joins, reads, begins a transaction, and sends outputs."""
    return (GOES, "quiet", *joins, GOES, GOES, GOES, "quiet")


IDLE_FOR_A_WEEK = Beat(
    "A week without anything new",
    "Nothing is written to src, so there is nothing to read and nothing to commit. app-1 is there all the time: "
    "its heartbeats come.",
    ("time passes", BEATS, "quiet", "time passes", BEATS, "quiet"),
)
STOPPED = Beat(
    "app-1 is stopped, to be started again",
    "unsubscribe(): it leaves, and its group has no member. That is what every rolling restart of an application "
    "with one process does.",
    (GOES, "quiet", GOES),
)
JOINS_ALONE = ("time passes", FIRST_GENERATION, "quiet")

IDLE_MODERN = Scenario(
    "kip-211-idle-modern",
    "A quiet week, then a restart: with KIP-848 the offsets are gone at once",
    "A group is at work for a week in which nothing is written. Then its only process is restarted. Nobody was "
    "away for longer than a moment, and the group begins from the beginning. A week is a minute here.",
    "KIP-211 and KIP-848; ConsumerGroup.offsetExpirationCondition. Found by reading 4.4.0; no issue known to us",
    _timed(member("app-1", program=WORKS)),
    (
        _works(),
        IDLE_FOR_A_WEEK,
        STOPPED,
        Beat(
            "The next check: older than a week, and nobody subscribes",
            "Of a group of KIP-848 it is counted from each offset's own commit, and that is a week ago. Until "
            "now a member that subscribes to src was what kept it. Broker 4 forgets the offset, and the group.",
            ("the retention of the offset of src-0 in * runs out at B4",),
        ),
        Beat(
            "app-1 is back, and processes a and b once more",
            "It was away for less than the time between two checks. There is no offset, so auto.offset.reset "
            "says earliest. With latest, what is written meanwhile would be skipped.",
            (*_reads(), *commits("app-1")),
        ),
    ),
    LANES,
    ("kafka",),
    Question(
        3,
        "The group has been without a member for a moment. Its offset is a week old. What does Broker 4 do?",
        (
            Choice(
                "It keeps it for another week",
                False,
                "That is what KIP-211 says, and what a group of the classic protocol gets.",
            ),
            Choice(
                "It forgets it",
                True,
                "Right: a group of KIP-848 keeps no time at which it became empty.",
            ),
        ),
    ),
    watch=(
        Watch(
            1,
            "Look at what is due: nothing of the offsets, however old they become. A topic that somebody "
            "subscribes to is not looked at.",
        ),
        Watch(
            3,
            "What helps: commit the same positions again now and then, as automatic commits do, so that a commit is "
            "never old; or a longer offsets.retention.minutes.",
        ),
        Watch(
            4,
            "Compare 'kip-211-idle-classic': the same, step by step, and b is not read twice.",
        ),
    ),
    checkpoints=(
        Checkpoint("saw offsets of a group forgotten", "offsets forgotten"),
        Checkpoint("saw a group go with its last offset", "group forgotten"),
    ),
)

IDLE_CLASSIC = Scenario(
    "kip-211-idle-classic",
    "A quiet week, then a restart: the classic protocol counts from when the group became empty",
    "A group is at work for a week in which nothing is written. Then its only process is restarted, and goes on "
    "where it was. A week is a minute here.",
    "KIP-211; ClassicGroup.offsetExpirationCondition (currentStateTimestamp)",
    _timed(classic("app-1", program=WORKS)),
    (
        _works(*JOINS_ALONE),
        IDLE_FOR_A_WEEK,
        STOPPED,
        Beat(
            "The next check finds nothing",
            "The group became empty a moment ago: its offsets are kept for a week from now, however long ago "
            "they were committed.",
            ("time passes",),
        ),
        Beat(
            "app-1 is back, and goes on behind b",
            "Offset 102 is there, and a and b are behind it: poll() gives c and d of src-1, which it had not read yet.",
            (*_reads(*JOINS_ALONE), *commits("app-1")),
        ),
    ),
    LANES,
    ("kafka",),
    Question(
        3,
        "What is the earliest moment at which Broker 4 may forget the offset of src-0?",
        (
            Choice("now: it is a week old", False, "That was the rule until Kafka 2.1."),
            Choice(
                "a week after the group became empty",
                True,
                "Right: the record of the group has that time.",
            ),
        ),
    ),
    watch=(
        Watch(
            3,
            "Open what is due: the offsets of the group, in a week less the moment that passed.",
        ),
        Watch(
            2,
            "Compare 'kip-211-idle-modern', where the same restart costs everything that was committed.",
        ),
    ),
    checkpoints=(
        Checkpoint("saw an empty group keep its offsets", "empty group keeps offsets"),
        Checkpoint("saw a committed offset found again", "offset found again"),
    ),
)

BOTH_TOPICS = two_topics(
    member("app-1", program=programs.resubscribing("old, src", "src", "old, src"), max_records=1)
).but(settings=BrokerSettings(offsets_expire=True))
PROCESSES = (GOES, "quiet", GOES, GOES, GOES, "quiet", *commits("app-1"))
TOLD = (GOES, BEATS, "quiet")

UNSUBSCRIBED = Scenario(
    "kip-211-unsubscribed",
    "A topic that nobody subscribes to any more: its offset goes, and the group stays",
    "A group reads two topics, then one of them, and after more than a week both again. It had a member all the "
    "time, and what it had processed of the other topic is processed once more.",
    "KIP-211, KIP-496; OffsetMetadataManager.cleanupExpiredOffsets, ConsumerGroup.isSubscribedToTopic",
    BOTH_TOPICS,
    (
        Beat(
            "app-1 subscribes to old and src, and processes x",
            "subscribe() says it, and the first heartbeat tells it. C1 is alone and gets old-0, src-0 and src-1. "
            "Offset 301 of old-0 is committed with the output.",
            (GOES, "quiet", GOES, GOES, *PROCESSES),
        ),
        Beat(
            "It subscribes to src alone",
            "The next heartbeat says so: a new subscription, so the group comes to its next epoch, and the next "
            "target has nothing of old. In poll() app-1 gives old-0 up. It goes on with a of src-0.",
            (*TOLD, *PROCESSES),
        ),
        Beat(
            "A week after that commit",
            "Nobody in the group subscribes to old. Broker 4 forgets offset 301 of old-0. What it has of src it "
            "keeps: somebody subscribes to that.",
            ("the retention of the offset of old-0 in * runs out at B4",),
        ),
        Beat(
            "It subscribes to both again: x once more",
            "old-0 is given to C1 as before. There is no offset any more, so it begins at the earliest record, and "
            "the output of x is committed for the second time.",
            (*TOLD, *PROCESSES),
        ),
    ),
    LANES,
    ("kafka",),
    Question(
        2,
        "The group has a member, and offsets of old-0 and src-0. Both are a week old. Which one is forgotten?",
        (
            Choice(
                "none: the group has a member",
                False,
                "It is asked for each topic whether anybody subscribes to it.",
            ),
            Choice("that of old-0", True, "Right: to src somebody subscribes."),
            Choice(
                "both",
                False,
                "Until Kafka 2.1 it was so, while the group was at work.",
            ),
        ),
    ),
    watch=(
        Watch(
            1,
            "OffsetDelete would be possible from now on: as long as somebody subscribed to old it was refused with "
            "GROUP_SUBSCRIBED_TO_TOPIC.",
        ),
        Watch(
            3,
            "It was the application's will not to read old for a week. That coming back means to begin anew, nobody told it.",
        ),
    ),
    checkpoints=(
        Checkpoint("saw offsets of a group forgotten", "offsets forgotten"),
        Checkpoint("saw a subscription change", "subscription changed"),
    ),
)

STORIES: tuple[Scenario, ...] = (FORGOTTEN, IDLE_CLASSIC, IDLE_MODERN, UNSUBSCRIBED)
