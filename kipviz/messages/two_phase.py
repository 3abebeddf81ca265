"""InitProducerId as KIP-939 has it: the version of the request that takes part in a two-phase commit.

STATUS: the schema of version 6 is in Kafka 4.4.0, marked unstable: its producer sends version 5 at
most, and a broker does not answer to version 6 unless unstable versions are switched on.
"""

from __future__ import annotations

from typing import ClassVar

from kipviz.messages.transactions import InitProducerId, InitProducerIdResponse

# What a producer of a two-phase commit sends as its time limit, and what is stored: none.
NO_TIME_LIMIT = 2_147_483_647


class InitProducerId2Pc(InitProducerId, frozen=True):
    """The same question, with two more: is there a time limit, and is an open transaction kept?

    `heartbeat_interval_ms` is KIP-1309's (draft): version 7, or 6 if that comes before KIP-939 is
    stable. Its name and place in the request are our inference.
    """

    API_KEY: ClassVar[int] = 22
    VERSION: ClassVar[int] = 6
    STATUS: ClassVar[str] = "draft"
    enable_2pc: bool = True
    keep_prepared_txn: bool = False
    heartbeat_interval_ms: int = 0
    version: int = 6


class InitProducerId2PcResponse(InitProducerIdResponse, frozen=True):
    """The identity to use from here on, and that of the transaction that was kept, or -1."""

    API_KEY: ClassVar[int] = 22
    VERSION: ClassVar[int] = 6
    STATUS: ClassVar[str] = "draft"
    IS_RESPONSE: ClassVar[bool] = True
    ongoing_txn_producer_id: int = -1
    ongoing_txn_producer_epoch: int = -1


def answer_to(request: InitProducerId) -> type[InitProducerIdResponse]:
    """Return the class of the answer to a request: an answer has the version of its question."""
    two_phase = isinstance(request, InitProducerId2Pc)
    return InitProducerId2PcResponse if two_phase else InitProducerIdResponse
