"""KIP-429: a rebalance in which members keep what they will get back, and what it takes to get there."""

from __future__ import annotations

from kipviz.records.classic_groups import COOPERATIVE_STICKY, RANGE
from kipviz.scenarios import programs
from kipviz.scenarios.material import SAW_JOIN_AGAIN, SAW_PARTITION_MOVED, Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.group_setting import spec_of
from kipviz.scenarios.stories.kip_62 import FIRST_GENERATION, SAW_WAITING, classic

STICKY = (COOPERATIVE_STICKY,)
LANES = ("app-1", "app-2", "B4", "B5")
BEATS = "the heartbeat interval of app-{}/consumer is over"

COOPERATIVE = Scenario(
    "kip-429-cooperative",
    "Two rebalances instead of one, and only one partition stops",
    "A second member joins a group of cooperative consumers. The first one joins with both partitions in its "
    "hands, is told to give one up, and joins once more. The other one it never lets go.",
    "KIP-429 Incremental Cooperative Rebalancing; CooperativeStickyAssignor",
    spec_of(
        classic("app-1", program=programs.READ, assignors=STICKY, max_records=1),
        classic("app-2", program=programs.READ, assignors=STICKY, max_records=1),
    ).but(records=(("src-0", 100, ("a", "b", "e")), ("src-1", 200, ("c", "d")))),
    (
        Beat(
            "Generation 1: C1 has both",
            "As ever: the first JoinGroup asks for a name, the group waits for more, the leader assigns.",
            ("app-1 goes on", "quiet", FIRST_GENERATION, "quiet", "app-1 goes on"),
        ),
        Beat(
            "C2 joins, C1 hears of it",
            "The group prepares generation 2 and waits for C1, whose heartbeat is answered "
            "REBALANCE_IN_PROGRESS.",
            ("app-2 goes on", "quiet", BEATS.format(1), "quiet"),
        ),
        Beat(
            "C1 joins with both partitions in its hands, and reads on",
            "In its subscription it says what it owns, and since which generation. Nothing is given up: an "
            "eager consumer would own nothing by now. So poll() fetches beside the JoinGroup, and comes back with b.",
            ("app-1 goes on", "until JoinGroup arrives at B4"),
        ),
        Beat(
            "Generation 2 waits for C1's next poll()",
            "JoinGroup is answered while app-1 works on b. Nobody looks at the answer before the next poll(), "
            "and as C1 leads, C2 waits for its assignment.",
            ("quiet",),
        ),
        Beat(
            "Generation 2: src-1 is nobody's new partition yet",
            "The leader wants src-0 for C1 and src-1 for C2. But src-1 is still C1's, so it assigns it to "
            "nobody: C1 gets src-0, C2 gets nothing.",
            (
                "app-1 goes on",
                "app-1 goes on",
                "app-1/consumer sends SyncGroup",
                "SyncGroup arrives at B4",
                "SyncGroupResponse arrives at app-1/consumer",
            ),
        ),
        Beat(
            "C1 gives up src-1, joins again, and reads e while that waits",
            "What it owned and was not assigned again it has to give up; that it has done so it says by "
            "joining. B4 waits for C2, and src-0 does not: poll() comes back with e.",
            ("quiet",),
        ),
        Beat(
            "Generation 3: C2 gets src-1",
            "A heartbeat tells C2 to join, too. Now nobody has to give up anything, and src-1 goes to its next "
            "owner. C1 never asked again for its offset in src-0.",
            (BEATS.format(2), "quiet", "app-1 goes on", "app-1 goes on", "quiet", "app-2 goes on"),
        ),
    ),
    LANES,
    ("kafka",),
    Question(
        4,
        "C1 owns src-0 and src-1, C2 nothing. How does the leader assign in generation 2?",
        (
            Choice(
                "src-0 to C1, src-1 to C2",
                False,
                "C2 would begin to read src-1 while C1 may still work on it: nobody waits for anybody "
                "between two answers to SyncGroup.",
            ),
            Choice(
                "src-0 to C1, src-1 to nobody",
                True,
                "Right: what moves is taken away first, and given in the next generation.",
            ),
        ),
    ),
    watch=(
        Watch(
            2,
            "Compare 'kip-62-rebalance' at the same place: there C1 owns nothing when its JoinGroup arrives, "
            "fetches nothing, and has to look up both partitions and read on from the committed offset.",
        ),
        Watch(
            3,
            "Members stop for nobody, but a generation waits for the slowest poll(): the answer to a JoinGroup, "
            "and the assignment that the leader has to make, are looked at there and nowhere else.",
        ),
        Watch(
            5,
            "The price: three generations instead of two. With KIP-848 there would be no generation at all, "
            "and the broker would do what the leader does here.",
        ),
    ),
    checkpoints=(
        SAW_WAITING,
        SAW_JOIN_AGAIN,
        Checkpoint("saw records come while a JoinGroup waits", "reads while it joins"),
        SAW_PARTITION_MOVED,
    ),
)

# What the first of two rolling bounces puts into partition.assignment.strategy; the second leaves STICKY.
BOTH = (COOPERATIVE_STICKY, RANGE)
JOINED = ("app-1 goes on", "app-2 goes on", "quiet", FIRST_GENERATION, FIRST_GENERATION, "quiet")


def _stopped_and_started(name: str) -> tuple[str, ...]:
    """Give the instructions by which a process leaves in good order and asks to join again."""
    goes = f"{name} goes on"
    return (goes, "quiet", f"{name} crashes", f"{name} starts", goes, "quiet")


ONE_BOUNCE = Scenario(
    "kip-429-one-bounce",
    "From eager to cooperative in one rolling bounce: nobody can come back",
    "Two consumers with the range assignor are to become cooperative ones. Whoever is started again with "
    "cooperative-sticky alone finds a group that does not know it.",
    "KIP-429 Compatibility, Deprecation, and Migration Plan; ClassicGroup.supportsProtocols",
    spec_of(
        classic("app-1", program=programs.READ_AND_UNSUBSCRIBE, later_assignors=(STICKY, BOTH)),
        classic("app-2", program=programs.READ),
    ),
    (
        Beat(
            "Generation 1: both know range",
            "C1 gets src-0, C2 gets src-1. Whoever joins names the assignors that it knows.",
            (*JOINED, "app-1 goes on", "app-2 goes on"),
        ),
        Beat(
            "app-1 is stopped, and started with cooperative-sticky alone",
            "It leaves; the group prepares generation 2 and waits for C2, which is still a member, and has "
            "said that it knows range.",
            ("app-1 goes on", "quiet", "app-1 crashes", "app-1 starts", "app-1 goes on"),
        ),
        Beat(
            "INCONSISTENT_GROUP_PROTOCOL",
            "No assignor is known to both. The error is not retried: poll() throws.",
            ("quiet",),
        ),
        Beat(
            "app-1 is started with both",
            "Now there is one that C2 knows as well, and it waits for its place in generation 2.",
            (
                "app-1 goes on",
                "app-1 crashes",
                "app-1 starts",
                "app-1 goes on",
                "quiet",
            ),
        ),
        Beat(
            "Generation 2: range, as before",
            "C2 hears of it, and joins. It knows range alone, so range is what all know.",
            ("app-2 goes on", BEATS.format(2), "quiet"),
        ),
    ),
    LANES,
    ("kafka",),
    Question(
        2,
        "app-1 asks to join with cooperative-sticky alone. What does Broker 4 do?",
        (
            Choice(
                "lets it in, and the group changes over",
                False,
                "C2 could not carry out an assignment that it does not understand.",
            ),
            Choice("refuses it", True, "Right: a group has an assignor that all its members know."),
            Choice(
                "takes C2 out",
                False,
                "The members that are there count; who comes has to fit.",
            ),
        ),
    ),
    watch=(
        Watch(
            2,
            "The broker compares names only. That one of them is cooperative and one is not, it does not know: "
            "what members do with their partitions is between consumers.",
        ),
        Watch(
            2,
            "In a rolling bounce of many processes every one of them would throw, one after the other, until none "
            "with range is left: the group stands still as a whole.",
        ),
    ),
    checkpoints=(
        SAW_WAITING,
        Checkpoint("saw a member refused for its assignors", "assignors refused"),
    ),
)

TWO_BOUNCES = Scenario(
    "kip-429-two-bounces",
    "From eager to cooperative in two rolling bounces: what each of them changes",
    "First everybody learns cooperative-sticky beside range, then everybody forgets range. In between the new "
    "assignor is voted for, and everything is still given up before each rebalance.",
    "KIP-429 Compatibility, Deprecation, and Migration Plan; ConsumerCoordinator (protocol)",
    spec_of(
        classic("app-1", program=programs.READ_AND_UNSUBSCRIBE, later_assignors=(BOTH, STICKY)),
        classic("app-2", program=programs.READ, assignors=BOTH),
    ),
    (
        Beat(
            "The first bounce has got as far as app-2",
            "C1 knows range, C2 knows both and likes cooperative-sticky better. Range is what both know.",
            (*JOINED, "app-1 goes on", "app-2 goes on", "app-2 goes on"),
        ),
        Beat(
            "The first bounce: app-1 is stopped, and started with both",
            "It leaves and asks to join again; the group waits for C2.",
            _stopped_and_started("app-1"),
        ),
        Beat(
            "C2 joins with nothing in its hands",
            "It hears of the rebalance, and gives src-1 up: a consumer that knows an eager assignor, too, is an "
            "eager one, because the group may vote for that.",
            (BEATS.format(2), "until JoinGroup arrives at B4"),
        ),
        Beat(
            "Generation 2: cooperative-sticky",
            "Both vote for it. It decides who gets what, and not yet what is given up beforehand.",
            ("quiet", "app-1 goes on", "app-2 goes on", "app-2 goes on"),
        ),
        Beat(
            "The second bounce: app-1 is started with cooperative-sticky alone",
            "All who are there know it, so it is let in. From now on C1 is a cooperative consumer.",
            _stopped_and_started("app-1"),
        ),
        Beat(
            "Generation 3: one of each",
            "C2 still gives everything up, C1 would not. That goes well: what nobody owns can be given to "
            "anybody. When app-2 has forgotten range as well, nobody stops for more than what moves.",
            (BEATS.format(2), "quiet", "app-1 goes on", "app-2 goes on"),
        ),
    ),
    LANES,
    ("kafka",),
    Question(
        2,
        "Both members know cooperative-sticky now. Does C2 keep src-1 while it joins?",
        (
            Choice(
                "Yes: that is what the assignor is for",
                False,
                "It cannot know that the group will not vote for range.",
            ),
            Choice(
                "No: it knows range, too",
                True,
                "Right: only who knows nothing but cooperative assignors keeps anything.",
            ),
        ),
    ),
    watch=(
        Watch(
            1,
            "'kip-429-one-bounce' leaves this step out: there app-1 is refused here.",
        ),
        Watch(
            4,
            "Nothing tells an operator that the first bounce is over. Who begins the second one too early is "
            "refused by the group, member by member, and nothing worse happens.",
        ),
    ),
    checkpoints=(
        SAW_WAITING,
        SAW_JOIN_AGAIN,
        Checkpoint("saw cooperative-sticky become the group's assignor", "assignor changed"),
    ),
)

STORIES: tuple[Scenario, ...] = (COOPERATIVE, ONE_BOUNCE, TWO_BOUNCES)
