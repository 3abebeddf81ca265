"""The source of the client's side of a step: the Kafka class that makes a call.

`kipviz.clauses` has the same for faults and timers, `messages.apis` for requests and responses.
"""

from __future__ import annotations

from kipviz.clauses import DRAFT, OURS, SHIPPED, Clause

# The calls of an admin client, and of Kafka's own tool.
ADMIN_CALLS: dict[str, str] = {
    "listTransactions": "KafkaAdminClient.listTransactions",
    "describeTransactions": "KafkaAdminClient.describeTransactions",
    "describeProducers": "KafkaAdminClient.describeProducers",
    "find-hanging": "TransactionsCommand.FindHangingTransactionsCommand",
    "admin.abortTransaction": "KafkaAdminClient.abortTransaction",
    "fenceProducers": "KafkaAdminClient.fenceProducers",
    "forceTerminateTransaction": "KafkaAdminClient.forceTerminateTransaction",
    "describeShareGroups": "KafkaAdminClient.describeShareGroups",
    "listShareGroupOffsets": "KafkaAdminClient.listShareGroupOffsets",
    "alterShareGroupOffsets": "KafkaAdminClient.alterShareGroupOffsets",
    "deleteShareGroupOffsets": "KafkaAdminClient.deleteShareGroupOffsets",
    "deleteShareGroups": "KafkaAdminClient.deleteShareGroups",
}


def clause_of_call(call: str, *, share: bool, session: bool = False) -> Clause:
    """Return the clause of a call of an application thread.

    `share` is whether its consumer is a share consumer, `session` whether the call belongs to a TransactionSession.
    """
    if session:
        return Clause(call, "KIP-1310 2.1", DRAFT, f"TransactionSession.{call} (KIP-1310)")
    if call == "sendShareAcknowledgementsToTransaction":
        return Clause(call, "KIP-1289 Pseudo code", DRAFT, "none yet (PR 22357)")
    if call == "resumeTransaction":
        return Clause(
            call,
            "KIP-1310 4.1, before",
            SHIPPED,
            "FlinkKafkaInternalProducer (Flink, by reflection)",
        )
    if call == "acknowledgeTransactionally":
        return Clause(call, "KIP-1310 2.4", DRAFT, "KafkaShareConsumer (KIP-1310)")
    if call.startswith("database."):
        return Clause(call, "none: the second participant of KIP-939", OURS, "none: a database")
    if call in ("prepareTransaction", "completeTransaction"):
        return Clause(call, "KIP-939 client API (4.1)", SHIPPED, f"KafkaProducer.{call}")
    if call in ADMIN_CALLS:
        others = {"fenceProducers": "KIP-360 fencing", "forceTerminateTransaction": "KIP-939 Admin"}
        of_shares = "KIP-932 Admin API and kafka-share-groups.sh" if "hareGroup" in call else ""
        clause = of_shares or others.get(call, "KIP-664 Admin API and tool")
        return Clause(call, clause, SHIPPED, ADMIN_CALLS[call])
    if call == "KafkaShareConsumer.close":
        return Clause(call, "KIP-932 consumer API", SHIPPED, call)
    if call in ("poll", "seek", "acknowledge", "commitSync", "commitAsync"):
        of, name = ("KIP-932", "KafkaShareConsumer") if share else ("KIP-98", "KafkaConsumer")
        return Clause(call, f"{of} consumer API", SHIPPED, f"{name}.{call}")
    if call == "flush":
        return Clause(call, "KIP-8", SHIPPED, "KafkaProducer.flush")
    return Clause(call, "KIP-98 API", SHIPPED, f"KafkaProducer.{call}")
