"""Validation of an application: its names, its membership, its clients and its calls."""

from __future__ import annotations

from kipviz.clients.application import STAGING
from kipviz.clients.calls import ADMIN, CALLS, TARGETS
from kipviz.clients.groups.assignors import why_no_such_assignors
from kipviz.clients.groups.offset_reset import why_no_reset
from kipviz.clients.groups.subscribing import MODERN, why_not_subscribed
from kipviz.clients.operators.admin import Filters, Hanging
from kipviz.clients.operators.group_calls import OF_REGULAR_GROUPS, OF_SHARE_GROUPS
from kipviz.clients.sending.in_flight import why_no_such_producer
from kipviz.clients.shares.staged_records import why_no_gathering
from kipviz.cluster.spec_checks.further_members import why_no_further_members
from kipviz.cluster.spec_checks.program_limits import why_no_program
from kipviz.cluster.spec_checks.thread_check import why_no_threads
from kipviz.cluster.specs import spec_limits
from kipviz.cluster.specs.kafka_defaults import CLASSIC
from kipviz.cluster.specs.session_config import (
    SESSION,
    ConfigException,
    session_timeout,
)
from kipviz.cluster.specs.spec import (
    OLDEST_MS,
    PROTOCOLS,
    ApplicationSpec,
    BadSpec,
    ClusterSpec,
    SessionSpec,
)
from kipviz.records.placement import topic_of
from kipviz.settings.client_configs import TRANSACTION_TIMEOUT_MS


def check_application(spec: ClusterSpec, application: ApplicationSpec, placed: set[str]) -> None:
    """Reject an application that is not possible in a cluster; `placed` are the partitions with a leader.

    Raises:
        BadSpec: what is wrong and what is allowed.
    """
    names = [a.name for a in spec.applications]
    hosts = [f"B{broker}" for broker in spec.brokers]
    name = application.name
    if not name.isprintable() or not name or "/" in name or name in hosts or names.count(name) > 1:
        raise BadSpec(
            f"an application's name must be unique and printable, without '/', and not the name of a broker such as B3; "
            f"{name!r} is not allowed"
        )
    _check_admin(spec, application)
    used = (application.source, application.output, *application.further_sources)
    for partition in () if application.admin else used:
        if partition not in placed:
            raise BadSpec(f"{name} uses {partition}, which no placement gives a leader")
    stages = any(line.call in STAGING for line in application.program)
    least = spec.staging_transaction_version
    if stages and spec.transaction_version < least:
        raise BadSpec(
            f"{name} stages share-group acknowledgements, which needs transaction version "
            f"{least}, not {spec.transaction_version}"
        )
    for source in (application.source, *application.further_sources) if application.share else ():
        if topic_of(source) not in dict(spec.topic_ids):
            raise BadSpec(f"{name} shares {source}, but topic {topic_of(source)} has no id")
    if application.further_sources and not application.share:
        raise BadSpec(f"{name} reads further partitions, which only a member of a share group can")
    program, whole = application.program, application.by_session
    wrong = why_no_gathering(program, by_session=bool(whole)) if application.gathers else ""
    if wrong or (application.gathers and (application.explicit or not application.further_sources)):
        raise BadSpec(wrong or f"{name} gathers implicitly and from further_sources, or not at all")
    if application.by_session and not application.gathers:
        raise BadSpec(f"{name} asks by_session for several partitions: gathers has to be on")
    _check_membership(spec, application)
    wrong = why_no_such_producer(application) or why_no_threads(spec, application)
    wrong = (
        wrong or why_no_further_members(application) or spec_limits.why_no_isolation(application)
    )
    wrong = wrong or why_not_subscribed(application, placed)
    wrong = wrong or why_no_such_assignors(application) or why_no_program(application)
    if wrong:
        raise BadSpec(wrong)
    if not application.program:
        raise BadSpec(f"{name} has no program: a program has at least one line")
    if (
        application.two_phase_commit
        and application.transaction_timeout_ms != TRANSACTION_TIMEOUT_MS.default
    ):
        raise BadSpec(
            f"{name} takes part in a two-phase commit, which has no time limit: "
            "leave transaction_timeout_ms as it is"
        )
    wrong = spec_limits.why_out_of_range(spec_limits.OF_APPLICATIONS, application, name)
    if wrong:
        raise BadSpec(wrong)
    if application.session is not None:
        _check_session(name, application.session)
    members = [(a.group_id, a.member_id) for a in spec.members]
    if members.count((application.group_id, application.member_id)) > 1:
        raise BadSpec(
            f"member {application.member_id} is twice in group {application.group_id}: "
            "every member has an id of its own"
        )


def _check_session(name: str, session: SessionSpec) -> None:
    if SESSION in session.producers:
        raise BadSpec(f"a producer of {name} is not called {SESSION!r}: that is its session's name")
    try:
        session_timeout(session.session_timeout_ms)
    except ConfigException as wrong:
        raise BadSpec(f"the session of {name}: {wrong}") from wrong


def _check_membership(spec: ClusterSpec, application: ApplicationSpec) -> None:
    """Reject an impossible membership of a consumer, and groups with several protocols."""
    name = application.name
    protocols = ("", "share") if application.share else PROTOCOLS
    if application.protocol not in protocols:
        raise BadSpec(
            f"the protocol of {name} is {application.protocol!r}; a regular group's consumer has "
            f"one of {', '.join(map(repr, PROTOCOLS))}, a share group's '' or 'share'"
        )
    if not 6 <= application.offset_fetch_version <= 10:
        raise BadSpec(
            f"{name} must ask for offsets in version 6 to 10, not {application.offset_fetch_version}"
        )
    mixed = [
        a.name
        for a in (() if application.admin else spec.members)
        if a.share == application.share
        and a.group_id == application.group_id
        and a.protocol != application.protocol
    ]
    if mixed:
        raise BadSpec(
            f"{name} and {mixed[0]} are in group {application.group_id}: either all members of a "
            "group join it, by one protocol, or all are in it before the run"
        )
    others = [
        a.name
        for a in spec.members
        if a.share != application.share and a.group_id == application.group_id and not a.protocol
    ]
    if others:
        raise BadSpec(
            f"{application.group_id} is one kind of group: {others[0]} is in it before the run, so that "
            f"{name} cannot be of the other kind"
        )
    wrong = why_no_reset(application, dated=spec.clock.stamps)
    if wrong:
        raise BadSpec(wrong)
    if application.instance_id and application.protocol not in (CLASSIC, MODERN):
        raise BadSpec(
            f"{name} has the instance id {application.instance_id}: a static member joins its group by "
            f"protocol {CLASSIC!r} or {MODERN!r}"
        )


def _check_admin(spec: ClusterSpec, application: ApplicationSpec) -> None:
    """Reject calls of a client that a process does not have, and invalid filters."""
    for line in application.program:
        operating = CALLS[line.call].of == ADMIN
        if operating != application.admin and not line.client:
            has = "an admin client alone" if application.admin else "no admin client"
            raise BadSpec(f"{application.name} has {has}: {line.call.value}() is not for it")
        if line.call in OF_SHARE_GROUPS and not line.target:
            raise BadSpec(f"{application.name}: {line.call.value}() needs the id of a share group")
        if line.call in OF_REGULAR_GROUPS and not line.target:
            raise BadSpec(f"{application.name}: {line.call.value}() needs the id of a group")
        read = TARGETS.get(line.call)
        try:
            wanted = read(line.target) if read is not None else None
        except ValueError as wrong:
            raise BadSpec(f"{application.name}: {wrong}") from wrong
        if isinstance(wanted, Filters):
            _check_duration(spec, application.name, wanted)
        if isinstance(wanted, Hanging) and wanted.silent_for_ms >= 0 and not spec.clock.stamps:
            raise BadSpec(
                f"{application.name} looks for producers that are silent for long, which takes times in "
                "records (clock=timed, stamps=true)"
            )


def _check_duration(spec: ClusterSpec, name: str, wanted: Filters) -> None:
    if wanted.duration_ms >= 0 and not spec.clock.timed:
        raise BadSpec(
            f"{name} asks for transactions that take long, which needs a timed clock (clock=timed)"
        )
    if wanted.duration_ms > OLDEST_MS:
        raise BadSpec(
            f"{name} asks for transactions that take {wanted.duration_ms} ms; it is counted up to "
            f"{OLDEST_MS}"
        )
