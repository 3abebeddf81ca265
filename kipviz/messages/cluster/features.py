"""The feature levels that a cluster has finalized, as ApiVersions returns them.

Brokers act on them at once; a client learns them when it opens a connection.
"""

from __future__ import annotations

from kipviz.core.values import Value

# The last version of each request that a client sends below transaction version 2.
LAST_PRODUCE = 11
LAST_ADD_PARTITIONS = 3
LAST_TXN_OFFSET_COMMIT = 4
LAST_END_TXN = 4
# The levels of share.version with which share groups (KIP-932) and their dead-letter queues (KIP-1191) begin. Source:
# ShareVersion.supportsShareGroups, supportsShareGroupDLQ.
SHARE_GROUP_LEVEL, DEAD_LETTER_LEVEL = 1, 2
# The level of share.version from which acknowledgements can be staged in a transaction. KIP-1289
# says 2, which Kafka has given to dead-letter queues (finding X9): here it is the next one.
STAGING_LEVEL = 3


class Features(Value, frozen=True):
    """The finalized levels.

    `transaction_version` is transaction.version: 0 is KIP-98's original, 1 writes flexible records to
    `__transaction_state`, 2 gives every transaction an epoch of its own (KIP-890 part 2). `txn_offset_commit` is not a
    feature but the newest version of that request that the brokers accept: 5 before Kafka 4.4. `share_version` is
    share.version: 0 has no share groups, 1 has them, 2 has dead-letter queues, and from `staging_level` on there is
    what KIP-1289 (draft) adds. `inter_broker_protocol` is 1 if inter.broker.protocol.version is that of a release that
    supports a group's members in TxnOffsetCommit, 0 below: both drafts of KIP-447 check it, no release does.
    `staging_level` is the level of share.version from which brokers and clients with the code of KIP-1289 use it.
    """

    transaction_version: int = 2
    txn_offset_commit: int = 6
    share_version: int = STAGING_LEVEL
    inter_broker_protocol: int = 1
    staging_level: int = STAGING_LEVEL

    @property
    def staging(self) -> bool:
        """Whether acknowledgements can be staged at the finalized level of share.version."""
        return self.share_version >= self.staging_level
