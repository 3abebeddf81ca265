"""What a story's own programs break, whatever the brokers and clients below them do.

A design is judged by its effect on a program that is written for exactly once. Some programs are not: they send outputs
in a transaction and leave their position out of it, two groups each write a copy, a reader acknowledges records without
an output. Such a program is at-least-once (or at-most-once) under every design, so such a violation is no evidence
against the design.

There is no list of stories here. Each fault is derived from the lines of the programs and their groups, and each causes
only some kinds of violation.
"""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.clients.application import Call, Line
from kipviz.cluster.specs.spec import ApplicationSpec, ClusterSpec
from kipviz.core.values import Value
from kipviz.messages.shares.share_groups import AcknowledgeType
from kipviz.properties.harm import Harm

THE_PROGRAM = "the program, not the design"

_STAGING = (
    Call.SEND_OFFSETS,
    Call.SEND_SHARE_ACKNOWLEDGEMENTS,
)
_OF_DATABASES = (Call.DATABASE_INSERT, Call.DATABASE_PREPARE, Call.DATABASE_COMMIT)
_RECOVERING = (Call.DATABASE_COMMIT, Call.DATABASE_ROLLBACK)


class ProgramFault(Value, frozen=True):
    """One error in a program: the application, the kinds of violation that it causes, and why."""

    application: str
    causes: tuple[Harm, ...]
    sentence: str


def program_faults(spec: ClusterSpec) -> tuple[ProgramFault, ...]:
    """Return what the programs of a cluster break by themselves, in the order of the applications."""
    apps = tuple(app for app in spec.applications if not app.admin)
    return tuple(fault for app in apps for fault in _of_one(app, apps))


def blame_for_harm(spec: ClusterSpec, harm: Harm | None) -> str:
    """Return which program causes violations that cost this under every design, "" if the design is at fault."""
    return next((f.sentence for f in program_faults(spec) if harm in f.causes), "")


def _of_one(app: ApplicationSpec, apps: tuple[ApplicationSpec, ...]) -> Iterator[ProgramFault]:
    yield from _position(app)
    yield from _acknowledges_for_nothing(app, apps)
    yield from _copies_of_two_groups(app, apps)
    yield from _leaves_in_doubt(app)
    yield from _two_transactions(app)
    yield from _never_completes(app)


def _position(app: ApplicationSpec) -> Iterator[ProgramFault]:
    """Yield outputs without the position that belongs to them, or with one that cannot be fenced."""
    calls = {line.call.role for line in app.program}
    if not _copies(app):
        return
    if calls.isdisjoint(_STAGING):
        if Call.SEEK in calls and not calls.isdisjoint(_OF_DATABASES):
            return  # the database keeps the position, in its own transaction
        how = "in transactions" if app.plain is None else "without a transaction"
        where = (
            "commits its position beside them"
            if Call.COMMIT_SYNC in calls or Call.COMMIT_ASYNC in calls
            else "never stages its position in one"
        )
        yield ProgramFault(
            app.name,
            _causes_of_no_position(app),
            f"{app.name} sends its outputs {how} and {where}, so {_what_comes_of_it(app)}",
        )
    elif any(line.call.role is Call.SEND_OFFSETS and not line.metadata for line in app.program):
        yield ProgramFault(
            app.name,
            (Harm.DUPLICATE,),
            f"{app.name} stages offsets with nothing but the group's id, so the group coordinator "
            "cannot fence it after a rebalance",
        )


def _what_comes_of_it(app: ApplicationSpec) -> str:
    """Return the effect of separating outputs and position: only a share group can lose a record's output."""
    if app.share and _acknowledges(app):
        return "a record can be acknowledged without its output, or be sent again"
    return "a restart sends them again"


def _causes_of_no_position(app: ApplicationSpec) -> tuple[Harm, ...]:
    """Return the violations that outputs without a position cause; a share group's record stays available."""
    if not _acknowledges(app):
        return (Harm.DUPLICATE,)
    return (Harm.DUPLICATE, Harm.LOSS, Harm.AGAIN) if app.share else (Harm.DUPLICATE, Harm.LOSS)


def _acknowledges_for_nothing(
    app: ApplicationSpec, apps: tuple[ApplicationSpec, ...]
) -> Iterator[ProgramFault]:
    """Yield a member that acknowledges records and sends nothing, in a group that sends outputs."""
    others = [other for other in apps if other.group_id == app.group_id and _copies(other)]
    if others and not _copies(app) and _acknowledges(app):
        yield ProgramFault(
            app.name,
            (Harm.LOSS,),
            f"{app.name} acknowledges what it reads and sends no output, in the group of "
            f"{others[0].name}, which does",
        )


def _copies_of_two_groups(
    app: ApplicationSpec, apps: tuple[ApplicationSpec, ...]
) -> Iterator[ProgramFault]:
    """Yield a second group that writes its own output of the same records."""
    if not _copies(app):
        return
    for other in apps[: apps.index(app)]:
        shared = _sources(app) & _sources(other)
        if shared and other.group_id != app.group_id and _copies(other):
            yield ProgramFault(
                app.name,
                (Harm.DUPLICATE,),
                f"{other.name} and {app.name} read {min(shared)} in two groups, and each sends an "
                "output of every record",
            )
            return


def _leaves_in_doubt(app: ApplicationSpec) -> Iterator[ProgramFault]:
    """Yield a program that prepares in a database and does not look for the prepared transaction after a restart."""
    lines = app.program
    preparations = [k for k, line in enumerate(lines) if line.call is Call.DATABASE_PREPARE]
    if preparations and not any(line.call in _RECOVERING for line in lines[: preparations[0]]):
        yield ProgramFault(
            app.name,
            (Harm.IN_DOUBT,),
            f"{app.name} prepares in its database and has no line that looks for what is in doubt "
            "after a restart",
        )


def _two_transactions(app: ApplicationSpec) -> Iterator[ProgramFault]:
    """Yield outputs in one producer's transaction with acknowledgements in another producer's."""
    senders = {line.client for line in app.program if line.call.role is Call.SEND}
    stagers = {line.client for line in app.program if line.call.role in _STAGING}
    if senders and stagers and senders.isdisjoint(stagers) and app.session is None:
        yield ProgramFault(
            app.name,
            (Harm.DUPLICATE, Harm.LOSS, Harm.AGAIN),
            f"{app.name} sends outputs in one transaction and stages their acknowledgements in another, so a "
            "crash between the two commits tears them apart",
        )


def _never_completes(app: ApplicationSpec) -> Iterator[ProgramFault]:
    """Yield a program that prepares a transaction without a time limit and never ends it."""
    calls = {line.call.role for line in app.program}
    ends = {Call.COMPLETE_TRANSACTION, Call.COMMIT_TRANSACTION, Call.ABORT_TRANSACTION}
    if app.two_phase_commit and Call.PREPARE_TRANSACTION in calls and calls.isdisjoint(ends):
        yield ProgramFault(
            app.name,
            (Harm.STUCK,),
            f"{app.name} prepares a transaction that has no time limit, and no line of it ends one",
        )


def _copies(app: ApplicationSpec) -> bool:
    """Return whether a program reads records and sends outputs of them."""
    calls = {line.call.role for line in app.program}
    return Call.POLL in calls and Call.SEND in calls


def _acknowledges(app: ApplicationSpec) -> bool:
    """Return whether a program acknowledges records outside a transaction."""
    calls = {line.call.role for line in app.program}
    if Call.POLL not in calls:
        return False
    if not app.share:
        return not calls.isdisjoint((Call.COMMIT_SYNC, Call.COMMIT_ASYNC))
    if app.explicit:
        return any(_accepts(line) for line in app.program)
    return calls.isdisjoint(_STAGING)  # the next poll() or close() acknowledges the batch


def _accepts(line: Line) -> bool:
    said = {acknowledge for _, acknowledge in line.verdicts}
    return line.call is Call.ACKNOWLEDGE and AcknowledgeType.ACCEPT in said


def _sources(app: ApplicationSpec) -> set[str]:
    return {app.source, *app.further_sources}
