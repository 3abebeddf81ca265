"""Fields of answers that are not compared, with the reason."""

from __future__ import annotations

# Fields of answers without a decision of the protocol, by their names in Kafka.
LEFT_OUT = {
    "throttleTimeMs": "quotas are not modelled",
    "heartbeatIntervalMs": "a setting",
    "acquisitionLockTimeoutMs": "a setting",
    "transactionTimeoutMs": "the client's own setting, as it was sent",
    "transactionStartTimeMs": "a time",
    "lastTimestamp": "a time",
    "logAppendTimeMs": "a time",
    "logStartOffset": "in Produce; it is compared in Fetch",
    "recordsSizeInBytes": "records have no sizes here; whether there are any is compared",
    "port": "where brokers are: they are looked up at once",
    "sessionId": "a number that the broker draws",
    "authorizedOperations": "the rights of the client",
    "preferredReadReplica": "NOT MODELLED: reading from followers",
    "committedLeaderEpoch": "NOT MODELLED: what a consumer says besides the offset",
    "nodeEndpoints": "where brokers are: they are looked up at once",
    "currentLeader": "NOT MODELLED: where the leader is now, told beside an error",
}
