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
KIP = Kip(
    1310,
    "General transaction session",
    "draft",
    (
        *API,
        *EXTRACTION,
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
    ),
)
