"""KIP-664: tooling to detect and abort hanging transactions."""

from __future__ import annotations

from kipviz.kips.row import OPEN, Kip, Row

KIP = Kip(
    664,
    "Tooling to detect and abort hanging transactions",
    "shipped since 3.0",
    (
        Row(
            "ListTransactions, DescribeTransactions, DescribeProducers",
            "What an operator looks at.",
            OPEN,
            note="an admin client",
        ),
        Row(
            "abortTransaction",
            "An operator ends a hanging transaction with a marker.",
            OPEN,
            note="an admin client",
        ),
    ),
)
