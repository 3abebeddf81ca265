"""DescribeConfigs and IncrementalAlterConfigs: an operator reads and changes the configs of topics and brokers."""

from __future__ import annotations

from typing import ClassVar

from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message

# What has configs (ConfigResource.Type), and where a value is from (DescribeConfigsResponse.ConfigSource).
OF_TOPIC, OF_BROKER = 2, 4
BY_TOPIC, BY_BROKER, BY_KAFKA = 1, 4, 5
# What is done with a config (AlterConfigOp.OpType).
SET, DELETE, APPEND, SUBTRACT = range(4)


class DescribeConfigsResource(Value, frozen=True):
    """A topic or broker whose configs are asked for; `keys` are the names of those, None or none at all for every one."""

    resource_type: int
    name: str
    keys: tuple[str, ...] | None = None


class DescribeConfigs(Message, frozen=True):
    """A request for configs.

    NOT MODELLED: synonyms and documentation; groups, loggers and client metrics.
    """

    API_KEY: ClassVar[int] = 32
    VERSION: ClassVar[int] = 4
    resources: tuple[DescribeConfigsResource, ...]


class DescribedConfig(Value, frozen=True):
    """One config: its value as text, where that is from, its type (ConfigType), and whether it can be changed."""

    name: str
    value: str
    source: int
    config_type: int
    read_only: bool = False


class DescribeConfigsResult(Value, frozen=True):
    """The configs of one resource, or an error with Kafka's sentence about it."""

    resource_type: int
    name: str
    error: Errors = Errors.NONE
    configs: tuple[DescribedConfig, ...] = ()
    error_message: str = ""


class DescribeConfigsResponse(Message, frozen=True):
    """The configs of each resource."""

    API_KEY: ClassVar[int] = 32
    VERSION: ClassVar[int] = 4
    IS_RESPONSE: ClassVar[bool] = True
    results: tuple[DescribeConfigsResult, ...]


class AlterableConfig(Value, frozen=True):
    """A change of one config: set, delete, or append to or subtract from a list; a deletion has no value."""

    name: str
    config_operation: int
    value: str | None = None


class AlterConfigsResource(Value, frozen=True):
    """A topic or broker, and the changes of its configs: all of them are made, or none."""

    resource_type: int
    name: str
    configs: tuple[AlterableConfig, ...]


class IncrementalAlterConfigs(Message, frozen=True):
    """A request to change configs; with `validate_only` the response only says whether they would be changed.

    NOT MODELLED: that its receiver forwards it to the controller.
    """

    API_KEY: ClassVar[int] = 44
    VERSION: ClassVar[int] = 1
    IF_USED: ClassVar[tuple[str, ...]] = ("validate_only",)
    resources: tuple[AlterConfigsResource, ...]
    validate_only: bool = False


class AlterConfigsResourceResponse(Value, frozen=True):
    """Whether the configs of one resource were changed; `error_message` is Kafka's sentence about an error."""

    resource_type: int
    name: str
    error: Errors = Errors.NONE
    error_message: str = ""


class IncrementalAlterConfigsResponse(Message, frozen=True):
    """Whose configs were changed."""

    API_KEY: ClassVar[int] = 44
    VERSION: ClassVar[int] = 1
    IS_RESPONSE: ClassVar[bool] = True
    responses: tuple[AlterConfigsResourceResponse, ...]
