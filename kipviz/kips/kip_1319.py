"""KIP-1319: txnOffsetCommit with topic ids."""

from __future__ import annotations

from kipviz.kips.row import OPEN, Kip, Row

KIP = Kip(
    1319,
    "TxnOffsetCommit with topic ids",
    "shipped since 4.4",
    (Row("TxnOffsetCommit version 6", "Offsets name their topic by id.", OPEN, note="version 6"),),
)
