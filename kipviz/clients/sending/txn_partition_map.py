"""How far a producer has counted in each partition.

WHERE IN KAFKA: TxnPartitionMap, TxnPartitionEntry. They are in the TransactionManager there; here a TransactionSession
(KIP-1310, draft) has none, because its page leaves the sequences with the producers.
"""

from __future__ import annotations

from kipviz.clients.sending.outgoing import Identity
from kipviz.core.table import Table
from kipviz.core.values import Value


class TxnPartitionMap(Value, frozen=True):
    """By partition: the sequence that follows, and the last acknowledged one.

    `of` is the identity with which a partition is counted, where a producer without a transactional id changes its
    epoch by itself; the transactional one begins all of them anew with its next identity. `unresolved` has the
    sequence behind a batch that was sent and expired: whether a leader has it is open. `shared` says that other
    producers of the session write with the same identity (KIP-1310, draft), so that a number cannot be given back.
    """

    sequences: Table[str, int] = Table.of()
    acked: Table[str, int] = Table.of()
    of: Table[str, Identity] = Table.of()
    unresolved: Table[str, int] = Table.of()
    shared: bool = False

    @property
    def begun_anew(self) -> TxnPartitionMap:
        """What there is to know with the next identity."""
        return TxnPartitionMap(unresolved=self.unresolved, shared=self.shared)
