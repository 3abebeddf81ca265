"""InitProducerId in KIP-939: the version of the request for two-phase commits.

STATUS: the schema of version 6 is in Kafka 4.4.0, marked unstable: its producer sends version 5 at most, and a broker
does not answer version 6 unless unstable versions are enabled.
"""

from __future__ import annotations

from typing import ClassVar

from kipviz.messages.transactions.transactions import InitProducerId, InitProducerIdResponse

# The time limit that a producer of a two-phase commit sends, and that is stored: no limit.
NO_TIME_LIMIT = 2_147_483_647


class InitProducerId2Pc(InitProducerId, frozen=True):
    """The same request with two more fields: whether there is a time limit, and whether an open transaction is kept.

    `heartbeat_interval_ms` is KIP-1309's (draft): version 7, or 6 if that comes before KIP-939 is stable. Its name and
    place in the request are our inference.
    """

    API_KEY: ClassVar[int] = 22
    VERSION: ClassVar[int] = 6
    STATUS: ClassVar[str] = "draft"
    enable_2pc: bool = True
    keep_prepared_txn: bool = False
    heartbeat_interval_ms: int = 0
    version: int = 6


class InitProducerId2PcResponse(InitProducerIdResponse, frozen=True):
    """The identity to use from here on, and that of the kept transaction, or -1."""

    API_KEY: ClassVar[int] = 22
    VERSION: ClassVar[int] = 6
    STATUS: ClassVar[str] = "draft"
    IS_RESPONSE: ClassVar[bool] = True
    ongoing_txn_producer_id: int = -1
    ongoing_txn_producer_epoch: int = -1


def answer_to(request: InitProducerId) -> type[InitProducerIdResponse]:
    """Return the class of the response to a request: a response has the version of its request."""
    two_phase = isinstance(request, InitProducerId2Pc)
    return InitProducerId2PcResponse if two_phase else InitProducerIdResponse
