"""KIP-1310: what its page leaves open, each as a run in which it goes wrong and one in which it does not.

Every story is written for the draft as it stands (`kip-1310`), for the finding alone, and for the
repaired design; an instruction that a design makes impossible is a "maybe".
"""

from __future__ import annotations

from kipviz.cluster.session_config import SessionSpec
from kipviz.cluster.spec import ApplicationSpec, ClusterSpec
from kipviz.scenarios import session_programs
from kipviz.scenarios.material import (
    BROUGHT_TO_END,
    SAW_LSO,
    SAW_OFFSET_STAGED,
    SAW_STAGED,
    TOOK_TIME_OUT,
    Checkpoint,
    Watch,
)
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.kip_1310_beats import ALONE, with_session
from kipviz.scenarios.stories.setting import (
    GROUP_PLACEMENTS,
    PLAYGROUND,
    TOPIC_IDS,
    group_app,
    share_app,
    share_spec,
)

REFUSED = Checkpoint("saw a batch of a producer refused", "batch refused")
TURN = ("app-1 goes on", "quiet", "app-1 goes on")


def group_cluster(values: tuple[str, ...], *apps: ApplicationSpec) -> ClusterSpec:
    """Give the cluster of the regular group stories with other records and applications."""
    records = (("src-0", 100, values),)
    return ClusterSpec((1, 3, 4, 5), GROUP_PLACEMENTS, apps, records, TOPIC_IDS, PLAYGROUND)


# -- two senders with one epoch in one partition (B15) -------------------------------------------

TWO = group_app(
    session=SessionSpec(("producer", "producer-2")), program=session_programs.TWO_SENDERS
)
TWO_SENDERS = Scenario(
    "kip-1310-two-senders",
    "Two producers of one session write to one partition",
    "Both count their records from 0, and both have the same producer id and epoch: for the leader "
    "of output-A-0 they are one producer that contradicts itself.",
    "KIP-1310 2.3, 6.2; debated as B15",
    group_cluster(("a", "b", "c"), TWO),
    (
        Beat("session.initialize()", "One identity, for both producers.", TURN),
        Beat("poll() and beginTransaction()", "Two records, a and b.", (*TURN, "app-1 goes on")),
        Beat(
            "producer.send(f(a), f(b))",
            "The first producer's batch has sequences 0 and 1.",
            ("app-1 goes on", "quiet"),
        ),
        Beat("poll() again", "One more record, c.", TURN),
        Beat(
            "producer2.send(f(c))",
            "The second producer counts from 0 too: its batch has sequence 0, and Broker 3 expects "
            "2 of this producer id. In the repaired design there is no second producer.",
            ("app-1 goes on", "quiet"),
        ),
        Beat(
            "session.sendOffsetsToTransaction()",
            "The group's offset goes past c.",
            ("maybe app-1 goes on", "quiet", "maybe app-1 goes on"),
        ),
        Beat(
            "session.commitTransaction()",
            "What is committed depends on whether the session has heard that a batch was refused.",
            ("maybe app-1 goes on", "quiet", "maybe app-1 goes on"),
        ),
    ),
    ("app-1", "B1", "B3", "B4"),
    ("kip-1310", "kip-1310-many-senders", "repaired"),
    Question(
        4,
        "The second producer sends its first record with sequence 0. What does Broker 3 answer?",
        (
            Choice(
                "OUT_OF_ORDER_SEQUENCE_NUMBER",
                True,
                "Right: it has sequences 0 and 1 of this producer id and epoch, 2 would follow.",
            ),
            Choice("it appends the record", False, "It cannot know that this is another producer."),
            Choice(
                "PRODUCER_FENCED", False, "The epoch is the current one: epochs fence no siblings."
            ),
        ),
    ),
    watch=(
        Watch(
            2, "Sequences 0 and 1 of producer id 9, epoch 0: that is all the log knows of a sender."
        ),
        Watch(4, "Same producer id, same epoch, another connection: watch the answer to Produce."),
        Watch(6, "What is committed, if the failure is the second producer's alone?"),
    ),
    checkpoints=(REFUSED, SAW_OFFSET_STAGED),
)
SILENT_LOSS = TWO_SENDERS.but(
    name="kip-1310-silent-loss",
    title="Two producers of one session: a batch is lost, and nobody is told",
    sentence="The second producer's batch has the sequences of the first one's: the leader takes it "
    "for a repetition, answers success, and appends nothing.",
    spec=group_cluster(("a", "b", "c", "d"), TWO),
    beats=(
        *TWO_SENDERS.beats[:3],
        Beat("poll() again", "Two more records, c and d.", TURN),
        Beat(
            "producer2.send(f(c), f(d))",
            "Sequences 0 and 1 again. Broker 3 compares numbers, not contents: it has this batch.",
            ("app-1 goes on", "quiet"),
        ),
        TWO_SENDERS.beats[5].but(say="The group's offset goes past d."),
        TWO_SENDERS.beats[6].but(
            say="Nobody has an error to tell: four records read, two put out."
        ),
    ),
    question=Question(
        4,
        "The second producer sends f(c) and f(d) with sequences 0 and 1. What does it hear?",
        (
            Choice("success", True, "Right: and the offset in the answer is that of f(a)."),
            Choice(
                "OUT_OF_ORDER_SEQUENCE_NUMBER", False, "0 to 1 is a batch that the log remembers."
            ),
            Choice(
                "DUPLICATE_SEQUENCE_NUMBER", False, "A known repetition is answered as a success."
            ),
        ),
    ),
    watch=(
        Watch(4, "The answer says success. Count the records of output-A-0 before and after it."),
        Watch(6, "Everything is committed: four records read, two put out."),
    ),
    checkpoints=(SAW_LSO, BROUGHT_TO_END),
)

# -- a commit with an unsent batch (B17) ----------------------------------------------------------

HELD = "quiet but app-1/producer sends Produce"
UNSENT_BATCH = Scenario(
    "kip-1310-unsent-batch",
    "The session commits while its producer still has a batch to send",
    "linger.ms has not passed when the session commits: EndTxn overtakes the last batch, because "
    "nothing on the page tells the session of it.",
    "KIP-1310 2.1, 3.4; debated as B17",
    group_cluster(("a", "b"), with_session(group_app(max_records=1), session_programs.TWO_SENDS)),
    (
        Beat("session.initialize()", "One identity.", TURN),
        Beat("poll(), beginTransaction()", "One record, a.", (*TURN, "app-1 goes on")),
        Beat(
            "producer.send(f(a))",
            "It goes out at once: the transaction is ONGOING.",
            ("app-1 goes on", "quiet"),
        ),
        Beat("poll() again", "One more record, b.", TURN),
        Beat(
            "producer.send(f(b)): it lingers",
            "The record is in the accumulator. The sender waits for more.",
            ("app-1 goes on",),
        ),
        Beat(
            "session.sendOffsetsToTransaction()",
            "The group's offset goes past b, on the session's own connection.",
            ("app-1 goes on", HELD, "app-1 goes on"),
        ),
        Beat(
            "session.commitTransaction()",
            "In the draft EndTxn goes out now. In the repaired design it is held back by the batch.",
            ("app-1 goes on", HELD, "maybe app-1 goes on"),
        ),
        Beat(
            "The batch goes out",
            "Either inside its transaction, or behind the end of it: then Broker 3 enlists "
            "output-A-0 in a transaction that nobody began.",
            ("quiet", "maybe app-1 goes on", "quiet"),
        ),
    ),
    ("app-1", "B1", "B3", "B4"),
    ("kip-1310", "kip-1310-unaware", "repaired"),
    Question(
        6,
        "f(b) is in the accumulator, the offset past b is staged, and the session commits. What "
        "must not happen?",
        (
            Choice(
                "EndTxn before f(b)",
                True,
                "Right: b would count as processed, and its output would not be there.",
            ),
            Choice("f(b) before EndTxn", False, "That is what today's sender makes sure of."),
        ),
    ),
    watch=(
        Watch(4, "No arrow: the record waits in the producer. Who knows of it?"),
        Watch(6, "Watch which of the two connections is first."),
        Watch(7, "Look at the epoch of the late batch, and at the state of my-txn afterwards."),
    ),
    checkpoints=(
        SAW_OFFSET_STAGED,
        TOOK_TIME_OUT,
    ),
)

# -- the next epoch (B19) -------------------------------------------------------------------------

NEXT_EPOCH = Scenario(
    "kip-1310-next-epoch",
    "The commit brings the next epoch: who tells the producer?",
    "Under transaction version 2 the answer to EndTxn carries a new epoch. The session gets it; the "
    "producer has the sequences that belong to the old one.",
    "KIP-1310 3.2 against KIP-890 part 2; debated as B19",
    group_cluster(("a", "b"), with_session(group_app(max_records=1), session_programs.TWICE)),
    (
        Beat("session.initialize()", "Producer id 9, epoch 0.", TURN),
        Beat(
            "The first transaction",
            "One record, its offset, commit: all in epoch 0, and the producer has counted to 1.",
            (*TURN, "app-1 goes on", "app-1 goes on", "quiet", *TURN, *TURN),
        ),
        Beat(
            "poll() and beginTransaction()",
            "The session is in epoch 1 now.",
            (*TURN, "app-1 goes on"),
        ),
        Beat(
            "producer.send(f(b))",
            "Which epoch does the batch carry, and which sequence? Broker 3 expects epoch 1 and "
            "sequence 0.",
            ("app-1 goes on", "quiet"),
        ),
        Beat(
            "session.sendOffsetsToTransaction(), or the catch block",
            "If the failure of the batch is the session's failure, the call throws.",
            ("app-1 goes on", "quiet", "maybe app-1 goes on"),
        ),
        Beat(
            "The end of the second transaction",
            "Commit, or abort.",
            ("maybe app-1 goes on", "quiet", "maybe app-1 goes on", "quiet"),
        ),
    ),
    ("app-1", "B1", "B3", "B4"),
    ("kip-1310", "kip-1310-counting-on", "kip-1310-lazy-epoch", "repaired"),
    Question(
        3,
        "The session has epoch 1. The producer has sent one record in epoch 0. With which sequence "
        "must its next batch begin?",
        (
            Choice("0", True, "Right: a new epoch begins at 0, and one object has to know both."),
            Choice("1", False, "Broker 3 begins anew with every epoch."),
        ),
    ),
    watch=(
        Watch(
            1, "The answer to EndTxn arrives at the session. Compare the epochs in the two cards."
        ),
        Watch(3, "The epoch and the sequence of the batch: each is right for itself."),
    ),
    checkpoints=(REFUSED, SAW_OFFSET_STAGED),
)

# -- a vote that comes too late (B19, an acknowledgement in flight) -------------------------------

VOTE_HELD = "quiet but app-1/consumer sends TxnShareAcknowledge"
LATE_VOTE = Scenario(
    "kip-1310-late-vote",
    "The session commits before the share consumer's vote is out",
    "acknowledgeTransactionally() returns at once. The session commits what the producer wrote, and "
    "the vote arrives in an epoch that is over.",
    "KIP-1310 2.4, 4.2; debated as B17 and B19",
    share_spec(with_session(share_app(), session_programs.SHARE_CONSUMER)),
    (
        Beat("session.initialize()", "One identity for two clients.", TURN),
        Beat("shareConsumer.poll()", "Two records, locked for M1.", TURN),
        Beat(
            "beginTransaction(), producer.send()",
            "The output is in the log, the transaction ONGOING.",
            ("app-1 goes on", "app-1 goes on", "quiet"),
        ),
        Beat(
            "acknowledgeTransactionally(session)",
            "The vote is with the consumer's network thread, which has not run yet.",
            ("app-1 goes on",),
        ),
        Beat(
            "session.commitTransaction()",
            "On another connection: in the draft nothing holds it back.",
            ("app-1 goes on", VOTE_HELD, "maybe app-1 goes on"),
        ),
        Beat(
            "The vote goes out",
            "In time, or with an epoch that the coordinator has left behind.",
            ("quiet", "maybe app-1 goes on", "maybe B5 refreshes src-0", "quiet"),
        ),
        Beat(
            "The lock runs out",
            "If the vote did not count, the records are still locked, and come again when the lock "
            "runs out.",
            ("maybe the lock of src-0@100 runs out", "quiet"),
        ),
    ),
    ("app-1", "B1", "B3", "B5"),
    ("kip-1310", "kip-1310-unaware", "repaired"),
    Question(
        5,
        "The transaction is committed in epoch 0 and the session is in epoch 1. The vote arrives with "
        "epoch 0. What becomes of the two records?",
        (
            Choice("they are acknowledged", False, "The transaction that they belong to is over."),
            Choice(
                "they are delivered again",
                True,
                "Right: their output is committed, and they are not acknowledged.",
            ),
        ),
    ),
    watch=(
        Watch(3, "The call has returned. Nothing has left the process."),
        Watch(5, "Compare the epoch in TxnShareAcknowledge with the coordinator's."),
    ),
    checkpoints=(SAW_STAGED, BROUGHT_TO_END),
)

# -- a resume that does not fence (B12) -----------------------------------------------------------

PAUSED = group_app(name="app-1", program=session_programs.LIVE_WRITER, max_records=1)
LIVE_WRITER = Scenario(
    "kip-1310-live-writer",
    "resume() while the writer is still alive",
    "A writer pauses after its checkpoint and is taken for dead. A committer resumes its transaction "
    "and commits; the writer wakes up in between and writes on.",
    "KIP-1310 2.1 resume(), 4.1; debated as B12",
    group_cluster(
        ("a", "b"),
        PAUSED,
        PAUSED.but(
            name="app-2",
            program=session_programs.COMMITTER,
            session=ALONE,
            group_id="none",
            member_id="C2",
        ),
    ),
    (
        Beat(
            "app-1 writes, flushes, and is in the checkpoint",
            "f(a) is in the log, and the checkpoint says so. Then app-1 pauses.",
            (*TURN, *TURN, "app-1 goes on", "app-1 goes on", "quiet"),
        ),
        Beat(
            "app-2 resumes its transaction",
            "With the identity of the checkpoint, asking nobody.",
            ("app-2 goes on",),
        ),
        Beat(
            "app-1 wakes up and writes f(b)",
            "Its epoch is still the current one: Broker 3 appends the record to the same transaction.",
            (*TURN, "app-1 goes on", "quiet"),
        ),
        Beat(
            "app-2 commits",
            "Everything that is in the transaction, also what no checkpoint has.",
            ("app-2 goes on", "quiet", "app-2 goes on"),
        ),
        Beat(
            "app-1 commits",
            "Its own transaction is over, ended by somebody else.",
            ("app-1 goes on", "quiet", "app-1 goes on", "maybe app-2 goes on"),
        ),
    ),
    ("app-1", "app-2", "B1", "B3"),
    ("kip-1310", "repaired"),
    Question(
        2,
        "app-2 has resumed the transaction of app-1. app-1 is alive and sends f(b). What happens?",
        (
            Choice("it is fenced", False, "Nobody has raised the epoch: resume() sends nothing."),
            Choice("it is appended", True, "Right: the broker cannot tell the two apart."),
        ),
    ),
    watch=(
        Watch(1, "Not one arrow: whoever knows three values is the transaction's owner."),
        Watch(
            3,
            "f(b) is committed, and the checkpoint does not know it: after a restore b is "
            "processed once more.",
        ),
    ),
    checkpoints=(SAW_LSO, BROUGHT_TO_END),
)

# -- heartbeats -------------------------------------------------------------------------------------

BEATING = with_session(group_app(), session_programs.COPY).but(
    session=SessionSpec(session_timeout_ms=9_000)
)
HEARTBEAT = Scenario(
    "kip-1310-heartbeat",
    "A session beats, and is missed",
    "transaction.timeout.ms is one minute. A session beats every three seconds, so its coordinator need "
    "not wait that long to know that it is gone.",
    "KIP-1310 2.1 heartbeat(), 2.2; KIP-1309",
    group_cluster(("a", "b"), BEATING),
    (
        Beat(
            "session.initialize(), poll(), beginTransaction()",
            "The session tells the coordinator at the start that it is going to beat.",
            (*TURN, *TURN, "app-1 goes on"),
        ),
        Beat(
            "producer.send(f(a), f(b))",
            "The transaction is ONGOING, and the application works on.",
            ("app-1 goes on", "quiet"),
        ),
        Beat(
            "A heartbeat",
            "TxnHeartbeat goes to Broker 1 on the session's own connection. Nothing is logged.",
            ("the heartbeat interval of app-1/session is over", "quiet"),
        ),
        Beat("app-1 dies", "No broker is told.", ("app-1 crashes",)),
        Beat(
            "Three intervals without a word",
            "Broker 1 aborts the transaction and fences its owner, long before the minute is over.",
            ("the liveness of my-txn runs out at B1", "quiet"),
        ),
    ),
    ("app-1", "B1", "B3"),
    ("repaired", "kip-1310"),
    Question(
        3,
        "If the application had hung in an endless loop instead, and its heartbeat thread had not: what "
        "would end the transaction?",
        (
            Choice("three intervals without a heartbeat", False, "The heartbeats go on."),
            Choice(
                "transaction.timeout.ms",
                True,
                "Right: a heartbeat proves that a process lives, not that it gets on.",
            ),
        ),
    ),
    watch=(
        Watch(2, "A request of the session that asks for nothing: it says 'I am here'."),
        Watch(4, "Who aborts? Look at the epoch of my-txn afterwards."),
    ),
    checkpoints=(SAW_LSO, TOOK_TIME_OUT),
)

# -- close() --------------------------------------------------------------------------------------

CLOSED = Scenario(
    "kip-1310-close",
    "close() in the middle of a transaction",
    "An application is shut down between send() and commit. The page has close(), and not a word about "
    "what becomes of what is open.",
    "KIP-1310 2.1 close(); KafkaProducer.close() today",
    group_cluster(("a", "b"), with_session(group_app(), session_programs.SHUT_DOWN)),
    (
        Beat("session.initialize()", "A connection to Broker 1, for the session alone.", TURN),
        Beat("poll(), beginTransaction()", "Two records, a and b.", (*TURN, "app-1 goes on")),
        Beat(
            "producer.send(f(a), f(b))",
            "The transaction is ONGOING: readers of committed data wait before it.",
            ("app-1 goes on", "quiet"),
        ),
        Beat(
            "session.close()",
            "A producer of today aborts what is open before it closes. In the repaired design a session "
            "does so, too, unless it was only resumed; in the draft it just closes its connection.",
            ("app-1 goes on", "quiet", "maybe app-1 goes on"),
        ),
        Beat(
            "The end of the transaction",
            "Where nobody has aborted it, readers wait until transaction.timeout.ms is over.",
            ("maybe my-txn times out", "quiet"),
        ),
    ),
    ("app-1", "B1", "B3"),
    ("repaired", "kip-1310"),
    Question(
        3,
        "The session is closed while its transaction is ONGOING. What would a KafkaProducer of today do?",
        (
            Choice(
                "abort it, and then close", True, "Right: its sender does, unless it is forced."
            ),
            Choice("leave it to transaction.timeout.ms", False, "Only when it is closed by force."),
            Choice("commit it", False, "Nobody has asked for that."),
        ),
    ),
    watch=(
        Watch(
            3, "Look at the connections of app-1: the producer's stays, the session's is closed."
        ),
        Watch(4, "How long did readers wait, in either design?"),
    ),
    checkpoints=(SAW_LSO, BROUGHT_TO_END),
)

STORIES: tuple[Scenario, ...] = (
    CLOSED,
    TWO_SENDERS,
    SILENT_LOSS,
    UNSENT_BATCH,
    NEXT_EPOCH,
    LATE_VOTE,
    LIVE_WRITER,
    HEARTBEAT,
)
