"""The table of all settings, and what is looked up in it."""

from __future__ import annotations

from kipviz.settings.broker_configs import BROKER_CONFIGS
from kipviz.settings.client_configs import CLIENT_CONFIGS
from kipviz.settings.consumer_configs import CONSUMER_CONFIGS
from kipviz.settings.model_settings import MODEL_SETTINGS
from kipviz.settings.setting_def import AnySetting, Place
from kipviz.settings.topic_configs import GROUP_CONFIGS, TOPIC_CONFIGS

SETTINGS: tuple[AnySetting, ...] = (
    *BROKER_CONFIGS,
    *TOPIC_CONFIGS,
    *GROUP_CONFIGS,
    *CLIENT_CONFIGS,
    *CONSUMER_CONFIGS,
    *MODEL_SETTINGS,
)


def settings_in(place: Place) -> tuple[AnySetting, ...]:
    """Return the settings that one part of a cluster's spec has as fields, in the order of the table."""
    return tuple(each for each in SETTINGS if each.place is place)


def setting_in(place: Place, field: str) -> AnySetting:
    """Return the setting that is a field of one part of a cluster's spec.

    Raises:
        KeyError: if that field is no setting.
    """
    found = next((each for each in settings_in(place) if each.field == field), None)
    if found is None:
        raise KeyError(f"{place.value}.{field} is no setting")
    return found
