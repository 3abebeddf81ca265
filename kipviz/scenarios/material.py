"""What a scenario is taught with: notes on what to watch for, and checkpoints.

A note belongs to a beat of the story and is shown while that beat is played. A checkpoint names a
goal of `kipviz.lessons.goals`, which is checked on the learner's own run.
"""

from __future__ import annotations

from kipviz.core.values import Value


class Watch(Value, frozen=True):
    """What to look at while a beat is played; in a story without beats, from the start on."""

    beat: int
    text: str


class Checkpoint(Value, frozen=True):
    """Something the learner is to have seen or done, and the goal that says whether it is so."""

    text: str
    goal: str


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
SAW_LSO = Checkpoint("saw the last stable offset held back", "lso held back")
SAW_STAGED = Checkpoint("saw a record staged (TX_PENDING)", "record staged")
TOOK_CRASH = Checkpoint("took a branch in which a broker crashes", "broker crashed")

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
    Checkpoint("saw commit return before any marker was written", "answered before markers"),
    Checkpoint("crashed a broker after the decision", "crashed after the decision"),
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
    Checkpoint("saw a record delivered for the second time", "delivered twice"),
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
    Checkpoint("saw a record delivered for the second time", "delivered twice"),
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
    Checkpoint("saw an offset staged in the transaction", "offset pending"),
    Checkpoint("took a branch in which the transaction times out", "timed out"),
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
    Checkpoint("saw an offset staged in the transaction", "offset pending"),
    Checkpoint("saw the consumer go back to the committed offset", "read again"),
    TOOK_CRASH,
)

STUCK_WATCH = (
    Watch(
        1,
        "app-1 is gone, and no broker says anything: watch my-txn stay ONGOING at its coordinator, "
        "and the LSO of output-A-0 stay at 0.",
    ),
    Watch(
        2,
        "A COMMIT marker stands at offset 4 now. Watch the high watermark go past it, and the LSO "
        "not move: it stops at the first offset of the oldest open transaction.",
    ),
    Watch(
        3,
        "The reader's fetch is not refused, it waits. Two things can end the transaction of app-1: "
        "find them among the choices.",
    ),
)
STUCK_CHECKPOINTS = (
    SAW_LSO,
    Checkpoint(
        "set the LSO free: app-1 started again, or its transaction timed out", "lso set free"
    ),
    Checkpoint("took a branch in which the transaction times out", "timed out"),
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
    Checkpoint("saw commit return before any marker was written", "answered before markers"),
    Checkpoint("crashed a broker after the decision", "crashed after the decision"),
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
    Checkpoint("let both members hold records at the same time", "two members hold"),
    Checkpoint("took a branch in which an application crashes", "client crashed"),
    Checkpoint("brought a transaction to its end", "complete"),
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
    Checkpoint("took a branch in which an application crashes", "client crashed"),
    Checkpoint("brought a transaction to its end", "complete"),
)
