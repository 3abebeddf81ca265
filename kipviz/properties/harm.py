"""What a broken property costs, and the words with which its reason says so.

The reason of a broken property is one sentence, and a stored run keeps that sentence. Its last words tell the harm;
for a prepared transaction of a database its first words do. Properties take these words from here, and `harm_of` finds
them again. A former wording stays in `_ENDS` beside the new one, because stored runs have it.
"""

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


DUPLICATED = "it is duplicated"
LOST = "it is lost"
DELIVERED_AGAIN = "be delivered again"
UNRESOLVED, SEVERAL_UNRESOLVED = "resolves it", "resolves them"
OF_A_DATABASE = "database transaction of "

_ENDS = (
    (DUPLICATED, Harm.DUPLICATE),
    (LOST, Harm.LOSS),
    (DELIVERED_AGAIN, Harm.AGAIN),
    (UNRESOLVED, Harm.STUCK),
    (SEVERAL_UNRESOLVED, Harm.STUCK),
)


def harm_of(reason: str) -> Harm | None:
    """Return what the violation costs that the reason of a broken property tells; None for any other reason."""
    if reason.startswith(OF_A_DATABASE):
        return Harm.IN_DOUBT
    return next((harm for end, harm in _ENDS if reason.endswith(end)), None)
