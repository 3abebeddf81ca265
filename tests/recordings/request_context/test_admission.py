"""Whoever has a right is served and nobody else: the recorded answers are those of the recorded ACLs alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from kipviz.brokers.authorizer import Acl
from kipviz.core.table import Table
from kipviz.messages.apis.rights import Operation, Resource
from kipviz.messages.errors import Errors
from kipviz.recordings.decoded.acl_records import LoggedAccessControlEntry
from kipviz.recordings.decoded.elections import LEARNS_MS
from kipviz.recordings.judging.accept import Acceptor
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.request_context.admission import (
    Admission,
    Allowed,
    host_of,
    logged_acls,
)
from kipviz.recordings.request_context.evidence import of_recording

RELEASE = Path(__file__).parents[1] / "kafka-4.4.0"
READ_G = Acl("app", Operation.READ, Resource.GROUP, "g")


def list_refused(name: str, *allowed: Allowed) -> list[str]:
    """Give the APIs of the answers that a broker with other ACLs could not have given."""
    evidence = of_recording(RELEASE / name).but(allowed=allowed)
    return [each.api for each in Acceptor(evidence).compare_all() if not each.accepted]


def test_the_errors_of_every_resource_are_recorded() -> None:
    asked = Acceptor(of_recording(RELEASE / "acls")).compare_all()
    told = {value for each in asked for _, value in each.recorded if isinstance(value, str)}
    assert told >= {
        Errors.TOPIC_AUTHORIZATION_FAILED.name,
        Errors.GROUP_AUTHORIZATION_FAILED.name,
        Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED.name,
        Errors.CLUSTER_AUTHORIZATION_FAILED.name,
        Errors.OPERATION_NOT_ATTEMPTED.name,
        Errors.NONE.name,
    }


def test_a_broker_that_lets_everybody_do_everything_could_not_have_said_it() -> None:
    """Of every kind of request there is one that would have been answered otherwise."""
    assert set(list_refused("acls")) == {x.api for x in of_recording(RELEASE / "acls").exchanges}


def test_a_broker_that_lets_nobody_do_anything_could_not_have_said_it() -> None:
    assert {"END_TXN", "JOIN_GROUP", "FETCH", "FIND_COORDINATOR"} <= set(
        list_refused("acls", Allowed(0, 0, ()))
    )


@pytest.mark.parametrize("number", range(1, 5))
def test_every_acl_is_needed_for_the_answers(number: int) -> None:
    """Without one of the operator's changes the answers after it would have been others."""
    known = of_recording(RELEASE / "acls").allowed
    left = (*known[:number], *(each.but(acls=known[number - 1].acls) for each in known[number:]))
    assert list_refused("acls", *left)


@pytest.mark.parametrize("name", ["acls", "acls-share", "acls-clients"])
def test_where_both_may_be_whoever_was_served_and_whoever_was_refused_may_have_been(
    name: str,
) -> None:
    """A broker that may or may not know of all ACLs from the beginning on could have said all of it."""
    known = of_recording(RELEASE / name).allowed
    last = max(each.known_ms for each in known) + 1_000_000
    assert list_refused(name, *(each.but(begin_ms=0, known_ms=last) for each in known)) == []


def exchange(begin: int, end: int, principal: str = "app") -> Exchange:
    request = Table.of({"groupId": "g"})
    return Exchange("HEARTBEAT", 4, "c", begin, end, request, Table.of({}), principal=principal)


def test_while_an_acl_changes_a_broker_may_go_by_either() -> None:
    admission = Admission((Allowed(0, 0, ()), Allowed(1_000, 1_100, (READ_G,))))
    assert admission.of_group(exchange(10, 20)) == (False,)
    assert admission.of_group(exchange(1_010, 1_020)) == (False, True)
    assert admission.of_group(exchange(1_200, 1_300)) == (True,)


def test_the_listener_of_the_brokers_and_one_without_an_authorizer_refuse_nobody() -> None:
    nobody = (Allowed(0, 0, ()),)
    assert Admission(nobody).of_group(exchange(0, 1, "ANONYMOUS")) == (True,)
    assert Admission(()).of_group(exchange(0, 1)) == (True,)


def entry(acl_id: str, name: str, **changes: str) -> LoggedAccessControlEntry:
    said = {
        "resource": "TOPIC",
        "name": name,
        "pattern": "LITERAL",
        "principal": "User:app",
        "host": "*",
        "operation": "READ",
        "permission": "ALLOW",
    }
    return LoggedAccessControlEntry(offset=0, acl_id=acl_id, **said | changes)


def test_the_acls_of_a_metadata_log_come_and_go_by_their_ids() -> None:
    """AccessControlEntryRecord, RemoveAccessControlEntryRecord."""
    first = entry("1", "src")
    second = entry("2", "out", pattern="PREFIXED", operation="WRITE", permission="DENY")
    allowed = logged_acls([(1_000, first, True), (2_000, second, True), (3_000, first, False)])
    read = Acl("app", Operation.READ, Resource.TOPIC, "src")
    write = Acl("app", Operation.WRITE, Resource.TOPIC, "out*", allow=False)
    assert [each.acls for each in allowed] == [(), (read,), (read, write), (write,)]
    assert [each.begin_ms for each in allowed] == [0, 1_000, 2_000, 3_000]
    assert all(each.known_ms == each.begin_ms + LEARNS_MS for each in allowed[1:])
    assert all(each.super_users for each in allowed), "super.users is in no metadata log"
    assert logged_acls([]) == ()


def test_an_acl_of_one_host_counts_for_who_comes_from_there() -> None:
    (_, allowed) = logged_acls([(0, entry("1", "src", host="10.0.0.7"), True)])
    assert allowed.acls == ()
    assert [acl.name for acl in allowed.at("10.0.0.7")] == ["src"]
    assert allowed.at("10.0.0.8") == ()


@pytest.mark.parametrize("changes", [{"operation": "DESCRIBE_TOKENS"}, {"resource": "USER"}])
def test_an_acl_that_no_request_of_the_model_is_held_against_is_left_out(changes) -> None:
    (_, allowed) = logged_acls([(0, entry("1", "src", **changes), True)])
    assert (allowed.acls, allowed.of_hosts) == ((), ())


@pytest.mark.parametrize(
    ("connection", "host"),
    [
        ("10.0.0.1:9092-10.0.0.7:50123-4", "10.0.0.7"),
        ("10.0.0.1:9092-10.0.0.7:50123-4-11", "10.0.0.7"),
        ("[::1]:9092-[::2]:50123-0", "[::2]"),
        ("c", ""),
        ("10.0.0.1:9092", ""),
    ],
)
def test_a_connection_is_named_by_both_its_ends(connection: str, host: str) -> None:
    """Selector, SocketServer.connectionId: host:port-host:port-index, since 4.0 with the processor's number."""
    assert host_of(connection) == host


def test_super_users_may_be_anybody_and_that_is_the_farther_reason() -> None:
    admission = Admission((Allowed(0, 0, (), super_users=True),))
    assert admission.acls_of(exchange(0, 1)) == ((), None)
    assert admission.of_group(exchange(0, 1)) == (False, True)
