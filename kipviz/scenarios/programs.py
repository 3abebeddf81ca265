"""The programs that applications run, in the words of the KIPs' pseudo code, one call a line."""

from __future__ import annotations

from kipviz.clients.application import Call, Line

C = Call

INIT = Line("producer.initTransactions();", C.INIT_TRANSACTIONS)
FAIL = Line("throw new KafkaException(); // producer.abortTransaction();", C.ABORT_TRANSACTION)

SHARE_POLL = "records = shareConsumer.poll(Duration.ofSeconds(5));"
SHARE_STAGE = (
    "producer.sendShareAcknowledgementsToTransaction(acks, shareConsumer.shareGroupMetadata());"
)
SHARE_CATCH = "} catch (KafkaException e) { producer.abortTransaction(); }"

GROUP_POLL = "records = consumer.poll(Duration.ofSeconds(5));"
GROUP_STAGE = "producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());"
GROUP_CATCH = "} catch (KafkaException e) { producer.abortTransaction(); seekToCommitted(); }"


def _loop(at: int, poll: str, stage: str, call: Call, catch: str) -> tuple[Line, ...]:
    """Give the consume-transform-produce loop as the lines from `at` on; the last one catches."""
    catch_at = at + 5
    return (
        Line(poll, C.POLL),
        Line("producer.beginTransaction();", C.BEGIN_TRANSACTION, on_error=catch_at),
        Line("producer.send(output(records));", C.SEND, on_error=catch_at),
        Line(stage, call, on_error=catch_at),
        Line("producer.commitTransaction();", C.COMMIT_TRANSACTION, then=at, on_error=catch_at),
        Line(catch, C.ABORT_TRANSACTION, then=at),
    )


def _share_loop(at: int) -> tuple[Line, ...]:
    return _loop(at, SHARE_POLL, SHARE_STAGE, C.SEND_SHARE_ACKNOWLEDGEMENTS, SHARE_CATCH)


def _group_loop(at: int) -> tuple[Line, ...]:
    return _loop(at, GROUP_POLL, GROUP_STAGE, C.SEND_OFFSETS, GROUP_CATCH)


# KIP-1289 "Pseudo code", and the same in which processing fails once, after all was staged.
SHARE_LOOP: tuple[Line, ...] = (INIT, *_share_loop(1))
SHARE_ABORT: tuple[Line, ...] = (INIT, *_share_loop(1)[:4], FAIL, *_share_loop(6))

# The same for a regular consumer group (KIP-98, KIP-447, KIP-1289 "Regular Consumer Group").
GROUP_LOOP: tuple[Line, ...] = (INIT, *_group_loop(1))
GROUP_ABORT: tuple[Line, ...] = (INIT, *_group_loop(1)[:4], FAIL, *_group_loop(6))

# An operator: looks for transactions that nobody ends, and ends one.
FIND = "kafka-transactions.sh find-hanging --topic output-A --partition 0"


def fence(transactional_id: str) -> tuple[Line, ...]:
    """Give the program of an operator who looks first, and then takes a name away."""
    return (
        Line(FIND, C.FIND_HANGING, target="output-A-0"),
        Line("kafka-transactions.sh list", C.LIST_TRANSACTIONS, target="state=Ongoing"),
        Line(
            f'admin.fenceProducers(List.of("{transactional_id}"));',
            C.FENCE_PRODUCERS,
            target=transactional_id,
        ),
    )


ABORT_BY_HAND: tuple[Line, ...] = (
    Line("kafka-transactions.sh describe-producers", C.DESCRIBE_PRODUCERS, target="output-A-0"),
    Line("kafka-transactions.sh abort --start-offset 0", C.ABORT_BY_HAND, target="output-A-0"),
)

# What KIP-447 warns of: the producer is told the group's id and not who is its member.
_BARE = "producer.sendOffsetsToTransaction(offsets, new ConsumerGroupMetadata(groupId));"
GROUP_LOOP_BARE: tuple[Line, ...] = tuple(
    line.but(text=_BARE, metadata=False) if line.call is C.SEND_OFFSETS else line
    for line in GROUP_LOOP
)

# A plain reader: it polls, and polls again; the same with a producer that stages no offsets.
READ: tuple[Line, ...] = (Line(GROUP_POLL, C.POLL, then=0),)
COPY: tuple[Line, ...] = (
    INIT,
    Line(GROUP_POLL, C.POLL),
    Line("producer.beginTransaction();", C.BEGIN_TRANSACTION),
    Line("producer.send(output(records));", C.SEND),
    Line("producer.commitTransaction();", C.COMMIT_TRANSACTION, then=1),
)
