"""The programs of applications, in the words of the KIPs' pseudo code, one call on each line."""

from __future__ import annotations

from kipviz.clients.application import Call, Line
from kipviz.clients.calling.database_calls import WITH_STATE
from kipviz.clients.calling.producer_calls import EVERY_PARTITION, KEEP_PREPARED_TXN
from kipviz.clients.groups.subscribing import PATTERN
from kipviz.clients.transactions.external_database import IN_DOUBT, STORED
from kipviz.messages.shares.share_groups import AcknowledgeType

C = Call

INIT = Line("producer.initTransactions();", C.INIT_TRANSACTIONS)
FAIL = Line("throw new KafkaException(); // producer.abortTransaction();", C.ABORT_TRANSACTION)

SHARE_POLL = "records = shareConsumer.poll(Duration.ofSeconds(5));"
SHARE_STAGE = (
    "producer.sendShareAcknowledgementsToTransaction("
    "toBatches(acks), shareConsumer.shareGroupMetadata());"
)
# Both catch blocks of KIP-1289's pseudo code, and the one block that its corner case 9 requires.
SHARE_CATCH = Line(
    "} catch (ProducerFencedException | UnsupportedVersionException fatal) { throw fatal; } "
    "catch (KafkaException abortable) { producer.abortTransaction(); }",
    C.ABORT_TRANSACTION,
    rethrows=("ProducerFencedException", "UnsupportedVersionException"),
)
ABORT_OF_CASE_9 = Line(
    "} catch (KafkaException e) { producer.abortTransaction(); }", C.ABORT_TRANSACTION
)

GROUP_POLL = "records = consumer.poll(Duration.ofSeconds(5));"
GROUP_STAGE = "producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());"
GROUP_CATCH = "} catch (KafkaException e) { producer.abortTransaction(); seekToCommitted(); }"


def _loop(at: int, poll: str, stage: str, call: Call, catch: Line) -> tuple[Line, ...]:
    """Return the consume-transform-produce loop as the lines from `at` on; the last one catches."""
    catch_at = at + 5
    return (
        Line(poll, C.POLL),
        Line("producer.beginTransaction();", C.BEGIN_TRANSACTION, on_error=catch_at),
        Line("producer.send(output(records));", C.SEND, on_error=catch_at),
        Line(stage, call, on_error=catch_at),
        Line("producer.commitTransaction();", C.COMMIT_TRANSACTION, then=at, on_error=catch_at),
        catch.but(then=at),
    )


# The statements of KIP-1289's pseudo code, one line each; the inner loop over the records is one line, too.
_OF_THE_TEXT = {
    C.POLL: f"{SHARE_POLL} if (records.isEmpty()) continue;",
    C.SEND: 'for (record : records) { producer.send(new ProducerRecord<>("destination-topic", '
    "process(record))); acks.add(record.offset(), AcknowledgeType.ACCEPT); }",
    C.COMMIT_TRANSACTION: "producer.commitTransaction(); // BLOCKS",
}


def _share_loop(at: int) -> tuple[Line, ...]:
    lines = _loop(at, SHARE_POLL, SHARE_STAGE, C.SEND_SHARE_ACKNOWLEDGEMENTS, SHARE_CATCH)
    return tuple(line.but(text=_OF_THE_TEXT.get(line.call, line.text)) for line in lines)


def _group_loop(at: int) -> tuple[Line, ...]:
    catch = Line(GROUP_CATCH, C.ABORT_TRANSACTION)
    return _loop(at, GROUP_POLL, GROUP_STAGE, C.SEND_OFFSETS, catch)


# KIP-1289 "Pseudo code", and the same with processing that fails once, after everything was staged.
SHARE_LOOP: tuple[Line, ...] = (INIT, *_share_loop(1))
# The same with the one catch block of corner case 9, "user must abort the transaction".
SHARE_LOOP_OF_CASE_9: tuple[Line, ...] = (
    *SHARE_LOOP[:-1],
    ABORT_OF_CASE_9.but(then=1),
)
# The same with a snapshot at the beginning of the transaction, as the javadoc allows.
SNAPSHOT_LOOP: tuple[Line, ...] = (
    *(line.but(on_error=7) if line.on_error >= 0 else line for line in SHARE_LOOP[:3]),
    Line("metadata = shareConsumer.shareGroupMetadata();", C.SHARE_GROUP_METADATA, on_error=7),
    SHARE_LOOP[3].but(on_error=7),
    SHARE_LOOP[4].but(
        text="producer.sendShareAcknowledgementsToTransaction(toBatches(acks), metadata);",
        on_error=7,
    ),
    *(line.but(on_error=7) if line.on_error >= 0 else line for line in SHARE_LOOP[5:]),
)


def failing(times: int) -> tuple[Line, ...]:
    """Return the loop in which processing fails `times` times in a row before it succeeds."""
    lines = [INIT]
    for _ in range(times):
        lines += [*_share_loop(len(lines))[:4], FAIL]
    return (*lines, *_share_loop(len(lines)))


SHARE_ABORT: tuple[Line, ...] = failing(1)

# The same for a regular consumer group (KIP-98, KIP-447, KIP-1289 "Regular Consumer Group").
GROUP_LOOP: tuple[Line, ...] = (INIT, *_group_loop(1))
GROUP_ABORT: tuple[Line, ...] = (INIT, *_group_loop(1)[:4], FAIL, *_group_loop(6))

# The same for a process that is stopped after each transaction and restarted.
GROUP_LOOP_AND_UNSUBSCRIBE: tuple[Line, ...] = (
    *GROUP_LOOP[:5],
    GROUP_LOOP[5].but(then=7),
    GROUP_LOOP[6],
    Line("consumer.unsubscribe();", C.UNSUBSCRIBE, then=1),
)


def reading(*targets: str) -> tuple[Line, ...]:
    """Return the program that subscribes and reads once for each of some targets, and the last one in a loop."""
    lines: list[Line] = []
    for target in targets:
        lines += [_subscribe(target), READ[0].but(then=-1)]
    return (*lines[:-1], READ[0].but(then=len(lines) - 1))


def _subscribe(target: str) -> Line:
    given = ", ".join(f'"{each.strip()}"' for each in target.split(","))
    given = f"List.of({given})"
    if target.startswith(PATTERN):
        given = f'new SubscriptionPattern("{target.removeprefix(PATTERN)}")'
    return Line(f"consumer.subscribe({given});", C.SUBSCRIBE, target=target)


# An operator: finds hanging transactions, and ends one.
FIND = "kafka-transactions.sh find-hanging --topic output-A --partition 0"


END_WHAT_HANGS: tuple[Line, ...] = (
    Line(FIND, C.FIND_HANGING, target="output-A-0"),
    Line("kafka-transactions.sh abort --start-offset 1", C.ABORT_BY_HAND, target="output-A-0"),
)
ABORT_BY_HAND: tuple[Line, ...] = (
    Line("kafka-transactions.sh describe-producers", C.DESCRIBE_PRODUCERS, target="output-A-0"),
    Line("kafka-transactions.sh abort --start-offset 0", C.ABORT_BY_HAND, target="output-A-0"),
)

# KIP-447 warns of this: the producer gets the group's id but not its member.
_BARE = "producer.sendOffsetsToTransaction(offsets, new ConsumerGroupMetadata(groupId));"
GROUP_LOOP_BARE: tuple[Line, ...] = tuple(
    line.but(text=_BARE, metadata=False) if line.call is C.SEND_OFFSETS else line
    for line in GROUP_LOOP
)

# Users' mistakes: two batches in one transaction; one transaction that fails and one that does not; a share consumer by
# itself, implicit, explicit and slow.
COPY_TWICE: tuple[Line, ...] = (
    INIT,
    Line(GROUP_POLL, C.POLL, on_error=6),
    Line("producer.beginTransaction();", C.BEGIN_TRANSACTION, on_error=6),
    Line("producer.send(output(records));", C.SEND, on_error=6),
    Line("producer.send(more(records));", C.SEND, on_error=6),
    Line("producer.commitTransaction();", C.COMMIT_TRANSACTION, then=1, on_error=6),
    Line(
        "} catch (KafkaException e) { producer.abortTransaction(); }", C.ABORT_TRANSACTION, then=1
    ),
)
FAIL_THEN_COPY: tuple[Line, ...] = (
    INIT,
    Line(GROUP_POLL, C.POLL),
    Line("producer.beginTransaction();", C.BEGIN_TRANSACTION),
    Line("producer.send(output(records));", C.SEND),
    FAIL,
    Line(GROUP_POLL, C.POLL),
    Line("producer.beginTransaction();", C.BEGIN_TRANSACTION),
    Line("producer.send(output(records));", C.SEND),
    Line("producer.commitTransaction();", C.COMMIT_TRANSACTION, then=5),
)
SHARE_READ: tuple[Line, ...] = (
    Line("records = shareConsumer.poll(Duration.ofSeconds(5)); process(records);", C.POLL, then=0),
)

# Two transactions, the second of which is aborted: a late request of the first may end it.
COMMIT_THEN_ABORT: tuple[Line, ...] = (
    INIT,
    Line(GROUP_POLL, C.POLL),
    Line("producer.beginTransaction();", C.BEGIN_TRANSACTION),
    Line("producer.send(output(records));", C.SEND, on_error=5),
    Line("producer.commitTransaction();", C.COMMIT_TRANSACTION, then=6, on_error=5),
    Line("} catch (KafkaException e) { producer.abortTransaction(); }", C.ABORT_TRANSACTION),
    Line("producer.beginTransaction();", C.BEGIN_TRANSACTION),
    Line("producer.send(output(records));", C.SEND, on_error=8),
    Line("producer.abortTransaction();", C.ABORT_TRANSACTION),
)

# A plain reader: it polls repeatedly; the same with a producer that stages no offsets.
READ: tuple[Line, ...] = (Line(GROUP_POLL, C.POLL, then=0),)
READ_AND_UNSUBSCRIBE: tuple[Line, ...] = (
    Line(GROUP_POLL, C.POLL),
    Line("consumer.unsubscribe();", C.UNSUBSCRIBE),
)
COPY: tuple[Line, ...] = (
    INIT,
    Line(GROUP_POLL, C.POLL),
    Line("producer.beginTransaction();", C.BEGIN_TRANSACTION),
    Line("producer.send(output(records));", C.SEND),
    Line("producer.commitTransaction();", C.COMMIT_TRANSACTION, then=1),
)

# KIP-939, dual write: the database decides, Kafka follows. The state of Kafka's transaction is written to the database
# with the rows; the next process reads it there and ends the open transaction.
CATCH = "} catch (KafkaException e) { producer.abortTransaction(); }"
UNDO = "database.rollback(); // what was not committed"
SEEK = "consumer.seek(database.position());"
READ_ON = "records = consumer.poll(Duration.ofSeconds(5));"
SEND = "producer.send(output(records));"
DUAL_WRITE: tuple[Line, ...] = (
    Line("producer.initTransactions(true);", C.INIT_TRANSACTIONS, target=KEEP_PREPARED_TXN),
    Line(
        "if (prepared) producer.completeTransaction(database.state());",
        C.COMPLETE_TRANSACTION,
        on_error=2,
        target=STORED,
    ),
    Line(SEEK, C.SEEK),
    Line(READ_ON, C.POLL),
    Line("producer.beginTransaction();", C.BEGIN_TRANSACTION),
    Line(SEND, C.SEND, on_error=10),
    Line("state = producer.prepareTransaction();", C.PREPARE_TRANSACTION, on_error=10),
    Line("database.insert(rows(records), state);", C.DATABASE_INSERT, target=WITH_STATE),
    Line("database.commit();", C.DATABASE_COMMIT),
    Line("producer.completeTransaction(state);", C.COMPLETE_TRANSACTION, then=3, target=STORED),
    Line(CATCH, C.ABORT_TRANSACTION, then=2),
)
# The same for a member of a share group: there is no position to seek, the acknowledgements are in the transaction on
# which the database decides (KIP-1289 Follow-up KIP; our inference).
SHARE_DUAL_WRITE: tuple[Line, ...] = (
    *DUAL_WRITE[:2],
    Line(SHARE_POLL, C.POLL),
    DUAL_WRITE[4],
    DUAL_WRITE[5],
    Line(SHARE_STAGE, C.SEND_SHARE_ACKNOWLEDGEMENTS, on_error=10),
    *DUAL_WRITE[6:9],
    DUAL_WRITE[9].but(then=2),
    DUAL_WRITE[10],
)
# The same, and the database is told the writer's identity before anything else.
DUAL_WRITE_CLAIMED: tuple[Line, ...] = (
    DUAL_WRITE[0],
    Line("database.claim(producer); // refuse whom this one replaces", C.DATABASE_CLAIM),
    *(
        line.but(
            then=line.then + 1 if line.then >= 0 else -1,
            on_error=line.on_error + 1 if line.on_error >= 0 else -1,
        )
        for line in DUAL_WRITE[1:]
    ),
)
# The same with Kafka 4.4.0, whose broker keeps no transaction.
DUAL_WRITE_RELEASED: tuple[Line, ...] = (
    INIT,
    *(line.but(on_error=9 if line.on_error == 10 else -1) for line in DUAL_WRITE[2:9]),
    Line("producer.completeTransaction(state);", C.COMPLETE_TRANSACTION, then=2),
    Line(CATCH, C.ABORT_TRANSACTION, then=1),
)


def _kafka_first(recovery: tuple[Line, ...], preparations: tuple[Line, ...]) -> tuple[Line, ...]:
    """Return KIP-1310 4.5: both prepare, Kafka commits, then the database; after a crash, a recovery."""
    at = len(recovery)
    catch = at + 7
    return (
        *recovery,
        Line(READ_ON, C.POLL),
        Line("session.beginTransaction();", C.BEGIN_TRANSACTION),
        Line(SEND, C.SEND, on_error=catch),
        *(preparation.but(on_error=catch) for preparation in preparations),
        Line("session.commitTransaction();", C.COMMIT_TRANSACTION),
        Line("database.commitTransaction(dbTxnId);", C.DATABASE_COMMIT, then=at),
        Line(CATCH, C.ABORT_TRANSACTION),
        Line(UNDO, C.DATABASE_ROLLBACK, then=at - 1),
    )


PREPARATIONS: tuple[Line, ...] = (
    Line(
        "database.insert(rows(records)); database.prepareTransaction(dbTxnId);", C.DATABASE_PREPARE
    ),
    Line("session.prepareTransaction();", C.PREPARE_TRANSACTION),
)
# The text has no recovery. One rolls the prepared transaction back, the other one commits it.
KAFKA_FIRST_UNDOES = _kafka_first(
    (
        Line("producer.initTransactions();", C.INIT_TRANSACTIONS),
        Line("database.rollback(dbTxnId); // whatever is in doubt", C.DATABASE_ROLLBACK),
        Line(SEEK, C.SEEK),
    ),
    PREPARATIONS,
)
RECOVER: tuple[Line, ...] = (
    Line("producer.initTransactions(true);", C.INIT_TRANSACTIONS, target=KEEP_PREPARED_TXN),
    Line(
        "if (prepared) producer.completeTransaction(database.inDoubt() ? state : none);",
        C.COMPLETE_TRANSACTION,
        on_error=2,
        target=IN_DOUBT,
    ),
    Line("database.commitTransaction(dbTxnId); // whatever is in doubt", C.DATABASE_COMMIT),
    Line(SEEK, C.SEEK),
)
KAFKA_FIRST_COMMITS = _kafka_first(RECOVER, PREPARATIONS)
# The same with the prepares in the other order: a prepared transaction in the database then means that Kafka is ready.
KAFKA_FIRST_REPAIRED = _kafka_first(RECOVER, PREPARATIONS[::-1])
# A member of a share group in explicit mode (KIP-932): it acknowledges each record separately.
ACCEPT_EACH = "for (record : records) shareConsumer.acknowledge(record, AcknowledgeType.ACCEPT);"
COMMIT_SYNC = "shareConsumer.commitSync();"


def worker(verdicts: tuple[tuple[int, AcknowledgeType], ...], text: str) -> tuple[Line, ...]:
    """Return a loop that polls, acknowledges the records in this way, and waits until it is durable."""
    return (
        Line(SHARE_POLL, C.POLL),
        Line(text, C.ACKNOWLEDGE, verdicts=verdicts),
        Line(COMMIT_SYNC, C.COMMIT_SYNC, then=0),
    )


WORK: tuple[Line, ...] = worker(((-1, AcknowledgeType.ACCEPT),), ACCEPT_EACH)

# The same with a lock renewal before it is done (KIP-1222).
RENEW: tuple[Line, ...] = (
    Line(SHARE_POLL, C.POLL),
    Line(
        "for (record : records) shareConsumer.acknowledge(record, AcknowledgeType.RENEW);",
        C.ACKNOWLEDGE,
        verdicts=((-1, AcknowledgeType.RENEW),),
    ),
    Line(COMMIT_SYNC, C.COMMIT_SYNC),
    *(line.but(then=3 if line.then == 0 else -1) for line in WORK),
)

# Poll once, and close the consumer.
POLL_AND_CLOSE: tuple[Line, ...] = (
    Line(SHARE_POLL, C.POLL),
    Line("shareConsumer.close();", C.CLOSE_CONSUMER),
)

# A writer whose first transaction is aborted, and whose second one is not (KIP-98).
COPY_ABORT: tuple[Line, ...] = (
    *COPY[:4],
    Line("producer.abortTransaction();", C.ABORT_TRANSACTION),
    *(line.but(then=5 if line.then >= 0 else -1) for line in COPY[1:]),
)

# One record that is rejected in a transaction, or copied and accepted in it; and a poll() inside the transaction.
_REJECT = Line(
    "producer.sendShareAcknowledgementsToTransaction(reject(records), metadata);",
    C.SEND_SHARE_ACKNOWLEDGEMENTS,
    verdicts=((-1, AcknowledgeType.REJECT),),
)
_COMMIT = Line("producer.commitTransaction();", C.COMMIT_TRANSACTION)
REJECT_COMMIT: tuple[Line, ...] = (*SHARE_LOOP[:3], _REJECT, _COMMIT)
REJECT_ABORT: tuple[Line, ...] = (*SHARE_LOOP[:3], _REJECT, FAIL)
COPY_COMMIT: tuple[Line, ...] = (
    *SHARE_LOOP[:3],
    Line("producer.send(deadLetter(record));", C.SEND, target="dlq.g1-0"),
    Line(SHARE_STAGE, C.SEND_SHARE_ACKNOWLEDGEMENTS),
    _COMMIT,
)
POLL_INSIDE: tuple[Line, ...] = (
    *(line.but(on_error=-1) for line in SHARE_LOOP[:5]),
    Line(SHARE_POLL, C.POLL),
)

# Two batches in one transaction, each from the partition that its poll returned.
STAGE_TWICE: tuple[Line, ...] = (
    *(line.but(on_error=-1) for line in SHARE_LOOP[:3]),
    Line(SHARE_STAGE, C.SEND_SHARE_ACKNOWLEDGEMENTS, on_error=7),
    Line(SHARE_POLL, C.POLL),
    Line(SHARE_STAGE, C.SEND_SHARE_ACKNOWLEDGEMENTS, on_error=7),
    Line("producer.commitTransaction();", C.COMMIT_TRANSACTION, then=8, on_error=7),
    SHARE_CATCH,
    Line("shareConsumer.close();", C.CLOSE_CONSUMER),
)


def per_task(tasks: tuple[str, ...]) -> tuple[Line, ...]:
    """Return a thread that processes each partition with its own producer ("" is the first one).

    Kafka Streams, exactly_once until 2.6. A repeated name is a producer from a pool.
    """
    inits = tuple(INIT.but(client=name) for name in dict.fromkeys(tasks))
    lines: tuple[Line, ...] = ()
    for name in tasks:
        whole = _group_loop(0)[:5]
        own = tuple(each.but(client=name) for each in whole[1:])
        lines += tuple(each.but(then=-1, on_error=-1) for each in (whole[0], *own))
    return (*inits, *lines)


def per_thread(partitions: int) -> tuple[Line, ...]:
    """Return a thread that processes all partitions in one transaction (KIP-447, exactly_once_v2)."""
    poll, begin, send, stage, commit = (
        each.but(then=-1, on_error=-1) for each in _group_loop(0)[:5]
    )
    work = (poll, send) * (partitions - 1)
    stage = stage.but(target=EVERY_PARTITION)
    return (INIT, poll, begin, send, *work, stage, commit)


# Outputs in a transaction, offsets outside it: at least once.
COPY_AND_COMMIT: tuple[Line, ...] = (
    INIT,
    Line(GROUP_POLL, C.POLL),
    Line("producer.beginTransaction();", C.BEGIN_TRANSACTION),
    Line("producer.send(output(records));", C.SEND),
    Line("producer.commitTransaction();", C.COMMIT_TRANSACTION),
    Line("consumer.commitSync();", C.COMMIT_SYNC, then=1),
)

# The same, in a loop that continues when its partitions were reassigned.
COPY_COMMIT_GO_ON: tuple[Line, ...] = (
    *COPY_AND_COMMIT[:5],
    Line(
        "try { consumer.commitSync(); } catch (CommitFailedException e) { /* poll() joins again */ }",
        C.COMMIT_SYNC,
        then=1,
        on_error=1,
    ),
)

# A producer without a transactional id: it sends some records one by one, and then waits for all of them.
_POLL_AND_SEND: tuple[Line, ...] = (Line(GROUP_POLL, C.POLL), Line(SEND, C.SEND))
_FLUSH = Line("producer.flush();", C.FLUSH)
SEND_THREE: tuple[Line, ...] = (*_POLL_AND_SEND * 3, _FLUSH)
SEND_FOUR: tuple[Line, ...] = (*_POLL_AND_SEND * 4, _FLUSH)

# Some records in a transaction, one batch each, with the offset after the last one.
_MANY: tuple[Line, ...] = (
    INIT,
    Line(GROUP_POLL, C.POLL),
    Line("producer.beginTransaction();", C.BEGIN_TRANSACTION, on_error=10),
    Line("producer.send(output(records));", C.SEND, on_error=10),
    *(
        Line(GROUP_POLL, C.POLL),
        Line("producer.send(output(records));", C.SEND, on_error=10),
    )
    * 2,
    Line(GROUP_STAGE, C.SEND_OFFSETS, on_error=10),
)
MANY_IN_A_TRANSACTION: tuple[Line, ...] = (
    *_MANY,
    Line("producer.commitTransaction();", C.COMMIT_TRANSACTION, then=1, on_error=10),
    Line(GROUP_CATCH, C.ABORT_TRANSACTION, then=1),
)

# A commit that is retried until it returns, and one that is considered failed after a timeout.
COMMIT_AGAIN: tuple[Line, ...] = (
    *COPY[:4],
    Line(
        "while (true) try { producer.commitTransaction(); break; } catch (TimeoutException e) {}",
        C.COMMIT_TRANSACTION,
        then=1,
        on_error=4,
    ),
)
ABORT_INSTEAD: tuple[Line, ...] = (
    *COPY[:4],
    Line("producer.commitTransaction();", C.COMMIT_TRANSACTION, then=1, on_error=5),
    Line("} catch (TimeoutException e) { producer.abortTransaction(); }", C.ABORT_TRANSACTION),
)

# A sink and its recovery (Flink): the checkpoint contains an identity, with which another process commits.
WRITE_NOTHING: tuple[Line, ...] = (INIT, Line("producer.beginTransaction();", C.BEGIN_TRANSACTION))
WRITE_ON: tuple[Line, ...] = COPY


def recover_by_reflection(checkpoint: str) -> tuple[Line, ...]:
    """Return the recovery of a checkpoint ("name id epoch"): resume the transaction and commit it."""
    return (
        Line(
            "producer.resumeTransaction(id, epoch); // reflection, from the checkpoint",
            C.RESUME_TRANSACTION,
            target=checkpoint,
        ),
        Line("producer.commitTransaction();", C.COMMIT_TRANSACTION),
    )


RECOVER_BY_REFLECTION: tuple[Line, ...] = recover_by_reflection("my-txn 9 0")
# The source starts where the checkpoint says: after the first record.
WRITE_ON_FROM_THE_SECOND: tuple[Line, ...] = (
    INIT,
    Line("source.seek(checkpoint); // behind the first record", C.POLL),
    *(line.but(then=-1) for line in COPY[1:]),
)
