"""KIP-848: the next generation of the consumer rebalance protocol."""

from __future__ import annotations

from kipviz.kips.row import OPEN, Kip, Row

KIP = Kip(
    848,
    "The next generation of the consumer rebalance protocol",
    "shipped since 4.0",
    (
        Row(
            "ConsumerGroupHeartbeat",
            "Members come and go; each has a member epoch.",
            OPEN,
            note="members are given",
        ),
    ),
)
