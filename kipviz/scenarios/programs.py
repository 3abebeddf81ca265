"""The programs that applications run, in the words of the KIPs' pseudo code."""

from __future__ import annotations

from kipviz.clients.application import Call, Line

C = Call

# KIP-1289 "Pseudo code", one call a line; the catch block is the last line.
SHARE_LOOP: tuple[Line, ...] = (
    Line("producer.initTransactions();", C.INIT_TRANSACTIONS),
    Line("records = shareConsumer.poll(Duration.ofSeconds(5));", C.POLL),
    Line("producer.beginTransaction();", C.BEGIN_TRANSACTION, on_error=6),
    Line("producer.send(output(records));", C.SEND, on_error=6),
    Line(
        "producer.sendShareAcknowledgementsToTransaction(acks, shareConsumer.shareGroupMetadata());",
        C.SEND_SHARE_ACKNOWLEDGEMENTS,
        on_error=6,
    ),
    Line("producer.commitTransaction();", C.COMMIT_TRANSACTION, then=1, on_error=6),
    Line(
        "} catch (KafkaException e) { producer.abortTransaction(); }", C.ABORT_TRANSACTION, then=1
    ),
)

# The same loop in which processing fails once, after everything was staged.
SHARE_ABORT: tuple[Line, ...] = (
    *SHARE_LOOP[:5],
    Line("throw new KafkaException(); // producer.abortTransaction();", C.ABORT_TRANSACTION),
    Line("records = shareConsumer.poll(Duration.ofSeconds(5));", C.POLL),
    Line("producer.beginTransaction();", C.BEGIN_TRANSACTION, on_error=11),
    Line("producer.send(output(records));", C.SEND, on_error=11),
    Line(
        "producer.sendShareAcknowledgementsToTransaction(acks, shareConsumer.shareGroupMetadata());",
        C.SEND_SHARE_ACKNOWLEDGEMENTS,
        on_error=11,
    ),
    Line("producer.commitTransaction();", C.COMMIT_TRANSACTION, then=6, on_error=11),
    Line(
        "} catch (KafkaException e) { producer.abortTransaction(); }", C.ABORT_TRANSACTION, then=6
    ),
)

# The same for a regular consumer group (KIP-98, KIP-447, KIP-1289 "Flow - Regular Consumer Group").
GROUP_LOOP: tuple[Line, ...] = (
    Line("producer.initTransactions();", C.INIT_TRANSACTIONS),
    Line("records = consumer.poll(Duration.ofSeconds(5));", C.POLL),
    Line("producer.beginTransaction();", C.BEGIN_TRANSACTION, on_error=6),
    Line("producer.send(output(records));", C.SEND, on_error=6),
    Line(
        "producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());",
        C.SEND_OFFSETS,
        on_error=6,
    ),
    Line("producer.commitTransaction();", C.COMMIT_TRANSACTION, then=1, on_error=6),
    Line(
        "} catch (KafkaException e) { producer.abortTransaction(); seekToCommitted(); }",
        C.ABORT_TRANSACTION,
        then=1,
    ),
)

GROUP_ABORT: tuple[Line, ...] = (
    *GROUP_LOOP[:5],
    Line("throw new KafkaException(); // producer.abortTransaction();", C.ABORT_TRANSACTION),
    Line("records = consumer.poll(Duration.ofSeconds(5));", C.POLL),
    Line("producer.beginTransaction();", C.BEGIN_TRANSACTION, on_error=11),
    Line("producer.send(output(records));", C.SEND, on_error=11),
    Line(
        "producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());",
        C.SEND_OFFSETS,
        on_error=11,
    ),
    Line("producer.commitTransaction();", C.COMMIT_TRANSACTION, then=6, on_error=11),
    Line(
        "} catch (KafkaException e) { producer.abortTransaction(); seekToCommitted(); }",
        C.ABORT_TRANSACTION,
        then=6,
    ),
)
