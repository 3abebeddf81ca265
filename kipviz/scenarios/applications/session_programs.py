"""The programs of KIP-1310's use cases, with its TransactionSession: in the KIP's words, one call on each line."""

from __future__ import annotations

from kipviz.clients.application import Call, Line
from kipviz.clients.sessions.session_calls import GIVEN
from kipviz.cluster.specs.session_config import SESSION
from kipviz.scenarios.applications.programs import GROUP_POLL, INIT, SHARE_POLL
from kipviz.settings.client_configs import TRANSACTIONAL_ID

C = Call

INITIALIZE = Line("session.initialize();", C.INITIALIZE, client=SESSION)
BEGIN = Line("session.beginTransaction();", C.BEGIN_TRANSACTION, client=SESSION)
SEND = Line("producer.send(output(records)); // new KafkaProducer(configs, session)", C.SEND)
COMMIT = Line("session.commitTransaction();", C.COMMIT_TRANSACTION, client=SESSION)
ABORT = Line(
    "} catch (Exception e) { session.abortTransaction(); }", C.ABORT_TRANSACTION, client=SESSION
)
ACKNOWLEDGE = Line(
    "shareConsumer.acknowledgeTransactionally(session, acknowledgments);",
    C.ACKNOWLEDGE_TRANSACTIONALLY,
)
ADD_ACKS = Line(
    "session.addShareAcksToTransaction(groupId, acknowledgments);", C.ADD_SHARE_ACKS, client=SESSION
)
SEND_OFFSETS = Line(
    "session.sendOffsetsToTransaction(offsets, consumer.groupMetadata());",
    C.SEND_OFFSETS,
    client=SESSION,
)


def loop(poll: str, *body: Line) -> tuple[Line, ...]:
    """Return a loop: initialize() once, then poll, begin, the body, commit; the last line catches.

    The KIP begins before it polls in 4.2 and polls first in 4.6; here all programs poll first.
    """
    head = (Line(poll, C.POLL), BEGIN)
    lines = (*head, *body, COMMIT.but(then=1))
    catch = 1 + len(lines)
    return (
        INITIALIZE,
        *(line if line.call is C.POLL else line.but(on_error=catch) for line in lines),
        ABORT.but(then=1),
    )


def fail_once(program: tuple[Line, ...], fail: Line) -> tuple[Line, ...]:
    """Return a loop whose first round ends in an exception of processing, which is caught and aborted."""
    turns = len(program) - 2
    first = tuple(line.but(on_error=-1) for line in program[1:turns])
    again = tuple(
        line.but(
            then=line.then + turns if line.then >= 0 else -1,
            on_error=line.on_error + turns if line.on_error >= 0 else -1,
        )
        for line in program[1:]
    )
    return (program[0], *first, fail, *again)


# KIP-1310 4.2 and 4.6: the consumer or the session sends the acknowledgements.
SHARE_CONSUMER = loop(SHARE_POLL, SEND, ACKNOWLEDGE)
SHARE_SINK = loop(SHARE_POLL, SEND, ADD_ACKS)
SHARE_SINK_FAILS = fail_once(
    SHARE_SINK, ABORT.but(text="throw new ConnectException(); // session.abortTransaction();")
)
# The producer alone: no offsets, no acknowledgements.
COPY = loop(GROUP_POLL, SEND)
# A regular consumer group: sendOffsetsToTransaction() of the session.
GROUP = loop(GROUP_POLL, SEND, SEND_OFFSETS)

# KIP-1310 4.4: a source task writes what it read, and its position, in one transaction.
SOURCE_POLL = "records = sourceTask.poll();"
SOURCE_OFFSETS = Line(
    "producer.send(offsetsTopic, sourceOffset);", C.SEND, target="connect-offsets-0 position"
)
SOURCE_SESSION = loop(SOURCE_POLL, SEND, SOURCE_OFFSETS)
SOURCE_PRODUCER: tuple[Line, ...] = (
    INIT,
    Line(SOURCE_POLL, C.POLL),
    Line("producer.beginTransaction();", C.BEGIN_TRANSACTION),
    Line("producer.send(output(records));", C.SEND),
    SOURCE_OFFSETS,
    Line("producer.commitTransaction();", C.COMMIT_TRANSACTION, then=1),
)

# KIP-1310 4.1: the writer stops at its checkpoint; a committer ends its transaction.
WRITER: tuple[Line, ...] = (
    INIT,
    Line("records = source.poll();", C.POLL),
    Line("producer.beginTransaction();", C.BEGIN_TRANSACTION),
    Line("producer.send(output(records)); // then flush(), and the checkpoint", C.SEND),
)
CHECKPOINT = "my-txn 9 0"
REFLECTION: tuple[Line, ...] = (
    Line(
        "producer.resumeTransaction(9, 0); // reflection on the TransactionManager",
        C.RESUME_TRANSACTION,
        target=CHECKPOINT,
    ),
    Line("producer.commitTransaction();", C.COMMIT_TRANSACTION),
)
RESUME = Line(
    'session = TransactionSession.resume("my-txn", 9, 0, configs);',
    C.RESUME,
    client=SESSION,
    target=CHECKPOINT,
)
COMMITTER: tuple[Line, ...] = (RESUME, COMMIT, Line("session.close();", C.CLOSE, client=SESSION))

# An application that is shut down in the middle of its work.
CLOSE = Line("session.close();", C.CLOSE, client=SESSION)
SHUT_DOWN: tuple[Line, ...] = (INITIALIZE, Line(GROUP_POLL, C.POLL), BEGIN, SEND, CLOSE)

# KIP-1310 4.5: both prepare, then Kafka commits, then the database. The KIP has no recovery.
PREPARE = Line("database.prepareTransaction(dbTxnId);", C.DATABASE_PREPARE)
DATABASE_COMMIT = Line("database.commitTransaction(dbTxnId);", C.DATABASE_COMMIT)
SOURCE = Line("records = source.poll();", C.POLL)
TWO_PHASE_SESSION: tuple[Line, ...] = (
    INITIALIZE,
    SOURCE,
    BEGIN,
    SEND,
    PREPARE,
    Line("session.prepareTransaction();", C.PREPARE_TRANSACTION, client=SESSION),
    RESUME.but(text='resumed = TransactionSession.resume("my-txn", 9, 0, configs);'),
    COMMIT.but(text="resumed.commitTransaction();"),
    DATABASE_COMMIT,
)
TWO_PHASE_PRODUCER: tuple[Line, ...] = (
    INIT,
    SOURCE,
    Line("producer.beginTransaction();", C.BEGIN_TRANSACTION),
    Line("producer.send(output(records));", C.SEND),
    PREPARE,
    Line("producer.prepareTransaction();", C.PREPARE_TRANSACTION),
    Line("producer.commitTransaction();", C.COMMIT_TRANSACTION),
    DATABASE_COMMIT,
)

# -- what the page leaves open ------------------------------------------------------------------

SECOND = Line(
    "producer2.send(output(records)); // bound to the same session", C.SEND, client="producer-2"
)
POLL = Line(GROUP_POLL, C.POLL)


def _catch_all(*lines: Line) -> tuple[Line, ...]:
    """Return a program whose lines are caught by an abort at its end, after the commit."""
    after = len(lines) + 1
    body = (line.but(on_error=len(lines)) for line in lines[1:-1])
    return (lines[0], *body, lines[-1].but(then=after, on_error=len(lines)), ABORT)


# Two producers of one session write to one partition.
TWO_SENDERS = _catch_all(INITIALIZE, POLL, BEGIN, SEND, POLL, SECOND, SEND_OFFSETS, COMMIT)
# The second batch is in the accumulator when the session commits.
TWO_SENDS = _catch_all(INITIALIZE, POLL, BEGIN, SEND, POLL, SEND, SEND_OFFSETS, COMMIT)
# The application names the partition that it is going to write to, or leaves this to the producer.
ADD_PARTITIONS = Line(
    "session.addPartitionsToTransaction(List.of(output));", C.ADD_PARTITIONS, client=SESSION
)
NAMED = _catch_all(INITIALIZE, POLL, BEGIN, ADD_PARTITIONS, SEND, SEND_OFFSETS, COMMIT)
UNNAMED = _catch_all(INITIALIZE, POLL, BEGIN, SEND, SEND_OFFSETS, COMMIT)
# Two transactions of a session, one after the other.
TWICE = _catch_all(
    *(INITIALIZE, POLL, BEGIN, SEND, SEND_OFFSETS, COMMIT, POLL, BEGIN, SEND, SEND_OFFSETS, COMMIT)
)
# A program of today that was half rewritten: the session was added, and the old calls were left.
HALF_REWRITTEN: tuple[Line, ...] = (
    INITIALIZE,
    Line(
        f'producer = new KafkaProducer(configs, session); // configs: {TRANSACTIONAL_ID.name} = "old-txn"',
        C.NEW_PRODUCER,
        target="old-txn",
    ),
    INIT,
    POLL,
    BEGIN,
    Line("producer.beginTransaction(); // as before", C.BEGIN_TRANSACTION),
    SEND,
    SEND_OFFSETS,
    Line("producer.commitTransaction(); // as before", C.COMMIT_TRANSACTION),
    COMMIT,
)
# A library that was given a producer, and asks it for its session.
BY_THE_PRODUCER = loop(
    GROUP_POLL,
    Line("session = producer.transactionSession(); // in a library", C.TRANSACTION_SESSION),
    SEND,
    SEND_OFFSETS.but(client=GIVEN),
    COMMIT.but(text=f"{GIVEN}.commitTransaction(); // in the library", client=GIVEN),
)
# A writer that continues after its checkpoint.
LIVE_WRITER: tuple[Line, ...] = (
    *WRITER,
    Line("records = source.poll(); // awake again after a pause", C.POLL),
    Line("producer.send(output(records)); // behind the checkpoint", C.SEND),
    Line("producer.commitTransaction();", C.COMMIT_TRANSACTION),
)
