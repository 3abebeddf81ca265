"""The sequences of a producer in each partition.

WHERE IN KAFKA: TxnPartitionMap, TxnPartitionEntry. They are in the TransactionManager there; here a TransactionSession
(KIP-1310, draft) has none, because the KIP leaves the sequences with the producers.
"""

from __future__ import annotations

from kipviz.clients.sending.outgoing import Identity
from kipviz.core.table import Table
from kipviz.core.values import Value


class TxnPartitionMap(Value, frozen=True):
    """By partition: the next sequence, and the last acknowledged one.

    `of` is the identity to which a partition's sequences belong, for a producer without a transactional id, which
    changes its epoch by itself; a transactional producer restarts all of them with its next identity. `unresolved` has
    the sequence after a batch that was sent and expired, while it is unknown whether a leader has it. `shared` says
    that other producers of the session write with the same identity (KIP-1310, draft), so that a sequence cannot be
    returned.
    """

    sequences: Table[str, int] = Table.of()
    acked: Table[str, int] = Table.of()
    of: Table[str, Identity] = Table.of()
    unresolved: Table[str, int] = Table.of()
    shared: bool = False

    @property
    def begun_anew(self) -> TxnPartitionMap:
        """What is still known with the next identity."""
        return TxnPartitionMap(unresolved=self.unresolved, shared=self.shared)
