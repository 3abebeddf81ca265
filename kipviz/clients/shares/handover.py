"""What a share consumer has for a producer that stages its records (KIP-1289, draft).

WHERE IN KAFKA: nowhere; the draft's ShareConsumer.shareGroupMetadata(), and acknowledgementsForTransaction() of pull request 22357.
DURABILITY: none.
"""

from __future__ import annotations

from kipviz.core.values import Value
from kipviz.messages.share_groups import AcknowledgeType

NO_SNAPSHOT = ("", -1)
NOBODY_ASKS, NOT_TOLD, TOLD = -1, 0, 1


class Drained(Value, frozen=True):
    """What acknowledgementsForTransaction() has taken out of a consumer, until a producer stages it.

    `deliveries` are (offset, delivery count) as they were when the records were delivered.
    """

    partition: str
    member_id: str
    member_epoch: int
    verdicts: tuple[tuple[int, AcknowledgeType], ...]
    deliveries: tuple[tuple[int, int], ...]


class Handover(Value, frozen=True):
    """What the application takes from the consumer to its producer.

    `snapshot` is what shareGroupMetadata() gave last, a member id and its epoch; a program has no variables of its own.
    `staging_told` is whether the last new connection told of a level that has KIP-1289, 1 before there is one, -1 where
    nobody asks. `drained` is what acknowledgementsForTransaction() has returned and no producer has staged yet, the oldest
    first. `poll_waits` says that poll() waits for stagings that are under way.
    """

    snapshot: tuple[str, int] = NO_SNAPSHOT
    staging_told: int = NOBODY_ASKS
    drained: tuple[Drained, ...] = ()
    poll_waits: bool = False

    @property
    def anew(self) -> Handover:
        """What the consumer of the process's next life has."""
        return Handover(staging_told=NOBODY_ASKS if self.staging_told == NOBODY_ASKS else TOLD)
