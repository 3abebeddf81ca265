"""KIP-848: a subscription by an expression, which the broker resolves, and members who want different things."""

from __future__ import annotations

from kipviz.scenarios import programs
from kipviz.scenarios.material import SAW_PARTITION_MOVED, Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.group_setting import member, two_topics

BEATS = "the heartbeat interval of app-{}/consumer is over"

BY_EXPRESSION = Scenario(
    "kip-848-regex",
    "An expression instead of names: the broker finds the topics, and says no to what is none",
    "One member subscribes by an expression, the other one by a name. The broker knows what each of them may have. "
    "Then the second one brings an expression with a mistake in it, and stands still with its partition.",
    "KIP-848 SubscribedTopicRegex; TopicRegexResolver, UniformHeterogeneousAssignmentBuilder",
    two_topics(
        member("app-1", program=programs.reading("pattern (old|src)"), max_records=1),
        member("app-2", program=programs.reading("src", "pattern src("), max_records=1),
    ),
    (
        Beat(
            "C1 subscribes by (old|src)",
            "Its heartbeat has no names, but an expression. Broker 4 looks for the topics whose whole name it matches, "
            "and writes them down. C1 is alone: it gets old-0, src-0 and src-1.",
            ("app-1 goes on", "app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "C2 subscribes to src",
            "Now two members want different things. old-0 can be nobody's but C1's, so C1 is to give up one of src: "
            "two partitions for the one, one for the other.",
            ("app-2 goes on", "app-2 goes on", "quiet"),
        ),
        Beat(
            "src-0 goes to C2",
            "A heartbeat tells C1, it gives src-0 up in poll(), and C2 gets it with a heartbeat of its own.",
            (
                "app-1 goes on",
                BEATS.format(1),
                "quiet",
                BEATS.format(2),
                "quiet",
                "app-2 goes on",
            ),
        ),
        Beat(
            "C2 brings an expression with a mistake",
            "Of 'src(' Broker 4 says INVALID_REGULAR_EXPRESSION. For the consumer that is a fatal error.",
            ("app-2 goes on", BEATS.format(2), "quiet"),
        ),
        Beat(
            "src-0 is read by nobody until C2's session is over",
            "A consumer in its fatal error beats no more, and has not left. When its session is over, C1 gets src-0 "
            "back.",
            (
                "the session of C2 in * runs out at B4",
                BEATS.format(1),
                "quiet",
                "app-1 goes on",
                "quiet",
            ),
        ),
    ),
    ("app-1", "app-2", "B4", "B5"),
    ("kafka",),
    Question(
        1,
        "C1 has old-0, src-0 and src-1 by (old|src). C2 comes and wants src. What is C1 to keep?",
        (
            Choice(
                "old-0 and one of src",
                True,
                "Right: old-0 cannot be anybody else's, and 2 to 1 is as even as it gets.",
            ),
            Choice(
                "old-0 alone",
                False,
                "That would be 1 to 2, and would move one partition more than that takes.",
            ),
            Choice("all three", False, "C2 would have nothing, although src has two partitions."),
        ),
    ),
    watch=(
        Watch(
            0,
            "Compare the log of the group with the classic protocol: there a pattern is the client's, every consumer looks "
            "for topics by itself, and two of them may see different ones.",
        ),
        Watch(
            3,
            "It is the same with a name in use: what is fatal to a consumer is not known to its group. Not even close() "
            "says goodbye: a consumer in that state takes itself for out of its group.",
        ),
    ),
    checkpoints=(
        Checkpoint("saw a subscription by an expression", "expression resolved"),
        Checkpoint("saw an expression refused", "expression refused"),
        SAW_PARTITION_MOVED,
    ),
)

STORIES: tuple[Scenario, ...] = (BY_EXPRESSION,)
