"""The ACL records of `__cluster_metadata-0`: who is given or denied what, and what is taken back.

Source: AccessControlEntryRecord and RemoveAccessControlEntryRecord among Kafka's metadata records; ResourceType,
PatternType, AclOperation and AclPermissionType.
"""

from __future__ import annotations

from kipviz.core.values import Value
from kipviz.records.fields import Fields

RESOURCES = {
    2: "TOPIC",
    3: "GROUP",
    4: "CLUSTER",
    5: "TRANSACTIONAL_ID",
    6: "DELEGATION_TOKEN",
    7: "USER",
}
PATTERNS = {3: "LITERAL", 4: "PREFIXED"}
OPERATIONS = {
    2: "ALL",
    3: "READ",
    4: "WRITE",
    5: "CREATE",
    6: "DELETE",
    7: "ALTER",
    8: "DESCRIBE",
    9: "CLUSTER_ACTION",
    10: "DESCRIBE_CONFIGS",
    11: "ALTER_CONFIGS",
    12: "IDEMPOTENT_WRITE",
    13: "CREATE_TOKENS",
    14: "DESCRIBE_TOKENS",
    15: "TWO_PHASE_COMMIT",
}
PERMISSIONS = {2: "DENY", 3: "ALLOW"}


class LoggedAccessControlEntry(Value, frozen=True):
    """An ACL is made: a principal (with its type, such as User:app) may, or must not, do something from a host ("*" is any)."""

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
    """An ACL is taken back."""

    offset: int
    acl_id: str


def entry(offset: int, fields: Fields, version: int) -> LoggedAccessControlEntry:
    """Read the record that makes an ACL.

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
    """Read the record that takes an ACL back.

    Raises:
        FieldsError: if it is damaged.
    """
    return LoggedRemoveAccessControlEntry(offset, fields.uuid("the ACL's id"))
