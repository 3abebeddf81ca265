"""Kafka's error codes that only a served broker returns; no message of the model has them."""

from __future__ import annotations

from enum import IntEnum


class FurtherErrors(IntEnum):
    """An error code of the protocol that is not in `messages.errors.Errors`."""

    CORRUPT_MESSAGE = 2
    LEADER_NOT_AVAILABLE = 5
    MESSAGE_TOO_LARGE = 10
    INVALID_REQUIRED_ACKS = 21
    INVALID_GROUP_ID = 24
    INVALID_SESSION_TIMEOUT = 26
    FETCH_SESSION_ID_NOT_FOUND = 70
    UNKNOWN_LEADER_EPOCH = 75
    UNSUPPORTED_ASSIGNOR = 112
    # The client has reached another cluster or broker than it meant (KIP-1242).
    REBOOTSTRAP_REQUIRED = 129
