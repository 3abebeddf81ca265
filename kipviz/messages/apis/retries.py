"""Errors after which an admin client repeats a request: to the new leader, or a little later."""

from __future__ import annotations

from kipviz.messages.errors import Errors

OF_A_COORDINATOR = (
    Errors.COORDINATOR_LOAD_IN_PROGRESS,
    Errors.NOT_COORDINATOR,
    Errors.COORDINATOR_NOT_AVAILABLE,
)
OF_A_LEADER = (Errors.NOT_LEADER_OR_FOLLOWER, Errors.UNKNOWN_TOPIC_OR_PARTITION)
