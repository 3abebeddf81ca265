"""KIP-1106: a consumer that begins by_duration, and a partition in which nothing is young enough."""

from __future__ import annotations

from kipviz.cluster.clock import TICKS, TIMED, Clock
from kipviz.cluster.spec import ClusterSpec, Placement, PlainSpec
from kipviz.messages.reset_policy import BY_DURATION
from kipviz.records.placement import CONSUMER_OFFSETS
from kipviz.scenarios import programs
from kipviz.scenarios.material import Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.group_setting import member
from kipviz.scenarios.stories.setting import GROUP, PLAYGROUND, group_app, home

FIVE_SECONDS = f"{BY_DURATION}PT5S"
WRITERS = "writers"
SPEC = ClusterSpec(
    (3, 4, 5),
    (
        Placement(home(CONSUMER_OFFSETS, GROUP), 4, (3,)),
        Placement(home(CONSUMER_OFFSETS, WRITERS), 3, (4,)),
        Placement("src-0", 5, (4,)),
        Placement("in-0", 3, (5,)),
    ),
    (
        member(
            "app-1",
            program=programs.READ,
            auto_offset_reset=FIVE_SECONDS,
            transactional_id="",
            plain=PlainSpec(),
            output="src-0",
        ),
        group_app(
            name="app-2",
            transactional_id="",
            program=programs.SEND_THREE,
            group_id=WRITERS,
            source="in-0",
            output="src-0",
            plain=PlainSpec(idempotence=False),
            max_records=1,
        ),
    ),
    (("in-0", 0, ("a", "b", "c")),),
    (("src", "AAAAAAAAAAAAAAAAAAAAAQ"), ("in", "AAAAAAAAAAAAAAAAAAAAAg")),
    PLAYGROUND,
    clock=Clock(TIMED, tick=TICKS[1], stamps=True),
)
READS = ("app-2 goes on", "until FetchResponse arrives at app-2/consumer", "app-2 goes on")
WRITES = (
    *READS,
    "app-2 goes on",
    "app-2/producer sends Produce",
    "Produce arrives at B5",
    "ProduceResponse arrives at app-2/producer",
)
ASKS_AGAIN = "the wait for another reset of app-1/consumer is over"

PASSED_OVER = Scenario(
    "kip-1106-passed-over",
    "by_duration, and a partition in which nothing is written yet",
    "Kafka's documentation recommends by_duration for partitions that are new, because latest passes over their first "
    "records. A duration that is short does so, too.",
    "KIP-1106 auto.offset.reset=by_duration; OffsetsRequestManager, request.timeout.ms",
    SPEC,
    (
        Beat(
            "app-1 joins, and src-0 is empty",
            "The group has no offset there, and auto.offset.reset is by_duration:PT5S. The consumer looks at its clock and "
            "asks for the first record of the last five seconds. There is none: the answer is -1, and no error. So it "
            "has no position, and asks again when request.timeout.ms is over.",
            ("app-1 goes on", "quiet"),
        ),
        Beat(
            "After 5 s a is written",
            "app-2 sends it. Broker 5 has it at offset 0, and nobody tells app-1.",
            ("time passes", *WRITES),
        ),
        Beat("After 30 s b is written", "It goes to offset 1.", ("time passes", *WRITES)),
        Beat(
            "app-1 asks again, 30 s after the first time",
            "Again for the last five seconds: these are later ones. The first record in them is b, and the position is 1.",
            (ASKS_AGAIN, "quiet", "app-1 goes on"),
        ),
    ),
    ("app-1", "B5", "app-2"),
    ("kafka",),
    Question(
        3,
        "app-1 was there before a and b were written, and was in poll() all the time. What does poll() bring?",
        (
            Choice("a and b", False, "earliest would."),
            Choice(
                "b",
                True,
                "Right: a is 25 s old when the consumer asks again, and it asks for nothing older than 5 s.",
            ),
            Choice("nothing", False, "b was written in the last five seconds."),
        ),
    ),
    watch=(
        Watch(
            0,
            "The bytes of ListOffsets: a time where earliest has -2 and latest -1. The answer has offset -1 and time -1, "
            "and its error is NONE.",
        ),
        Watch(
            3,
            "What helps: a duration that is longer than request.timeout.ms. Try app-1.auto_offset_reset=by_duration:PT1M, "
            "or earliest. The documentation's example is PT5S; that it is too short here is our finding.",
        ),
    ),
    checkpoints=(
        Checkpoint("saw a consumer told that no record is young enough", "none young enough"),
        Checkpoint("saw a position behind a record that nobody has read", "passed over"),
    ),
)

STORIES: tuple[Scenario, ...] = (PASSED_OVER,)
