"""KIP-1310: general transaction session."""

from __future__ import annotations

from kipviz.kips.row import OPEN, Kip, Row

KIP = Kip(
    1310,
    "General transaction session",
    "draft",
    (
        Row(
            "TransactionSession",
            "One session to which producers and consumers are bound.",
            OPEN,
            note="the session",
        ),
    ),
)
