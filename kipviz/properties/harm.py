"""What a broken property costs. A property states it beside its reason, which is a sentence and can be reworded."""

from __future__ import annotations

from enum import StrEnum


class Harm(StrEnum):
    """What a violation costs.

    A record has several outputs, or none although it counts as processed; a prepared transaction of a database is
    never decided; a record whose output is committed can be delivered again; a transaction or a record never ends.
    """

    DUPLICATE = "duplicate"
    LOSS = "loss"
    IN_DOUBT = "in doubt"
    AGAIN = "again"
    STUCK = "stuck"
