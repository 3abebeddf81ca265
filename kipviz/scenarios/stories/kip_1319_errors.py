"""KIP-1319: what a member is told whose epoch is over, by version 6 of TxnOffsetCommit and by version 5."""

from __future__ import annotations

from kipviz.scenarios.material import Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.group_setting import member, spec_of, up_to_send
from kipviz.scenarios.stories.kip_848 import ONE_FULL

GOES = "app-1 goes on"
LATE = "TxnOffsetCommit arrives at B4"
BEATS = "the heartbeat interval of {}/consumer is over"
WATCH = (
    Watch(
        3,
        "Had app-1 kept src-1, its older epoch would be good enough: a commit that crosses a heartbeat is not "
        "lost for nothing (KIP-1251).",
    ),
    Watch(
        4,
        "One error or the other, the producer does the same. What version 6 mends is what a person reads in the log "
        "of an application whose group has no generations.",
    ),
)


def _beats(version: int, error: str, why: str) -> tuple[Beat, ...]:
    return (
        Beat(
            "app-1 works on c and d of src-1",
            "C1 is alone, at epoch 2, and has both partitions. The outputs are sent.",
            up_to_send("app-1"),
        ),
        Beat(
            "app-2 joins",
            "C2 is to have src-1, and waits until C1 has let go of it.",
            ("app-2 goes on", "quiet", "app-2 goes on", "app-2 goes on", "quiet"),
        ),
        Beat(
            "app-1 sends its offsets, and they are slow",
            f"TxnOffsetCommit version {version} says C1 at epoch 2. It is on the wire.",
            (GOES, f"quiet but {LATE}"),
        ),
        Beat(
            "C1 lets go of src-1 meanwhile",
            "Without a listener its background thread does that at once: the heartbeat that brings the new assignment "
            "is followed by one that says so. C1 is at epoch 3, and src-1 is C2's with the next heartbeat of C2.",
            (
                BEATS.format("app-1"),
                f"quiet but {LATE}",
                BEATS.format("app-2"),
                f"quiet but {LATE}",
            ),
        ),
        Beat(
            f"The offsets arrive: {error}",
            f"An older epoch is good for what the member still has, and src-1 is not among that. {why}",
            (LATE, "quiet", GOES),
        ),
        Beat(
            "app-1 aborts",
            "Either error is CommitFailedException for the application, and abortable: it aborts, goes back to what "
            "is committed, and is a member as before.",
            (GOES, "quiet", GOES),
        ),
    )


def _question(version: int) -> Question:
    return Question(
        4,
        "The epoch of the request was right when it was sent. C1 is still a member. What does Broker 4 say "
        f"to version {version}?",
        (
            Choice(
                "STALE_MEMBER_EPOCH",
                version >= 6,
                "Right: version 6 has the error of KIP-848."
                if version >= 6
                else "That is an error which clients of version 5 cannot expect here.",
            ),
            Choice(
                "ILLEGAL_GENERATION",
                version < 6,
                "Right: the word of the classic protocol stands for every wrong epoch."
                if version < 6
                else "That is what it says up to version 5, where there is but one error for it.",
            ),
            Choice("UNKNOWN_MEMBER_ID", False, "C1 is a member."),
        ),
    )


def _stale(version: int, title: str, error: str, why: str) -> Scenario:
    """Give the story of an offset that is overtaken by an assignment, with the newest version that clients speak."""
    return Scenario(
        f"kip-1319-stale{'-v5' if version < 6 else ''}",
        title,
        "A member's offsets are on their way when its partition is taken from it. They come with the epoch before, "
        "in which the partition was its own, and are refused.",
        "KIP-1319 Broker-Side: error mapping; KIP-1251; ConsumerGroup.validateOffsetCommit",
        spec_of(member("app-1", listener=False), member("app-2", listener=False)).but(
            records=ONE_FULL, txn_offset_commit=version
        ),
        _beats(version, error, why),
        ("app-1", "app-2", "B4", "B3"),
        ("kafka",),
        _question(version),
        watch=WATCH,
        checkpoints=(
            Checkpoint("saw a zombie's offsets refused", "commit failed"),
            Checkpoint("saw the last stable offset held back", "lso held back"),
        ),
    )


STALE = _stale(
    6,
    "Offsets with yesterday's epoch: STALE_MEMBER_EPOCH since version 6",
    "STALE_MEMBER_EPOCH",
    "Since version 6 the error says just that.",
)
STALE_V5 = _stale(
    5,
    "The same by version 5: ILLEGAL_GENERATION, in a group without generations",
    "ILLEGAL_GENERATION",
    "Version 5 knows one error for every wrong epoch, that of the classic protocol.",
)
STORIES: tuple[Scenario, ...] = (STALE_V5, STALE)
