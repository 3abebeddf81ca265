"""Who coordinates what: FindCoordinator, against the placement of keys and the leaders of internal topics.

In the model whoever sends looks the address up at once; the answer is the same one: the leader of the
partition to which a key hashes. NOT MODELLED: that an internal topic is made when it is first asked for,
and that a broker learns of a new leader late; until the first batch of a leader is in the log nobody may
be available.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kipviz.brokers.context import Image
from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.replayed_roles.answer_text import Said, error_name
from kipviz.records.placement import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE

# The internal topic of each type of key (FindCoordinatorRequest.CoordinatorType).
TOPICS = {0: CONSUMER_OFFSETS, 1: TRANSACTION_STATE, 2: SHARE_GROUP_STATE}
NOBODY: Said = (("error", Errors.COORDINATOR_NOT_AVAILABLE.name), ("node", -1))


class Sought(Value, frozen=True):
    """A key whose coordinator was looked for, the partition that holds it, the answer, and the key's type."""

    key: str
    home: str
    recorded: Said
    kind: int


def sought(exchange: Exchange, image: Image) -> Iterator[Sought]:
    """Take a request apart: before version 4 it has one key.

    Raises:
        KeyError, TypeError, ValueError: if it lacks what its version has.
    """
    said, answer = exchange.request, exchange.response
    kind = said.get("keyType", 0)
    if exchange.version < 4:
        yield _sought(kind, said["key"], answer, image)
        return
    answers = {told["key"]: told for told in answer["coordinators"]}
    for key in said["coordinatorKeys"]:
        yield _sought(kind, key, answers[key], image)


def _sought(kind: int, key: str, told: Any, image: Image) -> Sought:
    recorded = (("error", error_name(told["errorCode"])), ("node", told["nodeId"]))
    return Sought(key, image.home_of(TOPICS[kind], key), recorded, kind)


def refusal_to(error: Errors) -> Said:
    """Give what a broker says to who may not know."""
    return (("error", error.name), ("node", -1))


def said_of(node: int, *, settled: bool) -> tuple[Said, ...]:
    """Give what a broker may say: who it is, and nobody as long as the leader has written nothing."""
    found: Said = (("error", Errors.NONE.name), ("node", node))
    return (found,) if settled else (found, NOBODY)
