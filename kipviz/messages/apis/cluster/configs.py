"""The APIs that describe and change configs. Fields and versions: Kafka 4.4.0."""

from __future__ import annotations

from kipviz.messages.apis.api import Api, Role
from kipviz.messages.apis.cluster.topic_creation import CONTROLLER, POLICIES
from kipviz.messages.apis.error_places import ErrorPlace, with_errors
from kipviz.messages.apis.legal_errors import Never, at
from kipviz.messages.apis.rights import Need, Operation, Resource
from kipviz.messages.apis.shards import Shard
from kipviz.messages.cluster import configs as model
from kipviz.messages.errors import Errors
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.decoding import Incoming
from kipviz.messages.wire.kind import Around, Kind, RequestKind
from kipviz.messages.wire.schema import Field, Schema

DESCRIBE_CONFIGS_REQUEST = Schema(
    "DescribeConfigsRequest",
    32,
    "1-4",
    "4+",
    (
        Field(
            "Resources",
            "[]DescribeConfigsResource",
            fields=(
                Field("ResourceType", "int8"),
                Field("ResourceName", "string"),
                Field("ConfigurationKeys", "[]string", nullable="0+"),
            ),
        ),
        Field("IncludeSynonyms", "bool", "1+", default="false"),
        Field("IncludeDocumentation", "bool", "3+", default="false"),
    ),
)

DESCRIBE_CONFIGS_RESPONSE = Schema(
    "DescribeConfigsResponse",
    32,
    "1-4",
    "4+",
    (
        Field("ThrottleTimeMs", "int32"),
        Field(
            "Results",
            "[]DescribeConfigsResult",
            fields=(
                Field("ErrorCode", "int16"),
                Field("ErrorMessage", "string", nullable="0+"),
                Field("ResourceType", "int8"),
                Field("ResourceName", "string"),
                Field(
                    "Configs",
                    "[]DescribeConfigsResourceResult",
                    fields=(
                        Field("Name", "string"),
                        Field("Value", "string", nullable="0+"),
                        Field("ReadOnly", "bool"),
                        Field("ConfigSource", "int8", "1+", default="-1"),
                        Field("IsSensitive", "bool"),
                        Field(
                            "Synonyms",
                            "[]DescribeConfigsSynonym",
                            "1+",
                            fields=(
                                Field("Name", "string", "1+"),
                                Field("Value", "string", "1+", nullable="0+"),
                                Field("Source", "int8", "1+"),
                            ),
                        ),
                        Field("ConfigType", "int8", "3+", default="0"),
                        Field("Documentation", "string", "3+", nullable="0+"),
                    ),
                ),
            ),
        ),
    ),
)

INCREMENTAL_ALTER_CONFIGS_REQUEST = Schema(
    "IncrementalAlterConfigsRequest",
    44,
    "0-1",
    "1+",
    (
        Field(
            "Resources",
            "[]AlterConfigsResource",
            fields=(
                Field("ResourceType", "int8"),
                Field("ResourceName", "string"),
                Field(
                    "Configs",
                    "[]AlterableConfig",
                    fields=(
                        Field("Name", "string"),
                        Field("ConfigOperation", "int8"),
                        Field("Value", "string", nullable="0+"),
                    ),
                ),
            ),
        ),
        Field("ValidateOnly", "bool"),
    ),
)

INCREMENTAL_ALTER_CONFIGS_RESPONSE = Schema(
    "IncrementalAlterConfigsResponse",
    44,
    "0-1",
    "1+",
    (
        Field("ThrottleTimeMs", "int32"),
        Field(
            "Responses",
            "[]AlterConfigsResourceResponse",
            fields=(
                Field("ErrorCode", "int16"),
                Field("ErrorMessage", "string", nullable="0+"),
                Field("ResourceType", "int8"),
                Field("ResourceName", "string"),
            ),
        ),
    ),
)


def _describe(m: model.DescribeConfigs, _: Around) -> Struct:
    resources = (
        {"ResourceType": r.resource_type, "ResourceName": r.name, "ConfigurationKeys": r.keys}
        for r in m.resources
    )
    return {"Resources": tuple(resources)}


def _decode_describe(fields: Struct, _: Incoming) -> tuple[model.DescribeConfigs, ...]:
    resources = tuple(
        model.DescribeConfigsResource(
            each["ResourceType"],
            each["ResourceName"],
            None if each["ConfigurationKeys"] is None else tuple(each["ConfigurationKeys"]),
        )
        for each in fields["Resources"]
    )
    return (model.DescribeConfigs(resources),)


def _fill_config(config: model.DescribedConfig) -> Struct:
    return {
        "Name": config.name,
        "Value": config.value,
        "ReadOnly": config.read_only,
        "ConfigSource": config.source,
        "IsSensitive": False,
        "Synonyms": (),
        "ConfigType": config.config_type,
        "Documentation": None,
    }


def _encode_described(m: model.DescribeConfigsResponse, _: Around) -> Struct:
    results = (
        {
            "ErrorCode": r.error,
            "ErrorMessage": r.error_message or None,
            "ResourceType": r.resource_type,
            "ResourceName": r.name,
            "Configs": tuple(map(_fill_config, r.configs)),
        }
        for r in m.results
    )
    return {"Results": tuple(results)}


def _alter(m: model.IncrementalAlterConfigs, _: Around) -> Struct:
    resources = (
        {
            "ResourceType": r.resource_type,
            "ResourceName": r.name,
            "Configs": tuple(
                {"Name": c.name, "ConfigOperation": c.config_operation, "Value": c.value}
                for c in r.configs
            ),
        }
        for r in m.resources
    )
    return {"Resources": tuple(resources), "ValidateOnly": m.validate_only}


def _decode_alter(fields: Struct, _: Incoming) -> tuple[model.IncrementalAlterConfigs, ...]:
    resources = tuple(
        model.AlterConfigsResource(
            each["ResourceType"],
            each["ResourceName"],
            tuple(
                model.AlterableConfig(c["Name"], c["ConfigOperation"], c["Value"])
                for c in each["Configs"]
            ),
        )
        for each in fields["Resources"]
    )
    return (model.IncrementalAlterConfigs(resources, fields["ValidateOnly"]),)


def _encode_altered(m: model.IncrementalAlterConfigsResponse, _: Around) -> Struct:
    responses = (
        {
            "ErrorCode": r.error,
            "ErrorMessage": r.error_message or None,
            "ResourceType": r.resource_type,
            "ResourceName": r.name,
        }
        for r in m.responses
    )
    return {"Responses": tuple(responses)}


def _needs(operation: Operation, source: str) -> tuple[Need, ...]:
    """Return the right to each topic, and that to the cluster for a broker: a resource without it has its own error."""
    return tuple(
        Need(operation, resource, source, hides=True)
        for resource in (Resource.TOPIC, Resource.CLUSTER)
    )


OF_OTHERS = Never(
    "groups have no configs that these requests know in the model", ("GROUP_AUTHORIZATION_FAILED",)
)

APIS = (
    Api(
        request=model.DescribeConfigs,
        response=model.DescribeConfigsResponse,
        request_bytes=RequestKind(DESCRIBE_CONFIGS_REQUEST, _describe, decode=_decode_describe),
        response_bytes=Kind(DESCRIBE_CONFIGS_RESPONSE, _encode_described),
        role=Role.KAFKA_APIS,
        shard=Shard.BROKER,
        needs=_needs(Operation.DESCRIBE_CONFIGS, "ConfigHelper"),
        refusal=lambda m, error: model.DescribeConfigsResponse(
            tuple(model.DescribeConfigsResult(r.resource_type, r.name, error) for r in m.resources)
        ),
        error_place=ErrorPlace(
            first=lambda m: m.results[0].error if m.results else Errors.NONE,
            put=lambda m, error: m.but(results=with_errors(m.results, error)),
        ),
        errors=(
            at(
                "Results.ErrorCode",
                Errors.TOPIC_AUTHORIZATION_FAILED,
                Errors.CLUSTER_AUTHORIZATION_FAILED,
                Errors.UNKNOWN_TOPIC_OR_PARTITION,
                Errors.INVALID_TOPIC_EXCEPTION,
                Errors.INVALID_REQUEST,
                OF_OTHERS,
            ),
        ),
        clause="KIP-133",
        kafka="ConfigHelper.describeConfigs",
        answer_in="KafkaAdminClient.describeConfigs",
        words=("describe configs", "configs"),
    ),
    Api(
        request=model.IncrementalAlterConfigs,
        response=model.IncrementalAlterConfigsResponse,
        request_bytes=RequestKind(INCREMENTAL_ALTER_CONFIGS_REQUEST, _alter, decode=_decode_alter),
        response_bytes=Kind(INCREMENTAL_ALTER_CONFIGS_RESPONSE, _encode_altered),
        role=Role.KAFKA_APIS,
        shard=Shard.BROKER,
        needs=_needs(Operation.ALTER_CONFIGS, "ControllerApis"),
        refusal=lambda m, error: model.IncrementalAlterConfigsResponse(
            tuple(
                model.AlterConfigsResourceResponse(r.resource_type, r.name, error)
                for r in m.resources
            )
        ),
        error_place=ErrorPlace(
            first=lambda m: m.responses[0].error if m.responses else Errors.NONE,
            put=lambda m, error: m.but(responses=with_errors(m.responses, error)),
        ),
        errors=(
            at(
                "Responses.ErrorCode",
                Errors.TOPIC_AUTHORIZATION_FAILED,
                Errors.UNKNOWN_TOPIC_OR_PARTITION,
                Errors.INVALID_TOPIC_EXCEPTION,
                Errors.INVALID_REQUEST,
                Errors.INVALID_CONFIG,
                Never("configs of brokers cannot be changed", ("CLUSTER_AUTHORIZATION_FAILED",)),
                OF_OTHERS,
                POLICIES,
                CONTROLLER,
            ),
        ),
        clause="KIP-339",
        kafka="ConfigurationControlManager.incrementalAlterConfigs",
        answer_in="KafkaAdminClient.incrementalAlterConfigs",
        words=("alter configs", "altered"),
    ),
)
