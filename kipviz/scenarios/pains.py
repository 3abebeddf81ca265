"""Common problems of users, by symptom: what they see, the cause, the remedy, and the story that shows it.

`kipviz pains` lists them. The symptoms are collected from issue trackers and mailing lists. A story shows its symptom
at the end of a beat; if the story is only similar, `missing` says so.
"""

from __future__ import annotations

from kipviz.core.values import Value


class Pain(Value, frozen=True):
    """A symptom: its number, its description in users' words, and its cause.

    `story` shows it at the end of the beat with the given number, from 1. `missing` is what the model lacks, if the
    story is only similar to the symptom.
    """

    number: int
    symptom: str
    see: str
    cause: str
    way_out: str
    source: str
    story: str
    beat: int
    missing: str = ""


class UnknownPain(ValueError):
    """No symptom has this number."""


PAINS: tuple[Pain, ...] = (
    Pain(
        1,
        "ProducerFencedException right after a deployment",
        "The old instance's abort returns PRODUCER_FENCED, and its producer has failed fatally.",
        "Two live instances have the same transactional.id; the second initTransactions() fences "
        "the first.",
        "Stop the old instance first, or give every instance its own transactional id; close a fenced producer.",
        "spring-kafka 1091",
        "pain-two-instances",
        4,
    ),
    Pain(
        2,
        "Fenced, but only one instance runs",
        "commitTransaction() throws InvalidTxnStateException, in later releases "
        "ProducerFencedException.",
        "The transaction took longer than transaction.timeout.ms; the coordinator aborted it and "
        "bumped the epoch.",
        "Shorter transactions or a longer timeout; abortTransaction() would have succeeded; now only a new producer helps.",
        "Flink PR 16941",
        "pain-timed-out",
        3,
    ),
    Pain(
        3,
        "InvalidProducerEpochException on send, and Streams says that the task has migrated",
        "A batch is rejected with INVALID_PRODUCER_EPOCH, without any error from the coordinator.",
        "The log has a marker with a higher epoch: another producer took over the transactional id, or the transaction timed out.",
        "For a batch it is abortable; if the abort is fenced too, close the producer.",
        "Kafka PR 9700",
        "pain-two-instances",
        3,
    ),
    Pain(
        4,
        "InvalidTxnStateException ends a Streams application after a pause of 20 s",
        "A fenced producer's batch returns INVALID_TXN_STATE instead of an abortable error.",
        "The leader verified the transaction before it checked the epoch (KAFKA-19690).",
        "A release with the corrected order: 4.1.1, 4.2.0 and later check the epoch first.",
        "Kafka PR 20618",
        "pain-order-of-checks",
        3,
    ),
    Pain(
        5,
        "A read_committed consumer is stuck, the lag grows, and there is no error",
        "The last stable offset does not move; no transactional id is Ongoing.",
        "A hanging transaction: a late batch was appended after its transaction's marker, and no coordinator knows it.",
        "kafka-transactions.sh find-hanging, then abort; transaction version 2 prevents it.",
        "KIP-664; KAFKA-9144",
        "kip-664-hanging",
        5,
    ),
    Pain(
        6,
        "Consumers see nothing for up to an hour after a Flink job crashed",
        "The last stable offset stays at the first record of an open transaction.",
        "The dead job's transaction stays open until its long timeout.",
        "A shorter timeout; an operator fences the transactional id (kip-664-fence), or the job restarts.",
        "Flink PR 238",
        "kip-98-stuck-lso",
        4,
    ),
    Pain(
        7,
        "Flink has recovered, everything is green, and data is missing",
        "The commit after the recovery is rejected, logged and ignored.",
        "The transaction of the checkpoint timed out before the recovery, and was aborted.",
        "transaction.timeout.ms longer than the longest recovery; KIP-939 removes the timeout.",
        "FLINK-8086",
        "pain-recovered-too-late",
        3,
    ),
    Pain(
        8,
        "The transaction timeout is larger than the maximum value allowed",
        "initTransactions() throws InvalidTxnTimeoutException.",
        "Flink asks for one hour, and transaction.max.timeout.ms is 15 minutes.",
        "Raise the broker's limit or lower the client's timeout.",
        "flink kafka connector, exactly-once docs",
        "pain-refused-at-start",
        3,
    ),
    Pain(
        9,
        "INVALID_TXN_STATE on restore, without any traffic",
        "The commit of a checkpoint without records is rejected.",
        "A transaction without records never reached the broker: there is nothing to commit.",
        "Skip the commit of an empty transaction.",
        "FLINK-31363",
        "pain-restore-of-nothing",
        3,
    ),
    Pain(
        10,
        "More records are committed than the checkpoint contains",
        "Records written after the checkpoint are committed with it.",
        "Two transactions had one producer id and epoch, as before transaction version 2.",
        "Transaction version 2: every transaction has its own epoch.",
        "FLINK-8132",
        "pain-more-than-the-checkpoint",
        3,
    ),
    Pain(
        11,
        "A topic is blocked after a successful recovery",
        "An open transaction holds back the last stable offset, and its owner does not know it.",
        "A transactional id was reused, and its newer transaction was left open.",
        "Abort the transactional ids that a recovery does not use; an operator fences them (kip-664-fence).",
        "FLINK-40626",
        "pain-recycled-name",
        4,
    ),
    Pain(
        12,
        "An occasional INVALID_PRODUCER_ID_MAPPING on restore",
        "The identity in the checkpoint is not the coordinator's any more.",
        "The epoch was exhausted, the producer id rotated, and the checkpoint was older than that.",
        "A recovery that ends transactions in version 5: there the identity from before a rotation is "
        "recognised.",
        "FLINK-40689",
        "pain-rotated-away",
        3,
    ),
    Pain(
        13,
        "InvalidPidMappingException after an idle week",
        "The first transaction after the pause fails.",
        "The transactional id expired (transactional.id.expiration.ms, 7 days).",
        "A new producer; expire later than the longest pause.",
        "spring-kafka 660",
        "pain-idle-week",
        3,
    ),
    Pain(
        14,
        "CONCURRENT_TRANSACTIONS without end",
        "initTransactions() does not come back; every answer is CONCURRENT_TRANSACTIONS.",
        "The transaction before is in PREPARE_COMMIT or PREPARE_ABORT: a partition has no leader, "
        "or refused its marker.",
        "Bring the partition's leader back; a time limit does not help.",
        "KAFKA-19999; franz-go 928",
        "pain-concurrent-for-ever",
        3,
    ),
    Pain(
        15,
        "commitTransaction() timed out: did it commit?",
        "The answer to EndTxn is lost; the transaction may be decided.",
        "A decision is durable before its answer is sent.",
        "Commit again, never abort: the second answer says what it was.",
        "Kafka PR 10072; materialize 10876",
        "pain-did-it-commit",
        2,
    ),
    Pain(
        16,
        "The new producer is fenced by the old one",
        "The instance that started last is fenced.",
        "Two InitProducerId raced, and the older one arrived last.",
        "Start the new instance when the old one is gone, or try again.",
        "spring-kafka 1408",
        "pain-init-race",
        4,
    ),
    Pain(
        17,
        "TransactionalIdAuthorizationException",
        "initTransactions() throws it at once.",
        "No ACL allows WRITE of this name; prefixes and templates do not match.",
        "An ACL for the name or its prefix, and a new producer. Only one that was allowed to DESCRIBE "
        "its name may ask again.",
        "KIP-290; kafka-options-explorer",
        "pain-refused-at-start",
        1,
    ),
    Pain(
        18,
        "Duplicates or ghosts, although exactly-once is on",
        "A consumer has records of a transaction that was aborted.",
        "The reader is read_uncommitted, which is the default, also of share groups.",
        "isolation.level=read_committed for every reader of the output.",
        "KIP-664, motivation",
        "pain-ghosts",
        4,
    ),
    Pain(
        19,
        "A part of a transaction is lost, and a part is there",
        "The offsets are committed, and an output is not.",
        "A marker that was meant for another transaction ended this one in one partition.",
        "Transaction version 2: a marker has an epoch of its own. Ask find-hanging before aborting.",
        "jepsen.io, bufstream 0.1.0",
        "kip-664-abort-not-hanging",
        9,
        "here an operator's marker does it; a delayed EndTxn of the client is not modelled",
    ),
    Pain(
        20,
        "A consumer hangs after a rebalance, and continues after a minute",
        "OffsetFetch is answered with UNSTABLE_OFFSET_COMMIT again and again.",
        "The old owner's offsets are pending in a transaction that is not decided.",
        "A short transaction.timeout.ms in consume-process-produce loops.",
        "KIP-447; Kafka PR 8981",
        "kip-447-race",
        5,
    ),
    Pain(
        21,
        "Streams with exactly-once dies while it restores state",
        "The commit after the restoration finds the transaction aborted.",
        "The restoration counts against the open transaction's timeout.",
        "Commit before restoring; a longer transaction.timeout.ms.",
        "KAFKA-13295",
        "pain-timed-out",
        2,
    ),
    Pain(
        22,
        "A share group handles the same record twice",
        "A record is delivered again while a member is still processing it. The late ACCEPT gets "
        "INVALID_RECORD_STATE.",
        "The acquisition lock expired during slow work.",
        "A longer lock, smaller batches, or RENEW.",
        "KafkaShareConsumer, javadoc; KAFKA-19476",
        "kip-932-slow-member",
        4,
    ),
    Pain(
        23,
        "A record of a share group has vanished",
        "A record was delivered a few times and never again.",
        "The delivery count reached its limit: the record is ARCHIVED.",
        "A dead-letter queue (KIP-1191), a higher limit, and RELEASE only what may come again.",
        "spring-kafka PR 4103",
        "pain-vanished",
        3,
    ),
    Pain(
        24,
        'poll() throws "All records must be acknowledged", or accepted what was not finished',
        "An IllegalStateException in explicit mode; in implicit mode a batch that is accepted too "
        "early or never.",
        "share.acknowledgement.mode: in implicit mode the next poll() is the acknowledgement.",
        "Explicit mode with a word for every record, and close() or commitSync() for the last batch.",
        "ShareConsumerImpl; confluent-kafka-python PR 2239",
        "pain-modes",
        2,
    ),
    Pain(
        25,
        "A read_committed share group stops, and others continue",
        "No record and no error in one group.",
        "share.isolation.level=read_committed: the group is bounded by the last stable offset.",
        "End the open transaction; see symptoms 5 and 6.",
        "Kafka PR 20918",
        "kip-932-read-committed",
        2,
    ),
)


def pain(number: int) -> Pain:
    """Find a symptom by its number.

    Raises:
        UnknownPain: if there is none.
    """
    for known in PAINS:
        if known.number == number:
            return known
    raise UnknownPain(f"there is no symptom {number}; they are numbered from 1 to {len(PAINS)}")
