"""InitProducerId as KIP-447 first had it: a producer says which generation of its group it works for.

STATUS: draft, given up before Kafka 2.5. The text names the request's fields and the type of each; it
does not name the error of a generation that is over: ILLEGAL_GENERATION is our inference.
"""

from __future__ import annotations

from typing import ClassVar

from kipviz.messages.transactions import InitProducerId


class InitProducerIdOfGroup(InitProducerId, frozen=True):
    """A producer asks for an identity for as long as its group is in this generation.

    The answer is the one that a producer without a group gets.
    """

    API_KEY: ClassVar[int] = 22
    VERSION: ClassVar[int] = 2
    STATUS: ClassVar[str] = "draft"
    group_id: str = ""
    generation: int = -1
    assigned: tuple[str, ...] = ()
    version: int = 2
