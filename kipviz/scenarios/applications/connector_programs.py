"""Programs of the first users of KIP-1289's draft implementation: a plain loop, a Flink job and a Streams ingress.

SOURCE: the draft's client API (pull request 22357), the design notes of the Flink connector
(apache/flink-connector-kafka, pull request 271; FLIP-573, a draft) and a Streams branch; all of it is unmerged. The
programs do what they do, in our words: an explicit-mode source polls, acknowledges and drains; the object travels
with the record; a sink stages it. A checkpoint is a store that is durable at once (`database`): its content survives
the process.
NOT MODELLED: a source and a sink in two processes (a shuffle of two members into one sink is one process here),
payload ids, and a second sink whose recovery commits again by the checkpoint (there the checkpoint holds the state of
one producer).
"""

from __future__ import annotations

from kipviz.clients.application import Call, Line
from kipviz.clients.calling.database_calls import CHECKPOINT
from kipviz.clients.calling.producer_calls import KEEP_PREPARED_TXN
from kipviz.clients.shares.draining import DRAINED, QUEUED
from kipviz.clients.transactions.external_database import STORED
from kipviz.scenarios.applications.programs import ACCEPT_EACH, CATCH, INIT, SHARE_POLL

C = Call

POLL = Line(SHARE_POLL, C.POLL)
ACKNOWLEDGE = Line(ACCEPT_EACH, C.ACKNOWLEDGE)
DRAIN = Line("acks = shareConsumer.acknowledgementsForTransaction();", C.DRAIN)
SEND = Line("producer.send(output(records));", C.SEND)
_SEND_ACKS = "sendShareAcknowledgementsToTransaction(acks, shareConsumer.shareGroupMetadata());"
STAGE = Line(f"producer.{_SEND_ACKS}", C.SEND_SHARE_ACKNOWLEDGEMENTS, target=DRAINED)
BEGIN = Line("producer.beginTransaction();", C.BEGIN_TRANSACTION)
COMMIT = Line("producer.commitTransaction();", C.COMMIT_TRANSACTION)
ABORT = Line(CATCH, C.ABORT_TRANSACTION)
CLOSE = Line("shareConsumer.close();", C.CLOSE_CONSUMER)
_READ: tuple[Line, ...] = (POLL, ACKNOWLEDGE, DRAIN)


def _catch_lines(lines: tuple[Line, ...], tried: range, catch: int) -> tuple[Line, ...]:
    """Return a program in which some lines continue at the line `catch` on a KafkaException."""
    return tuple(line.but(on_error=catch) if at in tried else line for at, line in enumerate(lines))


# The loop of the draft's own API: explicit mode, drained decisions, outputs and acknowledgements in one transaction.
LOOP: tuple[Line, ...] = _catch_lines(
    (INIT, *_READ, BEGIN, SEND, STAGE, COMMIT.but(then=1), ABORT.but(then=1)), range(5, 8), 8
)
# One attempt: enough for a search of one transaction.
ONCE: tuple[Line, ...] = (*LOOP[:7], LOOP[7].but(then=9), LOOP[8].but(then=9))
# The same with processing that fails once, and with processing that always fails (a poison record).
ABORT_ONCE: tuple[Line, ...] = (
    *LOOP[:7],
    Line("throw new KafkaException(); // producer.abortTransaction();", C.ABORT_TRANSACTION),
    *(
        line.but(
            then=line.then + 7 if line.then >= 0 else -1,
            on_error=line.on_error + 7 if line.on_error >= 0 else -1,
        )
        for line in LOOP[1:]
    ),
)
ABORT_ALWAYS: tuple[Line, ...] = (*LOOP[:7], ABORT_ONCE[7].but(then=1))
# A filter drops every record: the transaction has only acknowledgements.
FILTER: tuple[Line, ...] = _catch_lines(
    (INIT, *_READ, BEGIN, STAGE, COMMIT.but(then=1), ABORT.but(then=1)), range(5, 7), 7
)
# A consumer that leaves after its records are staged.
STAGE_AND_CLOSE: tuple[Line, ...] = (*LOOP[:7], CLOSE, COMMIT)
# The same with an abort: the staged records belong to the transaction, not to the member.
STAGE_CLOSE_AND_ABORT: tuple[Line, ...] = (*LOOP[:7], CLOSE, ABORT_ONCE[7])
# A rejected staging, an ordinary acknowledgement of the same record, and an abort: the record is skipped.
ACKNOWLEDGE_AFTER_REFUSAL: tuple[Line, ...] = (
    *LOOP[:7],
    Line("shareConsumer.commitSync(); // the staging was refused: skip the record", C.COMMIT_SYNC),
    ABORT.but(text="producer.abortTransaction();", then=1),
)
# A slow pipeline: the source polls the record again, by the same member, before its first copy is staged.
SECOND_DELIVERY: tuple[Line, ...] = (
    INIT,
    BEGIN,
    *_READ[:2],
    DRAIN.but(
        target=QUEUED, text="element1.acks = shareConsumer.acknowledgementsForTransaction();"
    ),
    Line("sink.write(element1); // producer.send", C.SEND, on_error=10),
    POLL,
    Line("sink.write(element2); // producer.send", C.SEND, on_error=10),
    Line(
        f"producer.{_SEND_ACKS} // of element1",
        C.SEND_SHARE_ACKNOWLEDGEMENTS,
        target=DRAINED,
        on_error=10,
    ),
    COMMIT.but(then=11, on_error=10),
    ABORT,
)
# The same with a second transaction for the second copy. A rejected staging aborts its transaction.
SECOND_DELIVERY_NEXT: tuple[Line, ...] = (
    *(line.but(on_error=10 if line.on_error >= 0 else -1) for line in SECOND_DELIVERY[:7]),
    SECOND_DELIVERY[8].but(on_error=10),
    COMMIT.but(on_error=10),
    BEGIN.but(then=11),
    ABORT.but(then=9),
    SECOND_DELIVERY[7].but(on_error=16),
    ACKNOWLEDGE.but(text="element2: shareConsumer.acknowledge(record, ACCEPT);"),
    SECOND_DELIVERY[4].but(text="element2.acks = shareConsumer.acknowledgementsForTransaction();"),
    STAGE.but(text=f"producer.{_SEND_ACKS} // of element2", on_error=16),
    COMMIT.but(then=17, on_error=16),
    ABORT,
)

# -- a Flink job -----------------------------------------------------------------------------------

SNAPSHOT = Line(
    "checkpoint.add(producerId, epoch); // the state of the sink",
    C.DATABASE_INSERT,
    target=CHECKPOINT,
)
CHECKPOINT_COMPLETE = Line("checkpoint.complete();", C.DATABASE_COMMIT)
PREPARE = Line("state = producer.prepareTransaction(); // at the barrier", C.PREPARE_TRANSACTION)
COMPLETE = Line(
    "committer.commit(): producer.completeTransaction(state);",
    C.COMPLETE_TRANSACTION,
    target=STORED,
)
# Arrangement 1: outputs and acknowledgements in one transaction, prepared at the barrier and completed with the
# checkpoint. A restart keeps the prepared transaction and completes it by the checkpoint (KIP-939).
FLINK_ONE_TRANSACTION: tuple[Line, ...] = _catch_lines(
    (
        Line("producer.initTransactions(true);", C.INIT_TRANSACTIONS, target=KEEP_PREPARED_TXN),
        COMPLETE.but(text="recover(): producer.completeTransaction(state);", on_error=2),
        *_READ,
        BEGIN,
        SEND,
        STAGE,
        PREPARE,
        SNAPSHOT,
        CHECKPOINT_COMPLETE,
        COMPLETE.but(then=2),
        ABORT.but(then=2),
    ),
    range(6, 9),
    12,
)
# The same without two-phase commit: a restart aborts what the checkpoint expects to be committed.
FLINK_WITHOUT_TWO_PHASE: tuple[Line, ...] = _catch_lines(
    (
        INIT,
        *_READ,
        BEGIN,
        SEND,
        STAGE,
        SNAPSHOT,
        CHECKPOINT_COMPLETE,
        COMMIT.but(text="committer.commit(): producer.commitTransaction();", then=1),
        ABORT.but(then=1),
    ),
    range(5, 7),
    10,
)
# Arrangement 2: a second sink with its own transactional id handles the acknowledgements, in no fixed order.
ACKS = "acks"
_INIT_ACKS = INIT.but(text="acks.initTransactions();", client=ACKS)
_BEGIN_ACKS = BEGIN.but(text="acks.beginTransaction();", client=ACKS)
_STAGE_ACKS = STAGE.but(text=f"acks.{_SEND_ACKS}", client=ACKS)
_COMMIT_ACKS = COMMIT.but(text="acks.commitTransaction();", client=ACKS)
_ABORT_ACKS = ABORT.but(text="acks.abortTransaction();", client=ACKS)
_TWO_SINKS: tuple[Line, ...] = (
    INIT,
    _INIT_ACKS,
    *_READ,
    BEGIN,
    SEND.but(on_error=11),
    _BEGIN_ACKS,
    _STAGE_ACKS.but(on_error=11),
)
FLINK_ACKS_FIRST: tuple[Line, ...] = (
    *_TWO_SINKS,
    _COMMIT_ACKS.but(on_error=11),
    COMMIT.but(then=2, on_error=12),
    _ABORT_ACKS.but(on_error=12),
    ABORT.but(then=2, on_error=2),
)
# Arrangement 3: outputs first, then acknowledgements; a failed staging is dropped, its outputs are already committed.
FLINK_OUTPUTS_FIRST: tuple[Line, ...] = (
    *_TWO_SINKS,
    COMMIT.but(on_error=11),
    _COMMIT_ACKS.but(then=2, on_error=12),
    ABORT.but(on_error=12),
    _ABORT_ACKS.but(then=2, on_error=2),
)


def _once(program: tuple[Line, ...], first: int) -> tuple[Line, ...]:
    """Return a program that ends instead of reading again: one attempt, and one more after a restart."""
    end = len(program)
    return tuple(
        line.but(
            then=end if line.then == first else line.then,
            on_error=end if line.on_error == first and line.then == first else line.on_error,
        )
        for line in program
    )


def looping(program: tuple[Line, ...], first: int = 2) -> tuple[Line, ...]:
    """Return a program of one attempt that reads again instead of ending."""
    end = len(program)
    return tuple(
        line.but(
            then=first if line.then == end else line.then,
            on_error=first if line.on_error == end else line.on_error,
        )
        for line in program
    )


# One attempt of each, for a search. A call that stages blocks until the broker has responded (draft, seen in source),
# and here it does not. So the acknowledging sink prepares, which waits for the response, before anything is committed.
FLINK_ONE_TRANSACTION_ONCE = _once(FLINK_ONE_TRANSACTION, 2)
_PREPARED: tuple[Line, ...] = (
    *_TWO_SINKS[:6],
    SEND.but(on_error=13),
    _BEGIN_ACKS,
    _STAGE_ACKS.but(on_error=13),
    PREPARE.but(on_error=13),
    PREPARE.but(text="acks.prepareTransaction(); // at the barrier", client=ACKS, on_error=13),
)
_GIVE_UP: tuple[Line, ...] = (_ABORT_ACKS.but(on_error=14), ABORT.but(then=15, on_error=15))
FLINK_ACKS_FIRST_ONCE: tuple[Line, ...] = (
    *_PREPARED,
    _COMMIT_ACKS.but(on_error=13),
    COMMIT.but(then=15, on_error=14),
    *_GIVE_UP,
)
FLINK_OUTPUTS_FIRST_ONCE: tuple[Line, ...] = (
    *_PREPARED,
    COMMIT.but(on_error=13),
    _COMMIT_ACKS.but(then=15, on_error=13),
    *_GIVE_UP,
)
# Acknowledgements are staged at the checkpoint, after the outputs' commit; a staging that fails is dropped.
FLINK_STAGES_LATE: tuple[Line, ...] = (
    *_TWO_SINKS[:6],
    SEND.but(on_error=12),
    COMMIT.but(on_error=12),
    _BEGIN_ACKS,
    _STAGE_ACKS,
    _COMMIT_ACKS.but(then=2, on_error=11),
    _ABORT_ACKS.but(then=2, on_error=2),
    ABORT.but(then=2, on_error=2),
)
FLINK_STAGES_LATE_ONCE = _once(FLINK_STAGES_LATE, 2)

# Two sources feed one sink through a shuffle: the records and the drained objects of two members are in one
# transaction.
SECOND_MEMBER = "M9"
_SECOND_READ = tuple(line.but(client=SECOND_MEMBER) for line in _READ)
FLINK_SHUFFLE: tuple[Line, ...] = (
    INIT,
    BEGIN,
    *(line.but(text=f"source A: {line.text}") for line in _READ),
    SEND.but(text="sink.write(elementA); // producer.send", on_error=13),
    *(line.but(text=f"source B: {line.text}") for line in _SECOND_READ),
    SEND.but(text="sink.write(elementB); // producer.send", on_error=13),
    STAGE.but(text=f"producer.{_SEND_ACKS} // of element A", on_error=13),
    STAGE.but(
        text=f"producer.{_SEND_ACKS} // of element B",
        target=f"{DRAINED} {SECOND_MEMBER}",
        on_error=13,
    ),
    COMMIT.but(then=1, on_error=13),
    ABORT.but(then=1),
)

# Two sources that number their payloads in the same way: the sink knows the id of the second one, with other offsets,
# and throws.
FLINK_PAYLOAD_ID: tuple[Line, ...] = (
    INIT,
    BEGIN,
    *FLINK_SHUFFLE[2:5],
    SEND.but(text="sink.write(elementA); // payload 1: producer.send", on_error=10),
    STAGE.but(text=f"producer.{_SEND_ACKS} // of payload 1", on_error=10),
    *FLINK_SHUFFLE[6:9],
    ABORT.but(
        text="sink.write(elementB); // payload 1 again, other offsets: IllegalStateException, abort",
        then=1,
    ),
)

# -- a Streams ingress -----------------------------------------------------------------------------

# The forwarder of the exactly-once path is LOOP with the ingress topic as its output. At least once: the results of
# send() are ignored and flush() does not throw for them; then everything is acknowledged. (The model reports the result
# of a send() at flush(); to continue there is what a program does that ignores it.)
INGRESS_AT_LEAST_ONCE: tuple[Line, ...] = (
    POLL,
    SEND.but(text="producer.send(ingress(records)); // a future that nobody keeps"),
    Line("producer.flush(); // the results of send() are not looked at", C.FLUSH, on_error=3),
    ACKNOWLEDGE,
    Line("shareConsumer.commitSync();", C.COMMIT_SYNC, then=0),
)
# Acknowledged, failed before it was drained, and closed: the acknowledgements are sent as they are.
INGRESS_CLOSED: tuple[Line, ...] = (
    INIT,
    *_READ[:2],
    BEGIN,
    SEND,
    Line(
        "throw new KafkaException(); // before acknowledgementsForTransaction()",
        C.ABORT_TRANSACTION,
    ),
    CLOSE,
)
# The same with another poll instead of a close: poll() sends what was decided and not drained.
INGRESS_POLLED: tuple[Line, ...] = (*INGRESS_CLOSED[:5], INGRESS_CLOSED[5].but(then=1))
# The map of tasks contains only this client's: a record of another partition throws before anything is decided.
INGRESS_UNKNOWN_TASK: tuple[Line, ...] = (
    POLL,
    Line(
        'throw new IllegalStateException("no task for the record\'s partition");',
        C.POLL,
        then=2,
        on_error=2,
    ),
)
