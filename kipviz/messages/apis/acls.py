"""The APIs of access control lists (KIP-140)."""

from __future__ import annotations

from kipviz.messages.acls import (
    CreateAcls,
    CreateAclsResponse,
    DeleteAcls,
    DeleteAclsResponse,
    DeletedByFilter,
    DescribeAcls,
    DescribeAclsResponse,
)
from kipviz.messages.apis.api import Api, Role, Shard
from kipviz.messages.apis.rights import Need, Operation, Resource

APIS: tuple[Api, ...] = (
    Api(
        request=DescribeAcls,
        response=DescribeAclsResponse,
        role=Role.KAFKA_APIS,
        shard=Shard.ANY,
        needs=(Need(Operation.DESCRIBE, Resource.CLUSTER, "AclApis"),),
        refusal=lambda _, error: DescribeAclsResponse(error),
        clause="KIP-140 DescribeAcls",
        kafka="AclApis",
        answer_in="KafkaAdminClient",
        words=("list ACLs", "ACLs"),
        admin_retries=(),
    ),
    Api(
        request=CreateAcls,
        response=CreateAclsResponse,
        role=Role.KAFKA_APIS,
        shard=Shard.ANY,
        needs=(Need(Operation.ALTER, Resource.CLUSTER, "AclApis"),),
        refusal=lambda m, error: CreateAclsResponse(tuple(error for _ in m.acls)),
        clause="KIP-11 ACLs; KIP-140 CreateAcls",
        kafka="AclControlManager.createAcls, StandardAuthorizer",
        answer_in="KafkaAdminClient",
        words=("create ACLs", "created"),
        admin_retries=(),
    ),
    Api(
        request=DeleteAcls,
        response=DeleteAclsResponse,
        role=Role.KAFKA_APIS,
        shard=Shard.ANY,
        needs=(Need(Operation.ALTER, Resource.CLUSTER, "AclApis"),),
        refusal=lambda m, error: DeleteAclsResponse(
            tuple(DeletedByFilter(error) for _ in m.filters)
        ),
        clause="KIP-11 ACLs; KIP-140 DeleteAcls",
        kafka="AclControlManager.deleteAcls, StandardAuthorizer",
        answer_in="KafkaAdminClient",
        words=("delete ACLs", "deleted"),
        admin_retries=(),
    ),
)
