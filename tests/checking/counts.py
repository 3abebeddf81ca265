"""The one place with exact numbers: how large the small scenario's state space is.

An exact count is the cheapest alarm there is: whatever changes what can happen, or lets two equal
situations be told apart, moves it. A change of a number here has to be explained in its commit.
Measured with instant replication; `kip-1289-small` is one record, one member, four brokers. With
crash_broker=1 there are 222,164 states (763,554 transitions, depth 94), and the repaired design
holds in them all; that takes too long for a test.
"""

from __future__ import annotations

from typing import NamedTuple


class Space(NamedTuple):
    """A design, a fault budget in words, and what a complete search of it visits."""

    design: str
    faults: str
    states: int
    transitions: int
    depth: int


CALM = Space("repaired", "", 686, 1_905, 42)
ONE_LOCK = Space("repaired", "expire_lock=1", 3_046, 8_654, 69)
FINDING_I = Space("finding-I", "", 542, 1_545, 41)
FINDING_D = Space("finding-D", "expire_lock=1", 3_642, 9_646, 69)

REPAIRED = (CALM, ONE_LOCK)
# Timers run out at rest in each of them: behind a cut, beside a dead process, between two leaders.
LARGE = (
    Space("repaired", "time_out=1", 8_622, 26_186, 76),
    # What it was before a dropped staging was the consumer's again (finding X26), and is without that.
    Space("finding-X26", "time_out=1", 8_820, 26_712, 76),
    Space("repaired", "cut=1", 14_518, 52_829, 79),
    Space("repaired", "lose_connection=1", 23_262, 74_604, 71),
    Space("repaired", "crash_client=1", 38_421, 108_014, 77),
    Space("repaired", "move_leader=1", 78_123, 247_254, 94),
    Space("finding-X26", "move_leader=1", 62_998, 201_108, 91),
)
# How many steps the shortest counterexamples have.
STUCK_AFTER = 20
BROKEN_AFTER = 31


class Members(NamedTuple):
    """A cluster of interchangeable members, and its states under each reduction."""

    program: str
    members: int
    faults: str
    states: int
    by_order: int
    by_symmetry: int
    by_both: int


REDUCED = (
    Members("init", 2, "", 65, 37, 34, 21),
    Members("init", 3, "", 807, 307, 146, 59),
    Members("init", 2, "crash_client=1", 641, 483, 322, 243),
    Members("begin", 2, "", 89, 29, 46, 17),
    Members("begin", 3, "", 1_362, 118, 240, 28),
    Members("begin", 2, "lose_connection=1", 587, 361, 295, 183),
    Members("begin", 2, "cut=1", 1_424, 1_424, 724, 724),
    Members("poll", 2, "", 401, 193, 202, 99),
    Members("poll", 2, "expire_lock=1", 2_257, 1_163, 1_130, 584),
)


class ByTlc(NamedTuple):
    """A size of the KIP-1289 core: what TLC 2.15 found, and our states under each reduction.

    The size is (members, producers, records, epochs, locks, crashes) of `kip_1289_core.Size`.
    """

    size: tuple[int, ...]
    distinct: int
    generated: int
    by_order: int
    by_symmetry: int
    by_both: int


# TLC 2.15, one worker, on tests/checking/tla/KIP1289Core.tla.
BY_TLC = (
    ByTlc((2, 2, 2, 1, 1, 1), 8_651, 37_714, 5_377, 2_974, 1_856),
    ByTlc((3, 2, 2, 1, 1, 1), 12_761, 60_856, 7_887, 2_974, 1_856),
    ByTlc((3, 2, 2, 2, 1, 0), 27_904, 120_108, 17_778, 6_852, 4_355),
    ByTlc((3, 2, 2, 2, 2, 1), 85_297, 426_149, 54_641, 21_175, 13_576),
)
# The same on TwoPhaseCommit.tla: resource managers, distinct states, states generated. The
# literature gives 288 and 8,832.
TWO_PHASE_BY_TLC = ((3, 288, 1_146), (5, 8_832, 58_146))


# kip-1289-small-two under the repaired design without faults: (states, transitions, depth) with
# both reductions, and the states without any and by order alone.
SMALL_TWO_BY_BOTH = (8_095, 17_467, 50)
SMALL_TWO_FULL_AND_BY_ORDER = (42_145, 16_185)


class Timed(NamedTuple):
    """A design, faults and settings of the small cluster, and what a timed search of it visits."""

    design: str
    faults: str
    settings: tuple[str, ...]
    broken: tuple[str, ...]
    states: int
    transitions: int
    depth: int


# Lock 30 s, transaction 60 s, scan 10 s, as Kafka has them: a tick is 10 s.
TIMED = (
    Timed("repaired", "", ("clock=timed",), (), 4_208, 14_981, 44),
    Timed("repaired", "expire_lock=1", ("clock=timed", "tick=next"), (), 7_735, 26_168, 70),
    Timed("repaired", "", ("clock=timed", "delay_max_ms=0"), (), 3_089, 8_607, 44),
    Timed(
        "finding-D",
        "expire_lock=1",
        ("clock=timed", "delay_max_ms=0", "tick=next"),
        ("atomic",),
        5_843,
        15_847,
        70,
    ),
)
