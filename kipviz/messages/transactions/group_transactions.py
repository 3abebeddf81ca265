"""InitProducerId in the first draft of KIP-447: a producer names the generation of its group.

STATUS: draft, abandoned before Kafka 2.5. The text names the request's fields and the type of each; it does not name
the error of an old generation: ILLEGAL_GENERATION is our inference.
"""

from __future__ import annotations

from typing import ClassVar

from kipviz.messages.transactions.transactions import InitProducerId


class InitProducerIdOfGroup(InitProducerId, frozen=True):
    """A producer's request for an identity that is valid while its group is in this generation.

    It is a class of its own because the draft gave the number 2 to another schema than Kafka did: no version says which
    of the two a request has. The response is the one that a producer without a group gets.
    """

    API_KEY: ClassVar[int] = 22
    VERSION: ClassVar[int] = 2
    STATUS: ClassVar[str] = "draft"
    group_id: str = ""
    generation: int = -1
    assigned: tuple[str, ...] = ()
    version: int = 2
