"""KIP-98: a consumer whose position is not in the log any more (auto.offset.reset)."""

from __future__ import annotations

from kipviz.messages.reset_policy import EARLIEST
from kipviz.scenarios.material import Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.setting import PLAYGROUND, group_app, group_spec

GO = "app-1 goes on"
DELETED = "the oldest batch of src-0 is deleted"
APP = group_app(max_records=1, auto_offset_reset=EARLIEST)
SPEC = group_spec(APP).but(
    records=(("src-0", 100, ("a", "b", "c", "d")),), budget=PLAYGROUND.but(delete_records=3)
)

AWAY = Scenario(
    "kip-98-away-too-long",
    "A consumer that was away for longer than the log remembers",
    "A group has committed offset 101, and retention has deleted what was there. Its consumer reads on "
    "somewhere else, and nobody is told.",
    "KIP-98, exactly once; auto.offset.reset, OFFSET_OUT_OF_RANGE",
    SPEC,
    (
        Beat(
            "A group that has read nothing yet",
            "Broker 4 knows no offset of the group. So auto.offset.reset decides, here earliest: the "
            "consumer asks Broker 5 where src-0 begins (ListOffsets), and reads from 100 on.",
            (GO, "quiet", GO, GO, "quiet", GO),
        ),
        Beat(
            "a is done, exactly once",
            "Output and offset in one transaction: f(a) is committed, and so is offset 101.",
            (GO, GO, GO, "quiet", GO, GO, "quiet", GO),
        ),
        Beat(
            "app-1 is away, and retention goes on",
            "The process is down. The log of src-0 is deleted from its front, one batch after the other: it "
            "begins at 103 now. b and c were never read.",
            ("app-1 crashes", DELETED, DELETED, DELETED),
        ),
        Beat(
            "It is back, and asks for offset 101",
            "Broker 4 gives it the committed offset, 101. Broker 5 does not have that any more, and says "
            "OFFSET_OUT_OF_RANGE.",
            ("app-1 starts", GO, "quiet", GO, GO, "until FetchResponse arrives at app-1/consumer"),
        ),
        Beat(
            "It reads on at 103",
            "earliest once more: the consumer asks where the log begins, and poll() brings d. No exception, "
            "no word: every promise of the transactions holds, and b and c are not in the output.",
            ("quiet", GO),
        ),
    ),
    ("app-1", "B4", "B5", "B1"),
    ("kafka",),
    Question(
        3,
        "The group has committed 101, and the log begins at 103. What does poll() do?",
        (
            Choice(
                "it throws OffsetOutOfRangeException",
                False,
                "That is what auto.offset.reset=none is for.",
            ),
            Choice(
                "it brings d, offset 103",
                True,
                "Right: the position is reset to where the log begins, and the application is not told.",
            ),
            Choice(
                "it waits: the next record of the group is 101",
                False,
                "Nobody will ever write offset 101 again. With latest it would wait, at the end of the log.",
            ),
        ),
    ),
    watch=(
        Watch(
            3,
            "The request goes out with offset 101, and an error comes back. What in app-1 has changed "
            "after that? Its program does not see it.",
        ),
        Watch(
            4,
            "Kafka's default is latest: then d is skipped as well. Try app-1.auto_offset_reset=latest, "
            "and none, which throws: for a pipeline that may lose nothing it is the honest one.",
        ),
    ),
    checkpoints=(
        Checkpoint("saw a log's front deleted", "log pruned"),
        Checkpoint("saw a fetch from before the log refused", "out of range"),
        Checkpoint("saw a consumer told where the log begins", "position reset"),
    ),
)

STORIES: tuple[Scenario, ...] = (AWAY,)
