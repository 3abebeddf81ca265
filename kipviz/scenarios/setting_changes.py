"""Changes of settings, in words: an option of a design, a limit of the brokers, a client's configuration.

"lock_expiry=back_to_available"     a slot of the design "delivery_count_limit=2"            a limit of the brokers, or
Kafka's own name for it "profile=kafka-defaults"            what the cluster leaves out of Kafka
(`kipviz.cluster.specs.abstraction`) "replication=stepwise"              the granularity of replication in the model
"app-1.max_records=2"               a client's configuration "clock=timed"                       whether a timer has to
be due before it expires "consumer_session_timeout_ms=45000" the duration of a timer, or Kafka's own name for it
"crash_broker=5"                    how often a fault may happen "splits=B1 B3 | B5; app-1 | *"      the network
partitions between sets of hosts that searches and dice try
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from kipviz.brokers.settings import BrokerSettings
from kipviz.cluster.spec_checks.spec_check import check
from kipviz.cluster.specs import spec_limits
from kipviz.cluster.specs.abstraction import (
    PROFILES,
    Profile,
    UnknownProfile,
    profile_named,
    profile_of,
)
from kipviz.cluster.specs.kafka_defaults import CLASSIC
from kipviz.cluster.specs.session_config import (
    SESSION_TIMEOUT,
    ConfigException,
    SessionSpec,
    session_timeout,
)
from kipviz.cluster.specs.simplifications import CHOSEN
from kipviz.cluster.specs.spec import ApplicationSpec, BadSpec, ClusterSpec, Durations, FaultBudget
from kipviz.cluster.timing.clock import NEVER, TIMED, UNTIMED, Clock, why_no_clock
from kipviz.cluster.timing.durations import FIELDS, occurring
from kipviz.core.values import Value
from kipviz.designs.design import Design, comes_up
from kipviz.designs.options.options import KAFKAS_OWN, SLOTS
from kipviz.designs.slot import Slot
from kipviz.scenarios.scenario import Scenario

KAFKA_NAMES = {
    **{limit.name: field for field, limit in spec_limits.OF_BROKERS.items()},
    "group.max.size": "group_max_size",
    "errors.deadletterqueue.topic.name.prefix": "dead_letter_prefix",
    "errors.deadletterqueue.auto.create.topics.enable": "dead_letter_auto_create",
    "transaction.two.phase.commit.enable": "two_phase_commit_enable",
    "transaction.partition.verification.enable": "partition_verification",
    "transaction.version": "transaction_version",
    **FIELDS,
}
# `targets_wait` cannot be set: it states how far the time is that an untimed clock does not show.
OF_BROKERS: tuple[str, ...] = tuple(
    name for name in BrokerSettings.__struct_fields__ if name != "targets_wait"
)
OF_CLIENTS = (
    "max_records",
    "explicit",
    "transaction_timeout_ms",
    "work_ms",
    "heartbeat_interval_ms",
)
# Only if a spec sets it: otherwise a consumer starts at the earliest record, without a round trip.
RESET = "auto_offset_reset"
RESET_OPTIONS = (
    ("earliest", "at the first record that there is"),
    ("latest", "behind the last one"),
    ("none", "nowhere: poll() throws"),
)
OF_DURATIONS: tuple[str, ...] = Durations.__struct_fields__
PROFILE = "profile"
# Settings that matter only for a group of the classic protocol.
OF_CLASSIC_GROUPS = ("initial_rebalance_delay_ms", "group_max_size")
OF_FAULTS: tuple[str, ...] = FaultBudget.__struct_fields__
# It has no options: a page asks for the two sides when it partitions the network.
SPLITS = "splits"
REPLICATION = ("instant", "stepwise")
YES_OR_NO = (("true", "yes"), ("false", "no"))
FREE = "free"
OF_BOUNDS = ("delay_max_ms", "pause_max_ms", "refresh_ms")
OF_CLOCKS = ("clock", "tick", "stamps", "backs_off", *OF_BOUNDS)
# Settings of brokers that are shown only if they differ from Kafka's: few clusters come near them.
WHERE_SET = (
    "state_upkeep",
    "share_group_max_size",
    "share_sessions_max",
    "offsets_expire",
    "producer_ids_expire",
    "dead_letter_prefix",
    "dead_letter_auto_create",
    "consumer_group_max_size",
    "group_max_size",
    "consumer_assignment_interval_ms",
    "log_retention_ms",
    "asks_together",
    "remembers_verifications",
    "share_auto_offset_reset",
)
_WORDS = {
    "delivery_count_limit": "How often may a record be delivered?",
    "record_locks_max": "How many records of a share-partition may be in flight?",
    "updates_per_snapshot": "After how many updates does the share coordinator write a snapshot?",
    "partition_verification": "Does a leader ask whether an older client has added its partition?",
    "transactional_ids_expire": "May a transactional id be forgotten that nobody uses?",
    "transaction_version": "Which transaction.version is finalized?",
    "transaction_max_timeout_ms": "How long may a transaction take at most, in ms?",
    "two_phase_commit_enable": "May a producer switch the time limit of its transactions off?",
    "record_lock_duration_ms": "After how many ms does an acquisition lock run out?",
    "transaction_scan_ms": "How many ms pass between two looks for transactions that took too long?",
    "offsets_expire": "May the offsets of a group be forgotten that nobody uses?",
    "producer_ids_expire": "May a log forget a producer that it has not heard of for a day?",
    "initial_rebalance_delay_ms": "How many ms does an empty classic group wait for more members?",
    "dead_letter_prefix": "How does the name of every dead-letter topic begin?",
    "dead_letter_auto_create": "Do brokers make the topic of dead letters if it is not there?",
    "consumer_group_max_size": "How many members may a group of KIP-848 have?",
    "group_max_size": "How many members may a classic group have?",
    "log_retention_ms": "After how many ms is a record deleted, -1 for never?",
    "consumer_assignment_interval_ms": "How many ms does a group of KIP-848 keep a target at least?",
    "share_auto_offset_reset": "Where does a share group begin that nobody configured?",
    "asks_together": "Does a broker gather what it asks a transaction coordinator meanwhile?",
    "remembers_verifications": "Does a leader keep a verification in vain that only other clients could notice?",
    "share_group_max_size": "How many members may a share group have?",
    "share_sessions_max": "How many share sessions may a broker have?",
    "state_upkeep": "Do the jobs come that look after __share_group_state?",
    "delay_max_ms": "How many ms is a message in flight at most?",
    "pause_max_ms": "How many ms does a client's thread stand still at most?",
    "refresh_ms": "Every how many ms does a leader look up what became of its votes?",
    "work_ms": "How many ms does it work on a batch before it commits?",
    "heartbeat_interval_ms": "Every how many ms does its open transaction beat (KIP-1309, draft)?",
    "max_records": "How many records does a poll bring at most?",
    "explicit": "Does the consumer acknowledge each record itself?",
    "transaction_timeout_ms": "After how many ms is an open transaction aborted?",
    SESSION_TIMEOUT: "For how many ms may the session be silent, -1 without end (KIP-1310, draft)?",
}


class BadChange(ValueError):
    """A change of a setting that cannot be made; the message states the reason in one sentence."""


class Setting(Value, frozen=True):
    """A setting that can be changed: its name, its question, its current value, and its options.

    `options` are (name, sentence); empty if any integer is allowed.
    """

    name: str
    asks: str
    now: str
    options: tuple[tuple[str, str], ...] = ()


def settings(spec: ClusterSpec, design: Design) -> tuple[Setting, ...]:
    """Return every setting of a cluster under a design."""
    profile = profile_of(spec).profile
    found = [
        Setting(
            slot.name,
            slot.question,
            design.choices[slot.name],
            tuple((o.name, o.sentence) for o in design.options(slot)),
        )
        for slot in SLOTS
        if _asked_of(slot, design) and comes_up(slot, spec)
    ]
    found += [
        Setting(n, _WORDS[n], now if isinstance(now, str) else _word(now), _options(n, now))
        for n, now in ((n, getattr(spec.settings, n)) for n in OF_BROKERS)
        if (n not in WHERE_SET or now != _usual(n, profile))
        and (n not in OF_CLASSIC_GROUPS or any(a.protocol == CLASSIC for a in spec.applications))
    ]
    asks = "How much of Kafka does the cluster leave out?"
    said = tuple((each.name, each.sentence) for each in PROFILES)
    found.append(Setting(PROFILE, asks, profile.name, said))
    both = (("instant", "at once"), ("stepwise", "as an event of its own"))
    found.append(
        Setting("replication", "When do the replicas have a batch?", spec.replication, both)
    )
    found += _of_clock(spec.clock)
    found += _of_durations(spec)
    for app in spec.applications:
        for name in OF_CLIENTS:
            switch = name == "explicit"
            timed = name in ("work_ms", "heartbeat_interval_ms")
            if (switch and not app.share) or (timed and not spec.clock.timed):
                continue
            options = YES_OR_NO if switch else ()
            now = _word(getattr(app, name))
            found.append(Setting(f"{app.name}.{name}", _WORDS[name], now, options))
        if app.session is not None and spec.clock.timed:
            now = str(app.session.session_timeout_ms)
            found.append(Setting(f"{app.name}.{SESSION_TIMEOUT}", _WORDS[SESSION_TIMEOUT], now))
        if app.auto_offset_reset:
            asks = "Where does the consumer read on, without a position that the log has?"
            now = app.auto_offset_reset
            own = ((now, "at the first record that is not older"),) * (
                now not in dict(RESET_OPTIONS)
            )
            found.append(Setting(f"{app.name}.{RESET}", asks, now, (*RESET_OPTIONS, *own)))
    for name in OF_FAULTS:
        asks = f"How often may it still happen: {name.replace('_', ' ')}?"
        found.append(Setting(name, asks, _word(getattr(spec.budget, name))))
    return tuple(found)


def changed(
    spec: ClusterSpec, design: Design, changes: Sequence[str]
) -> tuple[ClusterSpec, Design]:
    """Return the cluster and the design after some changes, each of the form name=value.

    Raises:
        BadChange: if a setting is unknown, or cannot have that value.
        UnknownDesign: if a slot has no such option.
    """
    for change in changes:
        name, equals, value = change.partition("=") if isinstance(change, str) else ("", "", "")
        name, value = KAFKA_NAMES.get(name.strip(), name.strip()), value.strip()
        if not equals or not name or not value:
            raise BadChange(f"a change must be of the form setting=value, not {change!r}")
        spec, design = _one(spec, design, name, value)
    try:
        check(spec)
    except BadSpec as wrong:
        raise BadChange(str(wrong)) from wrong
    return spec, design


def under(story: Scenario, design: Design, settings: Sequence[str]) -> Scenario:
    """Return a scenario with some settings changed; those of a design are already in its name.

    Its budget stays its own: a run states itself which faults it allows.

    Raises:
        BadChange: if a setting is unknown, or cannot have that value.
    """
    slots = [slot.name for slot in SLOTS]
    own = [change for change in settings if change.partition("=")[0].strip() not in slots]
    spec, _ = changed(story.spec, design, own)
    return story.but(spec=spec.but(budget=story.spec.budget))


def _one(spec: ClusterSpec, design: Design, name: str, value: str) -> tuple[ClusterSpec, Design]:
    if name in [slot.name for slot in SLOTS if _asked_of(slot, design)]:
        return spec, design.but(**{name: value})
    if name in dict(design.levels):
        raise BadChange(f"design {design.name} is what it is by {name}={dict(design.levels)[name]}")
    if name == "transaction_version":
        return spec.but(transaction_version=_number(name, value, 0)), design
    if name in OF_BROKERS:
        return spec.but(settings=spec.settings.but(**{name: _of_broker(spec, name, value)})), design
    if name in OF_FAULTS:
        return spec.but(budget=spec.budget.but(**{name: _number(name, value, 0)})), design
    if name == PROFILE:
        return _under_profile(spec, value), design
    if name == "replication":
        if value not in REPLICATION:
            raise BadChange(f"replication must be {' or '.join(REPLICATION)}, not {value!r}")
        return spec.but(replication=value), design
    if name == SPLITS:
        return spec.but(splits=tuple(text.strip() for text in value.split(";"))), design
    if name in OF_DURATIONS:
        fresh = spec.durations.but(**{name: _number(name, value, 1)})
        return spec.but(durations=fresh), design
    if name in OF_CLOCKS:
        return spec.but(clock=_clock(spec.clock, name, value)), design
    for app in spec.applications:
        if app.session is not None and name == f"{app.name}.{SESSION_TIMEOUT}":
            fresh_app = app.but(session=_session(app.session, value))
            apps = tuple(fresh_app if a is app else a for a in spec.applications)
            return spec.but(applications=apps), design
    owner, _, field = name.rpartition(".")
    if field in (*OF_CLIENTS, RESET) and owner in [a.name for a in spec.applications]:
        apps = tuple(
            _application(a, name, field, value) if a.name == owner else a for a in spec.applications
        )
        return spec.but(applications=apps), design
    known = ", ".join(setting.name for setting in settings(spec, design))
    raise BadChange(f"there is no setting {name!r}; the settings are {known}")


def _under_profile(spec: ClusterSpec, value: str) -> ClusterSpec:
    try:
        return profile_named(value).of_cluster(spec)
    except UnknownProfile as wrong:
        raise BadChange(str(wrong)) from wrong


def _of_clock(clock: Clock) -> list[Setting]:
    """Return the settings of the clock; an untimed clock has only one."""
    kinds = (
        (UNTIMED, "at any moment after it was set"),
        (TIMED, "when its time is over, no sooner and no later"),
    )
    found = [Setting("clock", "When does a timer run out?", clock.kind, kinds)]
    if clock.timed:
        ticks = (
            ("exact", "by the greatest common divisor of all durations: no order is left out"),
            (
                "next",
                "to the next moment at which something is due: faster, some orders are missing",
            ),
        )
        found.append(Setting("tick", "How does time pass?", clock.tick, ticks))
        asks = "Do records carry the time at which they were written?"
        found.append(Setting("stamps", asks, _word(clock.stamps), YES_OR_NO))
        asks = "Does a sender rest before it asks again (retry.backoff.ms)?"
        found.append(Setting("backs_off", asks, _word(clock.backs_off), YES_OR_NO))
        for name in OF_BOUNDS:
            bound = getattr(clock, name)
            found.append(Setting(name, _WORDS[name], FREE if bound < 0 else str(bound)))
    return found


def _of_durations(spec: ClusterSpec) -> Iterator[Setting]:
    """Yield the durations that can start in a cluster with a timed clock, under Kafka's names."""
    for row, _ in occurring(spec) if spec.clock.timed else ():
        field = FIELDS.get(row.setting)
        if field is not None:
            unit = "minutes" if row.setting.endswith(".minutes") else "ms"
            asks = f"After how many {unit}: {row.what} ({row.setting})?"
            yield Setting(field, asks, str(getattr(spec.durations, field)))


def _clock(clock: Clock, name: str, value: str) -> Clock:
    if name == "clock":
        fresh = clock.but(kind=value)
    elif name == "tick":
        fresh = clock.but(tick=value)
    elif name in ("stamps", "backs_off"):
        fresh = clock.but(**{name: _switch(name, value)})
    else:
        fresh = clock.but(**{name: NEVER if value == FREE else _number(name, value, 0)})
    wrong = why_no_clock(fresh)
    if wrong is not None:
        raise BadChange(wrong)
    return fresh


def _asked_of(slot: Slot, design: Design) -> bool:
    """Return whether a slot's question matters under a design: Kafka's own rules are in every design."""
    return design.stages_shares or slot.finding == KAFKAS_OWN


def _application(app: ApplicationSpec, name: str, field: str, value: str) -> ApplicationSpec:
    if field == RESET:
        return app.but(auto_offset_reset=value)
    if field != "explicit":
        least = 0 if field == "heartbeat_interval_ms" else 1
        return app.but(**{field: _number(name, value, least)})
    return app.but(explicit=_switch(name, value))


def _session(session: SessionSpec, value: str) -> SessionSpec:
    try:
        return session.but(session_timeout_ms=session_timeout(value))
    except ConfigException as wrong:
        raise BadChange(str(wrong)) from wrong


def _usual(name: str, profile: Profile) -> Any:
    """Return the usual value: the one that a setting of brokers has in a profile."""
    row = next((row for row in CHOSEN if row.field == name), None)
    return getattr(BrokerSettings(), name) if row is None else row.values[profile.simple]


def _of_broker(spec: ClusterSpec, name: str, value: str) -> bool | int | str:
    now = getattr(spec.settings, name)
    if isinstance(now, str):
        return value
    return _switch(name, value) if isinstance(now, bool) else _number(name, value, 1)


def _switch(name: str, value: str) -> bool:
    if value not in ("true", "false"):
        raise BadChange(f"{name} must be true or false, not {value!r}")
    return value == "true"


def _number(name: str, value: str, least: int) -> int:
    if not (value.isascii() and value.isdecimal()) or not least <= int(value) < 2**31:
        raise BadChange(f"{name} must be a whole number of at least {least}, not {value!r}")
    return int(value)


def _options(name: str, now: bool | int | str) -> tuple[tuple[str, str], ...]:
    """Return the values of a brokers' setting if they can be listed: a text is Kafka's or stays."""
    if isinstance(now, str):
        return ((now, "as it is set"), (getattr(BrokerSettings(), name), "Kafka's own"))
    return YES_OR_NO if isinstance(now, bool) else ()


def _word(value: Any) -> str:
    return msgspec.json.encode(value).decode()
