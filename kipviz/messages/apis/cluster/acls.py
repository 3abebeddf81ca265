"""The APIs of access control lists (KIP-140). Fields and versions: Kafka 4.4.0."""

from __future__ import annotations

from itertools import groupby

from kipviz.messages.apis.api import Api, Role
from kipviz.messages.apis.error_places import ErrorPlace, with_errors
from kipviz.messages.apis.legal_errors import UNEXPECTED, WELL_FORMED, at
from kipviz.messages.apis.rights import Need, Operation, Resource
from kipviz.messages.apis.shards import Shard
from kipviz.messages.cluster import acls as model
from kipviz.messages.errors import Errors
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.decoding import Incoming, NotModelledError
from kipviz.messages.wire.kind import Around, Kind, RequestKind
from kipviz.messages.wire.schema import Field, Schema

# The numbers of AclOperation, ResourceType, PatternType and AclPermissionType; 1 is "any" in a filter.
ANY = 1
OPERATIONS = {
    Operation.READ.value: 3,
    Operation.WRITE.value: 4,
    Operation.DELETE.value: 6,
    Operation.ALTER.value: 7,
    Operation.DESCRIBE.value: 8,
    Operation.CLUSTER_ACTION.value: 9,
    Operation.DESCRIBE_CONFIGS.value: 10,
    Operation.ALTER_CONFIGS.value: 11,
    Operation.IDEMPOTENT_WRITE.value: 12,
    Operation.TWO_PHASE_COMMIT.value: 15,
}
RESOURCES = {"TOPIC": 2, "GROUP": 3, "CLUSTER": 4, "TRANSACTIONAL_ID": 5}
PATTERNS = {model.ANY: ANY, model.MATCH: 2, model.LITERAL: 3, model.PREFIXED: 4}
DENY, ALLOW = 2, 3
# The same mapping, inverted.
OPERATION_NAMES = {number: name for name, number in OPERATIONS.items()}
RESOURCE_NAMES = {number: name for name, number in RESOURCES.items()}
PATTERN_NAMES = {number: name for name, number in PATTERNS.items()}
EVERY_HOST = "*"

_FILTER = (
    Field("ResourceTypeFilter", "int8"),
    Field("ResourceNameFilter", "string", nullable="0+"),
    Field("PatternTypeFilter", "int8", "1+", default="3"),
    Field("PrincipalFilter", "string", nullable="0+"),
    Field("HostFilter", "string", nullable="0+"),
    Field("Operation", "int8"),
    Field("PermissionType", "int8"),
)
_ENTRY = (
    Field("Principal", "string"),
    Field("Host", "string"),
    Field("Operation", "int8"),
    Field("PermissionType", "int8"),
)
_ERROR = (
    Field("ErrorCode", "int16"),
    Field("ErrorMessage", "string", nullable="0+"),
)

DESCRIBE_ACLS_REQUEST = Schema("DescribeAclsRequest", 29, "1-3", "2+", _FILTER)
DESCRIBE_ACLS_RESPONSE = Schema(
    "DescribeAclsResponse",
    29,
    "1-3",
    "2+",
    (
        Field("ThrottleTimeMs", "int32"),
        *_ERROR,
        Field(
            "Resources",
            "[]DescribeAclsResource",
            fields=(
                Field("ResourceType", "int8"),
                Field("ResourceName", "string"),
                Field("PatternType", "int8", "1+", default="3"),
                Field("Acls", "[]AclDescription", fields=_ENTRY),
            ),
        ),
    ),
)
CREATE_ACLS_REQUEST = Schema(
    "CreateAclsRequest",
    30,
    "1-3",
    "2+",
    (
        Field(
            "Creations",
            "[]AclCreation",
            fields=(
                Field("ResourceType", "int8"),
                Field("ResourceName", "string"),
                Field("ResourcePatternType", "int8", "1+", default="3"),
                *_ENTRY,
            ),
        ),
    ),
)
CREATE_ACLS_RESPONSE = Schema(
    "CreateAclsResponse",
    30,
    "1-3",
    "2+",
    (Field("ThrottleTimeMs", "int32"), Field("Results", "[]AclCreationResult", fields=_ERROR)),
)
DELETE_ACLS_REQUEST = Schema(
    "DeleteAclsRequest", 31, "1-3", "2+", (Field("Filters", "[]DeleteAclsFilter", fields=_FILTER),)
)
DELETE_ACLS_RESPONSE = Schema(
    "DeleteAclsResponse",
    31,
    "1-3",
    "2+",
    (
        Field("ThrottleTimeMs", "int32"),
        Field(
            "FilterResults",
            "[]DeleteAclsFilterResult",
            fields=(
                *_ERROR,
                Field(
                    "MatchingAcls",
                    "[]DeleteAclsMatchingAcl",
                    fields=(
                        *_ERROR,
                        Field("ResourceType", "int8"),
                        Field("ResourceName", "string"),
                        Field("PatternType", "int8", "1+", default="3"),
                        *_ENTRY,
                    ),
                ),
            ),
        ),
    ),
)


def _filter(m: model.AclFilter) -> Struct:
    allow = {None: ANY, True: ALLOW, False: DENY}
    return {
        "ResourceTypeFilter": RESOURCES.get(m.resource, ANY),
        "ResourceNameFilter": m.name or None,
        "PatternTypeFilter": PATTERNS[m.pattern],
        "PrincipalFilter": m.principal or None,
        "HostFilter": None,
        "Operation": OPERATIONS.get(m.operation, ANY),
        "PermissionType": allow[m.allow],
    }


def _decode_filter(fields: Struct) -> model.AclFilter:
    try:
        return model.AclFilter(
            _name_any(RESOURCE_NAMES, fields["ResourceTypeFilter"]),
            fields["ResourceNameFilter"] or "",
            PATTERN_NAMES[fields.get("PatternTypeFilter", PATTERNS[model.LITERAL])],
            fields["PrincipalFilter"] or "",
            _name_any(OPERATION_NAMES, fields["Operation"]),
            {ANY: None, ALLOW: True, DENY: False}[fields["PermissionType"]],
        )
    except KeyError as number:
        raise NotModelledError(
            f"a filter of ACLs has the number {number}, which the model lacks"
        ) from None


def _name_any(names: dict[int, str], number: int) -> str:
    return "" if number == ANY else names[number]


def _entry(m: model.AclEntry) -> Struct:
    return {
        "Principal": m.principal,
        "Host": EVERY_HOST,
        "Operation": OPERATIONS[m.operation],
        "PermissionType": ALLOW if m.allow else DENY,
    }


def _describe(m: model.DescribeAcls, _: Around) -> Struct:
    return _filter(m.filter)


def _decode_describe(fields: Struct, _: Incoming) -> tuple[model.DescribeAcls, ...]:
    return (model.DescribeAcls(_decode_filter(fields)),)


def _encode_described(m: model.DescribeAclsResponse, _: Around) -> Struct:
    def of(acl: model.AclEntry) -> tuple[str, str, str]:
        return acl.resource, acl.name, acl.pattern

    resources = tuple(
        {
            "ResourceType": RESOURCES[resource],
            "ResourceName": name,
            "PatternType": PATTERNS[pattern],
            "Acls": tuple(map(_entry, acls)),
        }
        for (resource, name, pattern), acls in groupby(sorted(m.acls, key=of), key=of)
    )
    return {"ErrorCode": m.error, "Resources": resources}


def _create(m: model.CreateAcls, _: Around) -> Struct:
    creations = tuple(
        {
            "ResourceType": RESOURCES[acl.resource],
            "ResourceName": acl.name,
            "ResourcePatternType": PATTERNS[acl.pattern],
            **_entry(acl),
        }
        for acl in m.acls
    )
    return {"Creations": creations}


def _decode_create(fields: Struct, _: Incoming) -> tuple[model.CreateAcls, ...]:
    try:
        acls = tuple(
            model.AclEntry(
                RESOURCE_NAMES[each["ResourceType"]],
                each["ResourceName"],
                PATTERN_NAMES[each.get("ResourcePatternType", PATTERNS[model.LITERAL])],
                each["Principal"],
                OPERATION_NAMES[each["Operation"]],
                {ALLOW: True, DENY: False}[each["PermissionType"]],
            )
            for each in fields["Creations"]
        )
    except KeyError as number:
        raise NotModelledError(f"an ACL has the number {number}, which the model lacks") from None
    return (model.CreateAcls(acls),)


def _encode_created(m: model.CreateAclsResponse, _: Around) -> Struct:
    return {"Results": tuple({"ErrorCode": error} for error in m.errors)}


def _delete(m: model.DeleteAcls, _: Around) -> Struct:
    return {"Filters": tuple(map(_filter, m.filters))}


def _decode_delete(fields: Struct, _: Incoming) -> tuple[model.DeleteAcls, ...]:
    return (model.DeleteAcls(tuple(map(_decode_filter, fields["Filters"]))),)


def _encode_deleted(m: model.DeleteAclsResponse, _: Around) -> Struct:
    def matching(acl: model.AclEntry) -> Struct:
        return {
            "ErrorCode": 0,
            "ResourceType": RESOURCES[acl.resource],
            "ResourceName": acl.name,
            "PatternType": PATTERNS[acl.pattern],
            **_entry(acl),
        }

    results = tuple(
        {"ErrorCode": r.error, "MatchingAcls": tuple(map(matching, r.acls))} for r in m.deleted
    )
    return {"FilterResults": results}


APIS = (
    Api(
        request=model.DescribeAcls,
        response=model.DescribeAclsResponse,
        request_bytes=RequestKind(DESCRIBE_ACLS_REQUEST, _describe, decode=_decode_describe),
        response_bytes=Kind(DESCRIBE_ACLS_RESPONSE, _encode_described),
        role=Role.KAFKA_APIS,
        shard=Shard.ANY,
        needs=(Need(Operation.DESCRIBE, Resource.CLUSTER, "AclApis"),),
        refusal=lambda _, error: model.DescribeAclsResponse(error),
        errors=(
            at(
                "ErrorCode",
                Errors.SECURITY_DISABLED,
                Errors.CLUSTER_AUTHORIZATION_FAILED,
            ),
        ),
        clause="KIP-140 DescribeAcls",
        kafka="AclApis",
        answer_in="KafkaAdminClient",
        words=("list ACLs", "ACLs"),
        admin_retries=(),
    ),
    Api(
        request=model.CreateAcls,
        response=model.CreateAclsResponse,
        request_bytes=RequestKind(CREATE_ACLS_REQUEST, _create, decode=_decode_create),
        response_bytes=Kind(CREATE_ACLS_RESPONSE, _encode_created),
        role=Role.KAFKA_APIS,
        shard=Shard.ANY,
        needs=(Need(Operation.ALTER, Resource.CLUSTER, "AclApis"),),
        refusal=lambda m, error: model.CreateAclsResponse(tuple(error for _ in m.acls)),
        errors=(
            at(
                "Results.ErrorCode",
                Errors.SECURITY_DISABLED,
                Errors.INVALID_REQUEST,
                Errors.CLUSTER_AUTHORIZATION_FAILED,
                UNEXPECTED,
            ),
        ),
        error_place=ErrorPlace(put=lambda m, error: m.but(errors=tuple(error for _ in m.errors))),
        clause="KIP-11 ACLs; KIP-140 CreateAcls",
        kafka="AclControlManager.createAcls, StandardAuthorizer",
        answer_in="KafkaAdminClient",
        words=("create ACLs", "created"),
        admin_retries=(),
    ),
    Api(
        request=model.DeleteAcls,
        response=model.DeleteAclsResponse,
        request_bytes=RequestKind(DELETE_ACLS_REQUEST, _delete, decode=_decode_delete),
        response_bytes=Kind(DELETE_ACLS_RESPONSE, _encode_deleted),
        role=Role.KAFKA_APIS,
        shard=Shard.ANY,
        needs=(Need(Operation.ALTER, Resource.CLUSTER, "AclApis"),),
        refusal=lambda m, error: model.DeleteAclsResponse(
            tuple(model.DeletedByFilter(error) for _ in m.filters)
        ),
        errors=(
            at(
                "FilterResults.ErrorCode",
                Errors.SECURITY_DISABLED,
                Errors.CLUSTER_AUTHORIZATION_FAILED,
                WELL_FORMED,
                UNEXPECTED,
            ),
            at("FilterResults.MatchingAcls.ErrorCode", UNEXPECTED),
        ),
        error_place=ErrorPlace(put=lambda m, error: m.but(deleted=with_errors(m.deleted, error))),
        clause="KIP-11 ACLs; KIP-140 DeleteAcls",
        kafka="AclControlManager.deleteAcls, StandardAuthorizer",
        answer_in="KafkaAdminClient",
        words=("delete ACLs", "deleted"),
        admin_retries=(),
    ),
)
