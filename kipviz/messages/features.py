"""The feature levels that a cluster has finalized, as ApiVersions tells them.

Brokers act on them at once; a client learns them when it opens a connection.
"""

from __future__ import annotations

from kipviz.core.values import Value


class Features(Value, frozen=True):
    """The finalized levels.

    `transaction_version` is transaction.version: 0 is how KIP-98 began, 1 writes flexible records to
    `__transaction_state`, 2 gives every transaction an epoch of its own (KIP-890 part 2).
    """

    transaction_version: int = 2
