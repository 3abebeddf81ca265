"""The calls of an operator about ACLs, and how their targets are parsed (kafka-acls.sh)."""

from __future__ import annotations

from collections.abc import Callable

from kipviz.clients.application import Call
from kipviz.clients.operators.admin import Admin, ask
from kipviz.messages.cluster.acls import (
    PATTERNS,
    USER,
    AclEntry,
    AclFilter,
    CreateAcls,
    DeleteAcls,
    DescribeAcls,
    pattern_of,
)

PERMISSIONS = {"ALLOW": True, "DENY": False}
FILTERS = ("resource", "name", "pattern", "principal", "operation", "permission")


def filter_of(text: str) -> AclFilter:
    """Parse a filter: "resource=TOPIC name=src pattern=MATCH principal=app-1 permission=ALLOW".

    Raises:
        ValueError: if a word is not part of a filter.
    """
    found = AclFilter()
    for word in text.split():
        key, _, value = word.partition("=")
        if key == "permission" and value in PERMISSIONS:
            found = found.but(allow=PERMISSIONS[value])
        elif key == "principal" and value:
            found = found.but(principal=USER + value)
        elif key == "pattern" and value in PATTERNS:
            found = found.but(pattern=value)
        elif key in ("resource", "name", "operation") and value:
            found = found.but(**{key: value})
        else:
            raise ValueError(
                f"{word!r} is not part of a filter of ACLs: use {', '.join(FILTERS)}, such as "
                "pattern=MATCH or permission=ALLOW"
            )
    return found


def filters_of(text: str) -> tuple[AclFilter, ...]:
    """Parse several filters, separated by ";"."""
    return tuple(map(filter_of, text.split(";")))


def entry_of(text: str) -> AclEntry:
    """Parse an ACL: "app-1 may READ TOPIC src", "* must not WRITE TOPIC out*".

    Raises:
        ValueError: if the text does not have this form.
    """
    words = text.replace("must not", "must-not").split()
    if len(words) != len(("who", "may", "what", "of", "name")) or words[1] not in (
        "may",
        "must-not",
    ):
        raise ValueError(f"{text.strip()!r} is not an ACL: write 'app-1 may READ TOPIC src'")
    who, may, operation, resource, name = words
    name, pattern = pattern_of(name)
    return AclEntry(resource, name, pattern, USER + who, operation, may == "may")


def entries_of(text: str) -> tuple[AclEntry, ...]:
    """Parse several ACLs, separated by ";"."""
    return tuple(map(entry_of, text.split(";")))


def describe_acls(me: Admin, target: str) -> Admin:
    """Ask for the ACLs that match a filter. Blocks."""
    return ask(me, DescribeAcls(filter_of(target))).but(acls=())


def create_acls(me: Admin, target: str) -> Admin:
    """Create ACLs. Blocks."""
    return ask(me, CreateAcls(entries_of(target)))


def delete_acls(me: Admin, target: str) -> Admin:
    """Delete all ACLs that match one of the filters. Blocks."""
    return ask(me, DeleteAcls(filters_of(target))).but(acls=())


OF_ACLS: dict[Call, Callable[[Admin, str], Admin]] = {
    Call.DESCRIBE_ACLS: describe_acls,
    Call.CREATE_ACLS: create_acls,
    Call.DELETE_ACLS: delete_acls,
}
READ_OF_ACLS: dict[Call, Callable[[str], object]] = {
    Call.DESCRIBE_ACLS: filter_of,
    Call.CREATE_ACLS: entries_of,
    Call.DELETE_ACLS: filters_of,
}
