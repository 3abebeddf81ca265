"""Operators' requests about access control lists (KIP-11, KIP-140, KIP-290)."""

from __future__ import annotations

from typing import ClassVar

from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message

# How a filter matches a resource's name (PatternType): MATCH is every ACL that applies to that name.
ANY, MATCH, LITERAL, PREFIXED = "ANY", "MATCH", "LITERAL", "PREFIXED"
PATTERNS = (ANY, MATCH, LITERAL, PREFIXED)
WILDCARD = "*"
# The type of a principal, the prefix of its name.
USER = "User:"


def pattern_of(said: str) -> tuple[str, str]:
    """Return the name and the pattern of a resource: a name that ends in "*" is a prefix, "*" alone is every name."""
    if said.endswith(WILDCARD) and said != WILDCARD:
        return said[: -len(WILDCARD)], PREFIXED
    return said, LITERAL


class AclEntry(Value, frozen=True):
    """One ACL of the protocol: a resource, a principal, an operation, allowed or denied."""

    resource: str
    name: str
    pattern: str
    principal: str
    operation: str
    allow: bool = True


class AclFilter(Value, frozen=True):
    """A filter of ACLs; "" is any resource, name, principal or operation, and an `allow` of None is both."""

    resource: str = ""
    name: str = ""
    pattern: str = ANY
    principal: str = ""
    operation: str = ""
    allow: bool | None = None

    def meets(self, acl: AclEntry) -> bool:
        """Return whether an ACL matches. Source: ResourcePatternFilter, AccessControlEntryFilter."""
        return (
            self.resource in ("", acl.resource)
            and self._names(acl)
            and self.principal in ("", acl.principal)
            and self.operation in ("", acl.operation)
            and self.allow in (None, acl.allow)
        )

    def _names(self, acl: AclEntry) -> bool:
        if self.pattern not in (ANY, MATCH, acl.pattern):
            return False
        if not self.name:
            return True
        if self.pattern != MATCH:
            return self.name == acl.name
        if acl.pattern == LITERAL:
            return acl.name in (self.name, WILDCARD)
        return self.name.startswith(acl.name)


class DescribeAcls(Message, frozen=True):
    """An operator's request for the ACLs that match a filter."""

    API_KEY: ClassVar[int] = 29
    VERSION: ClassVar[int] = 3
    filter: AclFilter


class DescribeAclsResponse(Message, frozen=True):
    """The ACLs that match."""

    API_KEY: ClassVar[int] = 29
    VERSION: ClassVar[int] = 3
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    acls: tuple[AclEntry, ...] = ()


class CreateAcls(Message, frozen=True):
    """An operator's request to create any number of ACLs."""

    API_KEY: ClassVar[int] = 30
    VERSION: ClassVar[int] = 3
    acls: tuple[AclEntry, ...]


class CreateAclsResponse(Message, frozen=True):
    """For each ACL of the request: the error, or NONE if it exists now."""

    API_KEY: ClassVar[int] = 30
    VERSION: ClassVar[int] = 3
    IS_RESPONSE: ClassVar[bool] = True
    errors: tuple[Errors, ...]

    @property
    def error(self) -> Errors:
        """The first error of an ACL that was not created."""
        return next((e for e in self.errors if e is not Errors.NONE), Errors.NONE)


class DeleteAcls(Message, frozen=True):
    """An operator's request to delete all ACLs that match one of some filters."""

    API_KEY: ClassVar[int] = 31
    VERSION: ClassVar[int] = 3
    filters: tuple[AclFilter, ...]


class DeletedByFilter(Value, frozen=True):
    """The ACLs that one filter has deleted."""

    error: Errors
    acls: tuple[AclEntry, ...] = ()


class DeleteAclsResponse(Message, frozen=True):
    """For each filter of the request the ACLs that it has deleted, which may be none."""

    API_KEY: ClassVar[int] = 31
    VERSION: ClassVar[int] = 3
    IS_RESPONSE: ClassVar[bool] = True
    deleted: tuple[DeletedByFilter, ...]

    @property
    def error(self) -> Errors:
        """The first error of a filter."""
        return next((r.error for r in self.deleted if r.error is not Errors.NONE), Errors.NONE)
