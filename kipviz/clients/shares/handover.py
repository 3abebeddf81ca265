"""The values that a share consumer hands to a producer that stages its records (KIP-1289, draft).

WHERE IN KAFKA: nowhere; the draft's ShareConsumer.shareGroupMetadata(), and acknowledgementsForTransaction() of pull
request 22357.
DURABILITY: none.
"""

from __future__ import annotations

from kipviz.core.values import Value
from kipviz.messages.shares.share_groups import AcknowledgeType

NO_SNAPSHOT = ("", -1)
NOBODY_ASKS, NOT_TOLD, TOLD = -1, 0, 1


class Drained(Value, frozen=True):
    """A result of acknowledgementsForTransaction(), until a producer stages it.

    `deliveries` are (offset, delivery count) at the time of the delivery.
    """

    partition: str
    member_id: str
    member_epoch: int
    verdicts: tuple[tuple[int, AcknowledgeType], ...]
    deliveries: tuple[tuple[int, int], ...]


class Handover(Value, frozen=True):
    """The values that the application passes from the consumer to its producer.

    `snapshot` is the last result of shareGroupMetadata(), a member id and its epoch; a program has no variables of its
    own. `staging_told` says whether the last new connection reported a level with KIP-1289, 1 before the first
    connection, -1 if the consumer does not check. `drained` are the results of acknowledgementsForTransaction() that no
    producer has staged yet, the oldest first. `poll_waits` says that poll() waits for stagings in flight.
    """

    snapshot: tuple[str, int] = NO_SNAPSHOT
    staging_told: int = NOBODY_ASKS
    drained: tuple[Drained, ...] = ()
    poll_waits: bool = False

    @property
    def anew(self) -> Handover:
        """The handover of the process's next life."""
        return Handover(staging_told=NOBODY_ASKS if self.staging_told == NOBODY_ASKS else TOLD)
