"""KIP-1310, section 7: every row of its test plan."""

from __future__ import annotations

from kipviz.kips.row import MODELLED, SIMPLIFIED, Row

SESSION = "clients.sessions.transaction_session"
BINDING = "clients.sessions.binding"
PAGE = "50-transaction-sessions-kip-1310"
# Threads, and the results of a producer's constructor and accessor.
THIRD_PAGE = "52-threads-in-a-session-kip-1310"
CLIENT, PLAN = (
    "clients/sessions/test_transaction_session.py",
    "scenarios/sessions/test_session_plan.py",
)
# The function or class that a row of the test plan is about, if there is one.
HANDLERS = {
    "Session Lifecycle": f"{SESSION}.next_request",
    "Session Resume": f"{SESSION}.resume",
    "Producer Fencing": f"{BINDING}.why_not_now",
    "Backward Compatibility": "clients.sending.producer.next_request",
    "Epoch Fencing": "brokers.transactions.transaction_coordinator.on_init_producer_id",
    "Resume and commit from different process": f"{SESSION}.resume",
    "Legacy Producer": "clients.sending.producer.next_request",
}
TEST_PLAN = (
    *(
        Row(
            f"7 {name}",
            says,
            MODELLED,
            HANDLERS.get(name, f"{BINDING}.bound_producers"),
            f"kip-1310-{story}",
            f"{file}::{test}",
            page=THIRD_PAGE,
        )
        for name, says, story, file, test in (
            (
                "Session Lifecycle",
                "A session goes through UNINITIALIZED, INITIALIZING, READY, IN_TRANSACTION, COMMITTING and READY.",
                "bound-calls",
                CLIENT,
                "test_session_lifecycle",
            ),
            (
                "Session Resume",
                "resume() starts IN_TRANSACTION.",
                "flink-session",
                CLIENT,
                "test_session_resume",
            ),
            (
                "Producer Fencing",
                "Lifecycle calls on a bound producer throw.",
                "bound-calls",
                CLIENT,
                "test_producer_fencing",
            ),
            (
                "Backward Compatibility",
                "A producer's methods work as they do today.",
                "streams-producer",
                PLAN,
                "test_backward_compatibility",
            ),
            (
                "Epoch Fencing",
                "A new session fences the older one.",
                "mixed",
                PLAN,
                "test_epoch_fencing",
            ),
            (
                "Producer + external session E2E",
                "A session and the producer bound to it commit each output once.",
                "produce-session",
                PLAN,
                "test_producer_and_external_session_e2e",
            ),
            (
                "Resume and commit from different process",
                "Another process commits, and sends only EndTxn.",
                "flink-session",
                PLAN,
                "test_resume_and_commit_from_different_process",
            ),
            (
                "Legacy Producer",
                "Every story without a session ends as before.",
                "streams-producer",
                PLAN,
                "test_legacy_producer",
            ),
            (
                "Mixed Mode",
                "Internal and external sessions commit on one cluster.",
                "mixed",
                PLAN,
                "test_mixed_mode",
            ),
        )
    ),
    Row(
        "7 Identity Accessors",
        "After initialize() the session and its producer have the identity of the response.",
        SIMPLIFIED,
        f"{BINDING}.bound_producers",
        "kip-1310-share-session",
        f"{CLIENT}::test_identity_accessors",
        note="2.1 has no producerId() and producerEpoch() (finding 1310-M): fields are compared, "
        "and nothing is called",
        page=THIRD_PAGE,
    ),
    Row(
        "7 Heartbeat Logic",
        "The heartbeat thread follows transaction.session.timeout.ms.",
        MODELLED,
        f"{SESSION}.timers",
        "kip-1310-heartbeat",
        f"{CLIENT}::test_heartbeat_logic",
        note="that KIP-1309's interval is a third of the session timeout is our inference",
        page=PAGE,
    ),
)
