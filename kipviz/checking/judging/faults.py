"""Fault profiles for seeded runs: how many faults may happen, and how often they are tried."""

from __future__ import annotations

from kipviz.cluster.specs.spec import FaultBudget
from kipviz.core.scheduler import Profile
from kipviz.core.values import Value


class UnknownFaults(ValueError):
    """No fault profile has this name."""


class Faults(Value, frozen=True):
    """A fault budget and the weights with which kinds of actions are drawn."""

    name: str
    sentence: str
    budget: FaultBudget
    profile: Profile


def _profile(name: str, expiry: int, fault: int) -> Profile:
    return Profile(
        name,
        (
            ("application", 8),
            ("sender", 10),
            ("deliver", 24),
            ("replicate", 10),
            ("load", 10),
            ("refresh", 2),
            ("late", 2),
            ("read", 1),
            ("repair", 4),
            ("expiry", expiry),
            ("fault", fault),
            ("tick", 2),
        ),
    )


CALM = Faults(
    "calm",
    "Nothing goes wrong; only the order of events is random.",
    FaultBudget(),
    _profile("calm", 0, 0),
)
ROUGH = Faults(
    "rough",
    "An ordinary bad day: a lost connection or two, a slow consumer, a slow transaction, a client "
    "that dies.",
    FaultBudget(lose_connection=2, crash_client=1, expire_lock=2, time_out=1, run_out=1),
    _profile("rough", 1, 1),
)
HOSTILE = Faults(
    "hostile",
    "Everything: broker crashes, leader moves, network partitions, pauses, and all of the above.",
    FaultBudget(
        crash_broker=2,
        move_leader=2,
        lose_connection=3,
        cut=1,
        crash_client=2,
        expire_lock=3,
        time_out=2,
        run_out=2,
        request_timeout=1,
        delivery_timeout=1,
        pause=1,
    ),
    _profile("hostile", 1, 2),
)

FAULTS: tuple[Faults, ...] = (CALM, ROUGH, HOSTILE)


def faults(name: str) -> Faults:
    """Find a fault profile by name.

    Raises:
        UnknownFaults: if there is none; the message lists the known profiles.
    """
    for known in FAULTS:
        if known.name == name:
            return known
    allowed = ", ".join(f.name for f in FAULTS)
    raise UnknownFaults(f"there is no fault profile {name!r}; the profiles are {allowed}")
