"""Every setting is defined once and completely, and what is derived from the definitions lacks none."""

from __future__ import annotations

from collections import Counter
from types import ModuleType
from typing import Any

import msgspec
import pytest

from kipviz.brokers.settings import BrokerSettings, GroupConfig
from kipviz.checking.timed.axes import OWN
from kipviz.checking.timed.axes import SETTINGS as AXES
from kipviz.cluster.specs import spec_limits
from kipviz.cluster.specs.kafka_defaults import DEFAULT, DEFAULT_NUMBER
from kipviz.cluster.specs.spec import (
    ApplicationSpec,
    ClusterSpec,
    Durations,
    PlainSpec,
    SessionSpec,
)
from kipviz.cluster.timing.clock import Clock
from kipviz.cluster.timing.durations import DURATIONS
from kipviz.recordings.decoded.group_configs import GROUP_SETTINGS
from kipviz.scenarios.setting_changes import KAFKA_NAMES, OF_BROKERS
from kipviz.settings import (
    broker_configs,
    client_configs,
    consumer_configs,
    model_settings,
    topic_configs,
)
from kipviz.settings.setting_def import AnySetting, Owner, Place, SettingDef, Type
from kipviz.settings.table import SETTINGS, setting_in, settings_in

ROOMS: tuple[ModuleType, ...] = (
    broker_configs,
    topic_configs,
    client_configs,
    consumer_configs,
    model_settings,
)
CLASSES: dict[Place, type[Any]] = {
    Place.BROKERS: BrokerSettings,
    Place.GROUP: GroupConfig,
    Place.DURATIONS: Durations,
    Place.APPLICATION: ApplicationSpec,
    Place.PLAIN: PlainSpec,
    Place.SESSION: SessionSpec,
    Place.CLOCK: Clock,
    Place.CLUSTER: ClusterSpec,
}
# In these every field is a setting, except a group's name.
WHOLE = (Place.BROKERS, Place.GROUP, Place.DURATIONS, Place.CLOCK)
UNITS = {"ms": "ms", "minutes": "minutes", "bytes": "bytes"}
# What a spec has where the default depends on the other fields (`kafka_defaults`).
UNSET = (DEFAULT, DEFAULT_NUMBER)


def names(setting: AnySetting) -> str:
    return f"{setting.owner}:{setting.name}"


def constants() -> dict[str, AnySetting]:
    return {
        f"{room.__name__}.{name}": value
        for room in ROOMS
        for name, value in vars(room).items()
        if isinstance(value, SettingDef)
    }


def test_the_table_has_every_definition_once() -> None:
    assert Counter(map(names, SETTINGS)) == Counter(map(names, constants().values()))
    assert max(Counter(map(names, SETTINGS)).values()) == 1


def test_a_constant_has_the_name_of_its_setting() -> None:
    wrong = {
        place: setting.name
        for place, setting in constants().items()
        if place.rpartition(".")[2] != setting.name.replace(".", "_").upper()
    }
    assert wrong == {}


@pytest.mark.parametrize("setting", SETTINGS, ids=names)
def test_a_definition_is_complete(setting: AnySetting) -> None:
    assert setting.source
    assert setting.asks or setting.says, "say what it does, or ask what it is set to"
    assert setting.asks.endswith("?") or not setting.asks
    assert not setting.says.endswith(".")
    ending = setting.name.replace("_", ".").rpartition(".")[2]
    if setting.type in (Type.INT, Type.LONG):
        assert setting.unit == UNITS.get(ending, setting.unit), "the name says its unit"
    kinds = {Type.BOOLEAN: bool, Type.INT: int, Type.LONG: int, Type.STRING: str, Type.LIST: tuple}
    assert type(setting.default) is kinds[setting.type]
    assert (setting.place is Place.NOWHERE) == (not setting.field) or not setting.is_kafkas
    if setting.owner is Owner.MODEL:
        assert "." not in setting.name
    if setting.options:
        assert setting.default in dict(setting.options)


@pytest.mark.parametrize("setting", [s for s in SETTINGS if s.place in CLASSES], ids=names)
def test_the_default_of_a_spec_is_that_of_the_table(setting: AnySetting) -> None:
    fields = {field.name: field for field in msgspec.structs.fields(CLASSES[setting.place])}
    field = fields[setting.field]
    if setting.coded or field.default is msgspec.NODEFAULT or field.default in UNSET:
        return
    assert (type(field.default), field.default) == (type(setting.ours), setting.ours)


@pytest.mark.parametrize("place", WHOLE)
def test_every_field_that_is_set_has_a_definition(place: Place) -> None:
    fields = set(CLASSES[place].__struct_fields__) - {"group_id"}
    assert {each.field for each in settings_in(place)} == fields
    assert all(setting_in(place, field).field == field for field in fields)


@pytest.mark.parametrize("place", CLASSES)
def test_a_number_in_a_spec_has_a_range_that_its_default_is_in(place: Place) -> None:
    for setting in settings_in(place):
        if setting.type in (Type.INT, Type.LONG) and setting.lowest is not None:
            assert setting.lowest <= setting.most <= setting.type.highest
            assert isinstance(setting.default, int)
            # A default of the model that is out of it means another's: 0 is the brokers' limit of a group.
            assert setting.lowest <= setting.default <= setting.most
    if place in (Place.BROKERS, Place.GROUP, Place.DURATIONS):
        numbers = [s for s in settings_in(place) if s.type in (Type.INT, Type.LONG)]
        assert all(setting.lowest is not None for setting in numbers)


def test_what_is_unknown_is_refused() -> None:
    with pytest.raises(KeyError, match=r"Durations\.nothing is no setting"):
        setting_in(Place.DURATIONS, "nothing")


# -- what is derived ------------------------------------------------------------------------------


def test_every_limit_is_that_of_a_definition() -> None:
    for place, limits in (
        (Place.BROKERS, spec_limits.OF_BROKERS),
        (Place.GROUP, spec_limits.OF_GROUPS),
        (Place.APPLICATION, spec_limits.OF_APPLICATIONS),
    ):
        for field, limit in limits.items():
            setting = setting_in(place, field)
            assert (limit.lowest, limit.highest) == (setting.lowest, setting.most)


def test_every_duration_that_a_cluster_has_is_a_duration_of_the_timed_clock() -> None:
    """A number in ms of which the table says what happens when it is over; limits of others are none."""
    over = {
        setting.name
        for setting in SETTINGS
        if setting.is_kafkas and setting.place is not Place.NOWHERE
        if setting.unit in ("ms", "minutes") and setting.says
    }
    assert over == {row.setting for row in DURATIONS}


def test_every_axis_has_a_meaning() -> None:
    assert all(AXES.values())
    assert set(OWN) <= set(AXES)


def test_brokers_are_asked_about_all_that_can_be_set() -> None:
    asked = {each.field for each in settings_in(Place.BROKERS) if each.asks}
    assert set(OF_BROKERS) == asked
    assert asked == set(BrokerSettings.__struct_fields__) - {"targets_wait"}


def test_a_setting_of_brokers_is_changed_by_kafkas_name() -> None:
    for setting in (*settings_in(Place.BROKERS), *settings_in(Place.DURATIONS)):
        assert (KAFKA_NAMES.get(setting.name) == setting.field) == setting.is_kafkas


def test_the_settings_of_a_group_are_read_from_a_log() -> None:
    assert {field for field, _ in GROUP_SETTINGS.values()} == {
        setting.field for setting in settings_in(Place.GROUP)
    }
    read = {name: parse for name, (_, parse) in GROUP_SETTINGS.items()}
    assert read["share.delivery.count.limit"]("7") == 7
    assert read["share.renew.acknowledge.enable"]("false") is False
    with pytest.raises(ValueError, match="x"):
        read["share.delivery.count.limit"]("x")


def test_a_list_is_read_as_brokers_store_it() -> None:
    assert Type.LIST.parse("range, cooperative-sticky") == ("range", "cooperative-sticky")
    assert Type.STRING.parse("a, b") == "a, b"
