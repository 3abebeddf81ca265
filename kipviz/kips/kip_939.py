"""KIP-939: support participation in 2PC."""

from __future__ import annotations

from kipviz.kips.row import OPEN, Kip, Row

KIP = Kip(
    939,
    "Support participation in 2PC",
    "accepted, merged in part",
    (
        Row(
            "prepareTransaction, completeTransaction",
            "A producer takes part in somebody else's two-phase commit.",
            OPEN,
            note="prepared transactions",
        ),
    ),
)
