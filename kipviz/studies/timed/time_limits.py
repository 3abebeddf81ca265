"""How long does a lock have to last? The shortest one that keeps the properties, found by searching.

For each timeout and each processing time, the shortest lock under which no interleaving breaks a property is searched
and compared with the rule of `checking.timed.time_limits`.
"""

from __future__ import annotations

from functools import partial

from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.search.explore import Search
from kipviz.checking.search.search_result import Bounds
from kipviz.checking.timed.axes import LIMIT, LOCK, TIMEOUT, Axis
from kipviz.checking.timed.landscape import LOOK_UP_MS, LandscapeQuestion, landscape
from kipviz.checking.timed.time_limits import Limits
from kipviz.cluster.timing.clock import ms
from kipviz.core.values import Value
from kipviz.designs.catalogue import design as design_named
from kipviz.properties.expectations import AbortIsNoFailure
from kipviz.scenarios.applications import programs
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.setting_changes import apply_changes
from kipviz.studies.study import Part, Parts, Row, StoppedEarly, Study, Tell, content, searching

PINNED, TAKES_BACK = "repaired", "finding-D"
LABELS = {
    PINNED: "staged records are pinned (repaired)",
    TAKES_BACK: "a lock may release a staged record (the text)",
}
STEP_MS = 5_000
LONGEST_MS = 90_000
WORKS, TIMEOUTS = (5_000, 20_000, 40_000), (10_000, 60_000)


class Shortest(Value, frozen=True):
    """The shortest lock that keeps the properties, in whole steps, and whether any transaction commits with it."""

    lock: int
    commits: bool
    searches: int


def verdict(
    design: str, lock: int, timeout: int, work: int, tell: Tell = content
) -> tuple[bool, bool]:
    """Search one cell: whether every property holds, and whether some run commits."""
    question = LandscapeQuestion(
        designs=(design,), down=Axis(LOCK, (lock,)), across=Axis(TIMEOUT, (timeout,)), work_ms=work
    )
    (spot,) = landscape(
        question,
        progress=lambda _, states, depth: tell(
            f"lock {ms(lock)}: {states:,} states, depth {depth}"
        ),
    )
    if spot.explored.cancelled:
        raise StoppedEarly
    assert spot.explored.complete, spot.explored.sentence
    return not spot.explored.counterexamples, spot.commits


def shortest(design: str, timeout: int, work: int, tell: Tell = content) -> Shortest:
    """Find the shortest lock that holds by bisection; the next shorter one was seen to break."""
    holds, commits = verdict(design, STEP_MS, timeout, work, tell)
    low, high, searches = (0, 1, 1) if holds else (1, LONGEST_MS // STEP_MS, 1)
    while high - low > 1:
        middle = (low + high) // 2
        holds, commits_here = verdict(design, middle * STEP_MS, timeout, work, tell)
        searches += 1
        if holds:
            high, commits = middle, commits_here
        else:
            low = middle
    return Shortest(high * STEP_MS, commits, searches)


def predict_lock(design: str, timeout: int, work: int) -> int:
    """Return the shortest lock, in whole steps, that the rule requires."""
    if design == PINNED:
        return STEP_MS
    limits = Limits(timeout=timeout, work=work, look_up=LOOK_UP_MS)
    if not limits.can_commit:
        return STEP_MS  # a transaction that never commits breaks nothing
    return (limits.held // STEP_MS + 1) * STEP_MS


def _beside_the_rule(design: str, timeout: int, work: int, tell: Tell) -> tuple[Row, ...]:
    """Return the shortest lock that was found, compared with the one that the rule requires."""
    found, asked = shortest(design, timeout, work, tell), predict_lock(design, timeout, work)
    commits = "commits" if found.commits else "never commits"
    same = "as the rule says" if found.lock == asked else f"the rule says {ms(asked)}"
    row = (LABELS[design], ms(timeout), ms(work), commits, ms(found.lock), same)
    return ((*row, str(found.searches)),)


PARTS = Parts(
    ("design", "time-out", "work", "work gets done", "shortest lock", "rule", "searches"),
    tuple(
        Part(
            f"{LABELS[design]}, time-out {ms(timeout)}, work {ms(work)}",
            partial(_beside_the_rule, design, timeout, work),
        )
        for design in (TAKES_BACK, PINNED)
        for timeout in TIMEOUTS
        for work in WORKS
    ),
)


# Finding M: an abort leaves the record with its member until the lock expires, which uses up the delivery.
BURNS, GIVES_BACK = "finding-M", "repaired"
ABORTS_AND_LIMITS = ((1, 2), (2, 2), (2, 3))


def outlives(design: str, aborts: int, limit: int, tell: Tell = content) -> bool:
    """Search whether a record survives `aborts` aborts in a row under a delivery limit.

    The application throws after it has staged, that many times, and then commits.
    """
    story = searched_scenario("kip-1289-small-abort")
    asked = LandscapeQuestion(
        "kip-1289-small-abort", (design,), Axis(LOCK, (10_000,)), Axis(LIMIT, (limit,)), STEP_MS
    )
    apps = tuple(a.but(program=programs.failing(aborts)) for a in story.spec.applications)
    spec, chosen = apply_changes(
        story.spec.but(applications=apps), design_named(design), asked.settings(10_000, limit)
    )
    model = story.but(spec=spec).model(chosen, budget_of(f"expire_lock={aborts + 1}"))
    found = Search(model, (AbortIsNoFailure(),)).run(Bounds(states_max=50_000), searching(tell))
    if found.cancelled:
        raise StoppedEarly
    assert found.complete, found.sentence
    return not found.counterexamples


OUTLIVING = {
    BURNS: "an abort uses a delivery up (the text)",
    GIVES_BACK: "it gives it back (repaired)",
}


def _abort_rows(design: str, aborts: int, limit: int, tell: Tell) -> tuple[Row, ...]:
    """Return what happens to a record after some aborts under a delivery limit, in words."""
    lives = outlives(design, aborts, limit, tell)
    what = "is delivered again" if lives else "is archived, though no consumer failed"
    asked = design == GIVES_BACK or Limits(deliveries=limit, aborts=aborts).outlives_aborts
    same = "as the rule says" if asked == lives else "not as the rule says"
    return ((OUTLIVING[design], str(aborts), str(limit), what, same),)


OUTLIVING_PARTS = Parts(
    ("design", "aborts in a row", "delivery limit", "the record", "rule"),
    tuple(
        Part(
            f"{OUTLIVING[design]}, {aborts} aborts, limit {limit}",
            partial(_abort_rows, design, aborts, limit),
        )
        for design in (BURNS, GIVES_BACK)
        for aborts, limit in ABORTS_AND_LIMITS
    ),
)


DELIVERIES = Study(
    "deliveries",
    "How many aborts does a record outlive?",
    "KIP-932 group.share.delivery.count.limit; KIP-1289 Test Plan; finding M",
    "Whether a record is archived because of aborted transactions in which no consumer failed: every "
    "interleaving on a timed clock in which its locks may expire. The rule is delivery limit > aborts in a row.",
    parts=OUTLIVING_PARTS,
)


TIME_LIMITS = Study(
    "timeouts",
    "How long does an acquisition lock have to last beside transaction.timeout.ms?",
    "KIP-1289 corner cases 6 and 7 (no advice in the text); finding D",
    "The shortest lock under which no interleaving breaks a property, in steps of 5 s, beside the rule "
    "lock > min(work, timeout + scan) + lookup, which kipviz check-timeouts applies.",
    parts=PARTS,
)
