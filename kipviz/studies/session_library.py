"""The studies of TransactionSession (KIP-1310), under the numbers of our review."""

from __future__ import annotations

from kipviz.properties.atomic import Atomic
from kipviz.properties.pending import NothingPending
from kipviz.studies.counting import session_threads, sessions
from kipviz.studies.study import Rival, Study
from kipviz.studies.timed import latency

ATOMIC = Atomic.name
LIVE = NothingPending.name


def _rival(label: str, design: str = "repaired") -> Rival:
    return Rival(label, design)


MANY = "kip-1310-many-senders"
TOGETHER = "repaired+session_producers=any_number_of_producers"

SESSION_STUDIES: tuple[Study, ...] = (
    Study(
        "B12",
        "Does a resumed session fence the writer that is still alive?",
        "KIP-1310 2.1 resume(), 4.1; KIP-939 keepPreparedTxn",
        "A writer pauses after its checkpoint, another process takes its transaction over, and the writer wakes up and "
        "sends one more record. resume() sends no request, so it fences no process. keepPreparedTxn fences a process "
        "that ends the transaction, but not one that writes in it: a log learns of the next epoch only from the marker. "
        "Only an abort keeps the record out.",
        counting=sessions.fencing,
    ),
    Study(
        "B13",
        "What does one EndTxn response tell a process that recovers a transaction?",
        "KIP-1310 4.1; TransactionCoordinator.endTransaction; FLINK-31363",
        "Two truths or more share one answer in either version: a recovery that reads an error as "
        "'it is over' cannot tell committed from aborted. A commit that used up the last epoch of its "
        "producer id is in the table, too: its successor has another producer id.",
        counting=sessions.one_end_txn,
    ),
    Study(
        "B15",
        "What if two senders use one producer's identity in a partition?",
        "KIP-1310 2.3, 3.2 'sequence numbers', 6.2; ProducerStateEntry.findDuplicateBatch",
        "Whether a record counts as processed whose output the log took for a repetition.",
        "kip-1310-silent-loss",
        "",
        (ATOMIC, LIVE),
        (
            _rival("each counts its own (the text)", MANY),
            _rival("they count together", TOGETHER),
            _rival("one producer in a session"),
        ),
    ),
    Study(
        "B16",
        "Can two prepared transactions have one identity?",
        "FLINK-8132; KIP-1310 4.1; KIP-890 'epoch bump on every transaction'",
        "A committer commits the first transaction once more, as after a restore from a checkpoint, "
        "while the second one of the same producer is open. In version 1 both have one identity, and "
        "the second one is committed with the first. A new epoch for every transaction, by a new "
        "producer or by version 2, keeps them apart.",
        counting=sessions.one_identity,
    ),
    Study(
        "B17",
        "What happens to unsent batches when a session commits?",
        "KIP-1310 2.1, 3.4; TransactionManager.nextRequest",
        "Whether the group's offset is committed without the output of the last batch.",
        "kip-1310-unsent-batch",
        "",
        (ATOMIC, LIVE),
        (
            _rival("the session does not know of them (the text)", "kip-1310-unaware"),
            _rival("EndTxn waits for every bound client"),
        ),
    ),
    Study(
        "B18",
        "Must a failed batch of one producer fail the whole session?",
        "KIP-1310 3.2, ABORTABLE_ERROR of the session and of the TransactionManager",
        "Whether a transaction is committed although a batch of it was refused.",
        "kip-1310-two-senders",
        "",
        (ATOMIC, LIVE),
        (
            _rival(
                "the failure is the producer's (the text)",
                f"{MANY}+session_failure=separate_failure",
            ),
            _rival("the failure is the session's", MANY),
        ),
    ),
    Study(
        "B19",
        "Who tells the other clients of a session about the next epoch?",
        "KIP-1310 3.2; KIP-890 'EndTxn v5'",
        "Whether a batch that carries the epoch of the transaction before can land in that one, "
        "while its markers are still under way. That sequences continue breaks no property: it only lets "
        "no second transaction succeed.",
        "kip-1310-next-epoch",
        "",
        (ATOMIC,),
        (
            _rival("none: a rejected batch does", "kip-1310-lazy-epoch"),
            _rival("the session, and the sequences go on (the text)", "kip-1310-counting-on"),
            _rival("the session, as soon as it knows, with sequences from 0"),
        ),
    ),
    Study(
        "B20",
        "What does a session save, or cost, in connections, threads and requests?",
        "KIP-1310 1.1, 3.4; the author's mail on the number of objects",
        "One client and one thread more wherever a producer is bound to a session, and no request "
        "less. A connection more only where the coordinator is on a broker that the producer talks "
        "to anyway; one less where the consumer stages on the connection that it has. Only a "
        "committer that never produces saves its accumulator.",
        counting=sessions.costs,
    ),
    Study(
        "B32",
        "How many transactional ids does a large share group need?",
        "KIP-1310 4.6; KIP-1302; TransactionStateManager.partitionFor",
        "With an identity for each consumer the ids grow with the consumers, whatever the number of "
        "partitions. That members come and go is not in the table.",
        counting=sessions.identities,
    ),
    Study(
        "threads",
        "What may two threads of a process do with one session?",
        "KIP-1310 2.1 'thread-safe', 3.2; TransactionManager (synchronized), KafkaConsumer.acquire",
        "No reading of 'thread-safe' keeps a commit from falling between send() and "
        "sendOffsetsToTransaction() of another thread: the output is there, its offset is not, and the record "
        "comes again. If the first thread waits for the worker, every reading keeps every property, but one "
        "thread at a time throws work away. A lock in the session alone lets a send() that has looked append "
        "its record after the end of the transaction that it has seen.",
        parts=session_threads.PARTS,
    ),
    Study(
        "B33",
        "Is a session's own connection worth its cost?",
        "KIP-1310 3.4 'Dedicated Connection'",
        "Today a request of the transaction may stand behind a batch if both are for one broker; a "
        "session's never does. EndTxn waits for the batches in either design. The batch costs an append, "
        "so TxnOffsetCommit waits for that long and the commit ends later by about as much.",
        counting=sessions.queueing,
        timing=latency.behind_a_batch,
    ),
)
