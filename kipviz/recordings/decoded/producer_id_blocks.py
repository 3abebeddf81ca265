"""The producer ids that a broker may assign next: consecutive ids from blocks of a thousand.

A broker gets a block from the controller, and another one after a restart; each of several brokers has its own block.
NOT MODELLED: the blocks; a broker that waits for one returns a retriable error to a producer without a transactional
id.
Source: RPCProducerIdManager, ProducerIdsBlock.
"""

from __future__ import annotations

from collections.abc import Iterable

from kipviz.recordings.decoded.elections import LeaderDecision
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.request_context.arrival import span_of

BLOCK = 1_000
# The number of blocks that are searched for a new id.
BLOCKS_MAX = 1_000


class GivenIds:
    """The producer ids that were assigned, as far as the exchanges show.

    `first` is the id that a new broker assigns first; None if it may have assigned others before. The decisions show when
    a broker was out of sync, because it restarted: that loses its block.
    """

    def __init__(
        self,
        exchanges: tuple[Exchange, ...],
        first: int | None,
        decisions: Iterable[LeaderDecision] = (),
    ) -> None:
        self._first = first
        self._away: dict[int, list[int]] = {}
        for decision in decisions:
            for broker in (each for each in decision.replicas if each not in decision.isr):
                self._away.setdefault(broker, []).append(decision.at_ms)
        alone = len({x.broker for x in exchanges}) == 1
        self._given = tuple(
            (*span_of(x), x.response["producerId"], x.broker)
            for x in exchanges
            if gives_one(x) or gives_another(x) or (alone and tells_one(x))
        )

    def next_of(self, exchange: Exchange) -> tuple[int, ...]:
        """Return the ids that a new producer may get from an exchange.

        Raises:
            KeyError, TypeError: if it is an answer neither to InitProducerId nor to EndTxn.
        """
        following = self._following(exchange)
        if following is None:
            return (exchange.response["producerId"],)
        begin, end = span_of(exchange)
        together = sum(came <= end and told >= begin for came, told, *_ in self._given)
        meanwhile = max(together, 1)
        of_others = [given for *_, given, broker in self._given if broker != exchange.broker]
        latest = max((following, *of_others))
        blocks = range(following - following % BLOCK + BLOCK, latest + BLOCK + 1, BLOCK)
        own = exchange.response["producerId"]
        mine = own - own % BLOCK
        # Ids of other brokers may be very far away: of the blocks up to there, the broker's own one matters.
        near = blocks[:BLOCKS_MAX]
        starts = (following, *near, *((mine,) if mine in blocks and mine not in near else ()))
        return tuple(at + more for at in starts for more in range(meanwhile))

    def block_is_due(self, exchange: Exchange) -> bool:
        """Return whether a broker may have no id to assign at the time of an exchange.

        Its block is used up, or it has restarted: then the next id that it assigns is from another block than its last
        one, or it was out of sync since it assigned that.
        """
        following = self._following(exchange)
        if following is None or following % BLOCK == 0:
            return True
        begin = span_of(exchange)[0]
        last = max(
            (told for _, told, _, of in self._given if told < begin and of == exchange.broker),
            default=0,
        )
        if any(last <= at <= exchange.answered_ms for at in self._away.get(exchange.broker, ())):
            return True
        later = [
            (told, given)
            for _, told, given, broker in self._given
            if told >= span_of(exchange)[0] and broker == exchange.broker
        ]
        return any(given // BLOCK != (following - 1) // BLOCK for _, given in sorted(later)[:1])

    def _following(self, exchange: Exchange) -> int | None:
        """Return the id after those that were assigned before an exchange; None if unknown."""
        before = [
            given
            for _, told, given, broker in self._given
            if told < span_of(exchange)[0] and broker == exchange.broker
        ]
        return max(before) + 1 if before else self._first


def tells_one(exchange: Exchange) -> bool:
    """Return whether a producer learns its id, a new one or an existing one.

    If only one broker is recorded, it has assigned that id itself, perhaps before the recording begins. If there are
    several brokers, an elected coordinator returns ids that others have assigned.
    Source: TransactionCoordinator.prepareInitProducerIdTransit.
    """
    return exchange.api == "INIT_PRODUCER_ID" and exchange.response["errorCode"] == 0


def gives_one(exchange: Exchange) -> bool:
    """Return whether a producer gets a new id: an existing id is returned with an epoch above 0."""
    return tells_one(exchange) and exchange.response["producerEpoch"] == 0


def gives_another(exchange: Exchange) -> bool:
    """Return whether a producer gets another id with the end of its transaction, because its epochs were used up."""
    if exchange.api != "END_TXN" or exchange.response["errorCode"] != 0:
        return False
    mine: int = exchange.request["producerId"]
    return bool(exchange.response.get("producerId", mine) != mine)
