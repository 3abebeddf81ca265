"""KIP-1310: general transaction session. Every section of the KIP; `kip_1310_plan` has its test plan."""

from __future__ import annotations

from kipviz.kips.kip_1310_plan import TEST_PLAN
from kipviz.kips.row import MODELLED, OPEN, SIMPLIFIED, Kip, Row

SESSION = "clients.sessions.transaction_session"
BINDING = "clients.sessions.binding"
BOUND = "clients.sessions.bound_producer"
PAGE = "50-transaction-sessions-kip-1310"
# Two stores, versions below 2, close() and configurations.
SECOND_PAGE = "55-heartbeats-and-two-stores-kip-1309"
# Threads, and the results of a producer's constructor and accessor.
THIRD_PAGE = "52-threads-in-a-session-kip-1310"
TESTS = "clients/sessions/test_transaction_session.py"
THREADS = "clients/sessions/test_workers.py"
PRODUCERS = "clients/sessions/test_session_producers.py"
SHARE = "kip-1310-share-session"
FINDINGS = (
    "studies/test_review_findings.py::"
    "test_a_finding_comes_out_as_pinned_and_its_link_opens_where_it_shows"
)

API = (
    Row(
        "1.1 No client type in requests",
        "InitProducerId, AddPartitionsToTxn, EndTxn and TxnHeartbeat carry identities, but no client type.",
        MODELLED,
        "messages.transactions.transactions.InitProducerId",
        test="scenarios/sessions/test_session_plan.py::test_a_coordinator_cannot_tell_a_session_from_a_producer",
        page=THIRD_PAGE,
        scenario="kip-1310-mixed",
    ),
    Row(
        "2.1 Lifecycle",
        "The initialize(), commitTransaction() and abortTransaction() of a session send a request. "
        "beginTransaction() does not.",
        MODELLED,
        f"{SESSION}.next_request",
        SHARE,
        f"{TESTS}::test_initialize_and_the_end_of_a_transaction_ask_the_coordinator_and_begin_does_not",
        page=PAGE,
    ),
    Row(
        "2.1 resume()",
        "It creates a session from the transactional id, producer id and epoch that another process stored.",
        MODELLED,
        f"{SESSION}.resume",
        test=f"{TESTS}::test_a_resumed_session_has_the_identity_that_it_was_given",
        page=PAGE,
        scenario="kip-1310-flink-session",
    ),
    Row(
        "2.1 prepareTransaction, completeTransaction",
        "A session prepares a transaction, and another system decides it.",
        MODELLED,
        f"{SESSION}.complete",
        "kip-1310-complete",
        f"{TESTS}::test_a_session_completes_what_it_prepared_as_the_state_says",
        note="2.2 does not list transaction.two.phase.commit.enable, which prepareTransaction() "
        "needs (finding 1310-L)",
        page=SECOND_PAGE,
    ),
    Row(
        "2.1 initialize() after a crash",
        "It has no argument that keeps a prepared transaction, so after a crash the two stores differ.",
        MODELLED,
        "scenarios.applications.session_two_phase.INITIALIZES",
        "kip-1310-small-initialize",
        "scenarios/sessions/test_session_two_phase.py::"
        "test_which_recovery_of_a_session_survives_a_crash_at_every_point[initialize]",
        note="with keepPreparedTxn (not on the page) they agree: kip-1310-small-keeps (finding 1310-J)",
        page=SECOND_PAGE,
    ),
    Row(
        "2.1 addPartitionsToTransaction",
        "The application names the partitions of the transaction.",
        MODELLED,
        f"{SESSION}.add_partitions",
        "kip-1310-add-partitions",
        "scenarios/sessions/test_session_versions.py::test_what_the_application_names_is_added_before_anything_is_written",
        note="no page says what it does under transaction version 2: a slot (session_adds)",
        page=SECOND_PAGE,
    ),
    Row(
        "2.1 sendOffsetsToTransaction",
        "The session sends TxnOffsetCommit to the group coordinator.",
        MODELLED,
        "clients.transactions.transaction_manager.send_offsets",
        "kip-1310-streams-session",
        "scenarios/sessions/test_sessions.py::test_the_session_sends_the_offsets_to_the_coordinator_of_the_group",
        page=PAGE,
    ),
    Row(
        "2.1 addShareAcksToTransaction",
        "The session sends a share group's acknowledgements.",
        MODELLED,
        f"{SESSION}.add_share_acks",
        "kip-1310-sink-session",
        "scenarios/sessions/test_sessions.py::test_the_session_sends_the_acknowledgements_to_the_leader_of_the_source",
        page=THIRD_PAGE,
    ),
    Row(
        "2.1 heartbeat()",
        "The session reports that it is alive (TxnHeartbeat of KIP-1309).",
        MODELLED,
        f"{SESSION}.heartbeat",
        "kip-1310-heartbeat-by-hand",
        f"{TESTS}::test_partitions_are_only_noted_and_a_heartbeat_of_the_applications_own_is_sent",
        page=THIRD_PAGE,
    ),
    Row(
        "2.1 close()",
        "The session and its connections end. The page does not say what happens to an open transaction.",
        MODELLED,
        f"{SESSION}.close",
        "kip-1310-close",
        f"{TESTS}::test_what_close_does_with_an_open_transaction_is_a_question_of_design",
        note="a slot (session_close): today's producer aborts a transaction that is not prepared",
        page=SECOND_PAGE,
    ),
    Row(
        "2.2 Configuration",
        "The configurations are transactional.id, transaction.timeout.ms, "
        "transaction.session.timeout.ms, bootstrap.servers, security.* and client.id.",
        SIMPLIFIED,
        "cluster.specs.session_config.parse",
        test="cluster/specs/test_session_config.py::test_a_bad_value_is_refused_in_one_sentence",
        note="bootstrap.servers, security.* and client.id are validated, but do not affect the model",
        page=SECOND_PAGE,
    ),
    Row(
        "2.2 prepareTransaction() with the configurations of the page",
        "Without transaction.two.phase.commit.enable it throws, after the database has prepared.",
        MODELLED,
        f"{BINDING}.why_not_now",
        "kip-1310-unlisted-setting",
        f"{FINDINGS}[1310-L]",
        page=THIRD_PAGE,
        note="finding 1310-L",
    ),
    Row(
        "2.3 KafkaProducer(configs, session)",
        "A producer that is bound to a session writes with the session's identity.",
        MODELLED,
        f"{BOUND}.borrow",
        SHARE,
        f"{TESTS}::test_a_bound_producer_writes_with_the_identity_of_its_session",
        page=PAGE,
    ),
    Row(
        "2.1 thread-safe",
        "Several threads of one process make calls on one session.",
        MODELLED,
        "clients.sessions.session_threads.entry",
        "kip-1310-two-threads-wait",
        f"{THREADS}::test_what_a_call_finds_while_another_thread_is_in_one",
        page=THIRD_PAGE,
        note="the page has only the word: four readings are a slot (session_threads)",
    ),
    Row(
        "2.1 thread-safe, and a transaction of several calls",
        "A commit falls between two calls of another thread. In every reading the record is delivered again.",
        MODELLED,
        "clients.workers.swap_thread",
        "kip-1310-two-threads",
        f"{THREADS}::test_how_every_interleaving_of_two_threads_ends_in_each_reading",
        page=THIRD_PAGE,
        note="our inference: the application has to wait for its threads",
    ),
    Row(
        "2.1 thread-safe, and 3.2 state and batches in two objects",
        "A send() that has checked the state appends its record after the end of the transaction.",
        MODELLED,
        "clients.sessions.session_threads.entry",
        "kip-1310-late-thread",
        f"{THREADS}::test_a_lock_in_the_session_alone_lets_a_record_in_behind_an_abort",
        page=THIRD_PAGE,
        note="our inference: if only the session has a lock",
    ),
    Row(
        "2.2 No new wire protocol RPCs",
        "The page's own table 3.3 lists two requests that no client sends today.",
        MODELLED,
        "messages.transactions.liveness.TxnHeartbeat",
        test="scenarios/sessions/test_session_plan.py::test_two_requests_of_the_table_are_new",
        page=THIRD_PAGE,
        scenario="kip-1310-heartbeat-by-hand",
    ),
    Row(
        "2.3 transactionSession()",
        "A producer returns its session, or null if it is not transactional.",
        MODELLED,
        "clients.sessions.session_calls.find_session",
        "kip-1310-accessor",
        f"{PRODUCERS}::test_a_producer_without_one_gives_null_and_nothing_can_be_called_on_that",
        page=THIRD_PAGE,
        note="an internal session is the producer itself, because it has the producer's state and calls",
    ),
    Row(
        "2.3 a session and a transactional.id in the producer's configs",
        "The page does not say what both mean together.",
        MODELLED,
        "clients.sessions.session_calls.new_producer",
        "kip-1310-two-identities",
        f"{PRODUCERS}::test_by_which_identity_a_producer_goes",
        page=THIRD_PAGE,
        note="three readings are a slot (session_and_id)",
    ),
    Row(
        "2.4 acknowledgeTransactionally(session, acknowledgments)",
        "A share consumer sends its acknowledgements with the session's identity, and the commit makes them final.",
        MODELLED,
        "clients.calling.staging_calls.acknowledge_transactionally",
        SHARE,
        "scenarios/sessions/test_sessions.py::test_a_share_consumer_acknowledges_with_the_identity_of_the_session",
        page=PAGE,
    ),
)
EXTRACTION = (
    Row(
        "3.2 State mapping",
        "The session has the states of the TransactionManager under its own names.",
        MODELLED,
        f"{SESSION}.state_name",
        test=f"{TESTS}::test_the_state_mapping_is_the_pages",
        page=PAGE,
        scenario="kip-1310-next-epoch",
    ),
    Row(
        "3.2 Responsibilities",
        "The session ends the transaction. Sequences and batches belong to the producer.",
        MODELLED,
        f"{BOUND}.borrow",
        test=f"{TESTS}::test_a_producer_has_the_batches_and_sequences_and_its_session_the_end_of_the_transaction",
        page=PAGE,
        scenario="kip-1310-next-epoch",
    ),
)


USE_CASE = (
    "scenarios/sessions/test_session_use_cases.py::"
    "test_a_use_case_makes_these_calls_and_its_clients_send_these_requests[{}]"
)


def _pair(
    clause: str, says: str, name: str, handler: str = f"{BINDING}.bound_producers"
) -> tuple[Row, Row]:
    """Return the rows of a use case for the draft and for today's producer."""
    drafted, today = f"{name}-session", f"{name}-producer"
    return (
        Row(
            clause,
            says,
            MODELLED,
            handler,
            f"kip-1310-{drafted}",
            USE_CASE.format(drafted),
            page=PAGE,
        ),
        Row(
            f"{clause}, before",
            "The same with today's producer, for comparison.",
            MODELLED,
            "clients.sending.producer.next_request",
            f"kip-1310-{today}",
            USE_CASE.format(today),
            page=PAGE,
        ),
    )


USE_CASES = (
    *_pair(
        "1.2 KafkaProducer",
        "The session initializes and commits. The producer that is bound to it sends the records.",
        "produce",
    ),
    *_pair(
        "1.2 Kafka Streams",
        "A session's transaction contains the offsets of a regular group.",
        "streams",
    ),
    *_pair(
        "4.1 Apache Flink",
        "A committer resumes a transaction by its identity and commits it.",
        "flink",
        f"{SESSION}.resume",
    ),
    *_pair(
        "4.4 Kafka Connect source", "Records and source offsets are in one transaction.", "source"
    ),
    Row(
        "4.4 maybeBeginTransaction()",
        "The page's method does not check whether a transaction is open before it begins one, and "
        "the second call throws.",
        MODELLED,
        f"{BINDING}.why_not_now",
        "kip-1310-begins-twice",
        f"{FINDINGS}[1310-AG]",
        page=THIRD_PAGE,
        note="finding 1310-AG",
    ),
    *_pair(
        "4.6 Kafka Connect sink with share groups",
        "The task produces and acknowledges in one session. When a call throws, it aborts and "
        "processes the batch again.",
        "sink",
        f"{SESSION}.add_share_acks",
    ),
    *_pair(
        "4.5 Custom 2PC Coordinators",
        "The coordinator prepares the database and then Kafka, and commits Kafka and then the database.",
        "two-phase",
    ),
)
ARCHITECTURE = (
    Row(
        "4.3; 10. Rejected Alternatives",
        "The page continues with 4.4 after 4.2, and names no rejected alternative.",
        OPEN,
        note="there is no text to run (finding 1310-AJ)",
    ),
    Row(
        "3.1 Before and After",
        "The picture shows the owner of each object, thread and connection in both designs.",
        MODELLED,
        "views.measures.ownership.picture",
        test="views/measures/test_ownership.py::test_a_session_takes_over_the_identity_and_leaves_the_accumulator",
        page=PAGE,
        note="drawn from runs; the page's own drawings are not in its text",
        scenario="kip-1310-share-session",
    ),
    Row(
        "3.3 RPC table",
        "The session sends what the TransactionManager sends today.",
        MODELLED,
        f"{SESSION}.SENDERS",
        test="scenarios/sessions/test_sessions.py::test_who_sends_what_is_the_pages_table",
        page=PAGE,
        note="coordinators are looked up without FindCoordinator; AddPartitionsToTxn and "
        "AddOffsetsToTxn only below version 2",
        scenario="kip-1310-streams-session",
    ),
    Row(
        "3.4 Dedicated Connection",
        "The session has its own connection to the coordinator.",
        MODELLED,
        f"{SESSION}.next_request",
        test="studies/test_sessions.py::test_only_on_a_shared_connection_a_transactional_request_stands_behind_a_batch",
        page=THIRD_PAGE,
        scenario="kip-1310-streams-session",
    ),
    Row(
        "5.1 Full Backward Compatibility",
        "A producer with a transactional.id has its own session, which has the producer's state.",
        MODELLED,
        "clients.sending.producer.next_request",
        test=f"{PRODUCERS}::test_a_producer_with_a_transactional_id_gives_its_own_session_which_has_its_state",
        page=THIRD_PAGE,
        scenario="kip-1310-streams-producer",
    ),
    Row(
        "5.2 Deprecation Path",
        "Nothing is deprecated. The author's mail says that this comes later.",
        OPEN,
        note="only words: there is nothing to run",
    ),
    Row(
        "6.1 Authorization",
        "The table lists the ACLs that each request needs.",
        MODELLED,
        "brokers.authorizer.needs_of",
        test="scenarios/sessions/test_session_plan.py::test_the_acls_of_the_page_are_those_that_requests_need",
        note="the table lacks AddOffsetsToTxn and TxnOffsetCommit, which 3.3 lets a session send (findings 1310-G and T)",
        page=THIRD_PAGE,
        scenario="kip-1310-rights",
    ),
    Row(
        "6.2 Session Sharing",
        "A session has one producer id and one epoch, no matter how many clients use it.",
        MODELLED,
        f"{BINDING}.bound_producers",
        test="scenarios/sessions/test_session_plan.py::test_sharing_a_session_multiplies_no_identity",
        page=THIRD_PAGE,
        scenario="kip-1310-share-session",
    ),
)
STORIES, TWO_PHASE = (
    "scenarios/sessions/test_sessions.py::test_",
    "scenarios/sessions/test_session_two_phase.py::test_",
)
A_CRASH = f"{TWO_PHASE}which_recovery_of_a_session_survives_a_crash_at_every_point"
TESTS_OF = {
    "two-senders": f"{STORIES}a_batch_of_a_second_producer_is_refused_as_out_of_order",
    "silent-loss": f"{STORIES}a_batch_of_a_second_producer_is_taken_for_a_duplicate_and_lost",
    "unsent-batch": f"{STORIES}an_unsent_batch_starts_a_transaction_that_nobody_began",
    "next-epoch": f"{TESTS}::test_what_the_next_batch_of_a_bound_producer_carries_after_a_commit",
    "late-acknowledgement": f"{STORIES}a_late_transactional_acknowledgement_is_refused_with_the_epoch_that_is_over",
    "live-writer": f"{STORIES}a_resumed_session_commits_what_no_checkpoint_has",
    "unnamed-partition": "scenarios/sessions/test_session_versions.py::"
    "test_a_partition_of_which_nobody_told_the_session_is_refused_and_the_offset_committed",
    "complete": f"{TWO_PHASE}a_resumed_session_completes_what_the_database_decided_or_is_not_allowed_to",
    "empty-commit": f"{TWO_PHASE}the_pages_order_commits_a_transaction_whose_record_is_in_no_log",
    **{
        f"small-{way}": f"{A_CRASH}[{way}]"
        for way in ("resumes", "keeps", "undoes", "commits", "swapped")
    },
}
ON_SECOND_PAGE = ("complete", "small-", "empty-commit", "unnamed-partition")
LEFT_OPEN = tuple(
    Row(
        f"open: {clause}",
        says,
        MODELLED,
        handler,
        f"kip-1310-{story}",
        TESTS_OF[story],
        page=SECOND_PAGE if story.startswith(ON_SECOND_PAGE) else PAGE,
        note="our inference",
    )
    for clause, says, handler, story in (
        (
            "2.3 several producers",
            "Two producers of one session write to one partition.",
            "brokers.logs.partition_log.check_client_batch",
            "two-senders",
        ),
        (
            "6.2 one epoch for all clients",
            "The log treats a second producer's batch as a duplicate, and its records are lost.",
            "brokers.logs.partition_log.duplicate_of",
            "silent-loss",
        ),
        (
            "2.1 commitTransaction",
            "A commit without a producer's unsent batch leaves that batch in a transaction that no client began.",
            f"{BINDING}.bound_producers",
            "unsent-batch",
        ),
        (
            "3.2 identity here, sequences there",
            "After a commit the session has the next epoch, and its producers have to learn it.",
            f"{BINDING}.bound_producers",
            "next-epoch",
        ),
        (
            "2.4 an acknowledgement in flight",
            "The session commits before the consumer has sent its acknowledgements.",
            f"{BINDING}.bound_producers",
            "late-acknowledgement",
        ),
        (
            "2.1 resume() and the writer",
            "A process resumes a transaction whose writer is still alive.",
            f"{SESSION}.resume",
            "live-writer",
        ),
        (
            "3.3 how the session learns of a partition",
            "Below transaction version 2 a batch waits for AddPartitionsToTxn, which another object sends.",
            f"{BINDING}.bound_producers",
            "unnamed-partition",
        ),
        (
            "2.1 completeTransaction(state) of a resumed session",
            "It starts IN_TRANSACTION, but only a PREPARED transaction can be completed.",
            f"{BINDING}.legal_besides",
            "complete",
        ),
        (
            "4.5 after a crash: resume()",
            "The process resumes the identity in the database. Then the two stores agree after every crash.",
            "scenarios.applications.session_two_phase.RESUMES",
            "small-resumes",
        ),
        (
            "4.5 after a crash: keep what is open",
            "initialize() gets KIP-939's flag, which the page does not have.",
            "scenarios.applications.session_two_phase.KEEPS",
            "small-keeps",
        ),
        (
            "4.5 after a crash: start again",
            "Kafka has committed and the database rolls back, so the stores differ.",
            "scenarios.applications.session_two_phase.UNDOES",
            "small-undoes",
        ),
        (
            "4.5 after a crash: commit the transaction that is in doubt",
            "The database may have prepared before Kafka had any record, so the stores differ.",
            "scenarios.applications.session_two_phase.COMMITS",
            "small-commits",
        ),
        (
            "4.5 an empty transaction is committed",
            "The partition is added to the transaction, its record is never appended, and EndTxn commits.",
            "brokers.transactions.transaction_coordinator.on_end_txn",
            "empty-commit",
        ),
        (
            "4.5 with the two prepare steps exchanged",
            "Kafka flushes before the database prepares. Then it is correct to resume and commit.",
            "scenarios.applications.session_two_phase.SWAPPED",
            "small-swapped",
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
            "A producer and a share consumer take part in one transaction.",
            MODELLED,
            f"{BINDING}.bound_producers",
            SHARE,
            USE_CASE.format("share-session"),
            PAGE,
        ),
        Row(
            "4.2 with Kafka's defaults",
            "The share consumer joins its group, and a record counts once its followers have replicated it.",
            MODELLED,
            "clients.shares.share_member.join",
            "kip-1310-as-kafka-is",
            "scenarios/test_kafka_defaults.py::test_a_share_group_and_a_session_share_one_transaction_that_is_committed",
            PAGE,
        ),
        Row(
            "4.2 today",
            "The same use case under KIP-1289: the producer sends the acknowledgements.",
            MODELLED,
            "clients.transactions.transaction_manager.send_share_acknowledgements",
            "kip-1310-share-producer",
            USE_CASE.format("share-producer"),
            PAGE,
        ),
        *ARCHITECTURE,
        *TEST_PLAN,
        *LEFT_OPEN,
    ),
)
