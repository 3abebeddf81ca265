"""The answers to FindCoordinator, compared with the placement of keys and the leaders of internal topics.

In the model every sender finds the address at once; the answer is the same: the leader of the partition to which a key
hashes.
NOT MODELLED: that an internal topic is created at its first use, and that a broker learns of a new leader late; until
  the first batch of a leader is in the log, no coordinator may be available.
"""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.brokers.context import Image
from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.recordings.recorded import Exchange, Plain
from kipviz.recordings.replayed_roles.answer_text import Said, error_name
from kipviz.records.placement import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE

# The internal topic of each type of key (FindCoordinatorRequest.CoordinatorType).
TOPICS = {0: CONSUMER_OFFSETS, 1: TRANSACTION_STATE, 2: SHARE_GROUP_STATE}
NOBODY: Said = (("error", Errors.COORDINATOR_NOT_AVAILABLE.name), ("node", -1))


class Sought(Value, frozen=True):
    """A key whose coordinator was looked up, the partition that holds it, the answer, and the key's type."""

    key: str
    home: str
    recorded: Said
    kind: int


def sought_keys(exchange: Exchange, image: Image) -> Iterator[Sought]:
    """Yield the keys of a request: before version 4 it has one.

    Raises:
        KeyError, TypeError, ValueError: if it lacks a field of its version.
    """
    said, answer = exchange.request, exchange.response
    kind = said.get("keyType", 0)
    if exchange.version < 4:
        yield _make_sought(kind, said["key"], answer, image)
        return
    answers = {told["key"]: told for told in answer["coordinators"]}
    for key in said["coordinatorKeys"]:
        yield _make_sought(kind, key, answers[key], image)


def _make_sought(kind: int, key: str, told: Plain, image: Image) -> Sought:
    recorded = (("error", error_name(told["errorCode"])), ("node", told["nodeId"]))
    return Sought(key, image.home_of(TOPICS[kind], key), recorded, kind)


def refusal_to(error: Errors) -> Said:
    """Return a broker's answer to a client that may not know the coordinator."""
    return (("error", error.name), ("node", -1))


def possible_answers(node: int, *, settled: bool) -> tuple[Said, ...]:
    """Return the possible answers: the coordinator, and none as long as the leader has written nothing."""
    found: Said = (("error", Errors.NONE.name), ("node", node))
    return (found,) if settled else (found, NOBODY)
