"""The ACL records of `__cluster_metadata-0`: added ACLs that allow or deny, and removed ones.

Source: AccessControlEntryRecord and RemoveAccessControlEntryRecord among Kafka's metadata records; ResourceType,
PatternType, AclOperation and AclPermissionType.
"""

from __future__ import annotations

from kipviz.core.values import Value
from kipviz.messages.apis.cluster import acls
from kipviz.messages.cluster.acls import LITERAL, PREFIXED
from kipviz.records.fields import Fields

# The names in requests of the model, and those that only a log has.
RESOURCES = {**acls.RESOURCE_NAMES, 6: "DELEGATION_TOKEN", 7: "USER"}
PATTERNS = {acls.PATTERNS[pattern]: pattern for pattern in (LITERAL, PREFIXED)}
OPERATIONS = {
    **acls.OPERATION_NAMES,
    2: "ALL",
    5: "CREATE",
    13: "CREATE_TOKENS",
    14: "DESCRIBE_TOKENS",
}
PERMISSIONS = {acls.DENY: "DENY", acls.ALLOW: "ALLOW"}


class LoggedAccessControlEntry(Value, frozen=True):
    """An added ACL: a principal, with its type (User:app), may or may not do something from a host ("*": any)."""

    offset: int
    acl_id: str
    resource: str
    name: str
    pattern: str
    principal: str
    host: str
    operation: str
    permission: str


class LoggedRemoveAccessControlEntry(Value, frozen=True):
    """An ACL is removed."""

    offset: int
    acl_id: str


def entry(offset: int, fields: Fields, version: int) -> LoggedAccessControlEntry:
    """Decode the record that adds an ACL.

    Raises:
        FieldsError: if it is damaged.
    """
    acl_id, resource = fields.uuid("the ACL's id"), fields.number(1, "the kind of resource")
    name, pattern = fields.string("the resource"), fields.number(1, "the kind of pattern")
    principal, host = fields.string("the principal"), fields.string("the host")
    operation, permission = fields.number(1, "the operation"), fields.number(1, "the permission")
    return LoggedAccessControlEntry(
        offset,
        acl_id,
        RESOURCES.get(resource, f"resource type {resource}"),
        name,
        PATTERNS.get(pattern, f"pattern type {pattern}"),
        principal,
        host,
        OPERATIONS.get(operation, f"operation {operation}"),
        PERMISSIONS.get(permission, f"permission type {permission}"),
    )


def removal(offset: int, fields: Fields, version: int) -> LoggedRemoveAccessControlEntry:
    """Decode the record that removes an ACL.

    Raises:
        FieldsError: if it is damaged.
    """
    return LoggedRemoveAccessControlEntry(offset, fields.uuid("the ACL's id"))
