"""The definition of a setting: Kafka's name, type, range and default, where the model keeps it, and its question.

A setting is defined once, as in Kafka's ConfigDef. What else is said of it (limits, defaults, questions, durations,
axes) is derived from its definition.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Generic, TypeAlias, TypeVar

from kipviz.clauses import SHIPPED
from kipviz.core.values import Value

INT32, INT64 = 2**31 - 1, 2**63 - 1
MINUTE_MS = 60_000

T = TypeVar("T", bool, int, str, tuple[str, ...])


class Owner(StrEnum):
    """The process or the thing that is configured with a setting; MODEL is for what Kafka has no setting for."""

    BROKERS = "brokers"
    TOPIC = "topic"
    GROUP = "group"
    CLIENTS = "clients"
    CLIENTS_AND_BROKERS = "clients and brokers"
    PRODUCER = "producer"
    CONSUMER = "consumer"
    SHARE_CONSUMER = "share consumer"
    SESSION = "session"
    MODEL = "model"


class Place(StrEnum):
    """The part of a cluster's spec that has a setting as a field; NOWHERE if the model has Kafka's default only."""

    BROKERS = "BrokerSettings"
    GROUP = "GroupConfig"
    DURATIONS = "Durations"
    APPLICATION = "ApplicationSpec"
    PLAIN = "PlainSpec"
    SESSION = "SessionSpec"
    CLOCK = "Clock"
    CLUSTER = "ClusterSpec"
    NOWHERE = ""


class Type(StrEnum):
    """The type of a setting's value. Source: ConfigDef.Type."""

    BOOLEAN = "boolean"
    INT = "int"
    LONG = "long"
    STRING = "string"
    LIST = "list"

    @property
    def highest(self) -> int:
        """The highest number of this type."""
        return INT64 if self is Type.LONG else INT32

    def parse(self, text: str) -> bool | int | str | tuple[str, ...]:
        """Parse a value of this type, as brokers store it.

        Raises:
            ValueError: if it is not a number, for a type of numbers.
        """
        match self:
            case Type.BOOLEAN:
                return text == "true"
            case Type.INT | Type.LONG:
                return int(text)
            case Type.STRING:
                return text
            case Type.LIST:
                return tuple(each.strip() for each in text.split(",") if each.strip())


class SettingDef(Value, Generic[T], frozen=True):
    """A setting: Kafka's name of it, or the field's name if Kafka has none.

    Attributes:
        name: the name in Kafka's configuration.
        owner: the process or the thing that is configured with it.
        type: the type in Kafka's configuration.
        default: Kafka's default.
        source: the KIP and Kafka's class that define it.
        place: the part of a spec that has it as a field.
        field: the name of that field; "" without one.
        lowest: the lowest number that a spec may have, None if the setting is no number, or has no limit in the model.
        highest: the highest one; None means the highest of its type.
        unit: "ms", "minutes" or "bytes"; "" for a number without a unit.
        here: the default in the model; None means Kafka's.
        asks: the question to which a value is an answer, for a reader who changes it.
        says: what happens when a duration is over; what the number means, for a setting that is no duration.
        options: the values that it can have, each with a phrase; empty if the type says it.
        coded: how the model writes the values, if it does so in another way than Kafka.
        rare: whether it is shown only where it differs from the default: few clusters come near it.
        status: "shipped", "draft" or "our inference".
    """

    name: str
    owner: Owner
    type: Type
    default: T
    source: str
    place: Place = Place.NOWHERE
    field: str = ""
    lowest: int | None = None
    highest: int | None = None
    unit: str = ""
    here: T | None = None
    asks: str = ""
    says: str = ""
    options: tuple[tuple[str, str], ...] = ()
    coded: str = ""
    rare: bool = False
    status: str = SHIPPED

    @property
    def ours(self) -> T:
        """The default in the model."""
        return self.default if self.here is None else self.here

    @property
    def most(self) -> int:
        """The highest number that a spec may have."""
        return self.type.highest if self.highest is None else self.highest

    @property
    def fixed(self) -> tuple[T, str]:
        """Kafka's default and the name: what a request says of a setting that no client of the model changes."""
        return self.default, self.name

    @property
    def is_kafkas(self) -> bool:
        """Whether Kafka, or a draft, has a setting of this name."""
        return self.owner is not Owner.MODEL


AnySetting: TypeAlias = (
    SettingDef[int] | SettingDef[bool] | SettingDef[str] | SettingDef[tuple[str, ...]]
)


def default_ms(setting: SettingDef[int]) -> int:
    """Return Kafka's default of a duration in ms."""
    return setting.default * (MINUTE_MS if setting.unit == "minutes" else 1)
