"""PreparedTxnState: the value by which an external database remembers a prepared transaction.

WHERE IN KAFKA: org.apache.kafka.clients.producer.PreparedTxnState (4.1+). KIPS: KIP-939.
"""

from __future__ import annotations

from kipviz.core.values import Value


class BadPreparedTxnState(ValueError):
    """A text that is not a PreparedTxnState, with the reason in one sentence."""


class PreparedTxnState(Value, frozen=True):
    """Producer id and epoch of a prepared transaction; "9:0" as a text, "" if there is none."""

    producer_id: int = -1
    producer_epoch: int = -1

    @property
    def has_transaction(self) -> bool:
        """Whether it names a transaction."""
        return self.producer_id >= 0 and self.producer_epoch >= 0

    def __str__(self) -> str:
        """Return the text that an application stores."""
        return f"{self.producer_id}:{self.producer_epoch}" if self.has_transaction else ""


NONE = PreparedTxnState()


def parse(text: str | None) -> PreparedTxnState:
    """Parse a stored text.

    Raises:
        BadPreparedTxnState: if it is neither empty nor two whole numbers from 0 with a colon between.
    """
    if not text:
        return NONE
    parts = text.split(":")
    if len(parts) != 2 or not all(p.isascii() and p.isdecimal() for p in parts):
        raise BadPreparedTxnState(
            f"a prepared state must be empty or 'producerId:epoch', both from 0, not {text!r}"
        )
    return PreparedTxnState(int(parts[0]), int(parts[1]))
