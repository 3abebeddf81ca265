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

from collections.abc import Container, Iterator, Sequence
from typing import Any

import msgspec

from kipviz.brokers.settings import BrokerSettings
from kipviz.cluster.behaviour.catalogue import SPENT_AS
from kipviz.cluster.spec_checks.spec_check import check
from kipviz.cluster.specs.abstraction import (
    KAFKA,
    PROFILES,
    SMALL,
    Profile,
    UnknownProfile,
    profile_named,
    profile_of,
)
from kipviz.cluster.specs.kafka_defaults import CLASSIC
from kipviz.cluster.specs.session_config import (
    SESSION_TIMEOUT,
    ConfigException,
    session_timeout,
)
from kipviz.cluster.specs.simplifications import CHOSEN, FieldValue
from kipviz.cluster.specs.spec import (
    ApplicationSpec,
    BadSpec,
    ClusterSpec,
    Durations,
    FaultBudget,
    SessionSpec,
)
from kipviz.cluster.timing.clock import NEVER, Clock, why_no_clock
from kipviz.cluster.timing.durations import occurring
from kipviz.core.outside.suggestions import unknown_of
from kipviz.core.values import Value
from kipviz.designs.design import Design
from kipviz.designs.former_names import current_slot
from kipviz.designs.options.options import KAFKAS_OWN, SLOTS
from kipviz.designs.slot import Slot
from kipviz.scenarios.scenario import Scenario
from kipviz.settings import broker_configs, model_settings
from kipviz.settings.client_configs import (
    TRANSACTION_HEARTBEAT_INTERVAL_MS,
    TRANSACTION_SESSION_TIMEOUT_MS,
    TRANSACTION_TIMEOUT_MS,
)
from kipviz.settings.consumer_configs import (
    AUTO_OFFSET_RESET,
    MAX_POLL_RECORDS,
    SHARE_ACKNOWLEDGEMENT_MODE,
)
from kipviz.settings.model_settings import PROFILE, REPLICATION, WORK_MS
from kipviz.settings.setting_def import Place, SettingDef
from kipviz.settings.table import setting_in, settings_in

# What may be set by Kafka's name: settings of brokers, durations, and a feature level.
KAFKA_NAMES: dict[str, str] = {
    each.name: each.field
    for each in (
        *settings_in(Place.BROKERS),
        broker_configs.TRANSACTION_VERSION,
        *settings_in(Place.DURATIONS),
    )
    if each.is_kafkas
}
OF_BROKERS: tuple[str, ...] = tuple(
    name for name in BrokerSettings.__struct_fields__ if setting_in(Place.BROKERS, name).asks
)
OF_CLIENTS: tuple[SettingDef[int] | SettingDef[str], ...] = (
    MAX_POLL_RECORDS,
    SHARE_ACKNOWLEDGEMENT_MODE,
    TRANSACTION_TIMEOUT_MS,
    WORK_MS,
    TRANSACTION_HEARTBEAT_INTERVAL_MS,
)
OF_TIMED_CLIENTS = (WORK_MS, TRANSACTION_HEARTBEAT_INTERVAL_MS)
CLIENT_FIELDS: tuple[str, ...] = tuple(each.field for each in OF_CLIENTS)
EXPLICIT = SHARE_ACKNOWLEDGEMENT_MODE.field
# Only if a spec sets it: otherwise a consumer starts at the earliest record, without a round trip.
RESET, RESET_OPTIONS = AUTO_OFFSET_RESET.field, AUTO_OFFSET_RESET.options
OF_DURATIONS: tuple[str, ...] = Durations.__struct_fields__
# Settings that matter only for a group of the classic protocol.
OF_CLASSIC_GROUPS = (
    broker_configs.GROUP_INITIAL_REBALANCE_DELAY_MS.field,
    broker_configs.GROUP_MAX_SIZE.field,
)
OF_FAULTS: tuple[str, ...] = FaultBudget.__struct_fields__
# The change that makes of a story the one that is searched.
SEARCHED = f"{PROFILE.name}={SMALL.name}"
# It has no options: a page asks for the two sides when it partitions the network.
SPLITS = "splits"
YES_OR_NO = (("true", "yes"), ("false", "no"))
FREE = "free"
BOUNDS = (model_settings.DELAY_MAX_MS, model_settings.PAUSE_MAX_MS, model_settings.REFRESH_MS)
SWITCHES = (model_settings.STAMPS, model_settings.BACKS_OFF)
OF_CLOCKS: tuple[str, ...] = tuple(each.name for each in settings_in(Place.CLOCK))


class BadChange(ValueError):
    """A change of a setting that cannot be made; the message states the reason in one sentence."""


class Setting(Value, frozen=True):
    """A setting that can be changed: its name, its question, its current value, and its options.

    `now` is "" if the cluster is like none of the options: it has only some of a profile's simplifications. `options` are (name, sentence); empty if any integer is allowed.
    """

    name: str
    asks: str
    now: str
    options: tuple[tuple[str, str], ...] = ()


def settings(spec: ClusterSpec, design: Design) -> tuple[Setting, ...]:
    """Return every setting of a cluster under a design."""
    abstracted = profile_of(spec)
    profile = abstracted.profile
    found = [
        Setting(
            slot.name,
            slot.question,
            design.choices[slot.name],
            tuple((o.name, o.sentence) for o in design.options(slot)),
        )
        for slot in SLOTS
        if _asked_of(slot, design) and slot.arises_in(spec)
    ]
    found += _of_brokers(spec, profile)
    said = tuple((each.name, each.sentence) for each in PROFILES)
    now = "" if abstracted.partly else profile.name
    found.append(Setting(PROFILE.name, PROFILE.asks, now, said))
    found.append(Setting(REPLICATION.name, REPLICATION.asks, spec.replication, REPLICATION.options))
    found += _of_clock(spec.clock)
    found += _of_durations(spec)
    for app in spec.applications:
        found += _of_application(app, timed=spec.clock.timed)
    for name in OF_FAULTS:
        asks = f"How many {SPENT_AS[name]} are still allowed?"
        found.append(Setting(name, asks, _word(getattr(spec.budget, name))))
    return tuple(found)


def _of_brokers(spec: ClusterSpec, profile: Profile) -> Iterator[Setting]:
    """Yield the settings of brokers: a rare one only where it is neither Kafka's nor the usual one of the profile."""
    classic = any(a.protocol == CLASSIC for a in spec.applications)
    for name in OF_BROKERS:
        setting, now = setting_in(Place.BROKERS, name), getattr(spec.settings, name)
        if setting.rare and now in (_usual(name, KAFKA), _usual(name, profile)):
            continue
        if classic or name not in OF_CLASSIC_GROUPS:
            shown = now if isinstance(now, str) else _word(now)
            yield Setting(name, setting.asks, shown, _options(name, now))


def _of_application(app: ApplicationSpec, *, timed: bool) -> Iterator[Setting]:
    """Yield the settings of a client; some matter only with a timed clock."""
    for setting in OF_CLIENTS:
        switch = setting is SHARE_ACKNOWLEDGEMENT_MODE
        if (switch and not app.share) or (setting in OF_TIMED_CLIENTS and not timed):
            continue
        options = YES_OR_NO if switch else ()
        now = _word(getattr(app, setting.field))
        yield Setting(f"{app.name}.{setting.field}", setting.asks, now, options)
    if app.session is not None and timed:
        now = str(app.session.session_timeout_ms)
        asks = TRANSACTION_SESSION_TIMEOUT_MS.asks
        yield Setting(f"{app.name}.{SESSION_TIMEOUT}", asks, now)
    if app.auto_offset_reset:
        now = app.auto_offset_reset
        own = ((now, "at the first record that is not older"),) * (now not in dict(RESET_OPTIONS))
        yield Setting(f"{app.name}.{RESET}", AUTO_OFFSET_RESET.asks, now, (*RESET_OPTIONS, *own))


def apply_changes(
    spec: ClusterSpec, design: Design, changes: Sequence[str], stated: Container[str] = ()
) -> tuple[ClusterSpec, Design]:
    """Return the cluster and the design after some changes, each of the form name=value.

    A change of the profile keeps what is `stated` in the head of the cluster's story.

    Raises:
        BadChange: if a setting is unknown, or cannot have that value.
        UnknownDesign: if a slot has no such option.
    """
    for change in changes:
        name, equals, value = change.partition("=") if isinstance(change, str) else ("", "", "")
        name, value = _present_name(name.strip()), value.strip()
        if not equals or not name or not value:
            raise BadChange(f"a change must be of the form setting=value, not {change!r}")
        if name == PROFILE.name:
            spec = _under_profile(spec, value, stated)
        else:
            spec, design = _one(spec, design, name, value)
    try:
        check(spec)
    except BadSpec as wrong:
        raise BadChange(str(wrong)) from wrong
    return spec, design


def change_story(
    story: Scenario, design: Design, changes: Sequence[str]
) -> tuple[Scenario, Design]:
    """Return a scenario and a design after some changes, each of the form name=value.

    Raises:
        BadChange: if a setting is unknown, or cannot have that value.
        UnknownDesign: if a slot has no such option.
    """
    spec, design = apply_changes(story.spec, design, changes, story.stated)
    return story.but(spec=spec), design


def settings_of_search(story: Scenario) -> tuple[str, ...]:
    """Return the changes that make of a scenario the one that is searched: none if both are the same."""
    same = story.searched.spec == story.spec
    return () if same else (SEARCHED,)


def is_searched(settings: Sequence[str]) -> bool:
    """Return whether the last profile among some changes, each of the form name=value, is that of searches."""
    named = (change.partition("=") for change in settings)
    profiles = [value.strip() for name, _, value in named if name.strip() == PROFILE.name]
    return profiles[-1:] == [SMALL.name]


def searched_under(story: Scenario, settings: Sequence[str]) -> Scenario:
    """Return what is searched of a scenario with some settings: what they set is kept, as what its head states is."""
    names = {change.partition("=")[0].strip() for change in settings}
    if PROFILE.name in names:
        return story
    kept = sorted(KAFKA_NAMES.get(name, name) for name in names)
    return story.but(stated=(*story.stated, *kept)).searched


def under(story: Scenario, design: Design, settings: Sequence[str]) -> Scenario:
    """Return a scenario with some settings changed; those of a design are already in its name.

    Its budget stays its own: a run states itself which faults it allows.

    Raises:
        BadChange: if a setting is unknown, or cannot have that value.
    """
    slots = [slot.name for slot in SLOTS]
    own = [c for c in settings if _present_name(c.partition("=")[0].strip()) not in slots]
    changed, _ = change_story(story, design, own)
    return story.but(spec=changed.spec.but(budget=story.spec.budget))


def _present_name(name: str) -> str:
    """Return the name of a setting in the model, for Kafka's name or that of a slot that was renamed."""
    return KAFKA_NAMES.get(name, current_slot(name))


def _one(spec: ClusterSpec, design: Design, name: str, value: str) -> tuple[ClusterSpec, Design]:
    if name in [slot.name for slot in SLOTS if _asked_of(slot, design)]:
        return spec, design.but(**{name: value})
    if name in dict(design.levels):
        raise BadChange(f"design {design.name} is what it is by {name}={dict(design.levels)[name]}")
    if name == broker_configs.TRANSACTION_VERSION.field:
        return spec.but(transaction_version=_number(name, value, 0)), design
    if name in OF_BROKERS:
        return spec.but(settings=spec.settings.but(**{name: _of_broker(spec, name, value)})), design
    if name in OF_FAULTS:
        return spec.but(budget=spec.budget.but(**{name: _number(name, value, 0)})), design
    if name == REPLICATION.name:
        options = dict(REPLICATION.options)
        if value not in options:
            raise BadChange(f"{name} must be {' or '.join(options)}, not {value!r}")
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
    if field in (*CLIENT_FIELDS, RESET) and owner in [a.name for a in spec.applications]:
        apps = tuple(
            _application(a, name, field, value) if a.name == owner else a for a in spec.applications
        )
        return spec.but(applications=apps), design
    known = (setting.name for setting in settings(spec, design))
    raise BadChange(unknown_of("setting", "settings", name, known))


def _under_profile(spec: ClusterSpec, value: str, stated: Container[str]) -> ClusterSpec:
    try:
        return profile_named(value).of_cluster(spec, stated)
    except UnknownProfile as wrong:
        raise BadChange(str(wrong)) from wrong


def _of_clock(clock: Clock) -> list[Setting]:
    """Return the settings of the clock; an untimed clock has only one."""
    kind, tick = model_settings.CLOCK, model_settings.TICK
    found = [Setting(kind.name, kind.asks, clock.kind, kind.options)]
    if clock.timed:
        found.append(Setting(tick.name, tick.asks, clock.tick, tick.options))
        for switch in SWITCHES:
            now = _word(getattr(clock, switch.field))
            found.append(Setting(switch.name, switch.asks, now, YES_OR_NO))
        for each in BOUNDS:
            bound = getattr(clock, each.field)
            found.append(Setting(each.name, each.asks, FREE if bound < 0 else str(bound)))
    return found


def _of_durations(spec: ClusterSpec) -> Iterator[Setting]:
    """Yield the durations that can start in a cluster with a timed clock, under Kafka's names."""
    for row, _ in occurring(spec) if spec.clock.timed else ():
        setting = row.definition
        if setting.place is Place.DURATIONS:
            asks = f"After how many {setting.unit}: {setting.says} ({setting.name})?"
            yield Setting(setting.field, asks, str(getattr(spec.durations, setting.field)))


def _clock(clock: Clock, name: str, value: str) -> Clock:
    if name == model_settings.CLOCK.name:
        fresh = clock.but(kind=value)
    elif name == model_settings.TICK.name:
        fresh = clock.but(tick=value)
    elif name in [switch.name for switch in SWITCHES]:
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
    if field != EXPLICIT:
        least = 0 if field == TRANSACTION_HEARTBEAT_INTERVAL_MS.field else 1
        return app.but(**{field: _number(name, value, least)})
    return app.but(explicit=_switch(name, value))


def _session(session: SessionSpec, value: str) -> SessionSpec:
    try:
        return session.but(session_timeout_ms=session_timeout(value))
    except ConfigException as wrong:
        raise BadChange(str(wrong)) from wrong


def _usual(name: str, profile: Profile) -> FieldValue:
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
