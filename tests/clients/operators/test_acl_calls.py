"""How an operator's calls about ACLs are read, and what the admin client keeps of the answers."""

from __future__ import annotations

import pytest

from kipviz.clients.operators import acl_calls, admin
from kipviz.clients.operators.admin import Admin
from kipviz.messages.cluster.acls import (
    LITERAL,
    MATCH,
    PREFIXED,
    AclEntry,
    AclFilter,
    CreateAcls,
    CreateAclsResponse,
    DeleteAcls,
    DeleteAclsResponse,
    DeletedByFilter,
    DescribeAcls,
    DescribeAclsResponse,
)
from kipviz.messages.errors import Errors

ME = Admin("operator/admin", (1, 2))
READ_SRC = AclEntry("TOPIC", "src", LITERAL, "User:app-1", "READ")
OUT = AclEntry("TOPIC", "out", PREFIXED, "User:*", "WRITE", allow=False)


def test_a_filter_is_read_word_by_word_and_what_is_not_said_is_anything():
    text = "resource=TOPIC name=src pattern=MATCH principal=app-1 operation=READ permission=DENY"
    assert acl_calls.filter_of(text) == AclFilter(
        "TOPIC", "src", MATCH, "User:app-1", "READ", False
    )
    assert acl_calls.filter_of("") == AclFilter()
    first, second = acl_calls.filters_of("name=src; permission=ALLOW")
    assert (first, second) == (AclFilter(name="src"), AclFilter(allow=True))


@pytest.mark.parametrize("word", ["owner=me", "pattern=GLOB", "permission=MAYBE", "name="])
def test_a_word_that_is_no_part_of_a_filter_is_refused(word):
    with pytest.raises(ValueError, match=f"'{word}' is not part of a filter of ACLs"):
        acl_calls.filter_of(word)


def test_an_acl_is_read_as_it_is_said():
    text = "app-1 may READ TOPIC src; * must not WRITE TOPIC out*"
    assert acl_calls.entries_of(text) == (READ_SRC, OUT)
    assert acl_calls.entry_of("a may READ TOPIC *").pattern == LITERAL


@pytest.mark.parametrize("text", ["app-1 READ TOPIC src", "app-1 can READ TOPIC src", ""])
def test_what_is_said_in_another_way_is_no_acl(text):
    with pytest.raises(ValueError, match="is not an ACL: write 'app-1 may READ TOPIC src'"):
        acl_calls.entry_of(text)


def answer_next(asked, answer):
    request = admin.next_request(asked)
    sent, _ = admin.note_sent(asked, request, 1)
    return request, admin.on_response(sent, answer)


def test_the_list_is_kept():
    asked = acl_calls.describe_acls(ME, "resource=TOPIC")
    request, after = answer_next(asked, DescribeAclsResponse(Errors.NONE, (READ_SRC,)))
    assert request == DescribeAcls(AclFilter("TOPIC"))
    assert (after.acls, after.done, after.error) == ((READ_SRC,), True, "")


def test_what_was_deleted_is_kept_once_however_many_filters_meant_it():
    asked = acl_calls.delete_acls(ME, "resource=TOPIC; name=src")
    found = (
        DeletedByFilter(Errors.NONE, (READ_SRC, OUT)),
        DeletedByFilter(Errors.NONE, (READ_SRC,)),
    )
    request, after = answer_next(asked, DeleteAclsResponse(found))
    assert isinstance(request, DeleteAcls)
    assert (after.acls, after.done) == ((READ_SRC, OUT), True)


def test_a_creation_that_is_refused_fails_the_call():
    asked = acl_calls.create_acls(ME, "app-1 may READ TOPIC src")
    request, after = answer_next(asked, CreateAclsResponse((Errors.CLUSTER_AUTHORIZATION_FAILED,)))
    assert request == CreateAcls((READ_SRC,))
    assert (after.done, str(after.error)) == (True, "CreateAcls: CLUSTER_AUTHORIZATION_FAILED")
    _, after = answer_next(asked, CreateAclsResponse((Errors.NONE,)))
    assert (after.done, after.error) == (True, "")
