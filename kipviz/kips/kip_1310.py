"""KIP-1310: general transaction session. Every section of its page, and every row of its test plan."""

from __future__ import annotations

from kipviz.kips.row import MODELLED, OPEN, SIMPLIFIED, Kip, Row

SESSION = "clients.transaction_session"
BINDING = "clients.binding"
TESTS = "clients/test_transaction_session.py"
SHARE = "kip-1310-share-session"

API = (
    Row(
        "2.1 Lifecycle",
        "initialize, beginTransaction, commitTransaction and abortTransaction of a session.",
        MODELLED,
        f"{SESSION}.TransactionSession",
        SHARE,
        f"{TESTS}::test_session_lifecycle",
    ),
    Row(
        "2.1 resume()",
        "A session made from (transactional id, producer id, epoch) that somebody else kept.",
        MODELLED,
        f"{SESSION}.resume",
        test=f"{TESTS}::test_session_resume",
    ),
    Row(
        "2.1 prepareTransaction, completeTransaction",
        "A session prepares for a commit that somebody else decides.",
        OPEN,
        note="they come with KIP-939's states of the producer",
    ),
    Row(
        "2.1 addPartitionsToTransaction",
        "The application says which partitions are in the transaction.",
        SIMPLIFIED,
        "clients.calls.CALLS",
        note="it says that there is something to end; under transaction version 2 brokers enlist",
    ),
    Row(
        "2.1 sendOffsetsToTransaction",
        "The session sends TxnOffsetCommit to the group coordinator.",
        MODELLED,
        f"{SESSION}.TransactionSession",
        "kip-1310-streams-session",
        "scenarios/test_sessions.py::test_who_sends_what_is_the_pages_table",
    ),
    Row(
        "2.1 addShareAcksToTransaction",
        "The session sends a share group's acknowledgements.",
        MODELLED,
        f"{SESSION}.add_share_acks",
        "kip-1310-sink-session",
        "scenarios/test_sessions.py::test_who_sends_what_is_the_pages_table",
    ),
    Row(
        "2.1 heartbeat()",
        "The session says that it is alive (TxnHeartbeat of KIP-1309).",
        OPEN,
        note="TxnHeartbeat",
    ),
    Row(
        "2.1 close()",
        "The session ends.",
        SIMPLIFIED,
        f"{SESSION}.close",
        test=f"{TESTS}::test_nothing_can_be_called_after_close",
        note="its connection stays until it breaks",
    ),
    Row(
        "2.2 Configuration",
        "transactional.id, transaction.timeout.ms, transaction.session.timeout.ms, bootstrap.servers, "
        "security.*, client.id.",
        SIMPLIFIED,
        "cluster.spec.SessionSpec",
        note="bootstrap.servers, security.* and client.id say nothing to the model",
    ),
    Row(
        "2.3 KafkaProducer(configs, session)",
        "A producer is bound to a session, and its lifecycle methods throw IllegalStateException.",
        MODELLED,
        f"{BINDING}.why_not_now",
        SHARE,
        f"{TESTS}::test_producer_fencing",
    ),
    Row(
        "2.4 acknowledgeTransactionally(session, acknowledgments)",
        "A share consumer acknowledges within the session.",
        MODELLED,
        "clients.share_consumer.acknowledge_transactionally",
        SHARE,
    ),
)
EXTRACTION = (
    Row(
        "3.2 State mapping",
        "The states of the TransactionManager under the session's names.",
        MODELLED,
        f"{SESSION}.STATES",
        test=f"{TESTS}::test_the_state_mapping_is_the_pages",
        note="PREPARED comes with KIP-939",
    ),
    Row(
        "3.2 Responsibilities",
        "Identity and life cycle in the session; sequences and in-flight batches in the producer.",
        MODELLED,
        f"{BINDING}.settle",
        test=f"{TESTS}::test_what_the_next_batch_of_a_bound_producer_carries_after_a_commit",
    ),
)


def _pair(clause: str, says: str, name: str, handler: str = f"{BINDING}.settle") -> tuple[Row, Row]:
    """Give the rows of a use case as the draft and as today's producer has it."""
    return (
        Row(clause, says, MODELLED, handler, f"kip-1310-{name}-session"),
        Row(
            f"{clause}, before",
            "The same with today's producer, for comparison.",
            MODELLED,
            "clients.producer.Producer",
            f"kip-1310-{name}-producer",
        ),
    )


USE_CASES = (
    *_pair("1.2 KafkaProducer", "The owner: a producer that is bound to a session.", "produce"),
    *_pair("1.2 Kafka Streams", "A regular group's offsets in a session's transaction.", "streams"),
    *_pair(
        "4.1 Apache Flink",
        "A committer resumes a transaction by its identity and commits it.",
        "flink",
        f"{SESSION}.resume",
    ),
    *_pair("4.4 Kafka Connect source", "Records and source offsets in one transaction.", "source"),
    *_pair(
        "4.6 Kafka Connect sink with share groups",
        "Put out and acknowledge in one session; abort when something throws.",
        "sink",
        f"{SESSION}.add_share_acks",
    ),
)
LEFT_OPEN = tuple(
    Row(f"open: {clause}", says, MODELLED, handler, f"kip-1310-{story}", note="our inference")
    for clause, says, handler, story in (
        (
            "2.3 several producers",
            "Two producers of one session write to one partition.",
            "brokers.partition_log.check_client_batch",
            "two-senders",
        ),
        (
            "6.2 one epoch for all clients",
            "A second producer's batch is taken for a repetition, and lost.",
            "brokers.partition_log.duplicate_of",
            "silent-loss",
        ),
        (
            "2.1 commitTransaction",
            "A commit while a producer has a batch to send.",
            f"{BINDING}.settle",
            "unsent-batch",
        ),
        (
            "3.2 identity here, sequences there",
            "The next epoch, and who tells the producers of it.",
            f"{BINDING}.settle",
            "next-epoch",
        ),
        (
            "2.4 a vote in flight",
            "A commit before the consumer's acknowledgements are out.",
            f"{BINDING}.settle",
            "late-vote",
        ),
        (
            "2.1 resume() and the writer",
            "A resumed transaction whose writer is still alive.",
            f"{SESSION}.resume",
            "live-writer",
        ),
    )
)
KIP = Kip(
    1310,
    "General transaction session",
    "draft",
    (
        *API,
        *EXTRACTION,
        *USE_CASES,
        Row(
            "4.2 Share Group Consumer",
            "A producer and a share consumer in one transaction.",
            MODELLED,
            f"{BINDING}.settle",
            SHARE,
        ),
        Row(
            "4.2 today",
            "The same as KIP-1289 has it: the producer sends the acknowledgements.",
            MODELLED,
            "clients.producer.send_share_acknowledgements",
            "kip-1310-share-producer",
        ),
        *LEFT_OPEN,
    ),
)
