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


# What several stories have the learner see or do.
SAW_LSO = Checkpoint("saw the last stable offset held back", "lso held back")
SAW_STAGED = Checkpoint("saw a record staged (TX_PENDING)", "record staged")
TOOK_CRASH = Checkpoint("took a branch in which a broker crashes", "broker crashed")
BROUGHT_TO_END = Checkpoint("brought a transaction to its end", "complete")
CRASHED_AFTER_DECISION = Checkpoint(
    "crashed a broker after the decision", "crashed after the decision"
)
LET_BOTH_HOLD = Checkpoint("let both members hold records at the same time", "two members hold")
SAW_ACKNOWLEDGEMENT_REFUSED = Checkpoint(
    "saw an acknowledgement refused", "acknowledgement refused"
)
SAW_APPEND_REFUSED = Checkpoint("saw an append refused for want of replicas", "append refused")
SAW_APPLICATION_DEATH = Checkpoint("saw the application die", "client crashed")
SAW_CLIENT_BUMP = Checkpoint("saw a client bump its own epoch", "bumped by the client")
SAW_COMPLETE = Checkpoint("saw the transaction complete", "complete")
SAW_COMPLETE_EVERYWHERE = Checkpoint("saw a transaction complete everywhere", "complete")
SAW_DATABASE_AHEAD = Checkpoint("saw the database ahead of Kafka", "database ahead")
SAW_DEATH = Checkpoint("saw a process die", "client crashed")
SAW_DELIVERED_TWICE = Checkpoint("saw a record delivered for the second time", "delivered twice")
SAW_EARLY_RETURN = Checkpoint(
    "saw commit return before any marker was written", "answered before markers"
)
SAW_ENDED = Checkpoint("saw a producer end for good", "producer ended")
SAW_FATAL = Checkpoint("saw a producer that can only be closed", "producer ended")
SAW_FENCED = Checkpoint("saw a producer refused because of its epoch", "fenced")
SAW_GENERATION_REFUSED = Checkpoint(
    "saw something of another generation refused", "generation refused"
)
SAW_GONE = Checkpoint("saw a member taken out because it was silent", "member gone")
SAW_HALF = Checkpoint("saw half a transaction", "half a transaction")
SAW_HANGING = Checkpoint("saw a transaction that nobody will end", "hangs")
SAW_INSTANCE_FENCED = Checkpoint(
    "saw whoever spoke in a static member's name fenced", "instance fenced"
)
SAW_IN_DOUBT = Checkpoint("saw the database in doubt", "database in doubt")
SAW_IN_FLIGHT = Checkpoint(
    "saw three batches of a partition on the way at once", "several in flight"
)
SAW_JOIN_AGAIN = Checkpoint("saw a member that is told to join again", "told to join again")
SAW_KEPT = Checkpoint("saw the coordinator keep a transaction", "transaction kept")
SAW_LATE_REQUEST = Checkpoint(
    "saw a request arrive after its client had given it up", "arrived late"
)
SAW_LOADED_AGAIN = Checkpoint("saw a share-partition loaded a second time", "loaded again")
SAW_NEW_BEGINNING = Checkpoint("saw the application begin again", "read again")
SAW_OFFSET_STAGED = Checkpoint("saw an offset staged in the transaction", "offset pending")
SAW_OUTPUT_TWICE = Checkpoint("saw one record with two committed outputs", "output twice")
SAW_OUT_OF_ORDER = Checkpoint("saw a batch refused as out of order", "out of order")
SAW_PARTITION_MOVED = Checkpoint("saw a partition go to another member", "partition moved")
SAW_PENDING = Checkpoint("saw an offset pending", "offset pending")
SAW_PREPARED = Checkpoint("saw a prepared transaction that no broker knows of", "prepared")
SAW_PRUNED = Checkpoint("saw the front of a log deleted", "log pruned")
SAW_REFUSED = Checkpoint("saw a request refused for want of a right", "refused")
SAW_RELEASED_BY_CLOSE = Checkpoint(
    "saw records released by a session that closed", "released by close"
)
SAW_ZOMBIE_REFUSED = Checkpoint("saw a zombie's offsets refused", "commit failed")
TOOK_ANY_TIME_OUT = Checkpoint("took a branch in which a transaction times out", "timed out")
TOOK_CLIENT_CRASH = Checkpoint("took a branch in which an application crashes", "client crashed")
TOOK_MEMBER_CRASH = Checkpoint("took a branch in which a member crashes", "client crashed")
TOOK_TIME_OUT = Checkpoint("took a branch in which the transaction times out", "timed out")
SAW_ACQUISITION_LOCK_END = Checkpoint("saw an acquisition lock run out", "lock ran out")
TOOK_APP_1_CRASH = Checkpoint("took a branch in which app-1 crashes", "client crashed")
