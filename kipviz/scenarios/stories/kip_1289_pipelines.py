"""KIP-1289: the three pipelines of its motivation, each as a story."""

from __future__ import annotations

from kipviz.clients.application import Call, Line
from kipviz.cluster.spec import Placement
from kipviz.scenarios import programs
from kipviz.scenarios.material import (
    BROUGHT_TO_END,
    LET_BOTH_HOLD,
    SAW_LSO,
    SAW_STAGED,
    TOOK_CLIENT_CRASH,
    TOOK_CRASH,
    Watch,
)
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.setting import SHARE_PLACEMENTS, TOPIC_IDS, share_app, share_spec

# One round of the loop, as a beat each: what a member does from poll() to its markers.
POLL = ("{0} goes on", "quiet", "{0} goes on")
WORK = ("{0} goes on", "{0} goes on", "quiet", "{0} goes on", "quiet")
COMMIT = ("{0} goes on", "quiet", "{0} goes on", "maybe B5 refreshes src-0", "quiet")


def _round(app: str, *parts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(step.format(app) for part in parts for step in part)


MIRROR = Scenario(
    "kip-1289-mirroring",
    "Mirroring: two tasks copy one partition",
    "Two tasks of a mirror share the source partition; each copies its records in transactions of "
    "its own, and every record is copied once.",
    "KIP-1289, Motivation, 1.",
    share_spec(
        share_app("app-1", max_records=2),
        share_app("app-2", max_records=2),
        values=("a", "b", "c", "d"),
    ),
    (
        Beat(
            "Two tasks start",
            "Each has a transactional id of its own, and both are members of one share group.",
            _round("app-1", POLL) + _round("app-2", POLL),
        ),
        Beat(
            "poll(): one partition, two readers",
            "In a regular group one of the two would be idle: a partition has one owner. Here each "
            "has records of its own.",
            _round("app-1", POLL) + _round("app-2", POLL),
        ),
        Beat(
            "The first task copies and stages",
            "Records 100 and 101 are in the target, but not visible yet.",
            _round("app-1", WORK),
        ),
        Beat(
            "The second task copies, stages and commits",
            "It overtakes the first one: records 102 and 103 are done, 100 and 101 are not.",
            _round("app-2", WORK, COMMIT),
        ),
        Beat(
            "The first task commits",
            "The start offset moves over all four at once.",
            _round("app-1", COMMIT),
        ),
    ),
    ("app-1", "app-2", "B3", "B5"),
    ("repaired", "as-written", "finding-B"),
    Question(
        4,
        "The second task has committed. How far do readers of committed data get in the target?",
        (
            Choice("past its two records", False, "They lie behind an open transaction."),
            Choice(
                "nowhere: the first task's transaction is open before them",
                True,
                "Right: the last stable offset waits for the first task. The order of the source is "
                "not kept either.",
            ),
        ),
    ),
    watch=(
        Watch(1, "Whose name stands at which offset? No partition was assigned to anybody."),
        Watch(3, "Two transactions are open in one target. Which one holds back the LSO?"),
    ),
    checkpoints=(LET_BOTH_HOLD, SAW_LSO, BROUGHT_TO_END),
)

STREAMS = Scenario(
    "kip-1289-streams-topology",
    "A stateless topology with more members than partitions",
    "Three threads of a stateless topology work on one partition, each on a record of its own, each "
    "with exactly once.",
    "KIP-1289, Motivation, 2.",
    share_spec(*(share_app(f"app-{n}", max_records=1) for n in (1, 2, 3)), values=("a", "b", "c")),
    (
        Beat(
            "Three threads start",
            "There is one partition; a regular group would leave two of them without work.",
            _round("app-1", POLL) + _round("app-2", POLL) + _round("app-3", POLL),
        ),
        Beat(
            "Every thread has a record",
            "Three locks in one partition, three members.",
            _round("app-1", POLL) + _round("app-2", POLL) + _round("app-3", POLL),
        ),
        Beat(
            "The middle one is done first",
            "Offset 101 is put out, staged and committed, while its neighbours are being worked on.",
            _round("app-2", WORK, COMMIT),
        ),
        Beat(
            "The first one dies",
            "Its record is free again, with its lock; nothing of it was staged.",
            ("app-1 crashes", "quiet"),
        ),
        Beat(
            "The second thread takes over",
            "It polls again and gets what the dead one had.",
            _round("app-2", ("{0} goes on", "quiet", "{0} goes on")),
        ),
    ),
    ("app-1", "app-2", "app-3", "B5"),
    ("repaired", "as-written"),
    watch=(
        Watch(1, "Three members and one partition: who would hold it in a regular group?"),
        Watch(3, "Nobody rebalances. How long does the record of the dead thread wait?"),
    ),
    checkpoints=(
        LET_BOTH_HOLD,
        BROUGHT_TO_END,
        TOOK_CLIENT_CRASH,
    ),
)

LETTERS = "letters-0"
DEAD_LETTER_LOOP: tuple[Line, ...] = (
    programs.INIT,
    Line(programs.SHARE_POLL, Call.POLL),
    Line("producer.beginTransaction();", Call.BEGIN_TRANSACTION, on_error=6),
    Line(
        'producer.send("letters", record); // the record is bad',
        Call.SEND,
        on_error=6,
        target=LETTERS,
    ),
    Line(programs.SHARE_STAGE, Call.SEND_SHARE_ACKNOWLEDGEMENTS, on_error=6),
    Line("producer.commitTransaction();", Call.COMMIT_TRANSACTION, then=1, on_error=6),
    programs.SHARE_CATCH.but(then=1),
)
DEAD_LETTER = Scenario(
    "kip-1289-atomic-dead-letter",
    "An atomic write to a dead-letter topic",
    "The application writes a bad record to a dead-letter topic of its own and accepts it, both in "
    "one transaction.",
    "KIP-1289, Motivation, 3.",
    share_spec(share_app(max_records=1, program=DEAD_LETTER_LOOP), values=("bad",)).but(
        placements=(*SHARE_PLACEMENTS, Placement(LETTERS, 3, (1,))),
        topic_ids=(*TOPIC_IDS, ("letters", "AAAAAAAAAAAAAAAAAAAABA")),
    ),
    (
        Beat(
            "The loop begins",
            "The record is delivered, and the application finds it bad.",
            _round("app-1", POLL, POLL),
        ),
        Beat(
            "The letter is an output like any other",
            "It is written to letters-0 in the transaction, and the record is accepted: rejecting it "
            "would make the broker write a letter of its own, outside of the transaction.",
            _round("app-1", WORK),
        ),
        Beat(
            "producer.commitTransaction()",
            "The letter becomes visible and the record is acknowledged, or neither.",
            (
                "app-1 goes on",
                "until EndTxn arrives at B1",
                "quiet but WriteTxnMarkers*",
                "app-1 goes on",
            ),
        ),
        Beat(
            "The markers",
            "One for the letter, one for the acknowledgement.",
            ("quiet", "maybe B5 refreshes src-0", "quiet"),
        ),
    ),
    ("app-1", "B1", "B3", "B5"),
    ("repaired", "as-written", "finding-E"),
    Question(
        2,
        "Why does the application ACCEPT a record that it found bad?",
        (
            Choice(
                "it is a mistake, REJECT is for that",
                False,
                "REJECT has its letter written later, by the broker.",
            ),
            Choice(
                "the letter is its output, and the record is dealt with",
                True,
                "Right: so letter and acknowledgement are in one transaction.",
            ),
        ),
    ),
    watch=(
        Watch(1, "Which partitions are in the transaction now? Look for the letter's."),
        Watch(3, "Crash Broker 5 before this beat under both designs, and count the letters."),
    ),
    checkpoints=(SAW_STAGED, SAW_LSO, TOOK_CRASH),
)

STORIES: tuple[Scenario, ...] = (MIRROR, STREAMS, DEAD_LETTER)
