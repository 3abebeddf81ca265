"""Two clocks: with one, a timer may expire at any moment; with the other, it has to be due.

Untimed, a search finds everything that some choice of timeouts allows, and more. Timed, it finds what the configured
durations allow. Times are relative: a deadline is the time left, so that equal situations at different times are equal
worlds.

Time passes in an action of its own, `Tick`. With `tick="exact"` it passes in units of the greatest common divisor of
all durations: every order of events that real-valued times allow is then an order of some ticks as well, because every
bound here is closed (Henzinger, Manna and Pnueli 1992, "What good are digital clocks?"). With `tick="next"` it passes
at once to the next moment at which something is due. That visits far fewer states and only ever omits runs, so every
violation that it finds is real.

NOT MODELLED: clocks that drift apart; a timer that expires late because its thread is busy (except for the scan of the
transaction coordinator, whose interval is a bound).
"""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd
from typing import TypeAlias

from kipviz.core.values import TextEnum, Value
from kipviz.settings import model_settings

UNTIMED, TIMED = "untimed", "timed"
TICKS = ("exact", "next")
NEVER = model_settings.NEVER


class Clock(Value, frozen=True):
    """How a cluster's time passes.

    `delay_max_ms` is the longest time of a message in flight, of a replication and of a coordinator's loading;
    `pause_max_ms` is the longest pause of a client's thread that could continue. -1 is no limit. `refresh_ms` is the
    interval at which a share-partition leader queries the outcome of transactional acknowledgements (our inference), -1
    for any time. `stamps` means that records carry the time at which they were written, in ms since the run began (see
    `record_timestamps`). `backs_off` means that a producer's sender waits for retry.backoff.ms before it repeats a
    transactional request, which makes an exact tick a short one; with unlimited delays, a longer delay has the same
    effect. With `max_in_flight` it always waits.
    """

    kind: str = model_settings.CLOCK.ours
    delay_max_ms: int = model_settings.DELAY_MAX_MS.ours
    tick: str = model_settings.TICK.ours
    pause_max_ms: int = model_settings.PAUSE_MAX_MS.ours
    refresh_ms: int = model_settings.REFRESH_MS.ours
    stamps: bool = model_settings.STAMPS.ours
    backs_off: bool = model_settings.BACKS_OFF.ours

    @property
    def timed(self) -> bool:
        """Whether timers have to be due."""
        return self.kind == TIMED

    @property
    def words(self) -> str:
        """The clock in the words of a verdict."""
        if not self.timed:
            return UNTIMED
        wire = "free delays" if self.delay_max_ms < 0 else f"delays up to {ms(self.delay_max_ms)}"
        people = "" if self.pause_max_ms < 0 else f", pauses up to {ms(self.pause_max_ms)}"
        ticks = "every tick" if self.tick == TICKS[0] else "tick by deadline"
        return f"timed ({ticks}, {wire}{people})"


class Due(TextEnum):
    """What a deadline is for. Its text is stored in the fingerprints of timed worlds."""

    LOCK = "lock"
    """An acquisition lock: broker, share-partition, lock."""
    TRANSACTION = "transaction"
    """An open transaction: its transactional id."""
    DELIVERY = "on the wire"
    """A message in flight: its sender, broker and way."""
    REPLICATION = "replicated"
    """The batches that not all replicas have: the partition."""
    LOADING = "loaded"
    """A role that loads: its key."""
    SENDING = "sent"
    """A request that waits for the network thread: its sender."""
    STEP = "gone on"
    """A thread that works or pauses: the application, and the thread's name."""
    LOOK_UP = "looked up"
    """A leader that queries the outcome of transactional acknowledgements: broker, share-partition."""
    ROLE_TIMER = "timer"
    """A timer of a role: the role's key, and the timer."""
    ROLE_DELAY = "delay"
    """A delay of a role: the role's key, and the delay."""
    TRANSACTIONAL_ID = "transactional id"
    """The expiration of a transactional id: its name."""
    PRODUCER_ID = "producer id"
    """The expiration of a producer id: the partition, and the producer id."""
    LOG_FRONT = "front of a log"
    """The oldest batch of a log: the partition, and what retention looks at."""
    CLIENT_TIMER = "of a client"
    """A timer of a client: its source, and the timer."""
    REQUEST = "asked"
    """A request without a response: its sender, and the broker."""
    BATCH = "batch"
    """A batch that is not delivered: the producer's source, the partition, and the batch's number."""
    POLL = "poll"
    """The next poll() of a member: its source."""
    CALL = "call"
    """A call of the application: the application, and the thread's name."""
    TRANSACTION_AGE = "age"
    """How long ago a transaction began, which no action waits for: its name, and the queried duration."""
    OFFSET = "offset"
    """The expiration of an offset: its group, and its partition."""
    GROUP_OFFSETS = "offsets of a group"
    """The expiration of all offsets of a group: its name."""
    OFFSET_AGE = "age of an offset"
    """How long ago an offset was committed, which no action waits for: its group, and its partition."""


Place: TypeAlias = tuple[Due, tuple[object, ...]]
"""What identifies a deadline: what it is for, and whose it is."""


class Deadline(Value, frozen=True):
    """Something that is due: not before `after` ms, and time does not pass beyond `by` ms.

    `kind` and `place` identify it. A `by` of -1 is never.
    """

    kind: Due
    place: tuple[object, ...]
    after: int
    by: int


def clock_named(kind: str, delay_max_ms: int = NEVER, tick: str = TICKS[0]) -> Clock:
    """Return a clock by its name.

    Raises:
        ValueError: for an unknown name, in one sentence.
    """
    clock = Clock(kind, delay_max_ms, tick)
    wrong = why_no_clock(clock)
    if wrong is not None:
        raise ValueError(wrong)
    return clock


def why_no_clock(clock: Clock) -> str | None:
    """Return what is wrong with a clock, or None."""
    if clock.kind not in (UNTIMED, TIMED):
        return f"the clock must be {UNTIMED} or {TIMED}, not {clock.kind!r}"
    if clock.tick not in TICKS:
        return f"a tick must be {' or '.join(TICKS)}, not {clock.tick!r}"
    for name in ("delay_max_ms", "pause_max_ms", "refresh_ms"):
        bound = getattr(clock, name)
        if type(bound) is not int or bound < NEVER:
            return f"{name} must be a whole number of at least 0, or -1 for no bound, not {bound!r}"
    if clock.stamps and not clock.timed:
        return "records carry their time with a timed clock only: leave stamps at false"
    if clock.backs_off and not clock.timed:
        return "a sender rests with a timed clock only: leave backs_off at false"
    return None


def unit_of(durations: Iterable[int]) -> int:
    """Return the longest tick that divides every one of these durations."""
    return gcd(*(duration for duration in durations if duration > 0)) or 1


def advance_deadlines(deadlines: Iterable[Deadline], elapsed: int) -> tuple[Deadline, ...]:
    """Return the deadlines after some time."""
    return tuple(
        d.but(after=max(d.after - elapsed, 0), by=max(d.by - elapsed, 0) if d.by > 0 else d.by)
        for d in deadlines
    )


def next_tick(deadlines: Iterable[Deadline], unit: int, tick: str) -> int:
    """Return how much time passes in one tick; 0 if nothing is due."""
    left = [ms for d in deadlines for ms in (d.after, d.by) if ms > 0]
    if not left:
        return 0
    return unit if tick == TICKS[0] else min(left)


def ms(duration: int) -> str:
    """Return a duration in words: "30 s", "2.5 s", "200 ms"."""
    if duration < 1_000:
        return f"{duration} ms"
    whole, rest = divmod(duration, 1_000)
    return f"{whole}{f'.{rest:03}'.rstrip('0') if rest else ''} s"
