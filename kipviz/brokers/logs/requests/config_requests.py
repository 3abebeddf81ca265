"""An operator's requests that describe and change the configs of topics and brokers.

WHO: every broker (KafkaApis). It forwards changes to the controller and waits for the response.
WHERE IN KAFKA: ConfigHelper, ConfigAdminManager, ConfigurationControlManager, ControllerConfigurationValidator.
KIPS: KIP-133 (DescribeConfigs), KIP-339 (IncrementalAlterConfigs).
DURABILITY: configs are metadata of the cluster.
NOT MODELLED: configs of groups, loggers and client metrics; changes of brokers' configs, and those brokers' configs for
which the model has no setting that its brokers read; internal topics; synonyms; ELR.
"""

from __future__ import annotations

from collections import Counter

from kipviz.brokers.authorizer import CLUSTER_NAME, allows, principal_of
from kipviz.brokers.checks import Check
from kipviz.brokers.context import Context, Effects, Image, Reply, ReplyTo
from kipviz.brokers.handling import takes
from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.core.model import Event
from kipviz.messages.apis.rights import Operation, Resource
from kipviz.messages.cluster import configs, topic_configs
from kipviz.messages.cluster.configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    DescribeConfigs,
    DescribeConfigsResource,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribedConfig,
    IncrementalAlterConfigs,
    IncrementalAlterConfigsResponse,
)
from kipviz.messages.errors import Errors
from kipviz.messages.events import ConfigsChanged
from kipviz.records.placement import INTERNAL_TOPICS, why_invalid_name
from kipviz.settings import broker_configs
from kipviz.settings.broker_configs import BROKER_CONFIGS
from kipviz.settings.setting_def import Owner, Place, Type
from kipviz.settings.topic_configs import ERRORS_DEADLETTERQUEUE_GROUP_ENABLE, MIN_INSYNC_REPLICAS

UNKNOWN = "This server does not host this topic-partition."
DENIED = {
    Errors.TOPIC_AUTHORIZATION_FAILED: "Topic authorization failed.",
    Errors.CLUSTER_AUTHORIZATION_FAILED: "Cluster authorization failed.",
}
# DescribeConfigsResponse.ConfigType
_TYPES = {Type.BOOLEAN: 1, Type.STRING: 2, Type.INT: 3, Type.LONG: 5, Type.LIST: 7}
# Those that Kafka's brokers can change while they run (DynamicBrokerConfig.ALL_DYNAMIC_CONFIGS).
DYNAMIC = (
    broker_configs.GROUP_CONSUMER_ASSIGNMENT_INTERVAL_MS.name,
    broker_configs.LOG_RETENTION_MS.name,
    broker_configs.TRANSACTION_PARTITION_VERIFICATION_ENABLE.name,
)


class ConfigRefusedError(Exception):
    """Why configs are not told or changed: the error, and Kafka's sentence about it."""

    def __init__(self, error: Errors, why: str = "") -> None:
        super().__init__(why)
        self.error = error
        self.why = why


def own_configs(image: Image, topic: str) -> topic_configs.Configs:
    """Return the configs that a topic has of its own; those of a cluster's spec are among them."""
    own = dict(image.min_insync_replicas)
    found = {MIN_INSYNC_REPLICAS.name: str(own[topic])} if topic in own else {}
    if topic in image.dead_letter_topics:
        found[ERRORS_DEADLETTERQUEUE_GROUP_ENABLE.name] = topic_configs.write_value(True)
    return tuple((found | dict(dict(image.topic_configs).get(topic, ()))).items())


# -- description -----------------------------------------------------------------------------------


@takes(DescribeConfigs)
def on_describe_configs(
    me: KafkaApis, request: DescribeConfigs, reply_to: ReplyTo, on: Context
) -> Effects[KafkaApis]:
    """Return the configs of topics and of this broker.

    WHEN: an operator asks. CHECKS: DESCRIBE_CONFIGS on each topic, or on the cluster for a broker; that the topic exists,
    or that the broker is this one. DOES: nothing. ANSWERS: at once, with a result for each.
    Clause: KIP-133; ConfigHelper.describeConfigs.
    """
    results = []
    for each in request.resources:
        try:
            _check_right(Operation.DESCRIBE_CONFIGS, each.resource_type, each.name, reply_to, on)
            found = _describe(each, on)
        except ConfigRefusedError as refused:
            results.append(
                DescribeConfigsResult(
                    each.resource_type, each.name, refused.error, error_message=refused.why
                )
            )
        else:
            wanted = tuple(c for c in found if not each.keys or c.name in each.keys)
            results.append(DescribeConfigsResult(each.resource_type, each.name, configs=wanted))
    checks = tuple(_check(r.name, r.error, reply_to) for r in results)
    answer = Reply(reply_to, DescribeConfigsResponse(tuple(results)))
    return Effects(me, replies=(answer,), checks=checks)


def _describe(each: DescribeConfigsResource, on: Context) -> tuple[DescribedConfig, ...]:
    """Return all configs of a resource.

    Raises:
        ConfigRefusedError: if there is no such resource here.
    """
    if each.resource_type == configs.OF_BROKER:
        return _describe_broker(each.name, on)
    _check_topic(each.name, on)
    own = dict(own_configs(on.image, each.name))
    return tuple(
        DescribedConfig(
            name,
            own.get(name, topic_configs.write_value(default)),
            configs.BY_TOPIC if name in own else configs.BY_KAFKA,
            topic_configs.type_of(name),
        )
        for name, default in topic_configs.DEFAULTS.items()
    )


def _describe_broker(name: str, on: Context) -> tuple[DescribedConfig, ...]:
    if not name:
        return ()  # the dynamic defaults of the cluster: there are none
    if not name.removeprefix("-").isdecimal():
        why = f"Broker id must be an integer, but it is: {name}"
        raise ConfigRefusedError(Errors.INVALID_REQUEST, why)
    if int(name) != on.broker:
        why = f"Unexpected broker id, expected {on.broker} or empty string, but received {name}"
        raise ConfigRefusedError(Errors.INVALID_REQUEST, why)
    found = []
    for setting in BROKER_CONFIGS:
        if setting.owner is not Owner.BROKERS or setting.place not in (
            Place.BROKERS,
            Place.NOWHERE,
        ):
            continue
        value = getattr(on.settings, setting.field) if setting.field else setting.default
        source = configs.BY_KAFKA if value == setting.default else configs.BY_BROKER
        written = ",".join(value) if isinstance(value, tuple) else topic_configs.write_value(value)
        fixed = setting.name not in DYNAMIC
        found.append(DescribedConfig(setting.name, written, source, _TYPES[setting.type], fixed))
    return tuple(sorted(found, key=lambda config: config.name))


# -- changes ---------------------------------------------------------------------------------------


@takes(IncrementalAlterConfigs)
def on_incremental_alter_configs(
    me: KafkaApis, request: IncrementalAlterConfigs, reply_to: ReplyTo, on: Context
) -> Effects[KafkaApis]:
    """Change configs of topics: all changes of a topic are made, or none of them.

    WHEN: an operator changes them. CHECKS: that each resource and each config is named once, that a change has a value,
    ALTER_CONFIGS on the topic, the resulting configs, and that the topic exists. No config of a broker can be changed
    here. DOES: passes the request to the controller; leaders apply new configs at once. ANSWERS: with a result for each.
    Clause: KIP-339; ConfigAdminManager.preprocess, ConfigurationControlManager.incrementalAlterConfigs.
    """
    counts = Counter((each.resource_type, each.name) for each in request.resources)
    results, changed = [], []
    for each in request.resources:
        result = AlterConfigsResourceResponse(each.resource_type, each.name)
        try:
            if counts[each.resource_type, each.name] > 1:
                why = "Each resource must appear at most once."
                raise ConfigRefusedError(Errors.INVALID_REQUEST, why)
            _check_changes(each)
            _check_right(Operation.ALTER_CONFIGS, each.resource_type, each.name, reply_to, on)
            after = _change(each, on)
        except ConfigRefusedError as refused:
            result = result.but(error=refused.error, error_message=refused.why)
        else:
            if after != own_configs(on.image, each.name) and not request.validate_only:
                changed.append((each.name, after))
        results.append(result)
    checks = tuple(_check(r.name, r.error, reply_to) for r in results)
    events: tuple[Event, ...] = tuple(ConfigsChanged(topic, after) for topic, after in changed)
    answer = Reply(reply_to, IncrementalAlterConfigsResponse(tuple(results)))
    return Effects(me, replies=(answer,), events=events, configs=tuple(changed), checks=checks)


def _check_changes(each: AlterConfigsResource) -> None:
    """Check the form of a resource's changes.

    Raises:
        ConfigRefusedError: if the receiver does not forward them. Source: ConfigAdminManager.preprocess.
    """
    names = [config.name for config in each.configs]
    nulls = [
        c.name for c in each.configs if c.config_operation != configs.DELETE and c.value is None
    ]
    why = ""
    if len(set(names)) < len(names):
        why = "Error due to duplicate config keys"
    elif nulls:
        why = f"Null value not supported for : {', '.join(nulls)}"
    elif any(not configs.SET <= c.config_operation <= configs.SUBTRACT for c in each.configs):
        why = "Unknown operations type"
    elif each.resource_type == configs.OF_BROKER:
        why = f"Cannot update these configs dynamically: {', '.join(names)}"
    if why:
        raise ConfigRefusedError(Errors.INVALID_REQUEST, why)


def _change(each: AlterConfigsResource, on: Context) -> topic_configs.Configs:
    """Return the configs of a topic after the changes.

    Raises:
        ConfigRefusedError: if they are not made. Source: ConfigurationControlManager.incrementalAlterConfigResource.
    """
    now = dict(own_configs(on.image, each.name))
    for config in each.configs:
        # A deletion has no value, whatever the request carries: Java's admin client sends an empty one.
        name = config.name
        value = None if config.config_operation == configs.DELETE else config.value
        if config.config_operation in (configs.APPEND, configs.SUBTRACT):
            value = _change_list(now.get(name), name, value or "", config.config_operation)
        if value is None:
            now.pop(name, None)
        else:
            now[name] = value
    if not each.name:
        why = "Default topic resources are not allowed."
        raise ConfigRefusedError(Errors.INVALID_REQUEST, why)
    _check_name(each.name)
    if why := topic_configs.why_invalid(tuple(now.items())):
        raise ConfigRefusedError(Errors.INVALID_CONFIG, why)
    _check_topic(each.name, on)
    return tuple(now.items())


def _change_list(now: str | None, name: str, value: str, operation: int) -> str:
    if name not in topic_configs.LISTS:
        verb = "APPEND" if operation == configs.APPEND else "SUBTRACT"
        why = f"Can't {verb} to key {name} because its type is not LIST."
        raise ConfigRefusedError(Errors.INVALID_CONFIG, why)
    written = topic_configs.write_value(topic_configs.DEFAULTS[name]) if now is None else now
    parts = [part for part in written.split(",") if part]
    for part in value.split(","):
        if operation == configs.APPEND and part not in parts:
            parts.append(part)
        elif operation == configs.SUBTRACT and part in parts:
            parts.remove(part)
    return ",".join(parts)


# -- both ------------------------------------------------------------------------------------------


def _check_right(
    operation: Operation, resource_type: int, name: str, reply_to: ReplyTo, on: Context
) -> None:
    """Check a right to a resource.

    Raises:
        ConfigRefusedError: if the sender lacks it, or the model knows no such resources.
    """
    if resource_type == configs.OF_TOPIC:
        resource, error = Resource.TOPIC, Errors.TOPIC_AUTHORIZATION_FAILED
    elif resource_type == configs.OF_BROKER:
        resource, error, name = Resource.CLUSTER, Errors.CLUSTER_AUTHORIZATION_FAILED, CLUSTER_NAME
    else:
        why = f"Unsupported resource type: {resource_type}"
        raise ConfigRefusedError(Errors.INVALID_REQUEST, why)
    if not allows(on.image.acls, reply_to.source, operation, resource, name):
        raise ConfigRefusedError(error, DENIED[error])


def _check_topic(topic: str, on: Context) -> None:
    """Check that a topic has configs that are known.

    Raises:
        ConfigRefusedError: if not.
    """
    _check_name(topic)
    if topic in INTERNAL_TOPICS:
        why = f"{topic} is an internal topic: the model does not know its configs."
        raise ConfigRefusedError(Errors.INVALID_REQUEST, why)
    if topic not in on.image.topic_ids:
        raise ConfigRefusedError(Errors.UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN)


def _check_name(topic: str) -> None:
    """Check that a topic could have a name.

    Raises:
        ConfigRefusedError: if none can.
    """
    if wrong := why_invalid_name(topic):
        why = f"Topic name is invalid: {wrong}"
        raise ConfigRefusedError(Errors.INVALID_TOPIC_EXCEPTION, why)


def _check(name: str, error: Errors, reply_to: ReplyTo) -> Check:
    if error in DENIED:
        return Check("rights", principal_of(reply_to.source), False, error)
    return Check("resource there", name, not error, error)
