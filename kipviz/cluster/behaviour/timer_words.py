"""The words of timers and of waits on the screen.

What a role waits for is a value (`brokers.timers`): its text is part of saved runs, links and scripts and is never
reworded. What a client waits for is its name, such as "the retry back-off", which is part of worlds, too: it starts
with one of `OF_CLIENTS`. The words on the screen are separate from both.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec.structs import astuple

from kipviz.brokers.timers import ROLE_DELAYS, ROLE_TIMERS, RoleDelay, RoleTimer
from kipviz.clients.groups import group_reading
from kipviz.clients.sending import producer
from kipviz.clients.transactions import topic_ids, transaction_manager

Timer: TypeAlias = RoleTimer | RoleDelay | str

OF_CLIENTS = (
    group_reading.HEARTBEAT,
    group_reading.BACK_OFF,
    group_reading.FETCH_WAIT,
    group_reading.RESET_WAIT,
    producer.BATCH_BACK_OFF,
    transaction_manager.REST,
    transaction_manager.SHORT_REST,
    topic_ids.MAX_BLOCK,
    topic_ids.MAX_IDLE,
)
"""The beginnings of the names of clients' timers."""

ON_SCREEN: dict[type[RoleTimer | RoleDelay] | str, str] = {
    **{kind: kind.TEXT for kind in (*ROLE_TIMERS, *ROLE_DELAYS)},
    **{name: name for name in OF_CLIENTS},
}
"""The words for each of them, with a %s for each field of a role's; an entry rewords it without any change of a world.
"""


def kind_of(timer: str) -> str:
    """Return the beginning of a client timer's name, which identifies the timer, or ""."""
    return max((name for name in OF_CLIENTS if timer.startswith(name)), key=len, default="")


def timer_words(timer: Timer) -> str:
    """Return the words for a timer."""
    if not isinstance(timer, str):
        return ON_SCREEN[type(timer)] % astuple(timer)
    kind = kind_of(timer)
    return ON_SCREEN[kind] + timer.removeprefix(kind) if kind else timer
