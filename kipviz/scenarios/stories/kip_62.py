"""The classic group protocol (KIP-62, KIP-394): everybody stops, joins, and is told its share."""

from __future__ import annotations

from kipviz.cluster.spec import CLASSIC, ApplicationSpec
from kipviz.scenarios import programs
from kipviz.scenarios.material import (
    SAW_GENERATION_REFUSED,
    SAW_GONE,
    SAW_JOIN_AGAIN,
    SAW_LSO,
    SAW_PARTITION_MOVED,
    SAW_PENDING,
    SAW_ZOMBIE_REFUSED,
    Checkpoint,
    Watch,
)
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.group_setting import commits, member, spec_of
from kipviz.scenarios.stories.kip_848 import ONE_FULL

FIRST_GENERATION = "the initial delay of * is over at B4"
SAW_WAITING = Checkpoint("saw a group wait for those who have not joined", "group waits")


def classic(name: str = "app-1", **changes: object) -> ApplicationSpec:
    """Give an application whose consumer joins its group by the classic protocol."""
    return member(name, **{"protocol": CLASSIC, **changes})


def begins(name: str) -> tuple[str, ...]:
    """Give the instructions by which the first member of a group reads, begins, and sends outputs."""
    goes = f"{name} goes on"
    return (
        goes,
        "quiet",
        goes,
        goes,
        "quiet",
        FIRST_GENERATION,
        "quiet",
        goes,
        goes,
        goes,
        "quiet",
    )


READERS = (classic("app-1", program=programs.READ), classic("app-2", program=programs.READ))
REBALANCE = Scenario(
    "kip-62-rebalance",
    "The classic rebalance: everybody stops, everybody joins, the leader assigns",
    "A second member joins a group of the classic protocol. The first one gives up everything it has, "
    "both join the next generation, and one of them, not the broker, says who gets what.",
    "KIP-62; KIP-394 MEMBER_ID_REQUIRED; KIP-134 initial rebalance delay",
    spec_of(*READERS),
    (
        Beat(
            "C1 asks for a name",
            "The first JoinGroup has no member id. Broker 4 makes one, C1.1, and answers "
            "MEMBER_ID_REQUIRED: should that answer be lost, no member is left behind that nobody knows.",
            (
                "app-1 goes on",
                "until JoinGroup arrives at B4",
                "until JoinGroup* arrives at app-1/*",
            ),
        ),
        Beat(
            "C1 comes again with its name, and waits",
            "The group was empty, so Broker 4 waits for group.initial.rebalance.delay.ms: more members "
            "may come. C1 has no answer to its JoinGroup until then.",
            ("quiet",),
        ),
        Beat(
            "Generation 1: C1 leads, and assigns",
            "The answer to JoinGroup says generation 1, and that C1 is the leader. The leader makes the "
            "assignment itself and brings it with SyncGroup; the broker only writes it down.",
            (FIRST_GENERATION, "quiet", "app-1 goes on"),
        ),
        Beat(
            "C2 joins: the group prepares its next generation",
            "It gets the name C2.2 and joins with it. Its JoinGroup is not answered: Broker 4 waits until "
            "every member of generation 1 has joined again.",
            ("app-2 goes on", "quiet"),
        ),
        Beat(
            "C1 hears of it",
            "Nobody calls C1. Its next heartbeat is answered REBALANCE_IN_PROGRESS, and it will join "
            "again, but in poll() only.",
            ("the heartbeat interval of app-1/consumer is over", "quiet"),
        ),
        Beat(
            "C1 gives up everything, and joins",
            "In poll(), eagerly: src-0, too, which it will get back. Now both have joined: generation 2. "
            "For a moment nobody in the group reads anything.",
            ("app-1 goes on", "until JoinGroup arrives at B4"),
        ),
        Beat(
            "Generation 2: one partition for each",
            "C1 has joined first and leads. It sorts the member ids and gives each a range: src-0 to C1.1, "
            "src-1 to C2.2. C2's SyncGroup waits until the leader's has come and is replicated.",
            ("quiet", "app-1 goes on", "app-2 goes on"),
        ),
        Beat(
            "C1 is heard of no more",
            "Its session runs out. C2 leads now, but generation 2 is over: it has to join again to learn "
            "that.",
            ("the session of C1.1 in * runs out at B4",),
        ),
        Beat(
            "C2 stops, joins, and is alone",
            "A heartbeat, a JoinGroup that is answered at once, and generation 3: C2 leads and gives itself "
            "both partitions.",
            (
                "the heartbeat interval of app-2/consumer is over",
                "quiet",
                "app-2 goes on",
                "quiet",
            ),
        ),
        Beat(
            "C1 wakes up",
            "UNKNOWN_MEMBER_ID: the name C1.1 is worth nothing any more, and so is what it had.",
            ("the heartbeat interval of app-1/consumer is over", "quiet"),
        ),
    ),
    ("app-1", "app-2", "B4", "B5"),
    ("kafka",),
    Question(
        6,
        "Both have joined generation 2. Who decides who gets src-1?",
        (
            Choice(
                "Broker 4",
                False,
                "So it is with KIP-848. Here the broker cannot read what members say.",
            ),
            Choice(
                "C1, a consumer",
                True,
                "Right: the leader gets everybody's subscription with its answer to JoinGroup, and "
                "brings the assignment with SyncGroup.",
            ),
            Choice("each for itself", False, "The others learn it as the answer to SyncGroup."),
        ),
    ),
    watch=(
        Watch(
            4,
            "Look at the card of the group on Broker 4: C2.2 has joined the next generation, C1.1 has "
            "not. Until it does, C2 waits, however long C1's application works on its batch "
            "(max.poll.interval.ms at most).",
        ),
        Watch(
            6,
            "What the log gets is one record with the whole group, and only now: a coordinator that "
            "dies in beat 6 has forgotten generation 2.",
        ),
        Watch(
            8,
            "Compare with 'kip-848-rebalance': there C2 would have kept src-1 all the time, and "
            "Broker 4 would have given it src-0 with a heartbeat.",
        ),
    ),
    checkpoints=(
        SAW_WAITING,
        SAW_JOIN_AGAIN,
        SAW_PARTITION_MOVED,
        SAW_GONE,
    ),
)

IN_THE_MIDDLE = Scenario(
    "kip-62-in-the-middle",
    "A rebalance in the middle of a transaction: everybody waits for the one who works",
    "The story 'kip-848-no-listener' with the classic protocol. A second member joins while the first "
    "one has a transaction open. Nothing is taken away behind its back: the group waits until its poll().",
    "KIP-62 rebalance; KIP-447: offsets of the present generation while a group prepares the next",
    spec_of(classic("app-1"), classic("app-2")).but(records=ONE_FULL),
    (
        Beat(
            "app-1 works on c and d of src-1",
            "C1.1 is generation 1, alone, with both partitions; src-0 is empty. The outputs are sent, the "
            "offsets not yet.",
            begins("app-1"),
        ),
        Beat(
            "app-2 joins, and waits",
            "The group goes to PREPARING_REBALANCE. It stays at generation 1 until C1 has joined again.",
            ("app-2 goes on", "quiet", "app-2 goes on", "app-2 goes on", "quiet"),
        ),
        Beat(
            "C1 hears of it, and does nothing",
            "The heartbeat is the background thread's, and that may not take anything away: an eager "
            "consumer gives up its partitions in poll() only.",
            ("the heartbeat interval of app-1/consumer is over", "quiet"),
        ),
        Beat(
            "app-1: sendOffsetsToTransaction()",
            "The offset of src-1 in the name of C1.1, generation 1. That is still the group's generation, "
            "so Broker 4 takes it: this is the time for members to finish what they have begun.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "app-1 commits",
            "The outputs of c and d are committed, once, and so is the offset.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "app-1 polls: generation 2",
            "It gives up what it has and joins. C2, which has waited for all of this, gets src-1 and "
            "begins behind d.",
            ("app-1 goes on", "quiet"),
        ),
    ),
    ("app-1", "app-2", "B4", "B3"),
    ("kafka",),
    Question(
        3,
        "The group prepares its next generation. app-1 sends offsets of generation 1. What does Broker 4 "
        "say?",
        (
            Choice(
                "REBALANCE_IN_PROGRESS",
                False,
                "That is what a heartbeat hears. Offsets are taken as long as the generation is the same.",
            ),
            Choice(
                "no error",
                True,
                "Right: generation 1 is over when everybody has joined generation 2, not when somebody "
                "asks for it.",
            ),
            Choice("ILLEGAL_GENERATION", False, "There is no generation 2 yet."),
        ),
    ),
    watch=(
        Watch(
            2,
            "app-2 has read nothing since it started, and cannot. With KIP-848 it would have had src-1 by "
            "now, and app-1 would commit c and d for the second time: 'kip-848-no-listener'.",
        ),
        Watch(
            5,
            "The price: one slow member holds up all others, for max.poll.interval.ms at most; then it "
            "is thrown out, and has to abort.",
        ),
    ),
    checkpoints=(
        SAW_WAITING,
        SAW_JOIN_AGAIN,
        SAW_PENDING,
        SAW_PARTITION_MOVED,
    ),
)

TOO_SLOW = Scenario(
    "kip-62-too-slow",
    "Too slow for the rebalance: the group goes on without a member that lives",
    "The same, but the first member works on its batch for longer than the group may wait. It has beaten "
    "all the time, and is out all the same.",
    "KIP-62 max.poll.interval.ms as rebalance time-out; KIP-447 Fence zombie",
    spec_of(classic("app-1"), classic("app-2")).but(records=ONE_FULL),
    (
        IN_THE_MIDDLE.beats[0],
        IN_THE_MIDDLE.beats[1],
        IN_THE_MIDDLE.beats[2],
        Beat(
            "The rebalance time-out: generation 2 without C1",
            "Whoever has not joined by now is out. C2 has joined, so it leads, and gives itself both "
            "partitions.",
            ("the rebalance time-out of * runs out at B4", "quiet"),
        ),
        Beat(
            "app-2 processes c and d, and commits them",
            "No offset of src-1 is pending, and none is committed: it begins at c.",
            ("app-2 goes on", "app-2 goes on", "app-2 goes on", "quiet", *commits("app-2")),
        ),
        Beat(
            "app-1: sendOffsetsToTransaction()",
            "In the name of C1.1, generation 1: UNKNOWN_MEMBER_ID. The zombie never stood still, it was "
            "only slow.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "app-1 aborts",
            "Its outputs of c and d are never seen by who reads committed records.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
    ),
    ("app-1", "app-2", "B4", "B3"),
    ("kafka", "before-447"),
    Question(
        3,
        "C1 beats on time, but does not poll. What becomes of it?",
        (
            Choice(
                "it stays: it is alive",
                False,
                "A heartbeat says that the process lives, not that it gets on.",
            ),
            Choice(
                "it is taken out when the rebalance time-out is over",
                True,
                "Right: that is max.poll.interval.ms, which it sent with its JoinGroup.",
            ),
            Choice("the group waits for ever", False, "Then one hung thread would stop everybody."),
        ),
    ),
    watch=(
        Watch(
            3,
            "The generation goes up without C1, and Broker 4 does not tell it so. Everything it does from "
            "here on, it does as a zombie with a good conscience.",
        ),
        Watch(
            5,
            "Look at the guards of TxnOffsetCommit: generation 1 of the request, and a group that has no "
            "such member. Played under 'before-447' nobody asks, and c and d are committed twice.",
        ),
    ),
    checkpoints=(
        SAW_WAITING,
        SAW_JOIN_AGAIN,
        SAW_ZOMBIE_REFUSED,
        SAW_LSO,
    ),
)

COORDINATOR_GONE = Scenario(
    "kip-62-coordinator-gone",
    "The coordinator dies between two generations: there will be another generation 2",
    "Both members have heard of generation 2, and the leader has made its assignment. Before that is in the "
    "log the coordinator dies. The next one knows of generation 1.",
    "KIP-62; GroupMetadataManager.replay, classicGroupSync; GroupMetadataValue",
    spec_of(*READERS),
    (
        Beat(
            "C1 alone is generation 1",
            "It leads, and has both partitions. That is in the log of Broker 4, and on Broker 3.",
            ("app-1 goes on", "quiet", FIRST_GENERATION, "quiet", "app-1 goes on"),
        ),
        Beat(
            "C2 joins, C1 hears of it and joins again",
            "Generation 2 begins with both. In memory: the log still ends with generation 1.",
            (
                "app-2 goes on",
                "quiet",
                "the heartbeat interval of app-1/consumer is over",
                "quiet",
                "app-1 goes on",
                "until JoinGroup arrives at B4",
                "JoinGroupResponse arrives at app-1/consumer",
                "JoinGroupResponse arrives at app-2/consumer",
            ),
        ),
        Beat(
            "Broker 4 crashes, Broker 3 takes office",
            "It reads the log and finds a stable group: generation 1, with C1.1 alone. Nothing of the "
            "rebalance has been written.",
            ("B4 crashes", "__consumer_offsets* takes office on B3"),
        ),
        Beat(
            "Both sync for generation 2, and both are refused",
            "C1 brings the assignment: Broker 3 knows C1.1, but not that generation, so ILLEGAL_GENERATION. "
            "Of C2.2 nobody has written down anything: UNKNOWN_MEMBER_ID. It gets another name, C2.1.1, "
            "because one that was given out before must never come again.",
            ("until SyncGroup* arrives at app-1/*",),
        ),
        Beat(
            "Both join: generation 2, for the second time",
            "C1 and C2 have joined, the leader assigns, and now it is in the log.",
            ("quiet",),
        ),
    ),
    ("app-1", "app-2", "B4", "B3"),
    ("kafka",),
    Question(
        3,
        "C1 brings the assignment of generation 2 to the new coordinator. What does that say?",
        (
            Choice(
                "it takes it: C1 is the leader",
                False,
                "Of generation 1. Of a second generation this coordinator has never heard.",
            ),
            Choice(
                "ILLEGAL_GENERATION",
                True,
                "Right: what was not written did not happen. All join once more.",
            ),
            Choice(
                "COORDINATOR_LOAD_IN_PROGRESS",
                False,
                "It has read its log already and is in office.",
            ),
        ),
    ),
    watch=(
        Watch(
            2,
            "The card of the group on Broker 3: STABLE, generation 1. A rebalance leaves a trace in the log "
            "when it is over, and not before.",
        ),
        Watch(
            4,
            "There were two generations 2. A generation alone does not name a moment of the group; "
            "a member id together with it does, because no id is given out twice.",
        ),
    ),
    checkpoints=(
        SAW_WAITING,
        SAW_GENERATION_REFUSED,
        Checkpoint("saw a broker crash", "broker crashed"),
    ),
)

STORIES: tuple[Scenario, ...] = (REBALANCE, IN_THE_MIDDLE, TOO_SLOW, COORDINATOR_GONE)
