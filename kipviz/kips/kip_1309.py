"""KIP-1309: transaction heartbeats."""

from __future__ import annotations

from kipviz.kips.row import OPEN, Kip, Row

KIP = Kip(
    1309,
    "Transaction heartbeats",
    "draft",
    (
        Row(
            "Heartbeat of a transaction",
            "A producer that is alive says so; one that is silent is timed out.",
            OPEN,
            note="heartbeats of transactions",
        ),
    ),
)
