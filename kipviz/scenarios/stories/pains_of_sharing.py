"""What users of share groups run into, as stories; `kipviz.scenarios.pains` is the index of it."""

from __future__ import annotations

from kipviz.brokers.settings import READ_COMMITTED, READ_UNCOMMITTED, BrokerSettings, GroupConfig
from kipviz.scenarios import programs
from kipviz.scenarios.material import SAW_LSO, Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.pains import READER, READING, WRITER, starts
from kipviz.scenarios.stories.setting import PLAYGROUND, share_app, share_spec

TWICE = Checkpoint("saw a record delivered twice", "delivered twice")
TOOK_BROKER = Checkpoint("took a branch in which a broker crashes", "broker crashed")

ONE = share_app(program=programs.SHARE_READ, max_records=1)
TWO = share_app("app-2", program=programs.SHARE_READ, max_records=1)

LATE_ACCEPT = Scenario(
    "pain-late-accept",
    "A share group handles the same record twice",
    "A consumer works on a record for longer than its acquisition lock lasts. Another one gets the "
    "record, and the first one's acknowledgement comes too late.",
    "KIP-932, acquisition lock; KIP-1222, RENEW",
    share_spec(ONE, TWO, values=("a", "b")),
    (
        Beat(
            "app-1 gets record 100 and is slow",
            "Broker 5 locks it for group.share.record.lock.duration.ms, 30 seconds.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "The lock runs out",
            "The record is free again. Nobody tells app-1, which is still at work.",
            ("the lock of src-0@100 runs out", "quiet"),
        ),
        Beat(
            "app-2 gets the same record",
            "Its second delivery. Both work on it now.",
            ("app-2 goes on", "quiet", "app-2 goes on"),
        ),
        Beat(
            "app-1 is done, and its acceptance is refused",
            "The next poll() accepts what the poll before brought. app-1 does not hold it any more: "
            "INVALID_RECORD_STATE, and the work is done twice.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "app-2 is done, and its acceptance counts",
            "It holds the record, so the record is ACKNOWLEDGED now.",
            ("app-2 goes on", "quiet"),
        ),
    ),
    ("app-1", "app-2", "B5", "B7"),
    ("kafka",),
    Question(
        1,
        "app-1 still works on record 100, and its lock has run out. What could it have done?",
        (
            Choice("commit more often", False, "It has nothing to commit before it is done."),
            Choice(
                "renew the lock in time",
                True,
                "Right: an acknowledgement of type RENEW starts the lock anew (Kafka 4.2).",
            ),
        ),
    ),
    watch=(
        Watch(2, "Watch the delivery count of record 100: it is 2 now."),
        Watch(3, "Watch the answer: new records, and an error for the acknowledgement."),
    ),
    checkpoints=(TWICE, TOOK_BROKER),
)

VANISHED = Scenario(
    "pain-vanished",
    "A record of a share group is gone",
    "Every delivery of a record fails. When it was delivered as often as the limit says, it is "
    "archived, and nobody ever gets it again.",
    "KIP-932, group.share.delivery.count.limit; KIP-1191, dead-letter queues",
    share_spec(ONE, TWO, values=("a", "b")).but(settings=BrokerSettings(delivery_count_limit=2)),
    (
        Beat(
            "First delivery",
            "app-1 gets record 100 and never comes back to say what became of it.",
            ("app-1 goes on", "quiet", "app-1 goes on", "the lock of src-0@100 runs out", "quiet"),
        ),
        Beat(
            "Second delivery, the last one",
            "app-2 gets it, and its lock runs out, too. The limit is 2 here; by default it is 5.",
            ("app-2 goes on", "quiet", "app-2 goes on", "the lock of src-0@100 runs out", "quiet"),
        ),
        Beat(
            "The group goes on without it",
            "Record 100 is ARCHIVED. The next poll() brings 101. Without a dead-letter queue only "
            "the topic itself still has it.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
    ),
    ("app-1", "app-2", "B5", "B7"),
    ("kafka",),
    Question(
        1,
        "Record 100 was delivered twice and never acknowledged. What does the third poll() bring?",
        (
            Choice("record 100, a third time", False, "The limit of this cluster is 2."),
            Choice("record 101", True, "Right: 100 is archived, and the group goes on."),
        ),
    ),
    watch=(
        Watch(0, "Watch the delivery count of record 100 go to 1, and the record be free again."),
        Watch(1, "Watch it become ARCHIVED instead, and the start offset move past it."),
    ),
    checkpoints=(TWICE, TOOK_BROKER),
)

MODES = Scenario(
    "pain-modes",
    "poll() throws, or has accepted what was not done",
    "Explicit mode wants a word for every record before the next poll(). Implicit mode takes the "
    "next poll() for the word, and a crash before it for none.",
    "KIP-932, share.acknowledgement.mode",
    share_spec(ONE.but(explicit=True), TWO, values=("a", "b")),
    (
        Beat(
            "Explicit: a batch without acknowledge()",
            "app-1 gets record 100, and does not acknowledge it.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "The next poll() throws",
            "IllegalStateException: all records must be acknowledged. Record 100 stays locked "
            "until its lock runs out.",
            ("app-1 goes on",),
        ),
        Beat(
            "Implicit: the next poll() is the acknowledgement",
            "app-2 gets 101, and with the next poll() accepts it, whether or not it is done.",
            ("app-2 goes on", "quiet", "app-2 goes on", "app-2 goes on", "quiet"),
        ),
        Beat(
            "The last batch was never accepted",
            "The lock of 100 runs out, app-2 gets it, and dies before it polls again. Record 100 "
            "comes a third time, although all the work on it was done.",
            (
                "the lock of src-0@100 runs out",
                "quiet",
                "app-2 goes on",
                "app-2 crashes",
                "app-2 starts",
                "app-2 goes on",
                "quiet",
            ),
        ),
    ),
    ("app-1", "app-2", "B5", "B7"),
    ("kafka",),
    Question(
        2,
        "In implicit mode, when does a record count as processed?",
        (
            Choice("when poll() returns it", False, "Then it is acquired, and locked."),
            Choice(
                "when the next poll() is called",
                True,
                "Right: and never, if the process dies or closes without it.",
            ),
        ),
    ),
    watch=(
        Watch(1, "Watch app-1: nothing goes to a broker, the client itself refuses."),
        Watch(2, "Watch the second ShareFetch of app-2 carry an ACCEPT."),
    ),
    checkpoints=(TWICE, TOOK_BROKER),
)

COMMITTED = READER.but(share=True, group_id="committed", member_id="M1", max_records=2)
SHARE_LSO = Scenario(
    "pain-share-lso",
    "A share group stops, and another one goes on",
    "Two share groups read one topic. One is read_committed and stands at the last stable offset "
    "of a slow transaction, the other one is read_uncommitted and does not.",
    "KIP-932, share.isolation.level",
    READING.but(
        applications=(
            WRITER,
            COMMITTED.but(program=programs.SHARE_READ),
            COMMITTED.but(
                name="default",
                transactional_id="my-txn-4",
                group_id="uncommitted",
                member_id="M2",
                program=programs.SHARE_READ,
            ),
        ),
        # Two groups hold the same offsets: their locks would have one name.
        budget=PLAYGROUND.but(expire_lock=0),
        group_configs=(
            GroupConfig("committed", isolation_level=READ_COMMITTED),
            GroupConfig("uncommitted", isolation_level=READ_UNCOMMITTED),
        ),
    ),
    (
        Beat(
            "A transaction writes, and takes its time",
            "Two records are in output-A-0, and nothing is decided.",
            starts("app-1"),
        ),
        Beat(
            "One group gets them at once",
            "read_uncommitted is what a share group has by default.",
            ("default goes on", "quiet", "default goes on"),
        ),
        Beat(
            "The other group waits",
            "read_committed is bounded by the last stable offset. No error, no record: it waits.",
            ("reader goes on", "quiet"),
        ),
        Beat(
            "The transaction commits",
            "The marker moves the last stable offset, and the waiting fetch is answered.",
            ("app-1 goes on", "quiet", "app-1 goes on", "reader goes on"),
        ),
    ),
    ("app-1", "reader", "default", "B3"),
    ("kafka",),
    Question(
        2,
        "The read_committed group gets nothing. Where does it stand?",
        (
            Choice("at the high watermark", False, "The other group reads up to there."),
            Choice("at the last stable offset", True, "Right: as a read_committed consumer does."),
        ),
    ),
    watch=(
        Watch(1, "Watch the two groups: each has a share-partition of its own at Broker 3."),
        Watch(2, "Watch the fetch wait at Broker 3. Press e to be told what it waits for."),
    ),
    checkpoints=(SAW_LSO, Checkpoint("took a branch in which it times out", "timed out")),
)

STORIES: tuple[Scenario, ...] = (LATE_ACCEPT, VANISHED, MODES, SHARE_LSO)
