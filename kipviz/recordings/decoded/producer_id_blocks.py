"""Which producer ids a broker may give next: one after the other, from blocks of a thousand.

A broker gets a block from the controller and takes the next one after a restart, too; each of several
brokers has a block of its own. NOT MODELLED: the blocks; a broker that waits for one tells a producer without a name to come again.
Source: RPCProducerIdManager, ProducerIdsBlock.
"""

from __future__ import annotations

from kipviz.recordings.recorded import Exchange
from kipviz.recordings.request_context.arrival import span_of

BLOCK = 1_000
# How many blocks a new id is looked for in, one by one.
BLOCKS_MAX = 1_000


class GivenIds:
    """The producer ids that were given out, as far as the exchanges tell.

    `first` is the id that a broker without a past gives first; None if there may have been others before.
    """

    def __init__(self, exchanges: tuple[Exchange, ...], first: int | None) -> None:
        self._first = first
        alone = len({x.broker for x in exchanges}) == 1
        self._given = tuple(
            (*span_of(x), x.response["producerId"], x.broker)
            for x in exchanges
            if gives_one(x) or gives_another(x) or (alone and tells_one(x))
        )

    def next_of(self, exchange: Exchange) -> tuple[int, ...]:
        """Give the ids that a new producer may get from an exchange.

        Raises:
            KeyError, TypeError: if it is no answer to InitProducerId, and none to EndTxn.
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
        # Ids of other brokers may be very far away: of the blocks up to there the own one matters.
        near = blocks[:BLOCKS_MAX]
        starts = (following, *near, *((mine,) if mine in blocks and mine not in near else ()))
        return tuple(at + more for at in starts for more in range(meanwhile))

    def block_is_due(self, exchange: Exchange) -> bool:
        """Say whether a broker may have no id to give at the time of an exchange.

        Its block is used up, or it has started again: then the next id that it gives is of another block than its last one.
        """
        following = self._following(exchange)
        if following is None or following % BLOCK == 0:
            return True
        later = [
            (told, given)
            for _, told, given, broker in self._given
            if told >= span_of(exchange)[0] and broker == exchange.broker
        ]
        return any(given // BLOCK != (following - 1) // BLOCK for _, given in sorted(later)[:1])

    def _following(self, exchange: Exchange) -> int | None:
        """Give the id behind those that were given before an exchange; None if nobody knows."""
        before = [
            given
            for _, told, given, broker in self._given
            if told < span_of(exchange)[0] and broker == exchange.broker
        ]
        return max(before) + 1 if before else self._first


def tells_one(exchange: Exchange) -> bool:
    """Say whether a producer learns its id, a new one or the one that it has.

    Where one broker alone is on record, it has given that id itself, maybe before the record begins. Of several brokers a
    coordinator that was elected tells ids that others have given.
    Source: TransactionCoordinator.prepareInitProducerIdTransit.
    """
    return exchange.api == "INIT_PRODUCER_ID" and exchange.response["errorCode"] == 0


def gives_one(exchange: Exchange) -> bool:
    """Say whether a producer is given a new id: an id that it has already comes back with an epoch above 0."""
    return tells_one(exchange) and exchange.response["producerEpoch"] == 0


def gives_another(exchange: Exchange) -> bool:
    """Say whether a producer has another id from the end of its transaction on: its epochs were used up."""
    if exchange.api != "END_TXN" or exchange.response["errorCode"] != 0:
        return False
    mine: int = exchange.request["producerId"]
    return bool(exchange.response.get("producerId", mine) != mine)
