"""KIP-1191: dead-letter queues for share groups."""

from __future__ import annotations

from kipviz.kips.row import OPEN, Kip, Row

KIP = Kip(
    1191,
    "Dead-letter queues for share groups",
    "shipped in part",
    (
        Row(
            "Dead-letter queue",
            "What is rejected or fails too often is copied to a topic.",
            OPEN,
            note="dead-letter queues",
        ),
    ),
)
