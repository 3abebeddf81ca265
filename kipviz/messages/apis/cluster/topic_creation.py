"""The APIs that create topics and add partitions to them. Fields and versions: Kafka 4.4.0."""

from __future__ import annotations

from kipviz.messages.apis.api import Api, Role
from kipviz.messages.apis.error_places import ErrorPlace, with_errors
from kipviz.messages.apis.legal_errors import Never, at
from kipviz.messages.apis.rights import CREATE_TOPIC, Need, Operation, Resource
from kipviz.messages.apis.shards import Shard
from kipviz.messages.cluster import topic_creation as model
from kipviz.messages.cluster.topic_configs import DEFAULTS, write_value
from kipviz.messages.errors import Errors
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.decoding import Incoming
from kipviz.messages.wire.kind import Around, Kind, RequestKind
from kipviz.messages.wire.schema import Field, Schema

# No field has the request timeout of InterBrokerSendThread's client: this is the schema's default.
TIMEOUT_MS = 60_000

# DescribeConfigsResponse.ConfigSource
OF_TOPIC, BY_KAFKA = 1, 5
CONTROLLER = Never("the controller is always there", ("NOT_CONTROLLER", "REQUEST_TIMED_OUT"))

CREATE_TOPICS_REQUEST = Schema(
    "CreateTopicsRequest",
    19,
    "2-7",
    "5+",
    (
        Field(
            "Topics",
            "[]CreatableTopic",
            fields=(
                Field("Name", "string"),
                Field("NumPartitions", "int32"),
                Field("ReplicationFactor", "int16"),
                Field(
                    "Assignments",
                    "[]CreatableReplicaAssignment",
                    fields=(Field("PartitionIndex", "int32"), Field("BrokerIds", "[]int32")),
                ),
                Field(
                    "Configs",
                    "[]CreatableTopicConfig",
                    fields=(Field("Name", "string"), Field("Value", "string", nullable="0+")),
                ),
            ),
        ),
        Field("timeoutMs", "int32", default="60000"),
        Field("validateOnly", "bool", "1+", default="false"),
    ),
)

CREATE_TOPICS_RESPONSE = Schema(
    "CreateTopicsResponse",
    19,
    "2-7",
    "5+",
    (
        Field("ThrottleTimeMs", "int32", "2+"),
        Field(
            "Topics",
            "[]CreatableTopicResult",
            fields=(
                Field("Name", "string"),
                Field("TopicId", "uuid", "7+"),
                Field("ErrorCode", "int16"),
                Field("ErrorMessage", "string", "1+", nullable="0+"),
                Field("TopicConfigErrorCode", "int16", "5+", tagged="5+", tag=0),
                Field("NumPartitions", "int32", "5+", default="-1"),
                Field("ReplicationFactor", "int16", "5+", default="-1"),
                Field(
                    "Configs",
                    "[]CreatableTopicConfigs",
                    "5+",
                    fields=(
                        Field("Name", "string", "5+"),
                        Field("Value", "string", "5+", nullable="5+"),
                        Field("ReadOnly", "bool", "5+"),
                        Field("ConfigSource", "int8", "5+", default="-1"),
                        Field("IsSensitive", "bool", "5+"),
                    ),
                    nullable="5+",
                ),
            ),
        ),
    ),
)


CREATE_PARTITIONS_REQUEST = Schema(
    "CreatePartitionsRequest",
    37,
    "0-3",
    "2+",
    (
        Field(
            "Topics",
            "[]CreatePartitionsTopic",
            fields=(
                Field("Name", "string"),
                Field("Count", "int32"),
                Field(
                    "Assignments",
                    "[]CreatePartitionsAssignment",
                    fields=(Field("BrokerIds", "[]int32"),),
                    nullable="0+",
                ),
            ),
        ),
        Field("TimeoutMs", "int32"),
        Field("ValidateOnly", "bool"),
    ),
)

CREATE_PARTITIONS_RESPONSE = Schema(
    "CreatePartitionsResponse",
    37,
    "0-3",
    "2+",
    (
        Field("ThrottleTimeMs", "int32"),
        Field(
            "Results",
            "[]CreatePartitionsTopicResult",
            fields=(
                Field("Name", "string"),
                Field("ErrorCode", "int16"),
                Field("ErrorMessage", "string", default="null", nullable="0+"),
            ),
        ),
    ),
)


def _creatable(topic: model.CreatableTopic) -> Struct:
    return {
        "Name": topic.name,
        "NumPartitions": topic.num_partitions,
        "ReplicationFactor": topic.replication_factor,
        "Assignments": tuple(
            {"PartitionIndex": each.partition_index, "BrokerIds": each.broker_ids}
            for each in topic.assignments
        ),
        "Configs": tuple({"Name": name, "Value": value} for name, value in topic.configs),
    }


def _create(m: model.CreateTopics, _: Around) -> Struct:
    return {
        "Topics": tuple(map(_creatable, m.topics)),
        "timeoutMs": TIMEOUT_MS,
        "validateOnly": m.validate_only,
    }


def _decode_create(fields: Struct, _: Incoming) -> tuple[model.CreateTopics, ...]:
    topics = tuple(
        model.CreatableTopic(
            each["Name"],
            each["NumPartitions"],
            each["ReplicationFactor"],
            tuple(
                model.ReplicaAssignment(given["PartitionIndex"], tuple(given["BrokerIds"]))
                for given in each["Assignments"]
            ),
            tuple((config["Name"], config["Value"]) for config in each["Configs"]),
        )
        for each in fields["Topics"]
    )
    return (model.CreateTopics(topics, fields["validateOnly"]),)


def _fill_result(result: model.CreatableTopicResult) -> Struct:
    fields = {"Name": result.name, "ErrorCode": result.error}
    if result.error:
        return fields | {"ErrorMessage": result.error_message or None, "Configs": ()}
    given = dict(result.configs)
    configs = tuple(
        {
            "Name": name,
            "Value": given.get(name, write_value(default)),
            "ReadOnly": False,
            "ConfigSource": OF_TOPIC if name in given else BY_KAFKA,
            "IsSensitive": False,
        }
        for name, default in DEFAULTS.items()
    )
    return fields | {
        "TopicId": result.topic_id,
        "ErrorMessage": None,
        "NumPartitions": result.num_partitions,
        "ReplicationFactor": result.replication_factor,
        "Configs": configs,
    }


def _encode_response(m: model.CreateTopicsResponse, _: Around) -> Struct:
    return {"Topics": tuple(map(_fill_result, m.topics))}


def _refuse(m: model.CreateTopics, error: Errors) -> model.CreateTopicsResponse:
    return model.CreateTopicsResponse(
        tuple(model.CreatableTopicResult(topic.name, error) for topic in m.topics)
    )


def _add(m: model.CreatePartitions, _: Around) -> Struct:
    topics = (
        {
            "Name": topic.name,
            "Count": topic.count,
            "Assignments": None
            if topic.assignments is None
            else tuple({"BrokerIds": brokers} for brokers in topic.assignments),
        }
        for topic in m.topics
    )
    return {"Topics": tuple(topics), "TimeoutMs": TIMEOUT_MS, "ValidateOnly": m.validate_only}


def _decode_add(fields: Struct, _: Incoming) -> tuple[model.CreatePartitions, ...]:
    topics = tuple(
        model.CreatePartitionsTopic(
            each["Name"],
            each["Count"],
            None
            if each["Assignments"] is None
            else tuple(tuple(given["BrokerIds"]) for given in each["Assignments"]),
        )
        for each in fields["Topics"]
    )
    return (model.CreatePartitions(topics, fields["ValidateOnly"]),)


def _encode_added(m: model.CreatePartitionsResponse, _: Around) -> Struct:
    results = (
        {"Name": r.name, "ErrorCode": r.error, "ErrorMessage": r.error_message or None}
        for r in m.results
    )
    return {"Results": tuple(results)}


def _refuse_partitions(m: model.CreatePartitions, error: Errors) -> model.CreatePartitionsResponse:
    return model.CreatePartitionsResponse(
        tuple(model.CreatePartitionsTopicResult(topic.name, error) for topic in m.topics)
    )


POLICIES = Never("no policy and no quota are configured", ("THROTTLING_QUOTA_EXCEEDED",))

APIS = (
    Api(
        request=model.CreateTopics,
        response=model.CreateTopicsResponse,
        request_bytes=RequestKind(CREATE_TOPICS_REQUEST, _create, decode=_decode_create),
        response_bytes=Kind(CREATE_TOPICS_RESPONSE, _encode_response),
        role=Role.KAFKA_APIS,
        shard=Shard.BROKER,
        needs=(CREATE_TOPIC,),
        refusal=_refuse,
        topics=lambda m: tuple(dict.fromkeys(each.name for each in m.topics)),
        error_place=ErrorPlace(
            first=lambda m: m.topics[0].error if m.topics else Errors.NONE,
            put=lambda m, error: m.but(topics=with_errors(m.topics, error)),
        ),
        errors=(
            at(
                "Topics.ErrorCode",
                Errors.TOPIC_ALREADY_EXISTS,
                Errors.TOPIC_AUTHORIZATION_FAILED,
                Errors.INVALID_REQUEST,
                Errors.INVALID_TOPIC_EXCEPTION,
                Errors.INVALID_PARTITIONS,
                Errors.INVALID_REPLICATION_FACTOR,
                Errors.INVALID_REPLICA_ASSIGNMENT,
                Errors.INVALID_CONFIG,
                Errors.POLICY_VIOLATION,
                Never(
                    "a missing right to the cluster is an error of each topic",
                    ("CLUSTER_AUTHORIZATION_FAILED",),
                ),
                POLICIES,
                CONTROLLER,
            ),
            at(
                "Topics.TopicConfigErrorCode",
                Never("every sender gets the configs", ("TOPIC_AUTHORIZATION_FAILED",)),
            ),
        ),
        clause="KIP-4",
        kafka="ControllerApis.createTopics",
        answer_in="ShareGroupDLQStateManager.ProduceRequestHandler",
        words=("create topics", "topics"),
    ),
    Api(
        request=model.CreatePartitions,
        response=model.CreatePartitionsResponse,
        request_bytes=RequestKind(CREATE_PARTITIONS_REQUEST, _add, decode=_decode_add),
        response_bytes=Kind(CREATE_PARTITIONS_RESPONSE, _encode_added),
        role=Role.KAFKA_APIS,
        shard=Shard.BROKER,
        needs=(
            Need(Operation.ALTER, Resource.TOPIC, "ControllerApis.createPartitions", each=True),
        ),
        refusal=_refuse_partitions,
        topics=lambda m: tuple(dict.fromkeys(each.name for each in m.topics)),
        error_place=ErrorPlace(
            first=lambda m: m.results[0].error if m.results else Errors.NONE,
            put=lambda m, error: m.but(results=with_errors(m.results, error)),
        ),
        errors=(
            at(
                "Results.ErrorCode",
                Errors.TOPIC_AUTHORIZATION_FAILED,
                Errors.UNKNOWN_TOPIC_OR_PARTITION,
                Errors.INVALID_REQUEST,
                Errors.INVALID_PARTITIONS,
                Errors.INVALID_REPLICATION_FACTOR,
                Errors.INVALID_REPLICA_ASSIGNMENT,
                Errors.POLICY_VIOLATION,
                POLICIES,
                CONTROLLER,
            ),
        ),
        clause="KIP-195",
        kafka="ControllerApis.createPartitions",
        answer_in="KafkaAdminClient.getCreatePartitionsCall",
        words=("create partitions", "partitions"),
    ),
)
