"""What a handler compares before it responds: each check in order, with the error that follows from it.

A handler returns its checks with its replies (`Effects.checks`); a step collects them with the role that made them
(`Checked`), and `Outcome.checks` has them in the order in which they were made. They are not part of the world, of
search keys or of traces: to see the checks of an earlier step, take the step again.

How a handler is written:

    @in_order
    def commit_checks(known, request):
        yield compare("member id", request.member_id, ..., request.member_id in known, Errors.UNKNOWN_MEMBER_ID)
        yield compare("member epoch", request.member_epoch, known.epoch, ..., Errors.STALE_MEMBER_EPOCH)

    checks = commit_checks(known, request)   # up to the first one that fails, and with it
    error = error_of(checks)                 # the error of the last one: the response's, by construction
    return Effects(me, replies=..., checks=checks)

An error that becomes another one on its way to the client (an older version of a request, a rule of a design, a
coordinator's answer) is one more check: `add_translation`. A value that a handler only looks at, without refusing anything
for it, is `report_value`. A name is short and stable, such as "producer epoch"; the sentence for it is made in
`views.explanations.checks`. Values are as they stand in the request and in the state: nothing is put into words here,
because a search makes millions of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from functools import wraps
from typing import ParamSpec, TypeAlias

from kipviz.core.values import Value
from kipviz.messages.errors import Errors

P = ParamSpec("P")
Fact: TypeAlias = str | int | bool | Enum | tuple[str, ...] | tuple[int, ...] | None


class Check(Value, frozen=True):
    """One comparison: the value in the request, the value that the broker has, and the resulting error.

    `error` is NONE if the check passed. `asked` is None if the request has no such value. `otherwise` has the errors of
    a check that could have failed: predictions offer them.
    """

    name: str
    asked: Fact
    found: Fact
    error: Errors = Errors.NONE
    otherwise: tuple[Errors, ...] = ()


class Checked(Value, frozen=True):
    """The checks that one handler made in a step, and the role that it belongs to."""

    broker: int
    role: str
    shard: str
    checks: tuple[Check, ...]


Checks: TypeAlias = tuple[Check, ...]


def compare(name: str, asked: Fact, found: Fact, holds: bool, otherwise: Errors) -> Check:
    """Return a check that passes if `holds`, and otherwise results in an error."""
    return Check(name, asked, found, Errors.NONE if holds else otherwise, (otherwise,))


def has_loaded(loading: bool) -> Check:
    """Check that a coordinator has loaded its log."""
    return compare("loading", None, loading, not loading, Errors.COORDINATOR_LOAD_IN_PROGRESS)


def report_value(name: str, found: Fact) -> Check:
    """Return a check that only reports a value and never fails."""
    return Check(name, None, found)


def in_order(made: Callable[P, Iterator[Check]]) -> Callable[P, Checks]:
    """Make a generator of checks stop after the first one that fails."""

    @wraps(made)
    def until_failure(*args: P.args, **kwargs: P.kwargs) -> Checks:
        done: list[Check] = []
        for check in made(*args, **kwargs):
            done.append(check)
            if check.error is not Errors.NONE:
                break
        return tuple(done)

    return until_failure


def error_of(checks: Checks) -> Errors:
    """Return the error that checks result in: the error of the last one."""
    return checks[-1].error if checks else Errors.NONE


def possible_errors(checks: Iterable[Check]) -> tuple[Errors, ...]:
    """Return the errors that checks resulted in or could have, each once and in order.

    OPERATION_NOT_ATTEMPTED decides about no request: a partition has it because another one has an error.
    """
    found = (error for check in checks for error in (*check.otherwise, check.error))
    decides_nothing = (Errors.NONE, Errors.OPERATION_NOT_ATTEMPTED)
    return tuple(dict.fromkeys(error for error in found if error not in decides_nothing))


def one_after_another(*steps: Callable[[], Checks]) -> Checks:
    """Make the checks of each step while all earlier ones passed."""
    done: Checks = ()
    for step in steps:
        done += step()
        if error_of(done) is not Errors.NONE:
            break
    return done


def add_translation(checks: Checks, name: str, asked: Fact, error: Errors) -> Checks:
    """Add the check that translates an error into another one, if it changes."""
    before = error_of(checks)
    return checks if before is error else (*checks, Check(name, asked, before, error))
